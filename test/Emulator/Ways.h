//===- Ways.h - How a plan is run for its mutants ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_WAYS_H
#define COLL_TEST_EMULATOR_WAYS_H

#include "Mutants.h"

#include <set>

namespace coll::emu {

struct Way {
  const char *name;
  PlanCall call;
  std::vector<std::string> expected;
  std::set<uint32_t> visited; // sites
  uint64_t steps = 0;         // the most of a seed
};

Options mutantOptions(unsigned seed);

/// Runs the code without a fault in every way, under so many seeds; an error
/// text where it is refused.
std::string makeWays(const MutantPlan &plan, unsigned seeds,
                     std::vector<Way> &ways);

/// What these kernels come to, and the functions that they call.
std::vector<Place> placesOf(const std::string &code,
                            const std::vector<std::string> &kernels);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_WAYS_H
