//===- Lines.cpp - Eight lanes, one line ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX takes a vector access for several scalar ones, in no order. What NCCL's
// LL128 relies on, on some chips, is more: where eight consecutive lanes store
// the 16-byte pieces of one 128-byte line by one instruction, at one time, the
// line arrives in ascending order, and where they load it like that, they see
// it at one time. So whoever sees its last word sees all of it. Here it is one
// access, with the switch Options::linesInOrder; all else falls apart into
// words of eight bytes.
//
// "At one time" is what only threads that have stayed together can do. Lanes
// are together where a barrier or vote of the warp, or an aligned barrier of
// the block, has let them go on; or a line that they accessed. From then on
// each branch that a lane takes is kept, and whoever comes to a line waits for
// the other seven, unless one of them has gone another way: then nobody waits
// until they have met anew. That is stricter than chips are, whose lanes may
// find together again behind a branch, on which nothing can be built.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>

namespace coll::emu {

/// A path that is longer is as good as lost: its lane is with nobody.
constexpr size_t kLongestPath = 1 << 14;

static LineMeeting &lineOf(Thread &thread) {
  return thread.block->lines[thread.lane / kLineLanes];
}

void MachineState::comeTogether(const std::vector<Thread *> &threads) {
  uint64_t together = nextTogether++;
  for (Thread *thread : threads) {
    thread->together = together;
    thread->path.clear();
  }
}

/// Those that wait make their accesses each for itself.
static void giveUp(MachineState &state, LineMeeting &line) {
  for (Thread *&thread : line.waiting)
    if (thread) {
      state.unblock(*thread);
      thread = nullptr;
    }
  line.numWaiting = 0;
}

/// Whether all lanes are where `first` waits, or on their way to there.
static bool canMeet(const LineMeeting &line, const Thread &first) {
  const Thread *lanes =
      &first.block->threads[first.lane / kLineLanes * kLineLanes];
  for (unsigned lane = 0; lane < kLineLanes; ++lane) {
    const Thread &other = lanes[lane];
    bool isHere = line.waiting[lane];
    if (other.together != first.together ||
        other.path.size() > first.path.size() ||
        !std::equal(other.path.begin(), other.path.end(), first.path.begin()))
      return false;
    if (isHere ? other.path.size() != first.path.size()
               : other.isDone || other.isBlocked)
      return false;
  }
  return true;
}

static bool isLine(const LineMeeting &line) {
  for (unsigned lane = 0; lane < kLineLanes; ++lane)
    if (line.addresses[lane] != line.addresses[0] + lane * 16)
      return false;
  return line.addresses[0] % kLineBytes == 0;
}

void MachineState::cannotCome(Thread &thread) {
  if (LineMeeting &line = lineOf(thread); line.numWaiting)
    giveUp(*this, line);
}

void MachineState::branchedTo(uint32_t place) {
  Thread &self = *current;
  self.path.push_back(place);
  if (self.path.size() > kLongestPath)
    comeTogether({&self}); // with nobody
  LineMeeting &line = lineOf(self);
  for (Thread *thread : line.waiting)
    if (thread && !canMeet(line, *thread))
      return giveUp(*this, line);
}

bool MachineState::accessLine(uintptr_t address, uint64_t *values, bool isWrite,
                              Scope scope, uint32_t site) {
  if (!options.linesInOrder)
    return false;
  step(site, true);
  Thread &self = *current;
  uint32_t group = self.lane / kLineLanes, own = self.lane % kLineLanes;
  LineMeeting &line = self.block->lines[group];
  if (line.numWaiting && line.site != site)
    giveUp(*this, line); // for another line
  if (self.block->numThreads < (group + 1) * kLineLanes)
    return false;
  line.waiting[own] = &self;
  line.isWhole[own] = false;
  line.addresses[own] = address;
  line.site = site;
  ++line.numWaiting;
  if (isWrite)
    std::copy_n(values, 2, line.values + 2 * own);
  if (!canMeet(line, self)) {
    giveUp(*this, line);
    return false;
  }
  if (line.numWaiting < kLineLanes) {
    block();
  } else {
    bool isWhole = isLine(line);
    if (isWhole)
      isWrite ? storeLine(line, scope, site) : loadLine(line, scope, site);
    std::fill_n(line.isWhole, kLineLanes, isWhole);
    std::vector<Thread *> threads(line.waiting, line.waiting + kLineLanes);
    comeTogether(threads);
    std::fill_n(line.waiting, kLineLanes, nullptr);
    line.numWaiting = 0;
    for (Thread *thread : threads)
      unblock(*thread);
  }
  if (!line.isWhole[own])
    return false;
  if (!isWrite)
    std::copy_n(line.values + 2 * own, 2, values);
  return true;
}

} // namespace coll::emu
