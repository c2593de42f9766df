//===- ScheduleEmit.h - Steps, ports and storage of one rank ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of scheduling that concern one rank. Its steps are first
// drafted with values as sources and sinks; then values that are loaded get a
// place: the location of `out` that holds them at the end, else a scratch slot
// that is free while they live. In place, a store may hit a leaf that a later
// step still loads: just before it the leaf is saved to scratch.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SCHEDULEEMIT_H
#define COLL_LIB_ANALYSIS_SCHEDULEEMIT_H

#include "lib/Analysis/SchedulePlan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <unordered_map>

namespace coll::sched {

/// Collects what the programs of a set share, and gives each graph's numbers
/// their numbers in the set.
class Interner {
public:
  Interner(ProgramSet &set, std::span<const ChunkGraph> members);
  void enter(const ChunkGraph &graph);

  ExprId expr(const std::vector<ExprNode> &nodes);
  uint32_t size(uint32_t ofGraph) const { return sizes[ofGraph]; }
  SiteId site(SiteId ofGraph) const {
    return ofGraph == kNone ? kNone : siteBase + ofGraph;
  }

private:
  ProgramSet &set;
  std::unordered_map<std::string, ExprId> exprs;
  std::vector<uint32_t> sizes; // of the graph at hand
  SiteId siteBase = 0;
};

/// Emits the programs of all ranks of one member, in one variant.
class Emitter {
public:
  Emitter(const Plan &plan, Interner &interner, Variant variant);
  RankProgram emit(Rank rank);

private:
  struct Source {
    enum Kind : uint8_t { Leaf, Memory, Receive } kind;
    ElemType type = ElemType::T;
    bool scaled = false, scaledRounded = false;
    uint32_t id = 0;       // Leaf, Memory: value. Receive: message
    uint32_t distance = 0; // to the rank it comes from
  };
  struct Sink {
    enum Kind : uint8_t { Out, Memory, Send } kind;
    ElemType type = ElemType::T;
    uint32_t id = 0; // Out: in graph.outputs. Memory: value. Send: message
  };
  struct Draft {
    uint16_t block = 0, shift = 0;
    ValueId value = kNone;
    SiteId site = kNone;
    ElemType type = ElemType::T;
    bool complete = false;
    llvm::SmallVector<ExprNode, 6> expr;
    llvm::SmallVector<Source, 3> sources;
    llvm::SmallVector<Sink, 3> sinks;
    uint32_t index = 0; // in its block
  };
  /// Where a value waits, and from when to when.
  struct Place {
    uint32_t writer = kNone, reader = kNone; // drafts; the last of the loads
    uint32_t slot = kNone;                   // kNone: in `out`
    bool isLoaded = false, crossesBlocks = false;
  };

  void draftCompute(const Node &node);
  ElemType expand(ValueId value, Draft &draft);
  ElemType expandOperand(ValueId user, const Operand &operand, uint32_t message,
                         Draft &draft);
  ElemType addLeaf(ValueId value, Draft &draft);
  void addRound(ElemType type, ElemType known, Draft &draft) const;
  void orderSources(Draft &draft) const;
  void addStores(ValueId value, Draft &draft) const;
  void draftSend(const Node &node);
  void draftCopies();
  void attachCopies(Draft &send);
  bool isItself(const Output &output) const;

  void saveOverwritten();
  void placeValues();
  void indexReaders();
  void giveSlots(RankProgram &program);
  void writeSteps(RankProgram &program);
  void writePorts(const Draft &draft, RankProgram &program);
  void addWaits(uint32_t at, Step &step, RankProgram &program);

  Location locate(ValueId value) const;
  ValueId leafUnder(const Cell &cell) const;
  bool isScaled(ValueId leaf) const;

  const Plan &plan;
  const ChunkGraph &graph;
  Interner &interner;
  Variant variant;
  std::vector<Place> places;         // by value
  std::vector<uint32_t> firstOutput; // by rank: in graph.outputs
  std::vector<uint32_t> firstPair;   // by rank: in graph.inplace
  /// `in` leaves that are read; in place only.
  llvm::DenseMap<std::pair<Rank, uint64_t>, ValueId> leafOfCell;

  // Of the rank at hand:
  Rank rank = 0;
  std::vector<Draft> drafts;
  /// Outputs that hold a leaf and have no store yet.
  std::vector<uint32_t> copies;
  /// Part of out -> part of in, as buffer << 32 | part.
  llvm::DenseMap<uint64_t, uint64_t> alias;
  /// Drafts that load a leaf, or a value that waits.
  llvm::DenseMap<ValueId, std::vector<uint32_t>> readers;
  llvm::DenseMap<uint32_t, uint32_t> sendEnds, recvEnds; // channel -> end
  /// [block][other]: steps known to have finished.
  std::vector<std::vector<uint32_t>> waited;
};

} // namespace coll::sched

#endif // COLL_LIB_ANALYSIS_SCHEDULEEMIT_H
