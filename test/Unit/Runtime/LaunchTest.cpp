//===- LaunchTest.cpp - Plans written by hand compute what they say -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"
#include "runtime/transport/Transport.h"

#include <atomic>
#include <deque>
#include <thread>

using namespace coll::test;

static const std::vector<size_t> counts = {0, 1, 3, 1021, 1000003};

/// Every count, out of place and in place, and again.
static void checkAllCounts(const coll_plan &plan, int rank, coll_comm *comm) {
  for (size_t count : counts)
    for (bool inPlace : {false, true, true, false})
      checkAllreduce(plan, rank, comm, count, inPlace);
}

TEST(Launch, RingAllreduceAsThreads) {
  for (int nranks : {1, 2, 3, 4, 5}) {
    HandPlan plan({ringAllreduce(nranks)});
    onThreads(nranks, [&](int rank, coll_comm *comm) {
      checkAllCounts(plan.plan(), rank, comm);
    });
  }
}

TEST(Launch, RingAllreduceAsProcesses) {
  HandPlan plan({ringAllreduce(2), ringAllreduce(4)});
  for (int nranks : {2, 4})
    onGoodProcesses(nranks, [&](int rank, coll_comm *comm) {
      checkAllCounts(plan.plan(), rank, comm);
    });
}

struct Geometry {
  const char *slotBytes, *slots, *smallBytes, *smallSlots;
};

class LaunchGeometry : public testing::TestWithParam<Geometry> {};

TEST_P(LaunchGeometry, RingAllreduce) {
  const Geometry &g = GetParam();
  Variables sizes({{"COLL_SLOT_BYTES", g.slotBytes},
                   {"COLL_SLOTS", g.slots},
                   {"COLL_SMALL_BYTES", g.smallBytes},
                   {"COLL_SMALL_SLOTS", g.smallSlots}});
  Schedule ring = ringAllreduce(3, 1, 512);
  ring.slots = ring.smallSlots = 2; // fused steps hold a slot at each end
  HandPlan plan({ring});
  onThreads(3, [&](int rank, coll_comm *comm) {
    for (size_t count : {0u, 1u, 3u, 37u, 1021u, 100003u})
      for (bool inPlace : {false, true, false})
        checkAllreduce(plan.plan(), rank, comm, count, inPlace);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, LaunchGeometry,
                         testing::Values(Geometry{"1024", "2", "16", "1"},
                                         Geometry{"4096", "4", "64", "2"},
                                         Geometry{"65536", "4", "2048", "8"},
                                         Geometry{"262144", "8", "8192", "4"},
                                         Geometry{"192", "8", "48", "8"}));

TEST(Launch, InstancesRunInThreadsOfTheirOwn) {
  HandPlan plan({ringAllreduce(3, 3, 64)});
  onThreads(3, [&](int rank, coll_comm *comm) {
    checkAllCounts(plan.plan(), rank, comm);
  });
}

TEST(Launch, BlocksWaitForEachOther) {
  constexpr int nranks = 3;
  for (uint32_t instances : {1u, 2u}) {
    HandPlan plan({twoBlockShift(nranks, instances)});
    onThreads(nranks, [&](int rank, coll_comm *comm) {
      for (size_t count : counts) {
        std::vector<int32_t> in = inputOf(rank, count), out(count, -1);
        Call call;
        call.in(in.data()).out(out.data()).count(count);
        ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK)
            << coll_last_error();
        EXPECT_TRUE(out == inputOf((rank + nranks - 1) % nranks, count));
      }
    });
  }
}

TEST(Launch, AllgatherInAndOutOfPlace) {
  constexpr int nranks = 4;
  HandPlan plan({directAllgather(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    for (size_t count : counts)
      for (bool inPlace : {false, true}) {
        std::vector<int32_t> in = inputOf(rank, count), out(count * nranks, -1);
        int32_t *own = out.data() + count * size_t(rank);
        if (inPlace)
          std::copy(in.begin(), in.end(), own);
        Call call;
        call.in(inPlace ? own : in.data()).out(out.data()).count(count);
        ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK)
            << coll_last_error();
        std::vector<int32_t> expected;
        for (int q = 0; q != nranks; ++q)
          for (int32_t value : inputOf(q, count))
            expected.push_back(value);
        EXPECT_TRUE(out == expected);
      }
  });
}

TEST(Launch, BroadcastFromEveryRoot) {
  constexpr int nranks = 4;
  HandPlan plan({chainBroadcast(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    for (size_t count : counts)
      for (int root = 0; root != nranks; ++root) {
        std::vector<int32_t> in = inputOf(rank, count), out(count, -1);
        Call call;
        call.in(rank == root ? in.data() : nullptr).out(out.data());
        call.count(count).root(root);
        ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK)
            << coll_last_error();
        EXPECT_TRUE(out == inputOf(root, count));
      }
  });
}

TEST(Launch, BarrierHoldsEveryoneBack) {
  constexpr int nranks = 4, rounds = 50;
  HandPlan plan({starBarrier(nranks)});
  std::atomic<int> arrived{0};
  onThreads(nranks, [&](int, coll_comm *comm) {
    for (int i = 1; i <= rounds; ++i) {
      arrived.fetch_add(1);
      Call call;
      call.in(nullptr).out(nullptr);
      ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK)
          << coll_last_error();
      EXPECT_GE(arrived.load(), i * nranks);
    }
  });
}

