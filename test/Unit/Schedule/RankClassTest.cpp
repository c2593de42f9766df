//===- RankClassTest.cpp - Ranks that run the same program ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/RankClass.h"
#include "../Score.h"
#include "Schedules.h"
#include "lib/Analysis/RankClassCheck.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

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

void expectRight(const ProgramSet &programs, const ClassSet &set) {
  EXPECT_EQ(checkClasses(programs, set), "");
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

// A chain has a first, one that gets its message from the first's input, a
// last, and one class for all between, whatever the root.
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
              std::min(n, 4u))
        << "chain";
    EXPECT_EQ(family([&](Rank root) { return scatterDirect(n, root); }), 2u)
        << "scatter";
    EXPECT_LE(family([&](Rank root) { return reduceTree(n, root); }), n)
        << "tree";
    EXPECT_LE(family([&](Rank root) { return gatherBinomial(n, root); }), n)
        << "gather";
  }
}

/// All numbers of a class for all of its ranks, as a runtime computes them.
std::vector<uint32_t> numbersOf(const ProgramSet &programs, const ClassSet &set,
                                uint32_t cls) {
  std::map<uint64_t, RelocTerms> relocs(set.classes[cls].relocs.begin(),
                                        set.classes[cls].relocs.end());
  std::vector<uint32_t> numbers;
  for (uint32_t m = 0; m < set.classOf.size(); ++m)
    for (Rank rank = 0; rank < set.classOf[m].size(); ++rank) {
      const auto &values = programs.members[m].launchValues;
      if (set.classOf[m][rank] == cls)
        for (auto &[key, terms] : relocs)
          numbers.push_back(
              evaluate(terms, programs, rank, values.empty() ? 0 : values[0]));
    }
  return numbers;
}

/// Changes one term of one number, or leaves the number as it is.
void mutateReloc(RankClass &cls, std::mt19937_64 &random) {
  std::vector<uint64_t> keys;
  for (auto &[key, terms] : cls.relocs)
    keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  uint64_t key = keys[random() % keys.size()];
  RelocTerms &terms = cls.relocs[key];
  RelocTerm &term = terms[random() % terms.size()];
  switch (random() % 4) {
  case 0:
    ++term.base;
    break;
  case 1:
    ++term.size;
    break;
  case 2:
    ++term.stride;
    break;
  case 3:
    cls.relocs.erase(key);
    break;
  }
}

// The pass that finds classes is checked each time, too.
TEST(RankClass, BrokenClassesAreNoticed) {
  std::mt19937_64 random(5);
  int mutants = 0, caught = 0, equivalent = 0;
  for (const Named &named : allSchedules()) {
    ProgramSet programs = schedule({&named.graph, 1}, {}).programs;
    ClassSet set = classifyRanks(programs);
    ASSERT_EQ(checkClasses(programs, set), "") << named.name;
    for (int times = 0; times < 8; ++times) {
      ClassSet mutant = set;
      uint32_t c = random() % set.classes.size();
      if (mutant.classes[c].relocs.empty())
        continue;
      mutateReloc(mutant.classes[c], random);
      ++mutants;
      bool hasPassed = checkClasses(programs, mutant).empty();
      bool isSame =
          numbersOf(programs, set, c) == numbersOf(programs, mutant, c);
      caught += !hasPassed;
      equivalent += hasPassed && isSame;
      EXPECT_TRUE(!hasPassed || isSame) << named.name;
    }
  }
  reportScore("mutation of classes",
              std::to_string(mutants) + " mutants, " + std::to_string(caught) +
                  " caught, " + std::to_string(equivalent) +
                  " equivalent (nobody reads the number, or it is the same "
                  "modulo another size), 0 missed");
  EXPECT_LT(equivalent * 4, mutants);
}

} // namespace
