//===- StreamTrialsTest.cpp - How launches choose their stores ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/StreamTrials.h"

#include "gtest/gtest.h"

#include <vector>

namespace coll {
namespace {

uint64_t now = 0;

/// Launches of one size, which take so long with either way to store.
struct Launches {
  explicit Launches(bool prior) : trials(prior, [] { return now; }) {}
  bool launch() {
    bool streams = trials.begin(bytes);
    now += streams ? past : through;
    trials.end();
    now += 1'000'000; // what the application does is not looked at
    return streams;
  }
  /// How many of so many launches stored past the caches.
  uint32_t launches(uint32_t number) {
    uint32_t count = 0;
    for (uint32_t i = 0; i != number; ++i)
      count += launch();
    return count;
  }

  StreamTrials trials;
  uint64_t bytes = 64 << 10, past = 1000, through = 1000;
};

uint32_t trial(uint64_t bytes) {
  return StreamTrials::numRuns * StreamTrials::runOf(bytes);
}

TEST(StreamTrials, AnEqualWayChangesNothing) {
  for (bool prior : {false, true}) {
    Launches l(prior);
    const uint32_t tried = 2 * StreamTrials::runOf(l.bytes),
                   all = StreamTrials::periodOf(l.bytes);
    for (int period = 0; period != 3; ++period)
      EXPECT_EQ(l.launches(all), prior ? all - tried : tried);
  }
}

TEST(StreamTrials, TwoTrialsThatAgreeChangeIt) {
  for (bool prior : {false, true}) {
    Launches l(prior);
    (prior ? l.past : l.through) = 1100;
    l.launches(2 + 2 * trial(l.bytes));
    EXPECT_EQ(l.launches(100), prior ? 0u : 100u);
    // And back, when the machine has changed.
    std::swap(l.past, l.through);
    l.launches(StreamTrials::periodOf(l.bytes));
    EXPECT_EQ(l.launches(100), prior ? 100u : 0u);
  }
}

TEST(StreamTrials, OneTrialAloneDoesNot) {
  Launches l(true);
  l.past = 1100;
  l.launches(2 + trial(l.bytes));
  l.past = 1000;
  l.launches(trial(l.bytes));
  EXPECT_EQ(l.launches(100), 100u);
}

TEST(StreamTrials, LittleDifferenceDoesNot) {
  Launches l(true);
  l.past = 1050;
  l.launches(2 + 2 * trial(l.bytes));
  EXPECT_EQ(l.launches(100), 100u);
}

TEST(StreamTrials, AWayThatIsFarSlowerIsTriedOnce) {
  Launches l(true);
  l.through = 5000;
  const uint32_t run = StreamTrials::runOf(l.bytes);
  EXPECT_EQ(l.launches(2 + trial(l.bytes)), 2 + trial(l.bytes) - run);
}

/// Launches at which a rank first stores otherwise than it begins with.
std::vector<uint32_t> trialsOf(Launches l, bool prior) {
  std::vector<uint32_t> result;
  const uint32_t period = StreamTrials::periodOf(l.bytes);
  for (uint32_t p = 0; p != 4; ++p) {
    uint32_t first = 0;
    for (uint32_t i = 0; i != period; ++i)
      if (l.launch() != prior && first == 0)
        first = p * period + i;
    result.push_back(first);
  }
  return result;
}

TEST(StreamTrials, RanksMakeThemTogetherWhateverTheyHaveShown) {
  Launches equal(false), farWorse(false), doubted(false);
  farWorse.past = 5000; // its trials end early
  std::vector<uint32_t> expected = trialsOf(equal, false);
  EXPECT_NE(expected[0], 0u);
  EXPECT_EQ(trialsOf(farWorse, false), expected);
  // Has a second trial at once, which does not agree.
  doubted.through = 1100;
  doubted.launches(2 + trial(doubted.bytes));
  doubted.through = 1000;
  doubted.launches(StreamTrials::periodOf(doubted.bytes) - 2 -
                   trial(doubted.bytes));
  EXPECT_EQ(trialsOf(doubted, false), expected);
}

TEST(StreamTrials, SizesAreApart) {
  Launches l(true);
  l.past = 1100;
  l.launches(2 + 2 * trial(l.bytes));
  EXPECT_EQ(l.launches(100), 0u);
  l.bytes = 16 << 20;
  EXPECT_EQ(l.launches(2), 2u);
  // Other launches in between are not timed for it.
  Launches mixed(true);
  mixed.past = 1100;
  for (uint32_t i = 0; i != 2 + 2 * trial(mixed.bytes); ++i) {
    mixed.launch();
    mixed.past = 100'000;
    mixed.bytes = 1 << 30, mixed.launch();
    mixed.bytes = 64 << 10, mixed.past = 1100;
  }
  EXPECT_EQ(mixed.launches(100), 0u);
}

TEST(StreamTrials, EverySizeHasBounds) {
  for (uint64_t bytes : {uint64_t(0), uint64_t(1), UINT64_MAX}) {
    EXPECT_GE(StreamTrials::runOf(bytes), 1u);
    EXPECT_LE(StreamTrials::runOf(bytes), 128u);
    Launches l(true);
    l.bytes = bytes;
    l.past = 1100;
    l.launches(2 + 2 * trial(bytes));
    EXPECT_EQ(l.launches(100), 0u);
  }
}

} // namespace
} // namespace coll
