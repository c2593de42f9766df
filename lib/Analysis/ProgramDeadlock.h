//===- ProgramDeadlock.h - Do programs get stuck? ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the blocks of all ranks against FIFOs of a given shape, counting slices
// and nothing else. Programs are deterministic and a channel has one writer and
// one reader, so one greedy run decides for every timing. When it gets stuck,
// every blocked block names what it waits for, and following that gives a
// cycle.
//
// A slice of a step takes one slice from every receive and needs a free slot on
// every send; it holds the slot it received until it can send. The receiver
// gives slots back in batches: send i + k of a launch waits for receive ceil((i
// + 1) / b) * b - 1 (docs/Runtime.md, channels).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_PROGRAMDEADLOCK_H
#define COLL_LIB_ANALYSIS_PROGRAMDEADLOCK_H

#include "lib/Analysis/Program.h"

#include <optional>

namespace coll {

struct FifoShape {
  uint32_t slots = 4;  ///< k
  uint32_t batch = 2;  ///< b: slots are given back so many at a time
  uint32_t slices = 1; ///< of a message (a round of a chunk's share); w
  uint32_t rounds = 1; ///< how often the program runs; slots are counted on
  /// Of the last round: messages of chunks below `longChunks` have
  /// `lastSlices`, the others one less. 0: `slices`, all.
  uint32_t lastSlices = 0, longChunks = kNone;

  /// Free slots a sender can count on whatever the alignment of batches.
  uint32_t guaranteedSlots() const { return slots - batch + 1; }
  /// One round on these. A cycle of waits lies in one round, and dropping
  /// slices only weakens it: so if this run ends, every launch does.
  FifoShape guaranteed() const { return {guaranteedSlots(), 1, slices, 1}; }
};

/// A block that cannot go on, and why.
struct BlockedAt {
  enum Why : uint8_t { Data, Credit, Block } why = Data;
  Rank rank = 0;
  uint32_t block = 0, step = 0, slice = 0, round = 0;
  SiteId site = kNone;
  Rank peer = 0;    ///< Data, Credit
  uint32_t tag = 0; ///< Data, Credit
  /// The block of `peer` (Block: of `rank`) that has to act.
  uint32_t onBlock = 0;
  /// It has ended: the message is never sent, or never taken.
  bool isOver = false;
};

struct DeadlockResult {
  bool isStuck = false;
  /// Every block that has not ended, by rank and block.
  std::vector<BlockedAt> blocked;
  /// Each waits for the next, the last for the first; or one whose partner is
  /// over.
  std::vector<BlockedAt> cycle;
  /// False: two blocks use one end of a channel, so timing decides, and nothing
  /// was run.
  bool isDecided = true;
};

enum class Variant : uint8_t { OutOfPlace, InPlace };

/// Greedy run of one member at exactly this shape.
DeadlockResult runFifos(const ProgramSet &programs, uint32_t member,
                        Variant variant, const FifoShape &shape);

/// Whether no launch gets stuck, whatever its counts, with messages of at most
/// `shape.slices` slices. First by the guaranteed slots, which settles it if
/// they suffice; else exactly: messages of every length up to `slices` in the
/// last round, after as many full rounds as batches can be misaligned, with
/// chunks that are longer than others. Returns the run that got stuck.
DeadlockResult findDeadlock(const ProgramSet &programs, uint32_t member,
                            Variant variant, const FifoShape &shape);

/// The least slots with which findDeadlock finds none, all else as in `shape`;
/// nothing if no number of them helps.
std::optional<uint32_t> leastSlots(const ProgramSet &programs, uint32_t member,
                                   Variant variant, const FifoShape &shape);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_PROGRAMDEADLOCK_H
