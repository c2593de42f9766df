//===- FailureTest.cpp - How a communicator ends --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"
#include "runtime/core/Communicator.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace coll;
using namespace coll::test;

namespace {

class FailureTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'";
}

TEST_F(FailureTest, AnAbortReachesAllRanksWithItsReason) {
  withComms(4, [](int rank, coll_comm *comm) {
    if (rank == 2) {
      std::thread other([&] { coll_comm_abort(comm, "out of patience"); });
      other.join();
    }
    coll_error error = awaitError(comm);
    EXPECT_EQ(error.status, COLL_ABORTED);
    EXPECT_EQ(error.rank, 2);
    EXPECT_STREQ(error.text, "rank 2 aborted: out of patience");
    EXPECT_EQ(coll_comm_destroy(comm), COLL_ABORTED);
    EXPECT_STREQ(coll_last_error(), "rank 2 aborted: out of patience");
  });
}

TEST_F(FailureTest, KernelsOfPeersSeeAnAbortWithoutTheirMonitors) {
  std::atomic<int> ready{0};
  withComms(3, [&](int rank, coll_comm *comm) {
    comm->control().stop();
    ++ready;
    if (rank == 1) {
      while (ready != 3)
        sleepMs(1);
      comm->fail({COLL_TIMEOUT, -1, 0, "", "late"});
    }
    EXPECT_EQ(awaitError(comm).status, COLL_TIMEOUT);
    coll_comm_destroy(comm);
  });
}

TEST_F(FailureTest, TheFirstErrorWins) {
  withComms(3, [](int rank, coll_comm *comm) {
    if (rank != 0)
      awaitError(comm);
    coll_comm_abort(comm, rank == 0 ? "first" : "later");
    EXPECT_STREQ(errorOf(comm).text, "rank 0 aborted: first");
    coll_comm_destroy(comm);
  });
}

TEST_F(FailureTest, ErrorsAtOnceAreToldOnce) {
  for (int i = 0; i != 20; ++i)
    withComms(4, [](int, coll_comm *comm) {
      coll_comm_abort(comm, "all at once");
      coll_error first = errorOf(comm);
      sleepMs(5);
      coll_error second = errorOf(comm);
      EXPECT_EQ(first.text, second.text); // the same pointer
      coll_comm_destroy(comm);
    });
}

TEST_F(FailureTest, WhoAsksWhileOthersFailFindsOneWholeError) {
  auto textOf = [](int peer) { return std::string(200, char('a' + peer)); };
  for (int i = 0; i != 20; ++i)
    withComms(2, [&](int, coll_comm *comm) {
      std::vector<std::thread> threads;
      for (int peer : {0, 1}) {
        threads.emplace_back([&, peer] {
          comm->fail({COLL_TIMEOUT, -1, peer, "a.coll:1:1", textOf(peer)});
        });
        threads.emplace_back([&] {
          while (!comm->isAborted())
            sched_yield();
          const Error *error = comm->error();
          ASSERT_NE(error, nullptr);
          EXPECT_EQ(error->text, textOf(error->peer));
          EXPECT_EQ(error->where, "a.coll:1:1");
        });
      }
      for (std::thread &thread : threads)
        thread.join();
      coll_comm_destroy(comm);
    });
}

TEST_F(FailureTest, EverythingOfAnErrorReachesThePeers) {
  withComms(2, [](int rank, coll_comm *comm) {
    if (rank == 1)
      comm->fail({COLL_MISMATCH, -1, 0, "ring.coll:14:5", "two\nlines"});
    coll_error error = awaitError(comm);
    EXPECT_EQ(error.status, COLL_MISMATCH);
    EXPECT_EQ(error.rank, 1);
    EXPECT_EQ(error.peer, 0);
    EXPECT_STREQ(error.where, "ring.coll:14:5");
    EXPECT_STREQ(error.text, "two\nlines");
    EXPECT_TRUE(comm->isAborted());
    coll_comm_destroy(comm);
  });
}

