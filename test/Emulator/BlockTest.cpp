//===- BlockTest.cpp - Barriers, shared memory, bounds, deadlock ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Litmus.h"

#include <gtest/gtest.h>

using namespace coll::emu;

namespace {

const std::string barrier =
    "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";

LitmusResult runBlock(const std::string &body, unsigned threads = 64,
                      unsigned seeds = 10) {
  Litmus litmus;
  litmus.code = kernels({body});
  litmus.kernels = 1;
  litmus.threads = threads;
  litmus.seeds = seeds;
  LitmusResult result = run(litmus);
  EXPECT_EQ(result.error, "");
  return result;
}
void expectReport(const std::string &body, const std::string &kind,
                  unsigned threads = 64) {
  LitmusResult result = runBlock(body, threads);
  EXPECT_EQ(result.kinds[kind], 10u) << result.firstReport;
}

/// Thread t writes t to shared memory; thread 0 adds all up.
std::string sum(const std::string &between) {
  return "  %own = getelementptr i32, ptr addrspace(3) @tile, i64 %tid64\n"
         "  store i32 %tid, ptr addrspace(3) %own\n" +
         between +
         "  br i1 %first, label %loop, label %end\n"
         "loop:\n"
         "  %i = phi i64 [0, %entry], [%j, %loop]\n"
         "  %s = phi i64 [0, %entry], [%t, %loop]\n"
         "  %p = getelementptr i32, ptr addrspace(3) @tile, i64 %i\n"
         "  %v = load i32, ptr addrspace(3) %p\n"
         "  %w = zext i32 %v to i64\n"
         "  %t = add i64 %s, %w\n"
         "  %j = add i64 %i, 1\n"
         "  %more = icmp ult i64 %j, 64\n"
         "  br i1 %more, label %loop, label %store\n"
         "store:\n"
         "  store i64 %t, ptr %out\n"
         "  br label %end\n"
         "end:\n";
}

TEST(Block, ABarrierOrdersAllThreads) {
  LitmusResult result = runBlock(sum(barrier));
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  ASSERT_EQ(result.outcomes.size(), 1u);
  EXPECT_EQ(result.outcomes.begin()->first[0], 64u * 63 / 2);
}
TEST(Block, WithoutABarrierItIsARaceOrUninitialised) {
  LitmusResult result = runBlock(sum(""));
  EXPECT_EQ(result.failed, 10u);
}
TEST(Block, AWarpsBarrierOrdersItsThreadsAlone) {
  std::string warp = "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n";
  EXPECT_EQ(runBlock(sum(warp)).failed, 10u);
  std::string half = sum(warp);
  half.replace(half.find("j, 64"), 5, "j, 32");
  LitmusResult result = runBlock(half, 32);
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
}
TEST(Block, OnePollsForAll) {
  auto reader = [](const std::string &order) {
    return "  br i1 %first, label %poll, label %meet\n"
           "poll:\n"
           "  %f = load atomic i32, ptr %y " +
           order +
           ", align 4\n"
           "  %go = icmp ne i32 %f, 0\n"
           "  br i1 %go, label %meet, label %poll\n"
           "meet:\n" +
           barrier +
           "  %p = getelementptr i32, ptr %x, i64 %tid64\n"
           "  %v = load i32, ptr %p\n";
  };
  auto writer = [](const std::string &between, const std::string &store) {
    std::string text = "  %p = getelementptr i32, ptr %x, i64 %tid64\n"
                       "  store i32 %tid, ptr %p\n" +
                       between +
                       "  br i1 %first, label %flag, label %end\n"
                       "flag:\n" +
                       store + "  br label %end\nend:\n";
    // The payload must not reach the flag.
    return text;
  };
  std::string good = "  fence acq_rel\n"
                     "  store atomic i32 1, ptr %y monotonic, align 4\n";
  Litmus litmus;
  litmus.threads = 32;
  litmus.seeds = 20;
  auto failures = [&](const std::string &a, const std::string &b) {
    litmus.code = kernels({a, b});
    LitmusResult result = run(litmus);
    EXPECT_EQ(result.error, "");
    return result.failed;
  };
  EXPECT_EQ(failures(writer(barrier, good), reader("acquire")), 0u);
  EXPECT_EQ(failures(writer("", good), reader("acquire")), 20u);
  EXPECT_EQ(failures(writer(barrier, good), reader("monotonic")), 20u);
  EXPECT_EQ(failures(writer(barrier, good.substr(good.find("  store"))),
                     reader("acquire")),
            20u);
}
TEST(Block, DivergentBarriersAreReported) {
  expectReport("  br i1 %first, label %a, label %b\na:\n" + barrier +
                   "  br label %end\nb:\n" + barrier +
                   "  br label %end\nend:\n",
               "divergent-barrier");
  expectReport("  br i1 %first, label %end, label %b\nb:\n" + barrier +
                   "  br label %end\nend:\n",
               "divergent-barrier");
}
TEST(Block, AVoteAtABarrierReachesAll) {
  LitmusResult result = runBlock(
      "  %any = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 "
      "%first)\n"
      "  br i1 %any, label %end, label %bad\nbad:\n"
      "  store atomic i64 1, ptr %out monotonic, align 8\n"
      "  br label %end\nend:\n");
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  EXPECT_EQ(result.outcomes.begin()->first[0], 0u);
}
TEST(Block, ShufflesExchangeValues) {
  LitmusResult result =
      runBlock("  %o = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 "
               "%tid, i32 5, i32 31)\n" +
                   std::string("  %last = icmp eq i32 %tid, 31\n"
                               "  br i1 %last, label %keep, label %end\n"
                               "keep:\n"
                               "  %w = zext i32 %o to i64\n"
                               "  store i64 %w, ptr %out\n"
                               "  br label %end\nend:\n"),
               32);
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  EXPECT_EQ(result.outcomes.begin()->first[0], 31u ^ 5u);
}
/// A sum of all threads, as functions over rows make it: shuffles in each warp,
/// then shared memory, a barrier, and all warps' sums by every warp.
std::string rowSum(const std::string &between) {
  std::string text = "  %s0 = uitofp i32 %tid to float\n";
  for (int step = 0; step < 5; ++step) {
    std::string from = std::to_string(step), to = std::to_string(step + 1);
    text += "  %o" + from +
            " = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %s" +
            from + ", i32 " + std::to_string(16 >> step) + ", i32 31)\n  %s" +
            to + " = fadd float %s" + from + ", %o" + from + "\n";
  }
  return text +
         "  %warp = lshr i64 %tid64, 5\n"
         "  %own = getelementptr float, ptr addrspace(3) @tile, i64 %warp\n"
         "  %lane = and i32 %tid, 31\n"
         "  %is0 = icmp eq i32 %lane, 0\n"
         "  br i1 %is0, label %put, label %meet\nput:\n"
         "  store float %s5, ptr addrspace(3) %own\n"
         "  br label %meet\nmeet:\n" +
         between +
         "  %second = getelementptr float, ptr addrspace(3) @tile, i64 1\n"
         "  %a = load float, ptr addrspace(3) @tile\n"
         "  %b = load float, ptr addrspace(3) %second\n"
         "  %sum = fadd float %a, %b\n"
         "  %root = call float @llvm.sqrt.f32(float %sum)\n"
         "  %q = fdiv float %sum, %root\n"
         "  %i = fptoui float %sum to i64\n"
         "  br i1 %first, label %keep, label %end\nkeep:\n"
         "  store i64 %i, ptr %out\n"
         "  store float %q, ptr %out1\n"
         "  br label %end\nend:\n";
}
TEST(Block, ARowIsSummedByShufflesAndSharedMemory) {
  LitmusResult result = runBlock(rowSum(barrier));
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  ASSERT_EQ(result.outcomes.size(), 1u);
  EXPECT_EQ(result.outcomes.begin()->first[0], 64u * 63 / 2);
  EXPECT_EQ(runBlock(rowSum("")).failed, 10u); // a shuffle orders no memory
}
TEST(Block, AShuffleStaysInItsMask) {
  expectReport("  %v = uitofp i32 %tid to float\n"
               "  %low = icmp ult i32 %tid, 16\n"
               "  br i1 %low, label %go, label %end\ngo:\n"
               "  %o = call float @llvm.nvvm.shfl.sync.down.f32(i32 65535, "
               "float %v, i32 8, i32 31)\n"
               "  br label %end\nend:\n",
               "divergent-barrier", 32);
}
TEST(Block, NamedBarriersMeetSomeThreads) {
  // The upper warp brings, and goes on; the lower one waits and takes.
  auto body = [](const std::string &bring, const std::string &take) {
    return "  %own = getelementptr i32, ptr addrspace(3) @tile, i64 %tid64\n"
           "  %up = icmp uge i32 %tid, 32\n"
           "  br i1 %up, label %bring, label %take\nbring:\n"
           "  store i32 %tid, ptr addrspace(3) %own\n" +
           bring + "  br label %end\ntake:\n" + take +
           "  %its = getelementptr i32, ptr addrspace(3) %own, i64 32\n"
           "  %v = load i32, ptr addrspace(3) %its\n"
           "  br label %end\nend:\n";
  };
  const std::string arrive = "  call void @llvm.nvvm.barrier.cta.arrive."
                             "aligned.count(i32 1, i32 64)\n",
                    sync = "  call void @llvm.nvvm.barrier.cta.sync.aligned."
                           "count(i32 1, i32 64)\n";
  LitmusResult result = runBlock(body(arrive, sync));
  EXPECT_EQ(result.failed, 0u) << result.firstReport;
  EXPECT_EQ(runBlock(body("", "")).failed, 10u);
  // What is done after an arrival is not before the others go on.
  std::string late = "  store i32 %tid, ptr addrspace(3) %own\n";
  EXPECT_EQ(runBlock(body(arrive + late, sync)).failed, 10u);
}
TEST(Block, WhatChipsApproximateIsRefused) {
  for (const char *text :
       {"  %v = call float @llvm.nvvm.rsqrt.approx.f(float 2.0)\n",
        "  %v = call float @llvm.exp2.f32(float 2.0)\n",
        "  %w = uitofp i32 %tid to float\n"
        "  %v = fmul contract float %w, %w\n"}) {
    Litmus litmus;
    litmus.code = kernels({text});
    litmus.kernels = 1;
    EXPECT_NE(run(litmus).error, "") << text;
  }
}
TEST(Block, WhatNobodyWillWriteIsADeadlock) {
  expectReport("  br label %poll\npoll:\n"
               "  %f = load atomic i32, ptr %y acquire, align 4\n"
               "  %go = icmp ne i32 %f, 0\n"
               "  br i1 %go, label %end, label %poll\nend:\n",
               "deadlock", 2);
}
TEST(Block, WhatIsMappedMeanwhileIsLookedFor) {
  alignas(256) static char memory[4096];
  static int out[1];
  for (bool isMapped : {false, true}) {
    Options options;
    Machine *self = nullptr;
    options.onUnknown = [&] {
      return isMapped && self->add(memory, sizeof memory, kHost);
    };
    Machine machine(1, options);
    self = &machine;
    std::string error;
    Module *module = machine.load(kernels({"  store i32 7, ptr %x\n"}), error);
    ASSERT_NE(module, nullptr) << error;
    void *x = memory, *y = out, *params[] = {&x, &y};
    EXPECT_NE(machine.launch(0, 1, module, "k0", {1}, {1}, params, 0, error),
              0u);
    EXPECT_EQ(machine.run() == RunResult::Finished, isMapped);
  }
}
TEST(Block, AccessesStayInTheirAllocations) {
  expectReport("  %p = getelementptr i8, ptr %x, i64 4094\n"
               "  %v = load i32, ptr %p, align 1\n",
               "out-of-bounds", 1);
  expectReport("  %p = getelementptr i8, ptr %x, i64 1048576\n"
               "  store i32 1, ptr %p\n",
               "out-of-bounds", 1);
  expectReport("  %p = getelementptr i8, ptr %x, i64 4\n"
               "  %v = load <4 x i32>, ptr %p, align 16\n",
               "misaligned", 1);
  expectReport("  %v = load i32, ptr addrspace(3) @tile\n", "uninitialised", 1);
  expectReport("  %v = load i32, ptr %x, !invariant.load !{}\n", "non-coherent",
               1);
}

} // namespace
