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
// data is on the critical path.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/StepBuilder.h"

#include "coll/abi.h"
#include "lib/Lowering/StepWords.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;

namespace {
class StepEmitter {
public:
  StepEmitter(ModuleOp module, const Machine &machine,
              const Primitives &primitives, const StepShape &shape,
              const Variant &variant, const std::vector<Function> &functions)
      : b(module.getContext()), module(module), machine(machine),
        primitives(primitives), shape(shape), variant(variant),
        functions(functions) {}
  func::FuncOp build(StringRef name);

private:
  /// Code for one port, written out or inside a loop over ports.
  using PortCode =
      llvm::function_ref<void(Value port, Value index, unsigned number)>;
  void locate();
  Value signature();
  void slices();
  void forEachPort(bool sinks, PortCode code);
  void forChannels(const PortShape &port, Value words,
                   llvm::function_ref<void()> code);
  Value pointerOf(const PortShape &shape, Value port, bool sink);
  Value memoryPointer(Value port, ElemType type);
  Value channelPointer(Value port, bool sink);
  Value endOf(Value port, bool sink);
  Value word(Value base, uint64_t index) { return b.field32(base, index * 4); }
  Value isChannel(Value port) {
    return b.eq(b.field(b.i32(), port, kPortKind * 4),
                b.cst(kPortChannel, b.i32()));
  }
  unsigned bytesOfType(ElemType type) {
    return variant.move ? 1 : bytesOf(resolve(type, variant.dtype));
  }
  unsigned elementBytes() { return variant.move ? 1 : bytesOf(variant.dtype); }
  Value operandOf(Value index);
  void countBytes(const TileOperands &tile);
  void chooseStores(TileOperands &tile);
  void noteSink(Value port, Value pointer);
  Value hasFlag(uint32_t flag) {
    Value flags = b.field(b.i32(), args, offsetof(coll_args, flags));
    return b.ne(b.and_(flags, b.cst(flag, b.i32())), b.cst(0, b.i32()));
  }
  void leaveIfNull(Value pointer);
  void releaseAll();
  void acquireAll(PortSet &ports, TileOperands &tile);
  bool canStream() const {
    return variant.isa != Isa::AArch64 && variant.isa != Isa::Cuda;
  }

  Builder b;
  ModuleOp module;
  const Machine &machine;
  const Primitives &primitives;
  const StepShape &shape;
  const Variant &variant;
  const std::vector<Function> &functions;
  func::FuncOp fn;
  Value args, inst, block, instance, words, round;
  Value begin, bytes,
      elemsOfPart; // of the piece, relative to its part; elements of a part
  Value sig;       // of the step's messages
  Value position, progress; // of the slice in the piece
  // What was stored to, or'ed together: addresses of memory sinks, 1 for those
  // in scratch, which is read again soon.
  Value sinkBits, sinkBitsCell; // the cell: where sinks are walked by a loop
  Block *leave = nullptr;
};
} // namespace

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
  begin = b.mul(first, b.cst(COLL_UNIT_BYTES));
  Value isLast = b.eq(b.add(first, pieceUnits),
                      b.field(b.i64(), size, offsetof(coll_size, units)));
  Value hasSome = b.ne(pieceUnits, b.cst(0));
  Value missing = b.sub(b.cst(COLL_UNIT_BYTES),
                        b.field32(size, offsetof(coll_size, tail_bytes)));
  bytes = b.sub(b.mul(pieceUnits, b.cst(COLL_UNIT_BYTES)),
                b.select(b.and_(isLast, hasSome), missing, b.cst(0)));
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

Value StepEmitter::channelPointer(Value port, bool sink) {
  func::FuncOp acquire = sink ? primitives.sendAcquire : primitives.recvAcquire;
  SmallVector<Value> operands = {inst, block, args, endOf(port, sink),
                                 progress};
  if (!sink)
    operands.push_back(sig);
  Value pointer = func::CallOp::create(b, acquire, operands).getResult(0);
  leaveIfNull(pointer);
  return pointer;
}

