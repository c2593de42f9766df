//===- InterpreterTest.cpp - The scalar meaning of a chunk graph ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Interpreter.h"
#include "Schedules.h"
#include "lib/Support/FloatFormats.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace coll;
using namespace coll::test;

namespace {

/// The buffers of all ranks, parts one after another.
struct Memory {
  const ChunkGraph &graph;
  uint64_t partBytes;
  std::vector<std::vector<std::vector<char>>> bytes; // by rank and buffer

  Memory(const ChunkGraph &graph, const InterpreterCall &call)
      : graph(graph), partBytes(call.count * bytesOf(call.dtype)) {
    for (Rank r = 0; r < graph.numRanks(); ++r) {
      auto &buffers = bytes.emplace_back();
      for (const Buffer &buffer : graph.buffers)
        buffers.emplace_back(buffer.parts * partBytes, char(0xa5));
    }
  }
  char *at(Rank rank, uint32_t buffer, uint32_t part) {
    return bytes[rank][buffer].data() + part * partBytes;
  }
  template <class T>
  T &as(Rank rank, uint32_t buffer, uint32_t part, uint64_t i) {
    return reinterpret_cast<T *>(at(rank, buffer, part))[i];
  }
  PartAddress reader() {
    return [this](Rank rank, uint32_t buffer, uint32_t part) -> const void * {
      return at(rank, buffer, part);
    };
  }
  std::function<void *(Rank, uint32_t, uint32_t)> writer() {
    return [this](Rank rank, uint32_t buffer, uint32_t part) -> void * {
      return at(rank, buffer, part);
    };
  }
};

template <class T, class Make>
void fill(Memory &memory, uint64_t count, Make make) {
  for (Rank r = 0; r < memory.graph.numRanks(); ++r)
    for (uint32_t p = 0; p < memory.graph.buffers[0].parts; ++p)
      for (uint64_t i = 0; i < count; ++i)
        memory.as<T>(r, 0, p, i) = make();
}

// A ring adds its chunks in the order of the ranks they pass, in f32.
TEST(Interpreter, RingAddsInItsOrder) {
  constexpr uint32_t n = 4;
  ChunkGraph graph = ringAllreduce(n);
  InterpreterCall call{.dtype = COLL_F32, .op = COLL_SUM, .count = 1021};
  Memory memory(graph, call);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  fill<float>(memory, call.count, [&] { return uniform(random); });
  ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
  for (uint32_t c = 0; c < n; ++c) {
    ElementRange range = chunkRange(call.count, 4, c, n);
    for (uint64_t i = range.begin; i < range.end; ++i) {
      float sum = memory.as<float>((c + 1) % n, 0, 0, i);
      for (uint32_t k = 2; k <= n; ++k)
        sum += memory.as<float>((c + k) % n, 0, 0, i);
      for (Rank r = 0; r < n; ++r)
        ASSERT_EQ(memory.as<float>(r, 1, 0, i), sum)
            << "chunk " << c << " element " << i;
    }
  }
  InterpreterResult result =
      checkOutputs(graph, call, memory.reader(), memory.reader());
  EXPECT_EQ(result.elements, n * call.count);
  EXPECT_EQ(result.wrongBits + result.outOfBound, 0u);
  EXPECT_LE(result.maxError, 1.0);
  // One bit of one element.
  memory.at(2, 1, 0)[4 * 700] ^= 1;
  result = checkOutputs(graph, call, memory.reader(), memory.reader(), 2);
  EXPECT_EQ(result.wrongBits, 1u);
  ASSERT_EQ(result.first.size(), 1u);
  EXPECT_EQ(result.first[0].rank, 2u);
  EXPECT_EQ(result.first[0].element, 700u);
}

// bf16 is summed in f32 and rounded once per hop.
TEST(Interpreter, Bf16RoundsOncePerStatement) {
  ChunkGraph graph = ringAllreduce(3);
  InterpreterCall call{.dtype = COLL_BF16, .op = COLL_SUM, .count = 100};
  Memory memory(graph, call);
  std::mt19937 random(2);
  fill<uint16_t>(memory, call.count,
                 [&] { return encode<BF16>(float(random() % 1000) / 7); });
  ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
  for (uint32_t c = 0; c < 3; ++c)
    for (uint64_t i = chunkRange(100, 2, c, 3).begin;
         i < chunkRange(100, 2, c, 3).end; ++i) {
      auto in = [&](Rank r) {
        return decode<BF16>(memory.as<uint16_t>(r % 3, 0, 0, i));
      };
      float first = decode<BF16>(encode<BF16>(in(c + 1) + in(c + 2)));
      ASSERT_EQ(memory.as<uint16_t>(0, 1, 0, i), encode<BF16>(first + in(c)));
    }
  EXPECT_EQ(
      checkOutputs(graph, call, memory.reader(), memory.reader()).outOfBound,
      0u);
}

TEST(Interpreter, AverageDividesOnce) {
  ChunkGraph graph = ringAllreduce(3);
  InterpreterCall call{.dtype = COLL_I32, .op = COLL_AVG, .count = 5};
  Memory memory(graph, call);
  fill<int32_t>(memory, 5, [k = 0]() mutable { return k-- * 7 - 3; });
  ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
  for (uint64_t i = 0; i < 5; ++i) {
    int32_t sum = 0;
    for (Rank r = 0; r < 3; ++r)
      sum += memory.as<int32_t>(r, 0, 0, i);
    EXPECT_EQ(memory.as<int32_t>(1, 1, 0, i), sum / 3);
  }
}

// Copies of inputs are rounded after the factor, inputs themselves are not.
TEST(Interpreter, PremulSumRoundsCopiesOnly) {
  InterpreterCall call{
      .dtype = COLL_F16, .op = COLL_PREMUL_SUM, .factor = 1.0 / 3, .count = 64};
  std::mt19937 random(3);
  ChunkGraph copied = ringAllreduce(2), direct = oneShot(2);
  Memory a(copied, call), b(direct, call);
  auto make = [&] { return encode<F16>(float(random() % 2048) / 16); };
  fill<uint16_t>(a, 64, make);
  for (Rank r = 0; r < 2; ++r)
    b.bytes[r][0] = a.bytes[r][0];
  ASSERT_EQ(interpret(copied, call, a.reader(), a.writer()), "");
  ASSERT_EQ(interpret(direct, call, b.reader(), b.writer()), "");
  const float factor = float(1.0 / 3);
  for (uint64_t i = 0; i < 64; ++i) {
    float x = decode<F16>(a.as<uint16_t>(0, 0, 0, i)) * factor,
          y = decode<F16>(a.as<uint16_t>(1, 0, 0, i)) * factor;
    auto rounded = [](float v) { return decode<F16>(encode<F16>(v)); };
    ASSERT_EQ(a.as<uint16_t>(0, 1, 0, i), encode<F16>(rounded(x) + rounded(y)));
    ASSERT_EQ(b.as<uint16_t>(0, 1, 0, i), encode<F16>(x + y));
  }
}

TEST(Interpreter, MinAndMaxOfSpecials) {
  ChunkGraph graph = oneShot(2);
  InterpreterCall call{.dtype = COLL_F32, .op = COLL_MIN, .count = 6};
  Memory memory(graph, call);
  float left[6] = {0.0f, -0.0f, NAN, 1, -INFINITY, 2},
        right[6] = {-0.0f, 0.0f, 1, NAN, 3, 2};
  std::memcpy(memory.at(0, 0, 0), left, sizeof left);
  std::memcpy(memory.at(1, 0, 0), right, sizeof right);
  auto out = [&](uint64_t i) { return memory.as<float>(0, 1, 0, i); };
  ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
  EXPECT_TRUE(std::signbit(out(0)) && std::signbit(out(1)));
  EXPECT_TRUE(std::isnan(out(2)) && std::isnan(out(3)));
  EXPECT_EQ(out(4), -INFINITY);
  call.op = COLL_MAX;
  ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
  EXPECT_FALSE(std::signbit(out(0)) || std::signbit(out(1)));
  EXPECT_TRUE(std::isnan(out(2)) && std::isnan(out(3)));
  EXPECT_EQ(out(4), 3.0f);
}

TEST(Interpreter, IntegersWrap) {
  ChunkGraph graph = oneShot(3);
  for (coll_op op : {COLL_SUM, COLL_PROD}) {
    InterpreterCall call{.dtype = COLL_I8, .op = op, .count = 200};
    Memory memory(graph, call);
    std::mt19937 random(4);
    fill<int8_t>(memory, call.count, [&] { return int8_t(random()); });
    ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
    for (uint64_t i = 0; i < call.count; ++i) {
      int64_t x = memory.as<int8_t>(0, 0, 0, i),
              y = memory.as<int8_t>(1, 0, 0, i),
              z = memory.as<int8_t>(2, 0, 0, i);
      ASSERT_EQ(memory.as<int8_t>(0, 1, 0, i),
                int8_t(op == COLL_SUM ? x + y + z : x * y * z));
    }
  }
}

// fp8 on the wire: what travels is rounded and saturates, what stays is not.
TEST(Interpreter, ViaRoundsWhatTravels) {
  ChunkGraph graph = ringAllreduceFp8(2, true);
  InterpreterCall call{.dtype = COLL_F32, .op = COLL_SUM, .count = 8};
  Memory memory(graph, call);
  fill<float>(memory, 8, [k = 0]() mutable { return 300.3f + float(k++); });
  ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
  auto e4m3 = [](float v) { return decode<E4M3>(encode<E4M3>(v)); };
  // Chunk 0 travels from rank 1 to rank 0, then back.
  EXPECT_EQ(
      memory.as<float>(1, 1, 0, 0),
      e4m3(memory.as<float>(0, 0, 0, 0) + e4m3(memory.as<float>(1, 0, 0, 0))));
  EXPECT_EQ(memory.as<float>(1, 1, 0, 0), 448.0f);
  InterpreterResult result =
      checkOutputs(graph, call, memory.reader(), memory.reader());
  EXPECT_EQ(result.wrongBits + result.outOfBound, 0u);
}

// The exact result is far from a wrong one, whatever the type.
TEST(Interpreter, BoundCatchesAWrongSum) {
  for (coll_dtype dtype : {COLL_F16, COLL_BF16, COLL_F32, COLL_F64}) {
    ChunkGraph graph = treeAllreduce(8, 2);
    InterpreterCall call{.dtype = dtype, .op = COLL_SUM, .count = 333};
    Memory memory(graph, call);
    std::mt19937 random(5);
    auto value = [&] { return double(random() % 1000) / 1000 + 0.5; };
    if (dtype == COLL_F64)
      fill<double>(memory, call.count, value);
    else if (dtype == COLL_F32)
      fill<float>(memory, call.count, [&] { return float(value()); });
    else
      fill<uint16_t>(memory, call.count, [&] {
        return dtype == COLL_F16 ? encode<F16>(value()) : encode<BF16>(value());
      });
    ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
    InterpreterResult right =
        checkOutputs(graph, call, memory.reader(), memory.reader());
    EXPECT_EQ(right.wrongBits + right.outOfBound, 0u);
    EXPECT_GT(right.maxError, 0.01);
    // The input of one rank instead of the sum.
    memory.bytes[3][1] = memory.bytes[3][0];
    InterpreterResult wrong =
        checkOutputs(graph, call, memory.reader(), memory.reader());
    EXPECT_EQ(wrong.outOfBound, call.count);
  }
}

// Large numbers cancel in the listed order alone: what another one rounds is
// within the bound of a sum in any order, and beyond that of this one.
TEST(Interpreter, BoundOfAnyOrderHasAllOrders) {
  for (bool isAny : {true, false}) {
    ChunkGraph graph = oneShot(3);
    for (ValueExpr &expr : graph.exprs)
      for (ExprNode &node : expr.nodes)
        if (node.kind == ExprNode::Fold && isAny)
          node.kind = ExprNode::FoldAny;
    for (Term &term : graph.terms)
      if (term.kind == Term::Fold && isAny)
        term.kind = Term::FoldAny;
    InterpreterCall call{.dtype = COLL_F32, .op = COLL_SUM, .count = 4};
    Memory memory(graph, call);
    const float values[] = {0x1p24f, -0x1p24f, 0.5f};
    fill<float>(memory, call.count,
                [&, k = 0]() mutable { return values[k++ / 4 % 3]; });
    ASSERT_EQ(interpret(graph, call, memory.reader(), memory.writer()), "");
    EXPECT_EQ(memory.as<float>(0, 1, 0, 0), 0.5f);
    memory.as<float>(0, 1, 0, 0) = 0; // (2^24 + 0.5) - 2^24
    InterpreterResult result =
        checkOutputs(graph, call, memory.reader(), memory.reader());
    EXPECT_EQ(result.wrongBits + result.outOfBound, isAny ? 0u : 2u);
  }
}

TEST(Interpreter, ChunksAreCutAtUnits) {
  EXPECT_EQ(chunkRange(10, 4, 0, 3).end, 4u);
  EXPECT_EQ(chunkRange(10, 4, 2, 3).begin, 8u);
  EXPECT_EQ(chunkRange(10, 4, 2, 3).end, 10u);
  EXPECT_EQ(chunkRange(3, 4, 1, 3).begin, 3u);
  EXPECT_EQ(chunkRange(3, 4, 1, 3).end, 3u);
  EXPECT_EQ(chunkRange(0, 8, 0, 1).end, 0u);
  uint64_t end = 0;
  for (uint32_t c = 0; c < 7; ++c) {
    EXPECT_EQ(chunkRange(1000003, 2, c, 7).begin, end);
    end = chunkRange(1000003, 2, c, 7).end;
  }
  EXPECT_EQ(end, 1000003u);
}

TEST(Interpreter, RefusesWhatHasNoMeaning) {
  ChunkGraph graph = ringAllreduceFp8(2, true);
  InterpreterCall call{.dtype = COLL_I32, .op = COLL_SUM, .count = 8};
  Memory memory(graph, call);
  EXPECT_NE(interpret(graph, call, memory.reader(), memory.writer()), "");
}

} // namespace
