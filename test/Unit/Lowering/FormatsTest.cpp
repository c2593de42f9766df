//===- FormatsTest.cpp - Conversions against their definition -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle knows a format only as the list of its values: rounding is the
// search for the nearest, ties to the even code.
//
//===----------------------------------------------------------------------===//

#include "TileJit.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace coll;
using namespace coll::lowering;

namespace {
struct Narrow {
  ElemType type;
  unsigned bits, mantissa;
  int bias;
  bool hasInfinity, saturates;
};
constexpr Narrow kF16{ElemType::F16, 16, 10, 15, true, false};
constexpr Narrow kBF16{ElemType::BF16, 16, 7, 127, true, false};
constexpr Narrow kE4M3{ElemType::E4M3, 8, 3, 7, false, true};
constexpr Narrow kE5M2{ElemType::E5M2, 8, 2, 15, true, true};

/// The value of a code, by the definition of the format.
double valueOf(const Narrow &f, uint32_t code) {
  uint32_t sign = code >> (f.bits - 1),
           exponent =
               (code >> f.mantissa) & ((1u << (f.bits - 1 - f.mantissa)) - 1);
  uint32_t mantissa = code & ((1u << f.mantissa) - 1),
           allOnes = (1u << (f.bits - 1 - f.mantissa)) - 1;
  double value;
  if (f.hasInfinity && exponent == allOnes)
    value = mantissa ? NAN : INFINITY;
  else if (!f.hasInfinity && exponent == allOnes &&
           mantissa == (1u << f.mantissa) - 1)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - f.bias - static_cast<int>(f.mantissa));
  else
    value = std::ldexp(mantissa + (1u << f.mantissa),
                       static_cast<int>(exponent) - f.bias -
                           static_cast<int>(f.mantissa));
  return sign ? -value : value;
}

uint32_t largestFinite(const Narrow &f) {
  uint32_t code = (1u << (f.bits - 1)) - 1;
  while (!std::isfinite(valueOf(f, code)))
    --code;
  return code;
}

/// The code that `x` rounds to: binary search among the codes of non-negative
/// values, which are in order.
uint32_t round(const Narrow &f, double x) {
  uint32_t signBit = std::signbit(x) ? 1u << (f.bits - 1) : 0;
  double magnitude = std::fabs(x);
  uint32_t largest = largestFinite(f);
  double top = valueOf(f, largest), ulp = top - valueOf(f, largest - 1);
  if (magnitude >= top + ulp / 2 || (std::isinf(magnitude)))
    return signBit | (f.saturates ? largest : largest + 1);
  uint32_t low = 0, high = largest;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    valueOf(f, middle) <= magnitude ? low = middle : high = middle - 1;
  }
  double below = magnitude - valueOf(f, low),
         above = low == largest ? INFINITY : valueOf(f, low + 1) - magnitude;
  bool up = above < below || (above == below && (low & 1));
  return signBit | (low + up);
}

/// f32 values where rounding is delicate: every value of the format, its
/// neighbours, the midpoints and theirs, and random bits.
std::vector<float> delicateValues(const Narrow &f) {
  std::vector<float> values{0.0f, -0.0f, INFINITY, -INFINITY, NAN};
  for (uint32_t code = 0; code < 1u << f.bits; code += f.bits == 16 ? 7 : 1) {
    double v = valueOf(f, code),
           next = valueOf(f, (code & ((1u << (f.bits - 1)) - 1)) + 1);
    if (!std::isfinite(v))
      continue;
    float exact = static_cast<float>(v),
          middle = static_cast<float>((std::fabs(v) + next) / 2);
    for (float x : {exact, middle})
      for (float y :
           {x, std::nextafter(x, INFINITY), std::nextafter(x, -INFINITY)})
        values.push_back(y);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return values;
}

template <typename Code> void testRounding(const Narrow &f) {
  std::vector<float> values = delicateValues(f);
  std::vector<Code> expected(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    expected[i] =
        std::isnan(values[i]) ? 0 : static_cast<Code>(round(f, values[i]));
  for (Isa isa : nativeIsas()) {
    TileJit jit(convertShape(ElemType::T, f.type),
                {Format::F32, ReduceOp::None, isa, false});
    std::vector<Code> got(values.size());
    jit.run({values.data()}, {got.data()}, values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i]))
        EXPECT_TRUE(std::isnan(valueOf(f, got[i]))) << nameOf(isa);
      else
        ASSERT_EQ(expected[i], got[i]) << nameOf(isa) << ": " << values[i]
                                       << " = " << std::hexfloat << values[i];
    }
  }
}

template <typename Code> void testWidening(const Narrow &f) {
  std::vector<Code> codes(1u << f.bits);
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<Code>(i);
  for (Isa isa : nativeIsas()) {
    TileJit jit(convertShape(f.type, ElemType::T),
                {Format::F32, ReduceOp::None, isa, false});
    std::vector<float> got(codes.size());
    jit.run({codes.data()}, {got.data()}, codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      double expected = valueOf(f, i);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got[i])) << nameOf(isa) << " code " << i;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(static_cast<float>(expected)),
                  std::bit_cast<uint32_t>(got[i]))
            << nameOf(isa) << " code " << i;
    }
  }
}
} // namespace

TEST(Formats, EveryF16Widens) { testWidening<uint16_t>(kF16); }
TEST(Formats, EveryBF16Widens) { testWidening<uint16_t>(kBF16); }
TEST(Formats, EveryE4M3Widens) { testWidening<uint8_t>(kE4M3); }
TEST(Formats, EveryE5M2Widens) { testWidening<uint8_t>(kE5M2); }
TEST(Formats, F16RoundsToNearestEven) { testRounding<uint16_t>(kF16); }
TEST(Formats, BF16RoundsToNearestEven) { testRounding<uint16_t>(kBF16); }
TEST(Formats, E4M3RoundsToNearestEvenAndSaturates) {
  testRounding<uint8_t>(kE4M3);
}
TEST(Formats, E5M2RoundsToNearestEvenAndSaturates) {
  testRounding<uint8_t>(kE5M2);
}
