//===- Scheduler.cpp - Who runs next --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list of threads that can run; each turn takes one of them by the seed.
// A third of the seeds draws evenly, a third favours one device for a while
// (the others then get one turn in 32), a third favours one block: fair orders
// alone hide what happens when somebody is very late.
//
// Spinning threads can always run, so a deadlock shows as loads that find
// nothing new: whoever changes anything (a store of another value, a barrier,
// an exchange of other values, an end) sets the count of idle loads back.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace coll::emu {

thread_local MachineState *machine = nullptr;
thread_local Thread *current = nullptr;

constexpr size_t kStackBytes = 64 << 10;

static void runThread() {
  arrive();
  Thread *thread = current;
  LaunchState *launch = thread->block->launch;
  launch->entry(launch->paramPointers.data());
  machine->finish(*thread);
  machine->leave();
}

static char *takeStack(MachineState &state) {
  if (state.freeStacks.empty()) {
    constexpr size_t count = 64;
    size_t bytes = count * kStackBytes;
    void *chunk = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED)
      return nullptr;
    state.stackChunks.emplace_back(static_cast<char *>(chunk), bytes);
    for (size_t i = 0; i < count; ++i)
      state.freeStacks.push_back(static_cast<char *>(chunk) + i * kStackBytes);
  }
  char *stack = state.freeStacks.back();
  state.freeStacks.pop_back();
  return stack;
}

MachineState::~MachineState() {
  for (auto &[chunk, bytes] : stackChunks)
    munmap(chunk, bytes);
}

LaunchState *MachineState::find(LaunchId id) const {
  auto it = launches.find(id);
  return it == launches.end() ? nullptr : it->second.get();
}

bool MachineState::mayStart(const LaunchState &launch) const {
  auto isOver = [&](LaunchId id) {
    LaunchState *before = find(id);
    return !before || before->isFinished;
  };
  return std::all_of(launch.after.begin(), launch.after.end(), isOver) &&
         std::all_of(launch.late.begin(), launch.late.end(), isOver);
}

void MachineState::start(LaunchState &launch) {
  launch.isStarted = true;
  Times begins;
  raise(begins, launch.begins);
  for (LaunchId id : launch.after)
    if (LaunchState *before = find(id))
      raise(begins, std::make_shared<const Times>(before->ends));
  launch.begins = std::make_shared<const Times>(std::move(begins));
  uint64_t blocks = launch.grid.volume();
  launch.aliveBlocks = blocks;
  for (uint64_t i = 0; i < blocks; ++i) {
    auto block = std::make_unique<Block>();
    block->index = {uint32_t(i % launch.grid.x),
                    uint32_t(i / launch.grid.x % launch.grid.y),
                    uint32_t(i / launch.grid.x / launch.grid.y)};
    launch.blocks.push_back(std::move(block));
    startBlock(launch, *launch.blocks.back());
  }
}

void MachineState::startBlock(LaunchState &launch, Block &block) {
  block.id = nextBlock++;
  block.launch = &launch;
  block.numThreads = block.alive = uint32_t(launch.block.volume());
  block.threads = std::make_unique<Thread[]>(block.numThreads);
  block.warps.resize((block.numThreads + 31) / 32);
  block.lines.resize((block.numThreads + kLineLanes - 1) / kLineLanes);
  if (launch.sharedBytes) {
    auto region = std::make_unique<Region>();
    region->owned = std::make_unique<char[]>(launch.sharedBytes + 128);
    region->base = (reinterpret_cast<uintptr_t>(region->owned.get()) + 127) &
                   ~uintptr_t(127);
    region->bytes = launch.sharedBytes;
    region->kind = Region::Shared;
    region->device = launch.device;
    block.sharedBase = reinterpret_cast<char *>(region->base);
    block.shared = memory.insert(std::move(region));
  }
  Stream &stream = streams[launch.stream];
  for (uint32_t i = 0; i < block.numThreads; ++i) {
    Thread &thread = block.threads[i];
    thread.block = &block;
    thread.lane = i;
    thread.index = {i % launch.block.x, i / launch.block.x % launch.block.y,
                    i / launch.block.x / launch.block.y};
    // Slots are taken in the order of the launch's threads.
    size_t inLaunch = (launch.blocks.size() - 1) * launch.block.volume() + i;
    if (stream.slots.size() <= inLaunch) {
      stream.slots.push_back(uint32_t(slots.size()));
      slots.emplace_back();
    }
    thread.slot = stream.slots[inLaunch];
    SlotOwner &owner = slots[thread.slot];
    thread.time = owner.time + 1;
    owner = {launch.device, launch.id,     block.index,
             thread.index,  launch.kernel, thread.time};
    thread.base = launch.begins;
    thread.stack = takeStack(*this);
    // Tops at one offset in their pages would share few sets of the caches.
    prepare(thread.context, thread.stack, kStackBytes - i % 61 * 64, runThread);
    thread.readyIndex = uint32_t(ready.size());
    ready.push_back(&thread);
  }
}

