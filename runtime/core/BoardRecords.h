//===- BoardRecords.h - What boards say of calls and waits ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain values, written whole behind a version (Versioned.h): every size is a
// multiple of eight bytes.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_BOARDRECORDS_H
#define COLL_RUNTIME_CORE_BOARDRECORDS_H

#include "coll/abi.h"

#include <cstdint>
#include <string>

namespace coll {

/// One launch, as the launcher writes it down before its first message.
struct LaunchRecord {
  uint64_t launch = 0;       ///< 1, 2, 3, ... on this communicator
  uint64_t planDigest = 0;   ///< coll_plan_ranks.digest
  uint64_t contractHash = 0; ///< coll_plan.contract_hash
  uint64_t count = 0;        ///< elements, when hasCount
  int32_t launchValues[COLL_MAX_LAUNCH] = {}; ///< the first nlaunch ones
  uint32_t sig = 0;
  uint8_t dtype = COLL_ANY, op = COLL_ANY; ///< COLL_ANY: the plan asks for none
  uint8_t nlaunch = 0, hasCount = 0;
  uint32_t protocol = 0;  ///< COLL_PROTOCOL_*, of its messages
  char plan[48] = {};     ///< coll_plan.name, cut
  char contract[32] = {}; ///< coll_plan.contract, cut
};

/// The last coll_comm_dup or coll_comm_split that a rank has begun.
struct SplitRecord {
  uint64_t number = 0;      ///< 1, 2, 3, ... on this communicator
  uint64_t launches = 0;    ///< that it had entered before
  uint64_t isDuplicate = 0; ///< coll_comm_dup
  const char *call() const {
    return isDuplicate ? "coll_comm_dup" : "coll_comm_split";
  }
  /// "coll_comm_dup after launch 3".
  std::string text() const;
};

/// Where a block waits.  `state` is COLL_STATE_*; IDLE: nowhere.
struct Position {
  uint64_t launch = 0;
  uint64_t sinceNs = 0; ///< monotonicNs() when the wait began
  int32_t peer = -1;    ///< whom it waits for, -1: a block of its own rank
  uint32_t state = COLL_STATE_IDLE;
  char where[64] = {}; ///< "ring.coll:14:5", cut
  char what[128] = {}; ///< "recv acc[c] from prev, chunk 3", cut
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_BOARDRECORDS_H
