//===- HostMachine.cpp - A block is one thread ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything is the caller's own: sections are no code, pointers are values or
// lie on the stack, and the runtime marks the launch.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Machine.h"

#include "coll/abi.h"
#include "lib/Lowering/StepWords.h"

namespace coll::lowering {
using namespace mlir;

namespace {
class HostPorts : public PortSet {
public:
  HostPorts(Builder &b, const StepShape &shape, Value numSources,
            Value numSinks)
      : b(b), shape(shape) {
    sides[0].resize(shape.loopSources ? 0 : shape.sources.size());
    sides[1].resize(shape.loopSinks ? 0 : shape.sinks.size());
    if (numSources)
      arrays[0] = b.array(b.ptr(), numSources);
    if (numSinks)
      arrays[1] = b.array(b.ptr(), numSinks);
  }
  void put(bool sink, unsigned number, Value index, Value pointer) override {
    if (index)
      b.setField(pointer, b.at(arrays[sink], b.mul(index, b.cst(8))), 0);
    else
      sides[sink][number] = pointer;
  }
  Value cell(Cell which) override {
    if (!cells[which])
      cells[which] = b.array(b.i64(), b.cst(1));
    return cells[which];
  }
  void finish(TileOperands &tile) override {
    tile.sources = sides[0];
    tile.sinks = sides[1];
    tile.sourceArray = arrays[0];
    tile.sinkArray = arrays[1];
    for (unsigned i = 0; i < shape.numSources; ++i)
      tile.sources.push_back(b.load(b.ptr(), b.at(arrays[0], i * 8), 8));
  }

private:
  Builder &b;
  const StepShape &shape;
  SmallVector<Value> sides[2];
  Value arrays[2], cells[3];
};

class HostMachine : public Machine {
public:
  Section beginOne(Builder &, Block *leave) const override {
    return {leave, nullptr};
  }
  void endOne(Builder &, Section, Block *) const override {}
  Section beginBehind(Builder &) const override { return {}; }
  void endBehind(Builder &, Section) const override {}
  std::unique_ptr<PortSet> ports(Builder &b, const StepShape &shape,
                                 const Variant &, Value numSources,
                                 Value numSinks) const override {
    return std::make_unique<HostPorts>(b, shape, numSources, numSinks);
  }
  void tileLoops(Builder &b, const StepShape &shape, const Variant &variant,
                 const std::vector<Function> &functions,
                 const TileOperands &operands) const override {
    auto emit = shape.hasBlocks()      ? emitBlockLoops
                : operands.rowElements ? emitRowLoops
                                       : emitTileLoops;
    emit(b, shape, variant, functions, operands);
  }
  Value sizes(Builder &b, Value args) const override {
    return b.pointerField(args, offsetof(coll_args, sizes));
  }
  Value enter(Builder &b, Value, Value, Value, Block *,
              llvm::function_ref<void()> open) const override {
    open();
    return b.cst(0);
  }
  void exit(Builder &, Value, Value, Value) const override {}
  void addWaits(ModuleOp module, Primitives &p) const override {
    Builder b(module.getContext());
    Type ptr = b.ptr(), i32 = b.i32(), i64 = b.i64();
    p.wait = declareFunction(b, module, "coll_kernel_wait",
                             {ptr, i32, ptr, i64, i32, i64}, {i32});
    p.mismatch = declareFunction(b, module, "coll_kernel_mismatch",
                                 {ptr, i32, i64, i32, i32}, {i32});
    p.window = declareFunction(b, module, "coll_kernel_window",
                               {ptr, i32, ptr, i64, i64, i64, i64, i32}, {ptr});
    p.remote = declareFunction(b, module, "coll_kernel_remote",
                               {ptr, i32, ptr, ptr, i64, i32}, {i32});
    p.move = declareFunction(b, module, "coll_kernel_move",
                             {ptr, i32, ptr, i64, i64, i64, ptr, i64}, {i32});
    p.countBytes =
        declareFunction(b, module, "coll_count_bytes", {i64, i64}, {});
  }
};
} // namespace

std::unique_ptr<Machine> makeHostMachine() {
  return std::make_unique<HostMachine>();
}

} // namespace coll::lowering
