//===- Split.cpp - Communicators from a communicator ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A split needs no rendezvous: the parent's control mesh carries it.
//
//   1. every rank sends (color, key) to rank 0, which sends the table to all;
//   2. in each group, ordered by (key, old rank), the lower of two new ranks
//      makes the pair's connection and sends one end with its board; the higher
//      answers with its board.
//
// All messages of a step go out before any is waited for, and the mailbox takes
// them in any order, so nothing can block but a rank that does not call.  The
// key of all messages is the number of the split, which is the same on all
// ranks since splits are collective.  A split that fails half way has left its
// peers waiting, so it ends the parent.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CommunicatorFactory.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <tuple>

namespace coll {

namespace {

enum SplitKind : uint16_t {
  ChoiceKind = 8, // below kFirstLaneKind
  TableKind,
  LinkKind,  // lower new rank to higher: connection and board
  BoardKind, // higher to lower: board
};

/// Colors that no application can give.
enum : int32_t {
  kNowhere = -1,
  kDuplicate = -2, ///< coll_comm_dup: all ranks, in their order
};

struct Choice {
  int32_t color = 0, key = 0;
  uint64_t launches = 0; ///< before this call

  SplitRecord record(uint64_t number) const {
    return {number, launches, color == kDuplicate};
  }
  void write(WireWriter &writer) const {
    writer.write<int32_t>(color).write<int32_t>(key).write<uint64_t>(launches);
  }
  void read(WireReader &reader) {
    color = reader.read<int32_t>();
    key = reader.read<int32_t>();
    launches = reader.read<uint64_t>();
  }
};

class Splitter {
public:
  Splitter(Communicator &parent, uint64_t number)
      : parent(parent), control(parent.control()), number(number),
        deadline(parent.initDeadline()) {}

  Status exchangeChoices(Choice own, std::vector<Choice> &table);
  Status connect(const std::vector<int> &group, int own, Meeting &meeting);

private:
  Status gather(Choice own, std::vector<Choice> &table);
  Status sendTable(const std::vector<Choice> &table);
  Status receiveTable(std::vector<Choice> &table);
  Status sendOwn(const std::vector<int> &group, int own, const UniqueFd &board,
                 Meeting &meeting);
  Status receivePeers(const std::vector<int> &group, int own, Meeting &meeting);
  Status take(int peer, uint16_t kind, size_t nfds, Message &message);

