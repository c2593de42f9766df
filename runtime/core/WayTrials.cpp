//===- WayTrials.cpp - How launches move data best, as they show ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether stores past the caches pay depends on where in the machine the ranks'
// threads run. Between cores that share no cache they are two to ten times as
// fast; between cores with a common last cache they are half as fast as stores
// through it, as the cores share a way to memory, too. Whether the kernel moves
// bytes between processes faster than slots do depends on the same. A virtual
// machine goes from one to the other within minutes, and nothing tells. So
// launches are what is measured, now and then:
//
//   a trial  runs of launches: one way after the other, and all of them once
//            more, each long enough that slots are stored to again that were
//            stored to the same way before. The second half of a run is timed,
//            the better of both runs counts. A way that is far slower is not
//            tried twice: those launches go the way that is taken.
//   between  so many launches that they move some gigabytes
//   change   where two trials, one after the other, say that another way is
//            better by 7 %: a peer that comes late makes any launch long
//
// Every rank decides alone, about its own stores and its own memory. But what
// they cost shows at the peer: so trials have places in the sequence of
// launches, which is the same on all ranks, and all ranks run the same way at
// each of them, whichever they have taken before: else two that had taken
// different ways would go on so, as to change places makes no difference. A
// period begins with a trial and room for a second one, whether that is used or
// not.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/WayTrials.h"

#include <algorithm>
#include <bit>

namespace coll {

/// Launches that meet their memory.
static constexpr uint32_t firstTrial = 2;

WayTrials::WayTrials(const WayRules &rules, Clock clock) : clock(clock) {
  for (uint32_t number = 0; number != numKinds; ++number) {
    const uint64_t leastBytes = uint64_t(1) << number >> 1;
    kinds[number].run = runOf(leastBytes);
    kinds[number].period = periodOf(leastBytes);
    setWays(kinds[number], rules, leastBytes);
  }
}

/// What else a launch by the kernel has in slots is stored as at first.
void WayTrials::setWays(Kind &kind, const WayRules &rules, uint64_t bytes) {
  const bool triesKernel = bytes >= rules.leastByKernel;
  const bool slotsByKernel = rules.first.byKernel && !triesKernel;
  const Way first = {rules.first.streams, rules.first.byKernel};
  auto add = [&](bool streams, bool byKernel) {
    kind.ways[kind.numWays++] = {streams, byKernel};
  };
  add(rules.triesStreams ? false : first.streams, slotsByKernel);
  if (rules.triesStreams)
    add(true, slotsByKernel);
  if (triesKernel)
    add(first.streams, true);
  kind.taken = uint8_t(std::find(kind.ways, kind.ways + kind.numWays, first) -
                       kind.ways);
  kind.doubt = kind.taken;
}

uint32_t WayTrials::runOf(uint64_t messageBytes) {
  constexpr uint64_t bytes = 4 << 20, most = 128; // twice around a ring
  return uint32_t(std::clamp<uint64_t>(
      bytes / std::max<uint64_t>(messageBytes, 1), 1, most));
}

uint32_t WayTrials::periodOf(uint64_t messageBytes) {
  // Of two ways two runs are not the better one, of three four: 1 or 2 %.
  constexpr uint32_t runs = 192;
  return runs * runOf(messageBytes);
}

/// Of all that have been measured in this trial.
bool WayTrials::isFarWorse(const Kind &kind, uint32_t way) {
  uint64_t best = *std::min_element(kind.best, kind.best + kind.numWays);
  return kind.best[way] / 3 > best / 2;
}

Way WayTrials::begin(uint64_t messageBytes) {
  const auto number = uint32_t(std::bit_width(messageBytes));
  Kind &kind = *(current = &kinds[std::min(number, numKinds - 1)]);
  const uint32_t phase = kind.phase;
  kind.phase = phase + 1 == kind.period ? 0 : phase + 1;
  if (kind.step == 0) {
    const bool isSecond =
        kind.doubt != kind.taken && phase == firstTrial + kind.trial();
    if (kind.numWays < 2 || (phase != firstTrial && !isSecond))
      return kind.ways[kind.taken];
    std::fill_n(kind.best, maxWays, UINT64_MAX);
  }
  if (isTimed(kind))
    start = clock();
  const uint32_t run = kind.step++ / kind.run, way = run % kind.numWays;
  return kind
      .ways[run >= kind.numWays && isFarWorse(kind, way) ? kind.taken : way];
}

void WayTrials::endStep() {
  Kind &kind = *current;
  --kind.step; // the launch's own number
  if (isTimed(kind))
    kind.spent += clock() - start;
  const uint32_t run = kind.step++ / kind.run, way = run % kind.numWays;
  if (kind.step % kind.run != 0)
    return;
  if (run < kind.numWays || !isFarWorse(kind, way))
    kind.best[way] = std::min(kind.best[way], kind.spent);
  kind.spent = 0;
  if (kind.step == kind.trial())
    finish(kind);
}

void WayTrials::finish(Kind &kind) {
  constexpr uint64_t percent = 93;
  const auto best = uint8_t(
      std::min_element(kind.best, kind.best + kind.numWays) - kind.best);
  const bool isBetter = kind.best[best] / percent < kind.best[kind.taken] / 100;
  kind.step = 0;
  if (isBetter && kind.doubt == best)
    kind.taken = best;
  kind.doubt = isBetter ? best : kind.taken;
}

} // namespace coll
