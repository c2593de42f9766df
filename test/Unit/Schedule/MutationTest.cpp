//===- MutationTest.cpp - A broken program does not pass ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dump.h"
#include "Executor.h"
#include "Schedules.h"
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

/// What may break. Each changes one thing of one rank, or nothing if it cannot.
enum class Mutation {
  DropStep,
  DuplicateStep,
  SwapSteps,
  DropSink,
  RedirectSend,
  RedirectReceive,
  OtherChunkLoaded,
  OtherChunkStored,
  OtherPartStored,
  OtherSlot,
  SwapSources,
  ToggleComplete,
  ToggleScaled,
  ToggleRounded,
  OtherType,
  OtherChunk,
  OtherShift,
  DropWait,
  WaitEarlier,
  Count
};
const char *names[] = {"drop step",        "duplicate step",
                       "swap steps",       "drop sink",
                       "redirect send",    "redirect receive",
                       "load other chunk", "store other chunk",
                       "store other part", "other slot",
                       "swap sources",     "toggle complete",
                       "toggle scaled",    "toggle rounding of scaled",
                       "other type",       "other extent",
                       "other shift",      "drop wait",
                       "wait earlier"};

Port *pickPort(RankProgram &program, std::mt19937_64 &random,
               const std::function<bool(const Port &)> &wanted) {
  std::vector<Port *> ports;
  for (const BlockProgram &block : program.blocks)
    for (const Step &step : block.steps)
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p)
        if (wanted(program.ports[p]))
          ports.push_back(&program.ports[p]);
  return ports.empty() ? nullptr : ports[random() % ports.size()];
}

/// A value other than `old` below `limit`.
uint32_t another(uint32_t old, uint32_t limit, std::mt19937_64 &random) {
  return limit < 2 ? old : (old + 1 + random() % (limit - 1)) % limit;
}

bool mutate(RankProgram &program, const ProgramSet &programs, Mutation mutation,
            std::mt19937_64 &random) {
  BlockProgram &block = program.blocks[random() % program.blocks.size()];
  if (block.steps.empty())
    return false;
  size_t at = random() % block.steps.size();
  Step &step = block.steps[at];
  auto isMemory = [](const Port &port) {
    return port.kind == Port::Load || port.kind == Port::Store;
  };
  auto change = [&](auto wanted, auto how) {
    Port *port = pickPort(program, random, wanted);
    if (!port)
      return false;
    Port old = *port;
    how(*port);
    return std::tie(old.kind, old.type, old.scaled, old.scaledRounded,
                    old.receivedScaled, old.end) !=
               std::tie(port->kind, port->type, port->scaled,
                        port->scaledRounded, port->receivedScaled, port->end) ||
           !(old.loc == port->loc);
  };
  uint32_t chunks = programs.sizes[step.size].chunks;
  switch (mutation) {
  case Mutation::DropStep:
    block.steps.erase(block.steps.begin() + at);
    return true;
  case Mutation::DuplicateStep:
    block.steps.insert(block.steps.begin() + at, Step(step));
    return true;
  case Mutation::SwapSteps:
    if (at + 1 == block.steps.size())
      return false;
    std::swap(block.steps[at], block.steps[at + 1]);
    return true;
  case Mutation::DropSink:
    if (step.numSinks < 2)
      return false;
    --step.numSinks; // the last
    return true;
  case Mutation::RedirectSend:
    return change([](const Port &p) { return p.kind == Port::Send; },
                  [&](Port &p) {
                    p.end = another(p.end, program.sendEnds.size(), random);
                  });
  case Mutation::RedirectReceive:
    return change([](const Port &p) { return p.kind == Port::Recv; },
                  [&](Port &p) {
                    p.end = another(p.end, program.recvEnds.size(), random);
                  });
  case Mutation::OtherChunkLoaded:
    return change(
        [](const Port &p) {
          return p.kind == Port::Load && p.loc.space == Location::Buffer;
        },
        [&](Port &p) { p.loc.chunk = another(p.loc.chunk, chunks, random); });
  case Mutation::OtherChunkStored:
    return change(
        [](const Port &p) {
          return p.kind == Port::Store && p.loc.space == Location::Buffer;
        },
        [&](Port &p) { p.loc.chunk = another(p.loc.chunk, chunks, random); });
  case Mutation::OtherPartStored:
    return change(
        [](const Port &p) {
          return p.kind == Port::Store && p.loc.space == Location::Buffer;
        },
        [&](Port &p) {
          p.loc.part =
              another(p.loc.part,
                      programs.members[0].buffers[p.loc.buffer].parts, random);
        });
  case Mutation::OtherSlot:
    return change(
        [](const Port &p) { return p.loc.space == Location::Scratch; },
        [&](Port &p) {
          p.loc.part = another(p.loc.part, program.scratchSlots, random);
        });
  case Mutation::SwapSources:
    if (step.numSources < 3)
      return false;
    std::swap(program.ports[step.firstPort + 1],
              program.ports[step.firstPort + 2]);
    return true;
  case Mutation::ToggleComplete:
    step.complete = !step.complete;
    return programs.numRanks() > 1;
  case Mutation::ToggleScaled:
    return programs.reduces &&
           change(
               [](const Port &p) {
                 return p.kind == Port::Load || p.kind == Port::Recv;
               },
               [&](Port &p) {
                 (p.kind == Port::Load ? p.scaled : p.receivedScaled) ^= true;
               });
  case Mutation::ToggleRounded:
    return programs.reduces &&
           change([](const Port &p) { return p.scaled || p.receivedScaled; },
                  [&](Port &p) { p.scaledRounded ^= true; });
  case Mutation::OtherType:
    return change(
        [&](const Port &p) { return isMemory(p) || p.kind == Port::Send; },
        [&](Port &p) {
          p.type = p.type == ElemType::BF16 ? ElemType::T : ElemType::BF16;
        });
  case Mutation::OtherChunk:
    step.chunk = another(step.chunk, chunks, random);
    return chunks > 1;
  case Mutation::OtherShift:
    if (step.numSources < 3)
      return false;
    step.shift = another(step.shift, step.numSources, random);
    return true;
  case Mutation::DropWait:
    if (!step.numWaits)
      return false;
    --step.numWaits;
    return true;
  case Mutation::WaitEarlier:
    if (!step.numWaits || program.waits[step.firstWait].step == 0)
      return false;
    --program.waits[step.firstWait].step;
    return true;
  case Mutation::Count:
    break;
  }
  return false;
}