void MachineState::finish(Thread &thread) {
  Block &block = *thread.block;
  LaunchState &launch = *block.launch;
  raise(launch.ends, thread.base);
  raise(launch.ends, thread.slot, thread.time);
  slots[thread.slot].time = thread.time;
  thread.isDone = true;
  idle = 0;
  --block.alive;
  cannotCome(thread);
  checkWarp(block.warps[thread.lane / 32], thread.lane / 32);
  for (Meeting &meeting : block.barriers)
    if (meeting.isOfAll && !meeting.arrived.empty() &&
        meeting.arrived.size() == block.alive &&
        meeting.expected > block.alive) {
      report(ReportKind::DivergentBarrier, meeting.site, thread.site,
             "a thread has ended while others of its block wait at a barrier\n"
             "  waits: " +
                 describe(*meeting.arrived.front(), meeting.site) +
                 "\n  ended: " + describe(thread, thread.site));
      completeBarrier(meeting);
    }
  if (block.alive == 0 && --launch.aliveBlocks == 0)
    finish(launch);
}

void MachineState::finish(LaunchState &launch) {
  launch.isFinished = true;
  for (auto &block : launch.blocks)
    if (block->shared) {
      memory.erase(block->shared->base);
      block->shared = nullptr;
    }
}

/// The current thread gives up its place for good. Its stack is free again only
/// once nobody runs on it: the scheduler takes it.
void MachineState::leave() { leaveFor(scheduler); }

void MachineState::yield() {
  ++switches;
  switchTo(current->context, scheduler);
}

static void removeReady(MachineState &state, Thread &thread) {
  Thread *lastOne = state.ready.back();
  state.ready[thread.readyIndex] = lastOne;
  lastOne->readyIndex = thread.readyIndex;
  state.ready.pop_back();
}

void MachineState::block() {
  Thread *self = current;
  self->isBlocked = true;
  removeReady(*this, *self);
  yield();
}

void MachineState::unblock(Thread &thread) {
  if (!thread.isBlocked)
    return;
  thread.isBlocked = false;
  thread.readyIndex = uint32_t(ready.size());
  ready.push_back(&thread);
}

void MachineState::step(uint32_t site, bool isStrong) {
  current->site = site;
  if (++steps > options.maxSteps) {
    report(ReportKind::StepLimit, site, 0,
           "more than " + std::to_string(options.maxSteps) +
               " accesses to shared memory\n  at: " + describe(*current, site));
    hasFailed = true;
  }
  if (hasFailed || draw(isStrong ? 2 : options.preemptEvery))
    yield();
}

void MachineState::idleLoad() {
  if (!idle++)
    quietSince = steps;
  current->idleAt = steps;
}

uint64_t MachineState::idleLimit() const {
  return options.idleLoads ? options.idleLoads : 4096 + 256 * ready.size();
}

bool MachineState::isQuiet() const {
  return idle >= ready.size() &&
         std::all_of(ready.begin(), ready.end(), [&](const Thread *thread) {
           return thread->idleAt >= quietSince;
         });
}

