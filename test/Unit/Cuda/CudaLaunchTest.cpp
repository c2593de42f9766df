//===- CudaLaunchTest.cpp - Launches on devices, on the stand-in ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HandDevice.h"
#include "runtime/core/Lane.h"

using namespace coll::test;
using coll::Lane;
namespace cuda = coll::cuda;

static constexpr size_t someCounts[] = {0, 1, 3, 1021, 100003};

TEST(CudaLaunch, RingAllreduceOfHostBuffers) {
  for (int nranks : {1, 2, 4}) {
    HandPlan plan({ringAllreduce(nranks)});
    addDeviceKernels(plan);
    onDevices(nranks, [&](int rank, coll_comm *comm) {
      for (size_t count : someCounts)
        for (bool inPlace : {false, true, false})
          checkAllreduce(plan.plan(), rank, comm, count, inPlace);
    });
    EXPECT_EQ(standinLeaks(1), 0);
  }
}

/// A kernel that gets a launch of the other protocol ends the communicator.
TEST(CudaLaunch, EachProtocolHasItsKernel) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  auto smallBlocksOf = [&](size_t count) {
    uint64_t before = blocksInSmallSlots();
    onDevices(2, [&](int rank, coll_comm *comm) {
      checkAllreduce(plan.plan(), rank, comm, count);
      checkAllreduce(plan.plan(), rank, comm, 100003);
      checkAllreduce(plan.plan(), rank, comm, count);
    });
    return blocksInSmallSlots() - before;
  };
  EXPECT_GT(smallBlocksOf(3), 0u);
  EXPECT_EQ(smallBlocksOf(100001), 0u);
  // One dtype without a kernel for small launches: then no launch is small.
  --plan.change().ndevice_kernels;
  EXPECT_EQ(smallBlocksOf(3), 0u);
}

/// Channels get slots of lines when a plan with lines needs them, not before.
TEST(CudaLaunch, LinesComeWithThePlanThatHasThem) {
  HandPlan without({ringAllreduce(3)}), with({ringAllreduce(3)});
  for (HandPlan *plan : {&without, &with})
    addDeviceKernels(*plan);
  with.change().flags |= COLL_PLAN_LL128;
  auto run = [&](std::vector<HandPlan *> plans) {
    std::vector<size_t> bytes;
    onDevices(3, [&](int rank, coll_comm *comm) {
      for (HandPlan *plan : plans) {
        checkAllreduce(plan->plan(), rank, comm, 100003);
        if (rank == 0)
          bytes.push_back(Lane::of(*comm).channels().transport().ownBytes());
      }
    });
    return bytes;
  };
  const uint64_t before = blocksWithLines();
  const std::vector<size_t> slots = run({&without});
  EXPECT_EQ(blocksWithLines(), before);
  const std::vector<size_t> later = run({&without, &with, &without});
  EXPECT_EQ(later[0], slots[0]);
  EXPECT_GT(later[1], later[0]);
  EXPECT_EQ(later[2], later[1]);
  const uint64_t between = blocksWithLines();
  EXPECT_GT(between, before);
  const std::vector<size_t> first = run({&with, &without});
  EXPECT_EQ(first[1], first[0]) << "the channels are the same";
  EXPECT_GT(first[0], slots[0]);
  EXPECT_GT(blocksWithLines(), between);
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, InProcesses) {
  Variables device(std::map<std::string, std::string>{{"COLL_DEVICE", "cuda"}});
  HandPlan plan({ringAllreduce(4)});
  addDeviceKernels(plan);
  onGoodProcesses(4, [&](int rank, coll_comm *comm) {
    for (size_t count : someCounts)
      checkAllreduce(plan.plan(), rank, comm, count);
  });
}

