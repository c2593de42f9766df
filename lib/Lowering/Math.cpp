//===- Math.cpp - The functions of `fn` on vectors ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Postfix code over the parameters, in the accumulation type. exp, tanh and
// rsqrt are lib/Support/ElementMath.h, instantiated with a builder.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/RowValues.h"
#include "lib/Support/ElementMath.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace coll::lowering {
using namespace mlir;

namespace {
/// ElementMath's policy: every operation is one SSA operation.
template <bool isWide> struct BuilderPolicy {
  using V = Value;
  static constexpr bool wide = isWide;
  Builder &b;
  Type type;

  V c(double value) { return b.fcst(value, type); }
  V add(V x, V y) { return arith::AddFOp::create(b, x, y); }
  V sub(V x, V y) { return arith::SubFOp::create(b, x, y); }
  V mul(V x, V y) { return arith::MulFOp::create(b, x, y); }
  V div(V x, V y) { return arith::DivFOp::create(b, x, y); }
  V min(V x, V y) { return arith::MinimumFOp::create(b, x, y); }
  V max(V x, V y) { return arith::MaximumFOp::create(b, x, y); }
  V sqrt(V x) { return math::SqrtOp::create(b, x); }
  V abs(V x) { return math::AbsFOp::create(b, x); }
  V copysign(V magnitude, V sign) {
    return math::CopySignOp::create(b, magnitude, sign);
  }
  V roundEven(V x) { return math::RoundEvenOp::create(b, x); }
  V selectLess(V x, V y, V less, V notLess) {
    return b.select(arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y),
                    less, notLess);
  }
  /// The exponent field. A NaN goes through as 2^0: it already is in what the
  /// result is multiplied with.
  V pow2(V n) {
    Type integer = isWide ? b.i64() : b.i32();
    if (auto vector = dyn_cast<VectorType>(type))
      integer = vector.clone(integer);
    V safe = b.select(arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, n, n),
                      c(0), n);
    V biased = b.add(arith::FPToSIOp::create(b, integer, safe),
                     b.cst(isWide ? 1023 : 127, integer));
    return b.bitcast(b.shl(biased, b.cst(isWide ? 52 : 23, integer)), type);
  }
};

template <bool isWide>
Value emit(Builder &b, const Function &function, ArrayRef<Value> arguments,
           Type type, RowValues *rows) {
  BuilderPolicy<isWide> p{b, type};
  SmallVector<Value> stack;
  auto binary = [&](auto operation) {
    Value y = stack.pop_back_val();
    stack.back() = operation(stack.back(), y);
  };
  for (const Function::Node &node : function.code) {
    switch (node.op) {
    case Function::Param:
      stack.push_back(arguments[node.param]);
      break;
    case Function::Const:
      stack.push_back(p.c(node.value));
      break;
    case Function::Neg:
      stack.back() = arith::NegFOp::create(b, stack.back());
      break;
    case Function::Add:
      binary([&](Value x, Value y) { return p.add(x, y); });
      break;
    case Function::Sub:
      binary([&](Value x, Value y) { return p.sub(x, y); });
      break;
    case Function::Mul:
      binary([&](Value x, Value y) { return p.mul(x, y); });
      break;
    case Function::Div:
      binary([&](Value x, Value y) { return p.div(x, y); });
      break;
    case Function::Min:
      binary([&](Value x, Value y) { return p.min(x, y); });
      break;
    case Function::Max:
      binary([&](Value x, Value y) { return p.max(x, y); });
      break;
    case Function::Exp:
      stack.back() = elementmath::exp(p, stack.back());
      break;
    case Function::Tanh:
      stack.back() = elementmath::tanh(p, stack.back());
      break;
    case Function::Sqrt:
      stack.back() = p.sqrt(stack.back());
      break;
    case Function::Rsqrt:
      stack.back() = elementmath::rsqrt(p, stack.back());
      break;
    case Function::Abs:
      stack.back() = p.abs(stack.back());
      break;
    case Function::RowSum:
    case Function::RowMean:
    case Function::RowMax:
      stack.back() = rows->take(stack.back());
      break;
    }
  }
  return stack.back();
}
} // namespace

Value emitFunction(Builder &b, const Function &function,
                   ArrayRef<Value> arguments, Format accum, RowValues *rows) {
  Type type = arguments[0].getType();
  return accum == Format::F64 ? emit<true>(b, function, arguments, type, rows)
                              : emit<false>(b, function, arguments, type, rows);
}

} // namespace coll::lowering
