//===- RankClassTest.cpp - Ranks that run the same program ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/RankClass.h"
#include "Schedules.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

ProgramSet programsOf(std::vector<ChunkGraph> members) {
  if (members.size() > 1)
    for (Rank root = 0; root < members.size(); ++root) {
      members[root].launchNames = {"root"};
      members[root].launchValues = {root};
      members[root].launchDomains.assign(1, {});
      for (Rank r = 0; r < members.size(); ++r)
        members[root].launchDomains[0].push_back(r);
    }
  ScheduleResult result = schedule(members);
  EXPECT_FALSE(result.refusal);
  return std::move(result.programs);
}

/// Every number of every rank, computed as the runtime does, is the program's.
void expectRight(const ProgramSet &programs, const ClassSet &set) {
  auto expectField = [&](const RankClass &rankClass, FieldRef field, Rank rank,
                         Rank root, uint32_t own, uint32_t ofClass) {
    const RelocTerms *terms = rankClass.termsOf(field);
    ASSERT_EQ(terms ? evaluate(*terms, programs, rank, root) : ofClass, own);
  };
  for (uint32_t m = 0; m < programs.members.size(); ++m) {
    const ProgramMember &member = programs.members[m];
    Rank root = member.launchValues.empty() ? 0 : member.launchValues[0];
    for (Rank rank = 0; rank < programs.numRanks(); ++rank) {
      const RankClass &rankClass = set.classes[set.classOf[m][rank]];
      const ProgramMember &other = programs.members[rankClass.member];
      for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
        if (variant == Variant::InPlace && member.inPlace.empty())
          continue;
        const RankProgram &own =
            (variant == Variant::InPlace ? member.inPlace
                                         : member.outOfPlace)[rank];
        const RankProgram &shared =
            (variant == Variant::InPlace ? other.inPlace
                                         : other.outOfPlace)[rankClass.rank];
        ASSERT_EQ(own.ports.size(), shared.ports.size());
        for (uint32_t p = 0; p < own.ports.size(); ++p) {
          if (own.ports[p].loc.space == Location::Scratch)
            continue;
          expectField(rankClass, {FieldRef::PortPart, variant, p}, rank, root,
                      own.ports[p].loc.part, shared.ports[p].loc.part);
          expectField(rankClass, {FieldRef::PortChunk, variant, p}, rank, root,
                      own.ports[p].loc.chunk, shared.ports[p].loc.chunk);
        }
        for (uint32_t i = 0; i < own.sendEnds.size(); ++i)
          expectField(rankClass, {FieldRef::SendPeer, variant, i}, rank, root,
                      own.sendEnds[i].peer, shared.sendEnds[i].peer);
        for (uint32_t i = 0; i < own.recvEnds.size(); ++i)
          expectField(rankClass, {FieldRef::RecvPeer, variant, i}, rank, root,
                      own.recvEnds[i].peer, shared.recvEnds[i].peer);
        uint32_t number = 0;
        for (uint32_t b = 0; b < own.blocks.size(); ++b)
          for (uint32_t s = 0; s < own.blocks[b].steps.size(); ++s, ++number) {
            const Step &step = own.blocks[b].steps[s],
                       &of = shared.blocks[b].steps[s];
            expectField(rankClass, {FieldRef::StepChunk, variant, number}, rank,
                        root, step.chunk, of.chunk);
            expectField(rankClass, {FieldRef::StepShift, variant, number}, rank,
                        root, step.shift, of.shift);
          }
      }
    }
  }
}

size_t numClasses(ChunkGraph graph) {
  std::vector<ChunkGraph> members;
  members.push_back(std::move(graph));
  ProgramSet programs = programsOf(std::move(members));
  ClassSet set = classifyRanks(programs);
  expectRight(programs, set);
  return set.classes.size();
}

// Schedules that are symmetric in the ranks have one class.
TEST(RankClass, SymmetricSchedulesHaveOneClass) {
  for (uint32_t n : {2u, 3u, 4u, 7u, 8u, 16u}) {
    SCOPED_TRACE(n);
    EXPECT_EQ(numClasses(ringAllreduce(n)), 1u) << "ring all-reduce";
    EXPECT_EQ(numClasses(ringAllreduceFp8(n, true)), 1u) << "fp8 ring";
    EXPECT_EQ(numClasses(ringReduceScatter(n)), 1u) << "ring reduce-scatter";
    EXPECT_EQ(numClasses(ringAllgather(n)), 1u) << "ring all-gather";
    EXPECT_EQ(numClasses(alltoall(n)), 1u) << "all-to-all";
    EXPECT_EQ(numClasses(oneShot(n)), 1u) << "one shot";
    EXPECT_EQ(numClasses(oneShotPush(n)), 1u) << "one shot, pushed";
    EXPECT_EQ(numClasses(oneShotOwnFirst(n)), 1u) << "one shot, own first";
    EXPECT_EQ(numClasses(twoShot(n)), 1u) << "two shots";
    EXPECT_EQ(numClasses(barrierDissemination(n)), 1u) << "barrier";
  }
}

// r ^ d is a sum of wrapped coordinates too.
TEST(RankClass, ButterfliesHaveOneClass) {
  for (uint32_t n : {2u, 4u, 8u, 16u}) {
    SCOPED_TRACE(n);
    EXPECT_EQ(numClasses(recursiveDoubling(n)), 1u);
    EXPECT_EQ(numClasses(halvingDoubling(n)), 1u);
    EXPECT_EQ(numClasses(exchange(n, 3)), 1u);
  }
}

TEST(RankClass, GridsHaveOneClass) {
  for (auto [m, g] :
       {std::pair(1u, 4u), std::pair(2u, 2u), std::pair(2u, 4u),
        std::pair(3u, 4u), std::pair(4u, 3u), std::pair(4u, 8u)}) {
    SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(g));
    EXPECT_EQ(numClasses(hierarchical(m, g)), 1u);
  }
}

// A chain has a first, a last, and one class for all between, whatever the
// root.
TEST(RankClass, FamiliesRotate) {
  for (uint32_t n : {2u, 3u, 5u, 8u}) {
    SCOPED_TRACE(n);
    auto family = [&](auto make) {
      std::vector<ChunkGraph> members;
      for (Rank root = 0; root < n; ++root)
        members.push_back(make(root));
      ProgramSet programs = programsOf(std::move(members));
      ClassSet set = classifyRanks(programs);
      expectRight(programs, set);
      EXPECT_TRUE(set.rotates);
      return set.classes.size();
    };
    EXPECT_EQ(family([&](Rank root) { return broadcastChain(n, 4, root); }),
              std::min(n, 3u))
        << "chain";
    EXPECT_EQ(family([&](Rank root) { return scatterDirect(n, root); }), 2u)
        << "scatter";
    EXPECT_LE(family([&](Rank root) { return reduceTree(n, root); }), n)
        << "tree";
    EXPECT_LE(family([&](Rank root) { return gatherBinomial(n, root); }), n)
        << "gather";
  }
}

} // namespace
