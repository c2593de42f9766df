//===- ScheduleTest.cpp - Steps, their order, and storage -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Schedule.h"
#include "Dump.h"
#include "Schedules.h"
#include "lib/Analysis/ProgramCheck.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

std::string allErrors(const ProgramCheckResult &result,
                      const ProgramSet &programs) {
  std::string text;
  for (const ProgramError &error : result.errors)
    text += describe(error, programs) + " (block " +
            std::to_string(error.block) + ", step " +
            std::to_string(error.step) + ")\n";
  return text;
}

ScheduleResult scheduleOne(const ChunkGraph &graph,
                           const ScheduleOptions &options = {}) {
  return schedule({&graph, 1}, options);
}

// Every schedule, at every degree of fusion, means what its chunk graph means.
TEST(Schedule, EveryScheduleMeansItsGraph) {
  for (Fusion fusion : {Fusion::Full, Fusion::Sends, Fusion::None})
    for (const Named &named : allSchedules()) {
      SCOPED_TRACE(named.name + " fusion " + std::to_string(int(fusion)));
      ScheduleOptions options;
      options.fusion = fusion;
      ScheduleResult result = scheduleOne(named.graph, options);
      ASSERT_FALSE(result.refusal);
      EXPECT_EQ(int(result.fusion), int(fusion));
      ProgramCheckResult check =
          checkPrograms(result.programs, {&named.graph, 1});
      EXPECT_TRUE(check.isRight())
          << allErrors(check, result.programs)
          << dump(result.programs, 0, check.errors[0].rank,
                  check.errors[0].variant);
    }
}

// The ring's step takes one pass: receive, load, combine, store, send.
TEST(Schedule, RingStepIsFused) {
  ScheduleResult result = scheduleOne(ringAllreduce(4));
  EXPECT_EQ(dump(result.programs, 0, 1),
            "load in[0].0*r -> send 2.0\n"
            "load in[0].3*r, recv 0.0 -> send 2.0\n"
            "load in[0].2*r, recv 0.0 -> send 2.0\n"
            "load in[0].1*r, recv 0.0 -> store out[0].1, send 2.0  complete\n"
            "recv 0.0 -> store out[0].0, send 2.0\n"
            "recv 0.0 -> store out[0].3, send 2.0\n"
            "recv 0.0 -> store out[0].2\n");
  EXPECT_EQ(result.programs.members[0].outOfPlace[1].scratchSlots, 0u);
  EXPECT_EQ(result.programs.members[0].inPlace[1].scratchSlots, 0u);
}

} // namespace
