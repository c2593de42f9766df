//===- StepPorts.cpp - Where a step loads, stores, sends, receives --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A port of a step is memory of this rank or an end of a channel; the step's
// words say which. Here a port becomes a pointer to the slice, and what was
// acquired for that is released again.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/StepEmitter.h"

#include "lib/Support/BlockScale.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;

Value StepEmitter::endOf(Value port, bool sink) {
  Value count = b.field32(inst, sink ? offsetof(coll_inst, nsend)
                                     : offsetof(coll_inst, nrecv));
  Value ends = b.pointerField(inst, sink ? offsetof(coll_inst, send_ends)
                                         : offsetof(coll_inst, recv_ends));
  Value index = b.add(b.mul(instance, count), word(port, kPortA));
  return b.at(ends, b.mul(index, b.cst(sizeof(coll_end))));
}

void StepEmitter::leaveIfNull(Value pointer) {
  Block *go = b.newBlock();
  Value null = LLVM::ZeroOp::create(b, b.ptr());
  b.branchIf(LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, pointer, null),
             leave, go);
  b.startBlock(go);
}

void StepEmitter::leaveUnless0(Value rc) {
  Block *go = b.newBlock();
  b.branchIf(b.eq(rc, b.cst(0, b.i32())), go, leave);
  b.startBlock(go);
}

/// Where the slice of a message that may go direct lies in its owner's buffer.
Value StepEmitter::regionOffset(Value port) {
  Value part = b.mul(b.mul(word(port, kPortB), elemsOfPart),
                     b.field32(args, offsetof(coll_args, elem_bytes)));
  return b.add(part, b.add(begin, position));
}

/// The payload of the next message. In windows it lies where the region does:
/// parts lie one by one, in chunks as here.
Value StepEmitter::channelPointer(const PortShape &p, Value port, bool sink) {
  SmallVector<Value> operands = {inst, block, args, endOf(port, sink),
                                 progress};
  func::FuncOp usual = sink ? primitives.sendAcquire : primitives.recvAcquire;
  auto slot = [&]() -> Value {
    SmallVector<Value> all(operands);
    if (!sink)
      all.push_back(sig);
    return func::CallOp::create(b, usual, all).getResult(0);
  };
  // The region of the other kinds is this rank's own.
  Port::Direct peers = sink ? Port::Put : Port::Get;
  auto window = [&]() -> Value {
    SmallVector<Value> all(operands);
    all.append({sig, regionOffset(port), current});
    return func::CallOp::create(
               b, sink ? primitives.putAcquire : primitives.getAcquire, all)
        .getResult(0);
  };
  Value pointer;
  if (p.direct == Port::None ||
      (p.place == PortShape::Channel && p.direct != peers)) {
    pointer = slot();
  } else if (p.place == PortShape::Channel) {
    pointer = window();
  } else {
    Block *direct = b.newBlock(), *ring = b.newBlock(),
          *join = b.newBlock({b.ptr()});
    b.branchIf(isDirect(port, peers), direct, ring);
    b.startBlock(direct);
    b.branch(join, window());
    b.startBlock(ring);
    b.branch(join, slot());
    b.startBlock(join);
    pointer = join->getArgument(0);
  }
  leaveIfNull(pointer);
  return pointer;
}

/// Of what the sender has put into this rank's own buffer.
Value StepEmitter::putPointer(Value port) {
  Value rc = func::CallOp::create(b, primitives.putWait,
                                  ValueRange{inst, block, endOf(port, false),
                                             progress, b.cst(1)})
                 .getResult(0);
  leaveUnless0(rc);
  return bufferPointer(ownBuffer(port), word(port, kPortB));
}

/// Scratch holds one piece, so it starts where the piece starts; buffers hold
/// whole parts.
Value StepEmitter::memoryPointer(Value port, ElemType type) {
  Value place = word(port, kPortA), part = word(port, kPortB);
  unsigned own = bytesOfType(type), element = elementBytes();
  auto scaled = [&](Value byteOffset) -> Value {
    if (type == ElemType::MXE4M3) // slices begin where blocks lie together
      return b.mul(
          b.udiv(byteOffset, b.cst(element * blocksTogether * blockElements)),
          b.cst(bytesTogether));
    return own == element
               ? byteOffset
               : b.mul(b.udiv(byteOffset, b.cst(element)), b.cst(own));
  };
  auto ifOp = scf::IfOp::create(b, TypeRange{b.ptr()},
                                b.eq(place, b.cst(kScratch)), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  Value slots = b.field32(inst, offsetof(coll_inst, scratch_slots)),
        slotBytes = b.field32(inst, offsetof(coll_inst, scratch_slot_bytes));
  Value slot = b.add(b.mul(instance, slots), part);
  Value scratch = b.at(b.pointerField(inst, offsetof(coll_inst, scratch)),
                       b.mul(slot, slotBytes));
  scf::YieldOp::create(b, ValueRange{b.at(scratch, scaled(position))});
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, ValueRange{bufferPointer(place, part)});
  return ifOp.getResult(0);
}

