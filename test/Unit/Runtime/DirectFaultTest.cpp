//===- DirectFaultTest.cpp - Faults amid launches that go direct ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that die, abort or are late while others store into their memory, load
// from it, or wait for them to do so: an error on every other rank.
//
//===----------------------------------------------------------------------===//

#include "DirectLaunches.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace coll;
using namespace coll::test;
using namespace coll::test::direct;

namespace {

/// A first launch, which all end.
Launch firstLaunch(const Compiled &schedule, int rank, coll_comm *comm,
                   Buffers &buffers) {
  Launch launch{schedule, most / 2, 0};
  launch.fill(rank, buffers.in(true));
  EXPECT_EQ(launch.run(comm, buffers.in(true), buffers.out(true)), COLL_OK);
  EXPECT_EQ(launch.numWrong(buffers.out(true)), 0u);
  launch.number = 1;
  launch.fill(rank, buffers.in(true));
  return launch;
}

TEST(DirectFault, ARankThatNeverCallsIsNamed) {
  for (const Compiled &schedule : schedules) {
    SCOPED_TRACE(schedule.name);
    onThreads(
        nranks,
        [&](int rank, coll_comm *comm) {
          Buffers buffers(comm);
          Launch launch = firstLaunch(schedule, rank, comm, buffers);
          launch.root = 2;
          if (rank != 2) {
            EXPECT_EQ(launch.run(comm, buffers.in(true), buffers.out(true)),
                      COLL_TIMEOUT);
          }
          coll_error error = awaitError(comm);
          EXPECT_EQ(error.status, COLL_TIMEOUT);
          expectContains(error.text, "rank 2 is before launch 2");
        },
        1500);
  }
}

TEST(DirectFault, AnAbortEndsItEverywhere) {
  for (const Compiled &schedule : schedules) {
    SCOPED_TRACE(schedule.name);
    onThreads(nranks, [&](int rank, coll_comm *comm) {
      Buffers buffers(comm);
      Launch launch = firstLaunch(schedule, rank, comm, buffers);
      launch.root = 2;
      std::thread other([&] {
        if (rank != 0)
          return;
        sleepMs(20);
        EXPECT_EQ(coll_comm_abort(comm, "had enough"), COLL_OK);
      });
      if (rank != 2) { // never comes
        EXPECT_EQ(launch.run(comm, buffers.in(true), buffers.out(true)),
                  COLL_ABORTED);
      }
      other.join();
      expectContains(awaitError(comm).text, "had enough");
      EXPECT_EQ(launch.run(comm, buffers.in(true), buffers.out(true)),
                COLL_ABORTED);
    });
  }
}

// One dies in the kernel, where it waits for another that has not come yet.
TEST(DirectFault, ARankKilledInsideIsLostToAll) {
  for (const Compiled &schedule : schedules) {
    SCOPED_TRACE(schedule.name);
    SharedNumber done;
    std::vector<std::string> ends =
        onProcesses(nranks, [&](int rank, coll_comm *comm) {
          Buffers buffers(comm);
          Launch launch = firstLaunch(schedule, rank, comm, buffers);
          launch.root = 2;
          done->fetch_add(1);
          while (done->load() < nranks)
            std::this_thread::yield();
          std::thread killer;
          if (rank == 1)
            killer = std::thread([] {
              sleepMs(30);
              raise(SIGKILL);
            });
          if (rank == 2)
            awaitError(comm);
          EXPECT_EQ(launch.run(comm, buffers.in(true), buffers.out(true)),
                    COLL_PEER_LOST);
          EXPECT_EQ(errorOf(comm).peer, 1);
          if (killer.joinable())
            killer.join();
        });
    EXPECT_EQ(ends, (std::vector<std::string>{"", "signal 9", ""}));
  }
}

// Wherever it is: others put into the dead rank's memory and get from it.
TEST(DirectFault, ARankKilledAtAnyTimeIsLostToAll) {
  for (int round = 0; round != 6; ++round) {
    const Compiled &schedule = schedules[round % 3];
    SCOPED_TRACE(schedule.name);
    SharedNumber done;
    std::vector<std::string> ends =
        onProcesses(nranks, [&](int rank, coll_comm *comm) {
          Buffers buffers(comm);
          Launch launch = firstLaunch(schedule, rank, comm, buffers);
          done->fetch_add(1);
          while (done->load() < nranks)
            std::this_thread::yield();
          std::thread killer;
          if (rank == 1)
            killer = std::thread([&] {
              std::this_thread::sleep_for(
                  std::chrono::microseconds(700 * (round + 1)));
              raise(SIGKILL);
            });
          coll_status status = COLL_OK;
          while (status == COLL_OK) {
            launch.fill(rank, buffers.in(true));
            status = launch.run(comm, buffers.in(true), buffers.out(true));
            if (status == COLL_OK) {
              EXPECT_EQ(launch.numWrong(buffers.out(true)), 0u);
            }
            launch.number += 1;
            launch.root = launch.number % nranks;
          }
          EXPECT_EQ(status, COLL_PEER_LOST);
          EXPECT_EQ(errorOf(comm).peer, 1);
          if (killer.joinable())
            killer.join();
        });
    EXPECT_EQ(ends, (std::vector<std::string>{"", "signal 9", ""}));
  }
}

} // namespace
