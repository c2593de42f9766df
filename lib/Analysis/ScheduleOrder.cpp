//===- ScheduleOrder.cpp - Which value comes before which -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values by depth: how many hops from the inputs. Among equals, what has the
// longer way to go comes first, and then what looks alike comes together: a
// signature, hashed from the past and the future of a value, holds hops and
// displacements but no ranks and no chunks, so it orders the chunks of all
// ranks of a symmetric schedule alike. It comes in two: one takes a
// displacement and its opposite for the same, as an exchange with r ^ d needs
// it, one tells them apart. What is still equal keeps the order of the source.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/SchedulePlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace coll;
using namespace coll::sched;

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t hash = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 31;
}

namespace {
struct Signature {
  uint64_t folded = 1, exact = 1;
  Signature &operator+=(const Signature &other) {
    folded += other.folded;
    exact += other.exact;
    return *this;
  }
};

/// What is known of one value.
struct Place {
  uint32_t depth = 0, localDepth = 0, height = 0;
  Signature past, future;
};
} // namespace

static Signature along(const Signature &signature, uint32_t folded,
                       uint32_t exact) {
  return {mix(signature.folded, folded), mix(signature.exact, exact)};
}

void Plan::chooseOrder() {
  const size_t n = graph.values.size();
  std::vector<Place> places(n);
  // A use by another rank, and one that waits for another rank, is a hop.
  auto forEachUse = [&](ValueId v, auto body) {
    const Value &value = graph.values[v];
    bool receives = firstMessage[v] != firstMessage[v + 1];
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      ValueId operand = graph.operandsOf(value)[i].value;
      Rank from = graph.values[operand].rank;
      bool isLocal = from == value.rank;
      body(operand, isLocal, !isLocal || receives,
           isLocal ? 0 : folded[displacement(from, value.rank)] + 1,
           isLocal ? 0 : displacement(from, value.rank) + 1);
    }
  };
  for (ValueId v = 0; v < n; ++v) {
    if (roles[v] != Role::Step)
      continue;
    Place &place = places[v];
    place.depth = firstMessage[v] != firstMessage[v + 1];
    forEachUse(v, [&](ValueId operand, bool, bool isHop, uint32_t folded,
                      uint32_t exact) {
      const Place &from = places[operand];
      place.past += along(from.past, folded, exact);
      if (roles[operand] != Role::Step)
        return;
      place.depth = std::max(place.depth, from.depth + isHop);
      if (!isHop && from.depth >= place.depth)
        place.localDepth = std::max(place.localDepth, from.localDepth + 1);
    });
    order.push_back(v);
  }
  for (ValueId v = n; v-- > 0;) {
    if (roles[v] != Role::Step)
      continue;
    places[v].future.folded += firstOutput[v + 1] - firstOutput[v];
    places[v].future.exact += firstOutput[v + 1] - firstOutput[v];
    forEachUse(v, [&](ValueId operand, bool, bool isHop, uint32_t folded,
                      uint32_t exact) {
      places[operand].height =
          std::max(places[operand].height, places[v].height + isHop);
      places[operand].future += along(places[v].future, folded, exact);
    });
  }
  if (!graph.map.sourceOrder)
    llvm::sort(order, [&](ValueId a, ValueId b) {
      const Place &x = places[a], &y = places[b];
      if (x.depth != y.depth)
        return x.depth < y.depth;
      if (x.localDepth != y.localDepth)
        return x.localDepth < y.localDepth;
      if (x.height != y.height)
        return x.height > y.height;
      auto signature = [](const Place &p, ValueId v) {
        return std::tuple(mix(p.past.folded, p.future.folded),
                          mix(p.past.exact, p.future.exact), v);
      };
      return signature(x, a) < signature(y, b);
    });
  orderOf.assign(n, 0);
  for (uint32_t i = 0; i < order.size(); ++i)
    orderOf[order[i]] = i;
}
