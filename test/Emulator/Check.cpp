//===- Check.cpp - What accesses may not do -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX: two overlapping accesses, one of them a write, are a race unless one
// happens before the other (causality order) or both are strong and each one's
// scope includes the other's thread (morally strong). Happens-before comes from
// the clocks; this file only compares.
//
// A cell keeps an access until a later one of at most its strength, ordered
// after it and covering it, stands for it: whoever would race with the older
// one then races with the newer one too, or comes after both.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace coll::emu {

const char *nameOf(ReportKind kind) {
  switch (kind) {
  case ReportKind::Race:
    return "race";
  case ReportKind::OutOfBounds:
    return "out-of-bounds";
  case ReportKind::Uninitialised:
    return "uninitialised";
  case ReportKind::Misaligned:
    return "misaligned";
  case ReportKind::ReadOnly:
    return "read-only";
  case ReportKind::NonCoherent:
    return "non-coherent";
  case ReportKind::DivergentBarrier:
    return "divergent-barrier";
  case ReportKind::Deadlock:
    return "deadlock";
  case ReportKind::StepLimit:
    return "step-limit";
  case ReportKind::Trap:
    return "trap";
  case ReportKind::Unsupported:
    return "unsupported";
  case ReportKind::Overlap:
    return "overlap";
  }
  return "?";
}

std::string toText(const Dim3 &index) {
  std::string text = std::to_string(index.x);
  if (index.y || index.z)
    text += "," + std::to_string(index.y) + "," + std::to_string(index.z);
  return text;
}

static std::string toText(uint32_t site) {
  const Site &where = siteOf(site);
  std::string text = "\n      " + where.text;
  if (!where.function.empty())
    text = " in " + where.function + text;
  return where.location.empty() ? text : " at " + where.location + text;
}

std::string MachineState::describe(const Thread &thread, uint32_t site) const {
  const Block &block = *thread.block;
  return "device " + std::to_string(block.launch->device) + " launch " +
         std::to_string(block.launch->id) + " block " +
         emu::toText(block.index) + " thread " + emu::toText(thread.index) +
         emu::toText(site);
}

std::string MachineState::describe(const Entry &entry) const {
  static const char *scopes[] = {"weak", "strong.cta", "strong.gpu",
                                 "strong.sys"};
  std::string kind = std::string(entry.isWrite ? "write (" : "read (") +
                     scopes[unsigned(entry.scope)] + ") by ";
  if (entry.slot == 0)
    return kind + "the host";
  const SlotOwner &owner = slots[entry.slot];
  return kind + "device " + std::to_string(owner.device) + " launch " +
         std::to_string(owner.launch) + " block " + emu::toText(owner.block) +
         " thread " + emu::toText(owner.thread) + emu::toText(entry.site);
}

void MachineState::report(ReportKind kind, uint32_t siteA, uint32_t siteB,
                          const std::string &text) {
  if (!reported.insert({kind, siteA, siteB}).second)
    return;
  reports.push_back({kind, std::string(nameOf(kind)) + ": " + text});
  if (reports.size() >= options.maxReports)
    hasFailed = true;
}

/// Scope that must be named for both threads to be in it.
static Scope distance(const Thread *thread, const SlotOwner &owner,
                      uint32_t slot) {
  if (!thread || slot == 0)
    return Scope::Sys;
  const Block &block = *thread->block;
  if (owner.device != block.launch->device)
    return Scope::Sys;
  bool isSameBlock =
      owner.launch == block.launch->id && owner.block.x == block.index.x &&
      owner.block.y == block.index.y && owner.block.z == block.index.z;
  return isSameBlock ? Scope::Cta : Scope::Gpu;
}

static std::string valueAt(uintptr_t address, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, reinterpret_cast<void *>(address), bytes < 8 ? bytes : 8);
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

namespace {
/// One access on its way through the cells.
struct Noting {
  MachineState &state;
  Thread *thread; // null: the host
  Entry entry;
  uintptr_t address;
  size_t bytes;

