//===- ArgumentsCut.cpp - Units, sizes, rounds and slices -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What everything is cut into is a unit: 16 bytes, or a row, or a block of
// elements with one scale. A size symbol is so many units, which chunks share;
// a round has at most so many of a chunk's share, a slice what a slot holds.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Arguments.h"
#include "runtime/core/Text.h"

#include <algorithm>

namespace coll {

constexpr uint64_t kSlotGranule = 64; // RingSizes::check

static uint64_t ceilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/// What everything is cut into. A row is at most as long as a slot can be.
Status Arguments::fillUnit(const coll_call &call) {
  head->unit_bytes = plan.flags & COLL_PLAN_BLOCKS
                         ? COLL_BLOCK_ELEMS * head->elem_bytes
                         : uint32_t(COLL_UNIT_BYTES);
  if (!hasRows())
    return Status::ok();
  if (!call.count)
    return Status::error(COLL_INVALID, "coll_call.count is NULL");
  uint64_t elems = call.count[1];
  if (elems == 0 || elems > COLL_MAX_SLOT_BYTES / head->elem_bytes)
    return Status::error(COLL_INVALID,
                         "coll_call.count[1], the elements of a row, is %llu: "
                         "not 1 to %u",
                         (unsigned long long)elems,
                         COLL_MAX_SLOT_BYTES / head->elem_bytes);
  head->row_elems = uint32_t(elems);
  head->unit_bytes = head->row_elems * head->elem_bytes;
  return Status::ok();
}

Status Arguments::fillSizes(const coll_call &call) {
  uint32_t elemBytes = head->elem_bytes;
  bool isVector = plan.flags & COLL_PLAN_VCOUNTS;
  bool needsCounts = isVector ? cls.ngiven != 0 : plan.ncounts != 0;
  if (needsCounts && !call.count)
    return Status::error(COLL_INVALID, "coll_call.count is NULL");
  for (uint32_t s = 0; s != ranks.nsizes; ++s) {
    const coll_plan_size &source = ranks.sizes[s];
    coll_size &size = sizes[s];
    int32_t given = isVector ? givenOf[s] : int32_t(source.index);
    uint64_t count = source.kind == COLL_SIZE_CONST ? source.value
                     : given >= 0                   ? call.count[given]
                                                    : 0;
    uint64_t countBytes = elemBytes;
    if (hasRows() && source.kind == COLL_SIZE_COUNT)
      countBytes = head->unit_bytes;
    if (count > maxBufferBytes / countBytes)
      return Status::error(COLL_INVALID,
                           "count %llu is out of range: %llu bytes each are "
                           "more than memory can hold",
                           (unsigned long long)count,
                           (unsigned long long)countBytes);
    uint64_t bytes = count * countBytes;
    size.elems = bytes / elemBytes;
    size.units = ceilDiv(bytes, head->unit_bytes);
    size.units_q = size.units / source.chunks;
    size.units_r = uint32_t(size.units % source.chunks);
    size.tail_bytes =
        bytes ? uint32_t(bytes - (size.units - 1) * head->unit_bytes) : 0;
  }
  return Status::ok();
}

/// The payload of bulk slots, in units.  A message of few slots goes in four
/// pieces, so that its receiver begins early (64 KiB: a quarter less time).
uint32_t Arguments::bulkSlice(uint64_t message, uint64_t unitBytes) const {
  constexpr uint32_t pieces = 4, multiple = 64;
  const uint32_t slot = uint32_t(rings.slotBytes / unitBytes);
  // Of vector counts not all ranks know what the largest message is; rows and
  // blocks are units of other sizes.
  constexpr uint32_t whole =
      COLL_PLAN_VCOUNTS | COLL_PLAN_ROWS | COLL_PLAN_BLOCKS;
  if (rules.pieceBytes == 0 || plan.flags & whole)
    return slot;
  uint64_t piece = ceilDiv(ceilDiv(message, pieces), multiple) * multiple;
  return uint32_t(std::min<uint64_t>(
      slot, std::max<uint64_t>(piece, rules.pieceBytes / unitBytes)));
}

/// At how many quarters of a slot a payload of this launch may begin: 2^turns.
void Arguments::setTurns(uint64_t payload) {
  constexpr uint64_t most = 4;
  const uint64_t quarter = rings.slotBytes / most / kSlotGranule * kSlotGranule;
  const uint32_t turns = payload == 0 || payload > 2 * quarter ? 0
                         : payload > quarter                   ? 1
                                                               : 2;
  head->flags |= turns << COLL_ARGS_TURNS_SHIFT;
}

/// `protocol ll` and `ll128`: on devices messages of any length are packets, or
/// lines, while the call's bytes are what the plan is for.  Parts and sizes are
/// the same on all ranks.
bool Arguments::isBelowEnd() const {
  uint64_t parts = 1, elems = 0;
  for (uint32_t b = 0; b != plan.nbufs; ++b)
    parts = std::max<uint64_t>(parts, ranks.bufs[b].parts);
  for (const coll_size &size : sizes)
    elems = std::max(elems, size.elems);
  uint64_t end = plan.sizes_hi ? plan.sizes_hi : UINT64_MAX, bytes;
  return !__builtin_mul_overflow(parts, elems, &bytes) &&
         !__builtin_mul_overflow(bytes, head->elem_bytes, &bytes) &&
         bytes < end;
}

/// Chooses the rings and cuts shares into rounds and slices.
///
/// The program has been verified for messages of at most so many slices a
/// round.  Where slots are smaller than the compiler took them to be, or a wide
/// storage type makes units take more of a slot, rounds shrink.
void Arguments::cutIntoRounds(uint32_t dtype) {
  uint64_t unitBytes = uint64_t(head->unit_bytes) * storageScale(ranks, dtype);
  uint32_t smallUnits = uint32_t(rings.smallBytes / unitBytes);
  if (plan.flags & COLL_PLAN_BLOCKS)
    smallUnits -= smallUnits % COLL_BLOCKS_TOGETHER;
  uint64_t maxShare = 0, maxMessage = 0;
  for (uint32_t s = 0; s != ranks.nsizes; ++s) {
    uint64_t chunk = sizes[s].units_q + (sizes[s].units_r != 0);
    uint64_t share = ceilDiv(chunk, ranks.instances);
    maxShare = std::max(maxShare, share);
    maxMessage = std::max(maxMessage, share * maxStepChunks[s]);
  }
  messageBytes = maxMessage * head->unit_bytes;
  VerifiedRings verified = verifiedRings(ranks);
  // A message of several slices needs as many slots as bulk ones.
  bool fitsOne =
      maxMessage <= smallUnits && rings.smallSlots >= verified.smallSlots;
  bool fitsSeveral = rings.smallSlots >= verified.slots && isForPackets();
  bool isSmall = !isBulk && rules.hasSmall && smallUnits != 0 &&
                 !(plan.flags & COLL_PLAN_VCOUNTS) && (fitsOne || fitsSeveral);
  head->slice_units = isSmall ? smallUnits : bulkSlice(maxMessage, unitBytes);
  if (plan.flags & COLL_PLAN_BLOCKS)
    head->slice_units -= head->slice_units % COLL_BLOCKS_TOGETHER;
  setTurns(isSmall ? 0 : head->slice_units * unitBytes);
  head->round_units = uint32_t(std::min<uint64_t>(
      uint64_t(ranks.round_units) * COLL_UNIT_BYTES / head->unit_bytes,
      uint64_t(verified.slices) * std::max(head->slice_units, 1u)));
  // Of blocks, which may be longer than the rounds that `map` asks for.
  if (!hasRows())
    head->round_units = std::max(head->round_units, 1u);
  head->nrounds =
      std::max<uint64_t>(ceilDiv(maxShare, std::max(head->round_units, 1u)), 1);
  if (isSmall)
    head->flags |= COLL_ARGS_SMALL;
  else if (!isBulk && isForLines()) // cut as bulk messages are
    head->flags |= COLL_ARGS_LINES;
  else if (rules.streams)
    head->flags |= COLL_ARGS_STREAM_SLOTS;
}

/// A slot holds no unit, or not the blocks that lie together.
Status Arguments::describeShortSlots(uint32_t dtype) const {
  uint64_t unit = uint64_t(head->unit_bytes) * storageScale(ranks, dtype);
  uint64_t least = plan.flags & COLL_PLAN_BLOCKS ? COLL_BLOCKS_TOGETHER : 1;
  return Status::error(
      COLL_INVALID,
      "a message of plan '%s' takes %llu bytes of a slot at least, with %s, "
      "and slots have %u: set COLL_SLOT_BYTES to %llu or more on all ranks",
      plan.name, (unsigned long long)(unit * least), dtypeText(dtype).c_str(),
      rings.slotBytes,
      (unsigned long long)(ceilDiv(unit * least, kSlotGranule) * kSlotGranule));
}

/// A row that fits no slot, or not what a round may have.
Status Arguments::describeLongRow(uint32_t dtype) const {
  uint64_t bytes = uint64_t(head->unit_bytes) * storageScale(ranks, dtype);
  uint64_t round = uint64_t(ranks.round_units) * COLL_UNIT_BYTES;
  if (head->slice_units == 0)
    return Status::error(
        COLL_INVALID,
        "a row of %u elements takes %llu bytes of a slot, and slots of plan "
        "'%s' have %u: set COLL_SLOT_BYTES to %llu or more on all ranks",
        head->row_elems, (unsigned long long)bytes, plan.name, rings.slotBytes,
        (unsigned long long)ceilDiv(bytes, kSlotGranule) * kSlotGranule);
  return Status::error(COLL_INVALID,
                       "a row of %u elements has %u bytes, and a round of plan "
                       "'%s' has at most %llu: compile it with a longer map "
                       "{ round n }",
                       head->row_elems, head->unit_bytes, plan.name,
                       (unsigned long long)round);
}

} // namespace coll
