//===- LibraryMutationTest.cpp - Broken programs of the library -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of lib/Library at small rank spaces, as it is, not fused at
// all, and replicated over blocks and channels: each program is mutated.
//
//   MUTATION=SEED:TIMES LibraryTests --gtest_filter=LibraryMutation.*
//
//===----------------------------------------------------------------------===//
#include "LibrarySchedules.h"
#include "Mutants.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>
#include <set>

using namespace coll;
using namespace coll::test;

namespace {
struct Stage {
  const char *name;
  Fusion fusion;
  uint32_t blocks, channels;
};
constexpr Stage stages[] = {{"fused", Fusion::Full, 0, 0},
                            {"not fused", Fusion::None, 0, 0},
                            {"in blocks", Fusion::Full, 2, 0},
                            {"on channels", Fusion::Sends, 0, 2}};
} // namespace

TEST(LibraryMutation, NothingIsMissed) {
  uint64_t seed = 1789;
  uint32_t times = 1;
  if (const char *text = getenv("MUTATION"))
    sscanf(text, "%lu:%u", &seed, &times);
  ScoreBoard board(seed);
  std::set<std::string> names;
  forEachSchedule({"/lib/Library"}, {2, 3, 4}, [&](const Instance &instance) {
    for (const Stage &stage : stages) {
      std::vector<ChunkGraph> graphs = instance.graphs;
      for (ChunkGraph &graph : graphs) {
        if (stage.blocks)
          graph.map.blocks = stage.blocks;
        if (stage.channels)
          graph.map.channels = stage.channels;
      }
      ScheduleOptions options;
      options.fusion = stage.fusion;
      ScheduleResult result = schedule(graphs, options);
      ASSERT_FALSE(result.refusal) << instance.name << ", " << stage.name;
      names.insert(graphs[0].schedule);
      board.judge(instance.name + ", " + stage.name, result.programs, graphs,
                  {result.bulk, result.small}, times);
    }
  });
  board.report("mutation of the library");
  Score all = board.total();
  EXPECT_GE(names.size(), 40u);
  EXPECT_EQ(all.missed, 0u);
  EXPECT_LT(all.equivalent * 4, all.mutants);
}
