//===- DeviceMachine.cpp - A block is many threads ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A section of one thread:
//
//   if thread == 0: { ...; on failure: failed = true }
//   barrier.red.or(failed): all go on, or all leave
//
// The barrier is also what makes thread 0's acquire hold for all: what was
// released to it happens before whatever any thread of the block does next. In
// the other direction a section behind the block's work begins with a barrier,
// so thread 0's release covers the stores of all threads (PTX's causality order
// is cumulative over barriers).
//
// Pointers of a slice go from thread 0 to the others through shared memory.
// They are written only between the barrier that ends a slice and the one that
// begins the next, so one set of cells is enough.
//
// What no host is there to reset between the launches of a graph counts on:
// rounds are numbered over all launches (coll_device_signal).
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/Multimem.h"

#include "coll/abi.h"
#include "coll/coll.h"

namespace coll::lowering {
using namespace mlir;
using Ordering = LLVM::AtomicOrdering;

constexpr unsigned sharedSpace = 3, globalSpace = 1;
constexpr llvm::StringRef cellsName = "coll_ports", rowsName = "coll_rows";

static Type pointerIn(Builder &b, unsigned space) {
  return LLVM::LLVMPointerType::get(b.getContext(), space);
}

Type globalPointer(Builder &b) { return pointerIn(b, globalSpace); }

Value sharedCell(Builder &b, unsigned number) {
  Value cells =
      LLVM::AddressOfOp::create(b, pointerIn(b, sharedSpace), cellsName);
  return b.at(cells, uint64_t(number) * 8);
}

static Value intrinsic(Builder &b, llvm::StringRef name, Type result,
                       ValueRange operands) {
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name),
                                       operands)
      .getResult(0);
}

Value Ptx::threadId(Builder &b) {
  return b.zext(
      intrinsic(b, "llvm.nvvm.read.ptx.sreg.tid.x", b.i32(), ValueRange{}),
      b.i64());
}

Value Ptx::globalTimer(Builder &b) {
  return intrinsic(b, "llvm.nvvm.read.ptx.sreg.globaltimer", b.i64(),
                   ValueRange{});
}

void Ptx::sleep(Builder &b, Value ns) {
  intrinsic(b, "llvm.nvvm.nanosleep", {}, ValueRange{ns});
}

void Ptx::barrier(Builder &b) {
  intrinsic(b, "llvm.nvvm.barrier.cta.sync.aligned.all", {},
            ValueRange{b.cst(0, b.i32())});
}

Value Ptx::barrierOr(Builder &b, Value flag) {
  return intrinsic(b, "llvm.nvvm.barrier.cta.red.or.aligned.all", b.i1(),
                   ValueRange{b.cst(0, b.i32()), flag});
}

Value Ptx::shuffleXor(Builder &b, Value word, unsigned bit) {
  constexpr uint64_t allLanes = 0xffffffff, clamp = 31;
  return intrinsic(b, "llvm.nvvm.shfl.sync.bfly.i32", b.i32(),
                   ValueRange{b.cst(allLanes, b.i32()), word,
                              b.cst(bit, b.i32()), b.cst(clamp, b.i32())});
}

void Ptx::warpBarrier(Builder &b) {
  intrinsic(b, "llvm.nvvm.bar.warp.sync", {},
            ValueRange{b.cst(0xffffffff, b.i32())});
}

Value Ptx::warpOr(Builder &b, Value flag) {
  return intrinsic(b, "llvm.nvvm.vote.any.sync", b.i1(),
                   ValueRange{b.cst(0xffffffff, b.i32()), flag});
}

void Ptx::aliasFence(Builder &b) {
  intrinsic(b, "llvm.nvvm.fence.proxy.alias", {}, ValueRange{});
}

