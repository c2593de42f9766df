//===- SymmetryRegion.cpp - An `on` whose processes turn ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All processes run the same code, turned. Whatever order they are run in, the
// same ones end (RegionModel.h); so let all of them post at once, again and
// again. Then each is where process 0 is, and what process 0 has sent to the
// rank at some distance is what it has been sent by the rank at that distance
// behind it. One process and a queue per distance decide about deadlock.
//
// An element that arrives at rank 0 from distance d behind is one that rank 0
// has sent, turned back by d. To be one of the slice it must turn to phase 0 by
// as much at both ends.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/SymmetryRun.h"

using namespace coll;
using namespace coll::elab;

Rank SymmetryRun::negated(Rank rank) const {
  Steps by(dims.size());
  for (unsigned d = 0; d < dims.size(); ++d)
    by[d] = (dims[d] - coord(rank, d)) % dims[d];
  return turnedRank(0, by);
}

bool SymmetryRun::on(const Instr &in) {
  const OnCode &code = m.code.ons[in.a];
  if (isInOrbit() || region)
    return giveUp("an 'on' stands in a loop over ranks");
  for (unsigned d = 0; d < dims.size(); ++d)
    if (!active[d])
      return giveUp("an 'on' is of all dimensions of the ranks");
  if (!isEverywhere(frame.lists[code.members], lists[code.members]))
    return m.sink.failure ? false : giveUp("an 'on' is not of all ranks");
  capacity = 0;
  if (code.capacity != kNone) {
    Seen wanted = seen(code.capacity);
    if (!wanted.turn.isFixed())
      return giveUp("a capacity is not the same for all ranks");
    if (wanted.value < 0)
      return m.fail({.fault = Fault::BadCapacity,
                     .site = m.siteOf(frame),
                     .x = wanted.value});
    capacity = wanted.value;
  }
  for (auto [d, reg] : llvm::enumerate(m.regs(code.self))) {
    frame.ints[reg] = 0;
    turns[reg] = {Turn::Index, uint8_t(d), 1 % dims[d], 0,
                  int64_t(dims[d]) - 1};
  }
  region = &code;
  regionSite = m.siteOf(frame);
  ++regions;
  queues.clear();
  frame.pc = code.body - 1; // step() goes on
  return true;
}

bool SymmetryRun::endProcess() {
  for (const auto &[distance, queue] : queues)
    if (queue.counts.sends != queue.counts.receives)
      return end(Outcome::Stuck);
  frame.pc = region->end - 1;
  region = nullptr;
  return true;
}

void SymmetryRun::note(Op op, const View *view) {
  if (!script || regions != scriptOf)
    return;
  if (view) {
    m.state.cellsOf(*view, targetCells);
    for (uint32_t cell : targetCells)
      op.cells.push_back(uint64_t(view->array) << 32 | cell);
  }
  script->push_back(std::move(op));
}

bool SymmetryRun::groupBegin() {
  inGroup = true;
  if (region)
    note({ScriptOp::Begin});
  for (unsigned d = 0; d < maxActive; ++d)
    groupIsInside[d] = epoch[d] == 0;
  if (!region && !isLearning)
    m.state.openGroup();
  return true;
}

bool SymmetryRun::groupEnd() {
  inGroup = false;
  if (region)
    note({ScriptOp::End});
  if (isLearning)
    return true;
  if (region)
    return settle();
  m.state.closeGroup();
  return true;
}

/// A value is what it is when it is sent; leaves are always the same.
bool SymmetryRun::send(const Instr &in) {
  const SendCode &code = m.code.sends[in.a];
  Rank peer;
  if (!rankAt(code.peer, peer))
    return false;
  Statement st = m.statement(frame, m.siteOf(frame), code.mapping);
  const ExprUse *use = nullptr;
  const ExprRef *expr = exprOf(code.value, code.read, use);
  if (!expr)
    return false;
  if (expr->isComputed() || !use->reads[0].view.isKnown ||
      (expr->reads[0].rank != kNone && expr->reads[0].rank != 0))
    return giveUp("a message is computed");
  const View &view = expr->reads[0].view;
  const ViewUse &viewUse = use->reads[0].view;
  if (m.state.arrays[view.array].isBroadcast)
    return giveUp("a message is computed");
  if (isLearning) {
    cells.note(view.array, viewUse);
    note({ScriptOp::Send, peer, st.site}, &view);
    return true;
  }
  Sent sent{{}, viewUse, code.hasVia, code.via, st.site};
  m.state.cellsOf(view, targetCells);
  for (uint32_t cell : targetCells) {
    SymmetryCells::Spot spot = cells.spot(view.array, cell);
    if (!cells.fits(viewUse, spot))
      return giveUp("what is sent does not turn with its rank");
    SentElement &element = sent.elements.emplace_back();
    element.array = view.array;
    element.cell = cell;
    if (isLeaf(view.array))
      continue;
    element.by = stepsTo(spot, 0);
    element.value = m.state.load(st, view.array, turnedRank(0, element.by),
                                 cells.turned(spot, element.by));
    if (element.value == kNone)
      return false;
  }
  if (!m.countSteps(targetCells.size(), st.site))
    return false;
  Queue &queue = queues[peer];
  queue.messages.push_back(std::move(sent));
  posted.push_back({true, peer, queue.counts.sends++, st, {}, {}});
  return inGroup || settle();
}

