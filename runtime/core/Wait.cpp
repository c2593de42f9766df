//===- Wait.cpp - Where kernels wait --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait climbs a ladder:
//
//   spin        so many pauses: at most 2000 when every block of the host has a
//               core, else 20; no clock, no store, the abort word every 64
//   yield       for 2 ms: the processor goes to whoever we wait for
//   sleep       50 us, doubling to 1 ms; from here on the position stands on
//               the board, and now and then we look for reasons not to wait:
//               the peer has left, its launch is another one, it offers
//               channels that it needs before it can go on
//
// until the word has its value, the communicator has failed, or the deadline
// has passed.  There is no futex: it would cost every publish a full fence.
//
// Cores that we may use can be busy with others' work, and then spinning delays
// the very rank that we wait for (measured: 8 bytes in 240 us instead of 10). A
// yield that takes long has given the core to someone: then the next spin is
// shorter.  A wait that was short without that makes it longer again.
//
// Time that this process does not run does not count against the deadline, so a
// job that was stopped and continued as a whole goes on.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Wait.h"
#include "runtime/core/Lane.h"
#include "runtime/core/Pause.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cassert>
#include <sched.h>
#include <sys/resource.h>

namespace coll {
namespace {

constexpr uint32_t fewestSpins = 20;
constexpr uint64_t yieldNs = 2'000'000;
constexpr uint64_t firstSleepNs = 50'000, longestSleepNs = 1'000'000;
constexpr uint64_t shortWaitNs = 100'000;
constexpr uint64_t lookAroundNs = 10'000'000;
/// More than this between two looks at the clock is not waiting.
constexpr uint64_t longestStepNs = 1'000'000'000;

/// coll_block.progress, taken apart.
struct Progress {
  explicit Progress(uint64_t word)
      : state(uint32_t(word >> 60)), step(uint32_t(word >> 40) & 0xfffff),
        peer(uint32_t(word) & 0xffff) {}
  uint32_t state, step, peer;
};

class Waiting {
public:
  Waiting(const coll_inst *inst, uint32_t block, uint64_t progress)
      : inst(PlanInstance::of(inst)), lane(*this->inst.lane), comm(lane.comm()),
        block(block), progress(progress), place(progress),
        line(comm.board().blocks()[block]) {}

  void setWord(const uint64_t *address, uint64_t wanted, uint32_t condition) {
    word = address;
    want = wanted;
    how = condition;
  }
  bool spin();
  Status climb();
  uint32_t end(Status status) noexcept;
  Status mismatch(uint32_t wantSig, uint32_t haveSig) const;
  Status placed(Status status) const;

private:
  bool holds() const {
    uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    return how == COLL_WAIT_SMALL_FLAG ? value >> 16 == want : value > want;
  }
  bool waitsForPeer() const {
    return place.state != COLL_STATE_WAIT_BLOCK &&
           place.peer < uint32_t(comm.size()) && int(place.peer) != comm.rank();
  }
  StepText text() const {
    const Member &member = *inst.member;
    return describeStep(member.plan().plan(), member.rankClass(),
                        member.words(), place.step);
  }
  void adaptSpins(uint64_t waitedNs, bool hasLostCore);
  void show(uint64_t since);
  void leave();
  Status lookAround() const;
  Status timeout(uint64_t waitedNs) const;

