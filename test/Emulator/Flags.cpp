//===- Flags.cpp - Strong operations: what they order, what they may read -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Synchronisation as PTX defines it. A release pattern on a word is a release
// operation, or a fence before a strong write; an acquire pattern an acquire
// operation, or a strong read before a fence. They synchronise when the read
// takes the value of the write, or one that read-modify-writes made of it, the
// write and the read are morally strong, and so are the pattern's first and
// last operation: the *fence's* scope counts, not only that of the store.
// So each write carries, by the distance of a possible reader, what its release
// patterns publish that far.
//
// A word keeps its last values. A strong load that is not a read-modify-write
// takes any that no write known to its thread has replaced (causality) and that
// is not older than what the thread has seen there (coherence). This executes
// message passing without order, store buffering and independent reads of
// independent writes; loads never read what has yet to be written (no load
// buffering).
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace coll::emu {

static uint64_t readMemory(uintptr_t address, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, reinterpret_cast<void *>(address), bytes);
  return value;
}
static void writeMemory(uintptr_t address, uint64_t value, unsigned bytes) {
  memcpy(reinterpret_cast<void *>(address), &value, bytes);
}

static Scope distance(const Thread &thread, uint64_t block, int device) {
  if (thread.block->id == block)
    return Scope::Cta;
  return thread.block->launch->device == device ? Scope::Gpu : Scope::Sys;
}

static bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcqRel ||
         order == Order::SeqCst;
}
static bool releases(Order order) {
  return order == Order::Release || order == Order::AcqRel ||
         order == Order::SeqCst;
}

void MachineState::forgetFlags(Region &region, uintptr_t address,
                               size_t bytes) {
  for (uintptr_t at = address & ~uintptr_t(3); at < address + bytes; at += 4) {
    Cell &cell = region.cell(at);
    if (!cell.hasHistory)
      continue;
    cell.hasHistory = false;
    for (uintptr_t begin = at - 7; begin < at + 4; ++begin)
      if (auto it = flags.find(begin); it != flags.end() &&
                                       begin + it->second.bytes > address &&
                                       begin < address + bytes)
        flags.erase(it);
  }
}

/// The word's history, which ends with what memory holds: values of other
/// processes and of weak stores begin it anew.
static Flag &flagAt(MachineState &state, Region &region, uintptr_t address,
                    unsigned bytes) {
  auto it = state.flags.find(address);
  if (it == state.flags.end() || it->second.bytes != bytes) {
    state.forgetFlags(region, address, bytes);
    for (uintptr_t at = address & ~uintptr_t(3); at < address + bytes; at += 4)
      region.cell(at).hasHistory = true;
    it = state.flags.emplace(address, Flag()).first;
    it->second.bytes = uint8_t(bytes);
  }
  Flag &flag = it->second;
  uint64_t value = readMemory(address, bytes);
  if (flag.writes.empty() || flag.writes.back().value != value) {
    flag.writes.clear();
    FlagWrite write;
    write.value = value;
    write.sequence = flag.nextSequence++;
    flag.writes.push_back(std::move(write));
  }
  return flag;
}

/// Whether a read of the write happens before the current thread goes on: then
/// so does the write (causality order contains observation, then base
/// causality).
static bool isObserved(const FlagWrite &write) {
  return std::any_of(write.readers.begin(), write.readers.end(),
                     [](auto &reader) {
                       return knows(current->base, reader.first, reader.second);
                     });
}

/// The first of the word's writes that the load may take.
static size_t oldestWrite(const Flag &flag) {
  size_t oldest = flag.writes.size() - 1;
  auto seen = flag.seen.find(current->slot);
  uint64_t floor = seen == flag.seen.end() ? 0 : seen->second;
  while (oldest > 0) {
    const FlagWrite &newer = flag.writes[oldest];
    if (newer.slot == current->slot || newer.sequence <= floor ||
        knows(current->base, newer.slot, newer.time) || isObserved(newer))
      break;
    --oldest;
  }
  return oldest;
}

/// Which of the word's writes the load takes, by the seed.
static size_t chooseAnyWrite(MachineState &state, const Flag &flag) {
  size_t oldest = oldestWrite(flag);
  return oldest + state.draw() % (flag.writes.size() - oldest);
}
static FlagWrite &chooseWrite(MachineState &state, Flag &flag) {
  size_t last = flag.writes.size() - 1;
  if (!state.options.staleReads || last == 0)
    return flag.writes[last];
  // Late, though relaxed stores behind a release do not wait for it.
  if (state.options.lateReleases && flag.writes[last].isRelease &&
      !state.isQuiet())
    return flag.writes[oldestWrite(flag)];
  if (!state.draw(4))
    return flag.writes[last];
  return flag.writes[chooseAnyWrite(state, flag)];
}

