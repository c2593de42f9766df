//===- Watch.cpp - Looks after the blocks on a device ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/Watch.h"
#include "runtime/core/Text.h"
#include "runtime/core/Thread.h"

namespace coll::cuda {

static constexpr uint64_t periodNs = 5'000'000;
/// A wait that lasts so long is looked into, and shown on the board.
static constexpr uint64_t longWaitNs = 20'000'000;
/// How long a block may wait for a peer that has left.
static constexpr uint64_t leftNs = 2'000'000'000;

static uint32_t stateOf(uint64_t progress) { return uint32_t(progress >> 60); }
static uint32_t stepOf(uint64_t progress) {
  return uint32_t(progress >> 40) & 0xfffff;
}
static int peerOf(uint64_t progress) { return int(progress & 0xffff); }

Status Watch::start() {
  return startThread("coll-watch", [this] { run(); }, thread);
}

void Watch::stop() noexcept {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Watch::look(const Member &launched, bool isCaptured) {
  std::lock_guard lock(mutex);
  bool isFirst = member == nullptr;
  if (isCaptured)
    captured = {&launched, lane.comm().board().entered()};
  if (isFirst || !isCaptured)
    member = &launched;
  if (!isCaptured)
    isBusy.store(true, std::memory_order_relaxed);
  if (isFirst)
    changed.notify_all();
}

void Watch::run() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return isEnding || member; });
  while (!isEnding) {
    Communicator &comm = lane.comm();
    Status status = catchNoMemory([&]() -> Status {
      uint64_t now = monotonicNs();
      for (uint32_t block = 0; block != running().blocks(); ++block)
        COLL_TRY(check(block, now));
      return Status::ok();
    });
    if (comm.isAborted())
      return;
    if (!status.isOk()) {
      (void)comm.endWith(std::move(status));
      return;
    }
    changed.wait_for(lock, std::chrono::nanoseconds(periodNs));
  }
}

StepText Watch::textOf(uint64_t progress) const {
  const Member &of = running();
  return describeStep(of.plan().plan(), of.rankClass(), of.words(),
                      stepOf(progress));
}

/// Behind an error's text.
std::string Watch::replayText() const {
  return isReplay() ? format("\nin a replay of a graph that holds launch %llu, "
                             "of plan '%s'",
                             (unsigned long long)captured.launch,
                             captured.member->plan().plan().name)
                    : "";
}

Status Watch::check(uint32_t block, uint64_t now) {
  const coll_block &line = lane.comm().board().blocks()[block];
  uint32_t result = __atomic_load_n(&line.result, __ATOMIC_ACQUIRE);
  return result ? reasonOf(line, result) : checkWait(block, line, now);
}

Status Watch::checkWait(uint32_t block, const coll_block &line, uint64_t now) {
  Communicator &comm = lane.comm();
  Seen &last = seen[block];
  uint64_t progress = __atomic_load_n(&line.progress, __ATOMIC_RELAXED);
  uint64_t want = __atomic_load_n(&line.want, __ATOMIC_RELAXED);
  uint64_t have = __atomic_load_n(&line.have, __ATOMIC_RELAXED);
  uint64_t since = __atomic_load_n(&line.wait_since, __ATOMIC_RELAXED);
  uint32_t state = stateOf(progress);
  bool isWaiting = (isBusy.load(std::memory_order_relaxed) || isReplay()) &&
                   state >= COLL_STATE_WAIT_DATA &&
                   state <= COLL_STATE_WAIT_BLOCK;
  if (!isWaiting || last.progress != progress || last.want != want ||
      last.have != have || last.since != since) {
    if (last.isShown)
      comm.board().publishPosition(block, Position());
    last = {progress, want, have, since, now, 0, false};
    return Status::ok();
  }
  if (now - last.firstNs < longWaitNs)
    return Status::ok();
  bool isForPeer = state != COLL_STATE_WAIT_BLOCK &&
                   peerOf(progress) < comm.size() &&
                   peerOf(progress) != comm.rank();
  StepText step = textOf(progress);
  if (!last.isShown) {
    Position position;
    position.launch = isReplay() ? captured.launch : comm.board().entered();
    position.sinceNs = last.firstNs;
    position.state = state;
    position.peer = isForPeer ? peerOf(progress) : -1;
    copyText(position.where, sizeof position.where,
             lastPart(step.where, sizeof position.where - 1));
    copyText(position.what, sizeof position.what, step.what);
    comm.board().publishPosition(block, position);
    last.isShown = true;
  }
  COLL_TRY(lane.channels().poll());
  if (!isForPeer)
    return Status::ok();
  Status status = lane.checkPeer(peerOf(progress)).withWhere(step.where);
  if (status.code() != COLL_PEER_LOST)
    return status;
  // What a peer has sent before it left in good order is on its way, or the
  // block has not run since.
  if (last.leftNs == 0)
    last.leftNs = now;
  return now - last.leftNs < leftNs ? Status::ok() : std::move(status);
}

Status Watch::reason(uint32_t block) {
  std::lock_guard lock(mutex);
  const coll_block &line = lane.comm().board().blocks()[block];
  return reasonOf(line, __atomic_load_n(&line.result, __ATOMIC_ACQUIRE));
}

/// Why a block has left.
Status Watch::reasonOf(const coll_block &line, uint32_t result) const {
  Communicator &comm = lane.comm();
  uint64_t progress = __atomic_load_n(&line.progress, __ATOMIC_RELAXED);
  uint64_t want = __atomic_load_n(&line.want, __ATOMIC_RELAXED);
  uint64_t have = __atomic_load_n(&line.have, __ATOMIC_RELAXED);
  StepText step = textOf(progress);
  int peer = peerOf(progress) < comm.size() ? peerOf(progress) : -1;
  switch (result) {
  case COLL_MISMATCH:
    return Status::error(
               COLL_MISMATCH,
               "a message of rank %d belongs to another launch (signature "
               "%llx, expected %llx)\n%s",
               peer, (unsigned long long)have, (unsigned long long)want,
               (comm.describeLaunches(isReplay() ? captured.launch
                                                 : comm.board().entered(),
                                      peer) +
                replayText())
                   .c_str())
        .withPeer(peer)
        .withWhere(step.where);
  case COLL_OVERLAP:
    return Status::error(COLL_OVERLAP,
                         "two launches of plan '%s' run at a time: a graph and "
                         "other launches on its communicator come one after "
                         "another",
                         running().plan().plan().name);
  case COLL_TIMEOUT:
    return Status::error(COLL_TIMEOUT, "rank %d has waited too long: %s\n%s",
                         comm.rank(), step.what.c_str(),
                         (comm.hangReport() + replayText()).c_str())
        .withPeer(stateOf(progress) == COLL_STATE_WAIT_BLOCK ? -1 : peer)
        .withWhere(step.where);
  default:
    return Status::error(COLL_SYSTEM, "a block of plan '%s' has left with %u",
                         running().plan().plan().name, result);
  }
}

} // namespace coll::cuda
