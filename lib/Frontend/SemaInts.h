//===- SemaInts.h - Index arithmetic while it is written --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes arith and coll ops on `index`. Constants are folded, and an operation
// that stands already where it dominates is used again; both keep the IR short,
// and they let simple questions ("is this index in range?") be answered from
// the SSA values alone, so that most checks need not be written.
//
// Nothing is folded that would change an error: what overflows or divides by
// zero stays an operation, and is an error when it is executed.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAINTS_H
#define COLL_LIB_FRONTEND_SEMAINTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopedHashTable.h"

#include <optional>
#include <tuple>

namespace coll::sema {

enum class IntOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Shl,
  Shr,
  And,
  Or,
  Xor,
  Min,
  Max,
  // One operand.
  Abs,
  Log2,
  CeilLog2,
  Lsb,
  Popcount,
  // Conditions.
  Pow2,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
};

class Ints {
  using Key = std::tuple<unsigned, void *, void *>;
  using Memo = llvm::ScopedHashTable<Key, mlir::Value>;

public:
  explicit Ints(mlir::OpBuilder &builder) : builder(builder) {}

  /// Starts a schedule: constants are put at the front of `body`.
  void start(mlir::Block *body, mlir::Location location);

  /// Values made while it lives are not used again when it is gone. One for
  /// each region; they nest.
  class Scope {
  public:
    explicit Scope(Ints &ints) : scope(ints.memo) {}

  private:
    Memo::ScopeTy scope;
  };

  mlir::Value constant(int64_t value);
  mlir::Value boolean(bool value);

  /// `b` is null for operations of one operand.
  mlir::Value make(IntOp op, mlir::Location location, mlir::Value a,
                   mlir::Value b = {});
  mlir::Value add(mlir::Location location, mlir::Value a, mlir::Value b) {
    return make(IntOp::Add, location, a, b);
  }
  mlir::Value sub(mlir::Location location, mlir::Value a, mlir::Value b) {
    return make(IntOp::Sub, location, a, b);
  }
  mlir::Value mul(mlir::Location location, mlir::Value a, mlir::Value b) {
    return make(IntOp::Mul, location, a, b);
  }
  /// The quotient rounded up; `b` must be positive.
  mlir::Value ceilDiv(mlir::Location location, mlir::Value a, mlir::Value b);
  /// How many integers `lo .. hi step step` has; `step` null: 1.
  mlir::Value rangeSize(mlir::Location location, mlir::Value lo, mlir::Value hi,
                        mlir::Value step);
  mlir::Value both(mlir::Location location, mlir::Value a, mlir::Value b);
  mlir::Value either(mlir::Location location, mlir::Value a, mlir::Value b);
  mlir::Value negate(mlir::Location location, mlir::Value condition);
  mlir::Value select(mlir::Location location, mlir::Value condition,
                     mlir::Value a, mlir::Value b);

  /// For other ops on which only their operands have an influence: one that was
  /// remembered and may be used again, or null.
  static constexpr unsigned sliceTag = 64, listSizeTag = 65;
  mlir::Value recall(unsigned tag, mlir::Value a, mlir::Value b) {
    return memo.lookup(
        Key(tag, a.getAsOpaquePointer(), b.getAsOpaquePointer()));
  }
  void remember(unsigned tag, mlir::Value a, mlir::Value b,
                mlir::Value result) {
    memo.insert(Key(tag, a.getAsOpaquePointer(), b.getAsOpaquePointer()),
                result);
  }

  // What can be known. "False" and "nothing" mean: perhaps.
  static std::optional<int64_t> constantOf(mlir::Value value);
  static bool same(mlir::Value a, mlir::Value b);
  static std::optional<int64_t> lowerBound(mlir::Value value,
                                           unsigned depth = 0);
  static bool isAtMost(mlir::Value a, mlir::Value b, unsigned depth = 0);
  static bool isLess(mlir::Value a, mlir::Value b, unsigned depth = 0);
  /// 0 <= index < size.
  static bool isInRange(mlir::Value index, mlir::Value size);
  /// Executing the block cannot fail and changes nothing.
  static bool isHarmless(mlir::Block &block);

private:
  mlir::Value fold(IntOp op, mlir::Location location, mlir::Value a,
                   mlir::Value b);
  mlir::Value create(IntOp op, mlir::Location location, mlir::Value a,
                     mlir::Value b);
  mlir::Value constantOp(mlir::TypedAttr value);

  mlir::OpBuilder &builder;
  Memo memo;
  std::unique_ptr<Memo::ScopeTy> outermost;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  mlir::Block *body = nullptr;
  mlir::Operation *lastConstant = nullptr;
  std::optional<mlir::Location> bodyLocation;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAINTS_H
