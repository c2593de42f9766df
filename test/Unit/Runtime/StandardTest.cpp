//===- StandardTest.cpp - The standard contracts over plans in use --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"
#include "runtime/core/Isa.h"
#include "runtime/core/Lane.h"

#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace coll::test;

TEST(Standard, PicksPlansByContract) {
  constexpr int nranks = 3;
  HandPlan ring({ringAllreduce(nranks)}), chain({chainBroadcast(nranks)}),
      gather({directAllgather(nranks)}), barrier({starBarrier(nranks)}),
      vector({directAlltoallv(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    for (HandPlan *plan : {&ring, &chain, &gather, &barrier, &vector})
      ASSERT_EQ(coll_use(comm, &plan->plan()), COLL_OK) << coll_last_error();
    constexpr size_t count = 1021;
    std::vector<int32_t> in = inputOf(rank, count), out(count * nranks, -1);

    ASSERT_EQ(coll_allreduce(in.data(), out.data(), count, COLL_I32, COLL_SUM,
                             comm, nullptr),
              COLL_OK)
        << coll_last_error();
    out.resize(count);
    EXPECT_TRUE(out == sumOf(nranks, count));

    ASSERT_EQ(coll_broadcast(in.data(), out.data(), count, COLL_BF16, 2, comm,
                             nullptr),
              COLL_OK)
        << coll_last_error();
    EXPECT_EQ(out[0], valueAt(2, 0));

    out.assign(count * nranks, -1);
    ASSERT_EQ(
        coll_allgather(in.data(), out.data(), count, COLL_I32, comm, nullptr),
        COLL_OK)
        << coll_last_error();
    for (int q = 0; q != nranks; ++q)
      EXPECT_EQ(out[count * size_t(q) + 5], valueAt(q, 5));

    ASSERT_EQ(coll_barrier(comm, nullptr), COLL_OK) << coll_last_error();

    std::vector<size_t> sends, recvs;
    for (int q = 0; q != nranks; ++q) {
      sends.push_back(size_t(rank + 2 * q));
      recvs.push_back(size_t(q + 2 * rank));
    }
    out.assign(count, -1);
    ASSERT_EQ(coll_alltoallv(in.data(), sends.data(), nullptr, out.data(),
                             recvs.data(), nullptr, COLL_I32, comm, nullptr),
              COLL_OK)
        << coll_last_error();
    size_t first = 0;
    for (int p = 0; p != nranks; ++p) {
      size_t skipped = 0; // what p has for the ranks before this one
      for (int q = 0; q != rank; ++q)
        skipped += size_t(p + 2 * q);
      for (size_t i = 0; i != recvs[size_t(p)]; ++i)
        EXPECT_EQ(out[first + i], valueAt(p, skipped + i));
      first += recvs[size_t(p)];
    }
    EXPECT_EQ(out[first], -1);
  });
}

TEST(Standard, PicksPlansBySize) {
  Schedule small = ringAllreduce(2), large = ringAllreduce(2);
  small.name = "small_ring";
  small.sizesHigh = 4096;
  large.name = "large_ring";
  large.sizesLow = 65536;
  HandPlan first({small}), second({large});
  // Which plan ran is told by a rank that calls another one.
  auto expectPlan = [&](size_t count, const char *name) {
    onThreads(2, [&](int rank, coll_comm *comm) {
      ASSERT_EQ(coll_use(comm, &first.plan()), COLL_OK);
      ASSERT_EQ(coll_use(comm, &second.plan()), COLL_OK);
      std::vector<int32_t> in(count + 1), out(count + 1);
      Call call;
      call.in(in.data()).out(out.data()).count(count + 1);
      coll_status status =
          rank == 0 ? coll_allreduce(in.data(), out.data(), count, COLL_I32,
                                     COLL_SUM, comm, nullptr)
                    : coll_launch(&first.plan(), call, comm, nullptr);
      EXPECT_EQ(status, COLL_MISMATCH);
      std::string line = std::string("rank 0: allreduce by ") + name;
      EXPECT_NE(std::string(errorOf(comm).text).find(line), std::string::npos)
          << errorOf(comm).text;
    });
  };
  expectPlan(1, "small_ring");
  expectPlan(1023, "small_ring");
  expectPlan(2000, "small_ring"); // between the two, and nearer to the first
  expectPlan(15000, "large_ring");
  expectPlan(100000, "large_ring");
}

/// What rank 0 runs is told by a rank that launches something else.
static void expectAllreduceBy(std::vector<HandPlan *> plans, HandPlan &other,
                              size_t count, const char *name) {
  onThreads(2, [&](int rank, coll_comm *comm) {
    for (HandPlan *plan : plans)
      ASSERT_EQ(coll_use(comm, &plan->plan()), COLL_OK) << coll_last_error();
    std::vector<int32_t> in(count + 1), out(count + 1);
    Call call;
    call.in(in.data()).out(out.data()).count(count + 1);
    coll_status status = rank == 0
                             ? coll_allreduce(in.data(), out.data(), count,
                                              COLL_I32, COLL_SUM, comm, nullptr)
                             : coll_launch(&other.plan(), call, comm, nullptr);
    EXPECT_EQ(status, COLL_MISMATCH);
    expectContains(errorOf(comm).text,
                   std::string("rank 0: allreduce by ") + name);
  });
}

TEST(Standard, RulesComeBeforeSizes) {
  Schedule rings[3] = {ringAllreduce(2), ringAllreduce(2), ringAllreduce(2)};
  rings[0].name = "mine";
  rings[0].sizesHigh = 4096;
  rings[1].name = "std_allreduce_ring";
  rings[2].name = "other";
  HandPlan mine({rings[0]}), standard({rings[1]}), other({rings[2]});
  // What the application says of its plan comes before what is built in...
  expectAllreduceBy({&standard, &mine}, other, 16, "mine");
  expectAllreduceBy({&mine, &standard}, other, 4096, "std_allreduce_ring");
  expectAllreduceBy({&standard, &mine, &other}, mine, 4096, "other");
  // ... and after what the environment says.
  {
    Variables variables(
        std::map<std::string, std::string>{{"COLL_ALLREDUCE", "other:bulk"}});
    expectAllreduceBy({&mine, &standard, &other}, mine, 16, "other");
  }
  std::string path =
      testing::TempDir() + "coll-rules-" + std::to_string(getpid()) + ".tune";
  FILE *file = fopen(path.c_str(), "w");
  ASSERT_TRUE(file);
  fputs("coll-tune 1\nallreduce 2 any 0..64 absent auto\n"
        "allreduce 2 any 0..64 other auto\n",
        file);
  fclose(file);
  Variables variables(std::map<std::string, std::string>{{"COLL_TUNE", path}});
  expectAllreduceBy({&mine, &standard, &other}, mine, 15, "other");
  expectAllreduceBy({&mine, &standard, &other}, other, 16, "mine");
  unlink(path.c_str());
}

TEST(Standard, BulkSlotsOnRequest) {
  // The same plan over small slots, bulk slots and small slots again.
  Variables variables(
      std::map<std::string, std::string>{{"COLL_ALLREDUCE", "ring:bulk"}});
  Schedule schedule = ringAllreduce(2);
  schedule.name = "ring";
  HandPlan ring({schedule});
  onThreads(2, [&](int rank, coll_comm *comm) {
    ASSERT_EQ(coll_use(comm, &ring.plan()), COLL_OK);
    std::vector<int32_t> in = inputOf(rank, 5), out(5);
    for (int round = 0; round != 20; ++round) {
      checkAllreduce(ring.plan(), rank, comm, 5);
      ASSERT_EQ(coll_allreduce(in.data(), out.data(), 5, COLL_I32, COLL_SUM,
                               comm, nullptr),
                COLL_OK)
          << coll_last_error();
      EXPECT_TRUE(out == sumOf(2, 5));
    }
  });
}

TEST(Standard, VariablesNamePlansInUse) {
  Variables variables(
      std::map<std::string, std::string>{{"COLL_ALLREDUCE", "absent"}});
  HandPlan ring({ringAllreduce(1)});
  onThreads(1, [&](int, coll_comm *comm) {
    ASSERT_EQ(coll_use(comm, &ring.plan()), COLL_OK);
    int32_t in = 1, out = 0;
    EXPECT_EQ(coll_allreduce(&in, &out, 1, COLL_I32, COLL_SUM, comm, nullptr),
              COLL_NO_PLAN);
    expectContains(coll_last_error(), "COLL_ALLREDUCE names schedule 'absent', "
                                      "which is not in use for this call of "
                                      "allreduce (there are ");
  });
}

TEST(Standard, SaysWhatIsMissing) {
  HandPlan vector({directAlltoallv(1)}), ring({ringAllreduce(1)});
  onThreads(1, [&](int, coll_comm *comm) {
    int32_t in = 1, out = 0;
    size_t one = 1, two = 2;
    EXPECT_EQ(coll_allreduce(&in, &out, 1, COLL_I32, COLL_SUM, comm, nullptr),
              COLL_NO_PLAN);
    EXPECT_NE(std::string(coll_last_error()).find("no plan for allreduce"),
              std::string::npos);
    ASSERT_EQ(coll_use(comm, &ring.plan()), COLL_OK);
    EXPECT_EQ(coll_allreduce(&in, &out, 1, COLL_F16, COLL_SUM, comm, nullptr),
              COLL_INVALID);
    EXPECT_NE(std::string(coll_last_error()).find("--dtypes=f16"),
              std::string::npos);
    EXPECT_EQ(
        coll_allreduce(&in, &out, 1, COLL_I32, COLL_PREMUL_SUM, comm, nullptr),
        COLL_INVALID);
    ASSERT_EQ(coll_use(comm, &vector.plan()), COLL_OK);
    EXPECT_EQ(coll_alltoallv(&in, &one, nullptr, &out, &two, nullptr, COLL_I32,
                             comm, nullptr),
              COLL_INVALID);
    EXPECT_EQ(coll_alltoallv(&in, &one, nullptr, &out, nullptr, nullptr,
                             COLL_I32, comm, nullptr),
              COLL_INVALID);
    EXPECT_EQ(coll_alltoallv(&in, &one, nullptr, &out, &one, nullptr, COLL_I32,
                             comm, nullptr),
              COLL_OK)
        << coll_last_error();
    EXPECT_EQ(out, 1);
    EXPECT_EQ(coll_use(comm, nullptr), COLL_INVALID);
    EXPECT_EQ(coll_barrier(nullptr, nullptr), COLL_INVALID);
  });
}

/// The same kernels, said to be of this instruction set.
static std::vector<coll_kernel> kernelsFor(bool reduces, uint8_t isa) {
  std::vector<coll_kernel> kernels = handKernels(reduces);
  for (coll_kernel &kernel : kernels)
    kernel.isa = isa;
  return kernels;
}

TEST(Standard, PicksPlansThatAllRanksCanRun) {
  HandPlan fast({ringAllreduce(2)}), plain({ringAllreduce(2)}),
      barrier({starBarrier(2)});
  fast.setKernels(kernelsFor(true, COLL_ISA_V3));
  std::vector<coll_kernel> both = kernelsFor(false, COLL_ISA_V3);
  both[0].dtype = COLL_F64;
  both.push_back(handKernels(false)[0]);
  both.back().dtype = COLL_I32;
  barrier.setKernels(both);
  RendezvousDirectory directory;
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    if (rank == 1 && coll::hostIsa() != COLL_ISA_AARCH64)
      setenv("COLL_ISA", "v2", 1);
    coll_comm *comm = nullptr;
    std::vector<int32_t> in = inputOf(rank, 10), out(10);
    coll_config config = deadlines(10'000);
    if (coll_comm_init(&comm, 2, &id, rank, &config) != COLL_OK ||
        coll_use(comm, &fast.plan()) != COLL_OK ||
        coll_use(comm, &plain.plan()) != COLL_OK ||
        coll_use(comm, &barrier.plan()) != COLL_OK ||
        coll_allreduce(in.data(), out.data(), 10, COLL_I32, COLL_SUM, comm,
                       nullptr) != COLL_OK ||
        coll_barrier(comm, nullptr) != COLL_OK ||
        coll_comm_destroy(comm) != COLL_OK)
      return coll_last_error();
    return out == sumOf(2, 10) ? "" : "wrong";
  });
  EXPECT_EQ(results, std::vector<std::string>(2));
}

