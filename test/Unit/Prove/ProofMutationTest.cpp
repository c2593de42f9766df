//===- ProofMutationTest.cpp - No proof of a wrong schedule ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of lib/Library and of test/Prove/class.coll that is proved is
// changed in one place, in all ways of Mutations.h, and the change is tried to
// be proved. Then it is executed at all rank spaces of 2 to 9 ranks, for all
// members: if it is wrong at one of them and was proved, the proof is unsound.
// Wrong ones that are not proved count as refuted; right ones are equivalent if
// they are proved, else undecided.
//
//   PROOF_MUTATION=EVERY ProveTests       each EVERY-th mutation; 1: all
//   PROOF_FUZZ=SECONDS:SEED ProveTests    and one to three of them at once
//
//===----------------------------------------------------------------------===//
#include "../Score.h"
#include "Mutations.h"
#include "Schedules.h"
#include "lib/Prove/Prove.h"

#include <ctime>
#include <gtest/gtest.h>
#include <memory>
#include <random>

using namespace coll;
using namespace coll::test;

namespace {
struct Score {
  unsigned mutants = 0, refuted = 0, undecided = 0, equivalent = 0, missed = 0;
  void add(const Score &other) {
    mutants += other.mutants;
    refuted += other.refuted;
    undecided += other.undecided;
    equivalent += other.equivalent;
    missed += other.missed;
  }
};
} // namespace

static std::string textOf(const Score &score) {
  auto word = [](unsigned n, const char *what) {
    return std::to_string(n) + " " + what;
  };
  return word(score.mutants, "mutants, ") + word(score.refuted, "refuted, ") +
         word(score.undecided, "undecided, ") +
         word(score.equivalent, "equivalent, ") + word(score.missed, "missed");
}

/// Tries to prove it, executes it, and compares.
static void judgeOne(ScheduleFile &file, ScheduleOp schedule,
                     const std::string &what, Score &score) {
  ++score.mutants;
  bool isProved = proveForAll(schedule, file.defines).isProved;
  std::optional<std::string> wrongAt =
      firstWrong(schedule, file, isProved ? 12 : 9);
  if (isProved && wrongAt) {
    ++score.missed;
    ADD_FAILURE() << schedule.getSymName().str() << ": " << what
                  << " is proved, and wrong at " << *wrongAt;
  } else if (wrongAt) {
    ++score.refuted;
  } else {
    ++(isProved ? score.equivalent : score.undecided);
  }
}

static Score judge(ScheduleFile &file, ScheduleOp schedule, unsigned every) {
  Score score;
  std::string name = schedule.getSymName().str();
  unsigned count = 0;
  for (const Mutation &mutation : mutationsOf(schedule)) {
    if (count++ % every != 0)
      continue;
    mlir::OwningOpRef<mlir::ModuleOp> copy = file.module->clone();
    ScheduleOp changed = find(*copy, name);
    std::string what;
    if (!mutate(changed, mutation, what))
      continue;
    judgeOne(file, changed, what, score);
  }
  return score;
}

TEST(ProofMutation, NoneIsMissed) {
  unsigned every = 5;
  if (const char *text = getenv("PROOF_MUTATION"))
    every = std::max(1, atoi(text));
  Score total;
  unsigned numProved = 0;
  for (const std::string &path : subjectFiles()) {
    ScheduleFile file(path);
    ASSERT_FALSE(file.diags.hasErrors()) << path;
    if (!file.module)
      continue; // it has contracts only
    for (ScheduleOp schedule : file.module->getOps<ScheduleOp>()) {
      if (!proveForAll(schedule, file.defines).isProved)
        continue;
      ++numProved;
      // The schedules on grids take longer: a part of their mutations.
      bool isLarge = schedule.getRankNames().size() > 1;
      Score score = judge(file, schedule, isLarge ? every * 4 : every);
      std::printf("%-28s %s\n", schedule.getSymName().str().c_str(),
                  textOf(score).c_str());
      total.add(score);
    }
  }
  reportScore("mutation of proved schedules", textOf(total));
  EXPECT_GE(numProved, 40u);
  EXPECT_EQ(total.missed, 0u);
  EXPECT_GE(total.mutants, 400u / every);
}

TEST(ProofMutation, NoneOfSeveralAtOnceIsMissed) {
  unsigned seconds = 0, seed = 1;
  if (const char *text = getenv("PROOF_FUZZ"))
    sscanf(text, "%u:%u", &seconds, &seed);
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<ScheduleFile>> files;
  std::vector<std::pair<ScheduleFile *, std::string>> proved;
  for (const std::string &path : subjectFiles()) {
    auto &file = files.emplace_back(std::make_unique<ScheduleFile>(path));
    if (!file->module)
      continue;
    for (ScheduleOp schedule : file->module->getOps<ScheduleOp>())
      if (schedule.getRankNames().size() == 1 &&
          proveForAll(schedule, file->defines).isProved)
        proved.push_back({file.get(), schedule.getSymName().str()});
  }
  constexpr unsigned leastMutants = 100;
  std::clock_t end = std::clock() + std::clock_t(seconds) * CLOCKS_PER_SEC;
  Score score;
  while (score.mutants < leastMutants || std::clock() < end) {
    const auto &[file, name] = proved[random() % proved.size()];
    mlir::OwningOpRef<mlir::ModuleOp> copy = file->module->clone();
    ScheduleOp changed = find(*copy, name);
    std::string what;
    bool isValid = true;
    for (unsigned n = 1 + random() % 3; n > 0 && isValid; --n) {
      std::vector<Mutation> all = mutationsOf(changed);
      what += what.empty() ? "" : "; ";
      isValid =
          !all.empty() && mutate(changed, all[random() % all.size()], what);
    }
    if (isValid)
      judgeOne(*file, changed, what, score);
  }
  reportScore("several mutations of proved schedules",
              "seed " + std::to_string(seed) + ": " + textOf(score));
  std::printf("%u mutants\n", score.mutants);
  EXPECT_EQ(score.missed, 0u);
}
