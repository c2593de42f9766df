//===- DirectTest.cpp - Which messages may go direct ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The marks that chooseDirect makes, and programs with one wrong mark, each of
// which checkPrograms must refuse for what it is.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Direct.h"
#include "../Score.h"
#include "DirectMarks.h"
#include "Dump.h"
#include "HandPrograms.h"
#include "Schedules.h"
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

ProgramSet programsOf(const ChunkGraph &graph) {
  ScheduleResult result = schedule({&graph, 1}, {});
  EXPECT_FALSE(result.refusal);
  return std::move(result.programs);
}

ProgramError::Kind firstError(const ProgramSet &programs) {
  ProgramCheckResult check = checkPrograms(programs, {});
  return check.isRight() ? ProgramError::Malformed : check.errors[0].kind;
}
} // namespace

// The sums travel in slots, the results do not.
TEST(Direct, ARingPutsWhatItGathers) {
  DirectCounts counts = countDirect(programsOf(ringAllreduce(4)));
  EXPECT_EQ(counts.puts, 12u);
  EXPECT_EQ(counts.others + counts.gets, 12u);
  counts = countDirect(programsOf(ringAllgather(3)));
  EXPECT_EQ(counts.puts, 6u);
  EXPECT_EQ(counts.gets + counts.others, 0u);
}

// Whatever is chosen passes, also where it is checked with the meaning.
TEST(Direct, WhatIsChosenPasses) {
  uint64_t direct = 0;
  for (const Named &named : allSchedules()) {
    SCOPED_TRACE(named.name);
    ScheduleResult result = schedule({&named.graph, 1}, {});
    ASSERT_FALSE(result.refusal);
    ProgramCheckOptions options;
    options.fifos = {result.bulk, result.small};
    ProgramCheckResult check =
        checkPrograms(result.programs, {&named.graph, 1}, options);
    ASSERT_TRUE(check.isRight()) << describe(check.errors[0], result.programs);
    DirectCounts counts = countDirect(result.programs);
    direct += counts.puts + counts.gets;
  }
  EXPECT_GT(direct, 100u);
}

/// By kind, of out of place programs; what owners decline in place.
static SlotReasons slotsOf(const ProgramSet &programs) {
  return whyInSlots(programs, 0);
}

// In place each rank would store over what others still get; out of place
// nothing is in its way.
TEST(Direct, WhatOthersGetIsDeclinedInPlace) {
  for (const ChunkGraph &graph : {oneShot(4), alltoall(4)}) {
    SCOPED_TRACE(graph.schedule);
    ProgramSet programs = programsOf(graph);
    DirectCounts counts = countDirect(programs);
    EXPECT_EQ(counts.puts + counts.gets, 12u);
    EXPECT_EQ(slotsOf(programs).declined, 12u);
    for (const RankProgram &program : programs.members[0].inPlace)
      for (const Port &port : program.ports)
        if (port.kind == Port::Send) {
          EXPECT_EQ(port.direct == Port::Get, false);
        }
  }
  EXPECT_EQ(slotsOf(programsOf(ringAllreduce(4))).declined, 0u);
}

// One word declines all that a channel has of a kind, in place, at the owner.
TEST(Direct, WrongDeclinesAreRefused) {
  ProgramSet right = programsOf(oneShot(3));
  ProgramCheckOptions options;
  options.checkTerms = false;
  ASSERT_TRUE(checkPrograms(right, {}, options).isRight());
  auto clear = [](RankProgram &program, Port::Kind kind) {
    for (Port &port : program.ports)
      if (port.kind == kind && port.direct != Port::None) {
        port.direct = Port::None;
        port.loc = {};
        return true;
      }
    return false;
  };
  ProgramSet mutant = right;
  ASSERT_TRUE(clear(mutant.members[0].inPlace[0], Port::Recv));
  EXPECT_EQ(firstError(mutant), ProgramError::NotDirect);
  mutant = right;
  ASSERT_TRUE(clear(mutant.members[0].outOfPlace[0], Port::Send));
  EXPECT_EQ(firstError(mutant), ProgramError::NotDirect);
  // A ring's puts: two of a channel.
  right = programsOf(ringAllgather(3));
  mutant = right;
  ASSERT_TRUE(clear(mutant.members[0].inPlace[0], Port::Recv));
  EXPECT_EQ(firstError(mutant), ProgramError::NotDirect);
  while (clear(mutant.members[0].inPlace[0], Port::Recv))
    continue;
  EXPECT_TRUE(checkPrograms(mutant, {}, options).isRight());
}

// Rank 1 passes on what it has in `out` before it receives into that again. A
// second put may come at any time, unless rank 0 first hears from rank 1.
TEST(Direct, APutBeforeTheLastReadIsRefused) {
  for (bool isAnswered : {false, true}) {
    std::vector<std::vector<HandStep>> ranks(2);
    ranks[0] = {{{}, {1}}, {{}, {1}}};
    ranks[1] = {{{0}, {}}, {{}, {0}}, {{0}, {}}};
    ranks[0].insert(ranks[0].begin() + (isAnswered ? 1 : 2), {{1}, {}});
    ProgramSet programs = byHand(ranks);
    RankProgram &second = programs.members[0].outOfPlace[1];
    second.ports[second.blocks[0].steps[1].firstPort].loc.buffer = 1;
    ProgramCheckOptions options;
    options.checkTerms = false;
    EXPECT_TRUE(checkPrograms(programs, {}, options).isRight());
    const Location out{.buffer = 1};
    mark(programs, {0, 1, 0, 0}, Port::Put, out);
    mark(programs, {0, 1, 0, 1}, Port::Put, out);
    ProgramCheckResult check = checkPrograms(programs, {}, options);
    EXPECT_EQ(check.isRight(), isAnswered);
    if (!check.isRight()) {
      EXPECT_EQ(check.errors[0].kind, ProgramError::DirectRace);
    }
  }
}

