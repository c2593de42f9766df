//===- Prove.h - Is a schedule right for all N? -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A proof for every rank space at once: what every output has at the end is
// what the contract promises, nothing is counted twice, no empty location is
// read, no rank and no index is out of range, and processes of `on` end. What a
// proof covers, and why it is one, is in docs/Proofs.md. "Undecided" says
// nothing: the schedule may be right or wrong.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_PROVE_PROVE_H
#define COLL_LIB_PROVE_PROVE_H

#include "dialect/CollDialect.h"
#include <optional>
#include <string>
#include <vector>

namespace coll {

struct ProofResult {
  bool isProved = false;
  /// "all N >= 2" or "all M, G >= 1 with at least 2 ranks", and `where`.
  std::string domain;
  std::string why; ///< if undecided: what could not be shown
  mlir::Operation *at = nullptr;
  /// A rank space at which that fails, perhaps.
  std::optional<std::vector<int64_t>> suspect;
  bool hasRegions = false;
  bool needsBuffers = false; ///< regions end only with the buffer they ask for
  std::vector<std::string> invariants;
};

/// `defines`: values of parameters, as with -D. Deterministic, and bounded.
ProofResult
proveForAll(ScheduleOp schedule,
            const std::vector<std::pair<std::string, int64_t>> &defines);

} // namespace coll
#endif // COLL_LIB_PROVE_PROVE_H
