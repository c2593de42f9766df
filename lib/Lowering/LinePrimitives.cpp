//===- LinePrimitives.cpp - Messages of lines (LL128) ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line is 128 bytes, 120 of payload and in its last word the flag
//
//   flag = seq << 16 | sig16        seq: messages of the bulk ring, from 1
//
// of 64 bits, which never comes again. Eight lanes write and read a line by one
// access each, and it arrives in ascending order: whoever sees the flag sees
// the line (LineTileLoop.cpp). No chip promises that; the runtime allows lines
// where it is known to be so.
//
// Slots are apart from those of the bulk ring, one for each of them, and hold
// nothing else; a message counts as one of the bulk ring, so credits are its
// credits. There is no tail to publish: a flag says it.
//
// What is no whole 16 bytes of memory goes by parts, out of line.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"

#include "coll/abi.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

Value lineSlot(Builder &b, Value end, Value next) {
  constexpr uint64_t pair = 2 * COLL_LINE_BYTES,
                     pairPayload = 2 * COLL_LINE_PAYLOAD;
  Value bytes = b.field32(end, offsetof(coll_end, slot_bytes));
  Value stride =
      b.mul(b.udiv(b.add(bytes, b.cst(pairPayload - 1)), b.cst(pairPayload)),
            b.cst(pair));
  Value slots = b.field16(end, offsetof(coll_end, k));
  Value index = b.and_(next, b.sub(slots, b.cst(1)));
  return b.at(b.pointerField(end, offsetof(coll_end, lines)),
              b.mul(index, stride));
}

namespace {
class LineBuilder {
public:
  LineBuilder(ModuleOp module, Primitives &p)
      : b(module.getContext()), module(module), p(p) {}
  void tag();
  void tokenWait();
  void tokenSend();
  void loadPart(unsigned log2);
  void storePart(unsigned log2);

private:
  /// Of the end's next message, from 1.
  Value number(Value end) {
    Value seq = b.pointerField(end, offsetof(coll_end, seq));
    return b.add(b.field(b.i64(), seq, offsetof(coll_seq, next)), b.cst(1));
  }
  Value sig16(Value sig) { return b.and_(b.zext(sig, b.i64()), b.cst(0xffff)); }
  /// `code` for i = 0, step, ... below the bytes.
  void forParts(Value bytes, unsigned step, ArrayRef<Value> carried,
                llvm::function_ref<SmallVector<Value>(Value, ValueRange)> code,
                llvm::function_ref<void(ValueRange)> after);

  Builder b;
  ModuleOp module;
  Primitives &p;
};
} // namespace

void LineBuilder::tag() {
  p.messageTag =
      beginFunction(b, module, "coll_line_tag", {b.ptr(), b.i32()}, {b.i64()});
  Value end = p.messageTag.getArgument(0);
  Value peer = b.field16(end, offsetof(coll_end, peer));
  func::ReturnOp::create(
      b, ValueRange{b.or_(b.shl(number(end), b.cst(16)), peer)});
}

/// A token is the flag of its slot's first line.
void LineBuilder::tokenWait() {
  Type i32 = b.i32(), i64 = b.i64();
  p.tokenWait = beginFunction(b, module, "coll_token_wait_ll128",
                              {b.ptr(), i32, b.ptr(), i64, i64, i32}, {i32});
  auto arguments = p.tokenWait.getArguments();
  Value tag = arguments[3];
  Value want =
      b.or_(b.and_(tag, b.cst(~uint64_t(0xffff))), sig16(arguments[5]));
  Value at = b.or_(arguments[4], b.and_(tag, b.cst(0xffff)));
  Value word = LLVM::AddrSpaceCastOp::create(
      b, globalPointer(b), b.at(arguments[2], uint64_t(COLL_LINE_PAYLOAD)));
  p.waitForToken(b, word, [](Value flag) { return flag; }, want, want, at);
}

void LineBuilder::tokenSend() {
  p.tokenSend =
      beginFunction(b, module, "coll_token_send_ll128", {b.ptr(), b.i32()}, {});
  Value end = p.tokenSend.getArgument(0);
  Value after = number(end);
  Value flag =
      b.or_(b.shl(after, b.cst(16)), sig16(p.tokenSend.getArgument(1)));
  b.setField(flag, lineSlot(b, end, b.sub(after, b.cst(1))), COLL_LINE_PAYLOAD,
             Ordering::release);
  func::ReturnOp::create(b);
}

void LineBuilder::forParts(
    Value bytes, unsigned step, ArrayRef<Value> carried,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> code,
    llvm::function_ref<void(ValueRange)> after) {
  SmallVector<Type> types(1 + carried.size(), b.i64());
  SmallVector<Value> first = {b.cst(0)};
  first.append(carried.begin(), carried.end());
  Block *head = b.newBlock(types), *body = b.newBlock(), *done = b.newBlock();
  b.branch(head, first);
  b.startBlock(head);
  Value i = head->getArgument(0);
  b.branchIf(b.ult(i, bytes), body, done);
  b.startBlock(body);
  SmallVector<Value> next = {b.add(i, b.cst(step))};
  next.append(code(i, head->getArguments().drop_front()));
  b.branch(head, next);
  b.startBlock(done);
  after(head->getArguments().drop_front());
}

void LineBuilder::loadPart(unsigned log2) {
  unsigned width = 1u << log2;
  Type part = b.getIntegerType(8 * width), i64 = b.i64();
  p.loadPart[log2] =
      beginFunction(b, module, "coll_load_part_" + std::to_string(width),
                    {globalPointer(b), i64}, {i64, i64});
  Value address = p.loadPart[log2].getArgument(0);
  forParts(
      p.loadPart[log2].getArgument(1), width, {b.cst(0), b.cst(0)},
      [&](Value i, ValueRange words) -> SmallVector<Value> {
        Value loaded = b.zext(b.load(part, b.at(address, i), width), i64);
        Value placed = b.shl(loaded, b.shl(b.and_(i, b.cst(7)), b.cst(3)));
        Value isLow = b.ult(i, b.cst(8));
        return {b.or_(words[0], b.select(isLow, placed, b.cst(0))),
                b.or_(words[1], b.select(isLow, b.cst(0), placed))};
      },
      [&](ValueRange words) { func::ReturnOp::create(b, words); });
}

void LineBuilder::storePart(unsigned log2) {
  unsigned width = 1u << log2;
  Type part = b.getIntegerType(8 * width), i64 = b.i64();
  p.storePart[log2] =
      beginFunction(b, module, "coll_store_part_" + std::to_string(width),
                    {globalPointer(b), i64, i64, i64}, {});
  auto arguments = p.storePart[log2].getArguments();
  forParts(
      arguments[1], width, {},
      [&](Value i, ValueRange) -> SmallVector<Value> {
        Value word = b.select(b.ult(i, b.cst(8)), arguments[2], arguments[3]);
        Value placed = b.lshr(word, b.shl(b.and_(i, b.cst(7)), b.cst(3)));
        b.store(b.trunc(placed, part), b.at(arguments[0], i), width);
        return {};
      },
      [&](ValueRange) { func::ReturnOp::create(b); });
}

void Primitives::buildLines(ModuleOp module) {
  buildFlagWait(module, Protocol::Lines);
  LineBuilder builder(module, *this);
  builder.tag();
  builder.tokenWait();
  builder.tokenSend();
  for (unsigned log2 = 0; log2 < 4; ++log2) {
    builder.loadPart(log2);
    builder.storePart(log2);
  }
}

} // namespace coll::lowering
