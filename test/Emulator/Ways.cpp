//===- Ways.cpp - How a plan is run for its mutants -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk and small slots, launches back to back, and all troubles that a kernel
// can meet, since its waits, its position and its results show in these alone.
//
//===----------------------------------------------------------------------===//

#include "Ways.h"

#include <algorithm>

namespace coll::emu {

Options mutantOptions(unsigned seed) {
  Options options;
  options.seed = seed;
  options.maxReports = 1;
  return options;
}

/// Two launches of a block at a time touch nothing together where the block is
/// the only one: its `entered` keeps them apart.
static bool hasOneBlock(const PlanCall &call) {
  const coll_plan_ranks *table = findRanks(*call.plan, int(call.ranks));
  for (uint32_t rank = 0; table && rank < call.ranks; ++rank)
    if (classOf(*table, 0, int(rank), 0).program_blocks * table->instances != 1)
      return false;
  return true;
}

namespace {
class WayList {
public:
  WayList(const PlanCall &call, std::vector<Way> &ways)
      : call(call), ways(ways) {}
  void addAll();

private:
  Way &add(const char *name, Trouble trouble = Trouble::None,
           unsigned launches = 2);
  PlanCall call;
  std::vector<Way> &ways;
};
} // namespace

Way &WayList::add(const char *name, Trouble trouble, unsigned launches) {
  Way way;
  way.name = name;
  way.call = call;
  // Of an aborted launch nothing may be left over for the next.
  way.call.isBackToBack = trouble == Trouble::None ||
                          trouble == Trouble::Late ||
                          trouble == Trouble::Overlap;
  way.call.trouble = trouble;
  way.call.launches = launches;
  ways.push_back(std::move(way));
  return ways.back();
}

void WayList::addAll() {
  unsigned period = std::exchange(call.period, 0);
  VerifiedRings verified =
      verifiedRings(*findRanks(*call.plan, int(call.ranks)));
  for (uint32_t *slots : {&call.rings.slots, &call.rings.smallSlots})
    *slots = std::max(*slots, verified.slots);
  const bool hasPackets = chooseDeviceKernels(call).packets != nullptr,
             hasBoth = hasPackets && !call.isSmall;
  add(call.isSmall ? "small" : "bulk", Trouble::None, 4);
  if (hasBoth)
    add("small", Trouble::None, 4).call.isSmall = true;
  add("unaligned").call.isUnaligned = true;
  add("abort", Trouble::Abort);
  if (hasBoth)
    add("abort, small", Trouble::Abort).call.isSmall = true;
  add("deadline", Trouble::Deadline);
  add("mismatch", Trouble::Mismatch);
  if (hasBoth)
    add("mismatch, small", Trouble::Mismatch).call.isSmall = true;
  if (hasOneBlock(call)) {
    add("late", Trouble::Late);
    add("late, nothing", Trouble::Late).call.count = 0;
    add("overlap", Trouble::Overlap);
  }
  if (!period)
    return;
  // Flags come again: what an old one stands for must differ.
  Way &wrap = add("wrap", Trouble::None, call.launches);
  wrap.call.period = period;
  wrap.call.isBackToBack = false;
}

std::string makeWays(const MutantPlan &plan, unsigned seeds,
                     std::vector<Way> &ways) {
  WayList(plan.call, ways).addAll();
  for (Way &way : ways) {
    PlanCall first = way.call;
    if (way.call.isBackToBack)
      first.launches = 1;
    if (std::string error = runOnHost(first, way.expected); !error.empty())
      return error;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      Options options = mutantOptions(seed);
      options.countsVisits = true;
      RunCounts counts;
      if (std::string error =
              runOnDevices(way.call, plan.code, options, way.expected, &counts);
          !error.empty())
        return plan.name + " without a fault, " + way.name + ", seed " +
               std::to_string(seed) + ": " + error;
      way.steps = std::max(way.steps, counts.steps);
      for (auto &[site, count] : counts.visits)
        way.visited.insert(site);
    }
  }
  return "";
}

std::vector<Place> placesOf(const std::string &code,
                            const std::vector<std::string> &kernels) {
  Machine machine(1, {});
  std::string error;
  const Module *module = machine.load(code, error);
  std::vector<Place> places;
  if (module)
    for (const Place &place : Machine::places(module))
      if (!place.isInKernel || std::find(kernels.begin(), kernels.end(),
                                         place.function) != kernels.end())
        places.push_back(place);
  return places;
}

} // namespace coll::emu
