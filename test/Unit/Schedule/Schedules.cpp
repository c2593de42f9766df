//===- Schedules.cpp - Schedules of docs/Language.md as chunk graphs ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Schedules.h"

#include <bit>

using namespace coll;
using namespace coll::test;

namespace coll::test {

using Ranks = std::vector<Rank>;
static Ranks allRanks(uint32_t n) {
  Ranks ranks;
  for (Rank r = 0; r < n; ++r)
    ranks.push_back(r);
  return ranks;
}

/// A frame for an all-reduce: `acc` starts as in, becomes out.
struct Allreduce : TestGraph {
  Array input, output, acc;
  Allreduce(std::vector<uint32_t> dims, uint32_t chunks,
            ElemType type = ElemType::T)
      : TestGraph(dims, true, chunks) {
    input = in();
    output = out();
    acc = tmp(1, type);
    each([&](Rank r, uint32_t c) { copy({input, r, 0, c}, {acc, r, 0, c}); });
    for (Rank r = 0; r < numRanks(); ++r)
      inplace(r, 0, 0);
  }
  void each(const std::function<void(Rank, uint32_t)> &body) {
    for (Rank r = 0; r < numRanks(); ++r)
      for (uint32_t c = 0; c < chunks(); ++c)
        body(r, c);
  }
  ChunkGraph done() {
    each([&](Rank r, uint32_t c) { copy({acc, r, 0, c}, {output, r, 0, c}); });
    markComplete();
    return finish();
  }
};

/// Of ranks g, on `width` chunks from first + i * width on for member i.
static void ringScatter(TestGraph &t, const Ranks &g, Array a, uint32_t first,
                        uint32_t width, std::optional<ElemType> via = {}) {
  uint32_t n = g.size();
  for (uint32_t s = 0; s + 1 < n; ++s)
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t k = 0; k < width; ++k) {
        uint32_t c = first + (i + n - s - 1) % n * width + k;
        t.reduce({a, g[i], 0, c}, {a, g[(i + 1) % n], 0, c}, via);
      }
}

static void ringGather(TestGraph &t, const Ranks &g, Array a, uint32_t first,
                       uint32_t width, std::optional<ElemType> via = {}) {
  uint32_t n = g.size();
  for (uint32_t s = 0; s + 1 < n; ++s)
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t k = 0; k < width; ++k) {
        uint32_t c = first + (i + n - s) % n * width + k;
        t.copy({a, g[i], 0, c}, {a, g[(i + 1) % n], 0, c}, via);
      }
}

ChunkGraph ringAllreduce(uint32_t n, MapDirectives map) {
  Allreduce t({n}, n);
  t.map() = map;
  ringScatter(t, allRanks(n), t.acc, 0, 1);
  ringGather(t, allRanks(n), t.acc, 0, 1);
  return t.done();
}

ChunkGraph ringAllreduceFp8(uint32_t n, bool ownerRounds) {
  Allreduce t({n}, n, ElemType::F32);
  ringScatter(t, allRanks(n), t.acc, 0, 1, ElemType::E4M3);
  if (ownerRounds)
    for (Rank r = 0; r < n; ++r)
      t.copy({t.acc, r, 0, r}, {t.acc, r, 0, r}, ElemType::E4M3);
  ringGather(t, allRanks(n), t.acc, 0, 1, ElemType::E4M3);
  return t.done();
}

ChunkGraph ringReduceScatter(uint32_t n) {
  TestGraph t({n}, true, 1);
  Array in = t.in(n), out = t.out(), acc = t.tmp(n);
  for (Rank r = 0; r < n; ++r) {
    t.inplace(r, r, 0);
    for (uint32_t p = 0; p < n; ++p)
      t.copy({in, r, p, 0}, {acc, r, p, 0});
  }
  for (uint32_t s = 0; s + 1 < n; ++s)
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t c = (i + n - s - 1) % n;
      t.reduce({acc, i, c, 0}, {acc, (i + 1) % n, c, 0});
    }
  for (Rank r = 0; r < n; ++r)
    t.copy({acc, r, r, 0}, {out, r, 0, 0});
  t.markComplete();
  return t.finish();
}