  /// Of two addresses of one memory, behind a write. What has been loaded has
  /// its value, so nothing that is written later needs a fence for that.
  bool needsFence(const Entry &old) const {
    return thread && old.isWrite && old.isMulticast != entry.isMulticast;
  }
  bool isOrdered(const Entry &old) const {
    if (needsFence(old))
      return isLinked(thread->base, old.slot, old.time);
    if (old.slot == entry.slot)
      return true;
    return knows(thread ? thread->base : state.hostKnows, old.slot, old.time);
  }
  void check(const Entry &old) {
    if (!(old.isWrite || entry.isWrite) || !(old.mask & entry.mask) ||
        isOrdered(old))
      return;
    Scope far = distance(thread, state.slots[old.slot], old.slot);
    bool areAlike = old.extent == entry.extent;
    if (old.scope >= far && entry.scope >= far && areAlike)
      return;
    const char *why = "weak accesses";
    if (needsFence(old) &&
        (old.slot == entry.slot || knows(thread->base, old.slot, old.time)))
      why = "accesses by two addresses, with no alias fence between,";
    else if (old.scope != Scope::Weak && entry.scope != Scope::Weak)
      why = areAlike ? "a strong access whose scope leaves the other out"
                     : "strong accesses that overlap in part";
    else if (old.scope != entry.scope)
      why = "a weak and a strong access";
    char at[32];
    snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(address));
    state.report(ReportKind::Race, old.site, entry.site,
                 std::string("unordered: ") + why + " to " + at + ", " +
                     std::to_string(bytes) + " bytes, which hold " +
                     valueAt(address, bytes) +
                     "\n  now: " + state.describe(entry) +
                     "\n  before: " + state.describe(old));
  }
  bool isReplaced(const Entry &old) const {
    return (old.mask & ~entry.mask) == 0 && entry.scope <= old.scope &&
           (entry.isWrite || !old.isWrite) && isOrdered(old) &&
           (entry.scope == Scope::Weak || old.extent == entry.extent);
  }

  void visit(Cell &cell) {
    if (entry.isWrite)
      visitWrite(cell);
    else
      visitRead(cell);
  }
  void visitRead(Cell &cell) {
    if (cell.write.time)
      check(cell.write);
    if (cell.moreWrites)
      for (const Entry &old : *cell.more)
        check(old);
    if (!cell.read.time || isReplaced(cell.read)) {
      cell.read = entry;
      return;
    }
    append(cell);
  }
  void visitWrite(Cell &cell) {
    for (Entry *old : {&cell.write, &cell.read})
      if (old->time) {
        check(*old);
        if (isReplaced(*old))
          old->time = 0;
      }
    if (cell.more) {
      for (const Entry &old : *cell.more)
        check(old);
      std::erase_if(*cell.more,
                    [&](const Entry &old) { return isReplaced(old); });
      count(cell);
    }
    if (!cell.write.time)
      cell.write = entry;
    else
      append(cell);
  }
  void append(Cell &cell) {
    if (!cell.more)
      cell.more = new std::vector<Entry>;
    cell.more->push_back(entry);
    cell.moreWrites += entry.isWrite;
    if (cell.more->size() > std::max<size_t>(cell.moreLimit, 32))
      compact(cell);
  }
  static void count(Cell &cell) {
    cell.moreWrites =
        uint32_t(std::count_if(cell.more->begin(), cell.more->end(),
                               [](const Entry &old) { return old.isWrite; }));
    cell.moreLimit = uint32_t(2 * cell.more->size());
  }
  /// Of one thread's accesses of a kind the last stands for all.
  static void compact(Cell &cell) {
    auto key = [](const Entry &e) {
      return std::tuple(e.slot, bool(e.isWrite), bool(e.isMulticast), e.mask,
                        e.scope, e.extent);
    };
    std::sort(cell.more->begin(), cell.more->end(),
              [&](const Entry &a, const Entry &b) {
                return std::tuple(key(a), b.time) < std::tuple(key(b), a.time);
              });
    cell.more->erase(
        std::unique(cell.more->begin(), cell.more->end(),
                    [&](auto &a, auto &b) { return key(a) == key(b); }),
        cell.more->end());
    count(cell);
  }
};
} // namespace

