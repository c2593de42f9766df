//===- CudaFaultTest.cpp - What goes wrong on devices, on the stand-in ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HandDevice.h"

#include <barrier>
#include <csignal>
#include <unistd.h>

using namespace coll::test;
namespace cuda = coll::cuda;

TEST(CudaFault, OtherCountsAreAMismatch) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(2, [&](int rank, coll_comm *comm) {
    EXPECT_EQ(allreduce(plan.plan(), comm, rank ? 100 : 200), COLL_MISMATCH);
    // By a message, or by the record on the board of a rank that is late.
    expectContains(errorOf(comm).text, "launch 1 differs between ranks");
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

/// Each in another kernel, of which none looks where the other's messages are.
TEST(CudaFault, OtherKernelsAreAMismatch) {
  Variables variables(
      std::map<std::string, std::string>{{"COLL_ALLREDUCE", "hand_ring:bulk"}});
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  plan.change().flags |= COLL_PLAN_LL128;
  for (auto [count, slots] :
       {std::pair(size_t(100), "packets"), std::pair(size_t(100003), "lines")})
    onDevices(2, [&, count = count, slots = slots](int rank, coll_comm *comm) {
      ASSERT_EQ(coll_use(comm, &plan.plan()), COLL_OK);
      checkAllreduce(plan.plan(), rank, comm, count); // connects
      std::vector<int32_t> in(count), out(count);
      EXPECT_EQ(rank ? coll_allreduce(in.data(), out.data(), count, COLL_I32,
                                      COLL_SUM, comm, nullptr)
                     : allreduce(plan.plan(), comm, count),
                COLL_MISMATCH);
      expectContains(errorOf(comm).text, "messages: ");
      expectContains(errorOf(comm).text, std::string(slots) + " on rank 0");
      expectContains(errorOf(comm).text, "bulk slots on rank 1");
    });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaFault, ALateRankIsComparedByItsRecord) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(2, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 8); // connects
    if (rank == 0) {
      EXPECT_EQ(allreduce(plan.plan(), comm, 200), COLL_MISMATCH);
      expectContains(errorOf(comm).text, "launch 2 differs between ranks");
      return;
    }
    // Written down, but for a graph that never runs: no message tells of it.
    Application application;
    cuda::Stream stream = application.stream();
    DeviceArray values(comm, stream, inputOf(rank, 100));
    Call call;
    call.in(values.get()).out(values.get()).count(100);
    ASSERT_EQ(calls::cuStreamBeginCapture_v2(stream, cuda::captureGlobal),
              cuda::success);
    EXPECT_EQ(coll_launch(&plan.plan(), call, comm, stream), COLL_OK)
        << coll_last_error();
    cuda::Graph graph = nullptr;
    ASSERT_EQ(calls::cuStreamEndCapture(stream, &graph), cuda::success);
    EXPECT_EQ(awaitError(comm).status, COLL_MISMATCH);
    EXPECT_EQ(calls::cuGraphDestroy(graph), cuda::success);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaFault, AWaitEndsAtTheDeadline) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(
      2,
      [&](int rank, coll_comm *comm) {
        checkAllreduce(plan.plan(), rank, comm, 8); // connects
        if (rank == 1) {
          EXPECT_EQ(awaitError(comm).status, COLL_TIMEOUT);
          return;
        }
        EXPECT_EQ(allreduce(plan.plan(), comm, 8), COLL_TIMEOUT);
        expectContains(errorOf(comm).text, "rank 0 has waited too long");
      },
      400);
  EXPECT_EQ(standinLeaks(1), 0);
}

TEST(CudaFault, AbortReleasesBlocks) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(2, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 8);
    if (rank == 1) {
      sleepMs(50);
      coll_comm_abort(comm, "enough");
      return;
    }
    EXPECT_EQ(allreduce(plan.plan(), comm, 8), COLL_ABORTED);
    expectContains(errorOf(comm).text, "enough");
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

namespace {
cuda::Graph captureOf(const HandPlan &plan, coll_comm *comm,
                      cuda::Stream stream, int32_t *values) {
  Call call;
  call.in(values).out(values).count(100);
  cuda::Graph graph = nullptr;
  EXPECT_EQ(calls::cuStreamBeginCapture_v2(stream, cuda::captureGlobal),
            cuda::success);
  EXPECT_EQ(coll_launch(&plan.plan(), call, comm, stream), COLL_OK);
  EXPECT_EQ(calls::cuStreamEndCapture(stream, &graph), cuda::success);
  return graph;
}

/// Two ranks with a graph of a launch of `plan`, a launch of `other` behind it,
/// and a graph of that, too; then only rank 0 replays the first graph.
void replayAlone(const HandPlan &plan, const HandPlan &other,
                 const std::function<void(int, coll_comm *)> &then,
                 uint64_t deadlineMs) {
  std::barrier<> together(2);
  onDevices(
      2,
      [&](int rank, coll_comm *comm) {
        checkAllreduce(plan.plan(), rank, comm, 8); // connects
        Application application;
        cuda::Stream stream = application.stream();
        DeviceArray values(comm, stream, inputOf(rank, 100));
        cuda::Graph graph = captureOf(plan, comm, stream, values.get());
        cuda::GraphExec exec = nullptr;
        ASSERT_EQ(calls::cuGraphInstantiateWithFlags(&exec, graph, 0),
                  cuda::success);
        checkAllreduce(other.plan(), rank, comm, 8);
        cuda::Graph unused = captureOf(other, comm, stream, values.get());
        together.arrive_and_wait();
        // Two replays that both ranks make, and one that rank 0 makes alone.
        for (int i = 0; i != (rank == 0 ? 3 : 2); ++i)
          EXPECT_EQ(calls::cuGraphLaunch(exec, stream), cuda::success);
        then(rank, comm);
        EXPECT_EQ(calls::cuStreamSynchronize(stream), cuda::success);
        EXPECT_EQ(calls::cuGraphExecDestroy(exec), cuda::success);
        EXPECT_EQ(calls::cuGraphDestroy(graph), cuda::success);
        EXPECT_EQ(calls::cuGraphDestroy(unused), cuda::success);
        together.arrive_and_wait();
      },
      deadlineMs);
  EXPECT_EQ(standinLeaks(1), 0);
}
} // namespace