ChunkGraph ringAllgather(uint32_t n) {
  TestGraph t({n}, false, 1);
  Array in = t.in(), out = t.out(n);
  for (Rank r = 0; r < n; ++r) {
    t.inplace(r, 0, r);
    t.copy({in, r, 0, 0}, {out, r, r, 0});
  }
  for (uint32_t s = 0; s + 1 < n; ++s)
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t c = (i + n - s) % n;
      t.copy({out, i, c, 0}, {out, (i + 1) % n, c, 0});
    }
  return t.finish();
}

static uint32_t up(uint32_t r, uint32_t n) {
  uint32_t low = r & -r, high = (r ^ low) | low << 1;
  return high < n ? high : r ^ low;
}

ChunkGraph treeAllreduce(uint32_t n, uint32_t chunks, MapDirectives map) {
  Allreduce t({n}, chunks);
  t.map() = map;
  uint32_t levels = std::bit_width(n - 1);
  for (uint32_t k = 0; k < levels; ++k)
    for (Rank r = 1; r < n; ++r)
      for (uint32_t c = 0; c < chunks; ++c)
        if ((r & -r) == 1u << k)
          t.reduce({t.acc, r, 0, c}, {t.acc, up(r, n), 0, c});
  for (uint32_t k = levels; k-- > 0;)
    for (Rank r = 1; r < n; ++r)
      for (uint32_t c = 0; c < chunks; ++c)
        if ((r & -r) == 1u << k)
          t.copy({t.acc, up(r, n), 0, c}, {t.acc, r, 0, c});
  return t.done();
}

ChunkGraph binaryTreeAllreduce(uint32_t n) {
  Allreduce t({n}, 1);
  for (Rank r = n; --r > 0;)
    t.reduce({t.acc, r, 0, 0}, {t.acc, (r - 1) / 2, 0, 0});
  for (Rank r = 1; r < n; ++r)
    t.copy({t.acc, (r - 1) / 2, 0, 0}, {t.acc, r, 0, 0});
  return t.done();
}

ChunkGraph halvingDoubling(uint32_t n) {
  Allreduce t({n}, n);
  uint32_t levels = std::bit_width(n) - 1;
  for (uint32_t k = levels; k-- > 0;)
    for (Rank i = 0; i < n; ++i) {
      uint32_t d = 1u << k, q = i ^ d;
      for (uint32_t c = q / d * d; c < q / d * d + d; ++c)
        t.reduce({t.acc, i, 0, c}, {t.acc, q, 0, c});
    }
  for (uint32_t k = 0; k < levels; ++k)
    for (Rank i = 0; i < n; ++i) {
      uint32_t d = 1u << k;
      for (uint32_t c = i / d * d; c < i / d * d + d; ++c)
        t.copy({t.acc, i, 0, c}, {t.acc, i ^ d, 0, c});
    }
  return t.done();
}

ChunkGraph recursiveDoubling(uint32_t n) {
  Allreduce t({n}, 1);
  for (uint32_t d = 1; d < n; d *= 2)
    t.group([&] {
      for (Rank r = 0; r < n; ++r)
        t.reduce({t.acc, r, 0, 0}, {t.acc, r ^ d, 0, 0});
    });
  return t.done();
}

ChunkGraph alltoall(uint32_t n) {
  TestGraph t({n}, false, 1);
  Array in = t.in(n), out = t.out(n);
  for (Rank p = 0; p < n; ++p)
    for (Rank q = 0; q < n; ++q) {
      t.inplace(p, q, q);
      t.copy({in, p, q, 0}, {out, q, p, 0});
    }
  return t.finish();
}

ChunkGraph oneShot(uint32_t n) {
  TestGraph t({n}, true, 1);
  Array in = t.in(), out = t.out();
  for (Rank r = 0; r < n; ++r) {
    t.inplace(r, 0, 0);
    std::vector<Place> all;
    for (Rank q = 0; q < n; ++q)
      all.push_back({in, q, 0, 0});
    t.fold(all, {out, r, 0, 0});
  }
  t.markComplete();
  return t.finish();
}

ChunkGraph oneShotPush(uint32_t n) {
  TestGraph t({n}, true, 1);
  Array in = t.in(), out = t.out(), box = t.tmp(n);
  for (Rank q = 0; q < n; ++q)
    for (Rank r = 0; r < n; ++r)
      t.copy({in, q, 0, 0}, {box, r, q, 0});
  for (Rank r = 0; r < n; ++r) {
    t.inplace(r, 0, 0);
    std::vector<Place> all;
    for (Rank q = 0; q < n; ++q)
      all.push_back({box, r, q, 0});
    t.fold(all, {out, r, 0, 0});
  }
  t.markComplete();
  return t.finish();
}

