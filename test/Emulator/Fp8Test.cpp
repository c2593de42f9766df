//===- Fp8Test.cpp - The chip's fp8 is the language's ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Hooks.h"
#include "lib/Support/FloatFormats.h"

#include "gtest/gtest.h"
#include <bit>
#include <cmath>

using namespace coll;

namespace {

/// All numbers that are a number of the format, in the middle of two, or next
/// to either.
template <class Format, class Check> void forCritical(Check check) {
  for (unsigned code = 0; code <= Format::largest; ++code) {
    float low = decode<Format>(typename Format::Storage(code));
    float high = code == Format::largest
                     ? low * 1.125f
                     : decode<Format>(typename Format::Storage(code + 1));
    for (float value : {low, (low + high) / 2})
      for (float near : {std::nextafter(value, 0.0f), value,
                         std::nextafter(value, INFINITY)}) {
        check(near);
        check(-near);
      }
  }
  for (float value : {0.0f, -0.0f, 1e30f, -1e30f, INFINITY, -INFINITY, 1e-40f})
    check(value);
  uint32_t bits = 1;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    if (float value = std::bit_cast<float>(bits); !std::isnan(value))
      check(value);
  }
}

template <class Format> void expectSame(uint32_t isE5M2) {
  forCritical<Format>([&](float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t both = emuToFp8(isE5M2, bits, bits ^ 0x80000000);
    ASSERT_EQ(both >> 8, encode<Format>(value)) << value;
    ASSERT_EQ(both & 0xff, encode<Format>(-value)) << value;
  });
  EXPECT_EQ(emuToFp8(isE5M2, 0x7fc00000, 0), 0x7f00u);
  for (uint32_t code = 0; code < 256; ++code) {
    float want = decode<Format>(typename Format::Storage(code));
    uint32_t halves = emuFromFp8(isE5M2, code << 8 | code);
    EXPECT_EQ(halves >> 16, halves & 0xffff);
    float have = decode<F16>(uint16_t(halves));
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(have)) << code;
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(have), std::bit_cast<uint32_t>(want))
          << code;
  }
}

TEST(Fp8, E4M3) { expectSame<E4M3>(0); }
TEST(Fp8, E5M2) { expectSame<E5M2>(1); }

} // namespace
