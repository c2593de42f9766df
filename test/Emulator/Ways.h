//===- Ways.h - How a plan is run for its mutants ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_WAYS_H
#define COLL_TEST_EMULATOR_WAYS_H

#include "Mutants.h"

#include <deque>
#include <optional>
#include <set>

namespace coll::emu {

struct Way {
  std::string name;
  PlanCall call;
  std::vector<std::string> expected;
  /// How messages go in all runs of the right code, where all launches end.
  std::optional<std::array<uint64_t, 5>> messages;
};

/// One of the code without a fault.
struct Run {
  const Way *way = nullptr;
  unsigned seed = 0;
  uint64_t steps = 0;
  std::array<uint64_t, 5> messages = {};
  std::vector<uint8_t> marks; // as of Machine

  uint8_t marksOf(uint32_t site) const {
    return site < marks.size() ? marks[site] : 0;
  }
};

struct Runs {
  std::deque<Way> ways;
  std::vector<Run> list;      // short ones first
  std::vector<uint8_t> marks; // of all
  /// Of those in which nothing goes wrong and every step has elements.
  std::vector<uint8_t> whole;
  std::set<std::string> kernels;
  std::map<std::pair<const Way *, unsigned>, Run> others; // by seed
  std::string error;  // of a run that is refused
  unsigned count = 0; // of those that were made, also of those not kept

  uint8_t marksOf(uint32_t site) const {
    return site < marks.size() ? marks[site] : 0;
  }
};

Options mutantOptions(const PlanCall &call, unsigned seed);

/// Runs the code without a fault in every way: under so many seeds, and as long
/// as more of them come to something new. An error text where it is refused.
std::string makeRuns(const MutantPlan &plan, unsigned seeds, Runs &runs);

/// One more run, made once; null, and an error, if it is refused.
const Run *anotherRun(const MutantPlan &plan, const Way &way, unsigned seed,
                      Runs &runs);

/// What launches of the plan come to: of the kernels that they take, and of the
/// functions that these call. Of a plan with a period, which is run for flags
/// that come again, the functions alone.
std::vector<Place> placesOf(const MutantPlan &plan, const Runs &runs);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_WAYS_H
