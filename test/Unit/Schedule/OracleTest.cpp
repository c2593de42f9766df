//===- OracleTest.cpp - The checker against every interleaving ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checker runs a program once and speaks for every timing. Here small
// programs are run in every order there is, by an executor that knows nothing
// of the checker, and both must say the same of deadlock, of races, and of what
// is left in `out`. See Seeds.h for other seeds and more of them.
//
//===----------------------------------------------------------------------===//
#include "../Score.h"
#include "../Seeds.h"
#include "Dump.h"
#include "Executor.h"
#include "RandomPrograms.h"
#include "lib/Analysis/Direct.h"
#include "lib/Analysis/ProgramCheck.h"

#include <gtest/gtest.h>
#include <map>

using namespace coll;
using namespace coll::test;

static std::string number(uint64_t n) { return std::to_string(n); }

static FifoShape randomShape(std::mt19937_64 &random) {
  uint32_t slots = 1 + random() % 4;
  return {slots, 1 + uint32_t(random() % slots), 1 + uint32_t(random() % 3),
          1 + uint32_t(random() % 2)};
}

//===----------------------------------------------------------------------===//
// Messages alone: deadlock
//===----------------------------------------------------------------------===//

TEST(Oracle, DeadlockInEveryInterleaving) {
  Seeds seeds(2000);
  uint64_t stuck = 0, done = 0, states = 0;
  while (seeds.next()) {
    SCOPED_TRACE("seed " + number(seeds.seed()));
    std::mt19937_64 random(seeds.seed());
    ProgramSet programs = randomMessages(random);
    FifoShape shape = randomShape(random);
    bool isStuck = runFifos(programs, 0, Variant::OutOfPlace, shape).isStuck;
    AllOrders all = executeAllOnly(programs, shape);
    if (all.isCut) // too many orders: some of them
      for (int run = 0; run < 3; ++run)
        ASSERT_EQ(executeOnly(programs, shape, random), isStuck);
    else
      ASSERT_TRUE(all.canStick == isStuck && all.canFinish == !isStuck);
    // What the guaranteed slots let run, runs; and so does every launch of what
    // is promised for all of them.
    FifoShape guaranteed = shape.guaranteed();
    ASSERT_LE(isStuck,
              runFifos(programs, 0, Variant::OutOfPlace, guaranteed).isStuck);
    if (shape.rounds <= shape.batch) {
      ASSERT_LE(isStuck,
                findDeadlock(programs, 0, Variant::OutOfPlace, shape).isStuck);
    }
    ++(isStuck ? stuck : done);
    states += all.states;
  }
  reportScore("oracle of deadlock",
              number(seeds.numDone()) + " programs in every interleaving (" +
                  number(states) + " states): " + number(stuck) +
                  " deadlocks, " + number(done) + " end, 0 disagreements, " +
                  seeds.text());
  if (seeds.areMany()) {
    EXPECT_GT(stuck * 10, seeds.numDone());
    EXPECT_GT(done * 10, seeds.numDone());
  }
}

//===----------------------------------------------------------------------===//
// Blocks on shared memory: races
//===----------------------------------------------------------------------===//

