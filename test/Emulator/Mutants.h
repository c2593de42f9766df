//===- Mutants.h - Every fault of a plan's device code ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_MUTANTS_H
#define COLL_TEST_EMULATOR_MUTANTS_H

#include "PlanRun.h"

namespace coll::emu {

/// A plan whose mutants are judged. Of several the first is whole: whatever
/// stands in a loop of its kernel must be come to. Loops of the others may hold
/// code that their plan has no use for.
struct MutantPlan {
  std::string name, code; // of the module
  PlanCall call;
};

struct MutantCounts {
  unsigned caught = 0, equivalent = 0, notReached = 0, missed = 0;
  unsigned seeds = 0; // all runs of faulty code
  unsigned total() const { return caught + equivalent + notReached + missed; }
  std::string text() const;
};

/// Judges every fault under so many seeds of each way to run a plan, and prints
/// the list; or of every so many-th. An error text where the code without a
/// fault is refused.
std::string judgeMutants(const std::vector<MutantPlan> &plans, unsigned seeds,
                         unsigned every, MutantCounts &counts);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_MUTANTS_H
