//===- DeviceBlockLoop.cpp - A warp takes a block -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxe4m3 (lib/Support/BlockScale.h) on devices: each lane of a warp has one
// element of a block, whose largest is found with five shuffles. Several blocks
// are loaded before the first is used. Accesses are of neighbouring elements,
// whatever the alignment; the last block of a part may be short, and is one
// warp's.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/BlockEmitter.h"
#include "lib/Lowering/Machine.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace coll::lowering {
using namespace mlir;

constexpr unsigned warpLanes = 32;
static_assert(blockElements == warpLanes);

namespace {
class DeviceBlockEmitter : public BlockEmitter {
public:
  DeviceBlockEmitter(Builder &b, const StepShape &shape, const Variant &variant,
                     const std::vector<Function> &functions,
                     const TileOperands &operands, unsigned threads)
      : BlockEmitter(b, shape, variant, functions, operands),
        warps(threads / warpLanes) {}
  void run() override;

private:
  unsigned tileDistance(unsigned) override { return warps * blockElements; }
  Value largest(Value bits) override {
    for (unsigned bit = 1; bit < warpLanes; bit *= 2)
      bits = arith::MaxUIOp::create(b, bits, Ptx::shuffleXor(b, bits, bit));
    return bits;
  }
  Value loadPointer(Value address) override {
    return b.load(LLVM::LLVMPointerType::get(b.getContext(), 1), address, 8);
  }
  Value loadVector(Format format, Value address, unsigned lanes) override;
  void storeVector(Value vector, Value address, const PortShape &port,
                   unsigned bytes) override;
  Value keep(Value value) override {
    return hasElement ? b.select(hasElement, value, b.fcst(0, value.getType()))
                      : value;
  }
  void storeScale(Value code, Value address) override {
    auto ifOp = scf::IfOp::create(b, b.eq(lane, b.cst(0)), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    b.store(code, address);
  }
  void blocks(Value first, Value count, unsigned tiles);

  unsigned warps;
  Value lane;
  Value hasElement; // i1, in the short block
};
} // namespace

Value DeviceBlockEmitter::loadVector(Format format, Value address, unsigned) {
  Type type = math.storageType(format, 0);
  if (!hasElement)
    return b.load(type, address, bytesOf(format));
  auto ifOp = scf::IfOp::create(b, type, hasElement, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, Value(LLVM::ZeroOp::create(b, type)));
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, b.load(type, address, bytesOf(format)));
  return ifOp.getResult(0);
}

void DeviceBlockEmitter::storeVector(Value vector, Value address,
                                     const PortShape &, unsigned bytes) {
  if (!hasElement)
    return b.store(vector, address, bytes);
  auto ifOp = scf::IfOp::create(b, hasElement, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  b.store(vector, address, bytes);
}

/// `count` of this warp's blocks from number `first` on.
void DeviceBlockEmitter::blocks(Value first, Value count, unsigned tiles) {
  auto forOp = scf::ForOp::create(b, b.cst(0), count, b.cst(tiles));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value block = b.add(first, b.mul(forOp.getInductionVar(), b.cst(warps)));
  tile(b.add(b.mul(block, b.cst(blockElements)), lane), 0, tiles);
}

void DeviceBlockEmitter::run() {
  unsigned sources =
      shape.loopSources ? std::max(shape.numSources, 2u) : shape.sources.size();
  unsigned tiles = sources > 2 ? 2 : 4;
  Value thread = Ptx::threadId(b);
  Value warp = b.lshr(thread, b.cst(5));
  lane = b.and_(thread, b.cst(warpLanes - 1));
  Value whole = b.udiv(operands.elements, b.cst(blockElements));
  Value own = b.select(
      b.ult(warp, whole),
      b.udiv(b.add(b.sub(whole, warp), b.cst(warps - 1)), b.cst(warps)),
      b.cst(0));
  Value inGroups = b.and_(own, b.cst(~uint64_t(tiles - 1)));
  blocks(warp, inGroups, tiles);
  blocks(b.add(warp, b.mul(inGroups, b.cst(warps))), b.sub(own, inGroups), 1);

  Value begin = b.mul(whole, b.cst(blockElements));
  Value isShort = b.and_(b.ne(begin, operands.elements), b.eq(warp, b.cst(0)));
  auto ifOp = scf::IfOp::create(b, isShort, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  Value index = b.add(begin, lane);
  hasElement = b.ult(index, operands.elements);
  tile(index, 0, 1);
}

void emitDeviceBlockLoops(Builder &b, const StepShape &shape,
                          const Variant &variant,
                          const std::vector<Function> &functions,
                          const TileOperands &operands, unsigned threads) {
  DeviceBlockEmitter(b, shape, variant, functions, operands, threads).run();
}

} // namespace coll::lowering
