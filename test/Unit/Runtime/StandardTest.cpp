//===- StandardTest.cpp - The standard contracts over plans in use --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"

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
