//===- RegionModel.cpp - Messages of an `on` statement, without data ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/RegionModel.h"
#include "lib/Analysis/ShortestCycle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>

using namespace coll;

//===----------------------------------------------------------------------===//
// The greedy run
//===----------------------------------------------------------------------===//

namespace {
class Simulation {
public:
  Simulation(llvm::ArrayRef<Script> scripts, uint64_t capacity);
  RegionOutcome run();

private:
  struct Process {
    uint32_t next = 0;  ///< operation
    uint32_t first = 0; ///< of those that are posted and waited for
    uint64_t incomplete = 0;
  };
  void step(uint32_t p);
  void post(uint32_t p, const ScriptOp &op);
  void complete(Rank rank, uint64_t n);
  RegionOutcome outcome();

  llvm::ArrayRef<Script> scripts;
  uint64_t capacity;
  std::vector<Process> processes;
  llvm::DenseMap<uint64_t, QueueCounts> queues;
  llvm::DenseMap<Rank, uint32_t> processOf;
  std::deque<uint32_t> ready;
};
} // namespace

static uint64_t pairOf(Rank from, Rank to) { return uint64_t(from) << 32 | to; }

Simulation::Simulation(llvm::ArrayRef<Script> scripts, uint64_t capacity)
    : scripts(scripts), capacity(capacity), processes(scripts.size()) {
  for (auto [p, script] : llvm::enumerate(scripts)) {
    processOf[script.rank] = p;
    ready.push_back(p);
  }
}

void Simulation::complete(Rank rank, uint64_t n) {
  auto it = processOf.find(rank);
  if (n == 0 || it == processOf.end())
    return;
  Process &process = processes[it->second];
  process.incomplete -= n;
  if (process.incomplete == 0)
    ready.push_back(it->second);
}

void Simulation::post(uint32_t p, const ScriptOp &op) {
  bool isSend = op.kind == ScriptOp::Send;
  if (!isSend && op.kind != ScriptOp::Receive)
    return;
  ++processes[p].incomplete;
  Rank from = isSend ? scripts[p].rank : op.peer;
  Rank to = isSend ? op.peer : scripts[p].rank;
  QueueCounts &queue = queues[pairOf(from, to)];
  QueueCounts before = queue;
  ++(isSend ? queue.sends : queue.receives);
  uint64_t sends = queue.sendsDone(capacity) - before.sendsDone(capacity);
  uint64_t receives = queue.receivesDone() - before.receivesDone();
  complete(from, sends);
  complete(to, receives);
}

void Simulation::step(uint32_t p) {
  Process &process = processes[p];
  const std::vector<ScriptOp> &ops = scripts[p].ops;
  // `ready` may name a process twice; the second time it waits or has ended.
  if (process.incomplete != 0 || process.next == ops.size())
    return;
  process.first = process.next;
  bool isGroup = ops[process.next].kind == ScriptOp::Begin;
  ++process.incomplete; // so that nothing is ready before all is posted
  do
    post(p, ops[process.next++]);
  while (isGroup && ops[process.next - 1].kind != ScriptOp::End);
  complete(scripts[p].rank, 1);
}

