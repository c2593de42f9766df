//===- Buffers.h - What a rank's buffers look like --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_BUFFERS_H
#define COLL_TOOLS_COLL_RUN_BUFFERS_H

#include "lib/Analysis/Interpreter.h"

#include <memory>

namespace coll {

/// The `inplace` clauses of a chunk graph, by rank.
using InplaceByRank = std::vector<std::vector<InplacePair>>;
std::shared_ptr<const InplaceByRank> inplaceByRank(const ChunkGraph &graph);

/// One row of the table: a launch, and what to call its size.
struct Row {
  const ChunkGraph *graph = nullptr; // of the launch member
  std::shared_ptr<const InplaceByRank> inplace;
  bool canBeInPlace = false; // there are buffers that lie as `inplace` says
  InterpreterCall call;
  std::vector<int> launch; // values
  uint64_t bytes = 0;      // of the larger buffer
  uint64_t elements = 0;   // of one part
};

/// The buffers of one rank in one row: parts lie one by one.
struct BufferLayout {
  uint64_t bytes = 0; // 0: the rank does not have it; ~0: or more
  std::vector<uint64_t> firstElement; // of each part
};
std::vector<BufferLayout> layoutOf(const Row &row, Rank rank);

/// This rank's entries of the counts, as coll_call wants them.
std::vector<size_t> countsOf(const Row &row, Rank rank);

/// Where the buffers of a rank lie that is in place: those that share memory
/// are one area, `offset` bytes behind whose start they begin.
struct InPlaceLayout {
  std::string impossible; // why no buffers can lie as `inplace` says
  struct Place {
    uint32_t area = 0; // the number of a buffer in it
    uint64_t offset = 0;
  };
  std::vector<Place> places;       // of each buffer
  std::vector<uint64_t> areaBytes; // at the number of each area
};
InPlaceLayout layoutInPlace(const Row &row, Rank rank,
                            const std::vector<BufferLayout> &layout);

/// Random elements that depend on seed, rank, buffer and place alone, not on
/// the rank where the contract requires the same on all. Floats are of like
/// magnitude (for prod: near 1), integers use all bits.
void fillRandom(void *data, uint64_t elements, const Row &row, uint64_t seed,
                Rank rank, uint32_t buffer);

/// Whether a launch says how much there is to move, and whether there is
/// anything: a barrier has no elements.
bool hasCounts(const ChunkGraph &graph);
bool hasElements(const ChunkGraph &graph);

/// The parts of the larger buffer.
uint64_t mostParts(const ChunkGraph &graph);
/// How many elements each part of a row has so that the larger buffer of a rank
/// is of `bytes`, rounded down.
uint64_t elementsFor(const ChunkGraph &graph, uint64_t bytes,
                     uint32_t elementBytes);

/// Counts for a launch array of counts: uneven, some zero, `elements` at most.
std::vector<uint64_t> unevenCounts(const ChunkGraph &graph, uint64_t elements,
                                   uint64_t seed);

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_BUFFERS_H
