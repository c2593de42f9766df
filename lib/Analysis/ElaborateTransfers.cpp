//===- ElaborateTransfers.cpp - copy, reduce and group --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A statement reads everything first, then writes. One that every rank does by
// itself touches each rank's locations only, so it may go rank by rank. The
// case that schedules consist of, one chunk from one rank to one rank, has a
// path of its own.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/ElaborateMachine.h"
#include "lib/Analysis/RegionRun.h"

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool Machine::checkPlace(const Frame &frame, uint32_t id, Rank rank,
                         SiteId site) {
  const Array &array = state.arrays[id];
  if (frame.self != kNone && rank != frame.self)
    return fail({.fault = Fault::NotOwnRank,
                 .site = site,
                 .place = {id, 0, rank},
                 .other = frame.self});
  if (!state.exists(array, rank))
    return fail({.fault = Fault::Absent, .site = site, .place = {id, 0, rank}});
  return true;
}

static std::string shapeText(llvm::ArrayRef<uint32_t> dims) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(dims))
    text += (i ? ", " : "") + std::to_string(dim);
  return text + "]";
}

bool Machine::checkShape(const ExprRef &expr, const View &target, SiteId site) {
  for (const ReadRef &read : expr.reads) {
    if (read.view.shape() == target.shape() ||
        state.arrays[read.view.array].isBroadcast)
      continue;
    return fail({.fault = Fault::Shape,
                 .site = site,
                 .text = shapeText(read.view.shape()) + " to " +
                         shapeText(target.shape())});
  }
  return true;
}

void Machine::fillRanks(ExprRef &expr, Rank self) const {
  for (ReadRef &read : expr.reads)
    if (read.rank == kNone)
      read.rank = self;
}

Statement Machine::statement(const Frame &frame, SiteId site, Reg mapping) {
  Statement st;
  st.site = site;
  st.number = numStatements++;
  st.mapping = mapping == kNone ? 0 : frame.ints[mapping];
  return st;
}