static void noteAll(Noting &noting, Region &region, bool checksInitialised) {
  uintptr_t end = noting.address + noting.bytes;
  for (uintptr_t at = noting.address & ~uintptr_t(3); at < end; at += 4) {
    unsigned first = at < noting.address ? unsigned(noting.address - at) : 0;
    unsigned last = end - at < 4 ? unsigned(end - at) : 4;
    noting.entry.mask = uint8_t((1u << last) - (1u << first));
    if (noting.entry.scope != Scope::Weak)
      noting.entry.extent =
          uint8_t(noting.bytes << 4 | (noting.address - at + 8));
    Cell &cell = region.cell(at);
    if (noting.entry.isWrite)
      cell.initialised |= noting.entry.mask;
    else if (checksInitialised && (noting.entry.mask & ~cell.initialised)) {
      noting.state.report(ReportKind::Uninitialised, noting.entry.site, 0,
                          "nobody has written what is read\n  " +
                              noting.state.describe(noting.entry));
      cell.initialised |= noting.entry.mask;
    }
    noting.visit(cell);
  }
}

void MachineState::note(Region &region, uintptr_t address, size_t bytes,
                        bool isWrite, Scope scope, uint32_t site,
                        bool isMulticast) {
  if (!options.check || !bytes)
    return;
  Noting noting{*this, current, {}, address, bytes};
  noting.entry = {current->slot, current->time, site,  0,
                  isWrite,       isMulticast,   scope, 0};
  noteAll(noting, region, options.checkUninitialised);
}

void MachineState::noteHost(uintptr_t address, size_t bytes, bool isWrite,
                            Scope scope) {
  Region *region = memory.find(address, bytes);
  while (region && region->kind == Region::Alias) {
    address = region->target + (address - region->base);
    region = memory.find(address, bytes);
  }
  if (!region || !bytes)
    return;
  if (isWrite)
    forgetFlags(*region, address, bytes);
  if (!options.check)
    return;
  Noting noting{*this, nullptr, {}, address, bytes};
  noting.entry = {0, hostTime, 0, 0, isWrite, false, scope, 0};
  noteAll(noting, *region, options.checkUninitialised);
}

Region *MachineState::resolve(uintptr_t &address, size_t bytes, bool isWrite,
                              uint32_t site) {
  Region *region = memory.find(address, bytes);
  if (!region && options.onUnknown && options.onUnknown())
    region = memory.find(address, bytes);
  for (int depth = 0; region && region->kind == Region::Alias && depth < 4;
       ++depth) {
    address = region->target + (address - region->base);
    region = memory.find(address, bytes);
  }
  if (region && region->kind != Region::Multicast &&
      !(isWrite && region->isReadOnly) &&
      (region->kind != Region::Shared || region == current->block->shared))
    return region;
  char at[32];
  snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(address));
  std::string text = std::string(isWrite ? "write" : "read") + " of " +
                     std::to_string(bytes) + " bytes at " + at;
  ReportKind kind = ReportKind::OutOfBounds;
  if (!region) {
    if (Region *near = memory.nearest(address))
      text += ", " + std::to_string(address - near->base) +
              " past the start of " + std::to_string(near->bytes) +
              " bytes of device " + std::to_string(near->device);
  } else if (region->kind == Region::Multicast) {
    text += ", a multicast address, which only multimem instructions may use";
  } else if (region->kind == Region::Shared) {
    text += ", shared memory of another block";
  } else {
    kind = ReportKind::ReadOnly;
  }
  report(kind, site, 0, text + "\n  " + describe(*current, site));
  hasFailed = true;
  yield(); // never comes back
  return nullptr;
}

} // namespace coll::emu
