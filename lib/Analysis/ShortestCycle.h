//===- ShortestCycle.h - The shortest circle of waits -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A deadlock may hold many circles of waits; the shortest says most. From every
// node a breadth-first search looks for the way back, no deeper than the best
// circle so far.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SHORTESTCYCLE_H
#define COLL_LIB_ANALYSIS_SHORTESTCYCLE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace coll {

/// `targets[i]`: the nodes that node i waits for; UINT32_MAX: none of these.
/// The result is of (node, index in its targets), each leading to the next, the
/// last to the first; empty: no circle. The first found of the shortest, and
/// of those found after `maxWork` edges the shortest there is.
inline std::vector<std::pair<uint32_t, uint32_t>>
shortestCycle(const std::vector<std::vector<uint32_t>> &targets,
              uint64_t maxWork = 1u << 20) {
  constexpr uint32_t none = UINT32_MAX;
  struct From {
    uint32_t node = none, edge = 0, start = none, depth = 0;
  };
  std::vector<From> from(targets.size());
  std::vector<std::pair<uint32_t, uint32_t>> best;
  uint64_t work = 0;
  auto search = [&](uint32_t start) {
    std::vector<uint32_t> queue{start};
    from[start] = {none, 0, start, 0};
    for (size_t head = 0; head < queue.size(); ++head) {
      const uint32_t node = queue[head], depth = from[node].depth;
      if (!best.empty() && depth + 1 >= best.size())
        return;
      for (uint32_t e = 0; e < targets[node].size(); ++e, ++work) {
        const uint32_t to = targets[node][e];
        if (to == start) {
          best = {{node, e}};
          for (uint32_t at = node; at != start; at = from[at].node)
            best.push_back({from[at].node, from[at].edge});
          std::reverse(best.begin(), best.end());
          return;
        }
        if (to == none || from[to].start == start)
          continue;
        from[to] = {node, e, start, depth + 1};
        queue.push_back(to);
      }
    }
  };
  for (uint32_t start = 0; start < targets.size(); ++start) {
    if (work > maxWork && !best.empty())
      break;
    search(start);
  }
  return best;
}

} // namespace coll

#endif // COLL_LIB_ANALYSIS_SHORTESTCYCLE_H
