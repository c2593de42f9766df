//===- SymmetryFrame.cpp - Arrays, values and promises of a slice ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/SymmetryRun.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"

using namespace coll;
using namespace coll::elab;

/// Reads of promises that are kept one by one.
constexpr uint64_t maxPromisedReads = 1u << 22;

//===----------------------------------------------------------------------===//
// Ranks and lists
//===----------------------------------------------------------------------===//

bool SymmetryRun::turnsAsRank(llvm::ArrayRef<Turn> coords) {
  for (auto [d, turn] : llvm::enumerate(coords)) {
    bool ok = active[d] ? turn.kind == Turn::Index && turn.dim == d &&
                              turn.degree == 1 % dims[d]
                        : turn.isFixed();
    if (!ok)
      return giveUp("a rank does not turn with the others", active[d] ? d
                                                            : turn.turns()
                                                                ? turn.dim
                                                                : d);
  }
  return true;
}

bool SymmetryRun::rankAt(RegList at, Rank &rank) {
  llvm::SmallVector<Turn, 4> coords;
  for (Reg reg : m.regs(at))
    coords.push_back(turns[reg]);
  return turnsAsRank(coords) && m.rankAt(frame, at, rank, m.siteOf(frame));
}

/// Every rank, each once.
bool SymmetryRun::isEverywhere(const List &list, llvm::ArrayRef<Turn> turns) {
  llvm::SmallVector<Rank> ranks;
  if (!m.ranksOf(list, ranks, m.siteOf(frame)))
    return false;
  llvm::DenseSet<Rank> distinct(ranks.begin(), ranks.end());
  return distinct.size() == m.graph.numRanks() &&
         ranks.size() == distinct.size();
}

