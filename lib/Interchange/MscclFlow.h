//===- MscclFlow.h - Which value is where in a foreign schedule -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs imported programs once, in some order (they have no races, so any will
// do), and says of every port which value passes it. Values are those of a
// chunk graph: what the caller put into `in`, and sums. Copies and messages
// make none.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_INTERCHANGE_MSCCLFLOW_H
#define COLL_LIB_INTERCHANGE_MSCCLFLOW_H

#include "lib/Analysis/Terms.h"
#include "lib/Interchange/MscclPrograms.h"

#include "llvm/ADT/DenseMap.h"

namespace coll::msccl {

/// A location of an imported program.
struct CellKey {
  uint16_t buffer; ///< an ImportedBuffer
  uint32_t part;
  uint64_t packed() const { return uint64_t(buffer) << 32 | part; }
};

/// The frame of the contract, and the values that the file makes.
class FlowGraph {
public:
  /// The collective of `algo` is known and its chunks divide.
  FlowGraph(const Algorithm &algo, std::optional<Rank> root);

  ChunkGraph graph;
  /// Chunks of a part; the offsets of a file count over the parts.
  uint32_t perPart = 1;
  bool hasInput(Rank rank, uint32_t offset) const;
  bool hasOutput(Rank rank, uint32_t offset) const;
  /// As it is read.
  ValueId input(Rank rank, uint32_t offset);
  /// Of `a` and `b`, which are chunks of one ordinal.
  ValueId sum(Rank rank, ValueId a, ValueId b, SiteId site);
  uint32_t chunkOf(ValueId value) const { return graph.values[value].extent; }
  TermId termOf(ValueId value) const { return graph.values[value].term; }
  /// The graph is complete.
  void finish();

private:
  ValueId add(Value value, uint64_t leaves);
  uint32_t numRanks;
  TermTable terms;
  std::vector<uint64_t> leavesOf; // by value, at most 2^32
  llvm::DenseMap<std::pair<Rank, uint64_t>, ValueId> inputs;
  llvm::DenseMap<std::pair<Rank, TermId>, ValueId> sums;
};

/// Of one variant.
struct Flow {
  std::vector<std::vector<ValueId>> through; ///< by rank and port
  /// By rank and port: loads what the caller put there, untouched.
  std::vector<std::vector<bool>> isRaw;
  struct Cell {
    ValueId value = kNone; ///< at the end; kNone: nothing we know
    bool isWritten = false;
    bool isReadFirst = false; ///< what lay there at the start is read
    SiteId writer = kNone;    ///< the last
  };
  /// By rank and CellKey: those that are touched.
  std::vector<llvm::DenseMap<uint64_t, Cell>> cells;
  /// Why the programs cannot be lowered.
  std::string refusal;
  Rank refusedRank = 0;
  SiteId refusedSite = kNone;
};

/// `programs` were imported for `inPlace` (ImportOptions) and have been judged
/// right.
Flow traceFlow(const Algorithm &algo, bool inPlace, const ProgramSet &programs,
               FlowGraph &values);

/// The offset in the input of what lies in a cell at the start, if something
/// does.
std::optional<uint32_t> initialOffset(const Algorithm &algo, bool inPlace,
                                      const FlowGraph &values, Rank rank,
                                      CellKey cell);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLFLOW_H