// The order that program order, waits and messages leave is exactly the one in
// which two accesses cannot be next to each other.
TEST(Oracle, RacesInEveryInterleaving) {
  Seeds seeds(2000);
  uint64_t right = 0, races = 0, empty = 0, cut = 0;
  while (seeds.next()) {
    SCOPED_TRACE("seed " + number(seeds.seed()));
    std::mt19937_64 random(seeds.seed());
    ProgramSet programs = randomBlocks(random);
    ProgramCheckResult check = checkPrograms(programs, {});
    bool hasBlocks = false;
    for (const RankProgram &rank : programs.members[0].outOfPlace)
      hasBlocks |= rank.blocks.size() > 1;
    ChunkGraph nothing;
    nothing.rankDims = programs.rankDims;
    nothing.buffers = programs.members[0].buffers;
    Setting setting{.shape = {64, 1, 1, hasBlocks ? 2u : 1u}};
    AllOrders all = executeAll(programs, nothing, setting, 20000);
    if (all.isCut) {
      ++cut;
      continue;
    }
    ASSERT_FALSE(all.canStick || all.canBreak);
    ASSERT_EQ(check.isRight(), !all.canRace && !all.canReadNothing);
    if (!check.isRight()) {
      bool isRace = check.errors[0].kind == ProgramError::Race;
      ASSERT_TRUE(isRace ? all.canRace : all.canReadNothing)
          << describe(check.errors[0], programs);
      ++(isRace ? races : empty);
    }
    right += check.isRight();
    FifoShape shape = randomShape(random);
    AllOrders onFifos = executeAllOnly(programs, shape, 20000);
    bool isStuck = runFifos(programs, 0, Variant::OutOfPlace, shape).isStuck;
    ASSERT_TRUE(onFifos.isCut ||
                (onFifos.canStick == isStuck && onFifos.canFinish == !isStuck));
  }
  reportScore("oracle of races",
              number(seeds.numDone()) + " programs in every interleaving: " +
                  number(right) + " right, " + number(races) + " races, " +
                  number(empty) + " load nothing, " + number(cut) +
                  " too large, 0 disagreements, " + seeds.text());
  if (!seeds.areMany())
    return;
  EXPECT_GT(right * 10, seeds.numDone());
  EXPECT_GT(races * 10, seeds.numDone());
}

//===----------------------------------------------------------------------===//
// Programs of random schedules, some of them broken
//===----------------------------------------------------------------------===//

namespace {
/// What every interleaving of one variant comes to.
struct Truth {
  bool sticks = false, races = false, isWrong = false, isCut = false;
  bool isRight() const { return !sticks && !races && !isWrong; }
};

struct Tally {
  uint64_t right = 0, stuck = 0, races = 0, wrong = 0, malformed = 0;
  uint64_t deadlocks = 0, runs = 0, cut = 0;
  /// Refused, though every interleaving comes to the same and is right: by what
  /// the checker says.
  std::map<ProgramError::Kind, uint64_t> strict;
};

class Case {
public:
  Case(uint64_t seed, Tally &tally)
      : tally(tally), random(seed), program(randomProgram(random)) {}
  void check();

private:
  Truth truthOf(Variant variant) const;
  void checkDeadlock();
  void checkMeaning();
  void checkKind(const ProgramError &error, const Truth &truth);
  std::string text() const;

  Tally &tally;
  std::mt19937_64 random;
  RandomProgram program;
};
} // namespace

std::string Case::text() const {
  std::string text = "broken: " + program.changes + "\n";
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace})
    for (Rank r = 0; r < program.programs.numRanks(); ++r)
      if (variant == Variant::OutOfPlace ||
          !program.programs.members[0].inPlace.empty())
        text += "rank " + number(r) +
                (variant == Variant::InPlace ? " in place\n" : "\n") +
                dump(program.programs, 0, r, variant);
  return text;
}

/// FIFOs that never are full: they would order what nothing else does. In the
/// ring, and with all that is marked gone direct.
Truth Case::truthOf(Variant variant) const {
  bool hasBlocks = false;
  for (const RankProgram &rank : program.programs.members[0].outOfPlace)
    hasBlocks |= rank.blocks.size() > 1;
  Setting setting{
      .variants = std::vector<Variant>(program.programs.numRanks(), variant),
      .shape = {64, 1, 1, hasBlocks ? 2u : 1u}};
  Truth truth;
  const std::set<DirectMessages> marked = directMessages(program.programs, 0);
  for (int run = 0; run < (marked.empty() ? 1 : 2); ++run) {
    AllOrders all = executeAll(program.programs, program.graph, setting, 20000);
    truth.sticks |= all.canStick;
    truth.races |= all.canRace;
    truth.isWrong |= all.canBreak || all.canBeWrong;
    truth.isCut |= all.isCut;
    setting.direct = marked;
  }
  return truth;
}

