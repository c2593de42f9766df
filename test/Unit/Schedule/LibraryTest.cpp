//===- LibraryTest.cpp - All programs of the library and the examples -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dump.h"
#include "Executor.h"
#include "LibrarySchedules.h"
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/RankClass.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

struct Totals {
  int instances = 0, fused = 0, oneClass = 0;
};

void checkOne(const std::vector<ChunkGraph> &graphs, Totals &totals,
              std::mt19937_64 &random) {
  ScheduleResult result = schedule(graphs);
  ASSERT_FALSE(result.refusal);
  const ProgramSet &programs = result.programs;
  ProgramCheckOptions checkOptions;
  checkOptions.fifos = {result.bulk, result.small};
  ProgramCheckResult check = checkPrograms(programs, graphs, checkOptions);
  for (const ProgramError &error : check.errors)
    ADD_FAILURE() << describe(error, programs) << "\n"
                  << dump(programs, error.member, error.rank, error.variant);
  ClassSet classes = classifyRanks(programs);
  ++totals.instances;
  totals.fused += result.fusion == Fusion::Full;
  totals.oneClass += classes.classes.size() == 1;
  if (getenv("COLL_TEST_VERBOSE")) {
    uint32_t slots = 0, inPlaceSlots = 0;
    for (const ProgramMember &member : programs.members)
      for (Rank r = 0; r < programs.numRanks(); ++r) {
        slots = std::max(slots, member.outOfPlace[r].scratchSlots);
        if (!member.inPlace.empty())
          inPlaceSlots = std::max(inPlaceSlots, member.inPlace[r].scratchSlots);
      }
    printf("  fusion %d slices %u classes %zu%s members %zu slots %u in place "
           "%u\n",
           int(result.fusion), result.bulk.slices, classes.classes.size(),
           classes.rotates ? " (rotated)" : "", graphs.size(), slots,
           inPlaceSlots);
  }
  if (programs.numRanks() > 4)
    return;
  Setting setting{.shape = result.bulk};
  setting.shape.rounds = 2;
  for (uint32_t m = 0; m < graphs.size(); ++m)
    for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
      if (variant == Variant::InPlace && programs.members[m].inPlace.empty())
        continue;
      setting.member = m;
      setting.variants.assign(programs.numRanks(), variant);
      for (bool isDirect : {false, true}) {
        setting.movesAhead = isDirect;
        setting.direct =
            isDirect ? directMessages(programs, m) : std::set<DirectMessages>();
        EXPECT_TRUE(execute(programs, graphs[m], setting, random).isRight);
      }
    }
}

// Each is scheduled, runs as its source means, and is found to do so.
TEST(Library, EveryProgram) {
  std::mt19937_64 random(11);
  Totals totals;
  forEachSchedule({"/lib/Library", "/examples", "/examples/language"},
                  {1, 2, 3, 4, 5, 7, 8, 12, 16}, [&](const Instance &instance) {
                    if (getenv("COLL_TEST_VERBOSE"))
                      printf("%s\n", instance.name.c_str());
                    SCOPED_TRACE(instance.name);
                    checkOne(instance.graphs, totals, random);
                  });
  printf("%d instances, %d of them wholly fused, %d with one class of ranks\n",
         totals.instances, totals.fused, totals.oneClass);
  EXPECT_GT(totals.instances, 300);
}

} // namespace
