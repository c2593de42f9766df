//===- Program.h - What every rank runs -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of scheduling and the subject of the second verification: per
// rank an ordered list of fused steps in each block, and the channels between
// ranks. The dialect's `coll.program` is the same thing as text
// (lib/Transforms/ProgramToIR.h, both ways). Nothing here knows a target, and
// lowering adds nothing that can change order, amount or place.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_PROGRAM_H
#define COLL_LIB_ANALYSIS_PROGRAM_H

#include "lib/Analysis/ChunkGraph.h"

namespace coll {

/// Where a load or a store goes. Scratch is per round: slot `part` holds one
/// round of one chunk's share. Slots of tokens are numbered apart: they take no
/// memory, are not counted in scratchSlots and are never touched.
struct Location {
  enum Space : uint8_t { Buffer, Scratch } space = Buffer;
  uint16_t buffer = 0; // index into ProgramSet::buffers
  uint32_t part = 0;   // part of the buffer, or scratch slot
  uint32_t chunk = 0;  // in the part; unused for scratch
  bool operator==(const Location &) const = default;
};

/// A source or sink of a step.
struct Port {
  enum Kind : uint8_t { Recv, Load, Send, Store } kind;
  ElemType type = ElemType::T; // on the wire or in memory
  /// Load of a leaf (or of scratch that holds a leaf saved from an in-place
  /// store): premul_sum multiplies by the factor, in accum ...
  bool scaled = false;
  /// ... and rounds to T (a copy of a leaf), before use. Of a Recv too,
  /// together with receivedScaled.
  bool scaledRounded = false;
  /// Recv of a raw leaf: the receiver multiplies.
  bool receivedScaled = false;
  uint32_t end = 0;  // Recv, Send: index into the rank's recvEnds or sendEnds
  Location loc = {}; // Load, Store; Recv, Send that may go direct
  /// Whether the message may go without a slot, the same at both of its ends
  /// and in both variants; but in place the region's owner may say None: then
  /// its channel's messages of this kind have slots there. `loc` is then, at
  /// both ends, the region of the launch buffer that stands for the slot; size
  /// symbol and chunk are the step's, equal at both ends.
  ///   Put: the receiver's, one of the receiving step's Stores: the sender
  ///        stores there.
  ///   Get: the sender's, the sending step's only source, a launch input: the
  ///        receiver loads from there until it leaves the launch.
  /// All puts of a channel go into one buffer, all gets come from one. Whether
  /// a message does go direct is decided per channel and launch.
  enum Direct : uint8_t { None, Put, Get } direct = None;
  /// Of who moves the message, a put's sender or a get's receiver, in this
  /// variant: what one call can move may be moved in the first round for all
  /// rounds.
  bool ahead = false;
  /// What `map` says of the message, for who chooses the above: nothing; never
  /// without a slot; as it suits multimem instructions; without one; moved by
  /// its sender; by its receiver. Not in programs as text.
  enum Wish : uint8_t {
    AsFits,
    InSlots,
    ByMultimem,
    Directly,
    Pushed,
    Pulled
  } wish = AsFits;
};

/// One pass over one chunk (its share of one round): all sources are combined
/// by `expr` and the result, rounded to `type`, goes to every sink. Operand i
/// of the expression is source (i + shift) % numSources. Slices of a message
/// travel as soon as they are combined. A step has at most one Recv and one
/// Send per channel. All loads of an element precede its stores, so a step may
/// store where it loads.
struct Step {
  uint32_t firstPort = 0; // sources, then sinks, in RankProgram::ports
  uint16_t numSources = 0, numSinks = 0;
  /// Not 0 only where the expression folds all sources: ranks sum in one order,
  /// but each from its own sources.
  uint16_t shift = 0;
  ExprId expr = 0;
  /// Of the result; a sink of another type rounds it once more.
  ElemType type = ElemType::T;
  /// avg divides the result by the number of ranks, before rounding.
  bool complete = false;
  uint32_t size = 0, chunk = 0; // extent: size symbol and ordinal of the chunk
  SiteId site = kNone;
  /// In RankProgram::waits: steps of other blocks that must have finished.
  uint32_t firstWait = 0, numWaits = 0;
  /// What it makes, for reports; kNone in foreign programs.
  ValueId value = kNone;
};

struct BlockWait {
  uint32_t block, step; // of this rank; of that block
  /// The step of the round before (nothing to wait for in the first): scratch
  /// that another block reads is written again.
  bool previousRound = false;
};

struct ChannelEnd {
  Rank peer;
  uint32_t tag; // among the channels of one ordered pair of ranks
  bool operator==(const ChannelEnd &) const = default;
};

struct BlockProgram {
  std::vector<Step> steps;
};

/// One rank, one variant (out of place or in place).
struct RankProgram {
  std::vector<BlockProgram> blocks;
  std::vector<Port> ports;
  std::vector<BlockWait> waits;
  std::vector<ChannelEnd> sendEnds, recvEnds;
  uint32_t scratchSlots = 0;
};

/// A schedule at one rank count and one launch member.
struct ProgramMember {
  std::vector<uint32_t> launchValues;
  std::vector<RankProgram> outOfPlace; // by rank
  std::vector<RankProgram> inPlace;    // empty without `inplace`
  std::vector<InplacePair> inplacePairs;
  std::vector<Buffer> buffers; // whose presence and sizes may vary by member
};

struct ProgramSet {
  std::string schedule, contract, sourcePath;
  std::vector<uint32_t> rankDims;
  std::vector<std::string> launchNames;
  std::vector<std::vector<uint32_t>> launchDomains;
  bool reduces = false, isAvgLegal = false, globalCounts = false;
  std::string launchCounts;
  std::vector<uint32_t> launchCountDims;
  std::vector<SizeSymbol> sizes;
  std::vector<ValueExpr> exprs;
  std::vector<Function> functions;
  std::vector<Site> sites;
  MapDirectives map;
  uint32_t numTags = 1; // channels per ordered pair
  uint32_t instances = 1;
  uint32_t roundBytes = 0; // of a share of a chunk, multiple of 16; the
                           // compiler's choice when `map` says nothing
  std::vector<ProgramMember>
      members; // in the order of the launch domains, last fastest

  uint32_t numRanks() const {
    uint32_t n = 1;
    for (uint32_t d : rankDims)
      n *= d;
    return n;
  }
};

} // namespace coll
#endif // COLL_LIB_ANALYSIS_PROGRAM_H
