//===- Ways.cpp - How a plan is run for its mutants -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk and small slots, buffers in windows and not, launches back to back, and
// all troubles that a kernel can meet, since its waits, its position and its
// results show in these alone.
//
// What the right code comes to in a run (Machine::marks) is what its mutants
// come to under the same seed, up to where they differ. So seeds are tried with
// the right code, once for all mutants: of a way as many as are asked for, and
// more as long as one in a few comes to what no run has come to before.
//
//===----------------------------------------------------------------------===//

#include "Ways.h"

#include <algorithm>
#include <tuple>

namespace coll::emu {

/// Seeds of a way that come to nothing new before it is left, and all of them.
constexpr unsigned kIdleSeeds = 16, kMostSeeds = 300;

Options mutantOptions(const PlanCall &call, unsigned seed) {
  Options options;
  if (call.period) // until flags come again
    options.history = call.hasLateReleases ? 192 : 64;
  options.lateReleases = call.hasLateReleases;
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
  WayList(const PlanCall &call, std::deque<Way> &ways)
      : call(call), ways(ways) {}
  void addAll();

private:
  Way &add(const std::string &name, Trouble trouble = Trouble::None,
           unsigned launches = 2);
  void addTroubles(const std::string &where);
  void addWraps();
  PlanCall call;
  std::deque<Way> &ways;
};
} // namespace

