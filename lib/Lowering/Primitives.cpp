//===- Primitives.cpp - The operations that know memory order -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state machines of docs/Runtime.md, word for word.
// Send, bulk: while next - seen >= k: seen = head (acquire); then
//   sig[slot] = sig; next += 1; tail = next (release).
// Recv, bulk: while seen <= next: seen = tail (acquire); then next += 1;
//   if next - published >= max(1, k / 2): head = next (release).
// Small: the same with small_head, and instead of tail the flag word of the
//   slot itself: (next + 1) << 16 | sig16.
// The receiver compares signatures before it touches the payload.
// Small, on devices: packets, each with its flag, which the threads that share
//   the payload write and wait for (PacketPrimitives.cpp). What is left here is
//   the credits, and cleaned = next (release) when a slot has been filled.
// Lines, on devices: bulk, in slots of their own, without tail and sig
//   (LinePrimitives.cpp).
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/PrimitiveBuilder.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

func::FuncOp beginFunction(Builder &b, ModuleOp module, StringRef name,
                           TypeRange arguments, TypeRange results) {
  b.setInsertionPointToEnd(module.getBody());
  auto fn =
      func::FuncOp::create(b, name, b.getFunctionType(arguments, results));
  fn.setPrivate();
  fn->setAttr("llvm.linkage",
              LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
  b.setInsertionPointToStart(fn.addEntryBlock());
  b.region = &fn.getBody();
  return fn;
}

func::FuncOp declareFunction(Builder &b, ModuleOp module, StringRef name,
                             TypeRange arguments, TypeRange results) {
  b.setInsertionPointToEnd(module.getBody());
  auto fn =
      func::FuncOp::create(b, name, b.getFunctionType(arguments, results));
  fn.setPrivate();
  return fn;
}

Primitives::Primitives(ModuleOp module, const Machine &machine) {
  machine.addWaits(module, *this);
  PrimitiveBuilder builder(module, *this, machine, Protocol::Slots);
  builder.recvAcquire();
  builder.recvRelease();
  builder.sendAcquire();
  builder.sendPublish();
  builder.flushCredits();
  builder.blockWait();
  buildDirect(module, machine.hasMultimem());
}

Primitives Primitives::forSmall(ModuleOp module, const Machine &machine) const {
  Primitives made = *this;
  PrimitiveBuilder builder(module, made, machine, Protocol::Small);
  builder.recvAcquire();
  builder.recvRelease();
  builder.sendAcquire();
  builder.sendPublish();
  if (machine.fetchesAhead())
    builder.fetchToWrite();
  return made;
}

Primitives Primitives::forPackets(ModuleOp module,
                                  const Machine &machine) const {
  Primitives made = *this;
  PrimitiveBuilder builder(module, made, machine, Protocol::Packets);
  builder.recvAcquire();
  builder.recvRelease();
  builder.sendAcquire();
  builder.sendPublish();
  builder.flushCredits();
  made.buildPackets(module, machine);
  return made;
}

Primitives Primitives::forLines(ModuleOp module, const Machine &machine,
                                const Primitives &packets) const {
  Primitives made = *this; // credits are those of the bulk ring
  made.giveUp = packets.giveUp;
  made.tellWhy = packets.tellWhy;
  PrimitiveBuilder builder(module, made, machine, Protocol::Lines);
  builder.recvAcquire();
  builder.sendAcquire();
  builder.sendPublish();
  made.buildLines(module);
  return made;
}

/// A processor that reads or writes a slot fetches what lies behind it, too. So
/// messages that follow one another lie half a ring apart: the slot behind is
/// not the one that the peer is at.
Value PrimitiveBuilder::smallSlot(Value end, Value next) {
  if (hasPackets())
    return packetSlot(b, end, next);
  Value k = b.field16(end, kSmall.k);
  Value apart = b.or_(b.lshr(k, b.cst(1)), b.cst(1));
  Value turn = b.mul(next, apart);
  Value index = b.and_(turn, b.sub(k, b.cst(1)));
  Value stride = b.and_(b.add(b.field32(end, offsetof(coll_end, small_bytes)),
                              b.cst(COLL_SMALL_HEAD + 63)),
                        b.cst(~uint64_t(63)));
  return b.at(b.pointerField(end, offsetof(coll_end, small)),
              b.mul(index, stride));
}

void prefetch(Builder &b, Value address, bool toWrite) {
  constexpr int32_t mostLocal = 3, data = 1;
  LLVM::Prefetch::create(b, address, b.getI32IntegerAttr(toWrite),
                         b.getI32IntegerAttr(mostLocal),
                         b.getI32IntegerAttr(data));
}

/// Asks for the first line of the small slot after this one: if the sender is
/// ahead, it crosses over while this rank is still in this launch.
void PrimitiveBuilder::fetchNextSlot(Value end, Value next) {
  prefetch(b, smallSlot(end, b.add(next, b.cst(1))), /*toWrite=*/false);
}

void PrimitiveBuilder::slowPath(Value inst, Value block, Value word, Value want,
                                uint32_t how, Value progress, unsigned state,
                                Value end, Block *again) {
  Value position =
      b.or_(progress, b.or_(b.cst(uint64_t(state) << 60),
                            b.field16(end, offsetof(coll_end, peer))));
  Value rc = func::CallOp::create(b, p.wait,
                                  ValueRange{inst, block, word, want,
                                             b.cst(how, b.i32()), position})
                 .getResult(0);
  Block *leave = b.newBlock();
  b.branchIf(b.eq(rc, b.cst(0, b.i32())), again, leave);
  b.startBlock(leave);
  returnNull();
}

void PrimitiveBuilder::checkSignature(Value inst, Value block, Value end,
                                      Value progress, Value want, Value have,
                                      Block *good) {
  Block *bad = b.newBlock();
  b.branchIf(b.eq(want, have), good, bad);
  b.startBlock(bad);
  Value position = b.or_(
      progress,
      b.field16(end, offsetof(coll_end, peer))); // the report names the sender
  func::CallOp::create(b, p.mismatch,
                       ValueRange{inst, block, position, want, have});
  returnNull();
}

void PrimitiveBuilder::recvAcquire() {
  Type ptr = b.ptr();
  p.recvAcquire = begin("coll_recv_acquire",
                        {ptr, b.i32(), ptr, ptr, b.i64(), b.i32()}, {ptr});
  auto arguments = p.recvAcquire.getArguments();
  if (hasLines())
    recvLines(arguments[3]);
  else if (isBulk())
    recvSlot(arguments);
  else
    hasPackets() ? recvPackets(arguments) : recvSmallSlot(arguments);
}

/// Nothing is waited for: each line has its flag.
void PrimitiveBuilder::recvLines(Value end) {
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value next = b.field(b.i64(), seq, kBulk.next);
  func::ReturnOp::create(b, lineSlot(b, end, next));
}

void PrimitiveBuilder::recvSlot(ValueRange arguments) {
  Value inst = arguments[0], block = arguments[1], end = arguments[3],
        progress = arguments[4], sig = arguments[5];
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value next = b.field(b.i64(), seq, kBulk.next);
  Value line = b.pointerField(end, offsetof(coll_end, line));
  Block *poll = b.newBlock(), *look = b.newBlock(), *slow = b.newBlock(),
        *arrived = b.newBlock(), *good = b.newBlock();
  b.branchIf(b.ugt(b.field(b.i64(), seq, kBulk.seen), next), arrived, poll);
  b.startBlock(poll);
  Value tail =
      b.field(b.i64(), line, offsetof(coll_ring_line, tail), Ordering::acquire);
  b.branchIf(b.ugt(tail, next), look, slow);
  b.startBlock(slow);
  slowPath(inst, block, line, next, COLL_WAIT_ABOVE, progress,
           COLL_STATE_WAIT_DATA, end, poll);
  b.startBlock(look);
  b.setField(tail, seq, kBulk.seen);
  b.branch(arrived);
  b.startBlock(arrived);
  Value index = slotIndex(end, next, kBulk);
  Value have = b.field(b.i32(), sigAddress(end, index), 0);
  if (!hasPlaces()) {
    checkSignature(inst, block, end, progress, sig, have, good);
    b.startBlock(good);
    func::ReturnOp::create(b, deviceSlot(b, end, next));
    return;
  }
  Value want = withoutPlace(b, sig), theirs = withoutPlace(b, have);
  checkSignature(inst, block, end, progress, want, theirs, good);
  b.startBlock(good);
  Value isWide = b.hasAny(have, COLL_PLACE_WIDE);
  func::ReturnOp::create(b, hostSlot(b, arguments[2], end, next, isWide));
}

/// Waits for the flag word of a host's small slot.
void PrimitiveBuilder::recvSmallSlot(ValueRange arguments) {
  Value inst = arguments[0], block = arguments[1], end = arguments[3],
        progress = arguments[4], sig = arguments[5];
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value next = b.field(b.i64(), seq, kSmall.next), slot = smallSlot(end, next),
        want = b.add(next, b.cst(1));
  Block *poll = b.newBlock(), *slow = b.newBlock(), *arrived = b.newBlock(),
        *good = b.newBlock();
  b.branch(poll);
  b.startBlock(poll);
  Value flag = b.field(b.i64(), slot, 0, Ordering::acquire);
  b.branchIf(b.eq(b.lshr(flag, b.cst(16)), want), arrived, slow);
  b.startBlock(slow);
  slowPath(inst, block, slot, want, COLL_WAIT_SMALL_FLAG, progress,
           COLL_STATE_WAIT_DATA, end, poll);
  b.startBlock(arrived);
  checkSignature(inst, block, end, progress, b.trunc(sig16(sig), b.i32()),
                 b.trunc(b.and_(flag, b.cst(0xffff)), b.i32()), good);
  b.startBlock(good);
  if (machine.fetchesAhead())
    fetchNextSlot(end, next);
  func::ReturnOp::create(b, b.at(slot, COLL_SMALL_HEAD));
}

/// The slot's packets are waited for one by one; only where the sender fills
/// the slot, for all of them. What it held before is gone then for good: no
/// later load may return it, since this acquire comes between.
void PrimitiveBuilder::recvPackets(ValueRange arguments) {
  Value inst = arguments[0], block = arguments[1], end = arguments[3],
        progress = arguments[4];
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value next = b.field(b.i64(), seq, kSmall.next);
  Value number = b.add(next, b.cst(1));
  Value line = b.pointerField(end, offsetof(coll_end, line));
  Block *poll = b.newBlock(), *slow = b.newBlock(), *good = b.newBlock();
  b.branchIf(isCleaning(b, number, packetBits()), poll, good);
  b.startBlock(poll);
  Value cleaned = b.field(b.i64(), line, offsetof(coll_ring_line, cleaned),
                          Ordering::acquire);
  b.branchIf(b.uge(cleaned, number), good, slow);
  b.startBlock(slow);
  slowPath(inst, block, b.at(line, offsetof(coll_ring_line, cleaned)), next,
           COLL_WAIT_ABOVE, progress, COLL_STATE_WAIT_DATA, end, poll);
  b.startBlock(good);
  func::ReturnOp::create(b, smallSlot(end, next));
}

/// next += 1 and, once a batch is complete, head = next. With `flush`: head =
/// next if anything is owed.
void PrimitiveBuilder::returnCredit(Value end, const Counters &c, bool flush) {
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  Value next = b.field(b.i64(), seq, c.next);
  if (!flush) {
    next = b.add(next, b.cst(1));
    b.setField(next, seq, c.next);
  }
  Value batch = b.cst(1);
  if (!flush)
    batch =
        arith::MaxUIOp::create(b, b.lshr(b.field16(end, c.k), b.cst(1)), batch);
  Value owed = b.sub(next, b.field(b.i64(), seq, c.published));
  Block *publish = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.uge(owed, batch), publish, done);
  b.startBlock(publish);
  b.setField(next, seq, c.published);
  b.setField(next, b.pointerField(end, offsetof(coll_end, credit)), c.head,
             Ordering::release);
  b.branch(done);
  b.startBlock(done);
}

