//===- Barriers.cpp - Threads that meet -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Hooks.h"
#include "State.h"

#include <algorithm>

namespace coll::emu {

/// All that any of them did is before all that any of the threads does next;
/// those that passed learn nothing.
void MachineState::order(const std::vector<Thread *> &threads,
                         const std::vector<Released> &passed) {
  auto joined = std::make_shared<Times>();
  for (const Released &one : passed) {
    raise(*joined, one.base);
    raise(*joined, one.slot, one.time);
  }
  const Times *before = nullptr;
  for (Thread *thread : threads) {
    if (thread->base.get() != before)
      raise(*joined, thread->base);
    before = thread->base.get();
    raise(*joined, thread->slot, thread->time);
  }
  Clock clock = std::move(joined);
  for (Thread *thread : threads) {
    thread->base = clock;
    ++thread->time;
  }
}

void MachineState::completeBarrier(Meeting &meeting) {
  std::vector<Thread *> threads = std::move(meeting.arrived);
  std::vector<Released> passed = std::move(meeting.passed);
  meeting.arrived.clear();
  meeting.passed.clear();
  meeting.expected = 0;
  meeting.result = meeting.votes;
  meeting.votes = 0;
  order(threads, passed);
  if (meeting.isAligned)
    comeTogether(threads);
  for (Thread *thread : threads) {
    thread->isAtBarrier = false;
    unblock(*thread);
  }
  idle = 0;
}

void MachineState::barrier(uint32_t id, uint32_t count, bool isAligned,
                           bool waits, uint32_t site, bool vote) {
  Thread *self = current;
  Block &block = *self->block;
  self->site = site;
  if (id >= kBarriers) {
    report(ReportKind::Unsupported, site, 0,
           "there is no barrier " + std::to_string(id) + "\n  " +
               describe(*self, site));
    hasFailed = true;
    yield();
  }
  Meeting &meeting = block.barriers[id];
  uint32_t expected = count ? count : block.numThreads;
  for (Thread *other : meeting.arrived)
    if (isAligned && other->lane / 32 == self->lane / 32 && other->site != site)
      report(ReportKind::DivergentBarrier, other->site, site,
             "threads of one warp meet at two places\n  " +
                 describe(*other, other->site) + "\n  " +
                 describe(*self, site));
  if (meeting.expected && meeting.expected != expected)
    report(ReportKind::DivergentBarrier, meeting.site, site,
           "threads expect " + std::to_string(meeting.expected) + " and " +
               std::to_string(expected) + " at one barrier\n  " +
               describe(*self, site));
  meeting.site = site;
  meeting.expected = expected;
  meeting.isOfAll = !count;
  meeting.isAligned = isAligned;
  if (waits)
    cannotCome(*self);
  if (waits)
    meeting.arrived.push_back(self);
  else
    meeting.passed.push_back({self->base, self->slot, self->time++});
  meeting.votes += vote;
  bool isComplete = meeting.arrived.size() + meeting.passed.size() >= expected;
  if (!isComplete && block.alive < block.numThreads && !count &&
      meeting.arrived.size() == block.alive) {
    report(ReportKind::DivergentBarrier, site, 1,
           "threads of the block have ended without this barrier\n  " +
               describe(*self, site));
    isComplete = true;
  }
  if (isComplete) {
    completeBarrier(meeting);
  } else if (waits) {
    self->isAtBarrier = true;
    checkWarp(block.warps[self->lane / 32], self->lane / 32);
    this->block();
  }
  if (!isAligned)
    comeTogether({self}); // with nobody
}

static uint64_t resultOf(const WarpExchange &exchange, uint32_t kind,
                         uint64_t value, uint32_t self, uint32_t other,
                         bool &isValid) {
  isValid = true;
  uint64_t any = 0, all = ~uint64_t(0), ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (exchange.mask >> lane & 1) {
      uint64_t v = exchange.values[lane];
      any |= v;
      all &= v;
      if (v)
        ballot |= uint64_t(1) << lane;
    }
  switch (kind) {
  case kShuffle:
    isValid = other < 32 && (exchange.mask >> other & 1);
    return isValid ? exchange.values[other] : value;
  case kVoteAny:
    return ballot != 0;
  case kVoteAll:
    return ballot == exchange.mask;
  case kVoteUniform:
    return ballot == 0 || ballot == exchange.mask;
  case kVoteBallot:
    return ballot;
  case kReduceOr:
    return any;
  case kReduceAnd:
    return all;
  default:
    return self;
  }
}

/// Whether an exchange brings something that the last one there has not: loops
/// that wait for what cannot come must count as idle (Scheduler.cpp).
static bool isNews(WarpExchange &exchange) {
  uint64_t hash = exchange.kind;
  for (uint64_t value : exchange.values)
    hash = (hash ^ value) * 0x9e3779b97f4a7c15 >> 7;
  uint64_t &last = exchange.last[exchange.site];
  return std::exchange(last, hash) != hash;
}

/// Whoever still waits goes on: the last to come, or those whom the others have
/// left.
void MachineState::completeExchange(WarpExchange &exchange, Thread *last) {
  exchange.taken = exchange.arrived & exchange.mask;
  std::vector<Thread *> threads = std::move(exchange.waiting);
  exchange.waiting.clear();
  if (last)
    threads.push_back(last);
  if (exchange.kind == kWarpBarrier)
    order(threads);
  comeTogether(threads);
  for (Thread *thread : threads)
    unblock(*thread);
  if (isNews(exchange))
    idle = 0;
}

/// Threads of the mask that will not come.
void MachineState::checkWarp(WarpExchange &exchange, uint32_t warp) {
  if (exchange.waiting.empty())
    return;
  const Thread *first = exchange.waiting.front();
  uint32_t missing = exchange.mask & ~exchange.arrived, gone = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(missing >> lane & 1))
      continue;
    const Thread &other = first->block->threads[warp * 32 + lane];
    if (!other.isDone && !other.isAtBarrier)
      continue;
    report(ReportKind::DivergentBarrier, exchange.site, other.site,
           std::string(other.isDone ? "a thread has ended"
                                    : "a thread waits at the block's barrier") +
               " while others of its warp wait for it\n  waits: " +
               describe(*first, exchange.site) +
               "\n  other: " + describe(other, other.site));
    gone |= 1u << lane;
  }
  if (gone && gone == missing)
    completeExchange(exchange, nullptr);
}

