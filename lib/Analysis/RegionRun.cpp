//===- RegionRun.cpp - Executing an `on` statement ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/RegionRun.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/ScopeExit.h"

using namespace coll;
using namespace coll::elab;

/// With more operations than this, the least capacity is not looked for.
constexpr uint64_t maxScriptOps = 1u << 20;

RegionRun::RegionRun(Machine &machine, Frame &outer, const OnCode &on)
    : m(machine), outer(outer), on(on), site(machine.siteOf(outer)) {}

bool RegionRun::execute() {
  if (on.capacity != kNone) {
    int64_t wanted = outer.ints[on.capacity];
    if (wanted < 0)
      return m.fail({.fault = Fault::BadCapacity, .site = site, .x = wanted});
    capacity = wanted;
  }
  if (!m.ranksOf(outer.lists[on.members], ranks, site))
    return false;
  llvm::DenseSet<Rank> seen;
  llvm::erase_if(ranks, [&](Rank rank) { return !seen.insert(rank).second; });
  m.region = this;
  llvm::scope_exit leave([&] { m.region = nullptr; });
  makeProcesses();
  if (!run())
    return false;
  bool isDone =
      llvm::all_of(processes, [](const Process &p) { return p.hasEnded; }) &&
      llvm::all_of(queues, [](const Queue &q) {
        return q.counts.sends == q.counts.receives;
      });
  return isDone ? report() : explain();
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

void RegionRun::makeProcesses() {
  processes.resize(ranks.size());
  llvm::ArrayRef<uint32_t> dims = m.graph.rankDims;
  for (auto [p, rank] : llvm::enumerate(ranks)) {
    Frame &frame = processes[p].frame;
    frame.ints = outer.ints;
    frame.views = outer.views;
    frame.values = outer.values;
    frame.lists = outer.lists;
    frame.pc = on.body;
    frame.self = rank;
    frame.process = p;
    Rank rest = rank;
    llvm::ArrayRef<Reg> coords = m.regs(on.self);
    for (size_t d = coords.size(); d-- > 0; rest /= dims[d])
      frame.ints[coords[d]] = rest % dims[d];
    processOf[rank] = p;
    ready.push_back(p);
  }
}

bool RegionRun::run() {
  while (!ready.empty()) {
    uint32_t p = ready.front();
    ready.pop_front();
    if (!step(p))
      return false;
  }
  return true;
}

bool RegionRun::step(uint32_t p) {
  Process &process = processes[p];
  if (process.hasEnded || process.incomplete != 0)
    return true; // was named twice
  process.frame.isWaiting = false;
  if (!settle(process))
    return false;
  Machine::Run result = m.run(process.frame);
  process.hasEnded = result == Machine::Run::Done;
  return result != Machine::Run::Failed;
}

void RegionRun::complete(Rank rank, uint64_t n) {
  auto it = processOf.find(rank);
  if (n == 0 || it == processOf.end())
    return;
  Process &process = processes[it->second];
  process.incomplete -= n;
  if (process.incomplete == 0 && process.frame.isWaiting)
    ready.push_back(it->second);
}

uint32_t RegionRun::queueOf(Rank from, Rank to) {
  auto [it, isNew] =
      queueIndex.try_emplace(uint64_t(from) << 32 | to, queues.size());
  if (isNew)
    queues.push_back({from, to, {}, {}, 0});
  return it->second;
}

void RegionRun::post(uint32_t id, bool isSend) {
  Queue &queue = queues[id];
  QueueCounts before = queue.counts;
  ++(isSend ? queue.counts.sends : queue.counts.receives);
  uint64_t sends =
      queue.counts.sendsDone(capacity) - before.sendsDone(capacity);
  uint64_t receives = queue.counts.receivesDone() - before.receivesDone();
  ++processes[processOf.lookup(isSend ? queue.from : queue.to)].incomplete;
  complete(queue.from, sends);
  complete(queue.to, receives);
}

/// All that the process has posted is complete: its writes show.
bool RegionRun::settle(Process &process) {
  if (process.posted.empty())
    return true;
  bool isGroup = process.posted.size() > 1;
  if (isGroup)
    m.state.openGroup();
  for (Posted &posted : process.posted)
    if (!write(process, posted))
      return false;
  if (isGroup)
    m.state.closeGroup();
  process.posted.clear();
  return true;
}

bool RegionRun::write(Process &process, Posted &posted) {
  Rank rank = process.frame.self;
  Statement &st = posted.st;
  size_t n = 1; // reads of an element
  llvm::SmallVector<uint32_t> cells;
  m.state.cellsOf(posted.target, cells);
  if (m.isJoining() && posted.queue == kNone) {
    for (auto [cell, node] : llvm::zip_equal(cells, posted.reads))
      m.joinTarget(posted.target.array, cell, node);
    return m.countSteps(cells.size(), st.site);
  }
  if (posted.queue != kNone) {
    Queue &queue = queues[posted.queue];
    Message message = std::move(queue.messages[queue.taken++]);
    if (queue.taken == queue.messages.size()) {
      queue.messages.clear();
      queue.taken = 0;
    }
    if (message.values.size() != cells.size())
      return m.fail({.fault = Fault::MessageSize,
                     .site = st.site,
                     .x = int64_t(message.values.size()),
                     .y = int64_t(cells.size()),
                     .previous = message.site});
    posted.reads = std::move(message.values);
    st.hasVia = message.hasVia;
    st.via = message.via;
    st.mapping = merge(message.mapping, st.mapping);
    posted.plan = st.reduce ? GraphBuilder::foldOfTwo : kNone;
    if (m.isJoining()) {
      for (auto [cell, node] : llvm::zip_equal(cells, posted.reads))
        m.joinTarget(posted.target.array, cell, node);
      return m.countSteps(cells.size(), st.site);
    }
  } else if (!cells.empty()) {
    n = posted.reads.size() / cells.size();
  }
  for (auto [e, cell] : llvm::enumerate(cells)) {
    ++m.progress;
    if (m.isLeftOut(posted.target.array, cell))
      continue;
    ValueId value =
        m.makeElement(st, posted.plan, {posted.target.array, cell, rank},
                      llvm::ArrayRef(posted.reads).slice(e * n, n));
    if (value == kNone ||
        !m.state.store(st, posted.target.array, rank, cell, value))
      return false;
  }
  return m.countSteps(cells.size(), st.site);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool RegionRun::isGroupOpen(const Frame &frame) const {
  return processes[frame.process].inGroup;
}

bool RegionRun::openGroup(Frame &frame) {
  if (recording)
    return note({ScriptOp::Begin});
  processes[frame.process].inGroup = true;
  return true;
}

bool RegionRun::closeGroup(Frame &frame) {
  if (recording)
    return note({ScriptOp::End});
  Process &process = processes[frame.process];
  process.inGroup = false;
  frame.isWaiting = process.incomplete != 0;
  return frame.isWaiting || settle(process);
}

bool RegionRun::postLocal(Frame &frame, const Statement &st,
                          const ExprRef &expr, const View &target) {
  Posted posted;
  posted.st = st;
  posted.target = target;
  posted.plan = m.planOf(st, expr);
  if (m.isJoining())
    m.joinReads(expr, target.size(), posted.reads);
  else if (!m.gather(st, expr, target.size(), posted.reads))
    return false;
  processes[frame.process].posted.push_back(std::move(posted));
  return true;
}

/// A computed value is rounded when it is posted; a plain one on its way.
bool RegionRun::evaluateMessage(Frame &frame, const SendCode &send,
                                Message &message) {
  Statement st = m.statement(frame, m.siteOf(frame), send.mapping);
  message.site = st.site;
  message.mapping = st.mapping;
  const ExprRef *value = m.exprOf(frame, send.value, send.read);
  if (!value)
    return false;
  ExprRef expr = *value;
  m.fillRanks(expr, frame.self);
  const View *shape = nullptr;
  for (const ReadRef &read : expr.reads) {
    if (!m.checkPlace(frame, read.view.array, read.rank, st.site))
      return false;
    if (!m.state.arrays[read.view.array].isBroadcast && !shape)
      shape = &read.view;
  }
  if (shape && !m.checkShape(expr, *shape, st.site))
    return false;
  uint64_t size = shape ? shape->size() : 1;
  if (recording) {
    ScriptOp op{ScriptOp::Send, kNone, st.site};
    llvm::SmallVector<uint32_t> cells;
    for (const ReadRef &read : expr.reads) {
      m.state.cellsOf(read.view, cells);
      for (uint32_t cell : cells)
        op.cells.push_back(uint64_t(read.view.array) << 32 | cell);
    }
    return note(std::move(op));
  }
  if (m.isJoining()) {
    m.joinReads(expr, size, message.values);
    return true;
  }
  if (!m.gather(st, expr, size, message.values))
    return false;
  message.hasVia = send.hasVia;
  message.via = send.via;
  if (!expr.isComputed())
    return true;
  ExprId plan = m.planOf(st, expr);
  ElemType type = send.hasVia ? send.via : ElemType::T;
  message.hasVia = false;
  std::vector<ValueId> reads = std::move(message.values);
  message.values.clear();
  size_t n = expr.reads.size();
  for (size_t e = 0; e < size; ++e) {
    if (llvm::is_contained(llvm::ArrayRef(reads).slice(e * n, n), kNone)) {
      message.values.push_back(kNone); // it is left out
      continue;
    }
    ValueId result =
        m.builder.combine(st, plan, llvm::ArrayRef(reads).slice(e * n, n),
                          false, frame.self, type);
    if (result == kNone)
      return false;
    message.values.push_back(result);
  }
  return true;
}

bool RegionRun::send(Frame &frame, const SendCode &send) {
  Rank peer;
  Message message;
  if (!m.rankAt(frame, send.peer, peer, m.siteOf(frame)) ||
      !evaluateMessage(frame, send, message))
    return false;
  if (recording) {
    script->ops.back().peer = peer;
    return true;
  }
  ++numMessages;
  uint32_t queue = queueOf(frame.self, peer);
  queues[queue].messages.push_back(std::move(message));
  Process &process = processes[frame.process];
  post(queue, true);
  frame.isWaiting = !process.inGroup && process.incomplete != 0;
  return true;
}

bool RegionRun::receive(Frame &frame, const RecvCode &recv) {
  Rank peer;
  const View &target = frame.views[recv.target];
  Posted posted;
  posted.st = m.statement(frame, m.siteOf(frame), recv.mapping);
  posted.st.reduce = recv.reduce;
  posted.target = target;
  const Array &array = m.state.arrays[target.array];
  m.targetOfSite[posted.st.site] = target.array;
  if (array.buffer != kNone &&
      m.graph.buffers[array.buffer].kind != Buffer::Out)
    return m.fail({.fault = Fault::ReadOnly,
                   .site = posted.st.site,
                   .place = {target.array}});
  if (!m.rankAt(frame, recv.peer, peer, posted.st.site) ||
      !m.checkPlace(frame, target.array, frame.self, posted.st.site))
    return false;
  if (recording) {
    ScriptOp op{ScriptOp::Receive, peer, posted.st.site};
    llvm::SmallVector<uint32_t> cells;
    m.state.cellsOf(target, cells);
    for (uint32_t cell : cells)
      op.cells.push_back(uint64_t(target.array) << 32 | cell);
    return note(std::move(op));
  }
  Process &process = processes[frame.process];
  posted.queue = queueOf(peer, frame.self);
  uint32_t queue = posted.queue;
  process.posted.push_back(std::move(posted));
  post(queue, false);
  if (process.inGroup)
    return true;
  frame.isWaiting = process.incomplete != 0;
  return frame.isWaiting || settle(process);
}

/// The receiver's `block` places the receiving end.
MappingId RegionRun::merge(MappingId sentId, MappingId receivedId) {
  if (receivedId == 0)
    return sentId;
  Mapping received = m.graph.mappings[receivedId],
          merged = m.graph.mappings[sentId];
  if (received.block != kNone)
    merged.recvBlock = received.block;
  auto take = [](auto &to, const auto &from, const auto &none) {
    if (to == none)
      to = from;
  };
  take(merged.channel, received.channel, kNone);
  take(merged.recvBlock, received.recvBlock, kNone);
  take(merged.protocol, received.protocol, std::string());
  for (uint32_t Mapping::*field :
       {&Mapping::channels, &Mapping::instances, &Mapping::blocks,
        &Mapping::threads, &Mapping::slots})
    take(merged.*field, received.*field, 0u);
  take(merged.slotBytes, received.slotBytes, uint64_t(0));
  merged.store |= received.store;
  merged.pull |= received.pull;
  merged.push |= received.push;
  merged.staged |= received.staged;
  merged.sourceOrder |= received.sourceOrder;
  return m.builder.mapping(merged);
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

bool RegionRun::note(ScriptOp op) {
  script->ops.push_back(std::move(op));
  return true;
}

bool RegionRun::record(std::vector<Script> &scripts) {
  processes.clear();
  ready.clear();
  makeProcesses();
  recording = true;
  llvm::scope_exit leave([&] { recording = false; });
  scripts.resize(processes.size());
  for (auto [p, process] : llvm::enumerate(processes)) {
    script = &scripts[p];
    script->rank = process.frame.self;
    if (m.run(process.frame) != Machine::Run::Done)
      return false;
  }
  return true;
}

bool RegionRun::explain() {
  llvm::DenseMap<Rank, Iterations> iterations;
  for (const Process &process : processes)
    iterations[process.frame.self] =
        m.iterationsAt(process.frame, process.frame.pc - 1);
  std::vector<Script> scripts;
  if (!record(scripts))
    return false;
  m.regionFault = explainRegion(scripts, capacity);
  m.regionFault->region = site;
  for (const RegionFault::Link &link : m.regionFault->links)
    m.faultIterations.push_back(iterations.lookup(link.rank));
  return m.fail({.fault = Fault::Region, .site = site});
}

bool RegionRun::report() {
  uint64_t least = capacity;
  std::vector<Script> scripts;
  if (capacity > 0 && numMessages <= maxScriptOps) {
    if (!record(scripts))
      return false;
    least = *leastCapacity(scripts);
  }
  m.regions.push_back(
      {site, uint32_t(ranks.size()), numMessages, capacity, least});
  return true;
}
