//===- StepBuilder.cpp - One function per shape of step -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chunk of U units is cut into one share per instance, a share into rounds, a
// round into slices; this function does one round of one share:
//
//   begin, bytes = where the piece lies in the part and how much it is (its
//   last unit may be partial) for pos in 0 .. bytes step slice:
//     for each receive: payload = recvAcquire        for each send: payload =
//     sendAcquire inner loop over the elements of the slice for each send:
//     sendPublish                     for each receive: recvRelease
//
// Both ends of a message compute the same slices from (chunk, slice_units), so
// a piece of zero bytes has no slices on either end. Where counts are each
// rank's own (v-collectives), the ends might disagree: there the size is part
// of the signature, and a share of zero bytes is one empty slot of the first
// round. Sends publish before receives return their credits: the next rank's
// data is on the critical path. In plans that cut by row, units are rows; with
// mxe4m3, blocks.
//
// A message that goes direct (DirectPrimitives.cpp) has the peer's memory for a
// slot; the loop is the same. Two kinds of sink fall away where the launch
// buffer lies in a window: sends that the peer gets itself, and the store of
// what the sender has put. Steps with such sinks have the loop twice
// (StepForms.cpp).
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/StepEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;

/// begin, bytes: chunk -> share -> round.
void StepEmitter::locate() {
  Value size = b.at(machine.sizes(b, args),
                    b.mul(word(words, kStepSize), b.cst(sizeof(coll_size))));
  Value q = b.field(b.i64(), size, offsetof(coll_size, units_q)),
        r = b.field32(size, offsetof(coll_size, units_r));
  elemsOfPart = b.field(b.i64(), size, offsetof(coll_size, elems));
  Value chunk = word(words, kStepChunk);
  Value chunkBegin = b.add(b.mul(chunk, q), b.umin(chunk, r));
  Value units = b.add(q, b.zext(b.ult(chunk, r), b.i64()));

  Value instances = b.field32(inst, offsetof(coll_inst, ninstances));
  auto ifOp = scf::IfOp::create(b, TypeRange{b.i64(), b.i64()},
                                b.ugt(instances, b.cst(1)), true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    Value share = b.udiv(units, instances), more = b.urem(units, instances);
    Value shareBegin = b.add(b.mul(instance, share), b.umin(instance, more));
    Value shareUnits = b.add(share, b.zext(b.ult(instance, more), b.i64()));
    scf::YieldOp::create(b, ValueRange{shareBegin, shareUnits});
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, ValueRange{b.cst(0), units});
  }
  Value roundUnits = b.field32(args, offsetof(coll_args, round_units));
  Value done = b.umin(b.mul(round, roundUnits), ifOp.getResult(1));
  Value pieceUnits = b.umin(b.sub(ifOp.getResult(1), done), roundUnits);
  Value first = b.add(b.add(chunkBegin, ifOp.getResult(0)), done);
  unit = variant.byRow || variant.inBlocks
             ? b.field32(args, offsetof(coll_args, unit_bytes))
             : b.cst(COLL_UNIT_BYTES);
  begin = b.mul(first, unit);
  Value isLast = b.eq(b.add(first, pieceUnits),
                      b.field(b.i64(), size, offsetof(coll_size, units)));
  Value hasSome = b.ne(pieceUnits, b.cst(0));
  Value missing = b.sub(unit, b.field32(size, offsetof(coll_size, tail_bytes)));
  bytes = b.sub(b.mul(pieceUnits, unit),
                b.select(b.and_(isLast, hasSome), missing, b.cst(0)));
  Value endOfShare =
      b.add(b.add(chunkBegin, ifOp.getResult(0)), ifOp.getResult(1));
  Value isLastShare =
      b.eq(endOfShare, b.field(b.i64(), size, offsetof(coll_size, units)));
  shareBytes = b.sub(b.mul(ifOp.getResult(1), unit),
                     b.select(isLastShare, missing, b.cst(0)));
}

/// The launch's, and where it leaves the counts out, the size of the parts that
/// this step's messages are cut from.
Value StepEmitter::signature() {
  Value launch = b.field(b.i32(), args, offsetof(coll_args, sig));
  if (!variant.vectorCounts || shape.token)
    return launch;
  Value hash = b.mul(elemsOfPart, b.cst(COLL_SIZE_HASH));
  return b.add(launch, b.trunc(b.lshr(hash, b.cst(32)), b.i32()));
}

/// Which operand of a fold over all sources source `index` is.
Value StepEmitter::operandOf(Value index) {
  Value shift = word(words, kStepShift), back = b.sub(index, shift);
  return b.select(b.ult(index, shift),
                  b.add(back, word(words, kStepNumSources)), back);
}

/// Elements times ports times what an element takes, on either side.
void StepEmitter::countBytes(const TileOperands &tile) {
  auto sum = [&](const std::vector<PortShape> &ports, Value count) {
    Value bytes = b.cst(0);
    for (const PortShape &p : ports)
      if (p.place != PortShape::Scalar && p.place != PortShape::Row)
        bytes = b.add(bytes, b.mul(tile.elements, b.cst(bytesOfType(p.type))));
    return count ? b.mul(bytes, count) : bytes;
  };
  Value read = sum(shape.sources, tile.numSources),
        written = sum(shape.sinks, tile.numSinks);
  func::CallOp::create(b, primitives.countBytes, ValueRange{read, written});
}