TEST(CudaFault, AReplayThatWaitsIsReported) {
  HandPlan plan({ringAllreduce(2)}), other({ringAllreduce(2, 3)});
  addDeviceKernels(plan);
  addDeviceKernels(other);
  plan.change().name = "in_the_graph";
  replayAlone(
      plan, other,
      [](int, coll_comm *comm) {
        coll_error error = awaitError(comm);
        EXPECT_EQ(error.status, COLL_TIMEOUT);
        EXPECT_EQ(error.rank, 0);
        EXPECT_EQ(error.peer, 1);
        expectContains(error.text, "rank 0 has waited too long");
        expectContains(error.text, "rank 0 waits for rank 1 in hand.coll:");
        expectContains(error.text, "in replay 3 of a graph that holds launch "
                                   "2, of plan 'in_the_graph'");
      },
      1'000);
}

TEST(CudaFault, AbortEndsAReplay) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  replayAlone(
      plan, plan,
      [](int rank, coll_comm *comm) {
        if (rank == 1) {
          sleepMs(50);
          coll_comm_abort(comm, "enough");
        }
        EXPECT_EQ(awaitError(comm).status, COLL_ABORTED);
        expectContains(errorOf(comm).text, "enough");
      },
      60'000);
}

TEST(CudaFault, AKilledRankIsSeen) {
  Variables device(std::map<std::string, std::string>{{"COLL_DEVICE", "cuda"}});
  HandPlan plan({ringAllreduce(3)});
  addDeviceKernels(plan);
  auto ends = onProcesses(3, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 8);
    if (rank == 1) {
      sleepMs(200); // the others have ended this launch, too
      raise(SIGKILL);
    }
    EXPECT_EQ(allreduce(plan.plan(), comm, 8), COLL_PEER_LOST);
  });
  EXPECT_EQ(ends[0], "");
  EXPECT_EQ(ends[1], "signal 9");
  EXPECT_EQ(ends[2], "");
}

TEST(CudaFault, HostAndDeviceDoNotMeet) {
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  RendezvousDirectory directory;
  coll_id id = {};
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  asThreads(2, [&](int rank) {
    coll_config config = deadlines(5'000);
    config.device = rank == 0 ? 0 : -1;
    coll_comm *comm = nullptr;
    ASSERT_EQ(coll_comm_init(&comm, 2, &id, rank, &config), COLL_OK)
        << coll_last_error();
    EXPECT_EQ(allreduce(plan.plan(), comm, 8), COLL_SYSTEM);
    EXPECT_EQ(coll_comm_destroy(comm), COLL_SYSTEM);
  });
  EXPECT_EQ(standinLeaks(1), 0);
}

/// Initialises, launches twice, and destroys, while call number `call` fails.
/// Whatever happens, nothing may be left over and nothing may hang.
static coll_status runWithFailure(const HandPlan &plan, uint64_t call,
                                  int result, std::string &text) {
  RendezvousDirectory directory;
  coll_id id = {};
  EXPECT_EQ(coll_make_id(&id), COLL_OK);
  coll_config config = deadlines(10'000);
  config.device = 0;
  coll_comm *comm = nullptr;
  standinFail("", call, result);
  coll_status status = coll_comm_init(&comm, 1, &id, 0, &config);
  for (int i = 0; i != 2 && status == COLL_OK; ++i)
    status = allreduce(plan.plan(), comm, 100);
  text = coll_last_error();
  if (comm) {
    coll_status end = coll_comm_destroy(comm);
    if (status == COLL_OK && end != COLL_OK)
      text = coll_last_error();
    status = status == COLL_OK ? end : status;
  }
  standinFail("", 0, cuda::success);
  return status;
}

TEST(CudaFault, EveryCallMayFail) {
  HandPlan plan({ringAllreduce(1)});
  addDeviceKernels(plan);
  std::string text;
  ASSERT_EQ(runWithFailure(plan, UINT32_MAX, cuda::unknownError, text), COLL_OK)
      << text;
  uint64_t before = standinCalls();
  ASSERT_EQ(runWithFailure(plan, UINT32_MAX, cuda::unknownError, text),
            COLL_OK);
  uint64_t calls = standinCalls() - before;
  ASSERT_GT(calls, 20u);
  unsigned errors = 0;
  for (uint64_t call = 0; call < calls; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    coll_status status = runWithFailure(plan, call, cuda::illegalAddress, text);
    EXPECT_EQ(standinLeaks(1), 0);
    if (status == COLL_OK) // in a run with fewer polls
      continue;
    ++errors;
    expectContains(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  }
  EXPECT_GT(errors, 30u) << "of " << calls;
  // And after all this it works.
  EXPECT_EQ(runWithFailure(plan, UINT32_MAX, cuda::unknownError, text), COLL_OK)
      << text;
}
