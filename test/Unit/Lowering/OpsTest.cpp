//===- OpsTest.cpp - Inner loops of every op, dtype and length ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileJit.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <type_traits>

using namespace coll;
using namespace coll::lowering;

namespace {
/// One application of an op on two elements, written the plain way.
template <typename T> T combine(T a, T b, ReduceOp op) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::Min || op == ReduceOp::Max) {
      if (std::isnan(a) || std::isnan(b))
        return std::numeric_limits<T>::quiet_NaN();
      if (a == b)
        return std::signbit(a) == (op == ReduceOp::Min) ? a : b; // -0 < +0
      return (a < b) == (op == ReduceOp::Min) ? a : b;
    }
    return op == ReduceOp::Prod ? a * b : a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    switch (op) {
    case ReduceOp::Min:
      return std::min(a, b);
    case ReduceOp::Max:
      return std::max(a, b);
    case ReduceOp::Prod:
      return static_cast<T>(static_cast<U>(uint64_t(static_cast<U>(a)) *
                                           uint64_t(static_cast<U>(b))));
    default:
      return static_cast<T>(
          static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    }
  }
}

template <typename T> std::vector<T> randomElements(size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T &v : values) {
    if constexpr (std::is_floating_point_v<T>) {
      static const T special[] = {0,
                                  -T(0),
                                  1,
                                  -1,
                                  std::numeric_limits<T>::infinity(),
                                  std::numeric_limits<T>::quiet_NaN()};
      uint64_t r = random();
      v = r % 5 == 0 ? special[r / 5 % 6]
                     : static_cast<T>(static_cast<double>(random() >> 11) /
                                          (uint64_t(1) << 50) -
                                      4);
    } else {
      v = static_cast<T>(random());
    }
  }
  return values;
}

template <typename T> bool sameBits(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) && std::isnan(b))
      return true;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Every length from 0 to past two groups of vectors, at an odd address.
template <typename T>
void testFold(Format format, ReduceOp op, unsigned numSources) {
  constexpr size_t most = 600;
  for (Isa isa : nativeIsas()) {
    TileJit jit(foldShape(numSources), {format, op, isa, false});
    std::vector<std::vector<T>> sources;
    std::vector<const void *> pointers;
    for (unsigned s = 0; s < numSources; ++s)
      sources.push_back(
          randomElements<T>(most + 1, 10 * s + static_cast<unsigned>(op)));
    for (std::vector<T> &s : sources)
      pointers.push_back(s.data() + 1);
    for (size_t length = 0; length <= most; length += length < 40 ? 1 : 37) {
      std::vector<T> out(most + 2, T(77));
      jit.run(pointers, {out.data() + 1}, length, numSources);
      for (size_t i = 0; i < length; ++i) {
        T expected = sources[0][i + 1];
        for (unsigned s = 1; s < numSources; ++s)
          expected = combine(expected, sources[s][i + 1], op);
        ASSERT_TRUE(sameBits(expected, out[i + 1]))
            << nameOf(format) << " " << nameOf(op) << " " << nameOf(isa)
            << " length " << length << " element " << i;
      }
      ASSERT_EQ(out[0], T(77));
      ASSERT_EQ(out[length + 1], T(77))
          << "written past the end, length " << length;
    }
  }
}

template <typename T> void testAllOps(Format format) {
  for (ReduceOp op :
       {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max}) {
    testFold<T>(format, op, 2);
    testFold<T>(format, op, 3);
    testFold<T>(format, op, kMaxCountedSources);
    testFold<T>(format, op, kMaxCountedSources + 1);
  }
}
} // namespace

TEST(Ops, F32) { testAllOps<float>(Format::F32); }
TEST(Ops, F64) { testAllOps<double>(Format::F64); }
TEST(Ops, I8) { testAllOps<int8_t>(Format::I8); }
TEST(Ops, U8) { testAllOps<uint8_t>(Format::U8); }
TEST(Ops, I32) { testAllOps<int32_t>(Format::I32); }
TEST(Ops, U32) { testAllOps<uint32_t>(Format::U32); }
TEST(Ops, I64) { testAllOps<int64_t>(Format::I64); }
TEST(Ops, U64) { testAllOps<uint64_t>(Format::U64); }

TEST(Ops, AverageDividesOnceAndIntegersTowardZero) {
  StepShape shape = foldShape(2);
  shape.complete = true;
  std::vector<int8_t> a{-7, 7, 100, -100}, b{0, 0, 27, -28}, out(4);
  for (Isa isa : nativeIsas()) {
    TileJit(shape, {Format::I8, ReduceOp::Avg, isa, false})
        .run({a.data(), b.data()}, {out.data()}, 4, 200);
    EXPECT_EQ(out, (std::vector<int8_t>{0, 0, 0, 0}));
    TileJit(shape, {Format::I8, ReduceOp::Avg, isa, false})
        .run({a.data(), b.data()}, {out.data()}, 4, 2);
    EXPECT_EQ(out, (std::vector<int8_t>{-3, 3, 63, -64}));
  }
}

TEST(Ops, PremulSumScalesLeavesOnly) {
  StepShape shape = foldShape(2);
  shape.sources[1].scaled = true;
  std::vector<float> a{1, 2, 3}, b{10, 20, 30}, out(3);
  for (Isa isa : nativeIsas()) {
    TileJit(shape, {Format::F32, ReduceOp::PremulSum, isa, false})
        .run({a.data(), b.data()}, {out.data()}, 3, 2, 0.5);
    EXPECT_EQ(out, (std::vector<float>{6, 12, 18}));
  }
}