/// What the current thread learns from a write that it has read.
static void learn(FlagWrite &write, Order order, Scope scope) {
  Scope far = distance(*current, write.block, write.device);
  if (write.scope < far || scope < far)
    return; // not morally strong
  if (write.readers.empty() || write.readers.back().first != current->slot)
    write.readers.emplace_back(current->slot, current->time);
  for (const Origin &origin : write.origins) {
    Scope reach = distance(*current, origin.block, origin.device);
    const Released &released = origin.released[unsigned(reach)];
    if (acquires(order) && scope >= reach)
      acquire(current->base, released);
    acquire(current->pending[unsigned(reach)], released);
  }
}

static FlagWrite makeWrite(Flag &flag, uint64_t value, Order order,
                           Scope scope) {
  FlagWrite write;
  write.value = value;
  write.sequence = flag.nextSequence++;
  write.slot = current->slot;
  write.time = current->time;
  write.block = current->block->id;
  write.device = current->block->launch->device;
  write.scope = scope;
  write.isRelease = releases(order);
  Origin own;
  own.slot = write.slot;
  own.block = write.block;
  own.device = write.device;
  for (unsigned reach = 1; reach <= 3; ++reach) {
    own.released[reach] = current->fenced[reach];
    if (releases(order) && unsigned(scope) >= reach)
      own.released[reach] = {current->base, current->slot, current->time};
  }
  // A release operation on the word, then a strong write of the same thread.
  if (!flag.writes.empty() && flag.writes.back().slot == own.slot)
    for (const Origin &before : flag.writes.back().origins)
      if (before.slot == own.slot)
        for (unsigned reach = 1; reach <= 3; ++reach)
          if (before.released[reach].time > own.released[reach].time)
            own.released[reach] = before.released[reach];
  write.origins.push_back(std::move(own));
  return write;
}

static void append(Flag &flag, FlagWrite write, Order order) {
  flag.seen[current->slot] = write.sequence;
  flag.writes.push_back(std::move(write));
  if (flag.writes.size() > machine->options.history)
    flag.writes.pop_front();
  if (releases(order))
    ++current->time;
}

static Region *beginNow(MachineState &state, uintptr_t &address, unsigned bytes,
                        bool isWrite, Scope scope, uint32_t site) {
  if (address % bytes) {
    state.report(ReportKind::Misaligned, site, 0,
                 "a strong access to an address that its size does not divide"
                 "\n  " +
                     state.describe(*current, site));
    state.hasFailed = true;
    state.yield();
  }
  Region *region = state.resolve(address, bytes, isWrite, site);
  state.note(*region, address, bytes, isWrite, scope, site);
  return region;
}
static Region *begin(MachineState &state, uintptr_t &address, unsigned bytes,
                     bool isWrite, Scope scope, uint32_t site) {
  state.step(site, true);
  return beginNow(state, address, bytes, isWrite, scope, site);
}

uint64_t MachineState::loadFlag(uintptr_t address, unsigned bytes, Order order,
                                Scope scope, uint32_t site) {
  Region *region = begin(*this, address, bytes, false, scope, site);
  Flag &flag = flagAt(*this, *region, address, bytes);
  FlagWrite &write = chooseWrite(*this, flag);
  uint64_t &seen = flag.seen[current->slot];
  if (seen == write.sequence)
    idleLoad();
  seen = write.sequence;
  learn(write, order, scope);
  return write.value;
}

/// A packet may be overwritten once the load that took it happens before. What
/// has no payload only fills the slot; who loads that has come for something
/// else.
void MachineState::checkTaken(const FlagWrite &before, uint32_t site) {
  if (before.readers.empty() || uint32_t(before.value) == 0)
    return;
  auto [slot, time] = before.readers.front();
  if (slot == current->slot || knows(current->base, slot, time))
    return;
  const SlotOwner &owner = slots[slot];
  report(ReportKind::Race, site, 0,
         "unordered: a packet is overwritten, and nothing orders that behind "
         "the load that took it\n  now: " +
             describe(*current, site) + "\n  taken by: device " +
             std::to_string(owner.device) + " launch " +
             std::to_string(owner.launch) + " block " +
             emu::toText(owner.block) + " thread " + emu::toText(owner.thread));
}

void MachineState::storeFlag(uintptr_t address, uint64_t value, unsigned bytes,
                             Order order, Scope scope, uint32_t site) {
  Region *region = begin(*this, address, bytes, true, scope, site);
  Flag &flag = flagAt(*this, *region, address, bytes);
  if (bytes < 8)
    value &= (uint64_t(1) << (8 * bytes)) - 1;
  if (flag.writes.back().value != value)
    idle = 0;
  if (region->holdsPackets && options.check)
    checkTaken(flag.writes.back(), site);
  writeMemory(address, value, bytes);
  append(flag, makeWrite(flag, value, order, scope), order);
}

