//===- SymmetryCells.cpp - How locations change when ranks turn -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/SymmetryCells.h"

using namespace coll;
using namespace coll::elab;

/// Kept per array, or symmetry is not worth it.
constexpr uint64_t maxDegrees = 1u << 22;
/// Kinds of access that differ; loops whose iterations are different views.
constexpr size_t maxUses = 1u << 14;

void SymmetryCells::addArray(const Array &array,
                             llvm::ArrayRef<uint32_t> chunkDims) {
  if (actions.empty()) {
    Action &chunks = actions.emplace_back();
    chunks.sizes.assign(chunkDims.begin(), chunkDims.end());
    chunks.dims.assign(chunkDims.size(), stays);
  }
  bool hasChunks = array.buffer != kNone && !array.isBroadcast;
  ArrayPlan plan;
  plan.own = actions.size();
  plan.numAxes = array.isBroadcast ? 0 : array.dims.size();
  plan.numOwn = plan.numAxes - (hasChunks ? chunkDims.size() : 0);
  plan.phaseAxis.assign(rankDims.size(), byRank);
  Action &own = actions.emplace_back();
  own.sizes.assign(array.dims.begin(), array.dims.begin() + plan.numOwn);
  own.dims.assign(plan.numOwn, stays);
  arrays.push_back(std::move(plan));
}

//===----------------------------------------------------------------------===//
// Learning
//===----------------------------------------------------------------------===//

static void encode(std::vector<int64_t> &key, uint32_t array,
                   const ViewUse &use) {
  key.push_back(array);
  for (const AxisUse &axis : use.axes) {
    key.push_back(axis.kind);
    if (axis.kind == AxisUse::At) {
      key.push_back(axis.turn.kind);
      // Where the one rank is tells nothing.
      key.push_back(axis.turn.isFixed() ? axis.at : axis.turn.dim);
      key.push_back(axis.turn.degree);
    } else if (axis.kind == AxisUse::Part) {
      key.insert(key.end(), {axis.low, axis.size, axis.step});
    }
  }
}

void SymmetryCells::note(uint32_t array, const ViewUse &use) {
  std::vector<int64_t> key;
  encode(key, array, use);
  if (seen.size() < maxUses && seen.insert(std::move(key)).second)
    uses.push_back({array, use});
}

void SymmetryCells::notePair(uint32_t to, const ViewUse &toUse, uint32_t from,
                             const ViewUse &fromUse) {
  std::vector<int64_t> key;
  encode(key, to, toUse);
  encode(key, from, fromUse);
  if (seen.size() < maxUses && seen.insert(std::move(key)).second)
    pairs.push_back({to, from, toUse, fromUse});
}

uint8_t &SymmetryCells::dimOf(uint32_t array, uint32_t axis) {
  auto [action, local] = actionOf(arrays[array], axis);
  return actions[action].dims[local];
}

bool SymmetryCells::setDim(uint32_t array, uint32_t axis, uint8_t dim,
                           bool &changed) {
  auto [action, local] = actionOf(arrays[array], axis);
  uint8_t &known = actions[action].dims[local];
  if (known == dim)
    return true;
  if (known != stays || actions[action].sizes[local] != rankDims[dim])
    return false;
  known = dim;
  return changed = true;
}

/// The axes that a view has, in order; others are indexes.
static llvm::SmallVector<uint32_t, 4> rangesOf(const ViewUse &use) {
  llvm::SmallVector<uint32_t, 4> axes;
  for (uint32_t a = 0; a < use.axes.size(); ++a)
    if (use.axes[a].kind != AxisUse::At)
      axes.push_back(a);
  return axes;
}

