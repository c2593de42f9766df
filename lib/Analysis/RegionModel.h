//===- RegionModel.h - Messages of an `on`, without data -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes of an `on` take no decision on data, so each is a fixed list of
// operations, a script. There is one queue of a given capacity per ordered pair
// of processes; the k-th send of a pair meets its k-th receive. Then
//
//   the k-th send is complete once  k < receives posted + capacity  (from 0)
//   the k-th receive is             k < sends posted
//
// and a process goes on when all that it has posted is complete. Nothing else
// happens, so the order in which processes are run does not matter: either all
// of them end, or the same ones get stuck at the same place, and more capacity
// never hurts. One greedy run decides.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_REGIONMODEL_H
#define COLL_LIB_ANALYSIS_REGIONMODEL_H

#include "lib/Analysis/ChunkGraph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <vector>

namespace coll {

/// One ordered pair of ranks: counts of what was posted.
struct QueueCounts {
  uint64_t sends = 0, receives = 0;

  uint64_t sendsDone(uint64_t capacity) const {
    return std::min(sends, receives + capacity);
  }
  uint64_t receivesDone() const { return std::min(sends, receives); }
};

struct ScriptOp {
  enum Kind : uint8_t { Send, Receive, Local, Begin, End } kind;
  Rank peer = kNone;
  SiteId site = kNone;
  std::vector<uint64_t> cells = {}; ///< read by a send, written by a receive
};
struct Script {
  Rank rank;
  std::vector<ScriptOp> ops;
};

/// What a greedy run comes to.
struct RegionOutcome {
  bool isDone = false; ///< all processes ended and all queues are empty
  struct Wait {
    uint32_t process; ///< that waits
    uint32_t op;      ///< of its script
    Rank peer;
    uint64_t sequence; ///< among the operations of its kind with that peer
  };
  std::vector<Wait> waits; ///< all of them, by process
  std::vector<bool> ended; ///< by process
  struct Leftover {
    Rank from, to;
    uint64_t sequence; ///< of the first message that nobody received
    uint64_t count;
  };
  std::vector<Leftover> leftovers; ///< in queues of processes that ended
};
RegionOutcome simulateRegion(llvm::ArrayRef<Script> scripts, uint64_t capacity);

/// The least capacity with which the region ends; nothing if none does.
std::optional<uint64_t> leastCapacity(llvm::ArrayRef<Script> scripts);

/// Why a region does not end.
struct RegionFault {
  enum Kind : uint8_t { Deadlock, NeverReceived, NeverSent } kind = Deadlock;
  SiteId region = kNone;
  uint64_t capacity = 0;
  /// Deadlock: who waits for whom, round the cycle, from its lowest rank.
  /// NeverReceived, NeverSent: the one operation that has no counterpart.
  struct Link {
    Rank rank, peer;
    SiteId site; ///< of the operation that waits
    bool isSend;
    SiteId counterpart; ///< what it waits for; kNone: there is none
  };
  std::vector<Link> links;
  uint64_t numStuck = 0; ///< processes that never end
  uint64_t numProcesses = 0;
  bool isPeerPresent =
      true; ///< NeverReceived, NeverSent: the peer has a process
  std::optional<uint64_t> leastCapacity;
  /// Pairs of operations that follow each other, and end the deadlock if each
  /// is posted as one group, without changing what anybody reads.
  std::vector<std::pair<SiteId, SiteId>> repairs;
};
/// Of scripts that do not end with this capacity.
RegionFault explainRegion(llvm::ArrayRef<Script> scripts, uint64_t capacity);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_REGIONMODEL_H
