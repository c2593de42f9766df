//===- Mutants.cpp - Every fault of a plan's device code ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan runs in several ways: bulk and small slots, launches back to back, and
// with all troubles that a kernel can meet, since its waits, its position and
// its results show in these alone. The right code must pass every way under
// every seed. A fault is caught where the same run is refused, by a report of
// the checker or by what it leaves; it is not reached where no run comes to a
// point at which it differs.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "Ways.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <set>

using llvm::outs;

namespace coll::emu {

/// Times the seeds that are asked for.
constexpr unsigned kManySeeds = 12;

namespace {
enum class Verdict { Caught, Equivalent, NotReached, Missed };
struct Judged {
  const MutantPlan *plan;
  Place place;
  FaultKind fault;
  Verdict verdict = Verdict::Missed;
  bool isExecuted = false;
  std::string how;
};
} // namespace

/// A report's kind, or what was wrong.
static std::string kindOf(const std::string &error) {
  return error.substr(0, std::min(error.find(':'), error.size()));
}

/// Whether the code without a fault passes as well.
static bool isRightCodeTaken(const Judged &mutant, const Way &way,
                             unsigned seed) {
  return runOnDevices(way.call, mutant.plan->code, mutantOptions(seed),
                      way.expected)
      .empty();
}

static void judge(Judged &mutant, const std::vector<Way> &ways, unsigned seeds,
                  MutantCounts &counts) {
  bool isReached = false;
  mutant.how = whyEquivalent(mutant.place, mutant.fault);
  // Rare ways to leave are come to by few seeds; what is come to and should
  // show gets many.
  unsigned many = mutant.how.empty() ? kManySeeds : 1;
  for (unsigned seed = 1; seed <= (isReached ? many : 2) * seeds; ++seed)
    for (const Way &way : ways) {
      if (!way.visited.count(mutant.place.site))
        continue;
      Options options = mutantOptions(seed);
      options.fault = {mutant.place.site, mutant.place.kind, mutant.fault};
      options.maxSteps = 4 * way.steps + 200000; // it never ends
      RunCounts run;
      ++counts.seeds;
      std::string error = runOnDevices(way.call, mutant.plan->code, options,
                                       way.expected, &run);
      mutant.isExecuted |= run.executed != 0;
      isReached |= run.reached != 0;
      if (error.empty() || !run.reached)
        continue;
      if (seed > seeds && !isRightCodeTaken(mutant, way, seed))
        continue;
      mutant.verdict = Verdict::Caught;
      mutant.how =
          kindOf(error) + ", " + way.name + ", seed " + std::to_string(seed);
      return;
    }
  mutant.verdict = !isReached            ? Verdict::NotReached
                   : !mutant.how.empty() ? Verdict::Equivalent
                                         : Verdict::Missed;
  if (!isReached)
    mutant.how.clear();
}

/// Faults of one key are the same in all plans: of a function that kernels
/// call, and of what a kernel does before and behind its loops.
static std::string keyOf(const Judged &mutant, unsigned ordinal,
                         bool isFirstKernel) {
  const Place &place = mutant.place;
  std::string key =
      std::to_string(int(place.kind)) + "|" + nameOf(mutant.fault);
  if (!place.isInKernel)
    return place.function + "|" + place.text + "|" + key;
  if (!place.isInLoop)
    return (isFirstKernel ? "kernel|" : "packets|") + std::to_string(ordinal) +
           "|" + key;
  return mutant.plan->name + "|" + std::to_string(place.site) + "|" + key;
}

static const char *const kVerdicts[] = {"caught", "equivalent", "not reached",
                                        "MISSED"};

std::string MutantCounts::text() const {
  unsigned numbers[] = {caught, equivalent, notReached, missed};
  std::string line = std::to_string(total()) + " mutants: ";
  for (unsigned i = 0; i < 4; ++i)
    line += (i ? ", " : "") + std::to_string(numbers[i]) + " " + kVerdicts[i];
  return line;
}

static void print(const Judged &mutant, bool hasMany) {
  outs() << kVerdicts[unsigned(mutant.verdict)] << ": " << nameOf(mutant.fault)
         << ": ";
  if (hasMany)
    outs() << mutant.plan->name << ": ";
  outs() << (mutant.place.isInKernel ? "kernel" : mutant.place.function) << ": "
         << mutant.place.text;
  if (!mutant.how.empty())
    outs() << " (" << mutant.how << ")";
  outs() << "\n";
}

std::string judgeMutants(const std::vector<MutantPlan> &plans, unsigned seeds,
                         unsigned every, MutantCounts &counts) {
  std::vector<Judged> list;
  std::map<std::string, size_t> byKey;
  for (const MutantPlan &plan : plans) {
    std::vector<Way> ways;
    if (std::string error = makeWays(plan, seeds, ways); !error.empty())
      return error;
    std::vector<std::string> symbols;
    const DeviceKernels kernels = chooseDeviceKernels(plan.call);
    for (const coll_device_kernel *kernel : {kernels.slots, kernels.packets})
      if (kernel)
        symbols.push_back(kernel->symbol);
    std::map<std::pair<std::string, PlaceKind>, unsigned> ordinals;
    for (const Place &place : placesOf(plan.code, symbols)) {
      unsigned ordinal = place.isInKernel && !place.isInLoop
                             ? ordinals[{place.function, place.kind}]++
                             : 0;
      for (FaultKind fault : faultsOf(place)) {
        Judged mutant{&plan, place, fault, Verdict::Missed, false, ""};
        bool isFirst = place.function == symbols.front();
        std::string key = keyOf(mutant, ordinal, isFirst);
        if (std::hash<std::string>()(key) % every)
          continue; // the same ones of every plan
        auto [known, isNew] = byKey.emplace(key, list.size());
        if (!isNew && list[known->second].verdict <= Verdict::Equivalent)
          continue;
        judge(mutant, ways, seeds, counts);
        if (isNew)
          list.push_back(mutant);
        else if (mutant.verdict != Verdict::NotReached)
          list[known->second] = mutant;
      }
    }
  }
  for (const Judged &mutant : list) {
    // Loops of other plans than the first hold code for what they do not do.
    if (mutant.verdict == Verdict::NotReached && mutant.place.isInLoop &&
        mutant.place.isInKernel && mutant.plan != &plans.front() &&
        !mutant.isExecuted)
      continue;
    print(mutant, plans.size() > 1);
    ++(mutant.verdict == Verdict::Caught       ? counts.caught
       : mutant.verdict == Verdict::Equivalent ? counts.equivalent
       : mutant.verdict == Verdict::NotReached ? counts.notReached
                                               : counts.missed);
  }
  return "";
}

} // namespace coll::emu