bool SymmetryCells::solveAxes() {
  bool changed = true, ok = true;
  while (changed && ok) {
    changed = false;
    for (const auto &[array, use] : uses)
      for (uint32_t a = 0; a < use.axes.size(); ++a)
        if (use.axes[a].kind == AxisUse::At &&
            use.axes[a].turn.kind == Turn::Index)
          ok &= setDim(array, a, use.axes[a].turn.dim, changed);
    for (const Pair &pair : pairs) {
      llvm::SmallVector<uint32_t, 4> to = rangesOf(pair.toUse),
                                     from = rangesOf(pair.fromUse);
      if (to.size() != from.size())
        return false;
      for (size_t i = 0; i < to.size(); ++i) {
        uint8_t dimTo = dimOf(pair.to, to[i]),
                dimFrom = dimOf(pair.from, from[i]);
        if (dimFrom != stays)
          ok &= setDim(pair.to, to[i], dimFrom, changed);
        else if (dimTo != stays)
          ok &= setDim(pair.from, from[i], dimTo, changed);
      }
    }
  }
  return ok;
}

uint32_t *SymmetryCells::degreeAt(uint32_t array, uint32_t axis,
                                  llvm::ArrayRef<uint32_t> coords) {
  const ArrayPlan &plan = arrays[array];
  auto [index, local] = actionOf(plan, axis);
  Action &action = actions[index];
  uint32_t first = index == plan.own ? 0 : plan.numOwn, key = 0;
  for (uint32_t a = 0; a < action.sizes.size(); ++a)
    if (action.dims[a] == stays)
      key = key * action.sizes[a] + coords[first + a];
  return &action.degrees[size_t(key) * action.sizes.size() + local];
}

bool SymmetryCells::setDegree(uint32_t array, uint32_t axis,
                              llvm::ArrayRef<uint32_t> coords, uint32_t degree,
                              bool &changed) {
  uint32_t &known = *degreeAt(array, axis, coords);
  if (known == degree)
    return true;
  if (known != 0)
    return false;
  known = degree;
  return changed = true;
}

/// Calls fn(coords) for all that the view's axes that stay can be at.
template <typename Fn>
bool SymmetryCells::forEachStaying(uint32_t array, const ViewUse &use, Fn fn) {
  llvm::SmallVector<uint32_t, maxDims> coords(use.axes.size());
  auto walk = [&](auto &self, uint32_t axis) -> bool {
    if (axis == use.axes.size())
      return fn(coords);
    const AxisUse &at = use.axes[axis];
    auto [action, local] = actionOf(arrays[array], axis);
    coords[axis] = at.kind == AxisUse::At && at.turn.isFixed() ? at.at : 0;
    if (dimOf(array, axis) != stays || at.kind == AxisUse::At)
      return self(self, axis + 1);
    bool isWhole = at.kind == AxisUse::Whole;
    int64_t n = isWhole ? actions[action].sizes[local] : at.size;
    for (int64_t i = 0; i < n; ++i) {
      coords[axis] = isWhole ? i : at.low + i * at.step;
      if (!self(self, axis + 1))
        return false;
    }
    return true;
  };
  return walk(walk, 0);
}

bool SymmetryCells::applyUse(uint32_t array, const ViewUse &use,
                             bool &changed) {
  return forEachStaying(array, use, [&](llvm::ArrayRef<uint32_t> coords) {
    for (uint32_t a = 0; a < use.axes.size(); ++a)
      if (use.axes[a].kind == AxisUse::At &&
          use.axes[a].turn.kind == Turn::Index &&
          !setDegree(array, a, coords, use.axes[a].turn.degree, changed))
        return false;
    return true;
  });
}

