//===- Report.h - What a program costs --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_REPORT_H
#define COLL_LIB_ANALYSIS_REPORT_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <map>

namespace coll {

/// Shares of parts: `perSize[s]` chunks-worth of size symbol s, as (numerator
/// over that symbol's `chunks`). Bytes follow when counts are known.
struct Volume {
  std::map<uint32_t, uint64_t> chunksOf; ///< size symbol -> chunks
  uint64_t chunks() const {
    uint64_t n = 0;
    for (auto &[size, count] : chunksOf)
      n += count;
    return n;
  }
  /// In units of whole parts, over all size symbols.
  double parts(const ProgramSet &programs) const;
};

/// What one rank does per launch, whatever the number of rounds.
struct RankReport {
  Volume sent, received;
  Volume bytesRead, bytesWritten; ///< memory traffic: loads and receives; stores and sends
  uint32_t messagesSent = 0, messagesReceived = 0; ///< a round
  uint32_t steps = 0, blocks = 0, sendChannels = 0, recvChannels = 0;
  uint32_t scratchSlots = 0;
  uint64_t scratchBytes = 0; ///< over all instances, for an element type stored as itself
  bool operator==(const RankReport &) const;
};

enum class InPlaceSafety : uint8_t { NotOffered, Safe, NeedsScratch };

struct ProgramReport {
  std::vector<RankReport> ranks; ///< by rank, out of place
  InPlaceSafety inPlace = InPlaceSafety::NotOffered;
  uint64_t inPlaceScratchBytes = 0; ///< NeedsScratch: of the rank that needs most, beyond what it needs anyway
  bool ranksAgree = false;          ///< every rank that has a location of `out` has the same term there
};

ProgramReport reportOn(const ProgramSet &programs, uint32_t member, const ChunkGraph &graph);

/// The report as people read it: one line per group of ranks that do the same.
std::string printReport(const ProgramSet &programs, const ProgramReport &report);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_REPORT_H
