//===- FloatFormatsTest.cpp - Conversions of small formats ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Support/FloatFormats.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace coll;

namespace {

template <class Format> double number(uint32_t code) {
  return double(decode<Format>(typename Format::Storage(code)));
}

/// The nearest finite number, the even one of two, found by looking at all.
template <class Format> uint32_t nearest(double value) {
  uint32_t sign = std::signbit(value) ? Format::signBit : 0;
  double magnitude = std::abs(value);
  // Beyond the largest number by half a step or more.
  double last = number<Format>(Format::largest),
         step = last - number<Format>(Format::largest - 1);
  if (magnitude >= last + step / 2)
    return Format::overflow | sign;
  uint32_t low = 0, high = Format::largest;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (number<Format>(middle) <= magnitude ? low : high) = middle;
  }
  long double below = (long double)magnitude - number<Format>(low),
              above = (long double)number<Format>(high) - magnitude;
  bool isUp = above < below || (above == below && low % 2);
  return (isUp ? high : low) | sign;
}

template <class Format> void checkRounding() {
  // Every number, the point between it and the next, and just beside that.
  for (uint32_t code = 0; code < Format::largest; ++code) {
    double here = number<Format>(code),
           middle = (here + number<Format>(code + 1)) / 2;
    for (double value : {here, middle, std::nextafter(middle, 0.0),
                         std::nextafter(middle, 1e300)})
      for (double signedValue : {value, -value}) {
        ASSERT_EQ(encode<Format>(signedValue), nearest<Format>(signedValue))
            << signedValue;
        float narrow = float(signedValue);
        ASSERT_EQ(encode<Format>(narrow), nearest<Format>(double(narrow)))
            << narrow;
      }
  }
}

TEST(FloatFormats, RoundToNearestEven) {
  checkRounding<F16>();
  checkRounding<BF16>();
  checkRounding<E4M3>();
  checkRounding<E5M2>();
}

template <class Format> void checkRoundTrip() {
  for (uint32_t code = 0; code <= Format::signBit * 2 - 1; ++code) {
    float value = decode<Format>(typename Format::Storage(code));
    if (std::isnan(value) ||
        (std::isinf(value) && Format::overflow == Format::largest))
      continue;
    ASSERT_EQ(encode<Format>(value), code);
    ASSERT_EQ(encode<Format>(double(value)), code);
  }
}

TEST(FloatFormats, EveryNumberComesBack) {
  checkRoundTrip<F16>();
  checkRoundTrip<BF16>();
  checkRoundTrip<E4M3>();
  checkRoundTrip<E5M2>();
}

TEST(FloatFormats, Specials) {
  const float infinity = INFINITY, nan = NAN;
  EXPECT_EQ(encode<F16>(infinity), 0x7c00);
  EXPECT_EQ(encode<F16>(65520.0f), 0x7c00);
  EXPECT_EQ(encode<F16>(65519.0f), 0x7bff);
  EXPECT_EQ(encode<BF16>(-infinity), 0xff80);
  EXPECT_EQ(encode<E4M3>(infinity), 0x7e);
  EXPECT_EQ(encode<E4M3>(-1e30f), 0xfe);
  EXPECT_EQ(encode<E5M2>(infinity), 0x7b);
  EXPECT_EQ(encode<E5M2>(-infinity), 0xfb);
  EXPECT_EQ(encode<E4M3>(-0.0f), 0x80);
  for (float value : {nan, -nan}) {
    EXPECT_TRUE(std::isnan(decode<F16>(encode<F16>(value))));
    EXPECT_TRUE(std::isnan(decode<BF16>(encode<BF16>(value))));
    EXPECT_TRUE(std::isnan(decode<E4M3>(encode<E4M3>(value))));
    EXPECT_TRUE(std::isnan(decode<E5M2>(encode<E5M2>(value))));
  }
  EXPECT_EQ(decode<E4M3>(0x7e), 448.0f);
  EXPECT_EQ(decode<E5M2>(0x7b), 57344.0f);
  EXPECT_TRUE(std::isinf(decode<E5M2>(0x7c)));
  EXPECT_EQ(decode<E4M3>(0x01), 0x1p-9f);
  EXPECT_EQ(decode<E5M2>(0x01), 0x1p-16f);
  EXPECT_EQ(decode<BF16>(0x0001), 0x1p-133f);
}

// From double in one step: twice rounded, this would be 1 + 2^-10.
TEST(FloatFormats, DoubleIsRoundedOnce) {
  double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(decode<F16>(encode<F16>(value)), 1 + 0x1p-10f);
  double below = 1 + 0x1p-11 - 0x1p-40;
  EXPECT_EQ(decode<F16>(encode<F16>(below)), 1.0f);
}

} // namespace