/// Scratch holds one piece, so it starts where the piece starts; buffers hold
/// whole parts.
Value StepEmitter::memoryPointer(Value port, ElemType type) {
  Value place = word(port, kPortA), part = word(port, kPortB);
  unsigned own = bytesOfType(type), element = elementBytes();
  auto scaled = [&](Value byteOffset) {
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
  scf::YieldOp::create(
      b, ValueRange{
             b.at(b.pointerField(buffer, offsetof(coll_buf, ptr)), offset)});
  return ifOp.getResult(0);
}

Value StepEmitter::pointerOf(const PortShape &p, Value port, bool sink) {
  if (p.place == PortShape::Channel)
    return channelPointer(port, sink);
  if (p.place == PortShape::Memory)
    return memoryPointer(port, p.type);
  if (p.place == PortShape::Scalar)
    return b.at(b.at(args, offsetof(coll_args, scalar)),
                b.mul(word(port, kPortA), b.cst(8)));
  Block *channel = b.newBlock(), *memory = b.newBlock(),
        *join = b.newBlock({b.ptr()});
  b.branchIf(isChannel(port), channel, memory);
  b.startBlock(channel);
  b.branch(join, channelPointer(port, sink));
  b.startBlock(memory);
  b.branch(join, memoryPointer(port, p.type));
  b.startBlock(join);
  return join->getArgument(0);
}

/// Walks the ports of one side: written out, or as a loop over the table.
void StepEmitter::forEachPort(bool sinks, PortCode code) {
  bool loop = sinks ? shape.loopSinks : shape.loopSources;
  Value numSources = word(words, kStepNumSources);
  Value first = b.at(words, uint64_t(kStepPorts) * 4);
  if (sinks)
    first = b.at(first, b.mul(numSources, b.cst(kPortWords * 4)));
  if (!loop) {
    unsigned count = sinks ? shape.sinks.size() : shape.sources.size();
    for (unsigned i = 0; i < count; ++i)
      code(b.at(first, uint64_t(i) * kPortWords * 4), {}, i);
    return;
  }
  Value count = sinks ? word(words, kStepNumSinks) : numSources;
  Block *head = b.newBlock({b.i64()}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{b.cst(0)});
  b.startBlock(head);
  Value index = head->getArgument(0);
  b.branchIf(b.ult(index, count), body, after);
  b.startBlock(body);
  code(b.at(first, b.mul(index, b.cst(kPortWords * 4))), index, 0);
  b.branch(head, ValueRange{b.add(index, b.cst(1))});
  b.startBlock(after);
}

/// Runs `code` if the port is a channel; decided here when the shape says so.
void StepEmitter::forChannels(const PortShape &p, Value port,
                              llvm::function_ref<void()> code) {
  if (p.place == PortShape::Memory || p.place == PortShape::Scalar)
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

void StepEmitter::releaseAll() {
  bool receives = llvm::any_of(shape.sources, [](const PortShape &p) {
    return p.place == PortShape::Channel;
  });
  Machine::Section section = machine.beginBehind(b);
  forEachPort(true, [&](Value port, Value, unsigned i) {
    forChannels(shape.sinks[i], port, [&] {
      func::CallOp::create(b, primitives.sendPublish,
                           ValueRange{args, endOf(port, true), sig});
      if (!receives && primitives.fetchToWrite)
        func::CallOp::create(b, primitives.fetchToWrite,
                             ValueRange{inst, args, endOf(port, true), bytes});
    });
  });
  forEachPort(false, [&](Value port, Value, unsigned i) {
    forChannels(shape.sources[i], port, [&] {
      func::CallOp::create(b, primitives.recvRelease,
                           ValueRange{args, endOf(port, false)});
    });
  });
  machine.endBehind(b, section);
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
      if (p.place != PortShape::Scalar)
        bytes = b.add(bytes, b.mul(tile.elements, b.cst(bytesOfType(p.type))));
    return count ? b.mul(bytes, count) : bytes;
  };
  Value read = sum(shape.sources, tile.numSources),
        written = sum(shape.sinks, tile.numSinks);
  func::CallOp::create(b, primitives.countBytes, ValueRange{read, written});
}

void StepEmitter::noteSink(Value port, Value pointer) {
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
  if (hasSlots)
    tile.streamSlots = hasFlag(COLL_ARGS_STREAM_SLOTS);
  if (sinkBitsCell)
    sinkBits = b.field(b.i64(), sinkBitsCell, 0);
  if (sinkBits)
    tile.streamAll =
        b.and_(hasFlag(shape.loopSinks ? COLL_ARGS_STREAM_SLOTS
                                       : COLL_ARGS_STREAM_OUT),
               b.eq(b.and_(sinkBits, b.cst(COLL_UNIT_BYTES - 1)), b.cst(0)));
}

/// A slot of every channel, and where memory lies.
void StepEmitter::acquireAll(PortSet &ports, TileOperands &tile) {
  Block *outer = leave;
  Machine::Section section = machine.beginOne(b, outer);
  leave = section.leave;
  auto keep = [&](bool sinks) {
    return [&, sinks](Value port, Value index, unsigned i) {
      const PortShape &of = sinks ? shape.sinks[i] : shape.sources[i];
      if (of.place == PortShape::Scalar)
        return;
      Value pointer = pointerOf(of, port, sinks);
      if (sinks && of.place != PortShape::Channel && canStream())
        noteSink(port, pointer);
      ports.put(sinks, i, index && !sinks ? operandOf(index) : index, pointer);
    };
  };
  forEachPort(false, keep(false));
  forEachPort(true, keep(true));
  machine.endOne(b, section, outer);
  leave = outer;
  ports.finish(tile);
  forEachPort(false, [&](Value port, Value, unsigned i) {
    if (shape.sources[i].place == PortShape::Scalar)
      tile.sources[i] = pointerOf(shape.sources[i], port, false);
  });
}

void StepEmitter::slices() {
  Value sliceBytes = b.mul(b.field32(args, offsetof(coll_args, slice_units)),
                           b.cst(COLL_UNIT_BYTES));
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
  tile.numRanks = b.field32(inst, offsetof(coll_inst, nranks));
  tile.factor =
      b.field(b.getF64Type(), args,
              offsetof(coll_args, scalar) + 8 * (COLL_MAX_SCALARS - 1));
  Value step = b.shl(word(words, kStepNumber), b.cst(40));

  Block *head = b.newBlock({b.i64(), b.i64()}), *done = b.newBlock();
  b.branch(head, ValueRange{b.cst(0), b.cst(0)});
  b.startBlock(head);
  position = head->getArgument(0);
  Value slice = head->getArgument(1);
  progress = b.or_(step, b.shl(b.and_(slice, b.cst(0xffffff)), b.cst(16)));
  Value current = b.umin(b.sub(bytes, position), sliceBytes);
  if (sinkBitsCell)
    b.setField(b.cst(0), sinkBitsCell, 0);
  acquireAll(*ports, tile);
  tile.elements = elementBytes() == 1
                      ? current
                      : b.lshr(current, b.cst(llvm::Log2_32(elementBytes())));
  if (!shape.token) {
    chooseStores(tile);
    machine.tileLoops(b, shape, variant, functions, tile);
  }
  if (variant.countBytes)
    countBytes(tile);
  releaseAll();
  Value next = b.add(position, current);
  b.branchIf(b.ult(next, bytes), head, ValueRange{next, b.add(slice, b.cst(1))},
             done, {});
  b.startBlock(done);
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
  Block *work = b.newBlock(), *nothing = b.newBlock();
  leave = b.newBlock();
  b.branchIf(some, work, nothing);
  b.startBlock(nothing);
  func::ReturnOp::create(b, ValueRange{b.cst(0, b.i32())});
  b.startBlock(leave);
  func::ReturnOp::create(b, ValueRange{b.cst(1, b.i32())});
  b.startBlock(work);
  slices();
  return fn;
}

func::FuncOp buildStepFunction(ModuleOp module, const Machine &machine,
                               const Primitives &primitives, StringRef name,
                               const StepShape &shape, const Variant &variant,
                               const std::vector<Function> &functions) {
  return StepEmitter(module, machine, primitives, shape, variant, functions)
      .build(name);
}

} // namespace coll::lowering
