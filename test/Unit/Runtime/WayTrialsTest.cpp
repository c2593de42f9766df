//===- WayTrialsTest.cpp - How launches find out how to run ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/WayTrials.h"

#include "gtest/gtest.h"

#include <vector>

namespace coll {
namespace {

uint64_t now = 0;

constexpr Way through{false, false}, past{true, false}, byKernel{false, true};
constexpr WayRules stores{.first = through, .triesStreams = true};
constexpr WayRules all{
    .first = through, .triesStreams = true, .leastByKernel = 32 << 10};

/// What the kernel moves is stored by nobody.
bool isSame(Way a, Way b) {
  return a.byKernel == b.byKernel && (a.byKernel || a == b);
}

/// Launches of one size, which take so long any way.
struct Launches {
  explicit Launches(WayRules rules, Way first = through)
      : trials(WayRules{first, rules.triesStreams, rules.leastByKernel},
               [] { return now; }) {}
  Way launch() {
    Way way = trials.begin(bytes);
    now += way.byKernel ? kernelNs : way.streams ? pastNs : throughNs;
    trials.end();
    now += 1'000'000; // what the application does is not looked at
    return way;
  }
  std::vector<Way> launches(uint32_t number) {
    std::vector<Way> ways;
    for (uint32_t i = 0; i != number; ++i)
      ways.push_back(launch());
    return ways;
  }
  /// How many of so many launches go this way.
  uint32_t count(Way way, uint32_t number) {
    uint32_t result = 0;
    for (Way taken : launches(number))
      result += isSame(taken, way);
    return result;
  }
  bool goes(Way way) { return count(way, 100) == 100; }

