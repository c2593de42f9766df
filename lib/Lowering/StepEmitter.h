//===- StepEmitter.h - Emits the function of one shape ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to StepBuilder.cpp, which walks slices, StepPorts.cpp, which knows
// where they are loaded from and stored to, and StepForms.cpp, which knows the
// forms of a step.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_STEPEMITTER_H
#define COLL_LIB_LOWERING_STEPEMITTER_H

#include "lib/Lowering/StepBuilder.h"

#include "coll/abi.h"
#include "lib/Lowering/StepWords.h"

namespace coll::lowering {

class StepEmitter {
public:
  StepEmitter(mlir::ModuleOp module, const Machine &machine,
              const Primitives &primitives, const Primitives *small,
              const StepShape &whole, const Variant &variant,
              const std::vector<Function> &functions)
      : b(module.getContext()), module(module), machine(machine),
        primitives(primitives), small(small), shape(whole), variant(variant),
        functions(functions) {
    original = shape.sinks;
    takeForm(false, false);
  }
  mlir::func::FuncOp build(llvm::StringRef name);

private:
  /// Code for one port, written out or inside a loop over ports.
  using PortCode =
      llvm::function_ref<void(Value port, Value index, unsigned number)>;
  void locate();
  Value signature();
  mlir::Block *beginSlice();
  void slices();
  void withoutDirect();
  void smallSlice();
  void flaggedSlices();
  Value flaggedTile(TileOperands &tile);
  mlir::Block *tellAndLeave();
  void cleanSlots(const TileOperands &tile);
  void putTag(PortSet &ports, const PortShape &p, Value port, Value index,
              unsigned number, bool sink, Value slot);
  void work();
  void takeForm(bool dropped, bool moved);
  void forms(bool moved);
  bool mayPutWhole() const;
  bool mayGetWhole() const;
  void putWhole();
  void getWhole();
  void forPuts(llvm::function_ref<void(Value end, Value offset)> code);
  void countMoved();
  Value bytesToMove();
  void awaitPuts();
  void leaveUnless0(Value rc);
  Value regionOffset(Value port);
  Value hasWindow();
  void forKept(Value port, llvm::function_ref<void()> code);
  Value isDirect(Value port, Port::Direct how) {
    return b.eq(b.and_(word(port, kPortC), b.cst(kPortDirect)),
                b.cst(how == Port::Put ? kPortPut : kPortGet));
  }
  Value ownBuffer(Value port) {
    return b.and_(b.lshr(word(port, kPortC), b.cst(8)), b.cst(0xff));
  }
  Value putPointer(Value port);
  void forIndices(Value count, llvm::function_ref<void(Value index)> code);
  unsigned sourcesAlike(unsigned first) const;
  void forEachPort(bool sinks, PortCode code);
  void forChannels(const PortShape &port, Value words,
                   llvm::function_ref<void()> code);
  Value pointerOf(const PortShape &shape, Value port, bool sink);
  Value memoryPointer(Value port, ElemType type);
  Value channelPointer(const PortShape &p, Value port, bool sink);
  Value bufferPointer(Value place, Value part);
  Value endOf(Value port, bool sink);
  Value word(Value base, uint64_t index) { return b.field32(base, index * 4); }
  Value isChannel(Value port) {
    return b.eq(b.field(b.i32(), port, kPortKind * 4),
                b.cst(kPortChannel, b.i32()));
  }
  unsigned bytesOfType(ElemType type) {
    if (variant.move || type == ElemType::MXE4M3)
      return 1; // of blocks, without their scales
    return bytesOf(resolve(type, variant.dtype));
  }
  unsigned elementBytes() { return variant.move ? 1 : bytesOf(variant.dtype); }
  Value operandOf(Value index);
  void countBytes(const TileOperands &tile);
  void chooseStores(TileOperands &tile);
  void noteSink(const PortShape &p, Value port, Value pointer);
  Value hasFlag(uint32_t flag) {
    Value flags = b.field(b.i32(), args, offsetof(coll_args, flags));
    return b.hasAny(flags, flag);
  }
  /// Whether sources, sinks may be one multimem instruction in this variant.
  bool mayGather() const;
  bool maySpread() const { return machine.hasMultimem() && shape.spreads; }
  void noteMulticast(PortSet &ports, Value port, bool sink);
  void beginMulticast(PortSet &ports);
  Value multicastHolds(PortSet &ports);
  void fenceMulticast(Value condition);
  void leaveIfNull(Value pointer);
  void chooseDirect(const PortShape &p, Value port, Port::Direct peers,
                    llvm::function_ref<void()> direct,
                    llvm::function_ref<void()> usual);
  void publish(const PortShape &p, Value port);
  void releaseAll(Value failed = {});
  void acquireAll(PortSet &ports, TileOperands &tile);
  /// Messages have their flags in the payload.
  bool isFlagged() const { return variant.protocol >= Protocol::Packets; }
  bool canStream() const {
    return !inSmall && variant.isa != Isa::AArch64 && variant.isa != Isa::Cuda;
  }

  Builder b;
  mlir::ModuleOp module;
  const Machine &machine;
  Primitives primitives;   // of the form being emitted
  const Primitives *small; // of small slots, null: there is no such form
  bool inSmall = false;
  StepShape shape;                 // sinks that have fallen away are not in it
  std::vector<PortShape> original; // all of them
  std::vector<unsigned> sinkNumbers; // which ports its sinks are, written out
  // Which sinks have fallen away: those of a buffer in a window; puts, since
  // the kernel has moved them.
  bool hasDropped = false, hasMoved = false;
  const Variant &variant;
  const std::vector<Function> &functions;
  mlir::func::FuncOp fn;
  Value args, inst, block, instance, words, round;
  Value unit; // what all is cut into, in bytes
  Value begin, bytes,
      elemsOfPart;  // of the piece, relative to its part; elements of a part
  Value shareBytes; // of all rounds' pieces
  Value sig;        // of the step's messages
  Value position, progress, sliceBytes, current; // of the slice in the piece
  // What was stored to, or'ed together: addresses of memory sinks, 1 for those
  // in scratch, which is read again soon.
  Value sinkBits, sinkBitsCell; // the cell: where sinks are walked by a loop
  Value keptCell;               // how many of them have not fallen away
  Value isMulticast;            // of this slice, if it may be
  Value putBits; // the same of the slots and windows of messages that are put
  Value putWindows; // i1: all of these are windows
  mlir::Block *leave = nullptr;
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_STEPEMITTER_H
