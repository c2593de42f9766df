//===- Builder.h - Short words for emitting kernel IR -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel IR is func, cf, scf and arith around LLVM-dialect memory operations.
// This class holds the few idioms that occur everywhere: integer arithmetic on
// i64, loads and stores of fields of the ABI's structures, and branches between
// blocks.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_BUILDER_H
#define COLL_LIB_LOWERING_BUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace coll::lowering {

// coll::Value is a value of the chunk graph; down here a value is an SSA value.
using Value = mlir::Value;

class Builder : public mlir::ImplicitLocOpBuilder {
public:
  using Ordering = mlir::LLVM::AtomicOrdering;
  explicit Builder(mlir::MLIRContext *context)
      : ImplicitLocOpBuilder(mlir::UnknownLoc::get(context), context) {}

  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(getContext()); }
  mlir::Type i1() { return getI1Type(); }
  mlir::Type i16() { return getIntegerType(16); }
  mlir::Type i32() { return getI32Type(); }
  mlir::Type i64() { return getI64Type(); }

  Value cst(uint64_t value) { return cst(value, i64()); }
  /// Of an integer type or a vector of integers.
  Value cst(uint64_t value, mlir::Type type);
  /// Of a float type or a vector of floats.
  Value fcst(double value, mlir::Type type);
  Value add(Value a, Value b) {
    return mlir::arith::AddIOp::create(*this, a, b);
  }
  Value sub(Value a, Value b) {
    return mlir::arith::SubIOp::create(*this, a, b);
  }
  Value mul(Value a, Value b) {
    return mlir::arith::MulIOp::create(*this, a, b);
  }
  Value udiv(Value a, Value b) {
    return mlir::arith::DivUIOp::create(*this, a, b);
  }
  Value urem(Value a, Value b) {
    return mlir::arith::RemUIOp::create(*this, a, b);
  }
  Value and_(Value a, Value b) {
    return mlir::arith::AndIOp::create(*this, a, b);
  }
  Value or_(Value a, Value b) {
    return mlir::arith::OrIOp::create(*this, a, b);
  }
  Value xor_(Value a, Value b) {
    return mlir::arith::XOrIOp::create(*this, a, b);
  }
  Value shl(Value a, Value b) {
    return mlir::arith::ShLIOp::create(*this, a, b);
  }
  Value lshr(Value a, Value b) {
    return mlir::arith::ShRUIOp::create(*this, a, b);
  }
  Value umin(Value a, Value b) {
    return mlir::arith::MinUIOp::create(*this, a, b);
  }
  Value cmp(mlir::arith::CmpIPredicate p, Value a, Value b) {
    return mlir::arith::CmpIOp::create(*this, p, a, b);
  }
  Value eq(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::eq, a, b);
  }
  Value ne(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ne, a, b);
  }
  Value ult(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ult, a, b);
  }
  Value ugt(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::ugt, a, b);
  }
  Value uge(Value a, Value b) {
    return cmp(mlir::arith::CmpIPredicate::uge, a, b);
  }
  /// Whether any, none of these bits are set.
  Value hasAny(Value word, uint64_t bits) {
    Value found = and_(word, cst(bits, word.getType()));
    return ne(found, cst(0, word.getType()));
  }
  Value hasNone(Value word, uint64_t bits) {
    Value found = and_(word, cst(bits, word.getType()));
    return eq(found, cst(0, word.getType()));
  }
  Value select(Value c, Value a, Value b) {
    return mlir::arith::SelectOp::create(*this, c, a, b);
  }
  Value zext(Value v, mlir::Type t) {
    return v.getType() == t ? v
                            : Value(mlir::arith::ExtUIOp::create(*this, t, v));
  }
  Value trunc(Value v, mlir::Type t) {
    return v.getType() == t ? v
                            : Value(mlir::arith::TruncIOp::create(*this, t, v));
  }
  Value bitcast(Value v, mlir::Type t) {
    return v.getType() == t
               ? v
               : Value(mlir::arith::BitcastOp::create(*this, t, v));
  }

  /// Address `base + bytes`.
  Value at(Value base, Value bytes);
  Value at(Value base, uint64_t bytes);
  Value load(mlir::Type type, Value address, unsigned alignment = 1);
  void store(Value value, Value address, unsigned alignment = 1);
  /// Past the caches. Nothing waits for it but streamFence().
  void streamStore(Value value, Value address, unsigned alignment);
  void streamFence();
  /// A naturally aligned field of an ABI structure. `order` other than
  /// not_atomic makes it an atomic access, of all devices and hosts or of this
  /// device.
  Value field(mlir::Type type, Value base, uint64_t offset,
              Ordering order = Ordering::not_atomic, bool inDevice = false);
  void setField(Value value, Value base, uint64_t offset,
                Ordering order = Ordering::not_atomic, bool inDevice = false);
  /// A u32 field, widened to i64.
  Value field32(Value base, uint64_t offset) {
    return zext(field(i32(), base, offset), i64());
  }
  Value field16(Value base, uint64_t offset) {
    return zext(field(i16(), base, offset), i64());
  }
  Value pointerField(Value base, uint64_t offset) {
    return field(ptr(), base, offset);
  }
  /// An array in the entry block of the function being built.
  Value array(mlir::Type element, Value count);

  mlir::Block *newBlock(mlir::TypeRange arguments = {});
  /// Appends the block to the current function and continues there.
  void startBlock(mlir::Block *block) { setInsertionPointToEnd(block); }
  void branch(mlir::Block *to, mlir::ValueRange arguments = {});
  void branchIf(Value condition, mlir::Block *yes, mlir::Block *no);
  void branchIf(Value condition, mlir::Block *yes, mlir::ValueRange yesArgs,
                mlir::Block *no, mlir::ValueRange noArgs);

  mlir::Region *region = nullptr; // of the function being built
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_BUILDER_H