Value StepEmitter::bufferPointer(Value place, Value part) {
  Value buffer = b.at(b.at(args, offsetof(coll_args, bufs)),
                      b.mul(place, b.cst(sizeof(coll_buf))));
  Value displ = b.field(b.i64(), buffer, offsetof(coll_buf, displ));
  auto packed =
      scf::IfOp::create(b, TypeRange{b.i64()}, b.eq(displ, b.cst(0)), true);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(packed.thenBlock());
    scf::YieldOp::create(b, ValueRange{b.mul(part, elemsOfPart)});
    b.setInsertionPointToStart(packed.elseBlock());
    Value table = LLVM::IntToPtrOp::create(b, b.ptr(), displ);
    scf::YieldOp::create(
        b, ValueRange{b.field(b.i64(), b.at(table, b.mul(part, b.cst(8))), 0)});
  }
  Value partBytes = b.mul(packed.getResult(0),
                          b.field32(buffer, offsetof(coll_buf, elem_bytes)));
  Value offset = b.add(partBytes, b.add(begin, position));
  return b.at(b.pointerField(buffer, offsetof(coll_buf, ptr)), offset);
}

Value StepEmitter::pointerOf(const PortShape &p, Value port, bool sink) {
  if (!sink && hasDropped && shape.receivesPut())
    return putPointer(port);
  if (p.place == PortShape::Channel)
    return channelPointer(p, port, sink);
  if (p.place == PortShape::Memory)
    return memoryPointer(port, p.type);
  if (p.place == PortShape::Scalar)
    return b.at(b.at(args, offsetof(coll_args, scalar)),
                b.mul(word(port, kPortA), b.cst(8)));
  if (p.place == PortShape::Row)
    return b.pointerField(
        b.at(b.at(args, offsetof(coll_args, bufs)),
             b.mul(word(port, kPortA), b.cst(sizeof(coll_buf)))),
        offsetof(coll_buf, ptr));
  Block *channel = b.newBlock(), *memory = b.newBlock(),
        *join = b.newBlock({b.ptr()});
  b.branchIf(isChannel(port), channel, memory);
  b.startBlock(channel);
  b.branch(join, channelPointer(p, port, sink));
  b.startBlock(memory);
  b.branch(join, memoryPointer(port, p.type));
  b.startBlock(join);
  return join->getArgument(0);
}

/// `code` for index 0, 1, ... below `count`.
void StepEmitter::forIndices(Value count,
                             llvm::function_ref<void(Value index)> code) {
  Block *head = b.newBlock({b.i64()}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{b.cst(0)});
  b.startBlock(head);
  Value index = head->getArgument(0);
  b.branchIf(b.ult(index, count), body, after);
  b.startBlock(body);
  code(index);
  b.branch(head, ValueRange{b.add(index, b.cst(1))});
  b.startBlock(after);
}

/// How many sources from number `first` on are alike.
unsigned StepEmitter::sourcesAlike(unsigned first) const {
  unsigned end = first + 1;
  while (end < shape.sources.size() &&
         shape.sources[end] == shape.sources[first])
    ++end;
  return end - first;
}

/// Walks the ports of one side: written out, or as a loop over the table.
void StepEmitter::forEachPort(bool sinks, PortCode code) {
  bool loop = sinks ? shape.loopSinks : shape.loopSources;
  Value numSources = word(words, kStepNumSources);
  Value first = b.at(words, uint64_t(kStepPorts) * 4);
  if (sinks)
    first = b.at(first, b.mul(numSources, b.cst(kPortWords * 4)));
  auto portAt = [&](Value number) {
    return b.at(first, b.mul(number, b.cst(kPortWords * 4)));
  };
  if (loop) {
    Value count = sinks ? word(words, kStepNumSinks) : numSources;
    forIndices(count, [&](Value index) {
      Value port = portAt(index);
      if (sinks && (hasDropped || hasMoved))
        forKept(port, [&] { code(port, index, 0); });
      else
        code(port, index, 0);
    });
    return;
  }
  unsigned count = sinks ? shape.sinks.size() : shape.sources.size();
  for (unsigned i = 0; i < count; ++i) {
    unsigned alike = sinks ? 1 : sourcesAlike(i);
    if (alike <= kMaxUnrolledSources || !machine.indexesPorts()) {
      code(portAt(b.cst(sinks ? sinkNumbers[i] : i)), {}, i);
      continue;
    }
    forIndices(b.cst(alike), [&](Value index) {
      Value number = b.add(index, b.cst(i));
      code(portAt(number), number, i);
    });
    i += alike - 1;
  }
}

