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

/// The number that blocks show.
static uint32_t numberOf(uint64_t launch) {
  constexpr unsigned bits = 32 - COLL_ARGS_LAUNCH_SHIFT;
  return uint32_t(launch & ((uint64_t(1) << bits) - 1));
}

void Watch::look(const Member &launched, bool isInPlace, bool isCaptured) {
  constexpr size_t mostCaptured = 4096;
  std::lock_guard lock(mutex);
  const uint64_t launch = lane.comm().board().entered();
  const uint32_t number = numberOf(launch);
  bool isFirst = member == nullptr;
  Count &count = counts[{&launched, isInPlace}];
  if (isCaptured) {
    ++count.captured;
    captured.insert_or_assign(number, Captured{&launched, isInPlace, launch});
    lastCaptured = number;
    if (captured.size() > mostCaptured) { // the oldest goes
      auto oldest = captured.upper_bound(number);
      captured.erase(oldest == captured.end() ? captured.begin() : oldest);
    }
  } else {
    ++count.queued;
    captured.erase(number); // of 2^22 launches ago
    isBusy.store(true, std::memory_order_relaxed);
  }
  if (isFirst || !isCaptured)
    member = &launched;
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
      for (uint32_t block = 0; block != kMaxBlocks; ++block)
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

const Watch::Captured *Watch::capturedOf(const coll_block &line) const {
  uint64_t shown = __atomic_load_n(&line.launch, __ATOMIC_RELAXED);
  auto found = captured.find(uint32_t(shown));
  if (found == captured.end() && !captured.empty() &&
      !isBusy.load(std::memory_order_relaxed))
    found = captured.find(lastCaptured);
  return found == captured.end() ? nullptr : &found->second;
}

uint64_t Watch::launchOf(const coll_block &line) const {
  const Captured *of = capturedOf(line);
  return of ? of->launch : lane.comm().board().entered();
}

const Member &Watch::memberOf(const coll_block &line) const {
  const Captured *of = capturedOf(line);
  return of ? *of->member : *member;
}

/// Whose launch it most likely is, where a block says nothing.
const Member &Watch::lastMember() const {
  auto found = captured.find(lastCaptured);
  return isBusy.load(std::memory_order_relaxed) || found == captured.end()
             ? *member
             : *found->second.member;
}

StepText Watch::textOf(const coll_block &line, uint64_t progress) const {
  const Member &of = memberOf(line);
  return describeStep(of.plan().plan(), of.rankClass(), of.words(),
                      stepOf(progress));
}

/// Behind an error's text. How often graphs have run the plan is known while
/// nothing else is queued, since all other launches of it have run then.
std::string Watch::replayText(const coll_block &line) const {
  const Captured *of = capturedOf(line);
  if (!of)
    return "";
  const Count &count = counts.at({of->member, of->isInPlace});
  uint64_t runs = __atomic_load_n(&line.runs, __ATOMIC_RELAXED);
  std::string which = "a replay";
  if (!isBusy.load(std::memory_order_relaxed) && runs > count.queued)
    which =
        count.captured == 1
            ? format("replay %llu", (unsigned long long)(runs - count.queued))
            : format("a replay (run %llu of the plan in graphs)",
                     (unsigned long long)(runs - count.queued));
  return format("\nin %s of a graph that holds launch %llu, of plan '%s'",
                which.c_str(), (unsigned long long)of->launch,
                of->member->plan().plan().name);
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
  bool isWaiting =
      (isBusy.load(std::memory_order_relaxed) || capturedOf(line)) &&
      state >= COLL_STATE_WAIT_DATA && state <= COLL_STATE_WAIT_BLOCK;
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
  StepText step = textOf(line, progress);
  if (!last.isShown) {
    Position position;
    position.launch = launchOf(line);
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
  StepText step = textOf(line, progress);
  int peer = peerOf(progress) < comm.size() ? peerOf(progress) : -1;
  switch (result) {
  case COLL_MISMATCH:
    return Status::error(
               COLL_MISMATCH,
               "a message of rank %d belongs to another launch (signature "
               "%llx, expected %llx)\n%s",
               peer, (unsigned long long)have, (unsigned long long)want,
               (comm.describeLaunches(launchOf(line), peer) + replayText(line))
                   .c_str())
        .withPeer(peer)
        .withWhere(step.where);
  case COLL_OVERLAP:
    return Status::error(COLL_OVERLAP,
                         "two launches of plan '%s' run at a time: a graph and "
                         "other launches on its communicator come one after "
                         "another",
                         lastMember().plan().plan().name);
  case COLL_TIMEOUT:
    return Status::error(COLL_TIMEOUT, "rank %d has waited too long: %s\n%s",
                         comm.rank(), step.what.c_str(),
                         (comm.hangReport() + replayText(line)).c_str())
        .withPeer(stateOf(progress) == COLL_STATE_WAIT_BLOCK ? -1 : peer)
        .withWhere(step.where);
  default:
    return Status::error(COLL_SYSTEM, "a block of plan '%s' has left with %u",
                         memberOf(line).plan().plan().name, result);
  }
}

} // namespace coll::cuda
