//===- PlanBuffers.cpp - Buffers, windows and arguments of a plan ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a plan's buffers lie. In place those that may share memory lie in one
// another, as the contract says part by part: the larger of two holds the
// other. A window is one buffer with what lies in it. Counts of a launch array
// differ, and some are 0.
//
//===----------------------------------------------------------------------===//

#include "PlanRun.h"

#include <algorithm>

namespace coll::emu {

static uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

/// What the call's first count stands for.
size_t PlanLayout::elementsOf(size_t count) const {
  return hasRows() ? count / call.row * call.row : count;
}

/// Elements of the size symbol in a launch of `count`.
size_t PlanLayout::elementsOf(const coll_plan_size &size, size_t count) const {
  if (size.kind == COLL_SIZE_CONST)
    return size.value;
  if (call.plan->flags & COLL_PLAN_VCOUNTS)
    return count * ((size.index + 1) % 3) / 2;
  return elementsOf(count);
}

/// Where every part of a buffer begins, in bytes, and where the last ends.
std::vector<size_t> PlanLayout::partsOf(const PlanRank &rank,
                                        uint32_t buffer) const {
  const coll_class &cls = *rank.cls;
  uint32_t word = cls.part_sizes;
  for (uint32_t b = 0; b < buffer; ++b)
    word += table->bufs[b].parts;
  const coll_plan_buf &buf = table->bufs[buffer];
  std::vector<size_t> begins{0};
  for (uint32_t part = 0; part < buf.parts; ++part) {
    uint32_t symbol =
        rank.words[cls.size_stride ? word + part : cls.part_sizes + buffer];
    size_t elems = buf.kind == COLL_BUF_ROW
                       ? call.row
                       : elementsOf(table->sizes[symbol], call.count);
    begins.push_back(begins.back() + elems * dtypeBytes(call.dtype));
  }
  return begins;
}

/// Which buffers lie in others.
std::string PlanLayout::placeBuffers(PlanRank &rank) {
  rank.places.clear();
  for (uint32_t b = 0; b < call.plan->nbufs; ++b)
    rank.places.push_back({b, 0});
  const coll_class &cls = *rank.cls;
  for (uint32_t i = 0; call.isInPlace && i < cls.naliases; ++i) {
    const uint32_t *alias = &rank.words[cls.aliases + size_t(5) * i];
    uint32_t inner = alias[0], outer = alias[2];
    std::vector<size_t> in = partsOf(rank, inner), out = partsOf(rank, outer);
    bool isSwapped =
        in.back() > out.back() ||
        (in.back() == out.back() && table->bufs[inner].kind == COLL_BUF_OUT);
    for (uint32_t p = 0; p < alias[4]; ++p) {
      size_t inBegin = in[alias[1] + p], outBegin = out[alias[3] + p];
      if (in[alias[1] + p + 1] == inBegin)
        continue;
      PlanPlace place{isSwapped ? inner : outer,
                      isSwapped ? inBegin - outBegin : outBegin - inBegin};
      PlanPlace &known = rank.places[isSwapped ? outer : inner];
      if (known.base != place.base && known.base != (isSwapped ? outer : inner))
        return "a buffer would lie in two others in place";
      if (known.base == place.base && known.offset != place.offset)
        return "parts that share memory in place lie in another order";
      known = place;
    }
  }
  return "";
}

bool PlanLayout::isRegistered(const PlanRank &rank, uint32_t base) const {
  // As the runtime: peers do not find their way where counts differ.
  if (!isDevice || call.plan->flags & COLL_PLAN_VCOUNTS)
    return false;
  bool hasIn = false, hasOut = false;
  for (uint32_t b = 0; b < rank.places.size(); ++b)
    if (rank.places[b].base == base) {
      hasIn |= table->bufs[b].kind == COLL_BUF_IN;
      hasOut |= table->bufs[b].kind == COLL_BUF_OUT;
    }
  switch (call.registered) {
  case Registered::None:
    return false;
  case Registered::All:
    return true;
  case Registered::In:
    return hasIn;
  case Registered::Out:
    return hasOut;
  case Registered::Even:
    return rank.inst->rank % 2 == 0;
  }
  return false;
}

/// Windows begin before their buffer, and ranks number them differently.
char *PlanLayout::makeBuffer(const PlanRank &rank, uint32_t buffer,
                             size_t bytes) {
  const uint32_t number = rank.inst->rank;
  size_t before = call.isUnaligned ? dtypeBytes(call.dtype) : 0;
  const bool isWindow = bytes && isRegistered(rank, buffer);
  before += isWindow ? 64 : 0;
  auto *base =
      static_cast<char *>(memory->alloc(number, before + bytes, false));
  if (isWindow)
    windows.push_back(
        {number, buffer, 1 + number + buffer, base, before + bytes});
  return base + before;
}

std::string PlanLayout::buildBuffers(uint32_t number) {
  PlanRank &rank = ranks[number];
  if (std::string error = placeBuffers(rank); !error.empty())
    return error;
  std::vector<char *> made(call.plan->nbufs);
  auto bytesOf = [&](uint32_t b) { return partsOf(rank, b).back(); };
  auto isThere = [&](uint32_t b) { return rank.cls->present >> b & 1; };
  for (uint32_t b = 0; b < made.size(); ++b)
    if (isThere(b) && rank.places[b].base == b)
      made[b] = makeBuffer(rank, b, bytesOf(b));
  for (uint32_t b = 0; b < made.size(); ++b) {
    const PlanPlace &place = rank.places[b];
    if (isThere(b) && place.base != b)
      made[b] = made[place.base] + place.offset;
    size_t bytes = made[b] ? bytesOf(b) : 0;
    const uint32_t kind = table->bufs[b].kind;
    if (kind == COLL_BUF_OUT) {
      rank.out.push_back(made[b]);
      rank.outBytes.push_back(bytes);
      continue;
    }
    if (bytes)
      memory->wrote(made[b], bytes);
    (kind == COLL_BUF_IN ? rank.in : rank.arg).push_back(made[b]);
    rank.inBytes.push_back(bytes);
  }
  return "";
}

/// The tables of peers' windows.
void PlanLayout::showWindows() {
  if (windows.empty())
    return;
  for (PlanRank &rank : ranks) {
    size_t bytes = sizeof(coll_window) * COLL_MAX_WINDOWS * ranks.size();
    auto *shown =
        static_cast<coll_window *>(memory->alloc(rank.inst->rank, bytes, true));
    rank.inst->wins = addressOf(shown);
    tables.push_back(shown);
    for (const PlanWindow &window : windows) {
      coll_window &entry = shown[window.number * ranks.size() + window.rank];
      entry.base = addressOf(window.base);
      entry.bytes = window.bytes;
    }
  }
  if (call.multicast != Multicast::None)
    showMulticast();
}

/// One object per buffer that all ranks have in a window, mapped by each.
void PlanLayout::showMulticast() {
  for (uint32_t b = 0; b < call.plan->nbufs; ++b) {
    std::vector<const PlanWindow *> all;
    for (const PlanWindow &window : windows)
      if (window.buffer == b && (all.empty() || window.bytes == all[0]->bytes))
        all.push_back(&window);
    if (all.size() != ranks.size())
      continue;
    std::vector<void *> members;
    for (const PlanWindow *window : all)
      members.push_back(window->base);
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      uint64_t address = addressOf(memory->multicast(members, all[0]->bytes));
      for (const PlanWindow *window : all) {
        bool isSkewed =
            call.multicast == Multicast::Skewed && window->rank == 1;
        tables[rank][window->number * ranks.size() + window->rank].multicast =
            address + (isSkewed ? 16 : 0);
      }
      ranks[rank].inst->multicast = 1;
    }
  }
}