bool SymmetryCells::applyPair(const Pair &pair, bool &changed) {
  llvm::SmallVector<uint32_t, 4> to = rangesOf(pair.toUse),
                                 from = rangesOf(pair.fromUse);
  llvm::SmallVector<uint32_t, maxDims> fromCoords(pair.fromUse.axes.size());
  for (uint32_t a = 0; a < fromCoords.size(); ++a)
    if (pair.fromUse.axes[a].kind == AxisUse::At &&
        pair.fromUse.axes[a].turn.isFixed())
      fromCoords[a] = pair.fromUse.axes[a].at;
  return forEachStaying(
      pair.to, pair.toUse, [&](llvm::ArrayRef<uint32_t> coords) {
        for (size_t i = 0; i < to.size(); ++i) {
          const AxisUse &t = pair.toUse.axes[to[i]],
                        &f = pair.fromUse.axes[from[i]];
          if (dimOf(pair.to, to[i]) != stays)
            continue;
          int64_t nth = t.kind == AxisUse::Whole
                            ? coords[to[i]]
                            : (coords[to[i]] - t.low) / t.step;
          fromCoords[from[i]] =
              f.kind == AxisUse::Whole ? nth : f.low + nth * f.step;
        }
        for (size_t i = 0; i < to.size(); ++i) {
          if (dimOf(pair.to, to[i]) == stays)
            continue;
          uint32_t *a = degreeAt(pair.to, to[i], coords),
                   *b = degreeAt(pair.from, from[i], fromCoords);
          if (*a != 0 && *b != 0 && *a != *b)
            return false;
          changed |= *a != *b;
          *a = *b = std::max(*a, *b);
        }
        return true;
      });
}

bool SymmetryCells::solveDegrees() {
  for (Action &action : actions) {
    uint64_t keys = 1;
    for (uint32_t a = 0; a < action.sizes.size(); ++a)
      if (action.dims[a] == stays)
        keys *= action.sizes[a];
    if (keys * action.sizes.size() > maxDegrees)
      return false;
    action.numKeys = keys;
    action.degrees.assign(keys * action.sizes.size(), 0);
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto &[array, use] : uses)
      if (!applyUse(array, use, changed))
        return false;
    for (const Pair &pair : pairs)
      if (!applyPair(pair, changed))
        return false;
  }
  // Where nobody looks, one direction is as good as the other.
  for (Action &action : actions)
    for (size_t i = 0; i < action.degrees.size(); ++i) {
      bool turns = action.dims[i % action.sizes.size()] != stays;
      uint32_t &degree = action.degrees[i];
      degree = turns ? std::max<uint32_t>(degree, 1) : 0;
    }
  return true;
}

bool SymmetryCells::mayBePhase(const ArrayPlan &plan, uint32_t axis,
                               unsigned dim) const {
  auto [index, local] = actionOf(plan, axis);
  const Action &action = actions[index];
  if (action.dims[local] != dim)
    return false;
  for (uint32_t key = 0; key < action.numKeys; ++key) {
    uint32_t degree = action.degrees[key * action.sizes.size() + local];
    if (degree != 1 && degree != rankDims[dim] - 1)
      return false;
  }
  return true;
}

void SymmetryCells::choosePhases() {
  for (ArrayPlan &plan : arrays)
    for (unsigned d = 0; d < rankDims.size(); ++d)
      for (uint32_t axis = 0; axis < plan.numAxes; ++axis)
        if (active[d] && plan.phaseAxis[d] == byRank &&
            mayBePhase(plan, axis, d))
          plan.phaseAxis[d] = axis;
}

bool SymmetryCells::solve() {
  if (seen.size() >= maxUses || actions.empty() || !solveAxes() ||
      !solveDegrees())
    return false;
  choosePhases();
  return true;
}

//===----------------------------------------------------------------------===//
// Using what was learned
//===----------------------------------------------------------------------===//

SymmetryCells::Spot SymmetryCells::spot(uint32_t array, uint32_t cell) const {
  const ArrayPlan &plan = arrays[array];
  Spot spot;
  spot.array = array;
  spot.cell = cell;
  spot.numAxes = plan.numAxes;
  for (uint32_t a = plan.numAxes, rest = cell; a-- > 0;) {
    auto [index, local] = actionOf(plan, a);
    uint32_t size = actions[index].sizes[local];
    spot.at[a] = rest % size;
    rest /= size;
  }
  auto degrees = [&](uint32_t index, uint32_t first) {
    const Action &action = actions[index];
    uint32_t key = 0, n = action.sizes.size();
    for (uint32_t a = 0; a < n; ++a)
      if (action.dims[a] == stays)
        key = key * action.sizes[a] + spot.at[first + a];
    for (uint32_t a = 0; a < n; ++a) {
      spot.dim[first + a] = action.dims[a];
      spot.degree[first + a] = action.degrees[size_t(key) * n + a];
    }
  };
  degrees(plan.own, 0);
  if (plan.numAxes > plan.numOwn)
    degrees(0, plan.numOwn);
  return spot;
}

