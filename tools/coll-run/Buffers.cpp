//===- Buffers.cpp - What a rank's buffers look like ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Buffers.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace coll;

std::vector<BufferLayout> coll::layoutOf(const Row &row, Rank rank) {
  std::vector<BufferLayout> layouts;
  for (const Buffer &buffer : row.graph->buffers) {
    BufferLayout layout;
    uint64_t elements = 0;
    bool has = buffer.kind != Buffer::Scalar && buffer.present[rank];
    for (uint32_t p = 0; has && p < buffer.parts; ++p) {
      layout.firstElement.push_back(elements);
      elements = llvm::SaturatingAdd(
          elements,
          buffer.kind == Buffer::RowArg
              ? row.call.row
              : elementsOf(*row.graph, buffer.sizeOf(rank, p), row.call));
    }
    layout.bytes =
        llvm::SaturatingMultiply<uint64_t>(elements, bytesOf(row.call.dtype));
    layouts.push_back(layout);
  }
  return layouts;
}

std::vector<size_t> coll::countsOf(const Row &row, Rank rank) {
  const ChunkGraph &graph = *row.graph;
  if (row.call.row)
    return {row.call.count / row.call.row, row.call.row};
  if (graph.launchCounts.empty())
    return {row.call.count};
  if (graph.globalCounts)
    return {row.call.counts.begin(), row.call.counts.end()};
  std::set<uint64_t> given;
  for (const Buffer &buffer : graph.buffers)
    for (uint32_t p = 0; p < buffer.parts; ++p)
      if (const SizeSymbol &s = graph.sizes[buffer.sizeOf(rank, p)];
          buffer.present[rank] && s.kind == SizeSymbol::Launch)
        given.insert(s.value);
  std::vector<size_t> counts;
  for (uint64_t index : given)
    counts.push_back(row.call.counts[index]);
  return counts;
}

static uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ x >> 31;
}

namespace {
/// Where sign, exponent and mantissa of a float format lie.
struct FloatBits {
  unsigned mantissa, bias, signBit;
};
} // namespace

/// A float with random sign and mantissa and one of `exponents` exponents that
/// end at that of 1.
static uint64_t randomFloat(uint64_t random, FloatBits f, unsigned exponents) {
  uint64_t mantissa = random & ((uint64_t(1) << f.mantissa) - 1);
  uint64_t exponent = f.bias - (random >> 56) % exponents;
  return (random >> 55 & 1) << f.signBit | exponent << f.mantissa | mantissa;
}

template <typename T, typename F>
static void generate(void *data, uint64_t elements, uint64_t key, F element) {
  T *out = static_cast<T *>(data);
  for (uint64_t i = 0; i < elements; ++i)
    out[i] = static_cast<T>(element(mix(key + i * 0x9e3779b97f4a7c15)));
}

void coll::fillRandom(void *data, uint64_t elements, const Row &row,
                      uint64_t seed, Rank rank, uint32_t buffer) {
  Rank seedRank = row.graph->isSame(buffer) ? 0 : rank;
  uint64_t key = mix(seed * 0x9e3779b97f4a7c15 +
                     mix(uint64_t(seedRank) << 32 | buffer) + row.bytes);
  unsigned exponents = row.call.op == COLL_PROD ? 1 : 5;
  auto bits = [](uint64_t random) { return random; };
  auto floats = [&](FloatBits f) {
    return [=](uint64_t random) { return randomFloat(random, f, exponents); };
  };
  switch (row.call.dtype) {
  case COLL_I8:
  case COLL_U8:
    return generate<uint8_t>(data, elements, key, bits);
  case COLL_I32:
  case COLL_U32:
    return generate<uint32_t>(data, elements, key, bits);
  case COLL_I64:
  case COLL_U64:
    return generate<uint64_t>(data, elements, key, bits);
  case COLL_F16:
    return generate<uint16_t>(data, elements, key, floats({10, 15, 15}));
  case COLL_BF16:
    return generate<uint16_t>(data, elements, key, floats({7, 127, 15}));
  case COLL_F32:
    return generate<uint32_t>(data, elements, key, floats({23, 127, 31}));
  case COLL_F64:
    return generate<uint64_t>(data, elements, key, floats({52, 1023, 63}));
  case COLL_E4M3:
    return generate<uint8_t>(data, elements, key, floats({3, 7, 7}));
  case COLL_E5M2:
    return generate<uint8_t>(data, elements, key, floats({2, 15, 7}));
  }
}

bool coll::hasCounts(const ChunkGraph &graph) {
  return std::any_of(
      graph.sizes.begin(), graph.sizes.end(),
      [](const SizeSymbol &s) { return s.kind != SizeSymbol::Const; });
}

bool coll::hasElements(const ChunkGraph &graph) {
  return std::any_of(graph.sizes.begin(), graph.sizes.end(),
                     [](const SizeSymbol &s) { return !s.isToken(); });
}

uint64_t coll::mostParts(const ChunkGraph &graph) {
  uint64_t parts = 1;
  for (const Buffer &buffer : graph.buffers)
    if (buffer.kind == Buffer::In || buffer.kind == Buffer::Out)
      parts = std::max<uint64_t>(parts, buffer.parts);
  return parts;
}

uint64_t coll::elementsFor(const ChunkGraph &graph, uint64_t bytes,
                           uint32_t elementBytes) {
  return bytes / (mostParts(graph) * elementBytes);
}

std::vector<uint64_t> coll::unevenCounts(const ChunkGraph &graph,
                                         uint64_t elements, uint64_t seed) {
  uint64_t entries = 1;
  for (uint32_t d : graph.launchCountDims)
    entries *= d;
  std::vector<uint64_t> counts(entries);
  for (uint64_t i = 0; i < entries; ++i) {
    uint64_t random = mix(seed + i * 0x9e3779b97f4a7c15);
    counts[i] = random % 7 == 0 ? 0 : elements - random % (elements / 2 + 1);
  }
  return counts;
}
