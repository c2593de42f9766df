//===- ElaborateParts.h - Cells that have to do with each other -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration. A schedule of many chunks is executed in parts,
// if all of its values at once would take too much memory: a first run moves no
// values, but joins the cells between which elements go, whatever the rank;
// then cells that were not joined have nothing to do with each other, and each
// further run executes some of the groups and leaves out the others. Inputs are
// in all of them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATEPARTS_H
#define COLL_LIB_ANALYSIS_ELABORATEPARTS_H

#include "lib/Analysis/ElaborateFacts.h"

#include <numeric>

namespace coll::elab {

class CellGroups {
public:
  bool isJoining() const { return current == kNone; }
  /// In the order of their numbers.
  void addArray(uint32_t cells) {
    if (!isJoining())
      return;
    first.push_back(parent.size());
    parent.resize(parent.size() + cells);
    std::iota(parent.begin() + first.back(), parent.end(), first.back());
    weight.resize(parent.size());
  }
  uint32_t node(uint32_t array, uint32_t cell) const {
    return first[array] + cell;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a != b)
      parent[std::max(a, b)] = std::min(a, b);
  }
  /// A value is made there.
  void count(uint32_t node) {
    ++weight[node];
    ++numValues;
  }
  uint64_t size() const { return numValues; }

  /// Deals the groups out to parts of at most `most` values, but for groups
  /// that have more, and returns how many parts there are.
  uint32_t split(uint64_t most);
  /// From now on only these cells are there.
  void select(uint32_t part) { current = part; }
  bool has(uint32_t array, uint32_t cell) const {
    return partOf[first[array] + cell] == current;
  }

private:
  uint32_t find(uint32_t node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  }
  std::vector<uint32_t> first, parent, weight, partOf;
  uint64_t numValues = 0;
  uint32_t current = kNone;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEPARTS_H
