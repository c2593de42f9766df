//===- PacketPrimitives.cpp - Small messages of packets -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A packet is a word of eight bytes, four of payload and four of flag, written
// and read whole (LL). Its flag says which message it belongs to, so nothing
// orders packets: every thread writes and awaits its own, by relaxed accesses.
//
//   flag = (seq mod 2^bits) << 16 | sig16
//
// A flag is taken for a new one when it is 2^bits messages old: a slot's end
// that only long messages reach may hold such. Therefore the sender fills the
// whole slot in each of COLL_MAX_SMALL_SLOTS messages in a row, once in every
// 2^(bits - 1), and then releases ring_line.cleaned, which the receiver of such
// a message acquires before it goes on. From there on no load returns what was
// in that slot before (it is overwritten by what happened before the load), and
// what comes after differs in its sequence number until long after the next
// cleaning: between two of a slot lie 2^(bits - 1) + COLL_MAX_SMALL_SLOTS
// messages at most, fewer than 2^bits.
//
// Any thread may find that there is nothing to wait for, while others show
// where they wait. So who gives up says why in the block's shared memory, the
// first of them alone; those that wait look there, too, and leave; and thread 0
// tells the host behind the vote that ends the slice.
//
// A token, a message without payload, is one packet with order: whoever has
// received it sees all that the sender's block did before.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"

#include "coll/abi.h"
#include "coll/coll.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

Value packetSlot(Builder &b, Value end, Value next) {
  constexpr uint64_t align = COLL_PACKET_ALIGN;
  Value payload = b.field32(end, offsetof(coll_end, small_bytes));
  Value stride = b.and_(b.add(b.mul(payload, b.cst(2)), b.cst(align - 1)),
                        b.cst(~(align - 1)));
  Value slots = b.field16(end, offsetof(coll_end, k_small));
  Value index = b.and_(next, b.sub(slots, b.cst(1)));
  return b.at(b.pointerField(end, offsetof(coll_end, small)),
              b.mul(index, stride));
}

Value isCleaning(Builder &b, Value seq, unsigned bits) {
  uint64_t half = uint64_t(1) << (bits - 1);
  return b.uge(b.and_(seq, b.cst(half - 1)),
               b.cst(half - COLL_MAX_SMALL_SLOTS));
}

namespace {
class PacketBuilder {
public:
  PacketBuilder(ModuleOp module, Primitives &p, const PacketShape &shape)
      : b(module.getContext()), module(module), p(p), shape(shape) {}
  void tag();
  void giveUp();
  void tell();
  void wait();
  void clean();
  void tokenWait();
  void tokenSend();

private:
  Value nextOf(Value end) {
    Value seq = b.pointerField(end, offsetof(coll_end, seq));
    return b.field(b.i64(), seq, offsetof(coll_seq, small_next));
  }
  Value flagOf(Value end, Value sig) {
    Value seq = b.add(nextOf(end), b.cst(1));
    uint64_t mask = (uint64_t(1) << shape.bits) - 1;
    return b.or_(b.shl(b.and_(seq, b.cst(mask)), b.cst(16)),
                 b.and_(b.zext(sig, b.i64()), b.cst(0xffff)));
  }
  Value wanted(Value tag) { return b.and_(tag, b.cst(UINT32_MAX)); }
  Value flag(Value packet) { return b.lshr(packet, b.cst(32)); }
  void show(Value report, uint64_t offset, Value value) {
    b.setField(value, report, offset, Ordering::monotonic);
  }
  /// What the cell of shared memory held; 0: now it holds `value`.
  Value compareExchange(unsigned cell, Value value) {
    auto exchange = LLVM::AtomicCmpXchgOp::create(
        b, sharedCell(b, cell), b.cst(0), value, Ordering::monotonic,
        Ordering::monotonic, "block", 8);
    return LLVM::ExtractValueOp::create(b, exchange, ArrayRef<int64_t>{0});
  }
  void giveUpWith(Value tag, uint64_t why, Value wanted, Value have) {
    Value peer = b.shl(b.lshr(tag, b.cst(48)), b.cst(32));
    func::CallOp::create(b, p.packetGiveUp,
                         ValueRange{b.or_(peer, b.cst(why)), wanted, have});
  }
  /// By any thread of the block, while others may be about to; 0: by none.
  Value whyGivenUp() {
    return LLVM::LoadOp::create(b, b.i64(), sharedCell(b, kFailureCell), 8,
                                false, false, false, false, Ordering::monotonic,
                                StringRef("block"));
  }
  Value reportOf(Value inst, Value block) {
    return b.at(b.pointerField(inst, offsetof(coll_inst, blocks)),
                b.mul(b.zext(block, b.i64()), b.cst(sizeof(coll_block))));
  }