// What is moved ahead of its round comes before all that uses its region, as
// the second put does not.
TEST(Direct, WhatIsMovedTooEarlyIsRefused) {
  for (uint32_t ahead : {0u, 1u}) {
    std::vector<std::vector<HandStep>> ranks(2);
    ranks[0] = {{{}, {1}}, {{1}, {}}, {{}, {1}}};
    ranks[1] = {{{0}, {}}, {{}, {0}}, {{0}, {}}};
    ProgramSet programs = byHand(ranks);
    RankProgram &first = programs.members[0].outOfPlace[0],
                &second = programs.members[0].outOfPlace[1];
    second.ports[second.blocks[0].steps[1].firstPort].loc.buffer = 1;
    ProgramCheckOptions options;
    options.checkTerms = false;
    const Location out{.buffer = 1};
    mark(programs, {0, 1, 0, 0}, Port::Put, out);
    mark(programs, {0, 1, 0, 1}, Port::Put, out);
    EXPECT_TRUE(checkPrograms(programs, {}, options).isRight());
    first.ports[first.blocks[0].steps[2 * ahead].firstPort + 1].ahead = true;
    ProgramCheckResult check = checkPrograms(programs, {}, options);
    EXPECT_EQ(check.isRight(), ahead == 0);
    if (!check.isRight()) {
      EXPECT_EQ(check.errors[0].kind, ProgramError::DirectRace);
      EXPECT_TRUE(check.errors[0].isAhead);
    }
  }
}

// What is not moved ahead mostly must not be.
TEST(Direct, WhatCannotBeMovedAheadIsRefused) {
  uint64_t moves = 0, refused = 0, equivalent = 0;
  for (const Named &named : allSchedules()) {
    if (named.graph.numRanks() > 3)
      continue;
    SCOPED_TRACE(named.name);
    ProgramSet mutant = programsOf(named.graph);
    ProgramMember &member = mutant.members[0];
    for (auto *ranks : {&member.outOfPlace, &member.inPlace})
      for (RankProgram &program : *ranks)
        for (Port &port : program.ports) {
          if (port.direct == Port::None || port.ahead)
            continue;
          port.ahead = true;
          const ProgramError::Kind kind = firstError(mutant);
          port.ahead = false;
          refused += kind == ProgramError::NotDirect ||
                     kind == ProgramError::DirectRace;
          equivalent += kind == ProgramError::Malformed;
          ++moves;
        }
  }
  EXPECT_EQ(refused + equivalent, moves);
  EXPECT_LT(equivalent * 4, moves);
  reportScore("marks of what is moved ahead",
              std::to_string(refused) + " of " + std::to_string(moves) +
                  " that are wrong are refused");
}

// Every message, marked in every way and with every region of a launch buffer
// that the choice did not come to: refused, but for a few that are as good.
TEST(Direct, WrongMarksAreRefused) {
  uint64_t mutants = 0, shapes = 0, races = 0, ends = 0, equivalent = 0;
  for (const Named &named : allSchedules()) {
    uint32_t ranks = named.graph.numRanks();
    if (ranks < 2 || ranks > 3)
      continue;
    SCOPED_TRACE(named.name);
    const ProgramSet original = programsOf(named.graph);
    for (const auto &[id, send, puts, gets] : messagesOf(original)) {
      for (Port::Direct direct : {Port::Put, Port::Get}) {
        if (send.direct == direct)
          continue;
        for (uint16_t b = 0; b < original.members[0].buffers.size(); ++b) {
          ProgramSet mutant = original;
          mark(mutant, id, direct,
               {Location::Buffer, b, send.loc.part, send.loc.chunk});
          ProgramError::Kind kind = firstError(mutant);
          ++mutants;
          shapes += kind == ProgramError::NotDirect;
          races += kind == ProgramError::DirectRace;
          equivalent += kind == ProgramError::Malformed;
        }
      }
      // In scratch; and one end says otherwise than the other.
      ProgramSet mutant = original;
      mark(mutant, id, Port::Put, {Location::Scratch, 0, 0, 0});
      EXPECT_EQ(firstError(mutant), ProgramError::NotDirect);
      mutant = original;
      for (Port &port : mutant.members[0].outOfPlace[id.from].ports)
        if (port.kind == Port::Send)
          port.direct = port.direct == Port::None ? Port::Put : Port::None;
      EXPECT_EQ(firstError(mutant), ProgramError::NotDirect);
      mutants += 2;
      ends += 2;
    }
  }
  EXPECT_GT(shapes, 0u);
  EXPECT_LT(equivalent * 4, mutants);
  reportScore("marks of direct messages",
              std::to_string(mutants) +
                  " wrong marks: " + std::to_string(shapes + ends) +
                  " cannot be, " + std::to_string(races) + " race, " +
                  std::to_string(equivalent) + " are as good as the choice");
}
