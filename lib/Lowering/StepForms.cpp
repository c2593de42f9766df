//===- StepForms.cpp - A step whose messages go direct --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step has its slices' loop once for each set of sinks that can be left:
//
//   dropped  this rank's buffer lies in a window: peers get from it what is
//            sent to them else, or put into it what is stored there else
//   moved    the peers' buffers are reached by the kernel alone, and the step
//            only moves memory: then the kernel has moved what is put, from
//            buffer to buffer, before the loop begins
//
// The latter are all puts of the step or none. A step that only stores what it
// gets is done by the kernel as a whole. As a call of it takes its time, and
// rounds are only there for the ring, the first round moves for all, where that
// is proved to be right (Port::ahead); messages are counted round by round.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/StepEmitter.h"

namespace coll::lowering {
using namespace mlir;

/// From here on code is for the step without these sinks.
void StepEmitter::takeForm(bool dropped, bool moved) {
  hasDropped = dropped;
  hasMoved = moved;
  sinkBits = sinkBitsCell = keptCell = putBits = putWindows = {};
  if (shape.loopSinks) { // each is asked
    sinkNumbers = {0};
    return;
  }
  shape.sinks.clear();
  sinkNumbers.clear();
  for (unsigned i = 0; i < original.size(); ++i)
    if (!(dropped && original[i].drops) &&
        !(moved && original[i].direct == Port::Put)) {
      shape.sinks.push_back(original[i]);
      sinkNumbers.push_back(i);
    }
}

/// Small messages do not go direct.
void StepEmitter::withoutDirect() {
  for (std::vector<PortShape> *side : {&shape.sources, &shape.sinks, &original})
    for (PortShape &port : *side) {
      port.direct = Port::None;
      port.drops = false;
    }
  shape.gathers = shape.spreads = shape.spreadsSource = false;
  takeForm(false, false);
}

/// In launches with small messages of a host: each is one slice, which neither
/// goes direct nor is stored past the caches, and memory has as little.
void StepEmitter::smallSlice() {
  const StepShape whole = shape;
  const std::vector<PortShape> sinks = original;
  const Primitives others = primitives;
  primitives = *small;
  inSmall = true;
  withoutDirect();
  slices();
  inSmall = false;
  primitives = others;
  original = sinks;
  shape = whole;
  takeForm(false, false);
}

/// What is left of a step without sinks. What was put is awaited, which can be
/// deferred to the end of the launch if nobody touches it before.
void StepEmitter::awaitPuts() {
  if (!shape.receivesPut()) {
    func::ReturnOp::create(b, ValueRange{b.cst(0, b.i32())});
    return;
  }
  Value port = b.at(words, uint64_t(kStepPorts) * 4);
  Machine::Section section = machine.beginOne(b, leave);
  Value end = endOf(port, false);
  Value messages =
      b.udiv(b.add(bytes, b.sub(sliceBytes, b.cst(1))), sliceBytes);
  Block *deferred = b.newBlock(), *now = b.newBlock(), *done = b.newBlock();
  b.branchIf(b.hasAny(word(port, kPortC), kPortDeferred), deferred, now);
  b.startBlock(deferred);
  Value seq = b.pointerField(end, offsetof(coll_end, seq));
  b.setField(b.add(b.field(b.i64(), seq, offsetof(coll_seq, direct)), messages),
             seq, offsetof(coll_seq, direct));
  b.branch(done);
  b.startBlock(now);
  Value rc =
      func::CallOp::create(
          b, primitives.putWait,
          ValueRange{inst, block, end,
                     b.shl(word(words, kStepNumber), b.cst(40)), messages})
          .getResult(0);
  b.branchIf(b.eq(rc, b.cst(0, b.i32())), done, section.leave);
  b.startBlock(done);
  machine.endOne(b, section, leave);
  func::ReturnOp::create(b, ValueRange{b.cst(0, b.i32())});
}

/// All sets of sinks, with or without puts.
void StepEmitter::forms(bool moved) {
  auto code = [&](bool dropped) {
    takeForm(dropped, moved);
    shape.sinks.empty() ? awaitPuts() : slices();
  };
  if (llvm::none_of(original, [](const PortShape &p) { return p.drops; }))
    return code(false);
  Block *whole = b.newBlock(), *rest = b.newBlock();
  b.branchIf(hasWindow(), rest, whole);
  b.startBlock(whole);
  code(false);
  b.startBlock(rest);
  code(true);
}

//===----------------------------------------------------------------------===//
// By the kernel
//===----------------------------------------------------------------------===//

bool StepEmitter::mayPutWhole() const {
  return variant.move && !variant.vectorCounts && !shape.loopSources &&
         shape.sources.size() == 1 &&
         shape.sources[0].place == PortShape::Memory &&
         llvm::any_of(original, [](const PortShape &p) {
           return p.place != PortShape::Memory && p.direct != Port::None &&
                  (p.place == PortShape::Either || p.direct == Port::Put);
         });
}

bool StepEmitter::mayGetWhole() const {
  return variant.move && !variant.vectorCounts && !shape.loopSources &&
         !shape.loopSinks && shape.sources.size() == 1 &&
         shape.sources[0].place == PortShape::Channel &&
         shape.sources[0].direct == Port::Get && original.size() == 1 &&
         original[0].place == PortShape::Memory;
}

/// The channels of the step's puts, and where their region is.
void StepEmitter::forPuts(
    llvm::function_ref<void(Value end, Value offset)> code) {
  forEachPort(true, [&](Value port, Value, unsigned i) {
    forChannels(shape.sinks[i], port, [&] {
      chooseDirect(
          shape.sinks[i], port, Port::Put,
          [&] { code(endOf(port, true), regionOffset(port)); }, [] {});
    });
  });
}

void StepEmitter::countMoved() {
  if (variant.countBytes)
    func::CallOp::create(b, primitives.countBytes, ValueRange{bytes, bytes});
}

/// In the first round this is the piece's beginning, too.
Value StepEmitter::bytesToMove() {
  Value port = b.at(words, uint64_t(kStepPorts) * 4);
  Value isAhead = b.hasAny(word(port, kPortC), kPortAhead);
  Value first = b.select(b.eq(round, b.cst(0)), shareBytes, b.cst(0));
  return b.select(isAhead, first, bytes);
}

/// Falls through where not all of what is put is to be moved by the kernel.
void StepEmitter::putWhole() {
  auto ofPut = b.cst(COLL_DIRECT_PUT, b.i32());
  Value all = b.array(b.i64(), b.cst(1));
  b.setField(b.cst(1), all, 0);
  forPuts([&](Value end, Value) {
    Value rc = func::CallOp::create(
                   b, primitives.remote,
                   ValueRange{inst, block, args, end, progress, ofPut})
                   .getResult(0);
    Block *go = b.newBlock();
    b.branchIf(b.eq(rc, b.cst(2, b.i32())), leave, go);
    b.startBlock(go);
    Value both = b.and_(b.field(b.i64(), all, 0), b.zext(rc, b.i64()));
    b.setField(both, all, 0);
  });
  Block *remote = b.newBlock(), *usual = b.newBlock();
  b.branchIf(b.ne(b.field(b.i64(), all, 0), b.cst(0)), remote, usual);
  b.startBlock(remote);
  Value from =
      memoryPointer(b.at(words, uint64_t(kStepPorts) * 4), ElemType::T);
  Value messages =
      b.udiv(b.add(bytes, b.sub(sliceBytes, b.cst(1))), sliceBytes);
  Value toMove = bytesToMove();
  forPuts([&](Value end, Value offset) {
    leaveUnless0(
        func::CallOp::create(b, primitives.move,
                             ValueRange{inst, block, end, progress, offset,
                                        toMove, from, messages})
            .getResult(0));
    countMoved();
  });
  forms(/*moved=*/true);
  takeForm(false, false);
  b.startBlock(usual);
}

/// Falls through where the kernel does not reach the peer's memory.
void StepEmitter::getWhole() {
  Value port = b.at(words, uint64_t(kStepPorts) * 4), end = endOf(port, false);
  Value rc = func::CallOp::create(b, primitives.remote,
                                  ValueRange{inst, block, args, end, progress,
                                             b.cst(COLL_DIRECT_GET, b.i32())})
                 .getResult(0);
  Block *known = b.newBlock(), *remote = b.newBlock(), *usual = b.newBlock();
  b.branchIf(b.eq(rc, b.cst(2, b.i32())), leave, known);
  b.startBlock(known);
  b.branchIf(b.eq(rc, b.cst(1, b.i32())), remote, usual);
  b.startBlock(remote);
  Value to = memoryPointer(b.at(port, uint64_t(kPortWords) * 4), ElemType::T);
  Value moved = func::CallOp::create(b, primitives.move,
                                     ValueRange{inst, block, end, progress,
                                                regionOffset(port),
                                                bytesToMove(), to, b.cst(0)})
                    .getResult(0);
  countMoved();
  func::ReturnOp::create(b, ValueRange{moved});
  b.startBlock(usual);
}

void StepEmitter::work() {
  sliceBytes = b.mul(b.field32(args, offsetof(coll_args, slice_units)), unit);
  if (isFlagged())
    return flaggedSlices();
  if (small) {
    Block *inSmallLaunch = b.newBlock(), *others = b.newBlock();
    b.branchIf(hasFlag(COLL_ARGS_SMALL), inSmallLaunch, others);
    b.startBlock(inSmallLaunch);
    smallSlice();
    b.startBlock(others);
  }
  position = b.cst(0);
  progress = b.shl(word(words, kStepNumber), b.cst(40));
  if (primitives.remote && mayPutWhole())
    putWhole();
  else if (primitives.remote && mayGetWhole())
    getWhole();
  forms(/*moved=*/false);
}

} // namespace coll::lowering
