//===- BlockLoop.cpp - Steps with elements in blocks of one scale ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxe4m3 (lib/Support/BlockScale.h) on hosts: a vector is a block, and code
// generation cuts it into as many registers as it takes. The last block of a
// part may be short: its other elements are zero, which no scale depends on,
// and they are neither loaded nor stored, except as codes, which slots have
// room for.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/BlockEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace coll::lowering {
using namespace mlir;

namespace {
class HostBlockEmitter : public BlockEmitter {
public:
  using BlockEmitter::BlockEmitter;
  void run() override;

private:
  Value largest(Value bits) override {
    return vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, bits);
  }
  Value loadVector(Format format, Value address, unsigned lanes) override;
  void storeVector(Value vector, Value address, const PortShape &port,
                   unsigned bytes) override;
  Value keep(Value value) override;
  void storeScale(Value code, Value address) override {
    b.store(code, address);
  }
  Value mask; // of the short block, while it is emitted
};
} // namespace

Value HostBlockEmitter::loadVector(Format format, Value address,
                                   unsigned lanes) {
  Type type = math.storageType(format, lanes);
  if (!mask)
    return b.load(type, address);
  Value zero = LLVM::ZeroOp::create(b, type);
  return LLVM::MaskedLoadOp::create(b, type, address, mask, zero, 1);
}

void HostBlockEmitter::storeVector(Value vector, Value address,
                                   const PortShape &, unsigned) {
  if (mask)
    LLVM::MaskedStoreOp::create(b, vector, address, mask, 1);
  else
    b.store(vector, address);
}

Value HostBlockEmitter::keep(Value value) {
  return mask ? b.select(mask, value, b.fcst(0, value.getType())) : value;
}

void HostBlockEmitter::run() {
  Value whole = loop(b.cst(0), operands.elements, blockElements, 1);
  Value rest = b.sub(operands.elements, whole);
  auto ifOp = scf::IfOp::create(b, b.ne(rest, b.cst(0)), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  SmallVector<int32_t> numbers;
  for (unsigned i = 0; i < blockElements; ++i)
    numbers.push_back(int32_t(i));
  auto type = VectorType::get({blockElements}, b.i32());
  Value iota = arith::ConstantOp::create(
      b, type, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  mask = b.ult(iota, math.splat(b.trunc(rest, b.i32()), type));
  tile(whole, blockElements, 1);
}

void emitBlockLoops(Builder &b, const StepShape &shape, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands) {
  HostBlockEmitter(b, shape, variant, functions, operands).run();
}

} // namespace coll::lowering
