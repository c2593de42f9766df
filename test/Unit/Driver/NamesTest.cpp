//===- NamesTest.cpp - Dtypes, ops and defines of a command line ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Names.h"
#include "lib/Driver/Session.h"
#include "lib/Support/Slugs.h"

#include "coll/coll.h"
#include <gtest/gtest.h>

using namespace coll;
using lowering::Format;
using lowering::ReduceOp;

namespace {

TEST(Names, Formats) {
  std::vector<Format> formats;
  EXPECT_FALSE(parseFormats("f32,bf16,f32", formats));
  EXPECT_EQ(formats, (std::vector<Format>{Format::F32, Format::BF16}));
  EXPECT_FALSE(parseFormats("all", formats));
  EXPECT_EQ(formats.size(), 10u);
  // fp8 is for wires and stores, no launch has it.
  EXPECT_NE(llvm::toString(parseFormats("e4m3", formats)).find("no 'e4m3'"),
            std::string::npos);
  EXPECT_NE(llvm::toString(parseFormats("", formats)).find("no ''"),
            std::string::npos);
}

TEST(Names, ScheduleOfAFile) {
  auto split = [](llvm::StringRef text, std::string schedule = "") {
    std::string file;
    llvm::Error error = splitSchedule(text, file, schedule);
    return error ? llvm::toString(std::move(error)) : file + " " + schedule;
  };
  EXPECT_EQ(split("a/ring.coll"), "a/ring.coll ");
  EXPECT_EQ(split("a/ring.coll:all_2"), "a/ring.coll all_2");
  EXPECT_EQ(split("ring.coll", "two"), "ring.coll two");
  EXPECT_EQ(split("ring.coll:two", "two"), "ring.coll two");
  EXPECT_EQ(split("ring.coll:one", "two"),
            "--schedule two: ring.coll:one names another");
  // Colons in the names of files and folders are no schedules.
  EXPECT_EQ(split("12:30/ring.coll"), "12:30/ring.coll ");
  EXPECT_EQ(split("ring:v2.coll"), "ring:v2.coll ");
  EXPECT_EQ(split("ring.coll:"), "ring.coll: ");
}

TEST(Names, ReduceOps) {
  std::vector<ReduceOp> ops;
  EXPECT_FALSE(parseReduceOps("max,premul_sum", ops));
  EXPECT_EQ(ops, (std::vector<ReduceOp>{ReduceOp::Max, ReduceOp::PremulSum}));
  EXPECT_FALSE(parseReduceOps("all", ops));
  EXPECT_EQ(ops.size(), 6u);
  EXPECT_NE(llvm::toString(parseReduceOps("xor", ops)).find("no 'xor'"),
            std::string::npos);
}

TEST(Names, AreThoseOfTheRuntime) {
  EXPECT_EQ(int(Format::I8), int(COLL_I8));
  EXPECT_EQ(int(Format::U64), int(COLL_U64));
  EXPECT_EQ(int(Format::F16), int(COLL_F16));
  EXPECT_EQ(int(Format::E5M2), int(COLL_E5M2));
  EXPECT_EQ(int(ReduceOp::Sum), int(COLL_SUM));
  EXPECT_EQ(int(ReduceOp::PremulSum), int(COLL_PREMUL_SUM));
}

TEST(Names, Defines) {
  Defines defines;
  EXPECT_FALSE(parseDefines({"K=3", "a=-1", "hex=0x10"}, defines));
  EXPECT_EQ(defines, (Defines{{"K", 3}, {"a", -1}, {"hex", 16}}));
  for (const char *text :
       {"K", "=3", "K=", "K=x", "K=1.5", "K=9223372036854775808"}) {
    Defines none;
    EXPECT_NE(llvm::toString(parseDefines({text}, none)).find("not NAME=INT"),
              std::string::npos)
        << text;
  }
  Defines twice;
  EXPECT_EQ(llvm::toString(parseDefines({"K=1", "K=1"}, twice)),
            "-D K=1: 'K' has a value already");
}

/// Usage is the worst, then wrong, then what cannot be decided.
TEST(Verdicts, TheWorstWins) {
  const Verdict order[] = {Verdict::Right, Verdict::Undecided, Verdict::Wrong,
                           Verdict::Usage};
  for (int a = 0; a != 4; ++a)
    for (int b = 0; b != 4; ++b)
      EXPECT_EQ(worse(order[a], order[b]), order[std::max(a, b)]);
  EXPECT_EQ(int(Verdict::Right), 0);
  EXPECT_EQ(int(Verdict::Wrong), 1);
  EXPECT_EQ(int(Verdict::Usage), 2);
  EXPECT_EQ(int(Verdict::Undecided), 3);
}

/// What ends in the diagnostics is the exit status.
TEST(Verdicts, FollowFromDiagnostics) {
  Session session;
  EXPECT_EQ(session.verdict(), Verdict::Right);
  session.diags.warning(Slug::Excluded, {}, "a warning").emit();
  EXPECT_EQ(session.verdict(), Verdict::Right);
  session.diags.error(Slug::Deadlock, {}, "wrong").emit();
  EXPECT_EQ(session.verdict(), Verdict::Wrong);
  session.usage("an argument").emit();
  EXPECT_EQ(session.verdict(), Verdict::Usage);
  session.diags.error(Slug::Deadlock, {}, "wrong").emit();
  EXPECT_EQ(session.verdict(), Verdict::Usage);
}

} // namespace
