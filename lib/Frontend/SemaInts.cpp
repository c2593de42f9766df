//===- SemaInts.cpp - Index arithmetic while it is written ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folding computes what elaboration would compute, by the same functions, and
// gives up where elaboration would report an error.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaInts.h"

#include "dialect/CollDialect.h"
#include "lib/Support/Integers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace coll::sema {

void Ints::start(Block *newBody, Location location) {
  constants.clear();
  outermost.reset();
  outermost = std::make_unique<Memo::ScopeTy>(memo);
  body = newBody;
  lastConstant = nullptr;
  bodyLocation = location;
}

Value Ints::constantOp(TypedAttr value) {
  Value &known = constants[value];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  if (lastConstant)
    builder.setInsertionPointAfter(lastConstant);
  else
    builder.setInsertionPointToStart(body);
  auto op = arith::ConstantOp::create(builder, *bodyLocation, value);
  lastConstant = op;
  return known = op.getResult();
}

Value Ints::constant(int64_t value) {
  return constantOp(builder.getIndexAttr(value));
}
Value Ints::boolean(bool value) {
  return constantOp(builder.getBoolAttr(value));
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The result of an operation on constants; nothing if it is an error.
static std::optional<int64_t> computeBinary(IntOp op, int64_t a, int64_t b) {
  using namespace integers;
  int64_t z;
  auto ifRight = [&](bool isRight) {
    return isRight ? std::optional(z) : std::nullopt;
  };
  switch (op) {
  case IntOp::Add:
    return ifRight(add(a, b, z));
  case IntOp::Sub:
    return ifRight(sub(a, b, z));
  case IntOp::Mul:
    return ifRight(mul(a, b, z));
  case IntOp::Div:
    return ifRight(div(a, b, z));
  case IntOp::Mod:
    return ifRight(mod(a, b, z));
  case IntOp::Shl:
    return ifRight(shl(a, b, z));
  case IntOp::Shr:
    return ifRight(shr(a, b, z));
  case IntOp::And:
    return a & b;
  case IntOp::Or:
    return a | b;
  case IntOp::Xor:
    return a ^ b;
  case IntOp::Min:
    return std::min(a, b);
  case IntOp::Max:
    return std::max(a, b);
  default:
    return std::nullopt;
  }
}

static std::optional<int64_t> computeUnary(IntOp op, int64_t a) {
  using namespace integers;
  int64_t z;
  auto ifRight = [&](bool isRight) {
    return isRight ? std::optional(z) : std::nullopt;
  };
  switch (op) {
  case IntOp::Abs:
    return ifRight(integers::abs(a, z));
  case IntOp::Log2:
    return ifRight(integers::log2(a, z));
  case IntOp::CeilLog2:
    return ifRight(ceilLog2(a, z));
  case IntOp::Lsb:
    return ifRight(lsb(a, z));
  case IntOp::Popcount:
    return ifRight(integers::popcount(a, z));
  default:
    return std::nullopt;
  }
}

Value Ints::fold(IntOp op, Location location, Value a, Value b) {
  std::optional<int64_t> ca = constantOf(a), cb;
  if (b)
    cb = constantOf(b);
  if (ca && (!b || cb))
    if (std::optional<int64_t> result =
            b ? computeBinary(op, *ca, *cb) : computeUnary(op, *ca))
      return constant(*result);
  switch (op) {
  case IntOp::Add:
    return cb == 0 ? a : ca == 0 ? b : Value();
  case IntOp::Sub:
    if (same(a, b))
      return constant(0);
    // (lo + d) - lo: the sum stands there already, and with it its overflow.
    if (auto sum = a.getDefiningOp<arith::AddIOp>()) {
      if (same(sum.getLhs(), b))
        return sum.getRhs();
      if (same(sum.getRhs(), b))
        return sum.getLhs();
    }
    return cb == 0 ? a : Value();
  case IntOp::Mul:
    if (ca == 0 || cb == 0)
      return constant(0);
    return cb == 1 ? a : ca == 1 ? b : Value();
  case IntOp::Div:
    return cb == 1 ? a : Value();
  case IntOp::Mod:
    return cb == 1 ? constant(0) : Value();
  case IntOp::Shl:
  case IntOp::Shr:
    return cb == 0 ? a : Value();
  case IntOp::Min:
    return isAtMost(a, b) ? a : isAtMost(b, a) ? b : Value();
  case IntOp::Max:
    return isAtMost(b, a) ? a : isAtMost(a, b) ? b : Value();
  case IntOp::Abs:
    return lowerBound(a).value_or(-1) >= 0 ? a : Value();
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value Ints::create(IntOp op, Location l, Value a, Value b) {
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(builder, l, predicate, a, b);
  };
  switch (op) {
  case IntOp::Add:
    return arith::AddIOp::create(builder, l, a, b);
  case IntOp::Sub:
    return arith::SubIOp::create(builder, l, a, b);
  case IntOp::Mul:
    return arith::MulIOp::create(builder, l, a, b);
  case IntOp::Div:
    return DivOp::create(builder, l, builder.getIndexType(), a, b);
  case IntOp::Mod:
    return ModOp::create(builder, l, builder.getIndexType(), a, b);
  case IntOp::Shl:
    return ShlOp::create(builder, l, builder.getIndexType(), a, b);
  case IntOp::Shr:
    return ShrOp::create(builder, l, builder.getIndexType(), a, b);
  case IntOp::And:
    return arith::AndIOp::create(builder, l, a, b);
  case IntOp::Or:
    return arith::OrIOp::create(builder, l, a, b);
  case IntOp::Xor:
    return arith::XOrIOp::create(builder, l, a, b);
  case IntOp::Min:
    return arith::MinSIOp::create(builder, l, a, b);
  case IntOp::Max:
    return arith::MaxSIOp::create(builder, l, a, b);
  case IntOp::Abs:
    return AbsOp::create(builder, l, builder.getIndexType(), a);
  case IntOp::Log2:
    return Log2Op::create(builder, l, builder.getIndexType(), a);
  case IntOp::CeilLog2:
    return CeilLog2Op::create(builder, l, builder.getIndexType(), a);
  case IntOp::Lsb:
    return LsbOp::create(builder, l, builder.getIndexType(), a);
  case IntOp::Popcount:
    return PopcountOp::create(builder, l, builder.getIndexType(), a);
  case IntOp::Pow2:
    return Pow2Op::create(builder, l, builder.getI1Type(), a);
  case IntOp::Eq:
    return compare(arith::CmpIPredicate::eq);
  case IntOp::Ne:
    return compare(arith::CmpIPredicate::ne);
  case IntOp::Lt:
    return compare(arith::CmpIPredicate::slt);
  case IntOp::Le:
    return compare(arith::CmpIPredicate::sle);
  case IntOp::Gt:
    return compare(arith::CmpIPredicate::sgt);
  case IntOp::Ge:
    return compare(arith::CmpIPredicate::sge);
  }
  llvm_unreachable("all operations are listed");
}

Value Ints::make(IntOp op, Location location, Value a, Value b) {
  if (Value folded = fold(op, location, a, b))
    return folded;
  Key key(unsigned(op), a.getAsOpaquePointer(), b.getAsOpaquePointer());
  if (Value known = memo.lookup(key))
    return known;
  Value made = create(op, location, a, b);
  memo.insert(key, made);
  return made;
}

Value Ints::ceilDiv(Location l, Value a, Value b) {
  if (constantOf(b) == 1)
    return a;
  // (a + b - 1) / b could overflow where the quotient does not.
  Value rest = make(IntOp::Min, l, make(IntOp::Mod, l, a, b), constant(1));
  return add(l, make(IntOp::Div, l, a, b), rest);
}

Value Ints::rangeSize(Location l, Value lo, Value hi, Value step) {
  Value length = make(IntOp::Max, l, sub(l, hi, lo), constant(0));
  return step ? ceilDiv(l, length, step) : length;
}

Value Ints::both(Location l, Value a, Value b) {
  return same(a, b) ? a : make(IntOp::And, l, a, b);
}
Value Ints::either(Location l, Value a, Value b) {
  return same(a, b) ? a : make(IntOp::Or, l, a, b);
}
Value Ints::negate(Location l, Value condition) {
  return make(IntOp::Xor, l, condition, boolean(true));
}
Value Ints::select(Location l, Value condition, Value a, Value b) {
  if (same(a, b))
    return a;
  if (condition.getType() == a.getType()) {
    if (same(b, boolean(false)))
      return both(l, condition, a);
    if (same(a, boolean(true)))
      return either(l, condition, b);
  }
  return arith::SelectOp::create(builder, l, condition, a, b);
}

//===----------------------------------------------------------------------===//
// What can be known
//===----------------------------------------------------------------------===//

/// Answers follow operands this far.
static constexpr unsigned maxProofDepth = 5;

std::optional<int64_t> Ints::constantOf(Value value) {
  auto op = value.getDefiningOp<arith::ConstantOp>();
  if (!op || !isa<IndexType>(value.getType()))
    return std::nullopt;
  return cast<IntegerAttr>(op.getValue()).getInt();
}

bool Ints::same(Value a, Value b) {
  return a == b; // constants are unique
}

/// The loop whose variable this is, or null.
static scf::ForOp loopOf(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  if (!arg)
    return {};
  auto loop = dyn_cast_or_null<scf::ForOp>(arg.getOwner()->getParentOp());
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

std::optional<int64_t> Ints::lowerBound(Value v, unsigned depth) {
  using Bound = std::optional<int64_t>;
  if (Bound c = constantOf(v))
    return c;
  if (depth > maxProofDepth)
    return std::nullopt;
  auto of = [&](Value operand) { return lowerBound(operand, depth + 1); };
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    if (scf::ForOp loop = loopOf(v))
      return of(loop.getLowerBound());
    if (isa_and_nonnull<ScheduleOp>(arg.getOwner()->getParentOp()))
      return 1; // a dimension of the rank space
    return std::nullopt;
  }
  Operation *op = v.getDefiningOp();
  Bound a, b;
  if (op->getNumOperands() >= 1 && op->getOperand(0).getType().isIndex())
    a = of(op->getOperand(0));
  if (op->getNumOperands() >= 2 && op->getOperand(1).getType().isIndex())
    b = of(op->getOperand(1));
  bool positive = a && b && *a >= 0 && *b >= 0;
  if (isa<ModOp, Log2Op, CeilLog2Op, PopcountOp, LsbOp, AbsOp, ListSizeOp,
          DimOp>(op))
    return 0;
  if (isa<arith::AddIOp>(op) && a && b)
    return computeBinary(IntOp::Add, *a, *b);
  if (isa<arith::SubIOp>(op)) {
    if (Bound c = constantOf(op->getOperand(1)); c && a)
      return computeBinary(IntOp::Sub, *a, *c);
    if (isLess(op->getOperand(1), op->getOperand(0), depth + 1))
      return 1;
    if (isAtMost(op->getOperand(1), op->getOperand(0), depth + 1))
      return 0;
    // (size - 1) - index
    auto last = op->getOperand(0).getDefiningOp<arith::SubIOp>();
    if (last && constantOf(last.getRhs()) == 1 &&
        isLess(op->getOperand(1), last.getLhs(), depth + 1))
      return 0;
    return std::nullopt;
  }
  if (isa<arith::MulIOp>(op) && positive)
    return computeBinary(IntOp::Mul, *a, *b);
  if (isa<ShlOp>(op) && a && *a >= 0)
    return a;
  if (isa<DivOp, ShrOp>(op) && a && *a >= 0)
    return 0;
  if (isa<arith::AndIOp>(op) && ((a && *a >= 0) || (b && *b >= 0)))
    return 0;
  if (isa<arith::OrIOp, arith::XOrIOp>(op) && positive)
    return 0;
  if (isa<arith::MaxSIOp>(op))
    return a && b ? std::max(*a, *b) : a ? a : b;
  if (isa<arith::MinSIOp>(op) && a && b)
    return std::min(*a, *b);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    a = of(select.getTrueValue());
    b = of(select.getFalseValue());
    return a && b ? Bound(std::min(*a, *b)) : std::nullopt;
  }
  return std::nullopt;
}

bool Ints::isAtMost(Value a, Value b, unsigned depth) {
  if (same(a, b))
    return true;
  std::optional<int64_t> ca = constantOf(a);
  if (ca) {
    std::optional<int64_t> lb = lowerBound(b, depth + 1);
    if (lb && *ca <= *lb)
      return true;
  }
  if (depth > maxProofDepth)
    return false;
  // a = x - c, c >= 0; and b = x + c.
  if (auto difference = a.getDefiningOp<arith::SubIOp>())
    if (lowerBound(difference.getRhs(), depth + 1).value_or(-1) >= 0 &&
        isAtMost(difference.getLhs(), b, depth + 1))
      return true;
  if (auto minimum = a.getDefiningOp<arith::MinSIOp>())
    return isAtMost(minimum.getLhs(), b, depth + 1) ||
           isAtMost(minimum.getRhs(), b, depth + 1);
  return isLess(a, b, depth + 1);
}

bool Ints::isLess(Value a, Value b, unsigned depth) {
  if (depth > maxProofDepth)
    return false;
  if (std::optional<int64_t> ca = constantOf(a)) {
    std::optional<int64_t> lb = lowerBound(b, depth + 1);
    return lb && *ca < *lb;
  }
  if (scf::ForOp loop = loopOf(a))
    return isAtMost(loop.getUpperBound(), b, depth + 1);
  if (auto mod = a.getDefiningOp<ModOp>())
    return isAtMost(mod.getRhs(), b, depth + 1);
  if (auto minimum = a.getDefiningOp<arith::MinSIOp>())
    return isLess(minimum.getLhs(), b, depth + 1) ||
           isLess(minimum.getRhs(), b, depth + 1);
  if (auto difference = a.getDefiningOp<arith::SubIOp>()) {
    std::optional<int64_t> c = lowerBound(difference.getRhs(), depth + 1);
    if (c && *c >= 0 && isLess(difference.getLhs(), b, depth + 1))
      return true;
    return c && *c >= 1 && isAtMost(difference.getLhs(), b, depth + 1);
  }
  // iv + c < b, with the loop's end at most b - c.
  if (auto sum = a.getDefiningOp<arith::AddIOp>()) {
    scf::ForOp loop = loopOf(sum.getLhs());
    std::optional<int64_t> c = constantOf(sum.getRhs());
    if (!loop || !c || *c < 0)
      return false;
    if (auto end = loop.getUpperBound().getDefiningOp<arith::SubIOp>())
      if (std::optional<int64_t> less = constantOf(end.getRhs()))
        return *c <= *less && isAtMost(end.getLhs(), b, depth + 1);
  }
  return false;
}

bool Ints::isInRange(Value index, Value size) {
  return lowerBound(index).value_or(-1) >= 0 && isLess(index, size);
}

bool Ints::isHarmless(Block &block) {
  for (Operation &op : block) {
    if (isa<arith::ConstantOp, arith::CmpIOp, arith::SelectOp, arith::AndIOp,
            arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp,
            Pow2Op>(op))
      continue;
    if (isa<DivOp, ModOp>(op) && lowerBound(op.getOperand(1)).value_or(0) > 0)
      continue;
    // A difference of two numbers that are not negative cannot overflow.
    if (isa<arith::SubIOp>(op) &&
        lowerBound(op.getOperand(0)).value_or(-1) >= 0 &&
        lowerBound(op.getOperand(1)).value_or(-1) >= 0)
      continue;
    return false;
  }
  return true;
}

} // namespace coll::sema
