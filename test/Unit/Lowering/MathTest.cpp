//===- MathTest.cpp - The functions of `fn`, on vectors and on scalars ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What generated code computes for a function must be, bit by bit, what the
// same sequence of operations gives on plain numbers, on every instruction set.
//
//===----------------------------------------------------------------------===//

#include "TileJit.h"

#include "lib/Support/ElementMath.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace coll;
using namespace coll::lowering;

namespace {

/// ElementMath's policy on plain numbers.
template <typename T> struct Plain {
  using V = T;
  static constexpr bool wide = sizeof(T) == 8;
  T c(double value) { return T(value); }
  T add(T x, T y) { return x + y; }
  T sub(T x, T y) { return x - y; }
  T mul(T x, T y) { return x * y; }
  T div(T x, T y) { return x / y; }
  T sqrt(T x) { return std::sqrt(x); }
  T abs(T x) { return std::fabs(x); }
  T copysign(T magnitude, T sign) { return std::copysign(magnitude, sign); }
  T roundEven(T x) { return std::nearbyint(x); }
  T pow2(T n) { return std::isnan(n) ? T(1) : std::ldexp(T(1), int(n)); }
  T selectLess(T x, T y, T less, T notLess) { return x < y ? less : notLess; }
  T min(T x, T y) { return choose(x, y, x < y || (x == y && std::signbit(x))); }
  T max(T x, T y) { return choose(x, y, x > y || (x == y && std::signbit(y))); }

private:
  T choose(T x, T y, bool first) {
    if (std::isnan(x) || std::isnan(y))
      return std::numeric_limits<T>::quiet_NaN();
    return first ? x : y;
  }
};

template <typename T> T expected(Function::Op op, T x, T y) {
  Plain<T> p;
  switch (op) {
  case Function::Neg:
    return -x;
  case Function::Add:
    return p.add(x, y);
  case Function::Sub:
    return p.sub(x, y);
  case Function::Mul:
    return p.mul(x, y);
  case Function::Div:
    return p.div(x, y);
  case Function::Exp:
    return elementmath::exp(p, x);
  case Function::Sqrt:
    return p.sqrt(x);
  case Function::Rsqrt:
    return elementmath::rsqrt(p, x);
  case Function::Tanh:
    return elementmath::tanh(p, x);
  case Function::Abs:
    return p.abs(x);
  case Function::Min:
    return p.min(x, y);
  case Function::Max:
    return p.max(x, y);
  default:
    ADD_FAILURE() << "no function of elements";
    return x;
  }
}

/// All bit patterns, numbers of every day, and those where things go wrong.
template <typename T> std::vector<T> numbers(size_t count, unsigned seed) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const T special[] = {0,
                       -T(0),
                       1,
                       -1,
                       inf,
                       -inf,
                       std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       T(88.7),
                       T(-103.9),
                       T(709.7),
                       T(-745.1),
                       T(0.625)};
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (T v : special)
    values.push_back(v);
  while (values.size() < count) {
    uint64_t bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
    values.push_back(T(std::uniform_real_distribution<>(-120, 120)(random)));
  }
  values.resize(count);
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

template <typename T> bool sameBits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

/// x op y, or op x: a function of one node behind its parameters.
Function functionOf(Function::Op op, bool isBinary) {
  Function function;
  function.name = "f";
  for (uint32_t i = 0; i <= uint32_t(isBinary); ++i) {
    function.params.push_back(Buffer::In);
    function.code.push_back({Function::Param, i, 0});
  }
  function.code.push_back({op, 0, 0});
  return function;
}

StepShape applyShape(unsigned params) {
  StepShape shape;
  shape.sources.resize(params);
  shape.sinks.resize(1);
  for (unsigned i = 0; i < params; ++i)
    shape.expr.push_back({ExprNode::Operand, ElemType::T, 0, i});
  shape.expr.push_back({ExprNode::Apply, ElemType::T, 0, params});
  return shape;
}

template <typename T> void testFunction(Function::Op op, bool isBinary) {
  constexpr size_t count = 100'003; // leaves a remainder of every kind
  Format format = sizeof(T) == 8 ? Format::F64 : Format::F32;
  std::vector<T> x = numbers<T>(count, 1), y = numbers<T>(count, 2);
  std::vector<const void *> sources = {x.data()};
  if (isBinary)
    sources.push_back(y.data());
  for (Isa isa : nativeIsas()) {
    SCOPED_TRACE(nameOf(isa));
    std::vector<T> out(count);
    TileJit jit(applyShape(1 + isBinary), {format, ReduceOp::Sum, isa},
                {functionOf(op, isBinary)});
    jit.run(sources, {out.data()}, count);
    for (size_t i = 0; i < count; ++i) {
      T wanted = expected(op, x[i], y[i]);
      ASSERT_TRUE(sameBits(out[i], wanted))
          << "op " << op << " of " << x[i] << " and " << y[i] << " is "
          << out[i] << ", not " << wanted;
    }
  }
}

template <typename T> void testAll() {
  for (Function::Op op : {Function::Neg, Function::Exp, Function::Sqrt,
                          Function::Rsqrt, Function::Tanh, Function::Abs})
    testFunction<T>(op, false);
  for (Function::Op op : {Function::Add, Function::Sub, Function::Mul,
                          Function::Div, Function::Min, Function::Max})
    testFunction<T>(op, true);
}

TEST(Math, F32) { testAll<float>(); }
TEST(Math, F64) { testAll<double>(); }

/// A constant is rounded to the type once; nothing is contracted: (x * 3 + y)
/// rounds twice.
TEST(Math, ConstantsAndNoContraction) {
  Function function;
  function.params = {Buffer::In, Buffer::In};
  function.code = {{Function::Param, 0, 0},
                   {Function::Const, 0, 0.1},
                   {Function::Mul, 0, 0},
                   {Function::Param, 1, 0},
                   {Function::Add, 0, 0}};
  constexpr size_t count = 10'007;
  std::vector<float> x = numbers<float>(count, 3), y = numbers<float>(count, 4);
  for (size_t i = 0; i < count; i += 2)
    y[i] = -x[i] * 0.1f; // what contraction would leave a remainder of
  for (Isa isa : nativeIsas()) {
    SCOPED_TRACE(nameOf(isa));
    std::vector<float> out(count);
    TileJit jit(applyShape(2), {Format::F32, ReduceOp::Sum, isa}, {function});
    jit.run({x.data(), y.data()}, {out.data()}, count);
    for (size_t i = 0; i < count; ++i) {
      float product = x[i] * 0.1f;
      ASSERT_TRUE(sameBits(out[i], product + y[i])) << x[i] << " " << y[i];
    }
  }
}

/// f16 is computed in f32 and rounded once, at the end.
TEST(Math, NarrowFormatsAreComputedWide) {
  Function function;
  function.params = {Buffer::In};
  function.code = {{Function::Param, 0, 0},
                   {Function::Const, 0, 2048},
                   {Function::Add, 0, 0},
                   {Function::Const, 0, 2048},
                   {Function::Sub, 0, 0}};
  std::vector<uint16_t> in(1003, 0x3c00), out(in.size()); // 1.0
  for (Isa isa : nativeIsas()) {
    SCOPED_TRACE(nameOf(isa));
    TileJit jit(applyShape(1), {Format::F16, ReduceOp::Sum, isa}, {function});
    jit.run({in.data()}, {out.data()}, in.size());
    for (uint16_t bits : out) // rounding in between would give 0
      ASSERT_EQ(bits, 0x3c00);
  }
}

} // namespace
