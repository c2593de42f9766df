//===- LineTest.cpp - Lines of 128 bytes, and votes of warps --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line at %x: sevens, and a flag in its last eight bytes. Whoever sees the
// flag says whether it has seen all sevens. What makes the line whole is taken
// away one at a time, and then some seed must show a torn one.
//
//===----------------------------------------------------------------------===//

#include "Litmus.h"

#include <gtest/gtest.h>

using namespace coll::emu;

namespace {

/// %name: 16 bytes a lane from %x + `offset` on.
std::string pieceOf(const std::string &name, unsigned offset = 0) {
  return "  %" + name + ".o = shl i64 %tid64, 4\n  %" + name +
         ".b = add i64 %" + name + ".o, " + std::to_string(offset) + "\n  %" +
         name + " = getelementptr i8, ptr %x, i64 %" + name + ".b\n";
}
const std::string isLast = "  %mod = and i32 %tid, 7\n"
                           "  %last = icmp eq i32 %mod, 7\n",
                  data = "  %high = select i1 %last, i64 1, i64 7\n"
                         "  %v = insertelement <2 x i64> <i64 7, i64 0>, i64 "
                         "%high, i64 1\n",
                  store = "  store volatile <2 x i64> %v, ptr %p, align 16\n";
std::string load(const std::string &name, const std::string &from = "p") {
  return "  %" + name + " = load volatile <2 x i64>, ptr %" + from +
         ", align 16\n";
}

struct Shape {
  std::string before; // the store or load of a line
  unsigned offset = 0;
  bool isScalar = false, isLoadedAgain = false;
};

std::string writer(const Shape &shape) {
  std::string access = store;
  if (shape.isScalar)
    access = "  %p1 = getelementptr i8, ptr %p, i64 8\n"
             "  store volatile i64 7, ptr %p, align 8\n"
             "  store volatile i64 %high, ptr %p1, align 8\n";
  return pieceOf("p", shape.offset) + isLast + data + shape.before + access;
}

/// Waits for the last lane's flag, then says in %out: 1 all sevens, 2 others.
std::string reader(const Shape &shape, const std::string &behind = "") {
  std::string again = shape.isLoadedAgain ? load("b") : "";
  std::string seen = shape.isLoadedAgain ? "%b" : "%a";
  return pieceOf("p", shape.offset) + isLast + "  br label %poll\npoll:\n" +
         shape.before + load("a") +
         "  %a1 = extractelement <2 x i64> %a, i64 1\n"
         "  %isOld = icmp eq i64 %a1, 0\n"
         "  %waits = and i1 %isOld, %last\n"
         "  %more = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %waits)\n"
         "  br i1 %more, label %poll, label %done\ndone:\n" +
         again + "  %s0 = extractelement <2 x i64> " + seen +
         ", i64 0\n  %s1 = extractelement <2 x i64> " + seen +
         ", i64 1\n"
         "  %n0 = icmp ne i64 %s0, 7\n  %n1 = icmp ne i64 %s1, 7\n"
         "  %no = xor i1 %last, true\n  %m1 = and i1 %n1, %no\n"
         "  %bad = or i1 %n0, %m1\n"
         "  %any = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %bad)\n"
         "  br i1 %first, label %say, label %end\nsay:\n" +
         behind +
         "  %n = select i1 %any, i64 2, i64 1\n  store i64 %n, ptr %out\n"
         "  br label %end\nend:\n";
}

/// Lane 3 goes another way, and is behind or before the others.
std::string alone(const std::string &label) {
  return "  %is3" + label + " = icmp eq i32 %tid, 3\n  br i1 %is3" + label +
         ", label %" + label + ".three, label %" + label + ".all\n" + label +
         ".three:\n  br label %" + label + ".all\n" + label + ".all:\n";
}

Litmus litmusOf(const std::string &writer, const std::string &reader,
                unsigned threads = 8) {
  Litmus litmus;
  litmus.code = kernels({writer, reader});
  litmus.threads = threads;
  litmus.seeds = 100;
  return litmus;
}
/// What readers say: 1, or 2 for what was torn.
unsigned count(const LitmusResult &result, uint64_t said) {
  unsigned sum = 0;
  for (auto &[outcome, seeds] : result.outcomes)
    sum += outcome[0] == said ? seeds : 0;
  return sum;
}
void expectWhole(const Litmus &litmus, bool isWhole) {
  LitmusResult result = run(litmus);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  EXPECT_EQ(count(result, 1) + count(result, 2), litmus.seeds);
  EXPECT_EQ(count(result, 2) == 0, isWhole);
  EXPECT_NE(count(result, 1), 0u);
}

TEST(Line, IsWholeForWhoeverSeesItsLastWord) {
  expectWhole(litmusOf(writer({}), reader({})), true);
  for (unsigned threads : {32, 64}) // four lines of each warp
    expectWhole(litmusOf(writer({}), reader({}), threads), true);
}
TEST(Line, IsTornOnChipsThatArePromisedNothing) {
  Litmus litmus = litmusOf(writer({}), reader({}));
  litmus.linesInOrder = false;
  expectWhole(litmus, false);
}
TEST(Line, ComesInAscendingOrderAndNotAtOnce) {
  // A flag in the first half of the last 16 bytes says nothing of the second.
  std::string early = writer({}), waits = reader({});
  auto replace = [](std::string &text, const std::string &from,
                    const std::string &to) {
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  replace(early,
          "%v = insertelement <2 x i64> <i64 7, i64 0>, i64 %high, i64 1",
          "%v = insertelement <2 x i64> <i64 0, i64 7>, i64 %high, i64 0");
  replace(waits, "%a1 = extractelement <2 x i64> %a, i64 1",
          "%a1 = extractelement <2 x i64> %a, i64 0");
  replace(waits, "%m1 = and i1 %n1, %no", "%m1 = or i1 %n1, false");
  replace(waits, "%bad = or i1 %n0, %m1",
          "%m0 = and i1 %n0, %no\n  %bad = or i1 %m0, %m1");
  expectWhole(litmusOf(early, waits), false);
}
TEST(Line, BeginsAtAMultipleOf128) {
  expectWhole(litmusOf(writer({"", 16}), reader({"", 16})), false);
  expectWhole(litmusOf(writer({"", 128}), reader({"", 128})), true);
}
TEST(Line, IsNotMadeOfScalarStores) {
  expectWhole(litmusOf(writer({"", 0, true}), reader({})), false);
}
TEST(Line, NeedsEightLanesTogether) {
  expectWhole(litmusOf(writer({alone("a")}), reader({})), false);
  // The reader's lanes go apart in every round, and meet at the vote only.
  expectWhole(litmusOf(writer({}), reader({alone("a")})), false);
  // ... which is enough where all load again behind it.
  expectWhole(litmusOf(writer({}), reader({alone("a"), 0, false, true})), true);
  std::string warp = "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n";
  expectWhole(litmusOf(writer({alone("a") + warp}), reader({})), true);
}
TEST(Line, IsTornWhereALaneIsMissing) {
  std::string without3 = "  %is3 = icmp eq i32 %tid, 3\n"
                         "  br i1 %is3, label %part, label %rest\npart:\n" +
                         store + "  br label %join\nrest:\n" + store +
                         "  br label %join\njoin:\n";
  expectWhole(litmusOf(pieceOf("p") + isLast + data + without3, reader({})),
              false);
  // Nobody waits for a lane that has ended, or that waits itself.
  std::string ended = "  br i1 %first, label %end, label %rest\nrest:\n" +
                      store + "  br label %end\nend:\n";
  LitmusResult result = run(litmusOf(pieceOf("p") + isLast + data + ended, ""));
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  std::string polls = "  br i1 %first, label %poll, label %rest\npoll:\n"
                      "  %f = load volatile i64, ptr %y\n"
                      "  %go = icmp ne i64 %f, 0\n"
                      "  br i1 %go, label %end, label %poll\nrest:\n" +
                      store +
                      "  store volatile i64 1, ptr %y\n"
                      "  br label %end\nend:\n";
  result = run(litmusOf(pieceOf("p") + isLast + data + polls, ""));
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
}
TEST(Line, HoldsItsOwnFlagOnly) {
  // Lanes 8 to 15 have a second line, whose flag says nothing of the first.
  std::string flags = pieceOf("p") +
                      "  %last = icmp eq i32 %tid, 15\n"
                      "  %mod = and i32 %tid, 15\n" +
                      data + store;
  std::string waits = reader({});
  waits.replace(waits.find("i32 %tid, 7"), 11, "i32 %tid, 15");
  waits.replace(waits.find("i32 %mod, 7"), 11, "i32 %mod, 15");
  expectWhole(litmusOf(flags, waits, 16), false);
}
TEST(Line, OrdersNothingElse) {
  // A relaxed flag: what others read then, they race for.
  std::string note = "  %q = getelementptr i8, ptr %x, i64 512\n";
  std::string before = note + "  store i32 7, ptr %q\n";
  std::string behind = note + "  %late = load i32, ptr %q\n";
  LitmusResult result = run(litmusOf(writer({before}), reader({}, behind)));
  EXPECT_EQ(result.kinds["race"], 100u) << result.firstReport;
  std::string fence = "  fence acq_rel\n";
  result = run(litmusOf(writer({before + fence}), reader({}, behind)));
  EXPECT_EQ(result.kinds["race"], 100u) << result.firstReport;
}
TEST(Line, ThatNobodyWritesIsADeadlock) {
  Litmus litmus = litmusOf("", reader({}));
  litmus.seeds = 6;
  LitmusResult result = run(litmus);
  EXPECT_EQ(result.kinds["deadlock"], 6u) << result.firstReport;
}

void expectDivergence(const std::string &body, unsigned threads = 32) {
  Litmus litmus;
  litmus.code = kernels({body});
  litmus.kernels = 1;
  litmus.threads = threads;
  litmus.seeds = 10;
  LitmusResult result = run(litmus);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.kinds["divergent-barrier"], 10u) << result.firstReport;
}
std::string twoWays(const std::string &a, const std::string &b) {
  return "  br i1 %first, label %a, label %b\na:\n" + a +
         "  br label %end\nb:\n" + b + "  br label %end\nend:\n";
}
std::string vote(const std::string &name) {
  return "  %" + name +
         " = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %first)\n";
}

TEST(Vote, IsOfAllThreadsOfItsMask) {
  Litmus litmus;
  litmus.kernels = 1;
  litmus.threads = 32;
  litmus.seeds = 20;
  litmus.code = kernels(
      {"  %odd1 = trunc i32 %tid to i1\n"
       "  %some = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %first)\n"
       "  %all = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %odd1)\n"
       "  %odd = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd1)\n"
       "  %from = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 "
       "9, i32 31)\n"
       "  %w0 = zext i1 %some to i64\n  %w1 = zext i1 %all to i64\n"
       "  %w2 = zext i32 %odd to i64\n  %w3 = zext i32 %from to i64\n"
       "  %is5 = icmp eq i32 %tid, 5\n"
       "  br i1 %is5, label %say, label %end\nsay:\n"
       "  store i64 %w0, ptr %out\n  store i64 %w1, ptr %out1\n"
       "  store i64 %w2, ptr %out2\n  store i64 %w3, ptr %out3\n"
       "  br label %end\nend:\n"});
  LitmusResult result = run(litmus);
  EXPECT_EQ(result.failed, 0u) << result.firstReport << result.error;
  ASSERT_EQ(result.outcomes.size(), 1u);
  EXPECT_EQ(result.outcomes.begin()->first,
            (std::vector<uint64_t>{1, 0, 0xaaaaaaaa, 9}));
}
TEST(Vote, OrdersNoMemory) {
  std::string share = "  %own = getelementptr i32, ptr %x, i64 %tid64\n"
                      "  store i32 1, ptr %own\n";
  std::string use = "  %next = xor i64 %tid64, 1\n"
                    "  %its = getelementptr i32, ptr %x, i64 %next\n"
                    "  %l = load i32, ptr %its\n";
  Litmus litmus;
  litmus.kernels = 1;
  litmus.threads = 32;
  litmus.seeds = 10;
  litmus.code = kernels({share + vote("v") + use});
  EXPECT_EQ(run(litmus).kinds["race"], 10u);
  litmus.code =
      kernels({share + "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n" + use});
  EXPECT_EQ(run(litmus).failed, 0u);
}
TEST(Vote, IsReportedWhereThreadsOfAWarpDoNotMeet) {
  const std::string barrier =
      "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  expectDivergence(twoWays(vote("v"), vote("w")));
  expectDivergence(
      twoWays(vote("v"), "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n"));
  expectDivergence(twoWays("", vote("w")));
  expectDivergence(twoWays(barrier, vote("w")));
  expectDivergence(twoWays(vote("v"), barrier), 64);
  expectDivergence("  %v = call i1 @llvm.nvvm.vote.any.sync(i32 255, i1 "
                   "%first)\n");
}

} // namespace