uint32_t SymmetryCells::turned(const Spot &spot, const Steps &by) const {
  const ArrayPlan &plan = arrays[spot.array];
  uint64_t cell = 0;
  for (uint32_t a = 0; a < spot.numAxes; ++a) {
    auto [index, local] = actionOf(plan, a);
    uint64_t at = spot.at[a], size = actions[index].sizes[local];
    if (spot.dim[a] != stays)
      at = (at + uint64_t(by[spot.dim[a]]) * spot.degree[a]) % size;
    cell = cell * size + at;
  }
  return cell;
}

uint32_t SymmetryCells::phase(const Spot &spot, uint32_t rankAt,
                              unsigned dim) const {
  uint8_t axis = arrays[spot.array].phaseAxis[dim];
  if (axis == byRank)
    return rankAt;
  uint32_t at = spot.at[axis];
  return spot.degree[axis] == 1 || at == 0 ? at : rankDims[dim] - at;
}

bool SymmetryCells::fits(const ViewUse &use, const Spot &spot) const {
  if (!use.isKnown)
    return false;
  for (uint32_t a = 0; a < use.axes.size(); ++a) {
    const AxisUse &axis = use.axes[a];
    bool turns = spot.dim[a] != stays;
    bool ok = !turns;
    if (axis.kind == AxisUse::Whole)
      ok = true;
    else if (axis.kind == AxisUse::At && axis.turn.kind == Turn::Index)
      ok = turns && spot.dim[a] == axis.turn.dim &&
           spot.degree[a] == axis.turn.degree;
    else if (axis.kind == AxisUse::At)
      ok = !turns && axis.turn.isFixed();
    if (!ok)
      return false;
  }
  return true;
}

bool SymmetryCells::fits(const ViewUse &to, const Spot &toSpot,
                         const ViewUse &from, const Spot &fromSpot) const {
  uint32_t b = 0;
  for (uint32_t a = 0; a < to.axes.size(); ++a) {
    if (to.axes[a].kind == AxisUse::At)
      continue;
    while (from.axes[b].kind == AxisUse::At)
      ++b;
    bool isSame =
        toSpot.dim[a] == fromSpot.dim[b] &&
        (toSpot.dim[a] == stays || toSpot.degree[a] == fromSpot.degree[b]);
    if (!isSame)
      return false;
    ++b;
  }
  return true;
}

bool SymmetryCells::reconcile(const Spot &a, uint32_t rankA, const Spot &b,
                              uint32_t rankB, unsigned dim) {
  ArrayPlan &planA = arrays[a.array], &planB = arrays[b.array];
  uint8_t oldA = planA.phaseAxis[dim], oldB = planB.phaseAxis[dim];
  auto candidates = [&](const ArrayPlan &plan, uint8_t now) {
    llvm::SmallVector<uint8_t, 4> list{now};
    for (uint32_t axis = 0; axis < plan.numAxes; ++axis)
      if (axis != now && mayBePhase(plan, axis, dim))
        list.push_back(axis);
    if (now != byRank)
      list.push_back(byRank);
    return list;
  };
  for (uint8_t x : candidates(planA, oldA))
    for (uint8_t y : candidates(planB, oldB)) {
      planA.phaseAxis[dim] = x, planB.phaseAxis[dim] = y;
      if (phase(a, rankA, dim) == phase(b, rankB, dim)) {
        planA.changes += x != oldA, planB.changes += y != oldB;
        return planA.changes <= 4 && planB.changes <= 4;
      }
    }
  planA.phaseAxis[dim] = oldA, planB.phaseAxis[dim] = oldB;
  return false;
}
