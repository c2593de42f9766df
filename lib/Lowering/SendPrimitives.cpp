//===- SendPrimitives.cpp - The sending end of a channel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Primitives.cpp says of senders: credits, a slot, and that it is filled.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/PrimitiveBuilder.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

/// Asks for the line that the next small message goes to, when a message has
/// been sent, for a rank that only sends: nobody polls that line yet. Where
/// messages go both ways a peer does, and would have to fetch it back.
void PrimitiveBuilder::fetchToWrite() {
  p.fetchToWrite = beginFunction(b, module, "coll_fetch_to_write",
                                 {b.ptr(), b.ptr(), b.i64()}, {});
  auto arguments = p.fetchToWrite.getArguments();
  Value inst = arguments[0], end = arguments[1], bytes = arguments[2];
  Block *yes = b.newBlock(), *no = b.newBlock();
  Value onlySends = b.eq(b.field32(inst, offsetof(coll_inst, nrecv)), b.cst(0));
  Value isOneLine = b.ult(bytes, b.cst(64 - COLL_SMALL_HEAD + 1));
  b.branchIf(b.and_(onlySends, isOneLine), yes, no);
  b.startBlock(yes);
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  prefetch(b, smallSlot(end, b.field(b.i64(), seq, kSmall.next)),
           /*toWrite=*/true);
  b.branch(no);
  b.startBlock(no);
  func::ReturnOp::create(b);
}

void PrimitiveBuilder::acquireCredit(Value inst, Value block, Value end,
                                     Value progress, const Counters &c,
                                     Block *then) {
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value credit = b.pointerField(end, offsetof(coll_end, credit));
  Value next = b.field(b.i64(), seq, c.next), k = b.field16(end, c.k);
  Block *poll = b.newBlock(), *slow = b.newBlock(), *look = b.newBlock();
  b.branchIf(b.ult(b.sub(next, b.field(b.i64(), seq, c.seen)), k), then, poll);
  b.startBlock(poll);
  Value head = b.field(b.i64(), credit, c.head, Ordering::acquire);
  b.branchIf(b.ult(b.sub(next, head), k), look, slow);
  b.startBlock(slow);
  slowPath(inst, block, b.at(credit, c.head), b.sub(next, k), COLL_WAIT_ABOVE,
           progress, COLL_STATE_WAIT_CREDIT, end, poll);
  b.startBlock(look);
  b.setField(head, seq, c.seen);
  b.branch(then);
}

void PrimitiveBuilder::sendAcquire() {
  Type ptr = b.ptr();
  p.sendAcquire =
      begin("coll_send_acquire", {ptr, b.i32(), ptr, ptr, b.i64()}, {ptr});
  auto arguments = p.sendAcquire.getArguments();
  Value inst = arguments[0], block = arguments[1], args = arguments[2],
        end = arguments[3], progress = arguments[4];
  Block *free = b.newBlock();
  acquireCredit(inst, block, end, progress, counters(), free);
  b.startBlock(free);
  Value next = b.field(b.i64(), b.pointerField(end, offsetof(coll_end, seq)),
                       counters().next);
  Value slot;
  if (hasLines())
    slot = lineSlot(b, end, next);
  else if (!isBulk())
    slot = b.at(smallSlot(end, next), hasPackets() ? 0 : COLL_SMALL_HEAD);
  else if (hasPlaces())
    slot = hostSlot(b, args, end, next, sendsWide(b, args));
  else
    slot = deviceSlot(b, end, next);
  func::ReturnOp::create(b, slot);
}

void PrimitiveBuilder::sendPublish() {
  p.sendPublish = begin("coll_send_publish", {b.ptr(), b.ptr(), b.i32()}, {});
  Value args = p.sendPublish.getArgument(0), end = p.sendPublish.getArgument(1),
        sig = p.sendPublish.getArgument(2);
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value next = b.field(b.i64(), seq, counters().next);
  Value after = b.add(next, b.cst(1));
  b.setField(after, seq, counters().next);
  if (hasPackets()) {
    publishCleaned(end, after);
  } else if (!isBulk()) {
    b.setField(b.or_(b.shl(after, b.cst(16)), sig16(sig)), smallSlot(end, next),
               0, Ordering::release);
  } else if (!hasLines()) {
    Value index = slotIndex(end, next, kBulk);
    Value word = hasPlaces() ? withPlace(b, args, sig) : sig;
    b.setField(word, sigAddress(end, index), 0);
    b.setField(after, b.pointerField(end, offsetof(coll_end, line)),
               offsetof(coll_ring_line, tail), Ordering::release);
  }
  func::ReturnOp::create(b);
}

/// Behind message `number`, if that has filled its slot.
void PrimitiveBuilder::publishCleaned(Value end, Value number) {
  Block *clean = b.newBlock(), *done = b.newBlock();
  b.branchIf(isCleaning(b, number, packetBits()), clean, done);
  b.startBlock(clean);
  b.setField(number, b.pointerField(end, offsetof(coll_end, line)),
             offsetof(coll_ring_line, cleaned), Ordering::release);
  b.branch(done);
  b.startBlock(done);
}

} // namespace coll::lowering
