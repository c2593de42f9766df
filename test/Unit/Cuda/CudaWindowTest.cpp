//===- CudaWindowTest.cpp - Memory of devices that peers reach ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HandWindow.h"

#include <barrier>
#include <cstring>

using namespace coll::test;
namespace cuda = coll::cuda;

TEST(CudaWindow, AllocatedMemoryIsReachedByAllRanks) {
  constexpr int nranks = 3;
  std::barrier<> together(nranks);
  std::vector<uint64_t> wins(nranks);
  onDevices(nranks, [&](int rank, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 10'000, &memory), COLL_OK)
        << coll_last_error();
    std::memset(memory, 'a' + rank, 10'000);
    char *inside = static_cast<char *>(memory) + 100;
    wins[size_t(rank)] = windowOf(comm, inside, 9'900);
    EXPECT_NE(wins[size_t(rank)], 0u);
    together.arrive_and_wait();
    for (int peer = 0; peer != nranks; ++peer) {
      char *there = seen(comm, peer, wins[size_t(peer)]);
      ASSERT_NE(there, nullptr);
      EXPECT_EQ(*there, 'a' + peer);
      EXPECT_EQ(there == inside, peer == rank);
    }
    together.arrive_and_wait();
    EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK);
    EXPECT_EQ(windowOf(comm, inside, 1), 0u);
    EXPECT_EQ(entryOf(comm, rank, wins[size_t(rank)]).base, 0u);
    // What is not freed goes with the communicator.
    ASSERT_EQ(coll_mem_alloc(comm, 1, &memory), COLL_OK);
    together.arrive_and_wait();
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaWindow, InProcesses) {
  Variables device(std::map<std::string, std::string>{{"COLL_DEVICE", "cuda"}});
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onGoodProcesses(2, [&](int rank, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    std::memset(memory, 'a' + rank, 100);
    uint64_t win = windowOf(comm, memory, 100);
    // The first window of either has the same number.
    checkAllreduce(plan.plan(), rank, comm, 8);
    char *there = seen(comm, 1 - rank, win);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(*there, 'a' + 1 - rank);
    checkAllreduce(plan.plan(), rank, comm, 8); // both have looked
  });
}

/// Ranks that allocate alike stand together, wherever else they are.
TEST(CudaWindow, MulticastPlacesStandTogether) {
  Variables arena(std::map<std::string, std::string>{{"COLL_MULTICAST", "1"}});
  std::barrier<> together(2);
  uint64_t addresses[2][4] = {}, wins[2][4] = {};
  onDevices(2, [&](int rank, coll_comm *comm) {
    void *memory[4] = {};
    auto allocate = [&](int i, size_t bytes) {
      ASSERT_EQ(coll_mem_alloc(comm, bytes, &memory[i]), COLL_OK);
      wins[rank][i] = windowOf(comm, memory[i], bytes);
      addresses[rank][i] = entryOf(comm, rank, wins[rank][i]).multicast;
      together.arrive_and_wait();
      // As the peer sees it: with other addresses, the same places.
      uint64_t arena = addresses[rank][0], theirs = addresses[1 - rank][0];
      coll_window there = entryOf(comm, 1 - rank, wins[1 - rank][i]);
      if (addresses[1 - rank][i])
        EXPECT_EQ(there.multicast - arena, addresses[1 - rank][i] - theirs);
      else
        EXPECT_EQ(there.multicast, 0u);
      together.arrive_and_wait();
    };
    allocate(0, 100);
    allocate(1, 300'000);
    EXPECT_NE(addresses[rank][0], 0u);
    EXPECT_EQ(addresses[rank][1] - addresses[rank][0], 128u << 10);
    ASSERT_EQ(coll_mem_free(comm, memory[0]), COLL_OK);
    together.arrive_and_wait();
    // Only one of them takes the gap.
    allocate(2, rank ? 200'000 : 100);
    EXPECT_EQ(addresses[rank][2] == addresses[rank][0], rank == 0);
    // More than the arena has.
    allocate(3, 2 << 20);
    EXPECT_NE(wins[rank][3], 0u);
    EXPECT_EQ(addresses[rank][3], 0u);
    ASSERT_EQ(coll_mem_free(comm, memory[1]), COLL_OK);
    together.arrive_and_wait();
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

/// Calls of the driver that fail on one rank: then there is none, on any.
TEST(CudaWindow, MulticastMayBeMissing) {
  auto expectNone = [](int nranks) {
    std::barrier<> together(nranks);
    onDevices(nranks, [&](int rank, coll_comm *comm) {
      void *memory = nullptr;
      ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
      uint64_t win = windowOf(comm, memory, 100);
      ASSERT_NE(win, 0u);
      EXPECT_EQ(entryOf(comm, rank, win).multicast, 0u);
      together.arrive_and_wait(); // who has left needs no windows
    });
    EXPECT_EQ(standinLeaks(1), 0);
  };
  constexpr std::pair<const char *, uint64_t> failures[] = {
      {"cuMulticastCreate", 0},         {"cuMulticastAddDevice", 0},
      {"cuMulticastAddDevice", 1},      {"cuMulticastGetGranularity", 0},
      {"cuMulticastGetGranularity", 1}, {"cuMemImportFromShareableHandle", 0}};
  standinSetFabric(0); // else what fails is imported by its descriptor
  for (auto [call, skip] : failures) {
    SCOPED_TRACE(call);
    standinFail(call, skip, cuda::notSupported);
    expectNone(2);
    standinFail(call, 0, cuda::success);
  }
  standinSetFabric(1);
  expectNone(3); // which share two devices
  Variables none(std::map<std::string, std::string>{{"COLL_MULTICAST", "0"}});
  expectNone(2);
}

TEST(CudaWindow, OneRankWhoseMemoryCannotBeBoundHasNoPlace) {
  std::barrier<> together(2);
  uint64_t wins[2] = {};
  standinFail("cuMulticastBindMem", 0, cuda::outOfMemory);
  std::atomic<int> bound = 0;
  onDevices(2, [&](int rank, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    wins[rank] = windowOf(comm, memory, 100);
    bound += entryOf(comm, rank, wins[rank]).multicast != 0;
    together.arrive_and_wait();
    EXPECT_EQ(bound, 1);
    coll_window there = entryOf(comm, 1 - rank, wins[1 - rank]);
    bool isMine = entryOf(comm, rank, wins[rank]).multicast != 0;
    EXPECT_EQ(there.multicast != 0, !isMine);
    together.arrive_and_wait();
  });
  standinFail("cuMulticastBindMem", 0, cuda::success);
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaWindow, WithoutPeerAccessThereIsNone) {
  standinSetPeers(0);
  onDevices(2, [&](int, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    EXPECT_EQ(windowOf(comm, memory, 100), 0u);
  });
  standinSetPeers(1);
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaWindow, TheApplicationsMemoryIsRegistered) {
  constexpr size_t bytes = 1 << 20;
  std::barrier<> together(2);
  uint64_t win = 0;
  onDevices(2, [&](int rank, coll_comm *comm) {
    if (rank == 1) {
      together.arrive_and_wait();
      char *there = seen(comm, 0, win);
      ASSERT_NE(there, nullptr);
      EXPECT_EQ(*there, 'x');
      EXPECT_EQ(entryOf(comm, 0, win).bytes, 5'000u);
      together.arrive_and_wait();
      return;
    }
    Application application;
    OwnMemory memory(bytes, cuda::handlePosixFd);
    char *begin = memory.get() + 70'000;
    begin[10] = 'x';
    EXPECT_EQ(coll_register(comm, begin, 5'000, -1), COLL_OK)
        << coll_last_error();
    win = windowOf(comm, begin + 10, 4'990);
    EXPECT_NE(win, 0u);
    EXPECT_EQ(windowOf(comm, begin + 10, 4'991), 0u);
    EXPECT_EQ(coll_register(comm, begin, 5'000, -1), COLL_INVALID);
    expectContains(coll_last_error(), "is registered already");
    together.arrive_and_wait();
    together.arrive_and_wait();
    EXPECT_EQ(coll_deregister(comm, begin), COLL_OK);
    EXPECT_EQ(windowOf(comm, begin + 10, 10), 0u);
    EXPECT_EQ(coll_deregister(comm, begin), COLL_INVALID);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaWindow, MemoryThatCannotBeSharedIsUsedAsAnyOther) {
  onDevices(2, [&](int rank, coll_comm *comm) {
    if (rank == 1)
      return;
    Application application;
    OwnMemory closed(1 << 16, 0);
    int host = 0;
    cuda::DevicePtr plain = 0;
    ASSERT_EQ(calls::cuMemAlloc_v2(&plain, 100), cuda::success);
    void *places[] = {closed.get(), &host, reinterpret_cast<void *>(plain)};
    for (void *place : places) {
      EXPECT_EQ(coll_register(comm, place, 4, -1), COLL_OK)
          << coll_last_error();
      EXPECT_EQ(windowOf(comm, place, 4), 0u);
      EXPECT_EQ(coll_deregister(comm, place), COLL_OK);
    }
    EXPECT_EQ(coll_register(comm, closed.get(), 4, 0), COLL_INVALID);
    expectContains(coll_last_error(), "device memory has no descriptor");
    EXPECT_EQ(calls::cuMemFree_v2(plain), cuda::success);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaWindow, AreMadeWhileAPeersLaunchWaits) {
  HandPlan plan({ringAllreduce(2)}), other({ringAllreduce(2, 3)});
  addDeviceKernels(plan);
  addDeviceKernels(other);
  onDevices(
      2,
      [&](int rank, coll_comm *comm) {
        checkAllreduce(plan.plan(), rank, comm, 8); // connects
        void *memory = nullptr;
        if (rank == 1) {
          sleepMs(100); // rank 0 waits in its kernel
          ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
          EXPECT_NE(windowOf(comm, memory, 100), 0u);
          ASSERT_EQ(coll_mem_free(comm, memory), COLL_OK);
          // And so are channels of another plan.
          std::vector<int32_t> in(8), out(8);
          Call call;
          call.in(in.data()).out(out.data()).count(8);
          ASSERT_EQ(coll_launch_prepare(&other.plan(), call, comm), COLL_OK)
              << coll_last_error();
        }
        checkAllreduce(plan.plan(), rank, comm, 8);
        checkAllreduce(other.plan(), rank, comm, 8);
      },
      5'000);
  EXPECT_EQ(standinLeaks(1), 0);
}

int main(int argc, char **argv) {
  setenv("COLL_STANDIN_DEVICES", "2", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
