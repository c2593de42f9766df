//===- BoardTest.cpp - What peers can see of a rank -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"
#include "runtime/core/Clock.h"
#include "runtime/core/Communicator.h"

#include <barrier>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

class BoardTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

LaunchRecord recordOf(uint64_t launch) {
  LaunchRecord record;
  record.launch = launch;
  record.planDigest = 0xabc;
  record.contractHash = 0xdef;
  record.count = 1000;
  record.hasCount = 1;
  record.dtype = COLL_F32;
  record.op = COLL_SUM;
  copyText(record.plan, sizeof record.plan, "allreduce_ring");
  copyText(record.contract, sizeof record.contract, "allreduce");
  return record;
}

Position positionOf(uint64_t launch, int peer, const char *where,
                    const char *what, uint32_t state = COLL_STATE_WAIT_DATA) {
  Position position;
  position.launch = launch;
  position.sinceNs = monotonicNs();
  position.peer = peer;
  position.state = state;
  copyText(position.where, sizeof position.where, where);
  copyText(position.what, sizeof position.what, what);
  return position;
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'";
}

/// Enters and leaves launches up to `last`, then enters it.
void launchUpTo(Board &board, uint64_t last) {
  for (uint64_t launch = board.entered() + 1; launch <= last; ++launch) {
    board.enterLaunch(recordOf(launch));
    if (launch != last)
      board.leaveLaunch();
  }
}

TEST_F(BoardTest, ARecordOfTheSameTextsIsTheSameButForItsNumbers) {
  UniqueFd fd;
  Board own, seen;
  ASSERT_TRUE(Board::create(0, 1, fd, own).isOk());
  ASSERT_TRUE(Board::open(fd, 0, 1, seen).isOk());
  launchUpTo(own, kBoardRecords);
  own.leaveLaunch();
  LaunchRecord record = recordOf(kBoardRecords + 1);
  record.count = 7;
  record.sig = 8;
  record.op = COLL_MAX;
  LaunchRecord numbers = record; // its texts do not count
  copyText(numbers.plan, sizeof numbers.plan, "another");
  own.enterAgain(numbers);
  EXPECT_EQ(seen.entered(), kBoardRecords + 1);
  LaunchRecord found;
  ASSERT_EQ(seen.readLaunch(kBoardRecords + 1, found), Board::Read::Ok);
  EXPECT_EQ(std::memcmp(&found, &record, sizeof record), 0);
  EXPECT_EQ(seen.readLaunch(1, found), Board::Read::Absent);
}

TEST_F(BoardTest, TheLastLaunchesAreRemembered) {
  UniqueFd fd;
  Board own, seen;
  ASSERT_TRUE(Board::create(1, 2, fd, own).isOk());
  ASSERT_TRUE(Board::open(fd, 1, 2, seen).isOk());
  EXPECT_EQ(seen.entered(), 0u);
  LaunchRecord record;
  EXPECT_EQ(seen.readLaunch(0, record), Board::Read::Absent);
  EXPECT_EQ(seen.readLaunch(1, record), Board::Read::Absent);
  launchUpTo(own, 100);
  EXPECT_EQ(seen.entered(), 100u);
  EXPECT_EQ(seen.finished(), 99u);
  EXPECT_EQ(seen.readLaunch(36, record), Board::Read::Absent);
  for (uint64_t launch = 37; launch <= 100; ++launch) {
    ASSERT_EQ(seen.readLaunch(launch, record), Board::Read::Ok);
    EXPECT_EQ(record.launch, launch);
    EXPECT_STREQ(record.plan, "allreduce_ring");
  }
  EXPECT_EQ(seen.readLaunch(101, record), Board::Read::Absent);
}

TEST_F(BoardTest, PositionsComeAndGo) {
  UniqueFd fd;
  Board own, seen;
  ASSERT_TRUE(Board::create(0, 2, fd, own).isOk());
  ASSERT_TRUE(Board::open(fd, 0, 2, seen).isOk());
  Position position;
  EXPECT_EQ(seen.readPosition(kMaxBlocks - 1, position), Board::Read::Absent);
  own.publishPosition(kMaxBlocks - 1,
                      positionOf(3, 1, "ring.coll:14:5", "recv"));
  ASSERT_EQ(seen.readPosition(kMaxBlocks - 1, position), Board::Read::Ok);
  EXPECT_EQ(position.peer, 1);
  EXPECT_STREQ(position.where, "ring.coll:14:5");
  own.publishPosition(kMaxBlocks - 1, Position());
  EXPECT_EQ(seen.readPosition(kMaxBlocks - 1, position), Board::Read::Absent);
}

TEST_F(BoardTest, AnErrorIsThereOnceTheWordIs) {
  UniqueFd fd;
  Board own, seen;
  ASSERT_TRUE(Board::create(0, 2, fd, own).isOk());
  ASSERT_TRUE(Board::open(fd, 0, 2, seen).isOk());
  Error error;
  EXPECT_FALSE(seen.readError(error));
  own.publishError({COLL_TIMEOUT, 0, 1, "a.coll:1:1", "why"});
  own.abort(0);
  own.abort(1); // the first stands
  EXPECT_EQ(seen.abortWord(), 1u);
  ASSERT_TRUE(seen.readError(error));
  EXPECT_EQ(error.status, COLL_TIMEOUT);
  EXPECT_EQ(error.text, "why");
}