void PrimitiveBuilder::recvRelease() {
  p.recvRelease = begin("coll_recv_release", {b.ptr(), b.ptr()}, {});
  returnCredit(p.recvRelease.getArgument(1), counters(), false);
  func::ReturnOp::create(b);
}

void PrimitiveBuilder::flushCredits() {
  p.flushCredits = begin("coll_flush_credits", {b.ptr()}, {});
  Value end = p.flushCredits.getArgument(0);
  if (hasPackets() || hasPlaces()) // a host's kernel is for all launches
    returnCredit(end, kSmall, true);
  if (isBulk())
    returnCredit(end, kBulk, true);
  func::ReturnOp::create(b);
}

void PrimitiveBuilder::blockWait() {
  Type i32 = b.i32();
  p.blockWait = beginFunction(b, module, "coll_block_wait",
                              {b.ptr(), i32, i32, b.i64(), b.i64()}, {i32});
  auto arguments = p.blockWait.getArguments();
  Value inst = arguments[0], steps = arguments[3];
  Value word = b.at(b.pointerField(inst, offsetof(coll_inst, signals)),
                    b.mul(b.zext(arguments[2], b.i64()), b.cst(64)));
  Block *poll = b.newBlock(), *slow = b.newBlock(), *leave = b.newBlock(),
        *done = b.newBlock();
  b.branch(poll);
  b.startBlock(poll);
  Value finished = b.field(b.i64(), word, 0, Ordering::acquire,
                           machine.signalsWithinDevice());
  b.branchIf(b.uge(finished, steps), done, slow);
  b.startBlock(slow);
  Value position =
      b.or_(b.or_(arguments[4], b.cst(uint64_t(COLL_STATE_WAIT_BLOCK) << 60)),
            b.zext(arguments[2], b.i64()));
  Value rc = func::CallOp::create(
                 b, p.wait,
                 ValueRange{inst, arguments[1], word, b.sub(steps, b.cst(1)),
                            b.cst(COLL_WAIT_ABOVE, i32), position})
                 .getResult(0);
  b.branchIf(b.eq(rc, b.cst(0, i32)), poll, leave);
  b.startBlock(leave);
  func::ReturnOp::create(b, ValueRange{b.cst(1, i32)});
  b.startBlock(done);
  func::ReturnOp::create(b, ValueRange{b.cst(0, i32)});
}

} // namespace coll::lowering