TEST_F(FailureTest, ALongTextIsCutNotLost) {
  withComms(2, [](int rank, coll_comm *comm) {
    if (rank == 1)
      comm->fail({COLL_SYSTEM, -1, -1, std::string(500, 'w'),
                  std::string(100'000, 't')});
    coll_error error = awaitError(comm);
    EXPECT_GT(strlen(error.text), 10'000u);
    EXPECT_GT(strlen(error.where), 100u);
    coll_comm_destroy(comm);
  });
}

TEST_F(FailureTest, OnlySomeErrorsEndACommunicator) {
  withComms(1, [](int, coll_comm *comm) {
    for (coll_status mild : {COLL_INVALID, COLL_NO_PLAN, COLL_NO_MEMORY})
      EXPECT_EQ(comm->failWith(Status::error(mild, "mild")).code(), mild);
    EXPECT_EQ(errorOf(comm).status, COLL_OK);
    EXPECT_EQ(comm->failWith(Status::error(COLL_OVERLAP, "hard")).code(),
              COLL_OVERLAP);
    EXPECT_EQ(comm->failWith(Status::error(COLL_TIMEOUT, "later")).code(),
              COLL_OVERLAP);
    coll_comm_destroy(comm);
  });
}

TEST_F(FailureTest, AKilledRankIsLostToAllOthers) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(4, [&](int rank) -> std::string {
    coll_comm *comm;
    if (coll_comm_init(&comm, 4, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    if (rank == 2)
      raise(SIGKILL);
    coll_error error = awaitError(comm);
    if (error.status != COLL_PEER_LOST || error.peer != 2)
      return std::string("got: ") + error.text;
    std::string text = error.text;
    return coll_comm_destroy(comm) == COLL_PEER_LOST ? text : "destroy";
  });
  EXPECT_EQ(results[2], "signal 9");
  for (int rank : {0, 1, 3})
    expectContains(results[size_t(rank)], "rank 2 (pid ");
}

TEST_F(FailureTest, AKilledRankWhoseChildLivesIsLostToo) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    coll_comm *comm;
    if (coll_comm_init(&comm, 2, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    if (rank == 1) {
      if (fork() == 0) { // keeps all sockets open, but not the result's pipe
        struct stat info;
        for (int fd = 3; fd != 64; ++fd)
          if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode))
            close(fd);
        alarm(3);
        pause();
      }
      raise(SIGKILL);
    }
    std::string text = awaitError(comm).text;
    coll_comm_destroy(comm);
    return text;
  });
  // Not by the end of its connection, which the child keeps open.
  expectContains(results[0], "is gone: its process has ended");
}

TEST_F(FailureTest, DestroyNamesTheRanksThatDoNotCome) {
  coll_config config = deadlines(200);
  withComms(
      3,
      [](int rank, coll_comm *comm) {
        if (rank == 2) { // does not destroy it until the others gave up
          EXPECT_EQ(awaitError(comm).status, COLL_TIMEOUT);
        }
        EXPECT_EQ(coll_comm_destroy(comm), COLL_TIMEOUT);
        expectContains(coll_last_error(),
                       "coll_comm_destroy: rank 2 did not destroy the "
                       "communicator in time");
      },
      &config);
}

TEST_F(FailureTest, AnAbortWakesThoseWhoWaitToDestroy) {
  withComms(3, [](int rank, coll_comm *comm) {
    if (rank == 1) {
      sleepMs(20);
      coll_comm_abort(comm, "late");
    }
    EXPECT_EQ(coll_comm_destroy(comm), COLL_ABORTED);
  });
}

TEST_F(FailureTest, NothingIsLeftBehind) {
  withComms(2, [](int, coll_comm *comm) { coll_comm_destroy(comm); });
  Holdings before = Holdings::now();
  for (int i = 0; i != 5; ++i)
    withComms(3, [](int rank, coll_comm *comm) {
      void *ptr;
      // Peers answer before it returns, unless rank 0 is quicker.
      coll_status status = coll_mem_alloc(comm, 100, &ptr);
      EXPECT_TRUE(status == COLL_OK || (rank != 0 && status == COLL_ABORTED))
          << coll_last_error();
      if (rank == 0)
        coll_comm_abort(comm, "over");
      coll_comm_destroy(comm);
    });
  EXPECT_EQ(Holdings::now(), before);
}

} // namespace
