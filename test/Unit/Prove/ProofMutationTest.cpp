//===- ProofMutationTest.cpp - No proof of a wrong schedule ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of lib/Library that is proved is changed in one place, in all
// ways of Mutations.h, and the change is tried to be proved. Then it is
// executed at all rank spaces of 2 to 9 ranks, for all members: if it is wrong
// at one of them and was proved, the proof is unsound. Wrong ones that are not
// proved count as refuted; right ones are equivalent if they are proved, else
// undecided.
//
//   PROOF_MUTATION=EVERY ProveTests    each EVERY-th mutation; 1: all
//
//===----------------------------------------------------------------------===//
#include "Mutations.h"
#include "Schedules.h"
#include "lib/Prove/Prove.h"

#include <gtest/gtest.h>

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

static void print(const std::string &name, const Score &score) {
  std::printf("%-28s %5u mutants, %5u refuted, %4u undecided, %4u equivalent, "
              "%u missed\n",
              name.c_str(), score.mutants, score.refuted, score.undecided,
              score.equivalent, score.missed);
  std::fflush(stdout);
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
    ++score.mutants;
    bool isProved = proveForAll(changed, file.defines).isProved;
    std::optional<std::string> wrongAt =
        firstWrong(changed, file, isProved ? 12 : 9);
    if (isProved && wrongAt) {
      ++score.missed;
      ADD_FAILURE() << name << ": " << what << " is proved, and wrong at "
                    << *wrongAt;
    } else if (wrongAt) {
      ++score.refuted;
    } else {
      ++(isProved ? score.equivalent : score.undecided);
    }
  }
  return score;
}

TEST(ProofMutation, NoneIsMissed) {
  unsigned every = 5;
  if (const char *text = getenv("PROOF_MUTATION"))
    every = std::max(1, atoi(text));
  Score total;
  unsigned numProved = 0;
  for (const std::string &path : libraryFiles()) {
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
      print(schedule.getSymName().str(), score);
      total.add(score);
    }
  }
  print("all", total);
  EXPECT_GE(numProved, 30u);
  EXPECT_EQ(total.missed, 0u);
  EXPECT_GE(total.mutants, 400u / every);
}