std::string PlanLayout::fillArguments(unsigned launch) {
  number = launch + 1;
  for (PlanRank &rank : ranks)
    if (std::string error = fillArguments(rank, launch); !error.empty())
      return error;
  return "";
}

/// What a rank is given of the counts, in the order of the launch array.
std::vector<size_t> PlanLayout::countsOf(const PlanRank &rank,
                                         size_t count) const {
  if (hasRows())
    return {count / call.row, call.row};
  if (!(call.plan->flags & COLL_PLAN_VCOUNTS))
    return {count};
  std::map<uint32_t, size_t> given; // by index
  for (uint32_t i = 0; i < rank.cls->ngiven; ++i)
    if (const coll_plan_size &size =
            table->sizes[rank.words[rank.cls->given + i]];
        size.kind == COLL_SIZE_COUNT)
      given[size.index] = elementsOf(size, count);
  std::vector<size_t> counts;
  for (auto &[index, elems] : given)
    counts.push_back(elems);
  return counts;
}

std::string PlanLayout::fillArguments(PlanRank &rank, unsigned launch) {
  std::vector<size_t> counts = countsOf(rank, call.countOf(launch));
  coll_call launched = {};
  launched.in = rank.in.data();
  launched.out = rank.out.data();
  launched.arg = rank.arg.data();
  launched.count = counts.data();
  static const double scalars[COLL_MAX_SCALARS] = {2, 2, 2, 2};
  launched.scalar = scalars;
  launched.launch = call.launchValues.data();
  launched.dtype = call.dtype;
  launched.op = call.op;
  if (Status status = rank.arguments->fill(launched); !status.isOk())
    return status.text();
  coll_args &args = rank.arguments->args();
  args.inst = addressOf(rank.inst);
  const bool isInPlace = rank.arguments->isInPlace();
  rank.inst->steps =
      rank.inst->consts + sizeof(uint32_t) * rank.cls->entry[isInPlace];
  rank.inst->scratch_slots = rank.cls->scratch_slots[isInPlace];
  for (const PlanWindow &window : windows)
    for (uint32_t b = 0; window.rank == rank.inst->rank && b < args.nbufs; ++b)
      if (rank.places[b].base == window.buffer && args.bufs[b].ptr)
        args.bufs[b].win = call.hides(window.rank, launch)
                               ? 0
                               : window.number << 48 | (args.bufs[b].ptr -
                                                        addressOf(window.base));
  return "";
}

} // namespace coll::emu
