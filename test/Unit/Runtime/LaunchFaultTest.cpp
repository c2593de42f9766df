//===- LaunchFaultTest.cpp - What goes wrong in launches is told ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every fault ends in an error on every other rank, with a text that says which
// rank, where, and what for.  No test waits for a deadline that it does not
// mean to pass.
//
//===----------------------------------------------------------------------===//

#include "Launching.h"

#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace coll::test;

//===----------------------------------------------------------------------===//
// Ranks that are late, dead or stopped
//===----------------------------------------------------------------------===//

TEST(Late, RankThatNeverCalls) {
  HandPlan plan({ringAllreduce(3)});
  onThreads(
      3,
      [&](int rank, coll_comm *comm) {
        checkAllreduce(plan.plan(), rank, comm, 10);
        if (rank != 2) {
          EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_TIMEOUT);
        }
        coll_error error = awaitError(comm);
        EXPECT_EQ(error.status, COLL_TIMEOUT);
        expectContains(error.text, "rank 2 is before launch 2");
        expectContains(error.text, "hand.coll:1");
        expectContains(error.text, "chunk");
        EXPECT_NE(std::string(error.where).find("hand.coll:1"),
                  std::string::npos);
      },
      1500);
}

TEST(Late, RankThatNeverConnects) {
  HandPlan plan({ringAllreduce(3)});
  onThreads(
      3,
      [&](int rank, coll_comm *comm) {
        if (rank != 2) {
          EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_TIMEOUT);
        }
        coll_error error = awaitError(comm);
        EXPECT_EQ(error.status, COLL_TIMEOUT);
        expectContains(error.text, "hand_ring");
        expectContains(error.text, "rank 2 is before launch 1");
      },
      1500);
}

TEST(Late, RankThatHasLeft) {
  HandPlan plan({ringAllreduce(2)});
  RendezvousDirectory directory;
  withComms(2, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 10);
    if (rank == 0) {
      EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_PEER_LOST);
      expectContains(errorOf(comm).text, "rank 1 has destroyed");
    }
    EXPECT_EQ(coll_comm_destroy(comm), COLL_PEER_LOST);
  });
}

TEST(Late, KilledRank) {
  HandPlan plan({ringAllreduce(3)});
  SharedNumber done;
  std::vector<std::string> ends =
      onProcesses(3, [&](int rank, coll_comm *comm) {
        checkAllreduce(plan.plan(), rank, comm, 10);
        // Not while another still waits in the first launch: it would fail.
        done->fetch_add(1);
        while (rank == 1 && done->load() != 3)
          std::this_thread::yield();
        if (rank == 1)
          raise(SIGKILL);
        EXPECT_EQ(allreduce(plan.plan(), comm, 1000000), COLL_PEER_LOST);
        coll_error error = errorOf(comm);
        EXPECT_EQ(error.peer, 1);
        expectContains(error.text, "rank 1");
      });
  EXPECT_EQ(ends, (std::vector<std::string>{"", "signal 9", ""}));
}

TEST(Late, StoppedRank) {
  HandPlan plan({ringAllreduce(3)});
  SharedNumber stopped;
  std::vector<std::string> ends = onProcesses(
      3,
      [&](int rank, coll_comm *comm) {
        checkAllreduce(plan.plan(), rank, comm, 10);
        if (rank == 1) {
          stopped->store(getpid());
          raise(SIGSTOP);
        }
        EXPECT_EQ(allreduce(plan.plan(), comm, 1000000), COLL_TIMEOUT);
        expectContains(errorOf(comm).text, "rank 1 is stopped");
        if (rank == 0)
          kill(stopped->load(), SIGKILL);
      },
      1500);
  EXPECT_EQ(ends, (std::vector<std::string>{"", "signal 9", ""}));
}

TEST(Late, AbortFromAnotherThread) {
  HandPlan plan({ringAllreduce(3)});
  onThreads(3, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 10);
    if (rank == 0) {
      std::thread other([&] {
        sleepMs(20);
        EXPECT_EQ(coll_comm_abort(comm, "had enough"), COLL_OK);
      });
      EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_ABORTED);
      other.join();
    } else if (rank == 1) {
      EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_ABORTED);
    }
    expectContains(awaitError(comm).text, "had enough");
    EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_ABORTED);
  });
}

TEST(Late, AbortWhileConnecting) {
  HandPlan plan({ringAllreduce(2)});
  onThreads(2, [&](int rank, coll_comm *comm) {
    if (rank == 0) {
      EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_ABORTED);
    } else {
      EXPECT_EQ(coll_comm_abort(comm, "never mind"), COLL_OK);
    }
  });
}

//===----------------------------------------------------------------------===//
// One lane, one launch
//===----------------------------------------------------------------------===//

