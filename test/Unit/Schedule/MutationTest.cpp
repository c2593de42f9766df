//===- MutationTest.cpp - A broken program does not pass ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every stage of scheduling in turn is the pass that is broken: steps fused or
// not, in blocks, on channels, in place. The schedules of the library are
// mutated in LibraryMutationTest.cpp.
//
//   MUTATION=SEED:TIMES ScheduleTests --gtest_filter=Mutation.*
//
//===----------------------------------------------------------------------===//
#include "Mutants.h"
#include "Schedules.h"
#include "lib/Analysis/Direct.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

// Programs pass exactly if they run right, in whatever order their blocks
// advance.
TEST(Mutation, NothingIsMissed) {
  uint64_t seed = 20240607;
  uint32_t times = 3;
  if (const char *text = getenv("MUTATION"))
    sscanf(text, "%lu:%u", &seed, &times);
  ScoreBoard board(seed);
  uint64_t direct = 0;
  for (const Named &named : allSchedules()) {
    uint32_t ranks = named.graph.numRanks();
    if (ranks < 2 || ranks > 4)
      continue;
    for (Fusion fusion : {Fusion::Full, Fusion::Sends, Fusion::None}) {
      ScheduleOptions options;
      options.fusion = fusion;
      options.mayGoDirect = false; // at other FIFOs
      ScheduleResult result = schedule({&named.graph, 1}, options);
      ASSERT_FALSE(result.refusal);
      const FifoShape fifo{4, 2, 2, 1};
      chooseDirect(result.programs, {&fifo, 1});
      DirectCounts counts = countDirect(result.programs);
      direct += counts.puts + counts.gets;
      board.judge(named.name, result.programs, {&named.graph, 1}, {fifo},
                  times);
    }
  }
  board.report("mutation");
  EXPECT_GT(direct, 100u);
  Score all = board.total();
  EXPECT_EQ(all.missed, 0u);
  EXPECT_LT(all.equivalent * 4, all.mutants);
}
