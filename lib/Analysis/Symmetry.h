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
    Wrong,    ///< and an error was emitted
    Refuted,  ///< wrong, but the full execution knows better how to say it
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

struct SymmetryOptions {
  /// A schedule of at most so many values is not decided about: to execute all
  /// of it says more.
  uint64_t fewValues = 0;
  /// One of more values that breaks its contract is explained by the slice; the
  /// first broken promise of all may be another one.
  uint64_t manyValues = ~0ull;
  bool keepSlice = false;
};

/// Emits an error if the schedule is Wrong, and warnings if it is right.
SymmetryResult checkBySymmetry(const Bytecode &code, const Parameters &params,
                               DiagnosticEngine &diags,
                               const SymmetryOptions &options = {});

} // namespace coll

#endif // COLL_LIB_ANALYSIS_SYMMETRY_H