/// Null: all that could run is stalled.
Thread *MachineState::pick() {
  if (stalled == kHost)
    return pickAny();
  auto runs = [&](const Thread *thread) {
    return thread->block->launch->device != stalled;
  };
  for (int tries = 0; tries < 4; ++tries)
    if (Thread *thread = pickAny(); runs(thread))
      return thread;
  auto found = std::find_if(ready.begin(), ready.end(), runs);
  return found == ready.end() ? nullptr : *found;
}

Thread *MachineState::pickAny() {
  size_t count = ready.size();
  Thread *thread = ready[draw() % count];
  unsigned strategy = options.seed % 3;
  // Whoever is late and alone must have come before all others are said to
  // wait in vain.
  if (strategy == 0 || count == 1 || idle > idleLimit() / 2)
    return thread;
  auto key = [&](const Thread &t) {
    return strategy == 1 ? uint64_t(t.block->launch->device) : t.block->id;
  };
  if (switches >= favourUntil) {
    favoured = key(*thread);
    favourUntil = switches + 64 + draw() % 2048;
  }
  for (int tries = 0; tries < 4 && key(*thread) != favoured; ++tries) {
    if (draw(32))
      break;
    thread = ready[draw() % count];
  }
  return thread;
}

void MachineState::reportDeadlock() {
  std::string text = "no thread can go on";
  size_t told = 0;
  std::set<std::tuple<uint64_t, uint32_t>> seen; // one thread a place and block
  for (auto &[id, launch] : launches)
    for (auto &block : launch->blocks)
      for (uint32_t i = 0; i < block->numThreads && told < 16; ++i) {
        const Thread &thread = block->threads[i];
        if (thread.isDone || !seen.insert({block->id, thread.site}).second)
          continue;
        ++told;
        text += "\n  " +
                std::string(thread.isBlocked ? "blocked: " : "polls: ") +
                describe(thread, thread.site);
      }
  report(ReportKind::Deadlock, 0, 0, text);
  hasFailed = true;
}

bool MachineState::isWithin(const std::vector<LaunchId> &until) const {
  auto isOver = [&](LaunchId id) {
    LaunchState *launch = find(id);
    return !launch || launch->isFinished;
  };
  if (!until.empty())
    return !std::all_of(until.begin(), until.end(), isOver);
  return std::any_of(launches.begin(), launches.end(),
                     [](auto &pair) { return !pair.second->isFinished; });
}

bool MachineState::runSome(const std::vector<LaunchId> &until) {
  bool mayHaveStarts = true, goesOn = true;
  while (!hasFailed) {
    if (mayHaveStarts) {
      for (auto &[id, launch] : launches)
        if (!launch->isStarted && mayStart(*launch))
          start(*launch);
      goesOn = isWithin(until);
      mayHaveStarts = false;
    }
    if (!goesOn)
      return true;
    if (options.whileRunning && steps >= nextHostStep) {
      uint64_t after = options.whileRunning(steps);
      nextHostStep = after ? steps + after : ~uint64_t(0);
    }
    Thread *thread = ready.empty() || idle > idleLimit() ? nullptr : pick();
    if (!thread) {
      if (!options.onIdle || !options.onIdle()) {
        reportDeadlock();
        return false;
      }
      idle = 0;
      mayHaveStarts = true;
      continue;
    }
    current = thread;
    switchTo(scheduler, thread->context);
    current = nullptr;
    if (thread->isDone) {
      removeReady(*this, *thread);
      freeStacks.push_back(thread->stack);
      if (LaunchState *launch = thread->block->launch; launch->isFinished) {
        mayHaveStarts = true;
        for (void *param : launch->paramPointers)
          memory.erase(reinterpret_cast<uintptr_t>(param));
        launch->paramPointers.clear();
        launch->blocks.clear(); // with this thread
      }
    }
  }
  return false;
}

} // namespace coll::emu