TEST_F(BoardTest, AnotherRanksBoardIsRefused) {
  UniqueFd fd;
  Board own, seen;
  ASSERT_TRUE(Board::create(0, 2, fd, own).isOk());
  EXPECT_EQ(Board::open(fd, 1, 2, seen).code(), COLL_SYSTEM);
  EXPECT_EQ(Board::open(fd, 0, 3, seen).code(), COLL_SYSTEM);
  UniqueFd other;
  ASSERT_TRUE(createSealedMemory("coll-test", 1 << 20, other).isOk());
  EXPECT_EQ(Board::open(other, 0, 2, seen).code(), COLL_SYSTEM);
  ASSERT_TRUE(createSealedMemory("coll-test", 4096, other).isOk());
  EXPECT_EQ(Board::open(other, 0, 2, seen).code(), COLL_SYSTEM);
}

TEST_F(BoardTest, TheReportNamesWhoIsLateAndWhoWaitsWhere) {
  // No split: it would find that rank 3 has launched less.
  std::barrier together(4);
  withComms(4, [&together](int rank, coll_comm *comm) {
    launchUpTo(comm->board(), rank == 3 ? 17 : 18);
    if (rank == 3)
      comm->board().leaveLaunch();
    else
      comm->board().publishPosition(
          0, positionOf(18, (rank + 3) % 4, "ring.coll:14:5",
                        "recv acc[c] from prev, chunk 2"));
    // All have written before any reads, and none leaves before all have read.
    together.arrive_and_wait();
    std::string report = comm->hangReport();
    together.arrive_and_wait();
    expectContains(report, "rank 3 is before launch 18 (left launch 17 ");
    expectContains(report, "; ranks 0..2 wait in ring.coll:14:5\n");
    expectContains(report, "\n  rank 0 waits for rank 3 in ring.coll:14:5 "
                           "(recv acc[c] from prev, chunk 2) since ");
    expectContains(report, "\nlaunch 18: allreduce by allreduce_ring, count "
                           "1000, f32, sum");
    coll_comm_destroy(comm);
  });
}

TEST_F(BoardTest, TheReportShowsLaunchesThatDiffer) {
  withComms(3, [](int rank, coll_comm *comm) {
    LaunchRecord record = recordOf(1);
    if (rank == 2)
      record.count = 999;
    comm->board().enterLaunch(record);
    comm->board().publishPosition(0,
                                  positionOf(1, (rank + 1) % 3, "a.coll:2:3",
                                             "send", COLL_STATE_WAIT_CREDIT));
    coll_comm *barrier = nullptr;
    ASSERT_EQ(coll_comm_dup(comm, &barrier), COLL_OK);
    std::string report = comm->hangReport();
    std::string pair = comm->describeLaunches(1, rank == 2 ? 0 : 2);
    ASSERT_EQ(coll_comm_destroy(barrier), COLL_OK);
    expectContains(report, "rank 0 waits for room at rank 1 in a.coll:2:3");
    expectContains(report,
                   "the ranks' launches 1 differ: count 1000 on rank 0, 999 on "
                   "rank 2\n  ranks 0 and 1: allreduce by allreduce_ring, "
                   "count 1000, f32, sum\n  rank 2: allreduce by "
                   "allreduce_ring, count 999, f32, sum");
    if (rank == 0) {
      EXPECT_EQ(pair,
                "launch 1 differs between ranks 0 and 2: count 1000 on rank 0, "
                "999 on rank 2\n  rank 0: allreduce by allreduce_ring, count "
                "1000, f32, sum\n  rank 2: allreduce by allreduce_ring, count "
                "999, f32, sum");
    }
    coll_comm_destroy(comm);
  });
}

TEST_F(BoardTest, DifferencesAreNamedByTheFirstField) {
  withComms(2, [](int rank, coll_comm *comm) {
    LaunchRecord records[5];
    for (uint64_t i = 0; i != 5; ++i)
      records[i] = recordOf(i + 1);
    if (rank == 1) {
      records[0].contractHash = 1;
      copyText(records[0].contract, 32, "broadcast");
      records[1].planDigest = 1;
      records[2].dtype = COLL_F64;
      records[3].op = COLL_MAX;
      records[4].launchValues[0] = 1;
    }
    records[4].nlaunch = 1;
    for (const LaunchRecord &record : records)
      comm->board().enterLaunch(record);
    coll_comm *barrier = nullptr;
    ASSERT_EQ(coll_comm_dup(comm, &barrier), COLL_OK);
    if (rank == 0) {
      expectContains(comm->describeLaunches(1, 1),
                     ": contract allreduce on rank 0, broadcast on rank 1\n");
      expectContains(comm->describeLaunches(2, 1),
                     ": plan allreduce_ring (0000000000000abc) on rank 0, "
                     "allreduce_ring (0000000000000001) on rank 1\n");
      expectContains(comm->describeLaunches(3, 1),
                     ": dtype f32 on rank 0, f64 on rank 1\n");
      expectContains(comm->describeLaunches(4, 1),
                     ": op sum on rank 0, max on rank 1\n");
      expectContains(comm->describeLaunches(5, 1),
                     ": launch value 0 on rank 0, 1 on rank 1\n");
      expectContains(comm->describeLaunches(6, 1), "no record of this launch");
    }
    coll_comm_destroy(barrier);
    coll_comm_destroy(comm);
  });
}

TEST_F(BoardTest, ADeadRanksPositionCanStillBeNamed) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    coll_comm *comm;
    if (coll_comm_init(&comm, 2, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    comm->board().enterLaunch(recordOf(1));
    comm->board().publishPosition(0,
                                  positionOf(1, 1 - rank, "x.coll:3:1", "r"));
    if (rank == 1)
      raise(SIGKILL);
    awaitError(comm);
    std::string report = comm->hangReport();
    coll_comm_destroy(comm);
    return report;
  });
  expectContains(results[0], "rank 1 is gone; rank 0 waits in x.coll:3:1\n");
  expectContains(results[0], "\n  rank 1 waits for rank 0 in x.coll:3:1");
}

} // namespace
