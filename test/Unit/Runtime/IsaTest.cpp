//===- IsaTest.cpp - Which kernels run on which processor -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Isa.h"
#include "Launching.h"

using namespace coll;
using namespace coll::test;

namespace {

TEST(Isa, HigherLevelsRunLowerOnes) {
  EXPECT_TRUE(canRun(COLL_ISA_V2, COLL_ISA_V4));
  EXPECT_TRUE(canRun(COLL_ISA_V4, COLL_ISA_V4));
  EXPECT_FALSE(canRun(COLL_ISA_V4, COLL_ISA_V3));
  EXPECT_FALSE(canRun(COLL_ISA_AARCH64, COLL_ISA_V4));
  EXPECT_FALSE(canRun(COLL_ISA_V2, COLL_ISA_AARCH64));
  EXPECT_TRUE(canRun(COLL_ISA_AARCH64, COLL_ISA_AARCH64));
}

TEST(Isa, WhatIsWantedMustBeThere) {
  std::optional<uint32_t> host = hostIsa();
  if (!host)
    GTEST_SKIP() << "no kernels are made for this processor";
  uint32_t isa = COLL_NUM_ISAS;
  EXPECT_TRUE(chooseIsa(std::nullopt, isa).isOk());
  EXPECT_EQ(isa, *host);
  uint32_t foreign = *host == COLL_ISA_AARCH64 ? uint32_t(COLL_ISA_V2)
                                               : uint32_t(COLL_ISA_AARCH64);
  Status status = chooseIsa(foreign, isa);
  EXPECT_EQ(status.code(), COLL_INVALID);
  EXPECT_NE(status.text().find(isaName(*host)), std::string::npos);
}

uint32_t called; ///< the instruction set of the kernel that ran
template <uint32_t isa> void kernel(const coll_args *, uint32_t) {
  called = isa;
}

std::vector<coll_kernel> kernelsOf(std::vector<uint8_t> isas) {
  constexpr coll_kernel_fn all[] = {kernel<COLL_ISA_V2>, kernel<COLL_ISA_V3>,
                                    kernel<COLL_ISA_V4>,
                                    kernel<COLL_ISA_AARCH64>};
  std::vector<coll_kernel> list;
  for (uint8_t isa : isas)
    list.push_back({COLL_I32, COLL_SUM, isa, {}, all[isa]});
  return list;
}

/// Launches once at this COLL_ISA ("": unset); `called` tells.
coll_status launchWith(const char *isa, std::vector<uint8_t> isas) {
  const std::map<std::string, std::string> values = {{"COLL_ISA", isa}};
  Variables variables(values);
  HandPlan plan({ringAllreduce(1)});
  plan.setKernels(kernelsOf(std::move(isas)));
  coll_status status = COLL_SYSTEM;
  called = COLL_NUM_ISAS;
  onThreads(1, [&](int, coll_comm *comm) {
    int32_t in = 1, out = 0;
    Call call;
    call.in(&in).out(&out).count(1);
    status = coll_launch(&plan.plan(), call, comm, nullptr);
  });
  return status;
}

TEST(Isa, TheBestKernelThatRunsIsTaken) {
  if (!hostIsa() || *hostIsa() == COLL_ISA_AARCH64)
    GTEST_SKIP() << "not x86-64-v2";
  EXPECT_EQ(
      launchWith("", {COLL_ISA_AARCH64, COLL_ISA_V2, COLL_ISA_V4, COLL_ISA_V3}),
      COLL_OK);
  EXPECT_EQ(called, *hostIsa());
  EXPECT_EQ(launchWith("v2", {COLL_ISA_V4, COLL_ISA_V2, COLL_ISA_V3}), COLL_OK);
  EXPECT_EQ(called, uint32_t(COLL_ISA_V2));
  EXPECT_EQ(launchWith("", {COLL_ISA_V2}), COLL_OK);
  EXPECT_EQ(called, uint32_t(COLL_ISA_V2));
  EXPECT_EQ(launchWith("v2", {COLL_ISA_V3, COLL_ISA_AARCH64}), COLL_INVALID);
  EXPECT_EQ(called, uint32_t(COLL_NUM_ISAS));
}

} // namespace
