//===- MutantScore.cpp - How many mutants are caught ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Score.h"
#include "Dump.h"
#include "Executor.h"
#include "Mutants.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

/// The question that is asked before an object is written.
bool ScoreBoard::passes(const ProgramSet &programs,
                        std::span<const ChunkGraph> graphs,
                        const std::vector<FifoShape> &fifos) const {
  ProgramCheckOptions options;
  options.fifos = fifos;
  return checkPrograms(programs, graphs, options).isRight();
}

/// Few enough to try every interleaving.
static bool isSmall(const ProgramSet &programs, uint32_t member) {
  size_t steps = 0;
  for (const RankProgram &rank : programs.members[member].outOfPlace)
    for (const BlockProgram &block : rank.blocks)
      steps += block.steps.size();
  return programs.numRanks() <= 3 && steps <= 12;
}

/// Ranks in and out of place: random interleavings, or all.
bool ScoreBoard::runsRight(const ProgramSet &programs, uint32_t member,
                           const ChunkGraph &graph, FifoShape shape,
                           bool *ranAllOrders) {
  const uint32_t slices = shape.slices;
  const bool hasInPlace = !programs.members[member].inPlace.empty();
  const std::set<DirectMessages> marked = directMessages(programs, member);
  Setting setting{.member = member, .shape = shape};
  setting.shape.rounds = 2;
  setting.variants.assign(programs.numRanks(), Variant::OutOfPlace);
  for (int run = 0; run < (marked.empty() ? 6 : 12); ++run) {
    if (hasInPlace)
      for (Variant &variant : setting.variants)
        variant = run == 0 || (run > 1 && random() % 2) ? Variant::OutOfPlace
                                                        : Variant::InPlace;
    setting.shape.slices = 1 + run % slices;
    if (run % 2)
      setting.direct = run % 4 == 1 ? marked : someOf(marked, random);
    ExecutorResult result = execute(programs, graph, setting, random);
    if (!result.isRight || result.hasRaced)
      return false;
    setting.direct.clear();
  }
  if (!ranAllOrders || !isSmall(programs, member))
    return true;
  setting.shape = {4, 2, 1, marked.empty() ? 2u : 1u};
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace})
    for (bool isDirect : {false, true}) {
      if ((variant == Variant::InPlace && !hasInPlace) ||
          (isDirect && marked.empty()))
        continue;
      setting.variants.assign(programs.numRanks(), variant);
      setting.direct = isDirect ? marked : std::set<DirectMessages>();
      AllOrders all = executeAll(programs, graph, setting);
      *ranAllOrders |= !all.isCut;
      if (all.canStick || all.canBreak || all.canBeWrong ||
          (isDirect && all.canRace))
        return false;
    }
  return true;
}

void ScoreBoard::judge(const std::string &name, const ProgramSet &original,
                       std::span<const ChunkGraph> graphs,
                       const std::vector<FifoShape> &fifos, uint32_t times) {
  ProgramCheckOptions options;
  options.fifos = fifos;
  ProgramCheckResult check = checkPrograms(original, graphs, options);
  ASSERT_TRUE(check.isRight())
      << name << ": " << describe(check.errors[0], original) << "\n"
      << dump(original, check.errors[0].member, check.errors[0].rank,
              check.errors[0].variant);
  for (uint32_t m = 0; m < original.members.size(); ++m)
    ASSERT_TRUE(runsRight(original, m, graphs[m], fifos[0])) << name;
  for (int m = 0; m < int(Mutation::Count); ++m)
    for (uint32_t t = 0; t < times; ++t) {
      ProgramSet mutant = original;
      Mutated at = mutate(mutant, Mutation(m), random);
      if (!at.isChanged)
        break;
      Score &score = scores[Mutation(m)];
      ++score.mutants;
      const bool hasPassed = passes(mutant, graphs, fifos);
      bool ranAllOrders = false;
      const bool isRight =
          runsRight(mutant, at.member, graphs[at.member], fifos[0],
                    hasPassed ? &ranAllOrders : nullptr);
      score.caught += !hasPassed;
      score.equivalent += hasPassed && isRight;
      score.allOrders += hasPassed && ranAllOrders;
      score.strict += !hasPassed && isRight;
      score.missed += hasPassed && !isRight;
      if (hasPassed && !isRight)
        ADD_FAILURE() << nameOf(Mutation(m)) << " at rank " << at.rank << " of "
                      << name << " is missed, seed " << seed << "\n"
                      << dump(mutant, at.member, at.rank, at.variant);
    }
}

Score ScoreBoard::total() const {
  Score all;
  for (auto &[mutation, s] : scores)
    for (uint64_t Score::*field :
         {&Score::mutants, &Score::caught, &Score::equivalent, &Score::missed,
          &Score::strict, &Score::allOrders})
      all.*field += s.*field;
  return all;
}

void ScoreBoard::report(const std::string &name) const {
  printf("%-26s %8s %8s %10s %7s %7s\n", "mutation", "mutants", "caught",
         "equivalent", "missed", "strict");
  auto print = [](const char *what, const Score &s) {
    printf("%-26s %8lu %8lu %10lu %7lu %7lu", what, s.mutants, s.caught,
           s.equivalent, s.missed, s.strict);
  };
  std::string reasons;
  for (auto &[mutation, score] : scores) {
    print(nameOf(mutation), score);
    const char *why = whyEquivalent(mutation);
    printf("  %s\n", score.equivalent ? why : "");
    if (score.equivalent)
      reasons += (reasons.empty() ? " (" : ", ") +
                 std::to_string(score.equivalent) + " " + nameOf(mutation) +
                 ": " + why;
  }
  Score all = total();
  print("all", all);
  printf("\nstrict: caught, though they would run right; %lu of those that "
         "passed were run in every interleaving\n",
         all.allOrders);
  auto number = [](uint64_t n) { return std::to_string(n); };
  reportScore(name, number(all.mutants) + " mutants, " + number(all.caught) +
                        " caught, " + number(all.equivalent) + " equivalent" +
                        reasons + (reasons.empty() ? ", " : "), ") +
                        number(all.missed) + " missed, seed " + number(seed));
}
