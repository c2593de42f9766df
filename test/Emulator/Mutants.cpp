//===- Mutants.cpp - Every fault of a plan's device code ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The right code runs in all ways, and it is known what each run comes to
// (Ways.cpp). A fault shows at a place that is come to, with an outcome that it
// changes; the runs that have that are run again with the fault, the shortest
// first, until one is refused: by a report of the checker, or by what it
// leaves. If none is, more seeds are tried of the ways that come there, each of
// which the right code must pass, too.
//
// A fault that is in no run's way cannot show where the code says so itself
// (whyUnreachable). Else it is an error: a way is missing.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "Ways.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cctype>

using llvm::outs;

namespace coll::emu {

/// Runs that are tried of a fault, and seeds beyond them for each way.
constexpr unsigned kMostRuns = 60, kMoreSeeds = 12;
/// Of a fault that should not show.
constexpr unsigned kFewRuns = 2;

namespace {
enum class Verdict { Caught, Equivalent, Unreachable, NotReached, Missed };
struct Judged {
  const MutantPlan *plan;
  Place place;
  FaultKind fault;
  Verdict verdict = Verdict::Missed;
  std::string how;
  std::string text() const;
};

class Judge {
public:
  Judge(const MutantPlan &plan, Runs &runs, bool isReach, MutantCounts &counts)
      : plan(plan), runs(runs), isReach(isReach), counts(counts) {}
  void judge(Judged &mutant);

private:
  bool isCaught(Judged &mutant, const Run &run);
  std::string whyUnreachable(const Judged &mutant) const;
  bool isAgreed(const Place &place) const;
  std::string whyNeverBehind(const std::vector<GuardedBy> &guards) const;
  const MutantPlan &plan;
  Runs &runs;
  const bool isReach;
  MutantCounts &counts;
};
} // namespace

std::string Judged::text() const {
  return nameOf(fault) + (": " + plan->name) + ": " +
         (place.isInKernel ? "kernel" : place.function) + ": " + place.text;
}

/// A report's kind, or what was wrong.
static std::string kindOf(const std::string &error) {
  return error.substr(0, std::min(error.find(':'), error.size()));
}

/// The mark of runs in which the fault changes something.
static uint8_t markFor(FaultKind fault) {
  switch (fault) {
  case FaultKind::Always:
    return kNotTaken;
  case FaultKind::Never:
    return kTaken;
  case FaultKind::Alone:
    return kOverruled;
  default:
    return kCame;
  }
}

bool Judge::isCaught(Judged &mutant, const Run &run) {
  Options options = mutantOptions(run.way->call, run.seed);
  options.fault = {mutant.place.site, mutant.place.kind, mutant.fault};
  options.maxSteps = 4 * run.steps + 200000; // it never ends
  RunCounts faulty;
  ++counts.runs;
  std::string error = runOnDevices(run.way->call, plan.code, options,
                                   run.way->expected, &faulty);
  if (error.empty() && run.way->messages && faulty.ways() != *run.way->messages)
    error = "messages go another way";
  if (error.empty() || !faulty.reached)
    return false;
  mutant.verdict = Verdict::Caught;
  mutant.how = kindOf(error) + ", " + run.way->name + ", seed " +
               std::to_string(run.seed);
  return true;
}

/// Why the place is never come to, or never with what the fault changes; empty:
/// it may be.
std::string Judge::whyUnreachable(const Judged &mutant) const {
  const Place &place = mutant.place;
  bool changes =
      mutant.fault == FaultKind::Alone || mutant.fault == FaultKind::Never;
  if (changes && isAgreed(place))
    return "every thread says no in this vote";
  std::vector<GuardedBy> all = place.guards;
  for (const GuardedBy &by : place.asks)
    if (mutant.fault ==
        (by.isTaken ? FaultKind::Never : FaultKind::Always)) // it changes that
      all.push_back(by);
  if (std::string why = whyNeverBehind(all); !why.empty())
    return why;
  std::string why;
  for (const CalledBy &call : place.calls)
    if (runs.kernels.count(call.kernel)) {
      why = whyNeverBehind(call.guards);
      if (why.empty())
        return "";
    }
  return why;
}

/// Whether no thread says yes in a vote, in no run.
bool Judge::isAgreed(const Place &place) const {
  return std::all_of(place.yes.begin(), place.yes.end(), [&](auto &guards) {
    return !whyNeverBehind(guards).empty();
  });
}

/// Why no run comes to what lies behind all these branches.
std::string Judge::whyNeverBehind(const std::vector<GuardedBy> &guards) const {
  auto comesTo = [](const std::vector<uint8_t> &marks, const GuardedBy &by) {
    return by.site < marks.size() &&
           marks[by.site] & (by.isTaken ? kTaken : kNotTaken);
  };
  const bool isWhole =
      std::none_of(guards.begin(), guards.end(), [&](const GuardedBy &by) {
        return by.asked == Asked::Break && comesTo(runs.whole, by);
      });
  for (const GuardedBy &by : guards) {
    if (by.asked == Asked::Break || comesTo(runs.marks, by))
      continue;
    const GuardedBy other{by.site, !by.isTaken, by.asked};
    if (by.asked == Asked::Plan && isWhole && comesTo(runs.whole, other))
      return "the plan's tables never lead here";
    if (by.asked == Asked::Words && comesTo(runs.marks, other) &&
        dtypeBytes(plan.call.dtype) % 4 == 0)
      return "all elements are whole words";
  }
  return "";
}

void Judge::judge(Judged &mutant) {
  std::string why = whyEquivalent(mutant.place, mutant.fault);
  if (mutant.place.kind == PlaceKind::Vote && mutant.place.isAmongBarriers &&
      mutant.fault == FaultKind::Dropped && isAgreed(mutant.place))
    why = "every thread says no in this vote, and thread 0 alone touches "
          "memory between the barriers before and behind it";
  const uint8_t wanted = markFor(mutant.fault);
  unsigned tried = 0;
  std::map<const Way *, const Run *> ways; // that come there
  for (const Run &run : runs.list) {
    if (!(run.marksOf(mutant.place.site) & wanted))
      continue;
    ways.emplace(run.way, &run);
    if (isReach) {
      mutant.verdict = Verdict::Caught;
      mutant.how = "only come to, " + run.way->name + ", seed " +
                   std::to_string(run.seed);
      return;
    }
    if (tried++ < (why.empty() ? kMostRuns : kFewRuns) && isCaught(mutant, run))
      return;
  }
  if (!why.empty() && tried) {
    mutant.verdict = Verdict::Equivalent;
    mutant.how = why;
    return;
  }
  for (unsigned more = 1; more <= kMoreSeeds; ++more)
    for (auto &[way, run] : ways)
      if (const Run *other = anotherRun(plan, *way, 1000 + more, runs);
          other && other->marksOf(mutant.place.site) & wanted &&
          isCaught(mutant, *other))
        return;
  mutant.how = tried ? "" : whyUnreachable(mutant);
  mutant.verdict = tried                ? Verdict::Missed
                   : mutant.how.empty() ? Verdict::NotReached
                                        : Verdict::Unreachable;
}

/// What an instruction says, without the names of its values.
static std::string withoutNames(const std::string &text) {
  std::string result;
  bool isName = false;
  for (char c : text) {
    isName = c == '%' || (isName && (std::isalnum(c) || c == '.' || c == '_'));
    if (!isName || c == '%')
      result += c;
  }
  return result;
}

/// Faults of one key are the same in all plans: of a function that kernels
/// call, and of what a kernel does before and behind its loops.
static std::string keyOf(const Judged &mutant, unsigned ordinal,
                         const char *kernel) {
  const Place &place = mutant.place;
  std::string key =
      std::to_string(int(place.kind)) + "|" + nameOf(mutant.fault);
  if (!place.isInKernel)
    return place.function + "|" + place.text + "|" + key;
  if (!place.isInLoop)
    return kernel + ("|" + withoutNames(place.text)) + "|" +
           std::to_string(ordinal) + "|" + key;
  return mutant.plan->name + "|" + std::to_string(place.site) + "|" + key;
}

static const char *nameOf(const DeviceKernels &kernels,
                          const std::string &symbol) {
  if (symbol == kernels.slots->symbol)
    return "kernel";
  return kernels.lines && symbol == kernels.lines->symbol ? "lines" : "packets";
}

/// Which of two plans' verdicts on one fault counts: who comes to it knows more
/// than who does not, and one that catches it is enough.
static unsigned rankOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Caught:
    return 4;
  case Verdict::Equivalent:
    return 3;
  case Verdict::Missed:
    return 2;
  case Verdict::Unreachable:
    return 1;
  default:
    return 0;
  }
}

