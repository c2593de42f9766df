//===- LitmusTest.cpp - The memory model of PTX, in a few lines each ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Payload at %x, a flag at %y. What the model orders must never be reported,
// what it does not order must be, whatever the schedule does.
//
//===----------------------------------------------------------------------===//

#include "Litmus.h"

#include <gtest/gtest.h>

using namespace coll::emu;

namespace {

std::string poll(const std::string &load, const std::string &body) {
  return "  br label %poll\n"
         "poll:\n"
         "  %f = " +
         load +
         "\n  %go = icmp ne i32 %f, 0\n"
         "  br i1 %go, label %done, label %poll\n"
         "done:\n" +
         body;
}
const std::string write = "  store i32 7, ptr %x\n",
                  read = "  %v = load i32, ptr %x\n  %w = zext i32 %v to i64\n"
                         "  store i64 %w, ptr %out\n";
std::string flagStore(const std::string &order, const std::string &scope = "") {
  return "  store atomic i32 1, ptr %y " + scope + " " + order + ", align 4\n";
}
std::string flagLoad(const std::string &order, const std::string &scope = "") {
  return "load atomic i32, ptr %y " + scope + " " + order + ", align 4";
}

/// Passes: no seed reports, and the reader always gets 7. Otherwise every seed
/// reports.
void expectMessage(const std::string &writer, const std::string &reader,
                   bool isGood, bool isOneDevice = false,
                   bool hasMulticast = false) {
  Litmus litmus;
  litmus.hasMulticast = hasMulticast;
  litmus.code = kernels({writer, reader});
  litmus.isOneDevice = isOneDevice;
  litmus.seeds = 30;
  LitmusResult result = run(litmus);
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.failed, isGood ? 0 : litmus.seeds) << result.firstReport;
  if (isGood) {
    EXPECT_EQ(result.outcomes.size(), 1u);
  }
}

const std::string gpu = "syncscope(\"device\")", cta = "syncscope(\"block\")";

TEST(Litmus, ReleaseAndAcquirePassAMessage) {
  expectMessage(write + flagStore("release"), poll(flagLoad("acquire"), read),
                true);
}
TEST(Litmus, RelaxedOperationsOrderNothing) {
  expectMessage(write + flagStore("monotonic"), poll(flagLoad("acquire"), read),
                false);
  expectMessage(write + flagStore("release"), poll(flagLoad("monotonic"), read),
                false);
}
TEST(Litmus, FencesMakePatternsOfRelaxedOperations) {
  std::string fence = "  fence acq_rel\n";
  expectMessage(write + fence + flagStore("monotonic"),
                poll(flagLoad("monotonic"), fence + read), true);
  expectMessage(write + flagStore("monotonic") + fence,
                poll(flagLoad("monotonic"), fence + read), false);
  expectMessage(write + fence + flagStore("monotonic"),
                poll(flagLoad("monotonic"), read + fence), false);
}
TEST(Litmus, ScopesMustReachTheOther) {
  for (bool isOneDevice : {false, true}) {
    expectMessage(write + flagStore("release", gpu),
                  poll(flagLoad("acquire"), read), isOneDevice, isOneDevice);
    expectMessage(write + flagStore("release"),
                  poll(flagLoad("acquire", gpu), read), isOneDevice,
                  isOneDevice);
    expectMessage(write + flagStore("release", cta),
                  poll(flagLoad("acquire", cta), read), false, isOneDevice);
    std::string fence = "  fence syncscope(\"device\") acq_rel\n";
    expectMessage(write + fence + flagStore("monotonic"),
                  poll(flagLoad("acquire"), read), isOneDevice, isOneDevice);
  }
}
TEST(Litmus, TheFlagComesAfterThePayload) {
  expectMessage(flagStore("release") + write, poll(flagLoad("acquire"), read),
                false);
}
TEST(Litmus, AWeakFlagIsARace) {
  expectMessage(write + "  fence acq_rel\n  store i32 1, ptr %y\n",
                poll(flagLoad("acquire"), read), false);
  expectMessage(write + flagStore("release"),
                poll("load i32, ptr %y", "  fence acq_rel\n" + read), false);
}
TEST(Litmus, InlinePtxMeansWhatItSays) {
  std::string release =
      "  call void asm sideeffect \"st.release.sys.global.b32 [$0], $1;\", "
      "\"l,r,~{memory}\"(ptr %y, i32 1)\n";
  std::string acquire = "call i32 asm sideeffect \"ld.acquire.sys.global.b32 "
                        "$0, [$1];\", \"=r,l,~{memory}\"(ptr %y)";
  std::string relaxed = "call i32 asm sideeffect \"ld.relaxed.sys.global.b32 "
                        "$0, [$1];\", \"=r,l,~{memory}\"(ptr %y)";
  std::string fence = "  call void asm sideeffect \"fence.acq_rel.sys;\", "
                      "\"~{memory}\"()\n";
  expectMessage(write + release, poll(acquire, read), true);
  expectMessage(write + release, poll(relaxed, read), false);
  expectMessage(write + release, poll(relaxed, fence + read), true);
  std::string red =
      "  call void asm sideeffect \"red.release.sys.global.add.u32"
      " [$0], $1;\", \"l,r,~{memory}\"(ptr %y, i32 1)\n";
  expectMessage(write + red, poll(acquire, read), true);
}
/// Both at a place behind the word that has the multicast address.
const std::string find = "  %m = load i64, ptr %x\n"
                         "  %at = add i64 %m, 256\n"
                         "  %p = getelementptr i8, ptr %x, i64 256\n";