  Builder b;
  ModuleOp module;
  Primitives &p;
  const PacketShape shape;
};
} // namespace

void PacketBuilder::tag() {
  p.packetTag = beginFunction(b, module, "coll_packet_tag", {b.ptr(), b.i32()},
                              {b.i64()});
  Value end = p.packetTag.getArgument(0), sig = p.packetTag.getArgument(1);
  Value seq = b.add(nextOf(end), b.cst(1));
  Value clean =
      b.select(isCleaning(b, seq, shape.bits), b.cst(kTagClean), b.cst(0));
  Value peer = b.shl(b.field16(end, offsetof(coll_end, peer)), b.cst(48));
  func::ReturnOp::create(
      b, ValueRange{b.or_(b.or_(flagOf(end, sig), b.cst(kTagPacket)),
                          b.or_(clean, peer))});
}

/// (why: i64, want: i64, have: i64), why: the result and, from bit 32 on, the
/// peer. The barrier before thread 0 looks orders both words.
void PacketBuilder::giveUp() {
  Type i64 = b.i64();
  p.packetGiveUp =
      beginFunction(b, module, "coll_packet_give_up", {i64, i64, i64}, {});
  auto arguments = p.packetGiveUp.getArguments();
  Value before = compareExchange(kFailureCell, arguments[0]);
  Block *first = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.eq(before, b.cst(0)), first, done);
  b.startBlock(first);
  Value both = b.or_(b.and_(arguments[1], b.cst(UINT32_MAX)),
                     b.shl(arguments[2], b.cst(32)));
  b.setField(both, sharedCell(b, kFailureCell + 1), 0);
  b.branch(done);
  b.startBlock(done);
  func::ReturnOp::create(b);
}

/// All threads', behind the vote.
void PacketBuilder::tell() {
  Type i32 = b.i32(), i64 = b.i64();
  p.packetTell =
      beginFunction(b, module, "coll_packet_tell", {b.ptr(), i32, i64}, {});
  auto arguments = p.packetTell.getArguments();
  Block *mine = b.newBlock(), *some = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.eq(Ptx::threadId(b), b.cst(0)), mine, done);
  b.startBlock(mine);
  Value why = b.field(i64, sharedCell(b, kFailureCell), 0);
  b.branchIf(b.ne(why, b.cst(0)), some, done);
  b.startBlock(some);
  Value both = b.field(i64, sharedCell(b, kFailureCell + 1), 0);
  Value report = reportOf(arguments[0], arguments[1]);
  Value result = b.trunc(why, i32);
  uint64_t waits = uint64_t(COLL_STATE_WAIT_DATA) << 60;
  Value state = b.select(b.eq(result, b.cst(COLL_TIMEOUT, i32)), b.cst(waits),
                         b.cst(uint64_t(COLL_STATE_IDLE) << 60));
  Value peer = b.lshr(why, b.cst(32));
  func::CallOp::create(b, p.showLaunch, ValueRange{arguments[0], arguments[1]});
  show(report, offsetof(coll_block, progress),
       b.or_(b.or_(arguments[2], peer), state));
  show(report, offsetof(coll_block, want), b.and_(both, b.cst(UINT32_MAX)));
  show(report, offsetof(coll_block, have), b.lshr(both, b.cst(32)));
  show(report, offsetof(coll_block, result), result);
  b.branch(done);
  b.startBlock(done);
  func::ReturnOp::create(b);
}

