//===- ScheduleTest.cpp - Steps, their order, and storage -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Schedule.h"
#include "Dump.h"
#include "Schedules.h"
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/Report.h"

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

/// What goes direct is DirectTest.cpp's.
ScheduleOptions withSlots() {
  ScheduleOptions options;
  options.mayGoDirect = false;
  return options;
}

ScheduleResult scheduleOne(const ChunkGraph &graph,
                           const ScheduleOptions &options = withSlots()) {
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

/// The program of rank 1, or of another.
std::string programOf(const ChunkGraph &graph, Rank rank = 1,
                      Variant variant = Variant::OutOfPlace) {
  return dump(scheduleOne(graph).programs, 0, rank, variant);
}

// A leaf is stored where `out` keeps it by the step that sends it. In place it
// is there already.
TEST(Schedule, OwnPartIsStoredWhileItIsSent) {
  std::string rest = "recv 0.0 -> store out[0].0, send 2.0\n"
                     "recv 0.0 -> store out[2].0\n";
  EXPECT_EQ(programOf(ringAllgather(3)),
            "load in[0].0 -> store out[1].0, send 2.0\n" + rest);
  EXPECT_EQ(programOf(ringAllgather(3), 1, Variant::InPlace),
            "load in[0].0 -> send 2.0\n" + rest);
}

// Values that are only received on the way to a sum need no memory; every rank
// sums in the same order, each from its own sources.
TEST(Schedule, PushedValuesAreSummedFromTheFifos) {
  EXPECT_EQ(
      programOf(oneShotPush(4)),
      "load in[0].0 -> send 2.0, send 0.0, send 3.0\n"
      "load in[0].0*r, recv 2.0*r, recv 3.0*r, recv 0.0*r -> store out[0].0"
      "  shift 3  complete\n");
}

// Chunks of an exchange alternate, so that any number of them fits a FIFO.
TEST(Schedule, ExchangeAlternates) {
  EXPECT_EQ(programOf(exchange(2, 3)), "load in[0].0 -> send 0.0\n"
                                       "recv 0.0 -> store out[0].0\n"
                                       "load in[0].1 -> send 0.0\n"
                                       "recv 0.0 -> store out[0].1\n"
                                       "load in[0].2 -> send 0.0\n"
                                       "recv 0.0 -> store out[0].2\n");
}

// Nothing depends on the order of peers: it is near to far on every rank.
TEST(Schedule, PeersNearToFar) {
  EXPECT_EQ(programOf(alltoall(4)), "load in[2].0 -> send 2.0\n"
                                    "load in[0].0 -> send 0.0\n"
                                    "load in[3].0 -> send 3.0\n"
                                    "recv 0.0 -> store out[0].0\n"
                                    "recv 2.0 -> store out[2].0\n"
                                    "recv 3.0 -> store out[3].0\n"
                                    "load in[1].0 -> store out[1].0\n");
}

// fp8 travels, f32 is summed; the owner's rounding is one pass over what it
// has.
TEST(Schedule, TypesOnTheWire) {
  EXPECT_EQ(programOf(ringAllreduceFp8(3, true)),
            "load in[0].0* -> send 2.0:e4m3\n"
            "load in[0].2*, recv 0.0:e4m3 -> send 2.0:e4m3\n"
            "load in[0].1*, recv 0.0:e4m3 -> store s0:f32  complete\n"
            "load s0:f32 -> store out[0].1, send 2.0:e4m3\n"
            "recv 0.0:e4m3 -> store out[0].0, send 2.0:e4m3\n"
            "recv 0.0:e4m3 -> store out[0].2\n");
}

// In place, a store over a leaf that is still needed: the leaf is saved first.
TEST(Schedule, OverwrittenLeavesAreSaved) {
  ChunkGraph graph = reverseParts(4);
  EXPECT_EQ(programOf(graph, 0, Variant::InPlace),
            "load in[0].0 -> store s0\n"
            "load in[3].0 -> store out[0].0\n"
            "load in[1].0 -> store s1\n"
            "load in[2].0 -> store out[1].0\n"
            "load s1 -> store out[2].0\n"
            "load s0 -> store out[3].0\n");
  ScheduleResult result = scheduleOne(graph);
  ProgramReport report = reportOn(result.programs, 0, graph);
  EXPECT_EQ(report.inPlace, InPlaceSafety::NeedsScratch);
  EXPECT_EQ(report.inPlaceScratchBytes, 2 * result.programs.roundBytes);
}

// Between blocks: readers wait for writers of this round, writers for readers
// of the last.
TEST(Schedule, BlocksWaitForEachOther) {
  EXPECT_EQ(programOf(relay(4, 2)), "block 0\n"
                                    "wait 1.0'  recv 0.0 -> store s0\n"
                                    "wait 1.1'  recv 0.0 -> store s1\n"
                                    "block 1\n"
                                    "wait 0.0  load s0 -> send 2.1\n"
                                    "wait 0.1  load s1 -> send 2.1\n");
}

// Tokens wait without memory.
TEST(Schedule, TokensTakeNoScratch) {
  ScheduleResult result = scheduleOne(barrierDissemination(8));
  for (const RankProgram &program : result.programs.members[0].outOfPlace)
    EXPECT_EQ(program.scratchSlots, 0u);
}

// docs/Runtime.md, copies and floors: (1 + 2 (N - 1) / N) S reads and as many
// writes.
TEST(Schedule, RingMovesNoMoreThanItMust) {
  for (uint32_t n : {2u, 3u, 4u, 8u}) {
    ChunkGraph graph = ringAllreduce(n);
    ScheduleResult result = scheduleOne(graph);
    ProgramReport report = reportOn(result.programs, 0, graph);
    double floor = 1 + 2.0 * (n - 1) / n;
    for (const RankReport &rank : report.ranks) {
      EXPECT_DOUBLE_EQ(rank.read.parts(result.programs), floor);
      EXPECT_DOUBLE_EQ(rank.written.parts(result.programs), floor);
      EXPECT_DOUBLE_EQ(rank.sent.parts(result.programs), 2.0 * (n - 1) / n);
    }
    EXPECT_TRUE(report.ranksAgree);
    EXPECT_EQ(report.inPlace, InPlaceSafety::Safe);
  }
}

TEST(Schedule, ReportSaysWhoDisagrees) {
  ChunkGraph same = oneShot(4), own = oneShotOwnFirst(4);
  EXPECT_TRUE(reportOn(scheduleOne(same).programs, 0, same).ranksAgree);
  EXPECT_FALSE(reportOn(scheduleOne(own).programs, 0, own).ranksAgree);
  EXPECT_EQ(foldRanks({0, 2, 3, 4, 7, 8}), "0, 2 .. 4, 7, 8");
}

// `scratch n` shortens rounds, down to a page; then it is refused.
TEST(Schedule, ScratchIsLimited) {
  ChunkGraph graph = ringAllreduceFp8(4, true);
  graph.map.scratchBytes = 100000;
  ScheduleResult result = scheduleOne(graph);
  EXPECT_FALSE(result.refusal);
  EXPECT_EQ(result.programs.roundBytes, 100000u);
  graph.map.scratchBytes = 1000;
  result = scheduleOne(graph);
  ASSERT_TRUE(result.refusal);
  EXPECT_EQ(result.refusal->kind, ScheduleRefusal::ScratchLimit);
  EXPECT_EQ(result.refusal->limit, 1000u);
}

// However many chunks a hop has, a ring keeps its fused steps.
TEST(Schedule, WideRingsStayFused) {
  for (auto [m, g] : {std::pair(3u, 4u), std::pair(4u, 4u), std::pair(8u, 4u),
                      std::pair(5u, 3u)}) {
    ChunkGraph graph = hierarchical(m, g);
    ScheduleResult result = scheduleOne(graph);
    EXPECT_FALSE(result.refusal);
    EXPECT_EQ(result.fusion, Fusion::Full);
    ProgramReport report = reportOn(result.programs, 0, graph);
    double hops = 2.0 * (g - 1) / g + 2.0 * (m - 1) / m / g;
    // Every hop is read and written once, and every input read once; what waits
    // for its turn costs one more.
    for (const RankReport &rank : report.ranks)
      EXPECT_LE(rank.read.parts(result.programs), 1 + hops + 1.0 / g);
  }
}

} // namespace
