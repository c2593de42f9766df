//===- Mutants.h - Every fault of a plan's device code ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_MUTANTS_H
#define COLL_TEST_EMULATOR_MUTANTS_H

#include "PlanRun.h"

namespace coll::emu {

/// A plan whose mutants are judged.
struct MutantPlan {
  std::string name, code; // of the module
  PlanCall call;
};

/// Which faults are judged.
struct MutantChoice {
  unsigned seeds = 1;   // of each way to run a plan, at least
  unsigned every = 1;   // one of so many ...
  unsigned part = 0;    // ... this one
  std::string text;     // whose line holds this
  bool isReach = false; // only whether they are come to
};

struct MutantCounts {
  unsigned caught = 0, equivalent = 0, unreachable = 0, notReached = 0,
           missed = 0;
  unsigned runs = 0; // of right and of faulty code
  bool isGood() const { return !notReached && !missed; }
  std::string text() const;
};

/// Judges the faults and prints the list. An error text where the code without
/// a fault is refused.
std::string judgeMutants(const std::vector<MutantPlan> &plans,
                         const MutantChoice &choice, MutantCounts &counts);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_MUTANTS_H
