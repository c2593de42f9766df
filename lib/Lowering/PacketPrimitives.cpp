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

  Builder b;
  ModuleOp module;
  Primitives &p;
  const PacketShape shape;
};
} // namespace

void PacketBuilder::tag() {
  p.messageTag = beginFunction(b, module, "coll_packet_tag", {b.ptr(), b.i32()},
                               {b.i64()});
  Value end = p.messageTag.getArgument(0), sig = p.messageTag.getArgument(1);
  Value seq = b.add(nextOf(end), b.cst(1));
  Value clean =
      b.select(isCleaning(b, seq, shape.bits), b.cst(kTagClean), b.cst(0));
  Value peer = b.shl(b.field16(end, offsetof(coll_end, peer)), b.cst(48));
  func::ReturnOp::create(
      b, ValueRange{b.or_(b.or_(flagOf(end, sig), b.cst(kTagPacket)),
                          b.or_(clean, peer))});
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
                              {b.ptr(), i32, b.ptr(), i64, i64, i32}, {i32});
  auto arguments = p.tokenWait.getArguments();
  Value want = wanted(arguments[3]);
  Value word = LLVM::AddrSpaceCastOp::create(b, globalPointer(b), arguments[2]);
  p.waitForToken(
      b, word, [this](Value packet) { return flag(packet); }, want,
      arguments[3], arguments[4]);
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
  buildGiveUp(module);
  buildFlagWait(module, Protocol::Packets);
  PacketBuilder builder(module, *this, machine.packets());
  builder.tag();
  builder.clean();
  builder.tokenWait();
  builder.tokenSend();
}

} // namespace coll::lowering