/// The current thread comes to an exchange, and leaves it when all have come.
void MachineState::meet(WarpExchange &exchange, uint32_t kind, uint32_t mask,
                        uint32_t site) {
  Thread *self = current;
  const char *wrong = nullptr;
  if (exchange.arrived && exchange.mask != mask)
    wrong = "threads of one warp name two masks";
  else if (exchange.arrived && (exchange.kind != kind || exchange.site != site))
    wrong = "threads of one warp wait for each other at two places";
  else if (!(mask >> self->lane % 32 & 1))
    wrong = "a thread is not in the mask that it names";
  if (wrong)
    report(ReportKind::DivergentBarrier, exchange.site, site,
           wrong + std::string("\n  ") + describe(*self, site) +
               (exchange.waiting.empty()
                    ? ""
                    : "\n  " +
                          describe(*exchange.waiting.front(), exchange.site)));
  exchange.mask = mask;
  exchange.site = site;
  exchange.kind = kind;
  exchange.arrived |= 1u << self->lane % 32;
  cannotCome(*self);
  if ((exchange.arrived & mask) == mask)
    return completeExchange(exchange, self);
  exchange.waiting.push_back(self);
  checkWarp(exchange, self->lane / 32);
  if (!exchange.waiting.empty())
    block();
}

uint64_t MachineState::exchange(uint32_t kind, uint32_t mask, uint64_t value,
                                uint32_t lane, uint32_t site, bool &isValid) {
  Thread *self = current;
  uint32_t own = self->lane % 32, warp = self->lane / 32;
  WarpExchange &exchange = self->block->warps[warp];
  self->site = site;
  uint32_t present = self->block->numThreads - warp * 32;
  if (present < 32)
    mask &= (1u << present) - 1;
  while (exchange.taken)
    yield(); // the last exchange has not been left by all
  exchange.values[own] = value;
  meet(exchange, kind, mask, site);
  if (kind == kShuffle && lane < 32 && !(mask >> lane & 1))
    report(ReportKind::DivergentBarrier, site, 2,
           "a shuffle reads lane " + std::to_string(lane) +
               ", which its mask leaves out\n  " + describe(*self, site));
  uint64_t result = resultOf(exchange, kind, value, own, lane, isValid);
  exchange.taken &= ~(1u << own);
  if (!exchange.taken)
    exchange.arrived = 0;
  return result;
}

} // namespace coll::emu