ChunkGraph oneShotOwnFirst(uint32_t n) {
  Allreduce t({n}, 1);
  for (Rank r = 0; r < n; ++r)
    for (uint32_t i = 1; i < n; ++i)
      t.reduce({t.input, (r + i) % n, 0, 0}, {t.acc, r, 0, 0});
  return t.done();
}

ChunkGraph twoShot(uint32_t n) {
  TestGraph t({n}, true, n);
  Array in = t.in(), out = t.out(), sum = t.tmp();
  for (Rank r = 0; r < n; ++r) {
    t.inplace(r, 0, 0);
    std::vector<Place> all;
    for (Rank q = 0; q < n; ++q)
      all.push_back({in, q, 0, r});
    t.fold(all, {sum, r, 0, r});
    for (Rank q = 0; q < n; ++q)
      t.copy({sum, r, 0, r}, {out, q, 0, r});
  }
  t.markComplete();
  return t.finish();
}

ChunkGraph broadcastChain(uint32_t n, uint32_t chunks, Rank root) {
  TestGraph t({n}, false, chunks);
  Array in = t.in(1, root), out = t.out();
  t.inplace(root, 0, 0);
  for (uint32_t c = 0; c < chunks; ++c)
    t.copy({in, root, 0, c}, {out, root, 0, c});
  for (uint32_t c = 0; c < chunks; ++c)
    for (uint32_t i = 0; i + 1 < n; ++i)
      t.copy({out, (root + i) % n, 0, c}, {out, (root + i + 1) % n, 0, c});
  return t.finish();
}

ChunkGraph gatherBinomial(uint32_t n, Rank root) {
  TestGraph t({n}, false, 1);
  Array in = t.in(), out = t.out(n, root), got = t.tmp(n);
  t.inplace(root, 0, root);
  auto real = [&](uint32_t v) { return (root + v) % n; };
  for (uint32_t v = 0; v < n; ++v)
    t.copy({in, real(v), 0, 0}, {got, real(v), v, 0});
  for (uint32_t d = 1; d < n; d *= 2)
    for (uint32_t v = 1; v < n; ++v)
      if ((v & -v) == d)
        for (uint32_t h = v; h < std::min(v + d, n); ++h)
          t.copy({got, real(v), h, 0}, {got, real(v - d), h, 0});
  for (uint32_t v = 0; v < n; ++v)
    t.copy({got, root, v, 0}, {out, root, real(v), 0});
  return t.finish();
}

ChunkGraph reduceTree(uint32_t n, Rank root) {
  TestGraph t({n}, true, 1);
  Array in = t.in(), out = t.out(1, root), acc = t.tmp();
  t.inplace(root, 0, 0);
  for (Rank r = 0; r < n; ++r)
    t.copy({in, r, 0, 0}, {acc, r, 0, 0});
  for (uint32_t d = 1; d < n; d *= 2)
    for (uint32_t v = 1; v < n; ++v)
      if ((v & -v) == d)
        t.reduce({acc, (root + v) % n, 0, 0},
                 {acc, (root + up(v, n)) % n, 0, 0});
  t.copy({acc, root, 0, 0}, {out, root, 0, 0});
  t.markComplete();
  return t.finish();
}

ChunkGraph scatterDirect(uint32_t n, Rank root) {
  TestGraph t({n}, false, 1);
  Array in = t.in(n, root), out = t.out();
  t.inplace(root, root, 0);
  for (Rank r = 0; r < n; ++r)
    t.copy({in, root, r, 0}, {out, r, 0, 0});
  return t.finish();
}

ChunkGraph exchange(uint32_t n, uint32_t chunks) {
  TestGraph t({n}, false, chunks);
  Array in = t.in(), out = t.out();
  t.group([&] {
    for (Rank r = 0; r < n; ++r)
      for (uint32_t c = 0; c < chunks; ++c)
        t.copy({in, r, 0, c}, {out, r ^ 1, 0, c});
  });
  return t.finish();
}

