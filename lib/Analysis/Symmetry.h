//===- Symmetry.h - Check one slice of a schedule that turns ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In many schedules all ranks do the same, turned: rank r + 1 does with chunk
// c + 1 what rank r does with chunk c. Where that can be shown (SymmetryRun.h),
// the locations fall into slices that are turned into each other and have
// nothing to do with each other, and one slice is executed and compared with
// the contract, exactly, in place of all: of a ring on N ranks 2 (N - 1)
// transfers of 2 N (N - 1).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SYMMETRY_H
#define COLL_LIB_ANALYSIS_SYMMETRY_H

#include "lib/Analysis/Elaborate.h"

#include <memory>

namespace coll {

namespace elab {
class SymmetryCells;
}

struct SymmetryResult {
  enum Status : uint8_t {
    Right,
    Excluded, ///< a `where` of the schedule does not hold
    Wrong,    ///< what it is, the full execution tells
    Undecided ///< ranks do not turn into each other, as far as can be seen
  } status = Undecided;
  std::string excludedBy;
  const char *why = "";                  ///< Undecided
  uint64_t numSlices = 1, numValues = 0; ///< in all; of the one
  Agreement agreement = Agreement::Yes;
  std::string disagreement;

  /// For tests, if it was asked for: the slice that was executed, whatever its
  /// promises, and how it turns. Arrays are numbered as buffers are declared.
  ChunkGraph slice;
  std::shared_ptr<const elab::SymmetryCells> cells;
};

/// Emits warnings if the schedule is right, else nothing. A schedule of at most
/// `fewValues` is not decided about: executing all of it says more.
SymmetryResult checkBySymmetry(const Bytecode &code, const Parameters &params,
                               DiagnosticEngine &diags, uint64_t fewValues = 0,
                               bool keepSlice = false);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_SYMMETRY_H