void StepEmitter::noteSink(const PortShape &p, Value port, Value pointer) {
  if (p.place == PortShape::Channel) {
    Value bits = LLVM::PtrToIntOp::create(b, b.i64(), pointer);
    if (p.direct == Port::Put && primitives.putWay) {
      Value way = func::CallOp::create(b, primitives.putWay,
                                       ValueRange{inst, endOf(port, true)})
                      .getResult(0);
      auto is = [&](PutWay other) { return b.eq(way, b.cst(other, b.i32())); };
      // What only stops over on its way to another process stays in the caches.
      bits = b.or_(bits, b.zext(is(kPutByKernel), b.i64()));
      Value isWindow = is(kPutByWindow);
      putWindows = putWindows ? b.and_(putWindows, isWindow) : isWindow;
    }
    putBits = putBits ? b.or_(putBits, bits) : bits;
    return;
  }
  Value isScratch = b.eq(word(port, kPortA), b.cst(kScratch));
  Value bits = b.or_(LLVM::PtrToIntOp::create(b, b.i64(), pointer),
                     b.zext(isScratch, b.i64()));
  if (sinkBitsCell)
    b.setField(b.or_(b.field(b.i64(), sinkBitsCell, 0), bits), sinkBitsCell, 0);
  else
    sinkBits = sinkBits ? b.or_(sinkBits, bits) : bits;
}

/// When the inner loop stores past the caches: into slots when the launch says
/// so, into memory when it says so and all of it lies right. Sinks of a loop,
/// many and mostly slots, go by the slots' flag alone.
void StepEmitter::chooseStores(TileOperands &tile) {
  if (!canStream())
    return;
  bool hasSlots = llvm::any_of(shape.sinks, [](const PortShape &p) {
    return p.place == PortShape::Channel;
  });
  auto isAligned = [&](Value bits) {
    return b.hasNone(bits, COLL_UNIT_BYTES - 1);
  };
  if (hasSlots)
    tile.streamSlots = hasFlag(COLL_ARGS_STREAM_SLOTS);
  if (putWindows)
    tile.streamSlots = b.or_(tile.streamSlots,
                             b.and_(hasFlag(COLL_ARGS_STREAM_OUT), putWindows));
  if (putBits)
    tile.streamSlots = b.and_(tile.streamSlots, isAligned(putBits));
  if (sinkBitsCell)
    sinkBits = b.field(b.i64(), sinkBitsCell, 0);
  if (sinkBits && !(shape.loopSinks && hasSlots))
    tile.streamMemory = b.and_(hasFlag(shape.loopSinks ? COLL_ARGS_STREAM_SLOTS
                                                       : COLL_ARGS_STREAM_OUT),
                               isAligned(sinkBits));
}

/// A slot of every channel, and where memory lies.
void StepEmitter::acquireAll(PortSet &ports, TileOperands &tile) {
  Block *outer = leave;
  Machine::Section section = machine.beginOne(b, outer);
  leave = section.leave;
  ports.begin();
  if (keptCell)
    b.setField(b.cst(0), keptCell, 0);
  if (isFlagged())
    for (auto cell : {PortSet::Teller, PortSet::Failure})
      b.setField(b.cst(0), ports.cell(cell), 0);
  beginMulticast(ports);
  auto keep = [&](bool sinks) {
    return [&, sinks](Value port, Value index, unsigned i) {
      const PortShape &of = sinks ? shape.sinks[i] : shape.sources[i];
      if (of.place == PortShape::Scalar)
        return;
      Value pointer = pointerOf(of, port, sinks);
      noteMulticast(ports, port, sinks);
      if (!sinks && shape.spreadsSource)
        noteMulticast(ports, port, /*sink=*/true);
      if (sinks && canStream() &&
          (of.place != PortShape::Channel || of.direct == Port::Put))
        noteSink(of, port, pointer);
      if (sinks && index && keptCell) {
        index = b.field(b.i64(), keptCell, 0);
        b.setField(b.add(index, b.cst(1)), keptCell, 0);
      }
      if (index && !sinks && shape.loopSources)
        index = operandOf(index);
      ports.put(sinks, i, index, pointer);
      if (isFlagged())
        putTag(ports, of, port, index, i, sinks, pointer);
    };
  };
  forEachPort(false, keep(false));
  forEachPort(true, keep(true));
  fenceMulticast(multicastHolds(ports));
  machine.endOne(b, section, outer);
  leave = outer;
  ports.finish(tile);
  isMulticast = multicastHolds(ports);
  if (isMulticast) {
    tile.isMulticast = isMulticast;
    if (mayGather())
      tile.gathered = b.field(b.i64(), ports.cell(PortSet::Gathered), 0);
    if (maySpread())
      tile.spread = b.field(b.i64(), ports.cell(PortSet::Spread), 0);
  }
  forEachPort(false, [&](Value port, Value, unsigned i) {
    if (shape.sources[i].place == PortShape::Scalar)
      tile.sources[i] = pointerOf(shape.sources[i], port, false);
  });
}

