//===- MismatchTest.cpp - Ranks that call differently ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"
#include "runtime/core/Status.h"

using namespace coll::test;

/// Rank 1's call differs from the others'; everyone must be told how.
static void expectMismatch(
    const std::function<coll_status(coll_comm *comm, bool isOdd)> &launch,
    const std::vector<std::string> &parts) {
  onThreads(3, [&](int rank, coll_comm *comm) {
    EXPECT_EQ(launch(comm, rank == 1), COLL_MISMATCH);
    coll_error error = errorOf(comm);
    EXPECT_EQ(error.status, COLL_MISMATCH);
    for (const std::string &part : parts)
      expectContains(error.text, part);
  });
}

TEST(Mismatch, CountOnBulkRings) {
  HandPlan plan({ringAllreduce(3)});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(plan.plan(), comm, isOdd ? 100000 : 100001);
      },
      {"count 100000", "count 100001", "rank 1"});
}

TEST(Mismatch, CountOnSmallRings) {
  HandPlan plan({ringAllreduce(3)});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(plan.plan(), comm, isOdd ? 7 : 8);
      },
      {"count 7", "count 8", "rank 1"});
}

TEST(Mismatch, OneRankOnSmallRings) {
  HandPlan plan({ringAllreduce(3)});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(plan.plan(), comm, isOdd ? 8 : 100000);
      },
      {"count 8", "count 100000"});
}

/// The same call, of which one rank's rules say that it goes in bulk slots.
TEST(Mismatch, Slots) {
  Variables variables(
      std::map<std::string, std::string>{{"COLL_ALLREDUCE", "hand_ring:bulk"}});
  HandPlan plan({ringAllreduce(3)});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        EXPECT_EQ(coll_use(comm, &plan.plan()), COLL_OK);
        EXPECT_EQ(allreduce(plan.plan(), comm, 50), COLL_OK); // connects
        int32_t in[50] = {}, out[50];
        return isOdd ? coll_allreduce(in, out, 50, COLL_I32, COLL_SUM, comm,
                                      nullptr)
                     : allreduce(plan.plan(), comm, 50);
      },
      {"launch 2 differs between ranks", "messages: ", "bulk slots on rank 1",
       "small slots on rank "});
}

TEST(Mismatch, Dtype) {
  HandPlan plan({ringAllreduce(3)});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(plan.plan(), comm, 50, isOdd ? COLL_F32 : COLL_I32);
      },
      {"dtype", "f32", "i32"});
}

TEST(Mismatch, Op) {
  HandPlan plan({ringAllreduce(3)});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(plan.plan(), comm, 50, COLL_I32,
                         isOdd ? COLL_MAX : COLL_SUM);
      },
      {"op", "max", "sum"});
}

TEST(Mismatch, Plan) {
  Schedule other = ringAllreduce(3);
  other.name = "another_ring";
  HandPlan plan({ringAllreduce(3)}), another({other});
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(isOdd ? another.plan() : plan.plan(), comm, 50);
      },
      {"plan", "hand_ring", "another_ring"});
}

TEST(Mismatch, ContractWithoutACommonChannel) {
  Schedule other = ringAllreduce(3);
  other.name = "reversed_ring";
  other.classes[0].sends = {{Word::ofRank(-1, 3), 5}};
  other.classes[0].recvs = {{Word::ofRank(1, 3), 5}};
  HandPlan plan({ringAllreduce(3)}), another({other});
  // The first launch of each connects channels, which the others lack.
  expectMismatch(
      [&](coll_comm *comm, bool isOdd) {
        return allreduce(isOdd ? another.plan() : plan.plan(), comm, 50);
      },
      {"hand_ring", "reversed_ring"});
}

TEST(Mismatch, Root) {
  HandPlan plan({chainBroadcast(3)});
  onThreads(3, [&](int rank, coll_comm *comm) {
    std::vector<int32_t> in(10), out(10);
    Call call;
    call.in(in.data()).out(out.data()).count(10).root(rank == 1 ? 2 : 0);
    // A root that only sends is done before anyone can find out.
    if (coll_launch(&plan.plan(), call, comm, nullptr) == COLL_OK) {
      EXPECT_NE(rank, 1);
    }
    coll_error error = awaitError(comm);
    EXPECT_EQ(error.status, COLL_MISMATCH);
    expectContains(error.text, "launch values 2");
    expectContains(error.text, "launch values 0");
  });
}

TEST(Mismatch, DuplicateBesideALaunch) {
  HandPlan plan({ringAllreduce(3)});
  // The first launch connects channels, the second waits in its kernel.
  for (int before : {0, 1}) {
    std::string when = before == 0 ? "before any launch" : "after launch 1";
    expectMismatch(
        [&](coll_comm *comm, bool isOdd) {
          for (int i = 0; i != before; ++i)
            EXPECT_EQ(allreduce(plan.plan(), comm, 50), COLL_OK);
          coll_comm *sub;
          return isOdd ? coll_comm_dup(comm, &sub)
                       : allreduce(plan.plan(), comm, 50);
        },
        {"rank 1 has called coll_comm_dup " + when,
         coll::format("launch %d, allreduce by hand_ring, count 50",
                      before + 1)});
  }
}

TEST(Mismatch, SplitAfterFewerLaunches) {
  HandPlan plan({chainBroadcast(2)});
  onThreads(2, [&](int rank, coll_comm *comm) {
    std::vector<int32_t> in(10), out(10);
    Call call;
    call.in(in.data()).out(out.data()).count(10).root(0);
    for (int i = 0; i != 2; ++i)
      ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK);
    // Its root only sends, and comes to the split nevertheless.
    coll_status status = COLL_OK;
    if (rank == 0)
      status = coll_launch(&plan.plan(), call, comm, nullptr);
    ASSERT_EQ(status, COLL_OK);
    coll_comm *sub;
    EXPECT_EQ(coll_comm_split(comm, 0, 0, &sub), COLL_MISMATCH);
    expectContains(errorOf(comm).text,
                   "rank 0 has called coll_comm_split after launch 3, and rank "
                   "1 coll_comm_split after launch 2");
  });
}