ChunkGraph hierarchical(uint32_t m, uint32_t g) {
  Allreduce t({m, g}, g * m);
  auto node = [&](uint32_t i) {
    Ranks ranks;
    for (uint32_t j = 0; j < g; ++j)
      ranks.push_back(i * g + j);
    return ranks;
  };
  auto rail = [&](uint32_t j) {
    Ranks ranks;
    for (uint32_t i = 0; i < m; ++i)
      ranks.push_back(i * g + j);
    return ranks;
  };
  for (uint32_t i = 0; i < m; ++i)
    ringScatter(t, node(i), t.acc, 0, m);
  for (uint32_t j = 0; j < g; ++j) {
    ringScatter(t, rail(j), t.acc, j * m, 1);
    ringGather(t, rail(j), t.acc, j * m, 1);
  }
  for (uint32_t i = 0; i < m; ++i)
    ringGather(t, node(i), t.acc, 0, m);
  return t.done();
}

ChunkGraph alltoallTwoStep(uint32_t m, uint32_t g) {
  TestGraph t({m, g}, false, 1);
  uint32_t n = m * g;
  Array in = t.in(n), out = t.out(n), staged = t.tmp(n);
  for (uint32_t a = 0; a < m; ++a)
    for (uint32_t k = 0; k < m; ++k) {
      if (k == a)
        continue;
      for (uint32_t x = 0; x < g; ++x)
        for (uint32_t h = 0; h < g; ++h)
          t.copy({in, a * g + x, k * g + h, 0},
                 {staged, a * g + h, k * g + x, 0});
      for (uint32_t h = 0; h < g; ++h)
        for (uint32_t x = 0; x < g; ++x)
          t.copy({staged, a * g + h, k * g + x, 0},
                 {out, k * g + h, a * g + x, 0});
    }
  for (uint32_t a = 0; a < m; ++a)
    for (uint32_t x = 0; x < g; ++x)
      for (uint32_t h = 0; h < g; ++h)
        t.copy({in, a * g + x, a * g + h, 0}, {out, a * g + h, a * g + x, 0});
  for (Rank r = 0; r < n; ++r)
    for (uint32_t p = 0; p < n; ++p)
      t.inplace(r, p, p);
  return t.finish();
}

ChunkGraph scanLinear(uint32_t n) {
  Allreduce t({n}, 1);
  for (Rank r = 1; r < n; ++r)
    t.reduce({t.acc, r - 1, 0, 0}, {t.acc, r, 0, 0});
  for (Rank r = 0; r < n; ++r)
    t.copy({t.acc, r, 0, 0}, {t.output, r, 0, 0});
  return t.finish();
}

ChunkGraph reverseParts(uint32_t n) {
  TestGraph t({2}, false, 1);
  Array in = t.in(n), out = t.out(n);
  for (Rank r = 0; r < 2; ++r)
    for (uint32_t p = 0; p < n; ++p) {
      t.inplace(r, p, p);
      t.copy({in, r, n - 1 - p, 0}, {out, r, p, 0});
    }
  return t.finish();
}

ChunkGraph barrierDissemination(uint32_t n) {
  Allreduce t({n}, 1);
  t.useTokens();
  for (uint32_t d = 1; d < n; d *= 2)
    t.group([&] {
      for (Rank r = 0; r < n; ++r)
        t.reduce({t.acc, r, 0, 0}, {t.acc, (r + d) % n, 0, 0});
    });
  return t.done();
}

ChunkGraph twoBlockPipeline(uint32_t n, uint32_t chunks) {
  Allreduce t({n}, chunks);
  Mapping first, second;
  first.block = 0;
  second.block = 1;
  t.mapping(first);
  for (Rank r = 1; r < n; ++r)
    for (uint32_t c = 0; c < chunks; ++c)
      t.reduce({t.acc, r - 1, 0, c}, {t.acc, r, 0, c});
  t.mapping(second);
  for (Rank r = n - 1; r > 0; --r)
    for (uint32_t c = 0; c < chunks; ++c)
      t.copy({t.acc, r, 0, c}, {t.acc, r - 1, 0, c});
  return t.done();
}

ChunkGraph ringAlternating(uint32_t n) {
  Allreduce t({n}, n);
  Mapping even, odd;
  even.block = 0;
  odd.block = 1;
  for (uint32_t s = 0; s + 1 < n; ++s) {
    t.mapping(s % 2 ? odd : even);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t c = (i + n - s - 1) % n;
      t.reduce({t.acc, i, 0, c}, {t.acc, (i + 1) % n, 0, c});
    }
  }
  for (uint32_t s = 0; s + 1 < n; ++s) {
    t.mapping(s % 2 ? even : odd);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t c = (i + n - s) % n;
      t.copy({t.acc, i, 0, c}, {t.acc, (i + 1) % n, 0, c});
    }
  }
  return t.done();
}

