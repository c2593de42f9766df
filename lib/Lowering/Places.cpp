//===- Places.cpp - Where bulk messages lie -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/Runtime.md, "Places". On a host the sender decides: a ring is used as
// wide as it is where slots are stored to through the caches, so that lines
// have left the caches of both ends when they are stored to again, and narrow
// past them, so that others have more of the caches. A bit of the signature
// tells the receiver. On a device there is a place for each slot.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Primitives.h"

#include "coll/abi.h"

namespace coll::lowering {
using namespace mlir;

static Value wordLess1(Builder &b, Value end, uint64_t offset) {
  return b.sub(b.field16(end, offset), b.cst(1));
}

Value hostSlot(Builder &b, Value args, Value end, Value next, Value isWide) {
  constexpr uint64_t line = 64;
  Value slots = b.pointerField(end, offsetof(coll_end, slots)),
        slotBytes = b.field32(end, offsetof(coll_end, slot_bytes)),
        flags = b.field32(args, offsetof(coll_args, flags));
  Value narrow = wordLess1(b, end, offsetof(coll_end, k));
  Value wide = b.or_(narrow, b.field16(end, offsetof(coll_end, spread)));
  Value place = b.and_(next, b.select(isWide, wide, narrow));
  Value bits = b.and_(b.lshr(flags, b.cst(COLL_ARGS_TURNS_SHIFT)),
                      b.cst((1 << COLL_ARGS_TURNS_BITS) - 1));
  Value turn = b.and_(b.lshr(next, b.cst(COLL_PLACE_SHIFT)),
                      b.sub(b.shl(b.cst(1), bits), b.cst(1)));
  Value quarter = b.and_(b.lshr(slotBytes, b.cst(2)), b.cst(~(line - 1)));
  Value inPlace = b.select(isWide, b.mul(turn, quarter), b.cst(0));
  return b.at(slots, b.add(b.mul(place, slotBytes), inPlace));
}

Value deviceSlot(Builder &b, Value end, Value next) {
  Value index = b.and_(next, wordLess1(b, end, offsetof(coll_end, k)));
  Value offset = b.mul(index, b.field32(end, offsetof(coll_end, slot_bytes)));
  return b.at(b.pointerField(end, offsetof(coll_end, slots)), offset);
}

Value sendsWide(Builder &b, Value args) {
  Value flags = b.field(b.i32(), args, offsetof(coll_args, flags));
  return b.hasNone(flags, COLL_ARGS_STREAM_SLOTS);
}

Value withoutPlace(Builder &b, Value sig) {
  return b.and_(sig, b.cst(~uint64_t(COLL_PLACE_WIDE), b.i32()));
}

Value withPlace(Builder &b, Value args, Value sig) {
  Value rest = withoutPlace(b, sig);
  static_assert(COLL_PLACE_WIDE == 1);
  return b.or_(rest, b.zext(sendsWide(b, args), b.i32()));
}

} // namespace coll::lowering
