//===- SplitTest.cpp - Communicators from a communicator ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"
#include "runtime/core/Communicator.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {

class SplitTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

/// Sends one's old rank around the new communicator.
void checkMesh(coll_comm *sub, const std::vector<int> &oldRanks, int oldRank) {
  ASSERT_EQ(coll_comm_size(sub), int(oldRanks.size()));
  ASSERT_EQ(oldRanks[size_t(coll_comm_rank(sub))], oldRank);
  Deadline deadline = Deadline::after(20'000'000'000);
  for (int peer = 0; peer != coll_comm_size(sub); ++peer) {
    if (peer == coll_comm_rank(sub))
      continue;
    ASSERT_TRUE(sub->control()
                    .send(peer, kFirstLaneKind, 0,
                          std::as_bytes(std::span(&oldRank, 1)), {}, deadline)
                    .isOk());
  }
  for (int peer = 0; peer != coll_comm_size(sub); ++peer) {
    if (peer == coll_comm_rank(sub))
      continue;
    Message message;
    ASSERT_TRUE(sub->control()
                    .receive(peer, kFirstLaneKind, 0, deadline, message)
                    .isOk());
    int value;
    std::memcpy(&value, message.bytes.data(), sizeof value);
    EXPECT_EQ(value, oldRanks[size_t(peer)]);
  }
}

TEST_F(SplitTest, ColorsPartAndKeysOrder) {
  withComms(6, [](int rank, coll_comm *comm) {
    coll_comm *sub;
    // Even ranks backwards, odd ranks as they are.
    ASSERT_EQ(coll_comm_split(comm, rank % 2, rank % 2 == 0 ? -rank : 7, &sub),
              COLL_OK)
        << coll_last_error();
    checkMesh(sub, rank % 2 == 0 ? std::vector{4, 2, 0} : std::vector{1, 3, 5},
              rank);
    EXPECT_EQ(coll_comm_destroy(sub), COLL_OK);
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(SplitTest, ANegativeColorIsInNone) {
  withComms(3, [](int rank, coll_comm *comm) {
    coll_comm *sub = comm;
    ASSERT_EQ(coll_comm_split(comm, rank == 1 ? -5 : 0, 0, &sub), COLL_OK);
    EXPECT_EQ(sub == nullptr, rank == 1);
    if (sub)
      checkMesh(sub, {0, 2}, rank);
    EXPECT_EQ(coll_comm_destroy(sub), COLL_OK);
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(SplitTest, ADuplicateIsNoSplit) {
  withComms(2, [](int rank, coll_comm *comm) {
    coll_comm *sub = comm;
    EXPECT_EQ(rank == 0 ? coll_comm_dup(comm, &sub)
                        : coll_comm_split(comm, 0, 0, &sub),
              COLL_MISMATCH);
    std::string said = coll_last_error();
    EXPECT_NE(said.find("rank 0 has called coll_comm_dup, and rank 1 "
                        "coll_comm_split"),
              std::string::npos)
        << said;
    EXPECT_EQ(sub, nullptr);
    coll_comm_destroy(comm);
  });
}

TEST_F(SplitTest, ProcessesSplitAndTheParentMayGoFirst) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(4, [&](int rank) -> std::string {
    coll_comm *comm, *sub, *lane;
    if (coll_comm_init(&comm, 4, &id, rank, nullptr) != COLL_OK ||
        coll_comm_split(comm, rank / 2, 0, &sub) != COLL_OK ||
        coll_comm_dup(sub, &lane) != COLL_OK ||
        coll_comm_destroy(comm) != COLL_OK ||
        coll_comm_destroy(lane) != COLL_OK)
      return coll_last_error();
    int peer = rank < 2 ? 1 - rank : 5 - rank;
    checkMesh(sub, {std::min(rank, peer), std::max(rank, peer)}, rank);
    return coll_comm_destroy(sub) == COLL_OK ? "" : coll_last_error();
  });
  EXPECT_EQ(results, std::vector<std::string>(4));
}

TEST_F(SplitTest, AChildsErrorLeavesItsParent) {
  withComms(3, [](int rank, coll_comm *comm) {
    coll_comm *lane;
    ASSERT_EQ(coll_comm_dup(comm, &lane), COLL_OK);
    if (rank == 0)
      coll_comm_abort(lane, "only this one");
    EXPECT_EQ(awaitError(lane).status, COLL_ABORTED);
    EXPECT_EQ(coll_comm_destroy(lane), COLL_ABORTED);
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(SplitTest, AKilledRankIsLostToChildrenToo) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(3, [&](int rank) -> std::string {
    coll_comm *comm, *lane;
    if (coll_comm_init(&comm, 3, &id, rank, nullptr) != COLL_OK ||
        coll_comm_dup(comm, &lane) != COLL_OK)
      return coll_last_error();
    Deadline deadline = Deadline::after(20'000'000'000);
    Message message;
    if (rank == 0) { // when the others have it too
      for (int peer : {1, 2})
        if (!lane->control().receive(peer, 99, 0, deadline, message).isOk())
          return "message";
      raise(SIGKILL);
    }
    (void)lane->control().send(0, 99, 0, {}, {}, deadline);
    if (awaitError(lane).status != COLL_PEER_LOST ||
        awaitError(comm).status != COLL_PEER_LOST)
      return "not lost";
    coll_comm_destroy(lane);
    coll_comm_destroy(comm);
    return "";
  });
  EXPECT_EQ(results, (std::vector<std::string>{"signal 9", "", ""}));
}

TEST_F(SplitTest, ARankThatDoesNotComeIsNamed) {
  coll_config config = deadlines(20'000, 300);
  withComms(
      3,
      [](int rank, coll_comm *comm) {
        coll_comm *sub = nullptr;
        if (rank == 2)
          awaitError(comm);
        EXPECT_EQ(coll_comm_split(comm, 0, 0, &sub), COLL_TIMEOUT);
        EXPECT_EQ(sub, nullptr);
        EXPECT_STREQ(coll_last_error(),
                     "rank 2 has not come to split 1 of the communicator");
        EXPECT_EQ(coll_comm_destroy(comm), COLL_TIMEOUT);
      },
      &config);
}

TEST_F(SplitTest, NothingIsLeftBehind) {
  withComms(2, [](int, coll_comm *comm) { coll_comm_destroy(comm); });
  Holdings before = Holdings::now();
  withComms(4, [](int rank, coll_comm *comm) {
    for (int i = 0; i != 3; ++i) {
      coll_comm *sub;
      ASSERT_EQ(coll_comm_split(comm, rank % 2, 0, &sub), COLL_OK);
      coll_comm_destroy(sub);
    }
    coll_comm_destroy(comm);
  });
  EXPECT_EQ(Holdings::now(), before);
}

TEST_F(SplitTest, ShrinkSaysNotYet) {
  withComms(1, [](int, coll_comm *comm) {
    coll_comm *survivors = comm;
    EXPECT_EQ(coll_comm_shrink(comm, &survivors), COLL_INVALID);
    EXPECT_EQ(survivors, nullptr);
    coll_comm_destroy(comm);
  });
}

} // namespace