const std::string storeAll =
    find + "  call void asm sideeffect \"multimem.st.weak.global.v4.f32 [$0], "
           "{$1, $2, $3, $4};\", \"l,r,r,r,r,~{memory}\""
           "(i64 %at, i32 7, i32 7, i32 7, i32 7)\n";
const std::string loadAll =
    find + "  %r = call {i32, i32, i32, i32} asm sideeffect "
           "\"multimem.ld_reduce.weak.global.add.v4.f32 {$0, $1, $2, $3}, "
           "[$4];\", \"=r,=r,=r,=r,l,~{memory}\"(i64 %at)\n"
           "  %v = extractvalue {i32, i32, i32, i32} %r, 0\n"
           "  %w = zext i32 %v to i64\n  store i64 %w, ptr %out\n";
const std::string storeOne = find + "  store <4 x i32> splat(i32 7), ptr %p\n",
                  loadOne = find + "  %v = load i32, ptr %p\n"
                                   "  %w = zext i32 %v to i64\n"
                                   "  store i64 %w, ptr %out\n",
                  link = "  call void asm sideeffect \"fence.proxy.alias;\", "
                         "\"~{memory}\"()\n";

TEST(Litmus, TwoAddressesOfOneMemoryNeedAnAliasFence) {
  const std::string tell = flagStore("release"), hear = flagLoad("acquire");
  auto expect = [](const std::string &writer, const std::string &reader,
                   bool isGood) {
    expectMessage(writer, reader, isGood, /*isOneDevice=*/false,
                  /*hasMulticast=*/true);
  };
  for (bool isSpread : {false, true}) {
    const std::string store = isSpread ? storeAll : storeOne,
                      load = isSpread ? loadOne : loadAll;
    expect(store + tell, poll(hear, load), false);
    expect(store + link + tell, poll(hear, load), true);
    expect(store + tell, poll(hear, link + load), true);
    expect(link + store + tell, poll(hear, load + link), false);
    expect(store + tell + link, poll(hear, load), false);
    // No fence makes an order.
    expect(store + link + flagStore("monotonic"), poll(hear, link + load),
           false);
  }
  expect(storeAll + tell, poll(hear, loadAll), true); // one address
}
TEST(Litmus, AtomicrmwIsRelaxedWhateverItSays) {
  expectMessage(write + "  %old = atomicrmw add ptr %y, i32 1 release\n",
                poll(flagLoad("acquire"), read), false);
}
TEST(Litmus, UnknownPtxIsAnErrorWithItsText) {
  Litmus litmus;
  litmus.code =
      kernels({"  call void asm sideeffect \"frobnicate.sys;\", \"\"()\n"});
  litmus.kernels = 1;
  LitmusResult result = run(litmus);
  EXPECT_NE(result.error.find("frobnicate.sys"), std::string::npos);
}

/// Outcomes of the first two words that any seed shows.
bool shows(const Litmus &litmus, uint64_t a, uint64_t b) {
  LitmusResult result = run(litmus);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  for (auto &[outcome, count] : result.outcomes)
    if (outcome[0] == a && outcome[1] == b)
      return true;
  return false;
}
std::string keep(const std::string &name, const std::string &value,
                 const std::string &where) {
  return "  %" + name + ".w = zext i32 %" + value + " to i64\n  store i64 %" +
         name + ".w, ptr %" + where + "\n";
}
std::string storeOf(const std::string &where, const std::string &order) {
  return "  store atomic i32 1, ptr %" + where + " " + order + ", align 4\n";
}
std::string loadOf(const std::string &name, const std::string &where,
                   const std::string &order) {
  return "  %" + name + " = load atomic i32, ptr %" + where + " " + order +
         ", align 4\n";
}

