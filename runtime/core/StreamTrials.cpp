//===- StreamTrials.cpp - Stores past the caches, as launches show --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether stores past the caches pay depends on where in the machine the ranks'
// threads run. Between cores that share no cache they are two to ten times as
// fast; between cores with a common last cache they are half as fast as stores
// through it, as the cores share a way to memory, too. A virtual machine goes
// from one to the other within minutes, and nothing tells. So launches are what
// is measured, now and then:
//
//   a trial  runs of launches: as now, the other way, as now, the other way,
//            long enough that slots are stored to again that were stored to the
//            same way before. The second half of each is timed, the better of
//            both runs counts. A way that is far slower is not tried twice.
//   between  so many launches that they move some gigabytes
//   change   where two trials, one after the other, say that the other way is
//            better by 7 %: a peer that comes late makes any launch long
//
// Every rank decides alone, about its own stores. But what they cost shows at
// the receiver: so trials have places in the sequence of launches, which is the
// same on all ranks. A period begins with a trial and room for a second one,
// whether that is used or not, and the first one's whole length or not.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StreamTrials.h"

#include <algorithm>
#include <bit>

namespace coll {

/// Launches that meet their memory.
static constexpr uint32_t firstTrial = 2;

StreamTrials::StreamTrials(bool prior, Clock clock) : clock(clock) {
  for (uint32_t number = 0; number != numKinds; ++number) {
    const uint64_t leastBytes = uint64_t(1) << number >> 1;
    kinds[number].streams = prior;
    kinds[number].run = runOf(leastBytes);
    kinds[number].period = periodOf(leastBytes);
  }
}

uint32_t StreamTrials::runOf(uint64_t messageBytes) {
  constexpr uint64_t bytes = 4 << 20, most = 128; // twice around a ring
  return uint32_t(std::clamp<uint64_t>(
      bytes / std::max<uint64_t>(messageBytes, 1), 1, most));
}

uint32_t StreamTrials::periodOf(uint64_t messageBytes) {
  // Two runs are not the better way: 2 %, less of short messages.
  constexpr uint32_t runs = 128;
  return runs * runOf(messageBytes);
}

bool StreamTrials::begin(uint64_t messageBytes) {
  const auto number = uint32_t(std::bit_width(messageBytes));
  Kind &kind = *(current = &kinds[std::min(number, numKinds - 1)]);
  const uint32_t phase = kind.phase;
  kind.phase = phase + 1 == kind.period ? 0 : phase + 1;
  if (kind.step == 0) {
    const uint32_t secondTrial = firstTrial + numRuns * kind.run;
    if (phase != firstTrial && !(kind.isDoubted && phase == secondTrial))
      return kind.streams;
    kind.best[0] = kind.best[1] = UINT64_MAX;
  }
  if (isTimed(kind))
    start = clock();
  bool isOther = kind.step / kind.run % 2 != 0;
  ++kind.step;
  return kind.streams != isOther;
}

void StreamTrials::endStep() {
  Kind &kind = *current;
  --kind.step; // the launch's own number
  if (isTimed(kind))
    kind.spent += clock() - start;
  ++kind.step;
  if (kind.step % kind.run != 0)
    return;
  const uint32_t runs = kind.step / kind.run;
  uint64_t &best = kind.best[(runs - 1) % 2];
  best = std::min(best, kind.spent);
  kind.spent = 0;
  const bool isFarWorse = runs == 2 && kind.best[1] / 3 > kind.best[0] / 2;
  if (runs == numRuns || isFarWorse)
    finish(kind);
}

void StreamTrials::finish(Kind &kind) {
  constexpr uint64_t percent = 93;
  const bool isBetter = kind.best[1] / percent < kind.best[0] / 100;
  kind.step = 0;
  kind.streams ^= isBetter && kind.isDoubted;
  kind.isDoubted = isBetter && !kind.isDoubted;
}

} // namespace coll