TEST(Standard, PlansInUseAreBounded) {
  std::deque<HandPlan> plans;
  for (size_t i = 0; i != coll::kMaxUsedPlans; ++i)
    plans.emplace_back(std::vector{ringAllreduce(1)});
  HandPlan more({ringAllreduce(1)});
  onThreads(1, [&](int, coll_comm *comm) {
    for (int twice = 0; twice != 2; ++twice)
      for (HandPlan &plan : plans)
        ASSERT_EQ(coll_use(comm, &plan.plan()), COLL_OK) << coll_last_error();
    EXPECT_EQ(coll_use(comm, &more.plan()), COLL_INVALID);
    expectContains(coll_last_error(), "one more than 256 in use");
  });
}

TEST(Standard, UseDuringALaunchIsAnOverlap) {
  HandPlan plan({ringAllreduce(2)}), other({chainBroadcast(2)});
  onThreads(2, [&](int rank, coll_comm *comm) {
    if (rank == 1) { // does not come, so the launch stays inside
      EXPECT_EQ(awaitError(comm).status, COLL_OVERLAP);
      return;
    }
    std::thread first(
        [&] { EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_OVERLAP); });
    while (comm->board().entered() == 0)
      sleepMs(1);
    EXPECT_EQ(coll_use(comm, &other.plan()), COLL_OVERLAP);
    first.join();
  });
}