/// As coll_kernel_wait, for one packet. All leave at the block's next vote.
void PacketBuilder::wait() {
  Type i32 = b.i32(), i64 = b.i64();
  p.packetWait =
      beginFunction(b, module, "coll_packet_wait",
                    {b.ptr(), i32, globalPointer(b), i64, i64}, {i64});
  auto arguments = p.packetWait.getArguments();
  Value inst = arguments[0], word = arguments[2], tag = arguments[3];
  Value want = wanted(tag);
  Value position = b.or_(b.or_(arguments[4], b.lshr(tag, b.cst(48))),
                         b.cst(uint64_t(COLL_STATE_WAIT_DATA) << 60));
  Value comm = b.pointerField(inst, offsetof(coll_inst, comm));
  Value spins = b.field(i32, comm, offsetof(coll_comm_dev, spin_limit));
  Value limit = b.field(i64, comm, offsetof(coll_comm_dev, deadline_ns));
  Value abortWord = b.pointerField(comm, offsetof(coll_comm_dev, abort));
  Value report = reportOf(inst, arguments[1]);
  Value start = Ptx::globalTimer(b);
  Block *poll = b.newBlock({i32, i32}), *not_ = b.newBlock(),
        *old = b.newBlock(), *bad = b.newBlock(), *look = b.newBlock(),
        *mine = b.newBlock(), *check = b.newBlock(), *others = b.newBlock(),
        *clock = b.newBlock(), *late = b.newBlock(), *rest = b.newBlock(),
        *done = b.newBlock(), *shown = b.newBlock(), *back = b.newBlock();
  b.branch(poll, ValueRange{b.cst(0, i32), b.cst(32, i32)});

  b.startBlock(poll);
  Value polls = poll->getArgument(0), pause = poll->getArgument(1);
  Value packet = b.field(i64, word, 0, Ordering::monotonic);
  b.branchIf(b.eq(flag(packet), want), done, not_);
  b.startBlock(not_);
  // The right message of another launch.
  Value isSeq = b.eq(b.lshr(b.xor_(flag(packet), want), b.cst(16)), b.cst(0));
  b.branchIf(isSeq, bad, old);
  b.startBlock(bad);
  auto sig16 = [&](Value v) { return b.and_(v, b.cst(0xffff)); };
  giveUpWith(tag, COLL_MISMATCH, sig16(want), sig16(flag(packet)));
  b.branch(back);
  b.startBlock(old);
  b.branchIf(b.ult(polls, spins), poll,
             ValueRange{b.add(polls, b.cst(1, i32)), pause}, look, {});

  // One of those that wait tells of it, until it has its packet; then another.
  b.startBlock(look);
  Value me = b.add(Ptx::threadId(b), b.cst(1));
  Value teller = compareExchange(kTellerCell, me);
  b.branchIf(b.or_(b.eq(teller, b.cst(0)), b.eq(teller, me)), mine, check);
  b.startBlock(mine);
  func::CallOp::create(b, p.showLaunch, ValueRange{inst, arguments[1]});
  show(report, offsetof(coll_block, progress), position);
  show(report, offsetof(coll_block, wait_since), start);
  show(report, offsetof(coll_block, want), want);
  show(report, offsetof(coll_block, have), flag(packet));
  b.branch(check);
  b.startBlock(check);
  Value abort = b.field(i32, abortWord, 0, Ordering::monotonic);
  b.branchIf(b.eq(abort, b.cst(0, i32)), others, back);
  b.startBlock(others);
  b.branchIf(b.eq(whyGivenUp(), b.cst(0)), clock, back);
  b.startBlock(clock);
  Value hasLimit = b.ult(b.sub(limit, b.cst(1)), b.cst(UINT64_MAX - 1));
  Value waited = b.sub(Ptx::globalTimer(b), start);
  b.branchIf(b.and_(hasLimit, b.ugt(waited, limit)), late, rest);
  b.startBlock(late);
  giveUpWith(tag, COLL_TIMEOUT, want, flag(packet));
  b.branch(back);
  b.startBlock(rest);
  Ptx::sleep(b, pause);
  Value longer = b.umin(b.shl(pause, b.cst(1, i32)), b.cst(1024, i32));
  b.branch(poll, ValueRange{b.add(spins, b.cst(1, i32)), longer});

  b.startBlock(done);
  b.branchIf(b.ugt(polls, spins), shown, back);
  b.startBlock(shown);
  Value place = b.and_(position, b.cst((uint64_t(1) << 60) - 1));
  show(report, offsetof(coll_block, progress),
       b.or_(b.cst(uint64_t(COLL_STATE_RUN) << 60), place));
  LLVM::StoreOp::create(b, b.cst(0), sharedCell(b, kTellerCell), 8, false,
                        false, false, Ordering::monotonic, StringRef("block"));
  b.branch(back);
  b.startBlock(back);
  func::ReturnOp::create(b, ValueRange{packet});
}

