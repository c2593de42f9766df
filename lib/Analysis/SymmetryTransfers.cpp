//===- SymmetryTransfers.cpp - copy and reduce within a slice -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element goes from a location to one of the same phase, or from a leaf,
// which is in every slice. Turned to phase 0 it is an element of the slice.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/SymmetryRun.h"

#include "llvm/ADT/DenseSet.h"

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// Turning
//===----------------------------------------------------------------------===//

Steps SymmetryRun::stepsTo(const SymmetryCells::Spot &spot, Rank rank) const {
  Steps by(dims.size());
  for (unsigned d = 0; d < dims.size(); ++d)
    if (active[d]) {
      uint32_t phase = cells.phase(spot, coord(rank, d), d);
      by[d] = phase == 0 ? 0 : dims[d] - phase;
    }
  return by;
}

Rank SymmetryRun::turnedRank(Rank rank, const Steps &by) const {
  Rank result = 0;
  for (unsigned d = 0; d < dims.size(); ++d) {
    uint32_t at = coord(rank, d) + by[d];
    result += (at >= dims[d] ? at - dims[d] : at) * strides[d];
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Iterations that touch the same location
//===----------------------------------------------------------------------===//

SymmetryRun::Key SymmetryRun::keyOf(const Steps &by) const {
  Key key;
  for (unsigned d = 0; d < dims.size(); ++d)
    if (active[d]) {
      unsigned i = activeIndex[d];
      key.epoch[i] = epoch[i], key.stamp[i] = stamp[i], key.phase[i] = by[d];
    }
  return key;
}

/// One rank of each set that is turned into itself.
llvm::SmallVector<Rank, 4> SymmetryRun::ownRanks() const {
  llvm::SmallVector<Rank, 4> ranks;
  for (Rank rank = 0; rank < m.graph.numRanks(); ++rank) {
    bool isFirst = true;
    for (unsigned d = 0; d < dims.size(); ++d)
      isFirst &= !active[d] || coord(rank, d) == 0;
    if (isFirst)
      ranks.push_back(rank);
  }
  return ranks;
}

/// Of one execution of a loop over ranks, but of different iterations.
bool SymmetryRun::isClash(const Key &a, const Key &b, unsigned d) const {
  return a.epoch[d] != 0 && a.epoch[d] == b.epoch[d] &&
         (a.stamp[d] != b.stamp[d] || a.phase[d] != b.phase[d]);
}

/// The bounds of Limits fit: 2^20 arrays, 2^16 ranks, 2^24 cells.
static uint64_t placeKey(uint32_t array, Rank rank, uint32_t cell) {
  assert(array < maxArrays && rank < 1u << 16 && cell < 1u << 24);
  return uint64_t(array) << 40 | uint64_t(rank) << 24 | cell;
}

bool SymmetryRun::noteRead(uint32_t array, Rank rank, uint32_t cell,
                           const Key &key) {
  Accesses &known = accesses[placeKey(array, rank, cell)];
  for (unsigned d = 0; d < maxActive; ++d) {
    bool isHidden = inGroup && groupIsInside[d]; // reads see the state before
    if (!isHidden && isClash(known.write, key, d))
      return giveUp("the order of ranks matters");
    bool isSame = known.read.epoch[d] == key.epoch[d];
    bool isMixed =
        isSame && (known.isReadMixed >> d & 1 || isClash(known.read, key, d));
    known.isReadMixed &= ~(1u << d);
    known.isReadMixed |= unsigned(isMixed) << d;
  }
  known.read = key;
  return true;
}

bool SymmetryRun::noteWrite(uint32_t array, Rank rank, uint32_t cell,
                            const Key &key) {
  Accesses &known = accesses[placeKey(array, rank, cell)];
  for (unsigned d = 0; d < maxActive; ++d) {
    bool isHidden = inGroup && groupIsInside[d];
    bool isMixed = key.epoch[d] != 0 && known.read.epoch[d] == key.epoch[d] &&
                   known.isReadMixed >> d & 1;
    bool isRead = isMixed || isClash(known.read, key, d);
    if (isClash(known.write, key, d) || (isRead && !isHidden))
      return giveUp("the order of ranks matters");
  }
  known.write = key;
  return true;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

bool SymmetryRun::turnReads(const ExprRef &expr, const ExprUse &exprUse,
                            size_t element, const ViewUse &use,
                            const SymmetryCells::Spot &spot, Rank rank,
                            const Steps &by,
                            llvm::SmallVectorImpl<Turned> &reads) {
  for (auto [i, read] : llvm::enumerate(expr.reads)) {
    uint32_t array = read.view.array;
    Rank at = turnedRank(read.rank, by);
    if (m.state.arrays[array].isBroadcast) {
      reads.push_back({array, 0, at});
      continue;
    }
    const ViewUse &readUse = exprUse.reads[i].view;
    SymmetryCells::Spot from = cells.spot(array, readCells[i][element]);
    if (!cells.fits(readUse, from) || !cells.fits(use, spot, readUse, from))
      return giveUp("what is read does not turn with what is written");
    for (unsigned d = 0; d < dims.size() && !isLeaf(array); ++d) {
      if (!active[d] || cells.phase(from, coord(read.rank, d), d) ==
                            (by[d] == 0 ? 0 : dims[d] - by[d]))
        continue;
      if (cells.reconcile(spot, coord(rank, d), from, coord(read.rank, d), d))
        return end(Outcome::Retry);
      return giveUp("slices are not independent", d);
    }
    reads.push_back({array, cells.turned(from, by), at});
  }
  return true;
}

bool SymmetryRun::move(const Statement &st, const ExprRef &expr,
                       const ExprUse &exprUse, const View &target,
                       const ViewUse &use, llvm::ArrayRef<Rank> ranks,
                       bool isOwn) {
  m.state.cellsOf(target, targetCells);
  readCells.resize(std::max(readCells.size(), expr.reads.size()));
  for (auto [i, read] : llvm::enumerate(expr.reads))
    if (m.state.arrays[read.view.array].isBroadcast)
      readCells[i].assign(targetCells.size(), 0);
    else
      m.state.cellsOf(read.view, readCells[i]);
  ExprId plan = m.planOf(st, expr);
  struct Result {
    Place place;
    ValueId value;
    Key key;
  };
  llvm::SmallVector<Result, 1> results;
  llvm::SmallVector<Turned, 4> reads;
  llvm::SmallVector<ValueId, 4> loaded;
  for (Rank rank : ranks)
    for (auto [element, cell] : llvm::enumerate(targetCells)) {
      SymmetryCells::Spot spot = cells.spot(target.array, cell);
      if (!cells.fits(use, spot))
        return giveUp("what is written does not turn with its rank");
      Steps by = stepsTo(spot, rank);
      reads.clear();
      loaded.clear();
      if (!turnReads(expr, exprUse, element, use, spot, rank, by, reads))
        return false;
      Key key = keyOf(by);
      for (const Turned &read : reads) {
        if (!isOwn && !isLeaf(read.array) &&
            !noteRead(read.array, read.rank, read.cell, key))
          return false;
        loaded.push_back(m.state.load(st, read.array, read.rank, read.cell));
        if (loaded.back() == kNone)
          return false;
      }
      Place place{target.array, cells.turned(spot, by), turnedRank(rank, by)};
      // In a group all reads see the state before it, that of a sum excepted.
      if (!isOwn && !noteWrite(place.array, place.rank, place.cell, key))
        return false;
      ValueId value = m.makeElement(st, plan, place, loaded);
      if (value == kNone)
        return false;
      results.push_back({place, value, key});
    }
  for (const Result &result : results)
    if (!m.state.store(st, result.place.array, result.place.rank,
                       result.place.cell, result.value))
      return false;
  return m.countSteps(results.size(), st.site);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool SymmetryRun::learn(const View &target, const ViewUse &use,
                        const ExprRef &expr, const ExprUse &exprUse) {
  if (!use.isKnown)
    return giveUp("a view takes an array apart");
  cells.note(target.array, use);
  for (auto [i, read] : llvm::enumerate(expr.reads)) {
    if (m.state.arrays[read.view.array].isBroadcast)
      continue;
    const ViewUse &readUse = exprUse.reads[i].view;
    // A fold over ranks reads the same at each.
    if (i > 0 && read.view.array == expr.reads[0].view.array &&
        read.view.offset == expr.reads[0].view.offset)
      continue;
    if (!readUse.isKnown)
      return giveUp("a view takes an array apart");
    cells.note(read.view.array, readUse);
    if (target.numDims)
      cells.notePair(target.array, use, read.view.array, readUse);
  }
  return true;
}

const ExprRef *SymmetryRun::exprOf(Reg value, const ReadCode &read,
                                   const ExprUse *&use) {
  if (value != kNone) {
    use = &values[value];
    return &frame.values[value];
  }
  Rank rank;
  if (read.at.count && !rankAt(read.at, rank))
    return nullptr;
  directUse.reads.assign(1, {views[read.view]});
  use = &directUse;
  return m.exprOf(frame, value, read);
}

bool SymmetryRun::transfer(const Instr &in) {
  const TransferCode &t = m.code.transfers[in.a];
  SiteId site = m.siteOf(frame);
  Statement st = m.statement(frame, site, t.mapping);
  st.reduce = t.reduce;
  st.hasVia = t.hasVia;
  st.via = t.via;
  const View &target = frame.views[t.target];
  const Array &array = m.state.arrays[target.array];
  m.targetOfSite[site] = target.array;
  if (array.buffer != kNone &&
      m.graph.buffers[array.buffer].kind != Buffer::Out)
    return m.fail(
        {.fault = Fault::ReadOnly, .site = site, .place = {target.array}});
  const ExprUse *use = nullptr;
  const ExprRef *value = exprOf(t.value, t.read, use);
  if (!value || !m.checkShape(*value, target, site))
    return false;
  if (use->isOrdered)
    return giveUp("a sum over ranks has an order of its own");
  bool isOwn = t.members == kNone && !t.at.count;
  llvm::SmallVector<Rank, 4> ranks;
  if (isOwn)
    ranks.push_back(0);
  else if (t.members != kNone ? !m.ranksOf(frame.lists[t.members], ranks, site)
                              : !rankAt(t.at, ranks.emplace_back()))
    return false;
  if (t.members != kNone)
    for (size_t i = 0; i < ranks.size(); ++i)
      if (!turnsAsRank(llvm::ArrayRef(lists[t.members])
                           .slice(i * dims.size(), dims.size())))
        return false;
  if (ranks.size() > 1) {
    llvm::DenseSet<Rank> distinct(ranks.begin(), ranks.end());
    if (distinct.size() != ranks.size() || value->isComputed())
      return giveUp("a statement writes a rank twice");
  }
  if (isOwn ? isInOrbit() && !region
            : region != nullptr && !isLearning && ranks[0] != 0)
    return giveUp("a statement is repeated by all ranks");
  // Every rank runs a statement that names ranks once, and no more.
  for (unsigned d = 0; d < dims.size(); ++d)
    if (active[d] && !isOwn && !region && epoch[activeIndex[d]] == 0)
      return giveUp("a statement is outside of the loops over ranks", d);
  if (isLearning) {
    if (region)
      note({ScriptOp::Local});
    return learn(target, views[t.target], *value, *use);
  }
  ExprRef filled = *value;
  for (ReadRef &read : filled.reads) {
    if (isOwn != (read.rank == kNone) && !region)
      return m.fail({.fault = Fault::OneSided, .site = site});
    if (region && read.rank != kNone && read.rank != 0)
      return giveUp("a process names a location of another rank");
  }
  if (region && inGroup)
    return giveUp("a process moves something of its own in a group");
  if (isOwn && !region)
    return moveOwn(st, filled, *use, target, views[t.target]);
  m.fillRanks(filled, 0);
  return move(st, filled, *use, target, views[t.target], ranks, region);
}

bool SymmetryRun::moveOwn(const Statement &st, const ExprRef &expr,
                          const ExprUse &exprUse, const View &target,
                          const ViewUse &use) {
  for (Rank rank : ownRanks()) {
    ExprRef own = expr;
    m.fillRanks(own, rank);
    if (!move(st, own, exprUse, target, use, rank, true))
      return false;
  }
  return true;
}

bool SymmetryRun::init(const Instr &in) {
  if (isInOrbit() || region)
    return giveUp("an array is declared within a loop over ranks");
  const View &target = frame.views[in.a], &source = frame.views[in.b];
  Statement st = m.statement(frame, m.siteOf(frame), kNone);
  ExprRef expr;
  expr.nodes.push_back({ExprNode::Operand});
  expr.reads.resize(1);
  expr.reads[0].view = source;
  ExprUse use;
  use.reads.push_back({views[in.b]});
  if (!m.checkShape(expr, target, st.site))
    return false;
  if (isLearning)
    return learn(target, views[in.a], expr, use);
  bool isFull = isLeaf(source.array), isEmpty = false;
  if (!isFull) {
    m.state.cellsOf(source, targetCells);
    for (Rank rank : ownRanks())
      for (uint32_t cell : targetCells) {
        SymmetryCells::Spot spot = cells.spot(source.array, cell);
        Steps by = stepsTo(spot, rank);
        ValueId value = m.state.peek(source.array, turnedRank(rank, by),
                                     cells.turned(spot, by));
        (value == kNone ? isEmpty : isFull) = true;
      }
  }
  if (isFull && isEmpty)
    return giveUp("a source is not filled on all ranks");
  return isEmpty || moveOwn(st, expr, use, target, views[in.a]);
}
