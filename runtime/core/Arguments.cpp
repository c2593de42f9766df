//===- Arguments.cpp - From a call to what kernels read -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Arguments.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cassert>

namespace coll {

Arguments::Arguments(const coll_plan &plan, const coll_plan_ranks &ranks,
                     const coll_class &cls, std::span<const uint32_t> words,
                     std::span<const uint32_t> maxStepChunks,
                     const RingSizes &rings, LaunchRules rules)
    : plan(plan), ranks(ranks), cls(cls), words(words),
      maxStepChunks(maxStepChunks), rings(rings), rules(rules),
      isByKernel(rules.byKernel) {
  uint32_t indexOfKind[COLL_BUF_SCALAR + 1] = {};
  uint32_t firstPart = 0;
  for (uint32_t b = 0; b != plan.nbufs; ++b) {
    const coll_plan_buf &source = ranks.bufs[b];
    if (source.kind == COLL_BUF_SCALAR)
      break; // scalars come last
    CallBuffer buffer;
    buffer.name = source.name;
    buffer.kind = source.kind;
    bool isArg = source.kind == COLL_BUF_ELEM || source.kind == COLL_BUF_ROW;
    buffer.index = indexOfKind[isArg ? uint32_t(COLL_BUF_ELEM) : source.kind]++;
    buffer.parts = source.parts;
    buffer.isPresent = cls.present >> b & 1;
    buffer.isUniform = cls.size_stride == 0;
    buffer.symbols =
        &words[cls.part_sizes + (buffer.isUniform ? b : firstPart)];
    if (!buffer.isUniform)
      buffer.packed.resize(buffer.parts);
    firstPart += source.parts;
    buffers.push_back(std::move(buffer));
  }
  storage.resize((sizeof(coll_args) + buffers.size() * sizeof(coll_buf) +
                  sizeof(Line) - 1) /
                 sizeof(Line));
  head = reinterpret_cast<coll_args *>(storage.data());
  isPlain = plan.nscalars == 0 && !(plan.flags & COLL_PLAN_VCOUNTS) &&
            cls.size_stride == 0;
  sizes.resize(ranks.nsizes);
  begins.resize(buffers.size());
  ends.resize(buffers.size());
  inProcess.resize(buffers.size());
  ranges.reserve(firstPart);
  givenOf.assign(ranks.nsizes, -1);
  // The caller's counts stand in the order of the launch array; the class lists
  // its sizes in the order of the buffers, which differs from rank to rank.
  std::vector<uint32_t> order;
  for (uint32_t j = 0; j != cls.ngiven; ++j)
    if (const coll_plan_size &size = ranks.sizes[words[cls.given + j]];
        size.kind == COLL_SIZE_COUNT)
      order.push_back(size.index);
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  for (uint32_t s = 0; s != ranks.nsizes; ++s) {
    auto at =
        std::lower_bound(order.begin(), order.end(), ranks.sizes[s].index);
    if (ranks.sizes[s].kind == COLL_SIZE_COUNT && at != order.end() &&
        *at == ranks.sizes[s].index)
      givenOf[s] = int32_t(at - order.begin());
  }
}

//===----------------------------------------------------------------------===//
// What ranks compare launches by
//===----------------------------------------------------------------------===//

/// Mixes one more word into a hash (the finaliser of splitmix64).
static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
  hash = (hash ^ hash >> 30) * 0xbf58'476d'1ce4'e5b9;
  hash = (hash ^ hash >> 27) * 0x94d0'49bb'1331'11eb;
  return hash ^ hash >> 31;
}

uint64_t digestOf(const coll_plan_ranks &ranks, const LaunchRules &rules) {
  uint64_t protocols = (rules.hasPackets ? uint64_t(COLL_PROTOCOL_LL) : 0) |
                       (rules.hasLines ? uint64_t(COLL_PROTOCOL_LL128) : 0);
  return protocols ? mix(ranks.digest, protocols) : ranks.digest;
}