  WayTrials trials;
  uint64_t bytes = 64 << 10;
  uint64_t pastNs = 1000, throughNs = 1000, kernelNs = 1000;
};

uint32_t run(uint64_t bytes) { return WayTrials::runOf(bytes); }
uint32_t trial(uint64_t bytes, uint32_t ways) { return 2 * ways * run(bytes); }
/// Launches until two trials have been made.
uint32_t trials(uint64_t bytes, uint32_t ways) {
  return 2 + 2 * trial(bytes, ways);
}

TEST(WayTrials, AnEqualWayChangesNothing) {
  for (Way first : {through, past}) {
    Launches l(stores, first);
    const uint32_t period = WayTrials::periodOf(l.bytes);
    for (int i = 0; i != 3; ++i)
      EXPECT_EQ(l.count(first, period), period - 2 * run(l.bytes));
  }
  Launches l(all, byKernel);
  const uint32_t period = WayTrials::periodOf(l.bytes);
  EXPECT_EQ(l.count(byKernel, period), period - 4 * run(l.bytes));
}

TEST(WayTrials, TwoTrialsThatAgreeChangeIt) {
  for (Way first : {through, past}) {
    Launches l(stores, first);
    (first == past ? l.pastNs : l.throughNs) = 1100;
    l.launches(trials(l.bytes, 2));
    EXPECT_TRUE(l.goes(first == past ? through : past));
    // And back, when the machine has changed.
    std::swap(l.pastNs, l.throughNs);
    l.launches(WayTrials::periodOf(l.bytes));
    EXPECT_TRUE(l.goes(first));
  }
}

TEST(WayTrials, TheBestOfThreeIsTaken) {
  for (Way first : {through, past, byKernel})
    for (Way best : {through, past, byKernel}) {
      Launches l(all, first);
      (best.byKernel  ? l.kernelNs
       : best.streams ? l.pastNs
                      : l.throughNs) = 900;
      l.launches(trials(l.bytes, 3));
      EXPECT_TRUE(l.goes(best));
    }
}

TEST(WayTrials, OneTrialAloneDoesNot) {
  Launches l(all, past);
  l.pastNs = 1100;
  l.launches(2 + trial(l.bytes, 3));
  l.pastNs = 1000;
  l.launches(trial(l.bytes, 3));
  EXPECT_TRUE(l.goes(past));
}

TEST(WayTrials, TwoTrialsThatNameOtherWaysDoNot) {
  Launches l(all, past);
  l.pastNs = 1100, l.kernelNs = 900;
  l.launches(2 + trial(l.bytes, 3));
  l.throughNs = 900, l.kernelNs = 1000;
  l.launches(trial(l.bytes, 3));
  EXPECT_TRUE(l.goes(past));
}

TEST(WayTrials, LittleDifferenceDoesNot) {
  Launches l(all, past);
  l.pastNs = 1050;
  l.launches(trials(l.bytes, 3));
  EXPECT_TRUE(l.goes(past));
}

TEST(WayTrials, AWayThatIsFarSlowerIsTriedOnce) {
  Launches l(all, past);
  l.throughNs = 5000;
  EXPECT_EQ(l.count(through, trial(l.bytes, 3) + 2), run(l.bytes));
}

/// All ranks run the same ways while they compare them, also where they have
/// taken different ones: two of them that only changed places would go on so.
TEST(WayTrials, RanksTryTheSameWaysAtTheSameLaunches) {
  Launches a(all), b(all), c(all);
  b.pastNs = c.kernelNs = 900;
  const uint32_t period = WayTrials::periodOf(a.bytes);
  for (Launches *l : {&a, &b, &c}) {
    l->launches(period);
    l->pastNs = l->kernelNs = 1000;
  }
  for (int i = 0; i != 2; ++i) {
    EXPECT_EQ(a.count(through, 2), 2u);
    EXPECT_EQ(b.count(past, 2), 2u);
    EXPECT_EQ(c.count(byKernel, 2), 2u);
    const std::vector<Way> ways = a.launches(trial(a.bytes, 3));
    EXPECT_TRUE(b.launches(trial(a.bytes, 3)) == ways);
    EXPECT_TRUE(c.launches(trial(a.bytes, 3)) == ways);
    const uint32_t rest = period - 2 - trial(a.bytes, 3);
    EXPECT_EQ(a.count(through, rest), rest);
    EXPECT_EQ(b.count(past, rest), rest);
    EXPECT_EQ(c.count(byKernel, rest), rest);
  }
}

TEST(WayTrials, TheirPlacesDoNotDependOnWhatTheyShow) {
  Launches equal(all, past), doubted(all, past);
  const uint32_t period = WayTrials::periodOf(equal.bytes);
  doubted.pastNs = 1100; // has a second trial at once, which does not agree
  doubted.launches(2 + trial(equal.bytes, 3));
  doubted.pastNs = 1000;
  doubted.launches(period - 2 - trial(equal.bytes, 3));
  equal.launches(period);
  EXPECT_TRUE(doubted.launches(period) == equal.launches(period));
}

TEST(WayTrials, ShortMessagesAreNotMovedByTheKernel) {
  Launches l(all, past);
  l.bytes = (32 << 10) - 1;
  l.kernelNs = 1;
  EXPECT_EQ(l.count(byKernel, WayTrials::periodOf(l.bytes)), 0u);
  l.bytes = 32 << 10;
  l.launches(trials(l.bytes, 3));
  EXPECT_TRUE(l.goes(byKernel));
}

TEST(WayTrials, OneWayIsNotTried) {
  WayRules rules;
  Launches none(rules, past);
  none.throughNs = none.kernelNs = 1;
  EXPECT_TRUE(none.goes(past));
  EXPECT_FALSE(rules.triesAny());
  // Where stores are settled, what the kernel moves may still be tried.
  rules.leastByKernel = 1;
  Launches l(rules, past);
  l.throughNs = 1, l.kernelNs = 900;
  const std::vector<Way> ways = l.launches(trials(l.bytes, 2));
  for (Way way : ways)
    EXPECT_TRUE(way.streams);
  EXPECT_TRUE(l.goes({true, true}));
}

TEST(WayTrials, SizesAreApart) {
  Launches l(stores, past);
  l.pastNs = 1100;
  l.launches(trials(l.bytes, 2));
  EXPECT_TRUE(l.goes(through));
  l.bytes = 16 << 20;
  EXPECT_EQ(l.count(past, 2), 2u);
  // Other launches in between are not timed for it.
  Launches mixed(stores, past);
  mixed.pastNs = 1100;
  for (uint32_t i = 0; i != trials(mixed.bytes, 2); ++i) {
    mixed.launch();
    mixed.pastNs = 100'000;
    mixed.bytes = 1 << 30, mixed.launch();
    mixed.bytes = 64 << 10, mixed.pastNs = 1100;
  }
  EXPECT_TRUE(mixed.goes(through));
}

TEST(WayTrials, EverySizeHasBounds) {
  for (uint64_t bytes : {uint64_t(0), uint64_t(1), UINT64_MAX}) {
    EXPECT_GE(run(bytes), 1u);
    EXPECT_LE(run(bytes), 128u);
    Launches l(stores, past);
    l.bytes = bytes;
    l.pastNs = 1100;
    l.launches(trials(bytes, 2));
    EXPECT_TRUE(l.goes(through));
  }
}

} // namespace
} // namespace coll