namespace {
/// Cell 0: bits of pointers; then those of PortSet; then the sources, then the
/// sinks; then the tags of both.
class DevicePorts : public PortSet {
public:
  DevicePorts(Builder &b, const StepShape &shape, const Variant &variant,
              Value cells, const DeviceShape &device)
      : b(b), shape(shape), variant(variant), cells(cells),
        firstSink(kSharedCells + device.sources),
        firstTag(firstSink + device.sinks) {}
  void begin() override { b.store(b.cst(0), cells, 8); }
  void put(bool sink, unsigned number, Value index, Value pointer) override;
  void putTag(bool sink, unsigned number, Value index, Value tag) override;
  Value cell(Cell which) override { return b.at(cells, 8 * (1 + which)); }
  void finish(TileOperands &tile) override;

private:
  Value side(bool sink) {
    return b.at(cells, 8 * (sink ? firstSink : kSharedCells));
  }
  Value tagSide(bool sink) {
    return b.at(cells, 8 * (firstTag + (sink ? firstSink - kSharedCells : 0)));
  }
  void note(Value bits) {
    b.store(b.or_(bits, b.load(b.i64(), cells, 8)), cells, 8);
  }
  Value loadPointer(Value address) {
    return b.load(pointerIn(b, globalSpace), address, 8);
  }

  Builder &b;
  const StepShape &shape;
  const Variant &variant;
  Value cells;
  unsigned firstSink, firstTag;
  bool hasTags = false;
};
} // namespace

/// Bits that an address must not have where `lanes` elements are one access.
static uint64_t vectorMask(const PortShape &port, const Variant &variant) {
  if (variant.move)
    return COLL_UNIT_BYTES - 1;
  if (port.type == ElemType::MXE4M3) // loaded one by one
    return 0;
  unsigned bytes = COLL_UNIT_BYTES / bytesOf(variant.dtype) *
                   bytesOf(resolve(port.type, variant.dtype));
  return std::min<unsigned>(bytes, COLL_UNIT_BYTES) - 1;
}

void DevicePorts::put(bool sink, unsigned number, Value index, Value pointer) {
  const PortShape &port = sink ? shape.sinks[number] : shape.sources[number];
  note(b.and_(LLVM::PtrToIntOp::create(b, b.i64(), pointer),
              b.cst(vectorMask(port, variant))));
  Value address = index ? b.at(side(sink), b.mul(index, b.cst(8)))
                        : b.at(side(sink), uint64_t(number) * 8);
  Value global =
      LLVM::AddrSpaceCastOp::create(b, pointerIn(b, globalSpace), pointer);
  b.store(global, address, 8);
}

void DevicePorts::putTag(bool sink, unsigned number, Value index, Value tag) {
  hasTags = true;
  if (sink && variant.protocol == Protocol::Packets)
    note(b.and_(tag, b.cst(kTagClean)));
  Value offset = index ? b.mul(index, b.cst(8)) : b.cst(uint64_t(number) * 8);
  b.store(tag, b.at(tagSide(sink), offset), 8);
}

void DevicePorts::finish(TileOperands &tile) {
  auto fill = [&](bool sink, bool loops, unsigned count, unsigned counted,
                  const std::vector<PortShape> &ports,
                  llvm::SmallVector<Value> &pointers, Value &array) {
    if (loops)
      array = side(sink);
    for (unsigned i = 0; i < (loops ? counted : count); ++i) {
      bool isScalar = !loops && ports[i].place == PortShape::Scalar;
      pointers.push_back(
          isScalar ? Value() : loadPointer(b.at(side(sink), uint64_t(i) * 8)));
    }
  };
  fill(false, shape.loopSources, shape.sources.size(), shape.numSources,
       shape.sources, tile.sources, tile.sourceArray);
  fill(true, shape.loopSinks, shape.sinks.size(), 0, shape.sinks, tile.sinks,
       tile.sinkArray);
  tile.pointerBits = b.load(b.i64(), cells, 8);
  if (!hasTags)
    return;
  tile.sourceTags = tagSide(false);
  tile.sinkTags = tagSide(true);
}

