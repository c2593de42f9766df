//===- SymmetryDeadlock.cpp - Why processes that turn get stuck -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All processes wait at the same place, for the one at the same distance; the
// circle goes round by that distance. The script of one process, with distances
// in place of peers, has all that there is to know (SymmetryRegion.cpp).
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/SymmetryRun.h"

using namespace coll;
using namespace coll::elab;

using Op = SymmetryRun::Op;

namespace {
/// Where all processes are stuck; op == kNone: nowhere.
struct StuckAt {
  uint32_t op = kNone;
  uint64_t sequence = 0;
  /// Nobody is, but messages from this distance are left over.
  Rank leftover = kNone;
  bool isDone() const { return op == kNone && leftover == kNone; }
};
} // namespace

static StuckAt simulate(llvm::ArrayRef<Op> script, uint64_t capacity) {
  std::map<Rank, QueueCounts> queues;
  StuckAt stuck;
  for (size_t i = 0; i < script.size();) {
    std::vector<std::pair<uint32_t, uint64_t>> posted;
    bool inGroup = script[i].kind == ScriptOp::Begin;
    do {
      const Op &op = script[i++];
      if (op.kind == ScriptOp::End)
        inGroup = false;
      if (op.kind != ScriptOp::Send && op.kind != ScriptOp::Receive)
        continue;
      QueueCounts &queue = queues[op.distance];
      posted.push_back({i - 1, op.kind == ScriptOp::Send ? queue.sends++
                                                         : queue.receives++});
    } while (inGroup);
    for (auto [at, sequence] : posted) {
      const QueueCounts &queue = queues[script[at].distance];
      if (sequence >= (script[at].kind == ScriptOp::Send
                           ? queue.sendsDone(capacity)
                           : queue.receivesDone())) {
        stuck.op = at;
        stuck.sequence = sequence;
        return stuck;
      }
    }
  }
  for (const auto &[distance, queue] : queues)
    if (queue.sends > queue.receives) {
      stuck.leftover = distance;
      stuck.sequence = queue.receives;
      return stuck;
    }
  return stuck;
}

/// kNone: there is none.
static SiteId siteOf(llvm::ArrayRef<Op> script, ScriptOp::Kind kind,
                     Rank distance, uint64_t sequence) {
  for (const Op &op : script)
    if (op.kind == kind && op.distance == distance && sequence-- == 0)
      return op.site;
  return kNone;
}

static std::optional<uint64_t> leastBuffer(llvm::ArrayRef<Op> script) {
  uint64_t low = 0, high = script.size();
  if (!simulate(script, high).isDone())
    return std::nullopt;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (simulate(script, middle).isDone())
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// What a receive writes is seen by the next operation, but not within a group.
static bool canGroup(const Op &first, const Op &second) {
  bool isPosted =
      second.kind == ScriptOp::Send || second.kind == ScriptOp::Receive;
  return isPosted && first.site != second.site &&
         (first.kind == ScriptOp::Send ||
          llvm::none_of(second.cells, [&](uint64_t cell) {
            return llvm::is_contained(first.cells, cell);
          }));
}

/// What waits and what follows it may perhaps be posted together.
static void findRepair(llvm::ArrayRef<Op> script, uint32_t at,
                       RegionFault &fault) {
  for (uint32_t i = at; i > 0 && script[i - 1].kind != ScriptOp::End; --i)
    if (script[i - 1].kind == ScriptOp::Begin)
      return;
  if (at + 1 == script.size() || !canGroup(script[at], script[at + 1]))
    return;
  std::pair pair(script[at].site, script[at + 1].site);
  std::vector<Op> grouped;
  for (size_t i = 0; i < script.size(); ++i) {
    bool isPair = i + 1 < script.size() &&
                  pair == std::pair(script[i].site, script[i + 1].site);
    if (!isPair) {
      grouped.push_back(script[i]);
      continue;
    }
    if (!canGroup(script[i], script[i + 1]))
      return;
    grouped.push_back({ScriptOp::Begin});
    grouped.push_back(script[i]);
    grouped.push_back(script[++i]);
    grouped.push_back({ScriptOp::End});
  }
  if (simulate(grouped, fault.capacity).isDone())
    fault.repairs.push_back(pair);
}

RegionFault SymmetryRun::explainStuck(llvm::ArrayRef<Op> script) const {
  RegionFault fault;
  fault.region = regionSite;
  fault.capacity = capacity;
  fault.numProcesses = fault.numStuck = m.graph.numRanks();
  StuckAt stuck = simulate(script, capacity);
  if (stuck.op == kNone) {
    fault.kind = RegionFault::NeverReceived;
    fault.links = {
        {0, stuck.leftover,
         siteOf(script, ScriptOp::Send, stuck.leftover, stuck.sequence), true,
         kNone}};
    return fault;
  }
  const Op &op = script[stuck.op];
  bool isSend = op.kind == ScriptOp::Send;
  SiteId counterpart =
      isSend ? siteOf(script, ScriptOp::Receive, op.distance,
                      stuck.sequence - capacity)
             : siteOf(script, ScriptOp::Send, op.distance, stuck.sequence);
  Rank step = isSend ? op.distance : negated(op.distance);
  if (counterpart == kNone) {
    fault.kind = isSend ? RegionFault::NeverReceived : RegionFault::NeverSent;
    fault.links = {{0, step, op.site, isSend, kNone}};
    return fault;
  }
  Steps by(dims.size());
  for (unsigned d = 0; d < dims.size(); ++d)
    by[d] = coord(step, d);
  Rank rank = 0;
  do {
    Rank peer = turnedRank(rank, by);
    fault.links.push_back({rank, peer, op.site, isSend, counterpart});
    rank = peer;
  } while (rank != 0);
  fault.leastCapacity = leastBuffer(script);
  findRepair(script, stuck.op, fault);
  return fault;
}
