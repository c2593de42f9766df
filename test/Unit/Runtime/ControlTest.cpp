//===- ControlTest.cpp - Messages between ranks ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"
#include "runtime/core/Communicator.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace coll;
using namespace coll::test;

namespace {

constexpr uint16_t kind = kFirstLaneKind;

class ControlTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string textOf(const Message &message) {
  return {reinterpret_cast<const char *>(message.bytes.data()),
          message.bytes.size()};
}

Deadline soon() { return Deadline::after(50'000'000); }
Deadline far() { return Deadline::after(20'000'000'000); }

TEST_F(ControlTest, MessagesAreTakenByPeerKindAndKey) {
  withComms(3, [](int rank, coll_comm *comm) {
    Control &control = comm->control();
    for (int peer = 0; peer != 3; ++peer) {
      if (peer == rank)
        continue;
      for (uint64_t key : {1, 2})
        for (uint16_t k : {kind, uint16_t(kind + 1)})
          for (int n : {0, 1}) {
            std::string text =
                format("%d>%d %u %d %d", rank, peer, k - kind, int(key), n);
            ASSERT_TRUE(
                control.send(peer, k, key, bytesOf(text), {}, far()).isOk());
          }
    }
    for (uint16_t k : {uint16_t(kind + 1), kind}) // not the order of sending
      for (uint64_t key : {2, 1})
        for (int peer = 2; peer >= 0; --peer) {
          if (peer == rank)
            continue;
          for (int n : {0, 1}) { // but that of one peer, kind and key
            Message message;
            ASSERT_TRUE(control.receive(peer, k, key, far(), message).isOk());
            EXPECT_EQ(textOf(message), format("%d>%d %u %d %d", peer, rank,
                                              k - kind, int(key), n));
          }
        }
    coll_comm_destroy(comm);
  });
}

TEST_F(ControlTest, DescriptorsTravel) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    coll_comm *comm;
    if (coll_comm_init(&comm, 2, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    UniqueFd mine;
    MappedMemory map;
    if (!createSealedMemory("coll-test", 4096, mine).isOk() ||
        !MappedMemory::map(mine, 0, 4096, MappedMemory::ReadWrite, map).isOk())
      return "memory";
    *static_cast<int *>(map.get()) = 100 + rank;
    const int fds[] = {mine.get()};
    Message message;
    if (!comm->control().send(1 - rank, kind, 0, {}, fds, far()).isOk() ||
        !comm->control().receive(1 - rank, kind, 0, far(), message).isOk())
      return "messages";
    MappedMemory theirs;
    if (message.fds.size() != 1 ||
        !checkSealedMemory(message.fds[0], 4096).isOk() ||
        !MappedMemory::map(message.fds[0], 0, 4096, MappedMemory::ReadOnly,
                           theirs)
             .isOk())
      return "descriptor";
    int value = *static_cast<int *>(theirs.get());
    coll_comm_destroy(comm);
    return value == 101 - rank ? "" : "value";
  });
  EXPECT_EQ(results, std::vector<std::string>(2));
}

TEST_F(ControlTest, ADeadlineEndsAReceiveAndNothingElse) {
  withComms(2, [](int rank, coll_comm *comm) {
    Control &control = comm->control();
    Message message;
    if (rank == 0) {
      Status status = control.receive(1, kind, 0, soon(), message);
      EXPECT_EQ(status.code(), COLL_TIMEOUT);
      EXPECT_EQ(status.peer(), 1);
      EXPECT_TRUE(control.send(1, kind, 0, {}, {}, far()).isOk());
    } else { // stays until then
      EXPECT_TRUE(control.receive(0, kind, 0, far(), message).isOk());
    }
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(ControlTest, AnAbortEndsAReceive) {
  std::atomic<int> woken{0};
  withComms(3, [&](int rank, coll_comm *comm) {
    if (rank == 0) {
      sleepMs(20);
      coll_comm_abort(comm, "enough");
      // Stays, so that it is the abort that wakes them and not its leaving.
      for (int i = 0; i != 10'000 && woken != 2; ++i)
        sleepMs(1);
      EXPECT_EQ(woken, 2);
    } else {
      Message message;
      Status status =
          comm->control().receive(3 - rank, kind, 0, far(), message);
      EXPECT_EQ(status.code(), COLL_ABORTED);
      EXPECT_EQ(status.text(), "rank 0 aborted: enough");
      ++woken;
    }
    coll_comm_destroy(comm);
  });
}

TEST_F(ControlTest, WhatAPeerSentBeforeItLeftIsThere) {
  withComms(2, [](int rank, coll_comm *comm) {
    Control &control = comm->control();
    if (rank == 0) {
      EXPECT_TRUE(control.send(1, kind, 0, bytesOf("last"), {}, far()).isOk());
      EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
      return;
    }
    while (control.peerState(0) == Control::PeerState::Present)
      sleepMs(1);
    Message message;
    EXPECT_TRUE(control.receive(0, kind, 0, far(), message).isOk());
    EXPECT_EQ(textOf(message), "last");
    Status status = control.receive(0, kind, 0, Deadline::never(), message);
    EXPECT_EQ(status.code(), COLL_PEER_LOST);
    EXPECT_EQ(status.text(), "rank 0 has left: it destroyed the communicator");
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(ControlTest, AMailboxThatNobodyEmptiesEndsTheCommunicator) {
  withComms(2, [](int rank, coll_comm *comm) {
    if (rank == 0)
      for (size_t i = 0; i <= kMaxPendingMessages; ++i)
        if (!comm->control().send(1, kind, i, {}, {}, far()).isOk())
          break;
    coll_error error = awaitError(comm);
    EXPECT_EQ(error.status, COLL_SYSTEM);
    EXPECT_EQ(error.rank, 1);
    EXPECT_EQ(error.peer, 0);
    EXPECT_STREQ(error.text,
                 "rank 0 sent more than 4096 messages that nobody took");
    coll_comm_destroy(comm);
  });
}

TEST_F(ControlTest, AStoppedPeerFillsUpAndTimesOut) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    coll_comm *comm;
    if (coll_comm_init(&comm, 2, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    if (rank == 1) {
      raise(SIGSTOP);
      awaitError(comm);
      coll_comm_destroy(comm);
      return "";
    }
    std::vector<std::byte> large(kMaxMessageBytes);
    Status status;
    for (int i = 0; i != 1000 && status.isOk(); ++i)
      status = comm->control().send(1, kind, 0, large, {},
                                    Deadline::after(300'000'000));
    std::string result = status.text() + " / " + comm->hangReport();
    kill(comm->control().peerPid(1), SIGCONT);
    comm->fail(std::move(status).toError());
    coll_comm_destroy(comm);
    return result;
  });
  EXPECT_EQ(results[0], "rank 1 does not read its messages: it is stopped or "
                        "overloaded / rank 1 is stopped (by a signal)");
  EXPECT_EQ(results[1], "");
}

TEST_F(ControlTest, ABrokenFrameEndsTheCommunicator) {
  // Straight into the mesh, which the rest of the library cannot do.
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd ours(ends[1]);
  std::vector<PeerLink> links(2);
  links[1].socket.reset(ends[0]);
  std::atomic<int> lost{0}, errors{0};
  std::string text;
  ControlEvents events;
  events.onAbort = [](int) {};
  events.onPeerLost = [&](int, std::string) { ++lost; };
  events.onError = [&](Status status) {
    text = status.text();
    ++errors;
  };
  {
    std::unique_ptr<Control> control;
    ASSERT_TRUE(Control::create(0, std::move(links), events, control).isOk());
    ASSERT_TRUE(control->start().isOk());
    ASSERT_EQ(send(ours.get(), "garbage", 7, 0), 7);
    for (int i = 0; i != 10'000 && errors == 0; ++i)
      sleepMs(1);
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(text, "rank 1: a packet of 7 bytes is not a frame of coll");
}

} // namespace