namespace {
class DeviceMachine : public Machine {
public:
  DeviceMachine(ModuleOp module, const DeviceShape &shape);
  Section beginOne(Builder &b, Block *leave) const override;
  void endOne(Builder &b, Section section, Block *leave) const override;
  Section beginBehind(Builder &b) const override;
  void endBehind(Builder &b, Section section) const override;
  Section beginVoted(Builder &b, Value failed, Block *leave) const override;
  std::unique_ptr<PortSet> ports(Builder &b, const StepShape &step,
                                 const Variant &variant, Value,
                                 Value) const override;
  void tileLoops(Builder &b, const StepShape &step, const Variant &variant,
                 const std::vector<Function> &functions,
                 const TileOperands &operands) const override {
    if (step.hasBlocks())
      return emitDeviceBlockLoops(b, step, variant, functions, operands,
                                  shape.threads);
    if (!operands.rowElements)
      return emitDeviceTileLoops(b, step, variant, functions, operands,
                                 shape.threads);
    Value cells =
        LLVM::AddressOfOp::create(b, pointerIn(b, sharedSpace), rowsName);
    emitDeviceRowLoops(b, step, variant, functions, operands, shape.threads,
                       cells);
  }
  PacketShape packets() const override {
    return {shape.packetBits, shape.threads};
  }
  Value packetLoops(Builder &b, const StepShape &step, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands) const override {
    return emitPacketLoops(b, step, variant, functions, operands,
                           shape.threads);
  }
  Value lineLoops(Builder &b, const StepShape &step, const Variant &variant,
                  const std::vector<Function> &functions,
                  const TileOperands &operands) const override {
    return emitLineLoops(b, step, variant, functions, operands, shape.threads);
  }
  Value sizes(Builder &b, Value args) const override;
  Value enter(Builder &b, Value args, Value inst, Value block, Block *leave,
              llvm::function_ref<void()> open) const override;
  void exit(Builder &b, Value inst, Value block, Value rounds) const override;
  bool signalsWithinDevice() const override { return true; }
  bool indexesPorts() const override { return true; }
  bool hasMultimem() const override { return shape.chip >= kMultimemChip; }
  void addWaits(ModuleOp module, Primitives &p) const override {
    addDeviceWaits(module, p);
  }

private:
  Value signalOf(Builder &b, Value inst, Value block) const {
    return b.at(
        b.pointerField(inst, offsetof(coll_inst, signals)),
        b.mul(b.zext(block, b.i64()), b.cst(sizeof(coll_device_signal))));
  }
  Value isThreadZero(Builder &b) const {
    return b.eq(Ptx::threadId(b), b.cst(0));
  }
  DeviceShape shape;
};
} // namespace

DeviceMachine::DeviceMachine(ModuleOp module, const DeviceShape &shape)
    : shape(shape) {
  Builder b(module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto addCells = [&](llvm::StringRef name, unsigned count) {
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.i64(), count),
                           /*isConstant=*/false, LLVM::Linkage::Internal, name,
                           Attribute(), /*alignment=*/16, sharedSpace);
  };
  addCells(cellsName, shape.cells());
  if (shape.rowCells)
    addCells(rowsName, shape.rowCells);
}

Machine::Section DeviceMachine::beginOne(Builder &b, Block *) const {
  Block *elected = b.newBlock(), *fail = b.newBlock(),
        *join = b.newBlock({b.i1()});
  Value no = b.cst(0, b.i1()), yes = b.cst(1, b.i1());
  b.branchIf(isThreadZero(b), elected, {}, join, ValueRange{no});
  b.startBlock(fail);
  b.branch(join, ValueRange{yes});
  b.startBlock(elected);
  return {fail, join};
}

void DeviceMachine::endOne(Builder &b, Section section, Block *leave) const {
  b.branch(section.join, ValueRange{b.cst(0, b.i1())});
  b.startBlock(section.join);
  Block *go = b.newBlock();
  b.branchIf(Ptx::barrierOr(b, section.join->getArgument(0)), leave, go);
  b.startBlock(go);
}