struct Score {
  int mutants = 0, caught = 0, equivalent = 0, missed = 0, strict = 0;
};

/// Several random interleavings, of ranks in and out of place.
bool runsRight(const ProgramSet &programs, const ChunkGraph &graph,
               bool hasStuck[1], std::mt19937_64 &random) {
  for (int run = 0; run < 6; ++run) {
    std::vector<Variant> variants(programs.numRanks(), Variant::OutOfPlace);
    if (!programs.members[0].inPlace.empty())
      for (Variant &variant : variants)
        variant = run == 0       ? Variant::OutOfPlace
                  : run == 1     ? Variant::InPlace
                  : random() % 2 ? Variant::InPlace
                                 : Variant::OutOfPlace;
    FifoShape shape{4, 2, uint32_t(1 + run % 2), 2};
    ExecutorResult result =
        execute(programs, 0, variants, graph, shape, random);
    hasStuck[0] |= result.isStuck;
    if (!result.isRight)
      return false;
  }
  return true;
}

/// The question that is asked before an object is written.
bool passes(const ProgramSet &programs, const ChunkGraph &graph) {
  ProgramCheckOptions options;
  options.fifos = {{4, 2, 2, 1}};
  return checkPrograms(programs, {&graph, 1}, options).isRight();
}

// Programs pass exactly if they run right, in whatever order their blocks
// advance.
TEST(Mutation, NothingIsMissed) {
  const uint64_t seed = 20240607;
  std::mt19937_64 random(seed);
  std::map<Mutation, Score> scores;
  for (const Named &named : allSchedules()) {
    uint32_t ranks = named.graph.numRanks();
    if (ranks < 2 || ranks > 4)
      continue;
    for (Fusion fusion : {Fusion::Full, Fusion::None}) {
      ScheduleOptions options;
      options.fusion = fusion;
      ProgramSet original = schedule({&named.graph, 1}, options).programs;
      SCOPED_TRACE(named.name);
      bool isStuck = false;
      ASSERT_TRUE(passes(original, named.graph));
      ASSERT_TRUE(runsRight(original, named.graph, &isStuck, random));
      for (int m = 0; m < int(Mutation::Count); ++m)
        for (int times = 0; times < 2; ++times) {
          ProgramSet mutant = original;
          ProgramMember &member = mutant.members[0];
          bool inPlace = !member.inPlace.empty() && random() % 3 == 0;
          Rank rank = random() % ranks;
          if (!mutate((inPlace ? member.inPlace : member.outOfPlace)[rank],
                      mutant, Mutation(m), random))
            continue;
          Score &score = scores[Mutation(m)];
          ++score.mutants;
          bool hasPassed = passes(mutant, named.graph), hasStuck = false;
          bool isRight = runsRight(mutant, named.graph, &hasStuck, random);
          score.caught += !hasPassed;
          score.equivalent += hasPassed && isRight;
          score.strict += !hasPassed && isRight;
          if (hasPassed && !isRight) {
            ++score.missed;
            ADD_FAILURE() << names[m] << " at rank " << rank
                          << (inPlace ? " in place" : "") << " of "
                          << named.name << " is missed, seed " << seed
                          << (hasStuck ? " (stuck)\n" : "\n")
                          << dump(mutant, 0, rank,
                                  inPlace ? Variant::InPlace
                                          : Variant::OutOfPlace);
          }
        }
    }
  }
  Score all;
  printf("%-28s %8s %8s %10s %7s %s\n", "mutation", "mutants", "caught",
         "equivalent", "missed", "(caught though it runs right)");
  auto print = [](const char *name, const Score &s) {
    printf("%-28s %8d %8d %10d %7d %d\n", name, s.mutants, s.caught,
           s.equivalent, s.missed, s.strict);
  };
  for (auto &[mutation, score] : scores) {
    print(names[int(mutation)], score);
    all.mutants += score.mutants;
    all.caught += score.caught;
    all.equivalent += score.equivalent;
    all.missed += score.missed;
    all.strict += score.strict;
  }
  print("all", all);
  EXPECT_EQ(all.missed, 0);
  EXPECT_LT(all.equivalent * 4, all.mutants);
}

} // namespace
