//===- Report.h - What a program costs --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_REPORT_H
#define COLL_LIB_ANALYSIS_REPORT_H

#include "lib/Analysis/Direct.h"

#include <map>

namespace coll {

/// An amount of data before counts are known: so many chunks of each size
/// symbol, each a 1 / chunks of a part.
struct Volume {
  std::map<uint32_t, uint64_t> chunksOf; ///< by size symbol; tokens are no data
  bool operator==(const Volume &) const = default;
  /// In parts, over all size symbols.
  double parts(const ProgramSet &programs) const;
};

/// What one rank does in a launch, whatever the number of rounds.
struct RankReport {
  Volume sent, received;
  /// Memory traffic: loads and receives; stores and sends.
  Volume read, written;
  uint32_t messagesSent = 0, messagesReceived = 0; ///< a round
  uint32_t steps = 0, blocks = 0, sendChannels = 0, recvChannels = 0;
  uint32_t scratchSlots = 0;
  /// Of all instances, where elements are stored as T.
  uint64_t scratchBytes = 0;
  bool operator==(const RankReport &) const = default;
};

enum class InPlaceSafety : uint8_t { NotOffered, Safe, NeedsScratch };

struct ProgramReport {
  uint32_t member = 0;
  std::vector<RankReport> ranks; ///< by rank, out of place
  InPlaceSafety inPlace = InPlaceSafety::NotOffered;
  /// NeedsScratch: of the rank that needs most, beyond what it needs anyway.
  uint64_t inPlaceScratchBytes = 0;
  /// Wherever ranks hold the same sum, they hold the same bits.
  bool ranksAgree = false;
  /// Messages that may go direct, of the member, and why others do not.
  DirectCounts direct;
  SlotReasons slots;
};

ProgramReport reportOn(const ProgramSet &programs, uint32_t member,
                       const ChunkGraph &graph);

/// As people read it: one line per group of ranks that do the same.
std::string printReport(const ProgramSet &programs,
                        const ProgramReport &report);

/// "12 with counts of each rank, 3 ...": why messages do not go direct.
std::string slotReasonsText(const SlotReasons &slots);

/// "0, 2 .. 5, 9": for lists of ranks in messages.
std::string foldRanks(const std::vector<Rank> &ranks);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_REPORT_H