/// Runs `code` if the port is a channel; decided here when the shape says so.
void StepEmitter::forChannels(const PortShape &p, Value port,
                              llvm::function_ref<void()> code) {
  if (p.place == PortShape::Memory || p.place == PortShape::Scalar ||
      p.place == PortShape::Row)
    return;
  if (p.place == PortShape::Channel)
    return code();
  Block *yes = b.newBlock(), *after = b.newBlock();
  b.branchIf(isChannel(port), yes, after);
  b.startBlock(yes);
  code();
  b.branch(after);
  b.startBlock(after);
}

/// Sinks in a loop: those that do not fall away.
void StepEmitter::forKept(Value port, llvm::function_ref<void()> code) {
  Block *kept = b.newBlock(), *after = b.newBlock();
  Value drops = b.cst(0, b.i1());
  if (hasDropped && shape.receivesPut()) {
    Value source = b.at(words, uint64_t(kStepPorts) * 4);
    drops = b.and_(b.eq(word(port, kPortKind), b.cst(kPortMemory)),
                   b.and_(b.eq(word(port, kPortA), ownBuffer(source)),
                          b.eq(word(port, kPortB), word(source, kPortB))));
  } else if (hasDropped) {
    drops = b.and_(isChannel(port), isDirect(port, Port::Get));
  }
  if (hasMoved)
    drops = b.or_(drops, b.and_(isChannel(port), isDirect(port, Port::Put)));
  b.branchIf(drops, after, kept);
  b.startBlock(kept);
  code();
  b.branch(after);
  b.startBlock(after);
}

/// What is done at an end depends on whether the message may go direct in the
/// peer's memory (`peers`: how it then does).
void StepEmitter::chooseDirect(const PortShape &p, Value port,
                               Port::Direct peers,
                               llvm::function_ref<void()> direct,
                               llvm::function_ref<void()> usual) {
  if (p.direct == Port::None ||
      (p.place == PortShape::Channel && p.direct != peers))
    return usual();
  if (p.place == PortShape::Channel)
    return direct();
  Block *yes = b.newBlock(), *no = b.newBlock(), *after = b.newBlock();
  b.branchIf(isDirect(port, peers), yes, no);
  b.startBlock(yes);
  direct();
  b.branch(after);
  b.startBlock(no);
  usual();
  b.branch(after);
  b.startBlock(after);
}

void StepEmitter::publish(const PortShape &p, Value port) {
  Value end = endOf(port, true);
  chooseDirect(
      p, port, Port::Put,
      [&] {
        Value rc =
            func::CallOp::create(b, primitives.putPublish,
                                 ValueRange{inst, block, args, end, progress,
                                            sig, regionOffset(port), current})
                .getResult(0);
        if (primitives.move) // else it is always 0
          leaveUnless0(rc);
      },
      [&] {
        func::CallOp::create(b, primitives.sendPublish,
                             ValueRange{args, end, sig});
      });
}

/// Publishes and returns credits: the ends' own business where messages may go
/// direct.
void StepEmitter::releaseAll(Value failed) {
  Machine::Section section = failed
                                 ? machine.beginVoted(b, failed, tellAndLeave())
                                 : machine.beginBehind(b);
  fenceMulticast(maySpread() ? isMulticast : Value());
  bool receives = llvm::any_of(shape.sources, [](const PortShape &p) {
    return p.place == PortShape::Channel;
  });
  forEachPort(true, [&](Value port, Value, unsigned i) {
    forChannels(shape.sinks[i], port, [&] {
      if (isFlagged() && shape.token)
        func::CallOp::create(b, primitives.tokenSend,
                             ValueRange{endOf(port, true), sig});
      publish(shape.sinks[i], port);
      if (!receives && primitives.fetchToWrite)
        func::CallOp::create(b, primitives.fetchToWrite,
                             ValueRange{inst, endOf(port, true), bytes});
    });
  });
  if (hasDropped && shape.receivesPut()) {
    machine.endBehind(b, section);
    return;
  }
  forEachPort(false, [&](Value port, Value, unsigned i) {
    forChannels(shape.sources[i], port, [&] {
      SmallVector<Value> operands = {args, endOf(port, false)};
      auto call = [&](func::FuncOp release) {
        return [&, release] { func::CallOp::create(b, release, operands); };
      };
      chooseDirect(shape.sources[i], port, Port::Get,
                   call(primitives.getRelease), call(primitives.recvRelease));
    });
  });
  machine.endBehind(b, section);
}

/// Does this rank's buffer of the step lie in a window?
Value StepEmitter::hasWindow() {
  Value source = b.at(words, uint64_t(kStepPorts) * 4);
  Value place = shape.receivesPut() ? ownBuffer(source) : word(source, kPortA);
  Value buffer = b.at(b.at(args, offsetof(coll_args, bufs)),
                      b.mul(place, b.cst(sizeof(coll_buf))));
  Value win = b.field(b.i64(), buffer, offsetof(coll_buf, win));
  return b.ne(win, b.cst(0));
}

} // namespace coll::lowering
