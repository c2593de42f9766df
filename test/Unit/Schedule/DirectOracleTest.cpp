//===- DirectOracleTest.cpp - Direct messages in every interleaving -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small programs whose messages are marked at random. What the checker accepts
// must leave what the schedule means, without a race and without getting stuck,
// however it is mixed: which channels go direct and which use the ring, which
// ranks are in place, which chunks are empty, in every order of events, and in
// several launches whose users read and write the buffers in between. Of what
// it refuses, one mixture at least should go wrong; where none does, it was
// stricter than it had to be, and is counted.
//
//===----------------------------------------------------------------------===//
#include "../Score.h"
#include "../Seeds.h"
#include "DirectMarks.h"
#include "Dump.h"
#include "Executor.h"
#include "RandomPrograms.h"
#include "lib/Analysis/ProgramCheck.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {
constexpr uint64_t maxStates = 5000;

struct Tally {
  uint64_t right = 0, direct = 0, races = 0, strict = 0, shapes = 0, stuck = 0;
  uint64_t others = 0, cut = 0, settings = 0, states = 0;
  uint64_t ahead = 0, early = 0;
};

std::string number(uint64_t n) { return std::to_string(n); }

/// Of what goes wrong if anything does.
bool isBad(const AllOrders &all) {
  return all.canStick || all.canBreak || all.canBeWrong || all.canRace ||
         all.canReadNothing;
}

class Case {
public:
  Case(uint64_t seed, Tally &tally);
  void check();
  bool isAccepted() const { return verdict.isRight(); }
  bool hasDirect() const { return !marked.empty(); }
  /// In launches that follow each other.
  bool goesWrong(Careless careless);

private:
  Setting randomSetting(uint32_t how);
  void expectRight(const Setting &setting);
  bool findWrong();
  std::string text() const;

  Tally &tally;
  std::mt19937_64 random;
  RandomProgram program; ///< without a graph: of transfers
  bool hasGraph = true;
  FifoShape shape;
  ProgramCheckResult verdict;
  std::set<DirectMessages> marked;
  bool hasInPlace = false, movesAhead = false;
};

bool isAnyMovedAhead(const ProgramMember &member) {
  for (const auto *ranks : {&member.outOfPlace, &member.inPlace})
    for (const RankProgram &program : *ranks)
      for (const Port &port : program.ports)
        if (port.ahead)
          return true;
  return false;
}
} // namespace

/// Half of them of schedules; half of transfers that are right in the ring.
Case::Case(uint64_t seed, Tally &tally)
    : tally(tally), random(seed), hasGraph(seed % 2 == 0) {
  constexpr int tries = 20;
  if (hasGraph)
    program = randomProgram(random);
  for (int i = 0; i < tries && !hasGraph; ++i) {
    program.programs = randomTransfers(random);
    if (checkPrograms(program.programs, {}, {.checkTerms = false}).isRight())
      break;
  }
  if (!hasGraph) {
    program.graph.rankDims = program.programs.rankDims;
    program.graph.reduces = program.programs.reduces;
    program.graph.buffers = program.programs.members[0].buffers;
  }
  markAtRandom(program.programs, random);
  shape.slots = 1 + random() % 4;
  shape.batch = 1 + random() % shape.slots;
  shape.slices = 1 + (random() % 4 == 0);
  ProgramCheckOptions options;
  options.checkTerms = hasGraph;
  options.fifos = {shape};
  if (hasGraph)
    verdict = checkPrograms(program.programs, {&program.graph, 1}, options);
  else
    verdict = checkPrograms(program.programs, {}, options);
  marked = directMessages(program.programs, 0);
  movesAhead = isAnyMovedAhead(program.programs.members[0]);
  hasInPlace = !program.programs.members[0].inPlace.empty();
}

std::string Case::text() const {
  std::string text = "broken: " + program.changes + "\n";
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace})
    for (Rank r = 0; r < program.programs.numRanks(); ++r)
      if (variant == Variant::OutOfPlace || hasInPlace)
        text += "rank " + number(r) +
                (variant == Variant::InPlace ? " in place\n" : "\n") +
                dump(program.programs, 0, r, variant);
  return text;
}

/// The first are those that are likely to show something.
Setting Case::randomSetting(uint32_t how) {
  Setting setting;
  setting.asInRing = !hasGraph;
  setting.shape = {64, 1, 1, 1};
  setting.direct = how < 2 ? marked : someOf(marked, random);
  setting.movesAhead = movesAhead && (how < 2 || random() % 2 == 0);
  if (setting.movesAhead)
    setting.shape.rounds = 2;
  setting.variants.assign(program.programs.numRanks(), Variant::OutOfPlace);
  if (hasInPlace)
    for (Variant &variant : setting.variants)
      variant = how == 0 || (how > 1 && random() % 2) ? Variant::OutOfPlace
                                                      : Variant::InPlace;
  // The last chunks are empty where there are fewer units than chunks.
  const std::vector<SizeSymbol> &sizes = program.programs.sizes;
  for (uint32_t size = 0; size < sizes.size() && how > 1; ++size)
    for (uint32_t c = random() % (sizes[size].chunks + 1);
         c < sizes[size].chunks; ++c)
      setting.empty.insert({size, c});
  return setting;
}

