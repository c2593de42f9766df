//===- Schedule.h - From chunk graphs to programs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a step is, in which order the steps of a rank run, in which
// block and on which channel, and where a value that has to wait lies in
// memory. The result is checked by findDeadlock before it is returned; that it
// means what the chunk graph means is for checkPrograms to find out.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SCHEDULE_H
#define COLL_LIB_ANALYSIS_SCHEDULE_H

#include "lib/Analysis/MapLimits.h"
#include "lib/Analysis/ProgramDeadlock.h"

#include <optional>
#include <span>

namespace coll {

/// How much one step may do. Each is tried in turn until the program runs at
/// the buffering there is; with None it always does if a message fits a FIFO.
enum class Fusion : uint8_t {
  /// Sends join the step that makes the value, and values with one user are
  /// computed in its step.
  Full,
  /// Only the former.
  Sends,
  /// Every message is sent and received by a step of its own.
  None
};

struct ScheduleOptions {
  Fusion fusion = Fusion::Full; ///< the most that is tried
  /// The FIFOs a program has to run with. `map { slots slot }` wins.
  uint32_t slots = 4, smallSlots = 8;
  uint64_t slotBytes = 64 << 10;
  /// Messages are marked that may go direct (Direct.h).
  bool mayGoDirect = true;
  /// The programs run only where there are multimem instructions.
  bool mayMulticast = false;
  /// Sources that a step gets by taking over another step's.
  uint32_t maxSources = 4;
};

/// Why there is no program.
struct ScheduleRefusal {
  enum Kind : uint8_t {
    Deadlock,      ///< stuck at the buffering that `map` asks for; `deadlock`
    RoundTooSmall, ///< `round` below 16 bytes
    ScratchLimit,  ///< needs `needed` bytes of scratch, `map` allows `limit`
    TooManyBlocks, ///< `needed` blocks, `limit` is the most
    TooManyTags,   ///< `needed` channels between two ranks
    TooManyPorts,  ///< a step of `needed` sources or sinks
    TooManySteps,  ///< of a rank
    RoundTooLong,  ///< a round of `needed` slots
  } kind;
  uint32_t member = 0;
  Rank rank = 0;
  Variant variant = Variant::OutOfPlace;
  SiteId site = kNone; ///< in ProgramSet::sites
  uint64_t needed = 0, limit = 0;
  FifoShape shape = {}; ///< Deadlock: at which
  DeadlockResult deadlock = {};
};

struct ScheduleResult {
  /// Also when refused: the last that was tried, for the report.
  ProgramSet programs;
  Fusion fusion = Fusion::Full;
  /// What the programs were found to run with: a runtime must have at least
  /// these slots, and no more slices a message.
  FifoShape bulk, small;
  /// `map { round }` is more than the FIFOs hold, and names no buffering.
  bool isRoundShortened = false;
  std::optional<ScheduleRefusal> refusal;
};

/// One chunk graph per launch member, in the order of the launch domains.
ScheduleResult schedule(std::span<const ChunkGraph> members,
                        const ScheduleOptions &options = {});

} // namespace coll

#endif // COLL_LIB_ANALYSIS_SCHEDULE_H