  Communicator &parent;
  Control &control;
  const uint64_t number;
  const Deadline deadline;
};

} // namespace

static constexpr uint64_t graceNs = 2'000'000'000;
static constexpr size_t choicesPerMessage = 4096;
static_assert(choicesPerMessage * sizeof(Choice) <= kMaxMessageBytes);

Status Splitter::take(int peer, uint16_t kind, size_t nfds, Message &message) {
  // Rank 0 knows who is missing, so who waits for its table waits longer.
  Deadline until = kind == TableKind ? deadline.later(graceNs) : deadline;
  Status taken = control.receive(peer, kind, number, until, message);
  if (taken.code() == COLL_TIMEOUT)
    return Status::error(COLL_TIMEOUT,
                         "rank %d has not come to split %llu of the "
                         "communicator",
                         peer, (unsigned long long)number)
        .withPeer(peer);
  COLL_TRY(std::move(taken));
  if (message.fds.size() != nfds)
    return Status::error(COLL_SYSTEM,
                         "rank %d sent %zu descriptors for a split, not %zu",
                         peer, message.fds.size(), nfds)
        .withPeer(peer);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Who goes where
//===----------------------------------------------------------------------===//

static Status malformed(int peer) {
  return Status::error(COLL_SYSTEM, "rank %d sent a malformed split message",
                       peer)
      .withPeer(peer);
}

Status Splitter::gather(Choice own, std::vector<Choice> &table) {
  table.assign(size_t(parent.size()), own);
  for (int peer = 1; peer != parent.size(); ++peer) {
    Message message;
    COLL_TRY(take(peer, ChoiceKind, 0, message));
    WireReader reader(message.bytes);
    table[size_t(peer)].read(reader);
    if (!reader.finish())
      return malformed(peer);
  }
  return Status::ok();
}

Status Splitter::sendTable(const std::vector<Choice> &table) {
  for (size_t begin = 0; begin < table.size(); begin += choicesPerMessage) {
    size_t end = std::min(begin + choicesPerMessage, table.size());
    WireWriter writer;
    for (size_t i = begin; i != end; ++i)
      table[i].write(writer);
    for (int peer = 1; peer != parent.size(); ++peer)
      COLL_TRY(
          control.send(peer, TableKind, number, writer.bytes(), {}, deadline));
  }
  return Status::ok();
}

Status Splitter::receiveTable(std::vector<Choice> &table) {
  while (table.size() != size_t(parent.size())) {
    Message message;
    COLL_TRY(take(0, TableKind, 0, message));
    WireReader reader(message.bytes);
    size_t count = message.bytes.size() / sizeof(Choice);
    if (count == 0 || count > size_t(parent.size()) - table.size())
      return malformed(0);
    for (size_t i = 0; i != count; ++i) {
      table.emplace_back().read(reader);
    }
    if (!reader.finish())
      return malformed(0);
  }
  return Status::ok();
}

Status Splitter::exchangeChoices(Choice own, std::vector<Choice> &table) {
  if (parent.rank() == 0) {
    COLL_TRY(gather(own, table));
    return sendTable(table);
  }
  WireWriter writer;
  own.write(writer);
  COLL_TRY(control.send(0, ChoiceKind, number, writer.bytes(), {}, deadline));
  return receiveTable(table);
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

Status Splitter::sendOwn(const std::vector<int> &group, int own,
                         const UniqueFd &board, Meeting &meeting) {
  for (int peer = 0; peer != int(group.size()); ++peer) {
    if (peer == own)
      continue;
    int old = group[size_t(peer)];
    if (peer < own) {
      const int fds[1] = {board.get()};
      COLL_TRY(control.send(old, BoardKind, number, {}, fds, deadline));
      continue;
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      return Status::system(errno, "cannot connect to rank %d", old);
    meeting.links[size_t(peer)].socket.reset(ends[0]);
    UniqueFd theirs(ends[1]);
    const int fds[2] = {theirs.get(), board.get()};
    COLL_TRY(control.send(old, LinkKind, number, {}, fds, deadline));
  }
  return Status::ok();
}

Status Splitter::receivePeers(const std::vector<int> &group, int own,
                              Meeting &meeting) {
  for (int peer = 0; peer != int(group.size()); ++peer) {
    if (peer == own)
      continue;
    int old = group[size_t(peer)];
    bool isLower = peer < own;
    Message message;
    COLL_TRY(
        take(old, isLower ? LinkKind : BoardKind, isLower ? 2 : 1, message));
    PeerLink &link = meeting.links[size_t(peer)];
    if (isLower)
      link.socket = std::move(message.fds[0]);
    COLL_TRY(Board::open(message.fds.back(), peer, int(group.size()),
                         meeting.boards[size_t(peer)]));
    link.pid = control.peerPid(old);
    if (control.peerPidfd(old).isValid())
      link.pidfd.reset(fcntl(control.peerPidfd(old).get(), F_DUPFD_CLOEXEC, 0));
  }
  return Status::ok();
}

Status Splitter::connect(const std::vector<int> &group, int own,
                         Meeting &meeting) {
  meeting.boards = std::vector<Board>(group.size());
  meeting.links = std::vector<PeerLink>(group.size());
  UniqueFd board;
  COLL_TRY(Board::create(own, int(group.size()), board,
                         meeting.boards[size_t(own)]));
  COLL_TRY(sendOwn(group, own, board, meeting));
  return receivePeers(group, own, meeting);
}

/// The old ranks of my group in the order of their new ranks.
static std::vector<int> groupOf(const std::vector<Choice> &table, int color) {
  std::vector<int> group;
  for (int rank = 0; rank != int(table.size()); ++rank)
    if (table[size_t(rank)].color == color)
      group.push_back(rank);
  std::sort(group.begin(), group.end(), [&table](int a, int b) {
    return std::tuple(table[size_t(a)].key, a) <
           std::tuple(table[size_t(b)].key, b);
  });
  return group;
}

/// All ranks duplicate, or all split, and after the same launches.
static Status checkCalls(const std::vector<Choice> &table, uint64_t number) {
  SplitRecord first = table[0].record(number);
  for (int rank = 1; rank != int(table.size()); ++rank) {
    SplitRecord other = table[size_t(rank)].record(number);
    if (other.isDuplicate != first.isDuplicate)
      return Status::error(COLL_MISMATCH,
                           "rank 0 has called %s, and rank %d %s", first.call(),
                           rank, other.call())
          .withPeer(rank);
    if (other.launches != first.launches)
      return Status::error(COLL_MISMATCH,
                           "rank 0 has called %s, and rank %d %s",
                           first.text().c_str(), rank, other.text().c_str())
          .withPeer(rank);
  }
  return Status::ok();
}

Status CommunicatorFactory::duplicate(Communicator &parent,
                                      std::unique_ptr<coll_comm> &result) {
  return derive(parent, kDuplicate, 0, result);
}

Status CommunicatorFactory::split(Communicator &parent, int color, int key,
                                  std::unique_ptr<coll_comm> &result) {
  return derive(parent, std::max<int32_t>(color, kNowhere), key, result);
}

Status CommunicatorFactory::derive(Communicator &parent, int color, int key,
                                   std::unique_ptr<coll_comm> &result) {
  result.reset();
  COLL_TRY(parent.status());
  uint64_t number = ++parent.numSplits;
  // Others wait for this rank, so that no error leaves the parent as it was.
  return parent.commit([&]() -> Status {
    Splitter splitter(parent, number);
    Choice own = {color, key, parent.board().entered()};
    parent.board().enterSplit(own.record(number));
    std::vector<Choice> table;
    COLL_TRY(splitter.exchangeChoices(own, table));
    COLL_TRY(checkCalls(table, number));
    if (color == kNowhere)
      return Status::ok();
    std::vector<int> group = groupOf(table, color);
    auto place = std::find(group.begin(), group.end(), parent.rank());
    if (place == group.end())
      return malformed(0);
    Meeting meeting;
    meeting.membership = parent.membership;
    meeting.membership.rank = int(place - group.begin());
    meeting.membership.nranks = int(group.size());
    // Another name for every child: a step of a multiplicative hash.
    meeting.membership.id =
        (parent.id() + number) * 0x9e37'79b9'7f4a'7c15 + uint32_t(color);
    COLL_TRY(splitter.connect(group, meeting.membership.rank, meeting));
    COLL_TRY(assemble(parent.env, parent.waitNs, parent.initNs,
                      std::move(meeting), result));
    result->reached = parent.reached;
    result->reachedByThreads = parent.reachedByThreads;
    return complete(*result);
  });
}

} // namespace coll