void Case::checkDeadlock() {
  FifoShape shape = randomShape(random);
  shape.slots = 1 + shape.slots % 2; // what schedules need is little
  shape.batch = 1 + random() % shape.slots;
  DeadlockResult greedy =
      runFifos(program.programs, 0, Variant::OutOfPlace, shape);
  AllOrders all = executeAllOnly(program.programs, shape, 20000);
  if (!greedy.isDecided || all.isCut || all.canBreak)
    return;
  ASSERT_TRUE(all.canStick == greedy.isStuck &&
              all.canFinish == !greedy.isStuck);
  ++tally.runs;
  tally.deadlocks += greedy.isStuck;
}

/// What the checker says first must be true, but of messages that are declined.
void Case::checkKind(const ProgramError &error, const Truth &truth) {
  switch (error.kind) {
  case ProgramError::Race:
    EXPECT_TRUE(truth.races || whyInSlots(program.programs, 0).declined > 0);
    break;
  case ProgramError::Stuck:
    EXPECT_TRUE(truth.sticks);
    break;
  case ProgramError::WrongTerm:
  case ProgramError::Unwritten:
  case ProgramError::LeftOver:
  case ProgramError::Overflow:
    EXPECT_TRUE(truth.isWrong);
    break;
  default: // what is loaded, and as what: truth only has what comes of it
    tally.strict[error.kind] += truth.isRight();
  }
  // A race may first show as a load of what is not there yet.
  bool isLoad = error.kind == ProgramError::Uninitialised ||
                error.kind == ProgramError::TypeMismatch;
  if (truth.races && !truth.sticks && !truth.isWrong && !isLoad) {
    EXPECT_EQ(error.kind, ProgramError::Race);
  }
}

void Case::checkMeaning() {
  const ProgramSet &programs = program.programs;
  ProgramCheckResult check = checkPrograms(programs, {&program.graph, 1});
  Truth outOfPlace = truthOf(Variant::OutOfPlace), inPlace;
  if (!programs.members[0].inPlace.empty())
    inPlace = truthOf(Variant::InPlace);
  if (outOfPlace.isCut || inPlace.isCut) {
    ++tally.cut;
    return;
  }
  if (check.isRight()) {
    EXPECT_TRUE(outOfPlace.isRight() && inPlace.isRight());
    ++tally.right;
    return;
  }
  const ProgramError &error = check.errors[0];
  const Truth &truth = error.variant == Variant::InPlace ? inPlace : outOfPlace;
  checkKind(error, truth);
  ++(error.kind == ProgramError::Race ? tally.races
     : truth.sticks                   ? tally.stuck
                                      : tally.wrong);
}

void Case::check() {
  ProgramCheckResult check = checkPrograms(program.programs, {});
  for (const ProgramError &error : check.errors) // of either variant
    if (error.kind == ProgramError::Malformed ||
        error.kind == ProgramError::ChannelMismatch) {
      ++tally.malformed; // says nothing that could be run
      return;
    }
  checkDeadlock();
  checkMeaning();
  if (testing::Test::HasFailure())
    ADD_FAILURE() << text();
}

TEST(Oracle, ProgramsInEveryInterleaving) {
  Seeds seeds(2000);
  Tally tally;
  while (seeds.next() && !HasFailure()) {
    SCOPED_TRACE("seed " + number(seeds.seed()));
    Case(seeds.seed(), tally).check();
  }
  for (auto &[kind, count] : tally.strict)
    printf("refused for %d, though it would run right: %lu\n", int(kind),
           count);
  reportScore("oracle of programs",
              number(seeds.numDone()) + " programs in every interleaving: " +
                  number(tally.right) + " right, " + number(tally.wrong) +
                  " wrong, " + number(tally.races) + " races, " +
                  number(tally.stuck) + " stuck, " + number(tally.malformed) +
                  " malformed, " + number(tally.cut) + " too large; on FIFOs " +
                  number(tally.deadlocks) + " deadlocks in " +
                  number(tally.runs) + "; 0 disagreements, " + seeds.text());
  if (!seeds.areMany())
    return;
  for (uint64_t share : {tally.right, tally.wrong})
    EXPECT_GT(share * 10, seeds.numDone());
  EXPECT_GT(tally.races * 50, seeds.numDone());
  EXPECT_GT(tally.deadlocks * 50, tally.runs);
}