Way &WayList::add(const std::string &name, Trouble trouble, unsigned launches) {
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

/// With messages as the call says they travel.
void WayList::addTroubles(const std::string &where) {
  auto name = [&](const char *what) {
    return where.empty() ? what : what + (", " + where);
  };
  const char *own = call.isSmall ? "small" : call.isLines ? "lines" : "bulk";
  add(where.empty() ? own : where, Trouble::None, 4);
  add(name("abort"), Trouble::Abort);
  add(name("gone"), Trouble::Gone);
  Way &ahead = add(name("abort, launches ahead"), Trouble::Abort, 6);
  ahead.call.isBackToBack = true;
  add(name("deadline"), Trouble::Deadline);
  add(name("mismatch"), Trouble::Mismatch);
}

/// Flags come again: what an old one stands for must differ.
void WayList::addWraps() {
  add("wrap", Trouble::None, call.launches).call.isBackToBack = false;
  add("wrap, launches ahead", Trouble::None, call.launches);
  // A receiver may learn from each of many messages in a row that slots are
  // clean, and one of them is enough: who does not wait for that hears of it by
  // chance, unless it is late for all of them.
  add("wrap, late releases", Trouble::None, call.launches)
      .call.hasLateReleases = true;
}

void WayList::addAll() {
  const PlanCall all = call;
  uint64_t firstMessage = std::exchange(call.firstMessage, 0);
  VerifiedRings verified =
      verifiedRings(*findRanks(*call.plan, int(call.ranks)));
  for (uint32_t *slots : {&call.rings.slots, &call.rings.smallSlots})
    *slots = std::max(*slots, verified.slots);
  if (call.period)
    return addWraps();
  addTroubles("");
  add("unaligned").call.isUnaligned = true;
  if (chooseDeviceKernels(call).slots->dtype == COLL_ANY) {
    // Fewer elements than a packet or a word has, also beside its begin.
    call.dtype = COLL_U8;
    call.count = 4 * all.count + 2;
    for (bool isUnaligned : {false, true}) {
      call.isUnaligned = isUnaligned;
      const std::string name = isUnaligned ? "bytes, unaligned" : "bytes";
      add(name);
      add("abort, " + name, Trouble::Abort);
    }
    call.isUnaligned = all.isUnaligned;
    call.count = 3;
    add("abort, three bytes", Trouble::Abort);
    call.dtype = all.dtype;
    call.count = all.count;
  }
  if (firstMessage) {
    call.firstMessage = firstMessage;
    addTroubles("cleaning");
    call.firstMessage = 0;
  }
  const DeviceKernels kernels = chooseDeviceKernels(call);
  const bool isAlone = call.isSmall || call.isLines;
  if (kernels.packets && !isAlone) {
    call.isSmall = true;
    addTroubles("small");
    call.isSmall = false;
  }
  if (kernels.lines && !isAlone) {
    call.isLines = true;
    addTroubles("lines");
    call.isLines = false;
  }
  if (Registered all = call.registered; all != Registered::None) {
    add("window", Trouble::Window);
    add("windows come and go", Trouble::None, 5).call.comesAndGoes = true;
    Multicast every = std::exchange(call.multicast, Multicast::None);
    if (every != Multicast::None)
      addTroubles("by ranks");
    call.registered = Registered::Even;
    addTroubles("half in windows");
    call.registered = Registered::None;
    addTroubles("slots");
    call.registered = all;
    call.multicast = every;
  }
  if (hasOneBlock(call)) {
    add("late", Trouble::Late);
    add("late, nothing", Trouble::Late).call.count = 0;
    add("overlap", Trouble::Overlap);
  }
}

/// Whether there is something in `marks` that `all` lacks, which gets it.
static bool add(std::vector<uint8_t> &all, const std::vector<uint8_t> &marks) {
  bool isNew = false;
  all.resize(std::max(all.size(), marks.size()));
  for (size_t i = 0; i < marks.size(); ++i) {
    isNew |= (marks[i] & ~all[i]) != 0;
    all[i] |= marks[i];
  }
  return isNew;
}

/// An error text where the run is refused.
static std::string makeRun(const MutantPlan &plan, Runs &runs, Run &run) {
  Options options = mutantOptions(run.way->call, run.seed);
  options.keepsMarks = true;
  RunCounts counts;
  ++runs.count;
  if (std::string error = runOnDevices(run.way->call, plan.code, options,
                                       run.way->expected, &counts);
      !error.empty())
    return plan.name + " without a fault, " + run.way->name + ", seed " +
           std::to_string(run.seed) + ": " + error;
  run.steps = counts.steps;
  run.messages = counts.ways();
  run.marks = std::move(counts.marks);
  runs.kernels.insert(counts.kernels.begin(), counts.kernels.end());
  add(runs.marks, run.marks);
  if (counts.doesAll && run.way->call.trouble == Trouble::None)
    add(runs.whole, run.marks);
  return "";
}

const Run *anotherRun(const MutantPlan &plan, const Way &way, unsigned seed,
                      Runs &runs) {
  auto [known, isNew] = runs.others.try_emplace({&way, seed});
  Run &run = known->second;
  if (!isNew)
    return &run;
  run.way = &way;
  run.seed = seed;
  runs.error = makeRun(plan, runs, run);
  return runs.error.empty() ? &run : nullptr;
}

static std::string explore(const MutantPlan &plan, Way &way, unsigned seeds,
                           Runs &runs) {
  // Of the longest a few are enough.
  unsigned idle = way.call.launches > 6 ? 1 : kIdleSeeds, since = 0;
  std::vector<uint8_t> marks; // of this way: each has faults of its own
  for (unsigned seed = 1; seed <= seeds || (since < idle && seed <= kMostSeeds);
       ++seed) {
    Run run;
    run.way = &way;
    run.seed = seed;
    if (std::string error = makeRun(plan, runs, run); !error.empty())
      return error;
    if (seed == 1 && way.call.trouble == Trouble::None)
      way.messages = run.messages;
    if (way.messages && way.messages != run.messages)
      return plan.name + ", " + way.name + ": how messages go depends on the " +
             "order of things";
    bool isNew = add(marks, run.marks);
    since = isNew ? 0 : since + 1;
    if (isNew || seed <= seeds)
      runs.list.push_back(std::move(run));
  }
  return "";
}

std::string makeRuns(const MutantPlan &plan, unsigned seeds, Runs &runs) {
  WayList(plan.call, runs.ways).addAll();
  uint64_t longest = 0;
  for (Way &way : runs.ways) {
    way.call.stopWithin = longest;
    PlanCall first = way.call;
    if (way.call.isBackToBack)
      first.launches = 1;
    if (std::string error = runOnHost(first, way.expected); !error.empty())
      return error;
    if (std::string error = explore(plan, way, seeds, runs); !error.empty())
      return error;
    if (&way == &runs.ways.front())
      longest = runs.list.front().steps;
  }
  auto key = [](const Run &run) {
    return std::tuple(run.steps, run.way->name, run.seed);
  };
  std::sort(runs.list.begin(), runs.list.end(),
            [&](const Run &a, const Run &b) { return key(a) < key(b); });
  return "";
}

std::vector<Place> placesOf(const MutantPlan &plan, const Runs &runs) {
  Machine machine(1, {});
  std::string error;
  const Module *module = machine.load(plan.code, error);
  std::vector<Place> places;
  if (!module)
    return places;
  for (const Place &place : Machine::places(module))
    if (!(place.isInKernel && plan.call.period) &&
        std::any_of(place.kernels.begin(), place.kernels.end(),
                    [&](auto &name) { return runs.kernels.count(name); }))
      places.push_back(place);
  return places;
}

} // namespace coll::emu