/// From the last word to the first, so that what a word has seen of lines is
/// known when those before it are chosen; and where another process writes the
/// line meanwhile, in ascending order, this keeps that order, too.
void MachineState::loadLine(LineMeeting &line, Scope scope, uint32_t site) {
  Thread *self = current;
  bool isStale = options.staleReads && draw(4), isNew = false;
  uint64_t newest = 0; // line that this word, or one behind it, has seen
  for (unsigned i = 2 * kLineLanes; i-- > 0;) {
    current = line.waiting[i / 2];
    uintptr_t at = line.addresses[i / 2] + i % 2 * 8;
    Region *region = beginNow(*this, at, 8, false, scope, site);
    std::atomic_thread_fence(std::memory_order_acquire);
    Flag &flag = flagAt(*this, *region, at, 8);
    size_t last = flag.writes.size() - 1,
           chosen = isStale ? chooseAnyWrite(*this, flag) : last;
    for (size_t w = last; w > chosen; --w)
      if (uint64_t its = flag.writes[w].line; its && its <= newest)
        chosen = w;
    for (size_t w = 0; w <= chosen; ++w)
      newest = std::max(newest, flag.writes[w].line);
    FlagWrite &write = flag.writes[chosen];
    uint64_t &seen = flag.seen[current->slot];
    isNew |= seen != write.sequence;
    seen = write.sequence;
    learn(write, Order::Relaxed, scope);
    line.values[i] = write.value;
  }
  current = self;
  if (!isNew)
    idleLoad();
}

void MachineState::storeLine(LineMeeting &line, Scope scope, uint32_t site) {
  Thread *self = current;
  uint64_t number = nextLine++;
  for (unsigned i = 0; i < 2 * kLineLanes; ++i) {
    current = line.waiting[i / 2];
    uintptr_t at = line.addresses[i / 2] + i % 2 * 8;
    Region *region = beginNow(*this, at, 8, true, scope, site);
    Flag &flag = flagAt(*this, *region, at, 8);
    if (flag.writes.back().value != line.values[i])
      idle = 0;
    if (region->holdsPackets && options.check)
      checkTaken(flag.writes.back(), site);
    std::atomic_thread_fence(std::memory_order_release);
    writeMemory(at, line.values[i], 8);
    FlagWrite write = makeWrite(flag, line.values[i], Order::Relaxed, scope);
    write.line = number;
    append(flag, std::move(write), Order::Relaxed);
  }
  current = self;
}

uint64_t MachineState::modifyFlag(uintptr_t address, unsigned bytes,
                                  Order order, Scope scope, uint32_t site,
                                  const Modify &modify) {
  Region *region = begin(*this, address, bytes, true, scope, site);
  Flag &flag = flagAt(*this, *region, address, bytes);
  FlagWrite &before = flag.writes.back();
  uint64_t old = before.value, value = 0;
  learn(before, order, scope);
  flag.seen[current->slot] = before.sequence;
  if (!modify(old, value)) {
    idleLoad();
    return old;
  }
  if (bytes < 8)
    value &= (uint64_t(1) << (8 * bytes)) - 1;
  if (value == old)
    idleLoad();
  else
    idle = 0;
  FlagWrite write = makeWrite(flag, value, order, scope);
  Scope far = distance(*current, before.block, before.device);
  if (before.scope >= far && scope >= far)
    for (const Origin &origin : before.origins)
      if (origin.slot != current->slot)
        write.origins.push_back(origin);
  writeMemory(address, value, bytes);
  append(flag, std::move(write), order);
  return old;
}

/// What is done from here on belongs to a time that no fence lies behind.
void MachineState::fenceAliases() {
  auto made = std::make_shared<Times>();
  raise(*made, current->base);
  link(*made);
  raise(made->linked, current->slot, current->time++);
  current->base = std::move(made);
}

void MachineState::fence(Order order, Scope scope) {
  Thread &self = *current;
  for (unsigned reach = 1; reach <= unsigned(scope); ++reach)
    if (acquires(order))
      acquire(self.base, self.pending[reach]);
  if (order == Order::SeqCst) {
    // All of them stand in one order; those of wider scope are in both lists.
    auto join = [&](int list) {
      Times &times = scFences[list];
      acquire(self.base, std::make_shared<const Times>(times));
      raise(times, self.base);
      raise(times, self.slot, self.time);
    };
    int device = self.block->launch->device;
    if (scope == Scope::Sys)
      join(kHost);
    join(device);
    if (scope == Scope::Sys)
      raise(scFences[kHost], self.base);
  }
  if (!releases(order))
    return;
  for (unsigned reach = 1; reach <= unsigned(scope); ++reach)
    self.fenced[reach] = {self.base, self.slot, self.time};
  ++self.time;
}

} // namespace coll::emu