  const PlanInstance &inst;
  Lane &lane;
  Communicator &comm;
  uint32_t block;
  uint64_t progress;
  Progress place;
  coll_block &line;
  const uint64_t *word = nullptr;
  uint64_t want = 0;
  uint32_t how = COLL_WAIT_ABOVE;
  bool isShown = false;
};

bool Waiting::spin() {
  uint32_t &spins = lane.spins(block);
  spins = std::clamp(spins, std::min(fewestSpins, inst.dev.spin_limit),
                     inst.dev.spin_limit);
  for (uint32_t i = 0; i != spins; ++i) {
    if (holds()) {
      spins = std::min(spins, UINT32_MAX / 2) * 2; // cut by the next wait
      return true;
    }
    if (i % 64 == 63 && comm.isAborted())
      return false;
    pauseCore();
  }
  return holds();
}

/// How often this thread has lost its core while it could have gone on; a yield
/// that lets another thread run counts.
long lostCores() {
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/// Learns from a wait that has outlived its spinning.
void Waiting::adaptSpins(uint64_t waitedNs, bool hasLostCore) {
  uint32_t &spins = lane.spins(block);
  if (hasLostCore)
    spins = spins / 8;
  else if (waitedNs < shortWaitNs)
    spins = spins * 2 + 1;
}

/// Puts the position on the board, as text, for reports of any rank.
void Waiting::show(uint64_t since) {
  if (isShown)
    return;
  StepText step = text();
  Position position;
  position.launch = comm.board().entered();
  position.sinceNs = since;
  position.state = place.state;
  position.peer = waitsForPeer() ? int(place.peer) : -1;
  copyText(position.where, sizeof position.where,
           lastPart(step.where, sizeof position.where - 1));
  copyText(position.what, sizeof position.what, step.what);
  comm.board().publishPosition(block, position);
  isShown = true;
}

void Waiting::leave() {
  if (isShown)
    comm.board().publishPosition(block, Position());
  uint64_t running = uint64_t(COLL_STATE_RUN) << 60 | (progress << 4 >> 4);
  __atomic_store_n(&line.progress, running, __ATOMIC_RELAXED);
}

Status Waiting::lookAround() const {
  COLL_TRY(lane.channels().poll());
  if (!waitsForPeer())
    return Status::ok();
  Status status = lane.checkPeer(int(place.peer));
  // What a peer has sent before it left is there for us to see by now.
  if (status.code() == COLL_PEER_LOST && holds())
    return Status::ok();
  return status;
}

Status Waiting::timeout(uint64_t waitedNs) const {
  StepText step = text();
  std::string whom =
      format(waitsForPeer() ? "rank %u" : "its block %u", place.peer);
  const char *what = place.state == COLL_STATE_WAIT_CREDIT ? "room at"
                     : place.state == COLL_STATE_WAIT_DATA ? "data of"
                                                           : "";
  std::string text = format("rank %d has waited %s for %s%s%s: %s\n",
                            comm.rank(), durationText(waitedNs).c_str(), what,
                            *what ? " " : "", whom.c_str(), step.what.c_str());
  return Status::error(COLL_TIMEOUT, "%s%s", text.c_str(),
                       comm.hangReport().c_str())
      .withPeer(waitsForPeer() ? int(place.peer) : -1)
      .withWhere(step.where);
}

/// Yields and sleeps until the word has its value.
Status Waiting::climb() {
  __atomic_store_n(&line.progress, progress, __ATOMIC_RELAXED);
  const uint64_t start = monotonicNs();
  __atomic_store_n(&line.wait_since, start, __ATOMIC_RELAXED);
  __atomic_store_n(&line.want, want, __ATOMIC_RELAXED);
  uint64_t last = start, waited = 0, nextLook = yieldNs;
  uint64_t sleepNs = firstSleepNs;
  const bool isAdaptive = inst.dev.spin_limit > fewestSpins;
  const long lostBefore = isAdaptive ? lostCores() : 0;
  while (true) {
    if (holds()) {
      if (isAdaptive)
        adaptSpins(waited, lostCores() != lostBefore);
      leave();
      return Status::ok();
    }
    if (comm.isAborted())
      return comm.status();
    lane.channels().transport().progress();
    uint64_t now = monotonicNs();
    waited += std::min(now - last, longestStepNs);
    last = now;
    if (waited > inst.dev.deadline_ns) {
      show(start);
      return timeout(waited);
    }
    if (waited < yieldNs) {
      sched_yield();
      continue;
    }
    if (waited >= nextLook) {
      nextLook = waited + lookAroundNs;
      show(start);
      if (Status status = lookAround(); !status.isOk())
        return std::move(status).withWhere(text().where);
    }
    timespec pause = {0, long(std::min(sleepNs, inst.dev.deadline_ns / 4 + 1))};
    nanosleep(&pause, nullptr);
    sleepNs = std::min(sleepNs * 2, longestSleepNs);
  }
}

/// What kernels are told: 0, go on.  On an error, which ends the communicator,
/// the block is marked as failed, and the position stays on the board, so that
/// later reports can tell.
uint32_t Waiting::end(Status status) noexcept {
  if (status.isOk())
    return 0;
  __atomic_store_n(&line.result, 1, __ATOMIC_RELAXED);
  (void)comm.endWith(std::move(status));
  return 1;
}

Status Waiting::mismatch(uint32_t wantSig, uint32_t haveSig) const {
  uint64_t launch = comm.board().entered();
  std::string text =
      format("a message of rank %u belongs to another launch "
             "(signature %x, expected %x)\n%s",
             place.peer, haveSig, wantSig,
             comm.describeLaunches(launch, int(place.peer)).c_str());
  return Status::error(COLL_MISMATCH, "%s", text.c_str())
      .withPeer(int(place.peer))
      .withWhere(this->text().where);
}

Status Waiting::placed(Status status) const {
  return std::move(status).withPeer(int(place.peer)).withWhere(text().where);
}

} // namespace

uint32_t endAt(const coll_inst *inst, uint32_t block, uint64_t progress,
               Status status) noexcept {
  Waiting waiting(inst, block, progress);
  return waiting.end(
      catchNoMemory([&] { return waiting.placed(std::move(status)); }));
}

} // namespace coll

using namespace coll;

uint32_t coll_kernel_wait(const coll_inst *inst, uint32_t block,
                          const uint64_t *word, uint64_t want, uint32_t how,
                          uint64_t progress) {
  assert(how == COLL_WAIT_ABOVE || how == COLL_WAIT_SMALL_FLAG);
  Waiting waiting(inst, block, progress);
  waiting.setWord(word, want, how);
  if (waiting.spin())
    return 0;
  return waiting.end(catchNoMemory([&] { return waiting.climb(); }));
}

uint32_t coll_kernel_mismatch(const coll_inst *inst, uint32_t block,
                              uint64_t progress, uint32_t want, uint32_t have) {
  Waiting waiting(inst, block, progress);
  return waiting.end(
      catchNoMemory([&] { return waiting.mismatch(want, have); }));
}
