//===- BlockScaleTest.cpp - mxe4m3 against its definition -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Support/BlockScale.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace coll;

namespace {

/// Numbers of all magnitudes, or around one.
std::vector<float> someBlock(uint32_t seed, bool isWide) {
  std::vector<float> block;
  for (unsigned i = 0; i < blockElements; ++i) {
    seed = seed * 1664525u + 1013904223u;
    uint32_t bits = seed ^ seed >> 13;
    if (!isWide)
      bits = (bits & 0x807fffff) | (100 + seed % 9) << 23;
    float value = std::bit_cast<float>(bits);
    block.push_back(std::isfinite(value) ? value : 1.0f);
  }
  return block;
}

// The scale's exponent is that of the largest, less that of e4m3's.
TEST(BlockScale, IsTheSpecificationsConversion) {
  for (uint32_t seed = 1; seed < 2000; ++seed) {
    std::vector<float> in = someBlock(seed, seed % 2), out(in.size());
    roundOneBlock(in.data(), out.data(), in.size());
    float largest = 0;
    for (float x : in)
      largest = std::max(largest, std::abs(x));
    int exponent = std::max(std::ilogb(largest) - 8, -127);
    for (size_t i = 0; i < in.size(); ++i) {
      double scaled = std::ldexp(double(in[i]), -exponent);
      double rounded = decode<E4M3>(encode<E4M3>(scaled));
      ASSERT_EQ(out[i], float(std::ldexp(rounded, exponent)))
          << in[i] << " beside " << largest;
    }
  }
}

TEST(BlockScale, ChangesNothingTheSecondTime) {
  for (uint32_t seed = 1; seed < 2000; ++seed) {
    std::vector<float> in = someBlock(seed, seed % 2), once(in.size()),
                       twice(in.size());
    roundOneBlock(in.data(), once.data(), in.size());
    roundOneBlock(once.data(), twice.data(), in.size());
    ASSERT_EQ(once, twice);
  }
}

TEST(BlockScale, KeepsWhatIsNotFinite) {
  float in[] = {INFINITY, -INFINITY, 1.0f, 0.0f, NAN, 0x1p127f}, out[6];
  roundOneBlock(in, out, 6);
  EXPECT_EQ(out[0], INFINITY);
  EXPECT_EQ(out[1], -INFINITY);
  EXPECT_EQ(out[2], 0.0f);
  EXPECT_EQ(out[3], 0.0f);
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_EQ(out[5], 0x1p127f);
}

TEST(BlockScale, HasZeros) {
  float in[] = {0.0f, -0.0f, 0x1p-149f}, out[3];
  roundOneBlock(in, out, 3);
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_TRUE(std::signbit(out[1]));
  roundOneBlock(in, out, 2);
  EXPECT_EQ(out[0], 0.0f);
}

} // namespace