/// The protocol: ranks of which one looks for a message in a slot that another
/// does not fill would wait for each other.
void Arguments::sign(const coll_call &call) {
  uint64_t hash = mix(plan.contract_hash, digestOf(ranks, rules));
  hash = mix(hash, uint64_t(protocol()) << 48 | uint64_t(call.dtype) << 32 |
                       (plan.reduces ? uint32_t(call.op) : uint32_t(COLL_ANY)));
  for (uint32_t p = 0; p != plan.nlaunch; ++p)
    hash = mix(hash, uint32_t(head->launch[p]));
  // Other counts are each rank's own; their sizes meet only on channels.
  if (hasOneCount())
    hash = mix(hash, head->count);
  if (hasRows())
    hash = mix(hash, head->row_elems);
  head->sig = uint32_t(hash ^ hash >> 32);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Status Arguments::fillScalars(const coll_call &call) {
  bool isPremul = plan.reduces && call.op == COLL_PREMUL_SUM;
  if ((plan.nscalars != 0 || isPremul) && !call.scalar)
    return Status::error(COLL_INVALID, "coll_call.scalar is NULL, but %s",
                         isPremul ? "premul_sum takes a factor"
                                  : "the contract has scalar arguments");
  for (uint32_t i = 0; i != plan.nscalars; ++i)
    head->scalar[i] = call.scalar[i];
  if (isPremul)
    head->scalar[COLL_MAX_SCALARS - 1] = call.scalar[plan.nscalars];
  return Status::ok();
}

/// First and one past the last element that any part reaches.
Status Arguments::partsExtent(const CallBuffer &buffer, const coll_buf &buf,
                              uint64_t &first, uint64_t &last) const {
  const auto *displ = reinterpret_cast<const uint64_t *>(buf.displ);
  uint64_t limit = maxBufferBytes / head->elem_bytes;
  first = limit;
  last = 0;
  for (uint32_t p = 0; p != buffer.parts; ++p) {
    uint64_t elems = elemsOf(buffer, p);
    if (elems == 0)
      continue;
    if (displ[p] > limit || elems > limit - displ[p])
      return Status::error(COLL_INVALID,
                           "part %u of buffer '%s' is out of range: %llu "
                           "elements from element %llu on",
                           p, buffer.name, (unsigned long long)elems,
                           (unsigned long long)displ[p]);
    first = std::min(first, displ[p]);
    last = std::max(last, displ[p] + elems);
  }
  first = std::min(first, last);
  return Status::ok();
}

/// The call's list that a buffer stands in.
static const void *const *listOf(const coll_call &call, uint32_t kind) {
  return kind == COLL_BUF_IN    ? call.in
         : kind == COLL_BUF_OUT ? const_cast<const void *const *>(call.out)
                                : call.arg;
}

Status Arguments::fillBuffer(const coll_call &call, CallBuffer &buffer,
                             coll_buf &result, uint64_t &begin, uint64_t &end) {
  const void *const *list = listOf(call, buffer.kind);
  size_t place = size_t(&buffer - buffers.data());
  const size_t *displ = call.displ ? call.displ[place] : nullptr;
  result = {};
  result.elem_bytes = head->elem_bytes;
  begin = end = 0;
  if (!buffer.isPresent)
    return Status::ok();

  uint64_t first = 0, last = 0;
  if (displ || !buffer.isUniform) {
    static_assert(sizeof(size_t) == sizeof(uint64_t));
    if (!displ) {
      uint64_t next = 0;
      for (uint32_t p = 0; p != buffer.parts; ++p) {
        buffer.packed[p] = next;
        next = std::min(next + elemsOf(buffer, p), maxBufferBytes);
      }
    }
    result.displ = reinterpret_cast<uint64_t>(
        displ ? static_cast<const void *>(displ) : buffer.packed.data());
    COLL_TRY(partsExtent(buffer, result, first, last));
  } else {
    uint64_t elems = elemsOf(buffer, 0);
    uint64_t bytes; // without a division, since every launch comes here
    if (__builtin_mul_overflow(elems, buffer.parts, &last) ||
        __builtin_mul_overflow(last, head->elem_bytes, &bytes) ||
        bytes > maxBufferBytes)
      return Status::error(COLL_INVALID,
                           "buffer '%s' is out of range: %u parts of %llu "
                           "elements",
                           buffer.name, buffer.parts,
                           (unsigned long long)elems);
  }

  const void *pointer = list ? list[buffer.index] : nullptr;
  if (!pointer && last != 0)
    return Status::error(COLL_INVALID, "buffer '%s' is NULL", buffer.name);
  result.ptr = reinterpret_cast<uint64_t>(pointer);
  begin = result.ptr + first * head->elem_bytes;
  end = result.ptr + last * head->elem_bytes;
  if (end < result.ptr)
    return Status::error(
        COLL_INVALID, "buffer '%s' ends beyond the address space", buffer.name);
  return Status::ok();
}

Status Arguments::fillBuffers(const coll_call &call) {
  for (size_t b = 0; b != buffers.size(); ++b)
    COLL_TRY(fillBuffer(call, buffers[b], head->bufs[b], begins[b], ends[b]));
  bool overlap = false;
  for (size_t a = 0; a != buffers.size(); ++a)
    for (size_t b = 0; b != buffers.size(); ++b)
      overlap |= buffers[a].kind == COLL_BUF_OUT && a != b &&
                 begins[a] < ends[b] && begins[b] < ends[a];
  bool mayOverlapItself = false;
  for (size_t a = 0; a != buffers.size(); ++a)
    mayOverlapItself |= buffers[a].kind == COLL_BUF_OUT && call.displ &&
                        call.displ[a] && buffers[a].parts > 1;
  if (overlap && liesInPlace())
    head->flags |= COLL_ARGS_IN_PLACE;
  uint64_t touched = 0; // inputs in place lie in outputs
  for (size_t b = 0; b != buffers.size(); ++b)
    if (!isInPlace() || buffers[b].kind == COLL_BUF_OUT)
      touched += bytesOf(b);
  if (!(head->flags & COLL_ARGS_SMALL) && touched > rules.outBytes)
    head->flags |= COLL_ARGS_STREAM_OUT;
  return overlap || mayOverlapItself ? checkOverlaps() : Status::ok();
}

//===----------------------------------------------------------------------===//
// In place or overlapping
//===----------------------------------------------------------------------===//

uint64_t Arguments::addressOf(uint32_t buffer, uint32_t part) const {
  const coll_buf &buf = head->bufs[buffer];
  const auto *displ = reinterpret_cast<const uint64_t *>(buf.displ);
  uint64_t first = displ ? displ[part] : part * elemsOf(buffers[buffer], 0);
  return buf.ptr + first * head->elem_bytes;
}

namespace {
/// A record of coll_class.aliases.
struct Alias {
  uint32_t bufA, partA, bufB, partB, parts;
};
} // namespace
static_assert(sizeof(Alias) == 5 * sizeof(uint32_t));

static std::span<const Alias> aliasesOf(const coll_class &cls,
                                        std::span<const uint32_t> words) {
  return {reinterpret_cast<const Alias *>(words.data() + cls.aliases),
          cls.naliases};
}

/// Do all parts that may share memory do so?  Parts without elements don't
/// count, and with nothing that counts the answer is no.
bool Arguments::liesInPlace() const {
  bool any = false;
  for (const Alias &alias : aliasesOf(cls, words)) {
    for (uint32_t p = 0; p != alias.parts; ++p) {
      if (elemsOf(buffers[alias.bufA], alias.partA + p) == 0)
        continue;
      if (addressOf(alias.bufA, alias.partA + p) !=
          addressOf(alias.bufB, alias.partB + p))
        return false;
      any = true;
    }
  }
  return any;
}

bool Arguments::isAlias(const PartRange &a, const PartRange &b) const {
  for (const Alias &alias : aliasesOf(cls, words)) {
    auto matches = [&](const PartRange &x, const PartRange &y) {
      return x.buffer == alias.bufA && y.buffer == alias.bufB &&
             x.part - alias.partA == y.part - alias.partB &&
             x.part - alias.partA < alias.parts;
    };
    if (matches(a, b) || matches(b, a))
      return true;
  }
  return false;
}

/// Part by part: no output part may touch any other part, but for the pairs
/// that `inplace` names, and these only when all of them coincide.
Status Arguments::checkOverlaps() {
  ranges.clear();
  for (uint32_t b = 0; b != buffers.size(); ++b)
    for (uint32_t p = 0; p != buffers[b].parts && buffers[b].isPresent; ++p)
      if (uint64_t elems = elemsOf(buffers[b], p)) {
        uint64_t begin = addressOf(b, p);
        ranges.push_back({begin, begin + elems * head->elem_bytes, b, p});
      }
  std::sort(
      ranges.begin(), ranges.end(),
      [](const PartRange &a, const PartRange &b) { return a.begin < b.begin; });
  auto isOut = [&](const PartRange &range) {
    return buffers[range.buffer].kind == COLL_BUF_OUT;
  };
  for (size_t i = 0; i != ranges.size(); ++i)
    for (size_t j = i + 1;
         j != ranges.size() && ranges[j].begin < ranges[i].end; ++j)
      if ((isOut(ranges[i]) || isOut(ranges[j])) &&
          !(isInPlace() && isAlias(ranges[i], ranges[j])))
        return describeOverlap(ranges[i], ranges[j]);
  return Status::ok();
}

Status Arguments::describeOverlap(const PartRange &a,
                                  const PartRange &b) const {
  auto name = [&](const PartRange &range) {
    const CallBuffer &buffer = buffers[range.buffer];
    return buffer.parts == 1
               ? format("buffer '%s'", buffer.name)
               : format("part %u of buffer '%s'", range.part, buffer.name);
  };
  if (cls.naliases == 0)
    return Status::error(COLL_INVALID,
                         "%s and %s share memory, but contract '%s' has no "
                         "in-place form on this rank",
                         name(a).c_str(), name(b).c_str(), plan.contract);
  return Status::error(COLL_INVALID,
                       "%s and %s share memory, but not in the way that "
                       "contract '%s' calls in place",
                       name(a).c_str(), name(b).c_str(), plan.contract);
}

//===----------------------------------------------------------------------===//

/// All that follows from dtype, op and count alone.
Status Arguments::fillShape(const coll_call &call) {
  *head = {};
  head->abi = COLL_ABI;
  head->elem_bytes = dtypeBytes(call.dtype);
  head->nbufs = uint16_t(buffers.size());
  head->nsizes = uint16_t(sizes.size());
  head->sizes = reinterpret_cast<uint64_t>(sizes.data());
  for (uint32_t p = 0; p != plan.nlaunch; ++p)
    head->launch[p] = call.launch[p];
  COLL_TRY(fillUnit(call));
  COLL_TRY(fillSizes(call));
  if (hasOneCount())
    head->count = call.count[0] * std::max(head->row_elems, 1u);
  if (!sizes.empty()) {
    head->units_q = sizes[0].units_q;
    head->units_r = sizes[0].units_r;
    head->tail_bytes = sizes[0].tail_bytes;
  }
  cutIntoRounds(call.dtype);
  if (hasRows() && (head->slice_units == 0 || head->round_units == 0))
    return describeLongRow(call.dtype);
  if (head->slice_units == 0)
    return describeShortSlots(call.dtype);
  sign(call);
  return Status::ok();
}

/// Takes over the buffers of a call that has the shape of the one before, which
/// has been checked. False: it takes a closer look.
bool Arguments::moveBuffers(const coll_call &call) {
  if (!isPlaced || call.displ)
    return false;
  uint64_t pointers[COLL_MAX_BUFS];
  bool moveTogether = true;
  uint64_t moved = 0; // 0: nothing has
  for (size_t b = 0; b != buffers.size(); ++b) {
    const CallBuffer &buffer = buffers[b];
    const void *const *list = listOf(call, buffer.kind);
    pointers[b] = 0;
    if (!buffer.isPresent)
      continue;
    if (!list || !list[buffer.index])
      return false;
    pointers[b] = reinterpret_cast<uint64_t>(list[buffer.index]);
    moved |= pointers[b] ^ begins[b];
    moveTogether &= pointers[b] - begins[b] == pointers[0] - begins[0];
    if (pointers[b] + bytesOf(b) < pointers[b])
      return false;
  }
  if (moved == 0) {
    if (windows && windowsSeen != windows->changes())
      findWindows();
    return true;
  }
  // What lies to one another as before overlaps as before: in place or not at
  // all.
  if (!moveTogether) {
    for (size_t a = 0; a != buffers.size(); ++a)
      for (size_t b = 0; b != buffers.size(); ++b)
        if (buffers[a].kind == COLL_BUF_OUT && a != b &&
            pointers[a] < pointers[b] + bytesOf(b) &&
            pointers[b] < pointers[a] + bytesOf(a))
          return false;
    head->flags &= ~uint32_t(COLL_ARGS_IN_PLACE);
  }
  for (size_t b = 0; b != buffers.size(); ++b) {
    ends[b] = pointers[b] + bytesOf(b);
    head->bufs[b].ptr = begins[b] = pointers[b];
  }
  findWindows();
  return true;
}

/// Which buffers peers may reach. Where parts do not lie one by one they cannot
/// find their way, nor compare counts that are each rank's own.
void Arguments::findWindows() {
  if (!windows)
    return;
  windowsSeen = windows->changes();
  if (plan.flags & COLL_PLAN_VCOUNTS)
    return;
  for (size_t b = 0; b != buffers.size(); ++b) {
    uint64_t &win = head->bufs[b].win;
    win = inProcess[b] = 0;
    if (head->bufs[b].displ || begins[b] == ends[b])
      continue;
    win = windows->find(begins[b], ends[b]);
    if (win != 0 || messageBytes < windows->leastInProcess() ||
        (plan.reduces && windows->isSlowToReduce()))
      continue;
    inProcess[b] = windows->findInProcess(begins[b], ends[b]);
    win = isByKernel ? inProcess[b] : 0;
  }
}

void Arguments::take(Way way) {
  head->flags &= ~uint32_t(COLL_ARGS_STREAM_SLOTS);
  if (way.streams)
    head->flags |= COLL_ARGS_STREAM_SLOTS;
  if (way.byKernel == isByKernel)
    return;
  isByKernel = way.byKernel;
  for (size_t b = 0; b != buffers.size(); ++b)
    if (inProcess[b] != 0)
      head->bufs[b].win = isByKernel ? inProcess[b] : 0;
}

Status Arguments::fill(const coll_call &call) {
  ++numFills;
  // Most launches repeat the one before but for its buffers.
  bool repeats = isShaped && !(plan.flags & COLL_PLAN_VCOUNTS) &&
                 (plan.ncounts == 0 || (call.count && hasCount(call))) &&
                 call.dtype == shapedDtype && call.op == shapedOp;
  if (repeats && moveBuffers(call))
    return Status::ok();
  isPlaced = false;
  if (!repeats) {
    isShaped = false;
    COLL_TRY(fillShape(call));
    isShaped = true;
    shapedDtype = call.dtype;
    shapedOp = call.op;
  }
  head->flags &= ~uint32_t(COLL_ARGS_IN_PLACE | COLL_ARGS_STREAM_OUT);
  COLL_TRY(fillScalars(call));
  COLL_TRY(fillBuffers(call));
  findWindows();
  isPlaced =
      isPlain && !call.displ && !(plan.reduces && call.op == COLL_PREMUL_SUM);
  return Status::ok();
}

} // namespace coll