TEST(CudaLaunch, ChannelsLieOnTheHostWithoutPeerAccess) {
  HandPlan plan({ringAllreduce(3)});
  addDeviceKernels(plan);
  standinSetPeers(0);
  onDevices(3, [&](int rank, coll_comm *comm) {
    for (size_t count : someCounts)
      checkAllreduce(plan.plan(), rank, comm, count);
  });
  standinSetPeers(1);
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, VectorCountsAndDisplacements) {
  HandPlan plan({directAlltoallv(3)});
  addDeviceKernels(plan);
  onDevices(3, [&](int rank, coll_comm *comm) {
    for (bool displaced : {false, true, true, false})
      checkAlltoallv(plan.plan(), rank, comm, displaced);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, StreamsAreOrdered) {
  constexpr size_t count = 5000;
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(2, [&](int rank, coll_comm *comm) {
    Application application;
    cuda::Stream first = application.stream(), second = application.stream();
    DeviceArray in(comm, first, inputOf(rank, count)),
        middle(comm, first, std::vector<int32_t>(count, -1)),
        out(comm, first, std::vector<int32_t>(count, -1));
    // The second sum reads what the first one writes, on the other stream.
    Call one, two;
    one.in(in.get()).out(middle.get()).count(count);
    two.in(middle.get()).out(out.get()).count(count);
    for (int i = 0; i != 10; ++i) {
      ASSERT_EQ(coll_launch(&plan.plan(), one, comm, first), COLL_OK)
          << coll_last_error();
      ASSERT_EQ(coll_launch(&plan.plan(), two, comm, second), COLL_OK)
          << coll_last_error();
    }
    ASSERT_EQ(calls::cuStreamSynchronize(second), cuda::success);
    std::vector<int32_t> expected = sumOf(2, count);
    for (int32_t &value : expected)
      value *= 2;
    EXPECT_TRUE(out.read() == expected) << "rank " << rank;
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, GraphsAreReplayed) {
  constexpr size_t count = 3000;
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(2, [&](int rank, coll_comm *comm) {
    Application application;
    cuda::Stream main = application.stream(), side = application.stream();
    DeviceArray values(comm, main, inputOf(rank, count));
    Call call;
    call.in(values.get()).out(values.get()).count(count);
    // Two launches in a row in the graph, the second one on another stream.
    cuda::Event fork = nullptr, join = nullptr;
    ASSERT_EQ(calls::cuEventCreate(&fork, 0), cuda::success);
    ASSERT_EQ(calls::cuEventCreate(&join, 0), cuda::success);
    ASSERT_EQ(calls::cuStreamBeginCapture_v2(main, cuda::captureGlobal),
              cuda::success);
    ASSERT_EQ(calls::cuEventRecord(fork, main), cuda::success);
    ASSERT_EQ(calls::cuStreamWaitEvent(side, fork, 0), cuda::success);
    ASSERT_EQ(coll_launch(&plan.plan(), call, comm, main), COLL_OK)
        << coll_last_error();
    ASSERT_EQ(coll_launch(&plan.plan(), call, comm, side), COLL_OK)
        << coll_last_error();
    ASSERT_EQ(calls::cuEventRecord(join, side), cuda::success);
    ASSERT_EQ(calls::cuStreamWaitEvent(main, join, 0), cuda::success);
    cuda::Graph graph = nullptr;
    ASSERT_EQ(calls::cuStreamEndCapture(main, &graph), cuda::success);
    cuda::GraphExec exec = nullptr;
    ASSERT_EQ(calls::cuGraphInstantiateWithFlags(&exec, graph, 0),
              cuda::success);
    for (int i = 0; i != 3; ++i)
      ASSERT_EQ(calls::cuGraphLaunch(exec, main), cuda::success);
    ASSERT_EQ(calls::cuStreamSynchronize(main), cuda::success);
    std::vector<int32_t> expected = sumOf(2, count);
    for (int32_t &value : expected)
      value = int32_t(uint32_t(value) << 5); // six sums, five of equal values
    EXPECT_TRUE(values.read() == expected) << "rank " << rank;
    EXPECT_EQ(calls::cuGraphExecDestroy(exec), cuda::success);
    EXPECT_EQ(calls::cuGraphDestroy(graph), cuda::success);
    EXPECT_EQ(calls::cuEventDestroy_v2(fork), cuda::success);
    EXPECT_EQ(calls::cuEventDestroy_v2(join), cuda::success);
    // And outside of the graph it goes on where the graph has left off.
    checkAllreduce(plan.plan(), rank, comm, count);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, ACaptureTakesNoHostMemory) {
  HandPlan plan({ringAllreduce(1)});
  addDeviceKernels(plan);
  onDevices(1, [&](int, coll_comm *comm) {
    Application application;
    cuda::Stream stream = application.stream();
    std::vector<int32_t> in(8), out(8);
    Call call;
    call.in(in.data()).out(out.data()).count(8);
    cuda::Graph graph = nullptr;
    ASSERT_EQ(calls::cuStreamBeginCapture_v2(stream, cuda::captureGlobal),
              cuda::success);
    EXPECT_EQ(coll_launch(&plan.plan(), call, comm, stream), COLL_INVALID);
    expectContains(coll_last_error(), "lies in host memory");
    ASSERT_EQ(calls::cuStreamEndCapture(stream, &graph), cuda::success);
    EXPECT_EQ(calls::cuGraphDestroy(graph), cuda::success);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, PlansThatDoNotFitAreRefused) {
  // 4 processors, 16 blocks of 128 threads each, for the ranks of a device.
  HandPlan plan({ringAllreduce(2, 40)});
  addDeviceKernels(plan);
  Variables device(
      std::map<std::string, std::string>{{"COLL_DEVICE", "cuda:0"}});
  onThreads(2, [&](int, coll_comm *comm) {
    EXPECT_EQ(allreduce(plan.plan(), comm, 8), COLL_INVALID);
    expectContains(coll_last_error(),
                   "40 blocks of 128 threads on each of 2 ranks on device 0, "
                   "which runs 64 at a time (16 on each of 4 processors)");
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaLaunch, PlansWithoutDeviceCodeAreRefused) {
  HandPlan plan({ringAllreduce(1)});
  onDevices(1, [&](int, coll_comm *comm) {
    EXPECT_EQ(allreduce(plan.plan(), comm, 8), COLL_INVALID);
    expectContains(coll_last_error(), "--target=cuda:sm_");
  });
}

int main(int argc, char **argv) {
  setenv("COLL_STANDIN_DEVICES", "2", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
