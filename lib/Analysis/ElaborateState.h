//===- ElaborateState.h - Which location holds which value ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration. An array has `cells` locations on each rank,
// numbered rank * cells + cell. Most arrays are dense vectors; one that is too
// large for that, but filled at few places (a relay of one node pair, say,
// which exists on every rank), is a hash map.
//
// While a group is open, writes go to a side table and reads do not see them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATESTATE_H
#define COLL_LIB_ANALYSIS_ELABORATESTATE_H

#include "lib/Analysis/ElaborateGraph.h"

#include "llvm/ADT/SmallVector.h"
#include <array>

namespace coll::elab {

inline constexpr uint32_t maxDims = 12;

/// A box of cells of an array, at no rank in particular.
struct View {
  uint32_t array = kNone;
  uint32_t numDims = 0;
  uint32_t offset = 0;
  uint32_t table = kNone; ///< State::tables: which cell is where; kNone: itself
  std::array<uint32_t, maxDims> dims, strides;

  View() {}
  View(const View &other) { *this = other; }
  View &operator=(const View &other) {
    array = other.array, offset = other.offset, table = other.table;
    numDims = other.numDims;
    std::copy_n(other.dims.begin(), numDims, dims.begin());
    std::copy_n(other.strides.begin(), numDims, strides.begin());
    return *this;
  }
  llvm::ArrayRef<uint32_t> shape() const { return {dims.data(), numDims}; }
  uint64_t size() const {
    uint64_t n = 1;
    for (uint32_t dim : shape())
      n *= dim;
    return n;
  }
};

struct Array {
  std::string name;
  SiteId site = kNone;
  uint32_t buffer = kNone; ///< index into ChunkGraph::buffers; kNone: a tmp
  ElemType type = ElemType::T;
  uint32_t cells = 1;
  llvm::SmallVector<uint32_t, 4> dims;
  Rank onlyRank = kNone;    ///< a tmp of one process
  bool isBroadcast = false; ///< row or scalar: goes with any shape
  bool isRead = false, isWritten = false;
  bool isRedeclared = false; ///< once or more: then `touched` is kept
  bool isDense = true;

  uint64_t index(Rank rank, uint32_t cell) const {
    return onlyRank == kNone ? uint64_t(rank) * cells + cell : cell;
  }
  ValueId get(uint64_t index) const;
  void set(uint64_t index, ValueId value);
  void clear();
  std::vector<ValueId> dense;
  llvm::DenseMap<uint64_t, ValueId> sparse;
  std::vector<uint64_t> touched;
  /// Of a buffer: the statement that wrote each location last.
  std::unordered_map<uint64_t, SiteId> sparseWriters;
  std::vector<SiteId> writers;
  SiteId writer(uint64_t index) const;
  void setWriter(uint64_t index, SiteId site);
};

/// One write, for explanations.
struct Write {
  Place place;
  ValueId before, after;
  SiteId site;
  bool reduce;
};

class State {
public:
  State(const Limits &limits, Sink &sink, GraphBuilder &builder)
      : limits(limits), sink(sink), builder(builder) {}

  std::vector<Array> arrays;
  std::vector<std::vector<uint32_t>> tables;
  std::vector<Write> *trace = nullptr;
  /// Few of the locations are ever used.
  bool isSparse = false;

  /// Gives `array` its locations, empty.
  bool allocate(Array &array);
  View whole(uint32_t array) const;
  void cellsOf(const View &view, llvm::SmallVectorImpl<uint32_t> &cells) const;

  bool exists(const Array &array, Rank rank) const {
    return array.buffer == kNone
               ? array.onlyRank == kNone || array.onlyRank == rank
               : builder.graph.buffers[array.buffer].present[rank];
  }
  Cell cellOf(const Array &array, uint32_t cell) const {
    uint32_t chunks = array.isBroadcast ? 1 : builder.graph.chunks;
    return {uint16_t(array.buffer), cell / chunks, cell % chunks};
  }
  /// Of a location of a buffer.
  ExtentId extentOf(const Array &array, Rank rank, uint32_t cell) const;
  /// What a location holds, kNone: nothing.
  ValueId peek(uint32_t array, Rank rank, uint32_t cell);
  /// The same, where nothing is an error.
  ValueId load(const Statement &statement, uint32_t array, Rank rank,
               uint32_t cell);
  /// Writes `value` (checks extents), or reduces it into what is there.
  bool store(const Statement &statement, uint32_t array, Rank rank,
             uint32_t cell, ValueId value);
  /// What a reduce of this statement adds to; kNone: after an error.
  ValueId loadOld(const Statement &statement, uint32_t array, Rank rank,
                  uint32_t cell);

  bool isGroupOpen() const { return inGroup; }
  void openGroup() { inGroup = true; }
  void closeGroup();

private:
  struct Pending {
    Place place;
    ValueId value;
    SiteId site;
    bool reduce;
  };
  static uint64_t key(uint32_t array, uint64_t index) {
    return uint64_t(array) << 40 | index;
  }
  void set(const Place &place, ValueId value, SiteId site, bool reduce);

  const Limits &limits;
  Sink &sink;
  GraphBuilder &builder;
  uint64_t numLocations = 0;
  bool inGroup = false;
  llvm::DenseMap<uint64_t, uint32_t> pendingIndex;
  std::vector<Pending> pending;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATESTATE_H