/// The head of the loop over slices; none where there is one slice.
Block *StepEmitter::beginSlice() {
  Value step = b.shl(word(words, kStepNumber), b.cst(40));
  if (inSmall) {
    position = b.cst(0);
    progress = step;
    current = bytes;
    return nullptr;
  }
  Block *head = b.newBlock({b.i64(), b.i64()});
  b.branch(head, ValueRange{b.cst(0), b.cst(0)});
  b.startBlock(head);
  position = head->getArgument(0);
  Value slice = head->getArgument(1);
  progress = b.or_(step, b.shl(b.and_(slice, b.cst(0xffffff)), b.cst(16)));
  current = b.umin(b.sub(bytes, position), sliceBytes);
  return head;
}

void StepEmitter::slices() {
  TileOperands tile;
  if (shape.loopSources)
    tile.numSources = word(words, kStepNumSources);
  if (shape.loopSinks) {
    tile.numSinks = word(words, kStepNumSinks);
    if (canStream())
      sinkBitsCell = b.array(b.i64(), b.cst(1));
  }
  std::unique_ptr<PortSet> ports =
      machine.ports(b, shape, variant, tile.numSources, tile.numSinks);
  if (shape.loopSinks && (hasDropped || hasMoved))
    keptCell = ports->cell(PortSet::KeptSinks);
  tile.numRanks = b.field32(inst, offsetof(coll_inst, nranks));
  tile.factor =
      b.field(b.getF64Type(), args,
              offsetof(coll_args, scalar) + 8 * (COLL_MAX_SCALARS - 1));
  Block *head = beginSlice();
  putBits = putWindows = {};
  if (sinkBitsCell)
    b.setField(b.cst(0), sinkBitsCell, 0);
  acquireAll(*ports, tile);
  if (keptCell)
    tile.numSinks = b.field(b.i64(), keptCell, 0);
  tile.elements = elementBytes() == 1
                      ? current
                      : b.lshr(current, b.cst(llvm::Log2_32(elementBytes())));
  Block *stored = nullptr;
  if (keptCell) {
    Block *some = b.newBlock();
    stored = b.newBlock();
    b.branchIf(b.ne(tile.numSinks, b.cst(0)), some, stored);
    b.startBlock(some);
  }
  Value failed;
  if (isFlagged()) {
    failed = flaggedTile(tile);
  } else if (!shape.token) {
    chooseStores(tile);
    if (shape.hasRows(functions))
      tile.rowElements = b.field32(args, offsetof(coll_args, row_elems));
    machine.tileLoops(b, shape, variant, functions, tile);
  }
  if (variant.countBytes)
    countBytes(tile);
  if (stored) {
    b.branch(stored);
    b.startBlock(stored);
  }
  releaseAll(failed);
  if (head) {
    Block *done = b.newBlock();
    Value next = b.add(position, current),
          slice = b.add(head->getArgument(1), b.cst(1));
    b.branchIf(b.ult(next, bytes), head, ValueRange{next, slice}, done, {});
    b.startBlock(done);
  }
  func::ReturnOp::create(b, ValueRange{b.cst(0, b.i32())});
}

func::FuncOp StepEmitter::build(StringRef name) {
  Type ptr = b.ptr();
  fn = beginFunction(b, module, name,
                     {ptr, ptr, b.i32(), b.i64(), ptr, b.i64()}, {b.i32()});
  args = fn.getArgument(0), inst = fn.getArgument(1), block = fn.getArgument(2),
  instance = fn.getArgument(3), words = fn.getArgument(4),
  round = fn.getArgument(5);
  locate();
  sig = signature();
  // A token has no bytes but is one empty slot, in the first round.
  Value isFirst = b.eq(round, b.cst(0)), hasBytes = b.ne(bytes, b.cst(0));
  Value some = shape.token            ? isFirst
               : variant.vectorCounts ? b.or_(isFirst, hasBytes)
                                      : hasBytes;
  Block *begun = b.newBlock(), *nothing = b.newBlock();
  leave = b.newBlock();
  b.branchIf(some, begun, nothing);
  b.startBlock(nothing);
  func::ReturnOp::create(b, ValueRange{b.cst(0, b.i32())});
  b.startBlock(leave);
  func::ReturnOp::create(b, ValueRange{b.cst(1, b.i32())});
  b.startBlock(begun);
  work();
  return fn;
}

func::FuncOp buildStepFunction(ModuleOp module, const Machine &machine,
                               const Primitives &primitives,
                               const Primitives *small, StringRef name,
                               const StepShape &shape, const Variant &variant,
                               const std::vector<Function> &functions) {
  return StepEmitter(module, machine, primitives, small, shape, variant,
                     functions)
      .build(name);
}

} // namespace coll::lowering
