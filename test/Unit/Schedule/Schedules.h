//===- Schedules.h - docs/Language.md as chunk graphs -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_SCHEDULES_H
#define COLL_TEST_UNIT_SCHEDULE_SCHEDULES_H

#include "TestGraph.h"

namespace coll::test {

ChunkGraph ringAllreduce(uint32_t n, MapDirectives map = {});
ChunkGraph ringAllreduceFp8(uint32_t n, bool ownerRounds);
ChunkGraph ringReduceScatter(uint32_t n);
ChunkGraph ringAllgather(uint32_t n);
ChunkGraph treeAllreduce(uint32_t n, uint32_t chunks, MapDirectives map = {});
ChunkGraph
binaryTreeAllreduce(uint32_t n); // the children of r are 2r + 1 and 2r + 2
ChunkGraph halvingDoubling(uint32_t n); // a power of two
ChunkGraph recursiveDoubling(uint32_t n);
ChunkGraph alltoall(uint32_t n);
ChunkGraph oneShot(uint32_t n);
ChunkGraph oneShotPush(uint32_t n);
ChunkGraph oneShotOwnFirst(uint32_t n);
ChunkGraph twoShot(uint32_t n);
ChunkGraph broadcastChain(uint32_t n, uint32_t chunks, Rank root);
ChunkGraph gatherBinomial(uint32_t n, Rank root);
ChunkGraph reduceTree(uint32_t n, Rank root);
ChunkGraph scatterDirect(uint32_t n, Rank root);
ChunkGraph exchange(uint32_t n, uint32_t chunks); // in a group
ChunkGraph hierarchical(uint32_t m, uint32_t g);
ChunkGraph alltoallTwoStep(uint32_t m, uint32_t g);
ChunkGraph scanLinear(uint32_t n);
ChunkGraph reverseParts(uint32_t n); // each rank alone: out[i] = in[n - 1 - i],
                                     // in place the same parts
ChunkGraph barrierDissemination(uint32_t n);
ChunkGraph ringAlternating(uint32_t n); // every hop in another block than the
                                        // one before, so that values cross
ChunkGraph relay(uint32_t n,
                 uint32_t chunks); // in of the first to out of the last, hops
                                   // in alternating blocks
ChunkGraph
sharedSum(uint32_t n); // one sum that waits for all of its several users
ChunkGraph twoBlockPipeline(
    uint32_t n,
    uint32_t chunks); // a stage of its own block hands over through memory

struct Named {
  std::string name;
  ChunkGraph graph;
};
/// A good selection, several rank counts each.
std::vector<Named> allSchedules();

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_SCHEDULES_H