RegionOutcome Simulation::outcome() {
  RegionOutcome result;
  llvm::DenseMap<uint64_t, QueueCounts> posted; // again, in order
  for (auto [p, script] : llvm::enumerate(scripts)) {
    const Process &process = processes[p];
    result.ended.push_back(process.incomplete == 0);
    for (uint32_t i = 0; i < process.next; ++i) {
      const ScriptOp &op = script.ops[i];
      if (op.kind != ScriptOp::Send && op.kind != ScriptOp::Receive)
        continue;
      bool isSend = op.kind == ScriptOp::Send;
      uint64_t pair =
          isSend ? pairOf(script.rank, op.peer) : pairOf(op.peer, script.rank);
      const QueueCounts &queue = queues[pair];
      QueueCounts &before = posted[pair];
      uint64_t sequence = isSend ? before.sends++ : before.receives++;
      uint64_t done = isSend ? queue.sendsDone(capacity) : queue.receivesDone();
      if (sequence >= done)
        result.waits.push_back({uint32_t(p), i, op.peer, sequence});
    }
  }
  for (auto &[pair, queue] : queues)
    if (queue.sends > queue.receives)
      result.leftovers.push_back({Rank(pair >> 32), Rank(pair), queue.receives,
                                  queue.sends - queue.receives});
  llvm::sort(result.leftovers, [](const auto &a, const auto &b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  result.isDone = result.waits.empty() && result.leftovers.empty();
  return result;
}

RegionOutcome Simulation::run() {
  while (!ready.empty()) {
    uint32_t p = ready.front();
    ready.pop_front();
    step(p);
  }
  return outcome();
}

RegionOutcome coll::simulateRegion(llvm::ArrayRef<Script> scripts,
                                   uint64_t capacity) {
  return Simulation(scripts, capacity).run();
}

std::optional<uint64_t> coll::leastCapacity(llvm::ArrayRef<Script> scripts) {
  uint64_t high = 0; // more than all sends of a process never helps
  for (const Script &script : scripts)
    high = std::max<uint64_t>(high, script.ops.size());
  if (!simulateRegion(scripts, high).isDone)
    return std::nullopt;
  uint64_t low = 0;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (simulateRegion(scripts, middle).isDone)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

//===----------------------------------------------------------------------===//
// Why it does not end
//===----------------------------------------------------------------------===//

namespace {
class Explanation {
public:
  Explanation(llvm::ArrayRef<Script> scripts, uint64_t capacity)
      : scripts(scripts), capacity(capacity),
        outcome(simulateRegion(scripts, capacity)) {
    for (auto [p, script] : llvm::enumerate(scripts))
      processOf[script.rank] = p;
  }
  RegionFault explain();

private:
  using Wait = RegionOutcome::Wait;
  const ScriptOp &opOf(const Wait &wait) {
    return scripts[wait.process].ops[wait.op];
  }
  SiteId siteOfOp(Rank rank, ScriptOp::Kind kind, Rank peer, uint64_t sequence);
  RegionFault::Link linkOf(const Wait &wait);
  bool findUnmatched(RegionFault &fault);
  void findCycle(RegionFault &fault);
  void findRepairs(RegionFault &fault);
  bool canGroup(const ScriptOp &first, const ScriptOp &second);

  llvm::ArrayRef<Script> scripts;
  uint64_t capacity;
  RegionOutcome outcome;
  llvm::DenseMap<Rank, uint32_t> processOf;
  std::vector<Wait> cycle;
};
} // namespace

/// kNone: the process has no such operation, or there is no such process.
SiteId Explanation::siteOfOp(Rank rank, ScriptOp::Kind kind, Rank peer,
                             uint64_t sequence) {
  auto it = processOf.find(rank);
  if (it == processOf.end())
    return kNone;
  for (const ScriptOp &op : scripts[it->second].ops)
    if (op.kind == kind && op.peer == peer && sequence-- == 0)
      return op.site;
  return kNone;
}

RegionFault::Link Explanation::linkOf(const Wait &wait) {
  const ScriptOp &op = opOf(wait);
  Rank rank = scripts[wait.process].rank;
  bool isSend = op.kind == ScriptOp::Send;
  // A send waits for the receive `capacity` before its own.
  uint64_t sequence = isSend ? wait.sequence - capacity : wait.sequence;
  SiteId counterpart = siteOfOp(
      op.peer, isSend ? ScriptOp::Receive : ScriptOp::Send, rank, sequence);
  return {rank, op.peer, op.site, isSend, counterpart};
}

/// An operation without counterpart is the cause of whatever else is stuck.
bool Explanation::findUnmatched(RegionFault &fault) {
  for (const Wait &wait : outcome.waits) {
    RegionFault::Link link = linkOf(wait);
    if (link.counterpart != kNone)
      continue;
    fault.kind =
        link.isSend ? RegionFault::NeverReceived : RegionFault::NeverSent;
    fault.links = {link};
    fault.isPeerPresent = processOf.contains(link.peer);
    return true;
  }
  if (!outcome.waits.empty())
    return false;
  const RegionOutcome::Leftover &left = outcome.leftovers.front();
  fault.kind = RegionFault::NeverReceived;
  fault.links = {{left.from, left.to,
                  siteOfOp(left.from, ScriptOp::Send, left.to, left.sequence),
                  true, kNone}};
  fault.isPeerPresent = processOf.contains(left.to);
  return true;
}

/// Every stuck process waits for a stuck one, so there is a circle. It is told
/// from its lowest rank on.
void Explanation::findCycle(RegionFault &fault) {
  std::vector<std::vector<uint32_t>> targets(scripts.size());
  std::vector<std::vector<const Wait *>> waitsOf(scripts.size());
  for (const Wait &wait : outcome.waits) {
    targets[wait.process].push_back(processOf.lookup(wait.peer));
    waitsOf[wait.process].push_back(&wait);
  }
  auto circle = shortestCycle(targets);
  llvm::SmallVector<const Wait *> links;
  for (auto [process, edge] : circle)
    links.push_back(waitsOf[process][edge]);
  auto lowest = llvm::min_element(links, [&](const Wait *a, const Wait *b) {
    return scripts[a->process].rank < scripts[b->process].rank;
  });
  std::rotate(links.begin(), lowest, links.end());
  for (const Wait *wait : links) {
    cycle.push_back(*wait);
    fault.links.push_back(linkOf(*wait));
  }
}

bool Explanation::canGroup(const ScriptOp &first, const ScriptOp &second) {
  bool isPosted =
      second.kind == ScriptOp::Send || second.kind == ScriptOp::Receive;
  if (!isPosted || first.site == second.site)
    return false;
  // What a receive writes is seen by the next operation, but not within a
  // group.
  return first.kind == ScriptOp::Send ||
         llvm::none_of(second.cells, [&](uint64_t cell) {
           return llvm::is_contained(first.cells, cell);
         });
}

void Explanation::findRepairs(RegionFault &fault) {
  for (const Wait &wait : cycle) {
    const std::vector<ScriptOp> &ops = scripts[wait.process].ops;
    bool isGrouped = false;
    for (uint32_t i = wait.op; i > 0 && ops[i - 1].kind != ScriptOp::End; --i)
      isGrouped |= ops[i - 1].kind == ScriptOp::Begin;
    if (isGrouped || wait.op + 1 == ops.size() ||
        !canGroup(ops[wait.op], ops[wait.op + 1]))
      return fault.repairs.clear();
    std::pair pair(ops[wait.op].site, ops[wait.op + 1].site);
    if (!llvm::is_contained(fault.repairs, pair))
      fault.repairs.push_back(pair);
  }
  std::vector<Script> grouped;
  for (const Script &script : scripts) {
    Script &to = grouped.emplace_back(Script{script.rank, {}});
    for (size_t i = 0; i < script.ops.size(); ++i) {
      const ScriptOp &op = script.ops[i];
      bool isPair =
          i + 1 < script.ops.size() &&
          llvm::is_contained(fault.repairs,
                             std::pair(op.site, script.ops[i + 1].site));
      if (!isPair) {
        to.ops.push_back(op);
        continue;
      }
      if (!canGroup(op, script.ops[i + 1]))
        return fault.repairs.clear();
      to.ops.push_back({ScriptOp::Begin});
      to.ops.push_back(op);
      to.ops.push_back(script.ops[++i]);
      to.ops.push_back({ScriptOp::End});
    }
  }
  if (!simulateRegion(grouped, capacity).isDone)
    fault.repairs.clear();
}

RegionFault Explanation::explain() {
  RegionFault fault;
  fault.capacity = capacity;
  fault.numProcesses = scripts.size();
  fault.numStuck = llvm::count(outcome.ended, false);
  if (findUnmatched(fault))
    return fault;
  findCycle(fault);
  fault.leastCapacity = leastCapacity(scripts);
  findRepairs(fault);
  return fault;
}

RegionFault coll::explainRegion(llvm::ArrayRef<Script> scripts,
                                uint64_t capacity) {
  return Explanation(scripts, capacity).explain();
}
