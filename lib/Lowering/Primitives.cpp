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
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Primitives.h"

#include "coll/abi.h"
#include "lib/Lowering/Machine.h"

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

namespace {
/// The two protocols differ in which words count and which word tells.
struct Counters {
  uint64_t next, seen, published, head, k;
};
constexpr Counters kBulk{offsetof(coll_seq, next), offsetof(coll_seq, seen),
                         offsetof(coll_seq, published),
                         offsetof(coll_credit_line, head),
                         offsetof(coll_end, k)};
constexpr Counters kSmall{
    offsetof(coll_seq, small_next), offsetof(coll_seq, small_seen),
    offsetof(coll_seq, small_published), offsetof(coll_credit_line, small_head),
    offsetof(coll_end, k_small)};

class PrimitiveBuilder {
public:
  PrimitiveBuilder(ModuleOp module, Primitives &p, const Machine &machine,
                   Protocol protocol)
      : b(module.getContext()), module(module), p(p), machine(machine),
        protocol(protocol) {}
  void recvAcquire();
  void recvSmallSlot(ValueRange arguments);
  void recvSlot(ValueRange arguments);
  void recvPackets(ValueRange arguments);
  void recvRelease();
  void sendAcquire();
  void sendPublish();
  void publishCleaned(Value end, Value number);
  void fetchToWrite();
  void flushCredits();
  void blockWait();

private:
  bool isBulk() const { return protocol == Protocol::Slots; }
  const Counters &counters() const { return isBulk() ? kBulk : kSmall; }
  func::FuncOp begin(StringRef name, TypeRange arguments, TypeRange results) {
    std::string suffix = hasPackets()                  ? "_ll"
                         : protocol == Protocol::Small ? "_small"
                                                       : "";
    return beginFunction(b, module, (name + suffix).str(), arguments, results);
  }
  Value sig16(Value sig) { return b.and_(b.zext(sig, b.i64()), b.cst(0xffff)); }
  Value smallSlot(Value end, Value next);
  bool hasPackets() const { return protocol == Protocol::Packets; }
  unsigned packetBits() const { return machine.packets().bits; }
  void fetchNextSlot(Value end, Value next);
  Value slotIndex(Value end, Value next, const Counters &c) {
    return b.and_(next, b.sub(b.field16(end, c.k), b.cst(1)));
  }
  bool hasPlaces() const { return !machine.signalsWithinDevice(); }
  Value sigAddress(Value end, Value index) {
    return b.at(b.at(b.pointerField(end, offsetof(coll_end, line)),
                     offsetof(coll_ring_line, sig)),
                b.mul(index, b.cst(4)));
  }
  /// Calls the runtime until the condition holds: falls through to `again`, or
  /// returns null.
  void slowPath(Value inst, Value block, Value word, Value want, uint32_t how,
                Value progress, unsigned state, Value end, Block *again);
  void returnNull() {
    func::ReturnOp::create(b,
                           ValueRange{Value(LLVM::ZeroOp::create(b, b.ptr()))});
  }
  void checkSignature(Value inst, Value block, Value end, Value progress,
                      Value want, Value have, Block *good);
  void acquireCredit(Value inst, Value block, Value end, Value progress,
                     const Counters &c, Block *then);
  void returnCredit(Value end, const Counters &c, bool flush);

  Builder b;
  ModuleOp module;
  Primitives &p;
  const Machine &machine;
  const Protocol protocol;
};
} // namespace

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

/// A processor that reads or writes a slot fetches what lies behind it, too. So
/// messages that follow one another lie half a ring apart: the slot behind is
/// not the one that the peer is at.
Value PrimitiveBuilder::smallSlot(Value end, Value next) {
  if (hasPackets())
    return packetSlot(b, end, next);
  Value k = b.field16(end, kSmall.k);
  Value apart = b.or_(b.lshr(k, b.cst(1)), b.cst(1));
  Value index = b.and_(b.mul(next, apart), b.sub(k, b.cst(1)));
  Value stride = b.and_(b.add(b.field32(end, offsetof(coll_end, small_bytes)),
                              b.cst(COLL_SMALL_HEAD + 63)),
                        b.cst(~uint64_t(63)));
  return b.at(b.pointerField(end, offsetof(coll_end, small)),
              b.mul(index, stride));
}

static void prefetch(Builder &b, Value address, bool toWrite) {
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

/// The same at the sender, when a message has been sent, for a rank that only
/// sends: nobody polls that line yet. Where messages go both ways a peer does,
/// and would have to fetch it back.
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
  if (isBulk())
    recvSlot(arguments);
  else
    hasPackets() ? recvPackets(arguments) : recvSmallSlot(arguments);
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
  Value isWide =
      b.ne(b.and_(have, b.cst(COLL_PLACE_WIDE, b.i32())), b.cst(0, b.i32()));
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
  if (!isBulk())
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
  } else {
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