void PacketBuilder::clean() {
  p.packetClean = beginFunction(b, module, "coll_packet_clean",
                                {b.ptr(), b.i64(), b.i32()}, {});
  auto arguments = p.packetClean.getArguments();
  Value end = arguments[0], next = nextOf(end);
  Block *due = b.newBlock(), *head = b.newBlock({b.i64()}),
        *body = b.newBlock(), *done = b.newBlock();
  b.branchIf(isCleaning(b, b.add(next, b.cst(1)), shape.bits), due, done);
  b.startBlock(due);
  Value packet = b.shl(flagOf(end, arguments[2]), b.cst(32));
  Value slot = LLVM::AddrSpaceCastOp::create(b, globalPointer(b),
                                             packetSlot(b, end, next));
  Value words =
      b.lshr(b.field32(end, offsetof(coll_end, small_bytes)), b.cst(2));
  b.branch(head, ValueRange{b.add(arguments[1], Ptx::threadId(b))});
  b.startBlock(head);
  Value i = head->getArgument(0);
  b.branchIf(b.ult(i, words), body, done);
  b.startBlock(body);
  b.setField(packet, b.at(slot, b.mul(i, b.cst(8))), 0, Ordering::monotonic);
  b.branch(head, ValueRange{b.add(i, b.cst(shape.threads))});
  b.startBlock(done);
  func::ReturnOp::create(b);
}

void PacketBuilder::tokenWait() {
  Type i32 = b.i32(), i64 = b.i64();
  p.tokenWait = beginFunction(b, module, "coll_token_wait",
                              {b.ptr(), i32, b.ptr(), i64, i64}, {i32});
  auto arguments = p.tokenWait.getArguments();
  Value want = wanted(arguments[3]);
  Value word = LLVM::AddrSpaceCastOp::create(b, globalPointer(b), arguments[2]);
  Block *poll = b.newBlock(), *slow = b.newBlock(), *leave = b.newBlock(),
        *done = b.newBlock();
  b.branch(poll);
  b.startBlock(poll);
  Value packet = b.field(i64, word, 0, Ordering::acquire);
  b.branchIf(b.eq(flag(packet), want), done, slow);
  b.startBlock(slow);
  Value later =
      func::CallOp::create(b, p.packetWait,
                           ValueRange{arguments[0], arguments[1], word,
                                      arguments[3], arguments[4]})
          .getResult(0);
  b.branchIf(b.eq(flag(later), want), poll, leave);
  b.startBlock(leave);
  func::CallOp::create(b, p.packetTell,
                       ValueRange{arguments[0], arguments[1], arguments[4]});
  func::ReturnOp::create(b, ValueRange{b.cst(1, i32)});
  b.startBlock(done);
  func::ReturnOp::create(b, ValueRange{b.cst(0, i32)});
}

void PacketBuilder::tokenSend() {
  p.tokenSend =
      beginFunction(b, module, "coll_token_send", {b.ptr(), b.i32()}, {});
  Value end = p.tokenSend.getArgument(0);
  Value packet = b.shl(flagOf(end, p.tokenSend.getArgument(1)), b.cst(32));
  b.setField(packet, packetSlot(b, end, nextOf(end)), 0, Ordering::release);
  func::ReturnOp::create(b);
}

void Primitives::buildPackets(ModuleOp module, const Machine &machine) {
  PacketBuilder builder(module, *this, machine.packets());
  builder.tag();
  builder.giveUp();
  builder.tell();
  builder.wait();
  builder.clean();
  builder.tokenWait();
  builder.tokenSend();
}

} // namespace coll::lowering