/// The value of a statement; null after a failure.
const ExprRef *Machine::exprOf(Frame &frame, Reg value, const ReadCode &read) {
  if (value != kNone)
    return &frame.values[value];
  directRead.nodes.assign({ExprNode{ExprNode::Operand}});
  directRead.reads.resize(1);
  directRead.reads[0].view = frame.views[read.view];
  directRead.reads[0].rank = kNone;
  if (read.at.count &&
      !rankAt(frame, read.at, directRead.reads[0].rank, read.site))
    return nullptr;
  return &directRead;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

bool Machine::gather(const Statement &st, const ExprRef &expr, size_t size,
                     std::vector<ValueId> &reads, uint32_t targetArray) {
  if (readCells.size() < expr.reads.size())
    readCells.resize(expr.reads.size());
  for (auto [i, read] : llvm::enumerate(expr.reads))
    if (state.arrays[read.view.array].isBroadcast)
      readCells[i].assign(size, 0);
    else
      state.cellsOf(read.view, readCells[i]);
  reads.clear();
  for (size_t e = 0; e < size; ++e) {
    ++progress;
    bool isOut = targetArray != kNone && isLeftOut(targetArray, targetCells[e]);
    for (auto [i, read] : llvm::enumerate(expr.reads)) {
      uint32_t array = read.view.array;
      isOut |= groups && !isLeaf(array) && isLeftOut(array, readCells[i][e]);
      ValueId value =
          isOut ? kNone : state.load(st, array, read.rank, readCells[i][e]);
      if (value == kNone && !isOut)
        return false;
      reads.push_back(value);
    }
  }
  return countSteps(reads.size(), st.site);
}

void Machine::joinReads(const ExprRef &expr, size_t size,
                        std::vector<uint32_t> &nodes) {
  nodes.assign(size, kNone);
  for (const ReadRef &read : expr.reads) {
    if (isLeaf(read.view.array))
      continue;
    llvm::SmallVector<uint32_t, 32> cells;
    state.cellsOf(read.view, cells);
    for (size_t e = 0; e < size; ++e) {
      uint32_t node = groups->node(read.view.array, cells[e]);
      if (nodes[e] == kNone)
        nodes[e] = node;
      groups->join(nodes[e], node);
    }
  }
}

ExprId Machine::planOf(const Statement &st, const ExprRef &expr) {
  if (!expr.isComputed())
    return st.reduce ? GraphBuilder::foldOfTwo : kNone;
  if (!st.reduce)
    return builder.expr(expr.nodes);
  ExprRef sum;
  sum.nodes.push_back({ExprNode::Operand});
  sum.reads.resize(1);
  sum.append(expr);
  sum.nodes.push_back({ExprNode::Fold, ElemType::T, 0, 2});
  return builder.expr(sum.nodes);
}

ValueId Machine::makeElement(const Statement &st, ExprId plan, Place target,
                             llvm::ArrayRef<ValueId> reads) {
  ElemType type = state.arrays[target.array].type;
  if (plan == kNone)
    return builder.copy(st, reads[0], target.rank, type);
  operandValues.clear();
  if (st.reduce) {
    ValueId old = state.loadOld(st, target.array, target.rank, target.cell);
    if (old == kNone)
      return kNone;
    operandValues.push_back(old);
  }
  operandValues.append(reads.begin(), reads.end());
  return builder.combine(st, plan, operandValues, st.reduce, target.rank, type);
}

bool Machine::joinTarget(uint32_t array, uint32_t cell, uint32_t from) {
  uint32_t node = groups->node(array, cell);
  if (isLeaf(array))
    return true;
  groups->count(node);
  if (from != kNone)
    groups->join(node, from);
  return true;
}

bool Machine::evaluate(const Statement &st, const ExprRef &expr,
                       const View &target, Rank rank) {
  state.cellsOf(target, targetCells);
  if (isJoining()) {
    joinReads(expr, targetCells.size(), joinedNodes);
    for (auto [cell, node] : llvm::zip_equal(targetCells, joinedNodes))
      joinTarget(target.array, cell, node);
    results.insert(results.end(), targetCells.size(), kNone);
    return countSteps(targetCells.size() * expr.reads.size(), st.site);
  }
  if (!gather(st, expr, targetCells.size(), gathered,
              groups ? target.array : kNone))
    return false;
  ExprId plan = planOf(st, expr);
  size_t n = expr.reads.size();
  for (auto [e, cell] : llvm::enumerate(targetCells)) {
    ++progress;
    if (isLeftOut(target.array, cell)) {
      results.push_back(kNone);
      continue;
    }
    ValueId value = makeElement(st, plan, {target.array, cell, rank},
                                llvm::ArrayRef(gathered).slice(e * n, n));
    if (value == kNone)
      return false;
    results.push_back(value);
  }
  return true;
}

/// All reads come first, those for other ranks too.
bool Machine::transferTo(const Statement &st, const ExprRef &expr,
                         const View &target, llvm::ArrayRef<Rank> ranks) {
  results.clear();
  for (Rank rank : ranks)
    if (!evaluate(st, expr, target, rank))
      return false;
  const ValueId *next = results.data();
  for (Rank rank : ranks)
    for (uint32_t cell : targetCells) {
      ++progress;
      if (ValueId value = *next++;
          value != kNone && !state.store(st, target.array, rank, cell, value))
        return false;
    }
  return true;
}

bool Machine::transferOwn(const Statement &st, const ExprRef &expr,
                          const View &target) {
  for (const ReadRef &read : expr.reads)
    if (read.rank != kNone)
      return fail({.fault = Fault::OneSided, .site = st.site});
  ExprRef own = expr;
  for (Rank rank = 0; rank < graph.numRanks(); ++rank) {
    bool exists = state.exists(state.arrays[target.array], rank);
    for (ReadRef &read : own.reads) {
      exists &= state.exists(state.arrays[read.view.array], rank);
      read.rank = rank;
    }
    if (exists && !transferTo(st, own, target, rank))
      return false;
  }
  return true;
}

bool Machine::transferToRanks(const Statement &st, const ExprRef &expr,
                              const View &target, llvm::ArrayRef<Rank> ranks) {
  rankStamps.resize(graph.numRanks());
  ++stamp;
  for (Rank rank : ranks)
    if (std::exchange(rankStamps[rank], stamp) == stamp)
      return fail({.fault = Fault::TwiceWrittenRank,
                   .site = st.site,
                   .place = {target.array, 0, rank}});
  if (ranks.size() > 1 && expr.isComputed())
    return fail({.fault = Fault::NeedsOneRank,
                 .site = st.site,
                 .x = int64_t(ranks.size())});
  return transferTo(st, expr, target, ranks);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool Machine::transferSingle(Frame &frame, const TransferCode &t,
                             const Statement &st) {
  const View &from = frame.views[t.read.view], &to = frame.views[t.target];
  auto cell = [&](const View &view) {
    return view.table == kNone ? view.offset
                               : state.tables[view.table][view.offset];
  };
  ++progress;
  if (groups && !isJoining() && isLeftOut(to.array, cell(to)))
    return countSteps(1, st.site); // ranks are right: all parts were joined
  Rank source, rank;
  if (!rankAt(frame, t.read.at, source, t.read.site) ||
      !rankAt(frame, t.at, rank, st.site) ||
      !checkPlace(frame, from.array, source, t.read.site) ||
      !checkPlace(frame, to.array, rank, st.site) || !countSteps(1, st.site))
    return false;
  if (isJoining())
    return joinTarget(to.array, cell(to), nodeOf(from.array, cell(from)));
  ElemType type = state.arrays[to.array].type;
  ValueId value = state.load(st, from.array, source, cell(from));
  if (value == kNone)
    return false;
  if (t.reduce) {
    ValueId old = state.loadOld(st, to.array, rank, cell(to));
    value = old == kNone ? kNone : builder.reduce(st, old, value, rank, type);
  } else {
    value = builder.copy(st, value, rank, type);
  }
  return value != kNone && state.store(st, to.array, rank, cell(to), value);
}

/// Within a process whose script is being recorded.
static bool isRecording(const Machine &machine, const Frame &frame) {
  return frame.self != kNone && machine.region->isRecording();
}

bool Machine::transfer(Frame &frame, const Instr &in) {
  if (isRecording(*this, frame))
    return region->note({ScriptOp::Local});
  const TransferCode &t = code.transfers[in.a];
  Statement st = statement(frame, siteOf(frame), t.mapping);
  st.reduce = t.reduce;
  st.hasVia = t.hasVia;
  st.via = t.via;
  const View &target = frame.views[t.target];
  const Array &array = state.arrays[target.array];
  targetOfSite[st.site] = target.array;
  if (array.buffer != kNone && graph.buffers[array.buffer].kind != Buffer::Out)
    return fail(
        {.fault = Fault::ReadOnly, .site = st.site, .place = {target.array}});
  bool isSingle = t.value == kNone && t.at.count && t.read.at.count &&
                  target.numDims == 0 &&
                  frame.views[t.read.view].numDims == 0 &&
                  frame.self == kNone &&
                  !state.arrays[frame.views[t.read.view].array].isBroadcast;
  if (isSingle)
    return transferSingle(frame, t, st);

  const ExprRef *value = exprOf(frame, t.value, t.read);
  if (!value || !checkShape(*value, target, st.site))
    return false;
  llvm::SmallVector<Rank, 4> ranks;
  bool isOwn = t.members == kNone && !t.at.count;
  if (isOwn && frame.self == kNone)
    return transferOwn(st, *value, target);
  if (isOwn)
    ranks.push_back(frame.self);
  else if (t.members != kNone &&
           !ranksOf(frame.lists[t.members], ranks, st.site))
    return false;
  else if (t.at.count && !rankAt(frame, t.at, ranks.emplace_back(), st.site))
    return false;

  ExprRef filled = *value;
  if (frame.self != kNone)
    fillRanks(filled, frame.self);
  for (const ReadRef &read : filled.reads)
    if (read.rank == kNone)
      return fail({.fault = Fault::OneSided, .site = st.site});
    else if (!checkPlace(frame, read.view.array, read.rank, st.site))
      return false;
  for (Rank rank : ranks)
    if (!checkPlace(frame, target.array, rank, st.site))
      return false;
  if (frame.self != kNone && region->isGroupOpen(frame))
    return region->postLocal(frame, st, filled, target);
  return transferToRanks(st, filled, target, ranks);
}

bool Machine::init(Frame &frame, const Instr &in) {
  if (isRecording(*this, frame))
    return region->note({ScriptOp::Local});
  const View &target = frame.views[in.a], &source = frame.views[in.b];
  Statement st = statement(frame, siteOf(frame), kNone);
  ExprRef expr;
  expr.nodes.push_back({ExprNode::Operand});
  expr.reads.resize(1);
  expr.reads[0].view = source;
  if (!checkShape(expr, target, st.site))
    return false;
  Rank first = frame.self == kNone ? 0 : frame.self;
  Rank last = frame.self == kNone ? graph.numRanks() : frame.self + 1;
  llvm::SmallVector<uint32_t> cells;
  state.cellsOf(source, cells);
  for (Rank rank = first; rank < last; ++rank) {
    if (!state.exists(state.arrays[source.array], rank))
      continue;
    uint32_t full = kNone, empty = kNone;
    if (groups && isLeaf(source.array))
      full = 0;
    progress += cells.size();
    for (uint32_t cell : cells)
      if (isJoining())
        joinTarget(source.array, full = cell, nodeOf(source.array, cells[0]));
      else if (!groups ||
               (!isLeaf(source.array) && !isLeftOut(source.array, cell)))
        (state.peek(source.array, rank, cell) == kNone ? empty : full) = cell;
    if (sink.failure)
      return false;
    if (full != kNone && empty != kNone)
      return fail({.fault = Fault::PartlyFilled,
                   .site = st.site,
                   .place = {source.array, empty, rank},
                   .x = full});
    expr.reads[0].rank = rank;
    if (full != kNone && !transferTo(st, expr, target, rank))
      return false;
  }
  return true;
}

bool Machine::groupBegin(Frame &frame, const Instr &) {
  if (frame.self != kNone)
    return region->openGroup(frame);
  state.openGroup();
  return true;
}

bool Machine::groupEnd(Frame &frame, const Instr &) {
  if (frame.self != kNone)
    return region->closeGroup(frame);
  state.closeGroup();
  return true;
}

bool Machine::on(Frame &frame, const Instr &in) {
  RegionRun run(*this, frame, code.ons[in.a]);
  if (!run.execute())
    return false;
  frame.pc = code.ons[in.a].end - 1;
  return true;
}

bool Machine::send(Frame &frame, const Instr &in) {
  return region->send(frame, code.sends[in.a]);
}

bool Machine::recv(Frame &frame, const Instr &in) {
  return region->receive(frame, code.recvs[in.a]);
}
