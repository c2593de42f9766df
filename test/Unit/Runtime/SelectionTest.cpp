//===- SelectionTest.cpp - Tables of schedules ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Selection.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

constexpr auto kFile = SelectionRule::Source::File;

std::string errorOf(const std::string &text) {
  Selection selection;
  return selection.addText(text, "t", kFile).text();
}

const SelectionRule *ruleOf(const Selection &selection, uint32_t ranks,
                            bool ownCores, uint64_t bytes) {
  for (const SelectionRule &rule : selection.rules())
    if (rule.applies("allreduce", ranks, ownCores, bytes))
      return &rule;
  return nullptr;
}

TEST(Selection, FirstRuleThatAppliesWins) {
  Selection selection;
  ASSERT_TRUE(selection
                  .addText("# a comment\n"
                           "coll-tune 1\n"
                           "\n"
                           "allreduce 2 any 0..100 one auto # and another\n"
                           "allreduce 2..5 shared 0..100 two bulk\r\n"
                           "\tbroadcast any any any other auto\n"
                           "allreduce any own 100..max three auto",
                           "t", kFile)
                  .isOk());
  auto named = [&](uint32_t ranks, bool own, uint64_t bytes) {
    const SelectionRule *rule = ruleOf(selection, ranks, own, bytes);
    return rule
               ? rule->schedule + (rule->isBulk ? " bulk " : " ") + rule->origin
               : std::string();
  };
  EXPECT_EQ(named(2, false, 0), "one t:4");
  EXPECT_EQ(named(2, true, 99), "one t:4");
  EXPECT_EQ(named(4, false, 99), "two bulk t:5");
  EXPECT_EQ(named(5, false, 99), "");
  EXPECT_EQ(named(4, true, 99), "");
  EXPECT_EQ(named(2, true, 100), "three t:7");
  EXPECT_EQ(named(9, true, uint64_t(1) << 40), "three t:7");
  EXPECT_EQ(named(9, false, uint64_t(1) << 40), "");
}

TEST(Selection, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf(""), "t:1: a table begins with 'coll-tune 1'");
  EXPECT_EQ(errorOf("\ncoll-tune 2\n"),
            "t:2: a table begins with 'coll-tune 1'");
  auto line = [](const char *rule) {
    return errorOf(std::string("coll-tune 1\n") + rule);
  };
  const char *words = "t:2: a rule has six words: collective, ranks, cores, "
                      "bytes, schedule, protocol";
  EXPECT_EQ(line("allreduce 2 any any one"), words);
  EXPECT_EQ(line("allreduce 2 any any one auto more"), words);
  EXPECT_EQ(line("allredúce 2 any any one auto"),
            "t:2: 'allredúce' is no collective");
  for (const char *ranks : {"2..2", "-1", "3..2", "..", "2..x", "max", "0x2"})
    EXPECT_EQ(
        line((std::string("allreduce ") + ranks + " any any one auto").c_str()),
        std::string("t:2: ranks '") + ranks + "' are not N, A..B or any");
  EXPECT_EQ(line("allreduce 2 some any one auto"),
            "t:2: cores 'some' are not own, shared or any");
  EXPECT_EQ(line("allreduce 2 any 1..99999999999999999999 one auto"),
            "t:2: bytes '1..99999999999999999999' are not N, A..B or any");
  EXPECT_EQ(line("allreduce 2 any any one small"),
            "t:2: protocol 'small' is not auto or bulk");
  std::string many = "coll-tune 1\n";
  for (int i = 0; i != 4097; ++i)
    many += "allreduce 2 any any one auto\n";
  EXPECT_EQ(errorOf(many), "t:4098: more than 4096 rules");
}

TEST(Selection, FilesAreRead) {
  Selection selection;
  EXPECT_EQ(selection.addFile("/nowhere").text(),
            "COLL_TUNE: cannot read '/nowhere': No such file or directory");
  EXPECT_FALSE(selection.addFile("/").isOk());
  EXPECT_EQ(selection.addFile("/dev/zero").text(),
            "COLL_TUNE: '/dev/zero' is larger than 1 MiB");
}

TEST(Selection, BuiltInTableIsGoodAndDigestsDiffer) {
  Selection builtIn, more;
  builtIn.addBuiltIn();
  EXPECT_GT(builtIn.rules().size(), 10u);
  for (const SelectionRule &rule : builtIn.rules())
    EXPECT_TRUE(rule.schedule.starts_with(kStandardPrefix)) << rule.schedule;
  ASSERT_TRUE(more.addVariable("scan", "COLL_SCAN", "mine:bulk").isOk());
  more.addBuiltIn();
  EXPECT_EQ(more.rules()[0].schedule, "mine");
  EXPECT_TRUE(more.rules()[0].isBulk);
  EXPECT_NE(builtIn.digest(), more.digest());
  for (const char *value : {":bulk", "a:b", "a:"})
    EXPECT_EQ(more.addVariable("scan", "COLL_SCAN", value).text(),
              std::string("COLL_SCAN=") + value +
                  " is not SCHEDULE, SCHEDULE:auto or SCHEDULE:bulk");
}

} // namespace
