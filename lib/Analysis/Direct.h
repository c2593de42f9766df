//===- Direct.h - Which messages may go direct ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks messages that both ends may handle in the launch's own buffers instead
// of slots, so that each byte is loaded and stored once:
//
//   put  the receiver only stores the message into a chunk of an output: the
//        sender stores it there
//   get  the sender only sends a chunk of an input: the receiver loads it there
//
// An all-reduce in two steps (each rank reduces its share of all inputs, and
// sends the sum to all) becomes gets of inputs and puts into outputs. Where a
// message may be either, no byte is saved by one or the other; it is put, since
// a get keeps its sender in the launch until all have read, unless that would
// make a rank move more than any receiver of its messages, copies of its own
// memory counted: the root of a broadcast would store for all, one after the
// other, what all can load at the same time, while it copies its own part. It
// is put, too, where one multimem instruction stores for all: `protocol
// multimem` says so, or the programs run only where there are such.
//
// First all that by its two steps could go direct is marked, then what
// checkDirect does not let pass is taken back, until it has nothing to say. In
// place alone it is declined (Program.h), as by an all-to-all that would store
// over what others still get.
// Programs that run only because of how batches of credits are aligned have no
// direct messages.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_DIRECT_H
#define COLL_LIB_ANALYSIS_DIRECT_H

#include "lib/Analysis/DirectCheck.h"

#include <span>
#include <string>

namespace coll {

/// Of all members; marks that are there already are forgotten. `fifos`: what
/// the programs have to run on.
/// `mayMulticast`: whoever runs them has multimem instructions.
void chooseDirect(ProgramSet &programs, std::span<const FifoShape> fifos,
                  bool mayMulticast = false);

/// How many messages are put, got and neither, of all members.
struct DirectCounts {
  uint64_t puts = 0, gets = 0, others = 0;
};
DirectCounts countDirect(const ProgramSet &programs);
DirectCounts countDirect(const ProgramMember &member);

/// Why the other messages of a member use slots in every launch, and how many.
struct SlotReasons {
  /// What they carry is neither stored in an output as it comes nor an input as
  /// it is.
  uint64_t combined = 0;
  /// So it is only in place, or only out of place.
  uint64_t inPlace = 0;
  /// These have slots in place, and not out of place.
  uint64_t declined = 0;
  /// Some other access could overtake them, or be overtaken, where nobody waits
  /// for their slots.
  uint64_t ordering = 0;
  /// Counts are each rank's own: peers cannot tell where a part begins.
  uint64_t counted = 0;
  /// `map` says so: `staged`, `protocol simple`.
  uint64_t asked = 0;
};
SlotReasons whyInSlots(const ProgramSet &programs, uint32_t member);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_DIRECT_H
