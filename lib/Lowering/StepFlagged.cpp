//===- StepFlagged.cpp - A step whose messages have flags -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same slices as with slots that are published, on devices, where messages
// are packets or lines. Thread 0 waits for credits only and leaves each
// channel's slot and tag to the others; they wait for the packets or lines that
// they need and write those that they have made. The barrier at the end is also
// a vote, since any thread may have given up.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/StepEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;

/// The whole step. Such messages do not go direct.
void StepEmitter::flaggedSlices() {
  withoutDirect();
  slices();
}

/// Of a port that has been put. A token is waited for here: all of the block
/// comes behind it.
void StepEmitter::putTag(PortSet &ports, const PortShape &p, Value port,
                         Value index, unsigned number, bool sink, Value slot) {
  auto tagOf = [&]() -> Value {
    return func::CallOp::create(b, primitives.messageTag,
                                ValueRange{endOf(port, sink), sig})
        .getResult(0);
  };
  Value tag = b.cst(0);
  if (p.place == PortShape::Channel) {
    tag = tagOf();
  } else if (p.place == PortShape::Either) {
    auto ifOp = scf::IfOp::create(b, TypeRange{b.i64()}, isChannel(port), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, ValueRange{tagOf()});
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, ValueRange{tag});
    tag = ifOp.getResult(0);
  }
  ports.putTag(sink, number, index, tag);
  if (!shape.token || sink)
    return;
  forChannels(p, port, [&] {
    Value rc =
        func::CallOp::create(b, primitives.tokenWait,
                             ValueRange{inst, block, slot, tag, progress, sig})
            .getResult(0);
    Block *go = b.newBlock();
    b.branchIf(b.eq(rc, b.cst(0, b.i32())), go, leave);
    b.startBlock(go);
  });
}

/// What lies between acquiring and releasing; whether this thread has failed.
Value StepEmitter::flaggedTile(TileOperands &tile) {
  tile.inst = inst;
  tile.block = b.trunc(block, b.i32());
  tile.progress = progress;
  tile.sig = sig;
  tile.primitives = &primitives;
  Value failed = b.cst(0, b.i1());
  if (variant.protocol == Protocol::Lines)
    return shape.token ? failed
                       : machine.lineLoops(b, shape, variant, functions, tile);
  if (!shape.token)
    failed = machine.packetLoops(b, shape, variant, functions, tile);
  cleanSlots(tile);
  return failed;
}

/// Where all go when a thread has given up: the host hears why.
Block *StepEmitter::tellAndLeave() {
  Block *tell = b.newBlock();
  OpBuilder::InsertionGuard guard(b);
  b.startBlock(tell);
  func::CallOp::create(b, primitives.tellWhy,
                       ValueRange{inst, block, progress});
  b.branch(leave);
  return tell;
}

/// Once in many messages: the rest of the slots that are sent. Nothing of the
/// message is in there, so it does no harm where a thread has given up.
void StepEmitter::cleanSlots(const TileOperands &tile) {
  if (shape.sinks.empty())
    return;
  Value isDue = b.hasAny(tile.pointerBits, kTagClean);
  Block *clean = b.newBlock(), *after = b.newBlock();
  b.branchIf(isDue, clean, after);
  b.startBlock(clean);
  forEachPort(true, [&](Value port, Value, unsigned i) {
    const PortShape &p = shape.sinks[i];
    forChannels(p, port, [&] {
      Value words = b.cst(1);
      if (!shape.token) {
        Value payload = b.mul(tile.elements, b.cst(bytesOfType(p.type)));
        words = b.lshr(b.add(payload, b.cst(3)), b.cst(2));
      }
      func::CallOp::create(b, primitives.packetClean,
                           ValueRange{endOf(port, true), words, sig});
    });
  });
  b.branch(after);
  b.startBlock(after);
}

} // namespace coll::lowering
