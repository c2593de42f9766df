//===- DirectModelTest.cpp - The direct machines, in every order ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DirectModel.h"
#include "../Score.h"

#include <gtest/gtest.h>

using namespace coll::test;

namespace {
std::vector<ModelLaunch> everyLaunch() {
  std::vector<ModelLaunch> all;
  for (const char *messages : {"", "p", "g", "pp", "gg", "pg", "gp"})
    for (bool hasIn : {false, true})
      for (bool hasOut : {false, true})
        all.push_back({messages, hasIn, hasOut});
  return all;
}

std::string textOf(const DirectModel &model) {
  std::string text;
  for (const ModelLaunch &launch : model.launches)
    text += "'" + launch.messages + "'" + (launch.hasIn ? " in" : "") +
            (launch.hasOut ? " out" : "") + "; ";
  return text;
}

/// Two launches, one after the other: any, or of the same messages.
template <typename Action> void forPairs(bool areSame, Action action) {
  const std::vector<ModelLaunch> all = everyLaunch();
  for (const ModelLaunch &one : all)
    for (const ModelLaunch &other : all)
      if (!areSame || one.messages == other.messages)
        action(DirectModel{{one, other}});
}

TEST(ModelOfDirect, AnyTwoLaunches) {
  size_t states = 0, models = 0;
  forPairs(false, [&](DirectModel model) {
    Checked checked = check(model);
    EXPECT_EQ(checked.error, "") << textOf(model);
    states += checked.numStates;
    ++models;
  });
  reportScore("model of direct messages",
              std::to_string(models) + " pairs of launches, " +
                  std::to_string(states) + " states");
}

/// The same messages again and again, with and without windows.
TEST(ModelOfDirect, ThreeLaunchesOfAPlan) {
  for (const char *messages : {"p", "g", "pg", "gp"})
    for (unsigned windows = 0; windows != 64; ++windows) {
      DirectModel model;
      for (unsigned l = 0; l != 3; ++l)
        model.launches.push_back({messages, (windows >> 2 * l & 1) != 0,
                                  (windows >> 2 * l & 2) != 0});
      EXPECT_EQ(check(model).error, "") << textOf(model);
    }
}

TEST(ModelOfDirect, AnAbortEndsEveryWait) {
  for (const ModelLaunch &launch : everyLaunch()) {
    DirectModel model{{launch, launch}, DirectMutant::None, true};
    EXPECT_EQ(check(model).error, "") << textOf(model);
  }
}

struct Named {
  DirectMutant mutant;
  const char *name;
};
const Named mutants[] = {
    {DirectMutant::NoRtrWait, "no wait for rtr"},
    {DirectMutant::AnyRtr, "rtr of any launch"},
    {DirectMutant::NoAvailWait, "no wait for avail"},
    {DirectMutant::NoAckWait, "no wait for ack"},
    {DirectMutant::WindowAlone, "a window that speaks for itself"},
    {DirectMutant::AckEarly, "ack before the last load"},
    {DirectMutant::DtailNoRelease, "dtail without release"},
    {DirectMutant::RtrNoRelease, "rtr without release"},
    {DirectMutant::AvailNoRelease, "avail without release"},
    {DirectMutant::AckNoAcquire, "ack awaited too late"},
    {DirectMutant::NoDtailWait, "no wait for dtail"},
    {DirectMutant::DtailNoAcquire, "dtail without acquire"},
    {DirectMutant::AvailNoAcquire, "avail without acquire"},
};

TEST(ModelOfDirect, EveryMutantIsCaught) {
  std::string text;
  for (const Named &named : mutants) {
    size_t caught = 0;
    forPairs(true, [&](DirectModel model) {
      model.mutant = named.mutant;
      caught += !check(model).error.empty();
    });
    EXPECT_GT(caught, 0u) << named.name;
    text += (text.empty() ? "" : ", ") + std::string(named.name) + ": " +
            std::to_string(caught);
  }
  size_t deaf = 0;
  for (const ModelLaunch &launch : everyLaunch())
    deaf += !check({{launch}, DirectMutant::DeafToAbort, true}).error.empty();
  EXPECT_GT(deaf, 0u);
  reportScore("mutants of the direct model",
              text + ", deaf to an abort: " + std::to_string(deaf) +
                  " models go wrong");
}

} // namespace