void Case::expectRight(const Setting &setting) {
  AllOrders all =
      executeAll(program.programs, program.graph, setting, maxStates);
  ++tally.settings;
  tally.states += all.states;
  tally.cut += all.isCut;
  if (!all.isCut) {
    EXPECT_FALSE(isBad(all))
        << (all.canStick ? "stuck " : "") << (all.canRace ? "race " : "")
        << (all.canBeWrong ? "wrong " : "") << (all.canBreak ? "broken " : "")
        << (all.canReadNothing ? "reads nothing" : "");
    return;
  }
  for (int run = 0; run < 3; ++run) {
    ExecutorResult result =
        execute(program.programs, program.graph, setting, random);
    EXPECT_TRUE(result.isRight && !result.hasRaced);
  }
}

bool Case::findWrong() {
  for (uint32_t how = 0; how < 40; ++how) {
    AllOrders all = executeAll(program.programs, program.graph,
                               randomSetting(how), maxStates);
    ++tally.settings;
    tally.states += all.states;
    if (isBad(all))
      return true;
  }
  return false;
}

void Case::check() {
  if (verdict.isRight()) {
    ++tally.right;
    tally.direct += hasDirect();
    tally.ahead += movesAhead;
    for (uint32_t how = 0; how < 4; ++how) {
      Setting setting = randomSetting(how);
      expectRight(setting);
      setting.shape = shape;
      setting.shape.rounds = 1 + (how / 2 || setting.movesAhead);
      if (how % 2)
        setting.launches = 2;
      expectRight(setting);
    }
    if (testing::Test::HasFailure())
      ADD_FAILURE() << text();
    return;
  }
  const ProgramError &error = verdict.errors[0];
  switch (error.kind) {
  case ProgramError::Race: // between blocks, that only messages had ordered
    if (!error.isDirect || hasGraph)
      break;
    [[fallthrough]];
  case ProgramError::DirectRace:
    tally.early += error.isAhead;
    ++(findWrong() ? tally.races : tally.strict);
    return;
  case ProgramError::NotDirect:
    ++tally.shapes;
    return;
  case ProgramError::Deadlock:
    ++tally.stuck;
    return;
  default:
    break;
  }
  ++tally.others; // without a word on what goes direct
}

bool Case::goesWrong(Careless careless) {
  Setting setting = randomSetting(0);
  setting.launches = 2;
  setting.careless = careless;
  AllOrders all =
      executeAll(program.programs, program.graph, setting, maxStates);
  return isBad(all);
}

TEST(DirectOracle, EveryMixtureInEveryInterleaving) {
  Seeds seeds(400);
  Tally tally;
  while (seeds.next() && !HasFailure()) {
    SCOPED_TRACE("seed " + number(seeds.seed()));
    Case(seeds.seed(), tally).check();
  }
  reportScore(
      "oracle of direct messages",
      number(seeds.numDone()) + " programs, " + number(tally.settings) +
          " mixtures in every interleaving (" + number(tally.states) +
          " states): " + number(tally.right) + " right, " +
          number(tally.direct) + " of them with direct messages, " +
          number(tally.ahead) + " with what is moved ahead, " +
          number(tally.races) + " races, " + number(tally.early) +
          " ahead of others, " + number(tally.shapes) + " cannot be direct, " +
          number(tally.stuck) + " stuck, " + number(tally.others) +
          " wrong in the ring, " + number(tally.cut) +
          " mixtures too large; 0 accepted wrongly, " + number(tally.strict) +
          " refused though right, " + seeds.text());
  if (!seeds.areMany())
    return;
  EXPECT_GT(tally.direct * 10, seeds.numDone());
  EXPECT_GT(tally.races * 25, seeds.numDone());
  EXPECT_LT(tally.strict * 2, tally.races);
  EXPECT_GT(tally.ahead * 100, seeds.numDone());
  EXPECT_GT(tally.early * 500, seeds.numDone());
}

// What the handshakes are for: without any one of them, programs go wrong.
TEST(DirectOracle, EveryWordIsNeeded) {
  const std::pair<Careless, const char *> all[] = {
      {Careless::PutsAtOnce, "puts at once"},
      {Careless::GetsAtOnce, "gets at once"},
      {Careless::LeavesEarly, "leaves before all have got"},
      {Careless::ReturnsUnput, "leaves before all have put"},
      {Careless::NeverWaitsHere, "awaits no put where it is needed"}};
  std::map<Careless, uint64_t> wrong;
  uint64_t programs = 0;
  Tally tally;
  for (uint64_t seed = 1; programs < 60; ++seed) {
    Case one(seed, tally);
    if (!one.isAccepted() || !one.hasDirect())
      continue;
    ++programs;
    EXPECT_FALSE(one.goesWrong(Careless::Not)) << "seed " << seed;
    for (auto [careless, name] : all)
      wrong[careless] += one.goesWrong(careless);
  }
  std::string text = number(programs) + " programs in two launches;";
  for (auto [careless, name] : all) {
    EXPECT_GT(wrong[careless], 0u) << name;
    text += " " + std::string(name) + ": " + number(wrong[careless]) + ",";
  }
  text.back() = ' ';
  reportScore("careless ends of direct messages", text + "go wrong");
}
