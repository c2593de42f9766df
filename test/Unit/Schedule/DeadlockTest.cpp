//===- DeadlockTest.cpp - Programs against FIFOs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HandPrograms.h"
#include "Schedules.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

ProgramSet programsOf(const ChunkGraph &graph, Fusion fusion = Fusion::Full) {
  ScheduleOptions options;
  options.fusion = fusion;
  ScheduleResult result = schedule({&graph, 1}, options);
  EXPECT_FALSE(result.refusal);
  return std::move(result.programs);
}

/// The longest messages, in slices, at which the program does not get stuck.
uint32_t longestSafe(const ProgramSet &programs, uint32_t slots,
                     uint32_t batch) {
  for (uint32_t slices = 1; slices < 64; ++slices)
    if (runFifos(programs, 0, Variant::OutOfPlace, {slots, batch, slices, 1})
            .isStuck)
      return slices - 1;
  return kNone;
}

// A step that receives and sends holds its slot until it can send, so up and
// down phase of a tree in one block take what two FIFOs hold. A root that takes
// out of its FIFOs first has one more with b = 1: see ForcedRunTest.cpp.
TEST(Deadlock, TreeInOneBlock) {
  for (const ChunkGraph &graph :
       {binaryTreeAllreduce(7), treeAllreduce(7, 1)}) {
    ProgramSet programs = programsOf(graph);
    EXPECT_EQ(longestSafe(programs, 4, 1), 8u);
    EXPECT_EQ(longestSafe(programs, 4, 2), 8u);
    EXPECT_EQ(longestSafe(programs, 4, 4), 8u);
    EXPECT_EQ(longestSafe(programs, 8, 4), 16u);
    // What can be promised for every alignment of the batches.
    EXPECT_FALSE(runFifos(programs, 0, Variant::OutOfPlace,
                          FifoShape{4, 2, 6, 1}.guaranteed())
                     .isStuck);
    EXPECT_TRUE(runFifos(programs, 0, Variant::OutOfPlace,
                         FifoShape{4, 2, 7, 1}.guaranteed())
                    .isStuck);
  }
}

// Both send five messages before they receive any.
TEST(Deadlock, BothSendFirst) {
  std::vector<HandStep> left(10), right(10);
  for (int i = 0; i < 5; ++i) {
    left[i].to = {1};
    left[i + 5].from = {1};
    right[i].to = {0};
    right[i + 5].from = {0};
  }
  ProgramSet programs = byHand({left, right});
  EXPECT_FALSE(
      runFifos(programs, 0, Variant::OutOfPlace, {5, 1, 1, 1}).isStuck);
  DeadlockResult result =
      runFifos(programs, 0, Variant::OutOfPlace, {4, 1, 1, 1});
  ASSERT_TRUE(result.isStuck);
  ASSERT_EQ(result.cycle.size(), 2u);
  EXPECT_EQ(result.cycle[0].why, BlockedAt::Credit);
  EXPECT_EQ(result.cycle[0].step, 4u);
  EXPECT_EQ(result.cycle[0].peer, result.cycle[1].rank);
  EXPECT_FALSE(result.cycle[0].isOver);
  // Longer messages count by their slices.
  EXPECT_TRUE(runFifos(programs, 0, Variant::OutOfPlace, {8, 1, 2, 1}).isStuck);
  EXPECT_FALSE(
      runFifos(programs, 0, Variant::OutOfPlace, {10, 1, 2, 1}).isStuck);
}

// Slots that were taken are given back in batches: the last one too late.
TEST(Deadlock, BatchesWithholdSlots) {
  // 0 sends three to 1, then one to 2; 1 takes one, then waits for 2, which
  // waits for 0.
  std::vector<HandStep> first(4), second(4), third(1);
  first[0].to = first[1].to = first[2].to = {1};
  first[3].to = {2};
  second[0].from = second[2].from = second[3].from = {0};
  second[1].from = {2};
  third[0].from = {0};
  third[0].to = {1};
  ProgramSet programs = byHand({first, second, third});
  EXPECT_FALSE(
      runFifos(programs, 0, Variant::OutOfPlace, {2, 1, 1, 1}).isStuck);
  EXPECT_TRUE(runFifos(programs, 0, Variant::OutOfPlace, {2, 2, 1, 1}).isStuck);
}

TEST(Deadlock, MissingMessage) {
  std::vector<HandStep> left(1), right(2);
  left[0].to = {1};
  right[0].from = right[1].from = {0};
  DeadlockResult result =
      runFifos(byHand({left, right}), 0, Variant::OutOfPlace, {4, 2, 1, 1});
  ASSERT_TRUE(result.isStuck);
  ASSERT_EQ(result.cycle.size(), 1u);
  EXPECT_EQ(result.cycle[0].rank, 1u);
  EXPECT_EQ(result.cycle[0].step, 1u);
  EXPECT_EQ(result.cycle[0].why, BlockedAt::Data);
  EXPECT_TRUE(result.cycle[0].isOver);
}

// Where a message fits a FIFO, some degree of fusion always runs.
TEST(Deadlock, EverySmallestFifoWorks) {
  for (const Named &named : allSchedules())
    for (uint32_t slots : {1u, 2u, 3u, 8u}) {
      SCOPED_TRACE(named.name + " on " + std::to_string(slots) + " slots");
      ScheduleOptions options;
      options.slots = options.smallSlots = slots;
      ScheduleResult result = schedule({&named.graph, 1}, options);
      EXPECT_FALSE(result.refusal);
      EXPECT_FALSE(
          findDeadlock(result.programs, 0, Variant::OutOfPlace, result.bulk)
              .isStuck);
    }
}

// A round that is demanded is shortened to what the FIFOs hold. With a demanded
// buffering it is kept, or refused with the reason.
TEST(Deadlock, DemandedRounds) {
  MapDirectives map;
  map.roundBytes = 256 << 10;
  ChunkGraph unbound = ringAllreduce(4, map);
  EXPECT_TRUE(schedule({&unbound, 1}).isRoundShortened);
  map.slots = 4;
  ChunkGraph ring = ringAllreduce(4, map);
  ScheduleResult result = schedule({&ring, 1});
  EXPECT_FALSE(result.refusal);
  EXPECT_EQ(result.programs.roundBytes, 256u << 10);
  EXPECT_EQ(result.bulk.slices, 4u);
  map.roundBytes = 1 << 20;
  ring = ringAllreduce(4, map);
  result = schedule({&ring, 1});
  ASSERT_TRUE(result.refusal);
  EXPECT_EQ(result.refusal->kind, ScheduleRefusal::Deadlock);
  EXPECT_EQ(result.refusal->shape.slices, 16u);
  EXPECT_FALSE(result.refusal->deadlock.cycle.empty());
  map.roundBytes = 8;
  ring = ringAllreduce(4, map);
  result = schedule({&ring, 1});
  ASSERT_TRUE(result.refusal);
  EXPECT_EQ(result.refusal->kind, ScheduleRefusal::RoundTooSmall);
}

} // namespace
