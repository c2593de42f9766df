//===- Threads.h - Threads, blocks, launches, flag words --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_THREADS_H
#define COLL_TEST_EMULATOR_THREADS_H

#include "Clock.h"
#include "Fiber.h"
#include "Memory.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

namespace coll::emu {

struct Block;
struct LaunchState;

/// Where an access stands in a module.
struct Site {
  std::string function, text, location;
};

/// What a write to a flag word carries: one origin per writer whose release
/// pattern it continues (a chain of read-modify-writes has several), by how far
/// away the reader may be.
struct Origin {
  uint32_t slot = 0;
  uint64_t block = 0;
  int device = kHost;
  Released released[4]; // by distance, Cta to Sys
};

struct FlagWrite {
  uint64_t value = 0, sequence = 0;
  uint32_t slot = 0, time = 0;
  uint64_t block = 0;
  int device = kHost;
  Scope scope = Scope::Weak;
  bool isRelease = false;
  uint64_t line = 0; // the whole line that it is a word of; 0: none
  std::vector<Origin> origins;
  std::vector<std::pair<uint32_t, uint32_t>> readers; // slot, time
};

/// A word that was accessed with strong operations.
struct Flag {
  uint8_t bytes = 0;
  uint64_t nextSequence = 1;
  std::deque<FlagWrite> writes; // oldest first, at most Options::history
  std::unordered_map<uint32_t, uint64_t> seen; // slot -> sequence
};

struct Thread {
  Context context;
  char *stack = nullptr;
  Block *block = nullptr;
  uint32_t slot = 0, time = 1, lane = 0; // lane: linear index in the block
  Dim3 index;
  Clock base;
  Released fenced[4]; // latest release fence, by distance
  Clock pending[4];   // read by strong loads, until an acquire fence
  uint32_t site = 0;  // of the last access
  uint32_t readyIndex = 0;
  uint64_t idleAt = 0; // the last load that found nothing new, in steps
  bool isDone = false, isBlocked = false, isAtBarrier = false;
  // Lines.cpp: where lanes last were at one place together, and what has been
  // branched to since.
  uint64_t together = 0;
  std::vector<uint32_t> path;
};

/// Threads that meet at a barrier of a block, or of a warp.
struct Meeting {
  std::vector<Thread *> arrived; // and wait
  std::vector<Released> passed;  // of those that arrived and went on
  bool isOfAll = false;          // of the block
  bool isAligned = false;
  uint32_t site = 0, expected = 0;
  uint32_t votes = 0, result = 0; // threads that brought true
};
constexpr unsigned kBarriers = 16;

/// An exchange among the threads of a mask.
struct WarpExchange {
  uint32_t mask = 0, arrived = 0, taken = 0;
  uint32_t site = 0, kind = 0;
  uint64_t values[32] = {};
  std::unordered_map<uint32_t, uint64_t> last; // by site
  std::vector<Thread *> waiting;
};

/// Eight lanes' accesses to one line, until all are there or one cannot come.
constexpr unsigned kLineLanes = 8, kLineBytes = 128;
struct LineMeeting {
  Thread *waiting[kLineLanes] = {};
  uint32_t numWaiting = 0, site = 0;
  bool isWhole[kLineLanes] = {}; // made for the lane by the last one to come
  uintptr_t addresses[kLineLanes] = {};
  uint64_t values[2 * kLineLanes] = {};
};

struct Block {
  uint64_t id = 0; // over all launches
  LaunchState *launch = nullptr;
  Dim3 index;
  std::unique_ptr<Thread[]> threads;
  uint32_t numThreads = 0, alive = 0;
  Meeting barriers[kBarriers];
  std::vector<WarpExchange> warps;
  std::vector<LineMeeting> lines; // one for each eight lanes
  Region *shared = nullptr;
  char *sharedBase = nullptr;
};

struct LaunchState {
  LaunchId id = 0;
  int device = 0;
  uint64_t stream = 0;
  const Module *module = nullptr;
  std::string kernel;
  void (*entry)(void **) = nullptr;
  Dim3 grid, block;
  size_t sharedBytes = 0;
  std::vector<void *> paramPointers;
  std::vector<LaunchId> after, late;
  std::vector<std::unique_ptr<Block>> blocks;
  uint64_t aliveBlocks = 0;
  bool isStarted = false, isFinished = false, isKnownToHost = false;
  Clock begins; // what its threads know from the start
  Times ends;   // what its threads knew at the end
};

struct Stream {
  LaunchId last = 0;
  std::vector<LaunchId> waits;
  std::vector<uint32_t> slots; // reused by launches, which come in order
};

/// Who has a slot: for reports.
struct SlotOwner {
  int device = kHost;
  uint64_t launch = 0;
  Dim3 block, thread;
  std::string kernel;
  uint32_t time = 0; // where the next owner goes on
};

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_THREADS_H