bool SymmetryRun::receive(const Instr &in) {
  const RecvCode &code = m.code.recvs[in.a];
  Rank peer;
  if (!rankAt(code.peer, peer))
    return false;
  Statement st = m.statement(frame, m.siteOf(frame), code.mapping);
  st.reduce = code.reduce;
  const View &target = frame.views[code.target];
  const Array &array = m.state.arrays[target.array];
  m.targetOfSite[st.site] = target.array;
  if (array.buffer != kNone &&
      m.graph.buffers[array.buffer].kind != Buffer::Out)
    return m.fail(
        {.fault = Fault::ReadOnly, .site = st.site, .place = {target.array}});
  if (!views[code.target].isKnown)
    return giveUp("a view takes an array apart");
  if (isLearning) {
    cells.note(target.array, views[code.target]);
    note({ScriptOp::Receive, negated(peer), st.site}, &target);
    return true;
  }
  Rank distance = negated(peer);
  Queue &queue = queues[distance];
  posted.push_back({false, distance, queue.counts.receives++, st, target,
                    views[code.target]});
  return inGroup || settle();
}

/// All processes wait for what they have posted: if that does not complete now,
/// nothing ever happens again.
bool SymmetryRun::settle() {
  for (const Posted &op : posted) {
    const QueueCounts &counts = queues[op.offset].counts;
    if (op.sequence >=
        (op.isSend ? counts.sendsDone(capacity) : counts.receivesDone()))
      return end(Outcome::Stuck);
  }
  bool isGroup = posted.size() > 1;
  if (isGroup)
    m.state.openGroup();
  for (const Posted &op : posted)
    if (!op.isSend && !writeReceived(op))
      return false;
  if (isGroup)
    m.state.closeGroup();
  posted.clear();
  return true;
}

bool SymmetryRun::writeReceived(const Posted &op) {
  Sent sent = std::move(queues[op.offset].messages[op.sequence]);
  Statement st = op.st;
  m.state.cellsOf(op.target, targetCells);
  if (sent.elements.size() != targetCells.size())
    return m.fail({.fault = Fault::MessageSize,
                   .site = st.site,
                   .x = int64_t(sent.elements.size()),
                   .y = int64_t(targetCells.size()),
                   .previous = sent.site});
  st.hasVia = sent.hasVia;
  st.via = sent.via;
  ExprId plan = st.reduce ? GraphBuilder::foldOfTwo : kNone;
  Steps back(dims.size());
  for (unsigned d = 0; d < dims.size(); ++d)
    back[d] = (dims[d] - coord(op.offset, d)) % dims[d];
  for (auto [element, cell] : llvm::zip_equal(sent.elements, targetCells)) {
    SymmetryCells::Spot spot = cells.spot(op.target.array, cell);
    if (!cells.fits(op.use, spot))
      return giveUp("what is written does not turn with its rank");
    Steps by = stepsTo(spot, 0), sender(dims.size());
    for (unsigned d = 0; d < dims.size(); ++d)
      sender[d] = (by[d] + back[d]) % dims[d];
    ValueId value = element.value;
    SymmetryCells::Spot from = cells.spot(element.array, element.cell);
    if (!cells.fits(op.use, spot, sent.use, from))
      return giveUp("what is received does not turn with what is sent");
    if (value != kNone && sender != element.by) {
      for (unsigned d = 0; d < dims.size(); ++d)
        if (sender[d] != element.by[d] &&
            cells.reconcile(spot, 0, from, coord(negated(op.offset), d), d))
          return end(Outcome::Retry);
      return giveUp("slices are not independent");
    }
    if (value == kNone)
      value = m.state.load(st, element.array, turnedRank(0, sender),
                           cells.turned(from, sender));
    if (value == kNone)
      return false;
    value = m.makeElement(
        st, plan, {op.target.array, cells.turned(spot, by), turnedRank(0, by)},
        value);
    if (value == kNone || !m.state.store(st, op.target.array, turnedRank(0, by),
                                         cells.turned(spot, by), value))
      return false;
  }
  return m.countSteps(targetCells.size(), st.site);
}