static const char *const kVerdicts[] = {
    "caught", "equivalent", "cannot be reached", "NOT REACHED", "MISSED"};

std::string MutantCounts::text() const {
  unsigned numbers[] = {caught, equivalent, unreachable, notReached, missed};
  unsigned total = 0;
  std::string line;
  for (unsigned i = 0; i < 5; total += numbers[i++])
    line += (i ? ", " : "") + std::to_string(numbers[i]) + " " + kVerdicts[i];
  return std::to_string(total) + " mutants: " + line;
}

static void print(const std::vector<Judged> &list, MutantCounts &counts) {
  for (const Judged &mutant : list) {
    outs() << kVerdicts[unsigned(mutant.verdict)] << ": " << mutant.text();
    if (!mutant.how.empty())
      outs() << " (" << mutant.how << ")";
    outs() << "\n";
    unsigned *const numbers[] = {&counts.caught, &counts.equivalent,
                                 &counts.unreachable, &counts.notReached,
                                 &counts.missed};
    ++*numbers[unsigned(mutant.verdict)];
  }
}

std::string judgeMutants(const std::vector<MutantPlan> &plans,
                         const MutantChoice &choice, MutantCounts &counts) {
  std::vector<Judged> list;
  std::map<std::string, size_t> byKey;
  for (const MutantPlan &plan : plans) {
    Runs runs;
    if (std::string error = makeRuns(plan, choice.seeds, runs); !error.empty())
      return error;
    counts.runs += runs.count;
    Judge judge(plan, runs, choice.isReach, counts);
    const DeviceKernels kernels = chooseDeviceKernels(plan.call);
    std::map<std::tuple<std::string, PlaceKind, std::string>, unsigned>
        ordinals;
    for (const Place &place : placesOf(plan, runs)) {
      unsigned ordinal = place.isInKernel && !place.isInLoop
                             ? ordinals[{place.function, place.kind,
                                         withoutNames(place.text)}]++
                             : 0;
      for (FaultKind fault : faultsOf(place)) {
        Judged mutant{&plan, place, fault, Verdict::Missed, ""};
        std::string key =
            keyOf(mutant, ordinal, nameOf(kernels, place.function));
        if (std::hash<std::string>()(key) % choice.every != choice.part ||
            mutant.text().find(choice.text) == std::string::npos)
          continue; // the same ones of every plan
        auto [known, isNew] = byKey.emplace(key, list.size());
        if (!isNew && list[known->second].verdict <= Verdict::Equivalent)
          continue;
        judge.judge(mutant);
        if (!runs.error.empty())
          return runs.error;
        if (isNew)
          list.push_back(mutant);
        else if (rankOf(mutant.verdict) > rankOf(list[known->second].verdict))
          list[known->second] = mutant;
      }
    }
  }
  print(list, counts);
  return "";
}

} // namespace coll::emu