bool SymmetryRun::list(const Instr &in) {
  llvm::ArrayRef<Reg> regs = m.regs({in.b, in.count});
  switch (in.op) {
  case Opcode::ListBegin:
    openLists.emplace_back();
    break;
  case Opcode::Member:
    for (Reg reg : regs)
      openLists.back().push_back(turns[reg]);
    break;
  case Opcode::ListEnd:
    lists[in.dst] = std::move(openLists.back());
    openLists.pop_back();
    break;
  case Opcode::ListSize:
    turns[in.dst] = {};
    break;
  default: // ListGet
    if (!turns[in.b].isFixed() ||
        !llvm::all_of(lists[in.a], [](const Turn &t) { return t.isFixed(); }))
      return giveUp("a member of a list is not the same for all ranks");
    for (Reg reg : m.regs({in.c, in.count}))
      turns[reg] = {};
    break;
  }
  return handle(in);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void SymmetryRun::ExprUse::append(const ExprUse &other) {
  reads.insert(reads.end(), other.reads.begin(), other.reads.end());
  isOrdered |= other.isOrdered;
  hasFree |= other.hasFree;
}

bool SymmetryRun::value(const Instr &in) {
  switch (in.op) {
  case Opcode::Read: {
    Rank rank;
    if (in.count && !rankAt({in.b, in.count}, rank))
      return false;
    values[in.dst].reads.assign(1, {views[in.a]});
    values[in.dst].isOrdered = values[in.dst].hasFree = false;
    break;
  }
  case Opcode::AddValues: {
    ExprUse sum = values[in.a];
    sum.append(values[in.b]);
    values[in.dst] = std::move(sum);
    break;
  }
  case Opcode::FoldBegin:
    openFolds.emplace_back();
    break;
  case Opcode::FoldOperand:
    openFolds.back().use.append(values[in.a]);
    break;
  case Opcode::FoldEnd: {
    OpenFold fold = std::move(openFolds.back());
    openFolds.pop_back();
    fold.use.isOrdered |= fold.isFree && !in.flag;
    fold.use.hasFree |= fold.isFree;
    values[in.dst] = std::move(fold.use);
    break;
  }
  default: { // Apply
    ExprUse call;
    for (Reg reg : m.regs({in.b, in.count}))
      call.append(values[reg]);
    values[in.dst] = std::move(call);
    break;
  }
  }
  return handle(in);
}

//===----------------------------------------------------------------------===//
// The frame of a schedule
//===----------------------------------------------------------------------===//

ViewUse SymmetryRun::whole(uint32_t array) const {
  ViewUse use;
  use.axes.resize(m.state.arrays[array].dims.size());
  return use;
}

bool SymmetryRun::buffer(const Instr &in) {
  const BufferCode &from = m.code.buffers[in.a];
  if (from.at.count)
    return giveUp("a buffer is of one rank");
  if (!areFixed(from.parts))
    return giveUp("a shape is not the same for all ranks");
  if (from.members != kNone &&
      !isEverywhere(frame.lists[from.members], lists[from.members]))
    return m.sink.failure ? false : giveUp("a buffer is not of all ranks");
  return handle(in);
}

/// Where a statement is placed does not change what it does.
bool SymmetryRun::mapping(const Instr &in) {
  const MappingCode &from = m.code.mappings[in.a];
  turns[in.dst] = {};
  if (areFixed(from.values))
    return handle(in);
  for (auto [key, reg] : llvm::zip_equal(from.keys, m.regs(from.values))) {
    bool isPlacement =
        key == "channel" || key == "block" || key == "recv_block";
    Seen value = seen(reg);
    if (value.low() < !isPlacement || value.high() > INT32_MAX)
      return giveUp("what 'map' says may be out of range for some rank");
  }
  frame.ints[in.dst] = 0;
  return true;
}

/// It promises nothing that a check would look at, but may be wrong itself.
bool SymmetryRun::inplace(const Instr &in) {
  const InplaceCode &pair = m.code.inplaces[in.a];
  Rank lhs = 0, rhs = 0;
  if (pair.lhsAt.count &&
      (!rankAt(pair.lhsAt, lhs) || !rankAt(pair.rhsAt, rhs)))
    return false;
  if (lhs != rhs ||
      frame.views[pair.lhs].size() != frame.views[pair.rhs].size())
    return giveUp("'inplace' does not fit");
  llvm::SmallVector<Rank, 4> ranks{lhs};
  if (!pair.lhsAt.count)
    ranks = ownRanks();
  for (Rank rank : ranks)
    if (!sharesOnce(pair.lhs, rank) || !sharesOnce(pair.rhs, rank))
      return false;
  return true;
}

/// A part shares memory once. Parts are turned until their rank is at 0.
bool SymmetryRun::sharesOnce(Reg view, Rank rank) {
  const View &parts = frame.views[view];
  if (isLearning) {
    cells.note(parts.array, views[view]);
    return true;
  }
  Steps by(dims.size());
  for (unsigned d = 0; d < dims.size(); ++d)
    if (active[d])
      by[d] = (dims[d] - coord(rank, d)) % dims[d];
  m.state.cellsOf(parts, targetCells);
  for (uint32_t cell : targetCells) {
    if (cell % m.graph.chunks != 0)
      continue;
    SymmetryCells::Spot spot = cells.spot(parts.array, cell);
    if (!cells.fits(views[view], spot))
      return giveUp("'inplace' does not turn");
    uint32_t part = cells.turned(spot, by) / m.graph.chunks;
    std::pair key(uint64_t(parts.array) << 32 | turnedRank(rank, by), part);
    if (!shared.insert(key).second)
      return giveUp("'inplace' names a part twice");
  }
  return true;
}

bool SymmetryRun::declare(const Instr &in) {
  size_t numArrays = m.state.arrays.size();
  bool ok = true;
  switch (in.op) {
  case Opcode::Param:
    turns[in.dst] = {};
    return handle(in);
  case Opcode::Launch:
    for (Reg reg : m.regs({in.c, in.count}))
      turns[reg] = {};
    return handle(in);
  case Opcode::Where:
  case Opcode::Assert:
    if (!turns[in.a].isFixed())
      return giveUp("a condition is not the same for all ranks");
    return handle(in);
  case Opcode::Chunks:
    if (!areFixed({in.b, in.count}))
      return giveUp("a shape is not the same for all ranks");
    return handle(in);
  case Opcode::Buffer:
    ok = buffer(in);
    break;
  case Opcode::Tmp:
    if (isInOrbit() || region)
      return giveUp("an array is declared within a loop over ranks");
    if (!areFixed(m.code.tmps[in.a].dims))
      return giveUp("a shape is not the same for all ranks");
    ok = handle(in);
    break;
  case Opcode::Mapping:
    return mapping(in);
  case Opcode::Directive:
    if (!areFixed(m.code.directives[in.a].values))
      return giveUp("what 'map' says is not the same for all ranks");
    return handle(in);
  case Opcode::Same:
    return handle(in);
  case Opcode::Inplace:
    return inplace(in);
  default: // sizes
    return giveUp("parts have sizes of their own");
  }
  if (!ok)
    return false;
  uint32_t id = frame.views[in.dst].array;
  views[in.dst] = whole(id);
  if (isLearning && m.state.arrays.size() != numArrays)
    cells.addArray(m.state.arrays[id], m.chunkDims);
  return true;
}

//===----------------------------------------------------------------------===//
// Promises
//===----------------------------------------------------------------------===//

/// One buffer's locations at all ranks, once each: turning it gives the same
/// set again.
static bool isSpread(const ExprRef &expr, uint32_t numRanks) {
  bool isFold = expr.reads.size() == numRanks && numRanks > 1 &&
                expr.nodes.size() == numRanks + 1 &&
                (expr.nodes.back().kind == ExprNode::Fold ||
                 expr.nodes.back().kind == ExprNode::FoldAny);
  if (!isFold)
    return false;
  std::vector<bool> seen(numRanks);
  const View &first = expr.reads[0].view;
  for (const ReadRef &read : expr.reads) {
    const View &view = read.view;
    if (read.rank == kNone || seen[read.rank] || view.array != first.array ||
        view.offset != first.offset || view.table != first.table ||
        view.shape() != first.shape() ||
        !std::equal(first.strides.begin(),
                    first.strides.begin() + first.numDims,
                    view.strides.begin()))
      return false;
    seen[read.rank] = true;
  }
  return true;
}

static View cellView(uint32_t array, uint32_t cell) {
  View view;
  view.array = array;
  view.offset = cell;
  return view;
}

/// Ranks that are promised the same are compared within a slice. If the ranks
/// are the phases, none may be promised the same as one of another slice: then
/// all promises of a slice have one mark, which turns with them.
bool SymmetryRun::isShared(uint32_t array, unsigned dim, uint32_t mark) {
  return marks.try_emplace({array, dim}, mark).first->second != mark;
}

bool SymmetryRun::promise(const Instr &in, const ExprRef &expr,
                          const ExprUse &use, bool spread, size_t element,
                          Rank rank,
                          llvm::DenseMap<uint32_t, uint32_t> &known) {
  uint32_t array = frame.views[in.a].array;
  SymmetryCells::Spot spot = cells.spot(array, targetCells[element]);
  if (!cells.fits(views[in.a], spot))
    return giveUp("a promise does not turn with its location");
  Steps by = stepsTo(spot, rank);
  llvm::SmallVector<Turned> reads;
  if (use.hasFree && !spread)
    return giveUp("what is promised does not turn");
  ExprRef one;
  if (spread) {
    one.reads = {expr.reads[0]};
    ExprUse first;
    first.reads = {use.reads[0]};
    if (!turnReads(one, first, element, views[in.a], spot, rank, by, reads))
      return false;
  } else if (!turnReads(expr, use, element, views[in.a], spot, rank, by,
                        reads)) {
    return false;
  }
  for (unsigned d = 0; d < dims.size(); ++d) {
    if (!active[d] || !cells.hasPhaseByRank(array, d))
      continue;
    uint32_t mark = coord(reads[0].rank, d);
    if (spread) {
      SymmetryCells::Spot from = cells.spot(reads[0].array, reads[0].cell);
      unsigned axis = 0;
      while (axis < from.numAxes && from.dim[axis] != d)
        ++axis;
      if (axis == from.numAxes || from.degree[axis] != 1)
        return giveUp("ranks of different phases are promised the same");
      mark = from.at[axis];
    }
    if (isShared(array, d, mark))
      return giveUp("ranks of different phases may be promised the same");
  }
  Rank at = turnedRank(rank, by);
  uint32_t to = cells.turned(spot, by);
  bool isLocation = !expr.isComputed() &&
                    !m.state.arrays[expr.reads[0].view.array].isBroadcast;
  SiteId site = m.siteOf(frame);
  if (isLocation) {
    m.promises.push_back({at, array, to, site, true, reads[0].array,
                          reads[0].cell, reads[0].rank});
    return true;
  }
  auto [it, isNew] = known.try_emplace(spread ? reads[0].cell : kNone, 0);
  if (isNew || !spread) {
    one.nodes = expr.nodes;
    one.reads.clear();
    for (const Turned &read : reads)
      one.reads.push_back({cellView(read.array, read.cell), read.rank});
    if (spread) {
      one.reads.clear();
      for (Rank r = 0; r < m.graph.numRanks(); ++r)
        one.reads.push_back({cellView(reads[0].array, reads[0].cell), r});
    }
    promisedReads += one.reads.size();
    if (promisedReads > maxPromisedReads)
      return giveUp("promises are too many");
    it->second = m.expectationOf(std::move(one));
  }
  m.promises.push_back({at, array, to, site, false, it->second, 0, kNone});
  return true;
}

bool SymmetryRun::ensure(const Instr &in) {
  const View &view = frame.views[in.a];
  ExprRef expr = frame.values[in.c];
  const ExprUse &use = values[in.c];
  SiteId site = m.siteOf(frame);
  Rank rank = 0;
  if (in.count ? !rankAt({in.b, in.count}, rank)
               : isInOrbit() && !giveUp("a promise is repeated"))
    return false;
  if (!m.checkShape(expr, view, site))
    return false;
  if (isLearning)
    return learn(view, views[in.a], expr, use);
  llvm::SmallVector<Rank, 4> ranks{rank};
  if (!in.count)
    ranks = ownRanks();
  for (Rank own : ranks)
    if (!promiseAll(in, expr, use, own))
      return false;
  return true;
}

bool SymmetryRun::promiseAll(const Instr &in, ExprRef expr, const ExprUse &use,
                             Rank rank) {
  m.fillRanks(expr, rank);
  m.state.cellsOf(frame.views[in.a], targetCells);
  bool spread = isSpread(expr, m.graph.numRanks());
  size_t numReads = spread ? 1 : expr.reads.size();
  if (numReads * targetCells.size() > maxPromisedReads)
    return giveUp("promises are too many");
  readCells.resize(std::max(readCells.size(), numReads));
  for (size_t i = 0; i < numReads; ++i)
    if (m.state.arrays[expr.reads[i].view.array].isBroadcast)
      readCells[i].assign(targetCells.size(), 0);
    else
      m.state.cellsOf(expr.reads[i].view, readCells[i]);
  llvm::DenseMap<uint32_t, uint32_t> known;
  for (size_t element = 0; element < targetCells.size(); ++element)
    if (!promise(in, expr, use, spread, element, rank, known))
      return false;
  return m.countSteps(targetCells.size(), m.siteOf(frame));
}