TEST(Overlap, SecondLaunchOnALaneIsAnError) {
  HandPlan plan({ringAllreduce(2)});
  onThreads(2, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 10);
    if (rank == 1) {
      awaitError(comm);
      return;
    }
    std::thread first(
        [&] { EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_OVERLAP); });
    sleepMs(50); // rank 1 does not come, so the first launch stays inside
    EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_OVERLAP);
    first.join();
    expectContains(errorOf(comm).text, "coll_comm_dup");
  });
}

TEST(Overlap, ForkedChildIsRefused) {
  HandPlan plan({ringAllreduce(1)});
  onThreads(1, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 10);
    int child = fork();
    if (child == 0)
      _exit(allreduce(plan.plan(), comm, 10) == COLL_INVALID ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    checkAllreduce(plan.plan(), rank, comm, 10);
  });
}

//===----------------------------------------------------------------------===//
// Calls that are refused, and nothing left behind
//===----------------------------------------------------------------------===//

TEST(Refusal, InvalidCallsLeaveTheCommunicatorUsable) {
  HandPlan plan({ringAllreduce(2)}), other({ringAllreduce(3)}),
      chain({chainBroadcast(2)});
  onThreads(2, [&](int rank, coll_comm *comm) {
    std::vector<int32_t> data(10);
    auto refused = [&](const coll_plan &plan, Call &call, coll_status status,
                       const std::string &text) {
      EXPECT_EQ(coll_launch(&plan, call, comm, nullptr), status);
      expectContains(coll_last_error(), text);
    };
    auto good = [&] {
      Call call;
      call.in(data.data()).count(5);
      return call;
    };
    Call noOut = good();
    refused(plan.plan(), noOut.out(nullptr), COLL_INVALID,
            "buffer 'out' is NULL");
    Call shifted = good();
    refused(plan.plan(), shifted.out(data.data() + 1), COLL_INVALID,
            "buffer 'in' and buffer 'out' share memory");
    Call f16(COLL_F16);
    refused(plan.plan(), f16.in(data.data()).out(&data[5]).count(1),
            COLL_INVALID, "built without --dtypes=f16 (it has i32, f32, f64)");
    Call prod(COLL_I32, COLL_PROD);
    refused(plan.plan(), prod.in(data.data()).out(&data[5]).count(1),
            COLL_INVALID, "built without --ops=prod (it has sum, min, max)");
    Call huge;
    refused(plan.plan(), huge.in(data.data()).out(&data[5]).count(SIZE_MAX),
            COLL_INVALID, "out of range");
    Call three = good();
    refused(other.plan(), three.out(&data[5]), COLL_NO_PLAN,
            "not compiled for 2 ranks (it is for 3)");
    Call far = good();
    refused(chain.plan(), far.out(&data[5]).root(2), COLL_INVALID,
            "root is 2, outside of its domain 0 .. 2");
    coll_plan devices = plan.plan();
    devices.nkernels = 0;
    devices.ndevice_kernels = 1;
    Call onHost = good();
    refused(devices, onHost.out(&data[5]), COLL_INVALID,
            "built for devices alone");
    EXPECT_EQ(coll_launch(&plan.plan(), Call(), comm, &data), COLL_INVALID);
    EXPECT_EQ(coll_launch(nullptr, Call(), comm, nullptr), COLL_INVALID);
    EXPECT_EQ(coll_launch(&plan.plan(), nullptr, comm, nullptr), COLL_INVALID);
    EXPECT_EQ(errorOf(comm).status, COLL_OK);
    checkAllreduce(plan.plan(), rank, comm, 1000);
  });
}

TEST(Refusal, RingsThatThePlanMayDeadlockIn) {
  const std::map<std::string, std::string> two = {{"COLL_SLOTS", "2"}};
  Variables sizes(two);
  HandPlan plan({ringAllreduce(1)});
  onThreads(1, [&](int, coll_comm *comm) {
    EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_INVALID);
    expectContains(coll_last_error(), "verified for rings of 4 slots");
  });
}

TEST(Leftovers, NothingAfterGoodAndBadEnds) {
  HandPlan plan({ringAllreduce(3, 2)}), chain({chainBroadcast(3)});
  auto good = [&] {
    onThreads(3, [&](int rank, coll_comm *comm) {
      checkAllreduce(plan.plan(), rank, comm, 100000);
    });
  };
  auto bad = [&] {
    onThreads(
        3,
        [&](int rank, coll_comm *comm) {
          checkAllreduce(plan.plan(), rank, comm, 10);
          if (rank != 0) {
            EXPECT_EQ(allreduce(plan.plan(), comm, 10), COLL_TIMEOUT);
          } else {
            awaitError(comm);
          }
        },
        700);
  };
  good(); // whatever the C library keeps once
  Holdings before = Holdings::now();
  for (int i = 0; i != 3; ++i) {
    good();
    bad();
  }
  Holdings after = Holdings::now();
  EXPECT_EQ(before.descriptors, after.descriptors);
  EXPECT_EQ(before.threads, after.threads);
  EXPECT_EQ(before.mappings, after.mappings);
}