Machine::Section DeviceMachine::beginBehind(Builder &b) const {
  Block *elected = b.newBlock(), *join = b.newBlock();
  Ptx::barrier(b);
  b.branchIf(isThreadZero(b), elected, join);
  b.startBlock(elected);
  return {nullptr, join};
}

Machine::Section DeviceMachine::beginVoted(Builder &b, Value failed,
                                           Block *leave) const {
  Block *elected = b.newBlock(), *join = b.newBlock(), *go = b.newBlock();
  b.branchIf(Ptx::barrierOr(b, failed), leave, go);
  b.startBlock(go);
  b.branchIf(isThreadZero(b), elected, join);
  b.startBlock(elected);
  return {nullptr, join};
}

void DeviceMachine::endBehind(Builder &b, Section section) const {
  b.branch(section.join);
  b.startBlock(section.join);
}

std::unique_ptr<PortSet> DeviceMachine::ports(Builder &b, const StepShape &step,
                                              const Variant &variant, Value,
                                              Value) const {
  return std::make_unique<DevicePorts>(b, step, variant, sharedCell(b, 0),
                                       shape);
}

/// Behind the buffers in the parameter itself, or in device memory.
Value DeviceMachine::sizes(Builder &b, Value args) const {
  if (shape.sizesOffset)
    return b.at(args, shape.sizesOffset);
  return b.pointerField(args, offsetof(coll_args, sizes));
}

/// Refuses to run beside another launch of the same plan: their sequence
/// numbers are the same words.
Value DeviceMachine::enter(Builder &b, Value args, Value inst, Value block,
                           Block *leave,
                           llvm::function_ref<void()> open) const {
  Value line = signalOf(b, inst, block);
  Section section = beginOne(b, leave);
  Block *overlap = b.newBlock(), *alone = b.newBlock();
  auto exchange = LLVM::AtomicCmpXchgOp::create(
      b, b.at(line, offsetof(coll_device_signal, entered)), b.cst(0, b.i32()),
      b.cst(1, b.i32()), Ordering::acq_rel, Ordering::acquire, "device", 4);
  Value good = LLVM::ExtractValueOp::create(b, exchange, ArrayRef<int64_t>{1});
  b.branchIf(good, alone, overlap);
  b.startBlock(overlap);
  Value report = b.at(b.pointerField(inst, offsetof(coll_inst, blocks)),
                      b.mul(b.zext(block, b.i64()), b.cst(sizeof(coll_block))));
  b.setField(b.cst(COLL_OVERLAP, b.i32()), report, offsetof(coll_block, result),
             Ordering::monotonic);
  b.branch(section.leave);
  b.startBlock(alone);
  Value launch = b.lshr(b.field(b.i32(), args, offsetof(coll_args, flags)),
                        b.cst(COLL_ARGS_LAUNCH_SHIFT, b.i32()));
  b.setField(launch, line, offsetof(coll_device_signal, launch));
  open();
  endOne(b, section, leave);
  return b.field(b.i64(), line, offsetof(coll_device_signal, rounds));
}

void DeviceMachine::exit(Builder &b, Value inst, Value block,
                         Value rounds) const {
  Value line = signalOf(b, inst, block);
  auto add = [&](uint64_t offset, Value more) {
    b.setField(b.add(b.field(b.i64(), line, offset), more), line, offset);
  };
  add(offsetof(coll_device_signal, rounds), rounds);
  add(offsetof(coll_device_signal, launches), b.cst(1));
  b.setField(b.cst(0, b.i32()), line, offsetof(coll_device_signal, entered),
             Ordering::release, /*inDevice=*/true);
}

std::unique_ptr<Machine> makeDeviceMachine(ModuleOp module,
                                           const DeviceShape &shape) {
  return std::make_unique<DeviceMachine>(module, shape);
}

} // namespace coll::lowering