TEST(Launch, AlltoallvPackedAndDisplaced) {
  constexpr int nranks = 4;
  HandPlan plan({directAlltoallv(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    checkAlltoallv(plan.plan(), rank, comm, false);
    checkAlltoallv(plan.plan(), rank, comm, true);
  });
}

TEST(Launch, PlansShareTheChannelsOfALane) {
  constexpr int nranks = 3;
  HandPlan ring({ringAllreduce(nranks)}), chain({chainBroadcast(nranks)}),
      gather({directAllgather(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    for (int i = 0; i != 20; ++i)
      for (size_t count : {size_t(5), size_t(40000)}) {
        std::vector<int32_t> in = inputOf(rank, count), out(count * nranks);
        for (const coll_plan *plan :
             {&ring.plan(), &chain.plan(), &gather.plan()}) {
          Call call;
          call.in(in.data()).out(out.data()).count(count).root(i % nranks);
          ASSERT_EQ(coll_launch(plan, call, comm, nullptr), COLL_OK)
              << coll_last_error();
        }
        EXPECT_EQ(out[count * 2], valueAt(2, 0));
      }
  });
}

/// Each plan has channels of its own, and each rank begins with another plan:
/// who only waited for its own plan's channels would wait for ever.
TEST(Launch, RanksMayPrepareInDifferentOrders) {
  constexpr int nranks = 3;
  std::deque<HandPlan> plans;
  for (uint32_t tag = 0; tag != nranks; ++tag) {
    Schedule ring = ringAllreduce(nranks);
    ring.name += std::to_string(tag);
    ring.classes[0].sends[0].tag = ring.classes[0].recvs[0].tag = tag;
    plans.emplace_back(std::vector<Schedule>{ring});
  }
  onGoodProcesses(
      nranks,
      [&](int rank, coll_comm *comm) {
        for (int i = 0; i != nranks; ++i) {
          HandPlan &plan = plans[size_t((i + rank) % nranks)];
          ASSERT_EQ(coll_launch_prepare(&plan.plan(), Call(), comm), COLL_OK)
              << coll_last_error();
        }
        for (HandPlan &plan : plans)
          checkAllreduce(plan.plan(), rank, comm, 1021);
      },
      10'000);
}

TEST(Launch, PrepareIsAnsweredByRanksInsideALaunch) {
  constexpr int nranks = 2;
  Schedule other = ringAllreduce(nranks);
  other.name = "other_ring";
  other.classes[0].sends[0].tag = other.classes[0].recvs[0].tag = 1;
  HandPlan first({ringAllreduce(nranks)}), second({other});
  onGoodProcesses(
      nranks,
      [&](int rank, coll_comm *comm) {
        checkAllreduce(first.plan(), rank, comm, 10);
        // Rank 0 waits in a kernel for rank 1, which waits for its channels.
        if (rank == 1) {
          ASSERT_EQ(coll_launch_prepare(&second.plan(), Call(), comm), COLL_OK)
              << coll_last_error();
        }
        checkAllreduce(first.plan(), rank, comm, 10);
        checkAllreduce(second.plan(), rank, comm, 10);
      },
      10'000);
}

TEST(Launch, ARankMaySendToItself) {
  Schedule loop = twoBlockShift(1);
  HandPlan plan({loop});
  onThreads(1, [&](int rank, coll_comm *comm) {
    for (size_t count : {size_t(3), size_t(100000)}) {
      std::vector<int32_t> in = inputOf(rank, count), out(count, -1);
      Call call;
      call.in(in.data()).out(out.data()).count(count);
      ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK)
          << coll_last_error();
      EXPECT_TRUE(out == in);
    }
  });
}

TEST(Launch, MoreChannelsThanOneOfferNames) {
  constexpr uint32_t channels = coll::kMaxChannelsPerOffer + 5;
  Variables tiny({{"COLL_SLOT_BYTES", "64"}, {"COLL_SMALL_BYTES", "16"}});
  Schedule s = twoBlockShift(2);
  Class &cls = s.classes[0];
  cls.scratchSlots = 0;
  cls.sends.clear();
  cls.recvs.clear();
  cls.blocks.assign(1, {});
  for (uint32_t tag = 0; tag != channels; ++tag) {
    cls.sends.push_back({Word::ofRank(1, 2), tag});
    cls.recvs.push_back({Word::ofRank(-1, 2), tag});
    cls.blocks[0].push_back({{buffer(0)}, {coll::test::channel(tag)}});
  }
  for (uint32_t tag = 0; tag != channels; ++tag)
    cls.blocks[0].push_back({{coll::test::channel(tag)}, {buffer(1)}});
  HandPlan plan({s});
  onThreads(2, [&](int rank, coll_comm *comm) {
    std::vector<int32_t> in = inputOf(rank, 4), out(4, -1);
    Call call;
    call.in(in.data()).out(out.data()).count(4);
    ASSERT_EQ(coll_launch(&plan.plan(), call, comm, nullptr), COLL_OK)
        << coll_last_error();
    EXPECT_TRUE(out == inputOf(1 - rank, 4));
  });
}

TEST(Launch, LanesRunAtTheSameTime) {
  constexpr int nranks = 2;
  HandPlan plan({ringAllreduce(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    coll_comm *lane = nullptr;
    ASSERT_EQ(coll_comm_dup(comm, &lane), COLL_OK) << coll_last_error();
    std::thread other([&] { checkAllCounts(plan.plan(), rank, lane); });
    checkAllCounts(plan.plan(), rank, comm);
    other.join();
    EXPECT_EQ(coll_comm_destroy(lane), COLL_OK) << coll_last_error();
  });
}
