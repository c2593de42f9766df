//===- ProgramCheckMemory.cpp - Memory of the checked ranks ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/ProgramCheckMemory.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>

using namespace coll;
using namespace coll::check;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Memory::Memory(const ProgramSet &programs, uint32_t m, Variant variant,
               uint32_t rounds)
    : programs(programs), member(programs.members[m]) {
  const uint32_t buffers = member.buffers.size(), ranks = programs.numRanks();
  for (const Buffer &buffer : member.buffers) {
    uint32_t chunks = 1;
    for (uint32_t size : buffer.partSize)
      if (size < programs.sizes.size())
        chunks = std::max(chunks, programs.sizes[size].chunks);
    stride.push_back(chunks);
  }
  uint32_t next = 0;
  const auto &variants =
      variant == Variant::InPlace ? member.inPlace : member.outOfPlace;
  for (Rank rank = 0; rank < ranks; ++rank) {
    uint32_t first = next;
    for (uint32_t b = 0; b < buffers; ++b) {
      base.push_back(next);
      if (hasBuffer(rank, b))
        next += member.buffers[b].parts * stride[b];
    }
    roundSize.push_back(next - first);
    next = first + roundSize.back() * rounds;
    scratch.push_back(next);
    slots.push_back(variants[rank].scratchSlots);
    next += slots.back();
  }
  contents.resize(next);
  if (variant == Variant::InPlace)
    for (const InplacePair &pair : member.inplacePairs)
      alias[{uint64_t(pair.rank) << 16 | pair.bufferB, pair.partB}] = {
          pair.bufferA, pair.partA};
}

bool Memory::hasBuffer(Rank rank, uint32_t buffer) const {
  return buffer < member.buffers.size() &&
         rank < member.buffers[buffer].present.size() &&
         member.buffers[buffer].present[rank];
}

uint32_t Memory::chunksOf(Rank rank, uint32_t buffer, uint32_t part) const {
  uint32_t size = member.buffers[buffer].sizeOf(rank, part);
  return size < programs.sizes.size() ? programs.sizes[size].chunks : 0;
}

uint32_t Memory::find(Rank rank, const Location &location, bool isToken,
                      uint32_t round) {
  if (location.space == Location::Scratch) {
    if (!isToken)
      return location.part < slots[rank] ? scratch[rank] + location.part
                                         : kNone;
    auto [it, isNew] =
        tokenSlots.try_emplace({rank, location.part}, contents.size());
    if (isNew)
      contents.emplace_back();
    return it->second;
  }
  uint32_t buffer = location.buffer, part = location.part;
  if (!hasBuffer(rank, buffer) || part >= member.buffers[buffer].parts ||
      location.chunk >= chunksOf(rank, buffer, part))
    return kNone;
  auto it = alias.find({uint64_t(rank) << 16 | buffer, part});
  if (it != alias.end())
    std::tie(buffer, part) = it->second;
  return base[rank * member.buffers.size() + buffer] + round * roundSize[rank] +
         part * stride[buffer] + location.chunk;
}

bool Memory::isOut(Rank rank, const Location &location) const {
  if (member.buffers[location.buffer].kind == Buffer::Out)
    return true;
  for (const InplacePair &pair : member.inplacePairs) {
    bool isA = pair.bufferA == location.buffer && pair.partA == location.part;
    bool isB = pair.bufferB == location.buffer && pair.partB == location.part;
    if (!alias.empty() && pair.rank == rank && (isA || isB))
      return member.buffers[isA ? pair.bufferB : pair.bufferA].kind ==
             Buffer::Out;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Order::Order(const std::vector<RankProgram> &ranks, uint32_t maxSearch)
    : searchesLeft(maxSearch) {
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    firstBlock.push_back(rankOf.size());
    rankOf.insert(rankOf.end(), ranks[rank].blocks.size(), rank);
    tracked.push_back(ranks[rank].blocks.size() > 1);
    anyTracked |= tracked.back();
  }
  firstBlock.push_back(rankOf.size());
  clocks.resize(rankOf.size());
  executed.resize(rankOf.size());
  causes.resize(rankOf.size());
}

Event Order::begin(Rank rank, uint32_t block, llvm::ArrayRef<Event> after) {
  uint32_t id = blockAt(rank, block);
  Event event{id, uint32_t(next)};
  if (!anyTracked)
    return event;
  event.number = executed[id].size();
  executed[id].push_back(next++);
  causes[id].emplace_back(after.begin(), after.end());
  if (!tracked[rank])
    return event;
  const uint32_t w = width(id);
  std::vector<uint32_t> clock(w, 0);
  if (event.number)
    std::copy_n(clocks[id].end() - w, w, clock.begin());
  for (Event cause : after) {
    if (rankOf[cause.block] != rank)
      continue;
    const uint32_t *other =
        clocks[cause.block].data() + size_t(cause.number) * w;
    for (uint32_t i = 0; i < w; ++i)
      clock[i] = std::max(clock[i], other[i]);
  }
  clock[block] = event.number + 1;
  clocks[id].insert(clocks[id].end(), clock.begin(), clock.end());
  return event;
}

bool Order::isBefore(Event earlier, Event later) {
  if (earlier.block == later.block)
    return true;
  const uint32_t w = width(later.block);
  if (clocks[later.block][size_t(later.number) * w +
                          blockOfRank(earlier.block)] > earlier.number)
    return true;
  return isReachable(earlier, later);
}

bool Order::isReachable(Event earlier, Event later) {
  if (searchesLeft == 0)
    return false;
  --searchesLeft;
  const uint64_t target = executed[earlier.block][earlier.number];
  std::vector<Event> stack{later};
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
  while (!stack.empty()) {
    Event at = stack.back();
    stack.pop_back();
    if (at.block == earlier.block && at.number >= earlier.number)
      return true;
    if (executed[at.block][at.number] < target ||
        !seen.insert({at.block, at.number}).second)
      continue;
    if (at.number)
      stack.push_back({at.block, at.number - 1});
    for (Event cause : causes[at.block][at.number])
      stack.push_back(cause);
  }
  return false;
}

std::optional<Conflict> Order::touch(Rank rank, uint32_t location, Event event,
                                     bool isWrite) {
  if (!tracked[rank])
    return std::nullopt;
  Access &access = accesses[location];
  if (access.write.block != kNone && !isBefore(access.write, event))
    return Conflict{access.write, true};
  if (!isWrite) {
    for (Event &read : access.reads)
      if (read.block == event.block) {
        read = event;
        return std::nullopt;
      }
    access.reads.push_back(event);
    return std::nullopt;
  }
  for (Event read : access.reads)
    if (!isBefore(read, event))
      return Conflict{read, false};
  access.write = event;
  access.reads.clear();
  return std::nullopt;
}