TEST(Litmus, MessagesOfRelaxedWordsOvertakeEachOther) {
  for (bool isOrdered : {false, true}) {
    Litmus litmus;
    litmus.seeds = 400;
    litmus.code =
        kernels({storeOf("x", "monotonic") +
                     storeOf("y", isOrdered ? "release" : "monotonic"),
                 loadOf("a", "y", isOrdered ? "acquire" : "monotonic") +
                     loadOf("b", "x", "monotonic") + keep("a", "a", "out") +
                     keep("b", "b", "out1")});
    EXPECT_EQ(shows(litmus, 1, 0), !isOrdered);
    EXPECT_TRUE(shows(litmus, 1, 1));
  }
}
TEST(Litmus, WhatIsReleasedMayComeLateButComes) {
  auto outcomesOf = [](const std::string &reader) {
    Litmus litmus;
    litmus.seeds = 400;
    litmus.lateReleases = true;
    litmus.code = kernels({storeOf("x", "release") + storeOf("y", "monotonic"),
                           poll(flagLoad("monotonic"), "") + reader});
    LitmusResult result = run(litmus);
    EXPECT_EQ(result.failed, 0u) << result.firstReport;
    return result.outcomes;
  };
  // Who has seen what was stored behind it finds it by chance, ...
  auto once = outcomesOf(loadOf("b", "x", "acquire") + keep("b", "b", "out"));
  const unsigned late = once[{0, 0, 0, 0}], present = once[{1, 0, 0, 0}];
  EXPECT_GT(late, present);
  EXPECT_EQ(late + present, 400u);
  // ... but not who waits for it.
  auto waits =
      outcomesOf("  br label %again\nagain:\n" + loadOf("b", "x", "acquire") +
                 "  %is = icmp ne i32 %b, 0\n"
                 "  br i1 %is, label %there, label %again\n"
                 "there:\n" +
                 keep("b", "b", "out"));
  EXPECT_EQ((waits[{1, 0, 0, 0}]), 400u);
}
TEST(Litmus, StoresAreBufferedUnlessFenced) {
  for (std::string fence : {"", "  fence acq_rel\n", "  fence seq_cst\n"}) {
    Litmus litmus;
    litmus.seeds = 400;
    litmus.code =
        kernels({storeOf("x", "monotonic") + fence +
                     loadOf("a", "y", "monotonic") + keep("a", "a", "out"),
                 storeOf("y", "monotonic") + fence +
                     loadOf("a", "x", "monotonic") + keep("a", "a", "out1")});
    EXPECT_EQ(shows(litmus, 0, 0), fence.find("seq_cst") == fence.npos);
  }
}
TEST(Litmus, IndependentReadsOfIndependentWritesMayDisagree) {
  for (std::string fence : {"", "  fence seq_cst\n"}) {
    Litmus litmus;
    litmus.kernels = 4;
    litmus.seeds = 1500;
    auto reader = [&](const char *first, const char *second, const char *out) {
      // Packs what it saw into one word: first * 2 + second.
      return loadOf("a", first, "acquire") + fence +
             loadOf("b", second, "acquire") +
             "  %a2 = shl i32 %a, 1\n  %ab = or i32 %a2, %b\n" +
             keep("ab", "ab", out);
    };
    litmus.code = kernels({storeOf("x", "monotonic"), storeOf("y", "monotonic"),
                           reader("x", "y", "out"), reader("y", "x", "out1")});
    EXPECT_EQ(shows(litmus, 2, 2), fence.empty());
  }
}
TEST(Litmus, ReadsOfOneWordNeverGoBack) {
  Litmus litmus;
  litmus.seeds = 400;
  litmus.code =
      kernels({storeOf("x", "monotonic"),
               loadOf("a", "x", "monotonic") + loadOf("b", "x", "monotonic") +
                   keep("a", "a", "out") + keep("b", "b", "out1")});
  EXPECT_FALSE(shows(litmus, 1, 0));
  EXPECT_TRUE(shows(litmus, 0, 1));
}
TEST(Litmus, NothingIsReadBeforeItIsWritten) {
  Litmus litmus;
  litmus.seeds = 400;
  litmus.code =
      kernels({loadOf("a", "x", "monotonic") + storeOf("y", "monotonic") +
                   keep("a", "a", "out"),
               loadOf("a", "y", "monotonic") + storeOf("x", "monotonic") +
                   keep("a", "a", "out1")});
  EXPECT_FALSE(shows(litmus, 1, 1));
}

} // namespace