ChunkGraph relay(uint32_t n, uint32_t chunks) {
  TestGraph t({n}, false, chunks);
  Array in = t.in(1, 0u), out = t.out(1, n - 1), box = t.tmp();
  Mapping even, odd;
  even.block = 0;
  odd.block = 1;
  for (Rank r = 0; r + 1 < n; ++r) {
    t.mapping(r % 2 ? odd : even);
    for (uint32_t c = 0; c < chunks; ++c)
      t.copy({r ? box : in, r, 0, c}, {r + 2 == n ? out : box, r + 1, 0, c});
  }
  if (n == 1)
    for (uint32_t c = 0; c < chunks; ++c)
      t.copy({in, 0, 0, c}, {out, 0, 0, c});
  return t.finish();
}

ChunkGraph sharedSum(uint32_t n) {
  TestGraph t({2}, true, 1);
  Array in = t.in(n), out = t.out(n, 0u), sum = t.tmp(), box = t.tmp(n);
  t.fold({{in, 1, 0, 0}, {in, 0, 0, 0}}, {sum, 0, 0, 0});
  for (uint32_t p = 0; p < n; ++p)
    t.copy({in, 1, p, 0}, {box, 0, p, 0});
  for (uint32_t p = 0; p < n; ++p)
    t.fold({{sum, 0, 0, 0}, {box, 0, p, 0}}, {out, 0, p, 0});
  return t.finish();
}

std::vector<Named> allSchedules() {
  std::vector<Named> all;
  auto add = [&](std::string name, ChunkGraph graph) {
    all.push_back({std::move(name), std::move(graph)});
  };
  for (uint32_t n : {1u, 2u, 3u, 4u, 7u, 8u}) {
    std::string of = "/" + std::to_string(n);
    add("ringAllreduce" + of, ringAllreduce(n));
    add("ringFp8" + of, ringAllreduceFp8(n, true));
    add("ringFp8Bad" + of, ringAllreduceFp8(n, false));
    add("ringReduceScatter" + of, ringReduceScatter(n));
    add("ringAllgather" + of, ringAllgather(n));
    add("tree" + of, treeAllreduce(n, 1));
    add("tree8" + of, treeAllreduce(n, 8));
    add("alltoall" + of, alltoall(n));
    add("oneShot" + of, oneShot(n));
    add("oneShotPush" + of, oneShotPush(n));
    add("oneShotOwnFirst" + of, oneShotOwnFirst(n));
    add("twoShot" + of, twoShot(n));
    add("broadcastChain" + of, broadcastChain(n, 5, n / 2));
    add("gatherBinomial" + of, gatherBinomial(n, n / 3));
    add("reduceTree" + of, reduceTree(n, n / 2));
    add("scatter" + of, scatterDirect(n, n / 2));
    add("scan" + of, scanLinear(n));
    add("barrier" + of, barrierDissemination(n));
    add("twoBlocks" + of, twoBlockPipeline(n, 4));
    add("ringAlternating" + of, ringAlternating(n));
    add("relay" + of, relay(n, 2));
    add("sharedSum" + of, sharedSum(n));
    MapDirectives map;
    map.blocks = 2;
    add("ringInBlocks" + of, ringAllreduce(n, map));
    add("treeInBlocks" + of, treeAllreduce(n, 3, map));
    map.blocks = 1;
    map.channels = 3;
    add("ringOnChannels" + of, ringAllreduce(n, map));
    map.channels = 1;
    map.sourceOrder = true;
    add("ringAsWritten" + of, ringAllreduce(n, map));
    add("treeAsWritten" + of, treeAllreduce(n, 3, map));
    if ((n & (n - 1)) == 0) {
      add("halvingDoubling" + of, halvingDoubling(n));
      add("recursiveDoubling" + of, recursiveDoubling(n));
    }
    if (n % 2 == 0)
      add("exchange" + of, exchange(n, 9));
    add("reverseParts" + of, reverseParts(n));
  }
  for (auto [m, g] :
       {std::pair(1u, 2u), std::pair(2u, 2u), std::pair(3u, 4u)}) {
    std::string of = "/" + std::to_string(m) + "x" + std::to_string(g);
    add("hierarchical" + of, hierarchical(m, g));
    add("alltoallTwoStep" + of, alltoallTwoStep(m, g));
  }
  return all;
}

} // namespace coll::test
