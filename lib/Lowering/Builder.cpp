//===- Builder.cpp - Short words for emitting kernel IR -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/Builder.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

namespace coll::lowering {
using namespace mlir;

Value Builder::cst(uint64_t value, Type type) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  TypedAttr attr =
      IntegerAttr::get(element, llvm::APInt(element.getWidth(), value, false,
                                            /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

Value Builder::fcst(double value, Type type) {
  TypedAttr attr = FloatAttr::get(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

Value Builder::at(Value base, Value bytes) {
  return LLVM::GEPOp::create(*this, base.getType(), getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value Builder::at(Value base, uint64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(
      *this, base.getType(), getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value Builder::load(Type type, Value address, unsigned alignment) {
  return LLVM::LoadOp::create(*this, type, address, alignment);
}

void Builder::store(Value value, Value address, unsigned alignment) {
  LLVM::StoreOp::create(*this, value, address, alignment);
}

void Builder::streamStore(Value value, Value address, unsigned alignment) {
  LLVM::StoreOp::create(*this, value, address, alignment, false,
                        /*isNonTemporal=*/true);
}

void Builder::streamFence() {
  LLVM::CallIntrinsicOp::create(*this, getStringAttr("llvm.x86.sse.sfence"),
                                ValueRange{});
}

static unsigned naturalAlignment(Type type) {
  return isa<LLVM::LLVMPointerType>(type) ? 8
                                          : type.getIntOrFloatBitWidth() / 8;
}

static StringRef scopeOf(bool inDevice) {
  return inDevice ? StringRef("device") : StringRef();
}

Value Builder::field(Type type, Value base, uint64_t offset, Ordering order,
                     bool inDevice) {
  return LLVM::LoadOp::create(*this, type, at(base, offset),
                              naturalAlignment(type), false, false, false,
                              false, order, scopeOf(inDevice));
}

void Builder::setField(Value value, Value base, uint64_t offset, Ordering order,
                       bool inDevice) {
  LLVM::StoreOp::create(*this, value, at(base, offset),
                        naturalAlignment(value.getType()), false, false, false,
                        order, scopeOf(inDevice));
}

Value Builder::array(Type element, Value count) {
  return LLVM::AllocaOp::create(*this, ptr(), element, count, 8);
}

Block *Builder::newBlock(TypeRange arguments) {
  Block *block = new Block;
  region->push_back(block);
  for (Type type : arguments)
    block->addArgument(type, getLoc());
  return block;
}

void Builder::branch(Block *to, ValueRange arguments) {
  cf::BranchOp::create(*this, to, arguments);
}

void Builder::branchIf(Value condition, Block *yes, Block *no) {
  branchIf(condition, yes, {}, no, {});
}

void Builder::branchIf(Value condition, Block *yes, ValueRange yesArgs,
                       Block *no, ValueRange noArgs) {
  cf::CondBranchOp::create(*this, condition, yes, yesArgs, no, noArgs);
}

} // namespace coll::lowering
