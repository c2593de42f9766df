//===- Channel.cpp - The channels of a lane -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Channel.h"

#include <algorithm>
#include <cassert>

namespace coll {

Channels::Channels(Communicator &comm)
    : comm(comm), link(createHostTransport(comm.rings(), comm.size())) {}

Status Channels::channel(const ChannelId &id, Channel *&result) {
  if (id.tag >= kMaxChannelTags)
    return Status::error(COLL_INVALID,
                         "channel %u to rank %u: there are at most %u channels "
                         "from one rank to another",
                         id.tag, id.peer, kMaxChannelTags);
  std::unique_ptr<Channel> &slot = table[id];
  if (!slot) {
    slot = std::make_unique<Channel>();
    slot->id = id;
  }
  result = slot.get();
  return Status::ok();
}

Status Channels::offer(std::span<const ChannelId> ids) {
  std::lock_guard lock(mutex);
  std::vector<Channel *> wanted;
  for (const ChannelId &id : ids) {
    if (id.peer >= uint32_t(comm.size()))
      return Status::error(COLL_INVALID,
                           "the plan has a channel with rank %u, but there are "
                           "%d ranks",
                           id.peer, comm.size());
    Channel *found = nullptr;
    COLL_TRY(channel(id, found));
    if (!found->isOffered)
      wanted.push_back(found);
  }
  return offerLocked(wanted);
}

Status Channels::deliver(int peer, Message message) {
  std::vector<Channel *> own;
  if (peer == comm.rank())
    return link->attach(peer, std::move(message), *this, own);
  std::vector<int> fds;
  for (const UniqueFd &fd : message.fds)
    fds.push_back(fd.get());
  return comm.control().send(peer, offerKind, 0, message.bytes, fds,
                             comm.deadline());
}

/// Sorts the channels by peer and offers them, many to a message.
Status Channels::offerLocked(std::span<Channel *const> channels) {
  std::vector<Channel *> sorted(channels.begin(), channels.end());
  std::sort(sorted.begin(), sorted.end(),
            [](Channel *a, Channel *b) { return a->id < b->id; });
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (size_t first = 0, last; first != sorted.size(); first = last) {
    int peer = int(sorted[first]->id.peer);
    for (last = first; last != sorted.size() &&
                       last - first != kMaxChannelsPerOffer &&
                       sorted[last]->id.peer == uint32_t(peer);)
      ++last;
    std::span<Channel *const> batch(&sorted[first], last - first);
    Message message;
    COLL_TRY(link->offer(peer, batch, message));
    // These channels are never offered again.
    COLL_TRY(comm.commit([&] { return deliver(peer, std::move(message)); }));
  }
  return Status::ok();
}

/// Attaches a peer's halves, and makes this rank's of those that have none.
Status Channels::take(int peer, Message message) {
  std::vector<Channel *> attached;
  COLL_TRY(link->attach(peer, std::move(message), *this, attached));
  std::erase_if(attached, [](Channel *c) { return c->isOffered; });
  return offerLocked(attached);
}

Status Channels::takeAll() {
  for (int peer = 0; peer != comm.size(); ++peer) {
    while (peer != comm.rank()) {
      Message message;
      Status status =
          comm.control().receive(peer, offerKind, 0, Deadline::at(0), message);
      // A peer that has left can no longer be in need of an answer.
      if (status.code() == COLL_TIMEOUT || status.code() == COLL_PEER_LOST)
        break;
      COLL_TRY(std::move(status));
      COLL_TRY(take(peer, std::move(message)));
    }
  }
  return Status::ok();
}

Status Channels::poll() {
  std::unique_lock lock(mutex, std::try_to_lock);
  return lock ? takeAll() : Status::ok();
}

Channel *Channels::firstIncomplete(std::span<const ChannelId> ids) {
  for (const ChannelId &id : ids) {
    Channel *channel = table.at(id).get();
    assert(channel->isOffered && "offer() comes before await()");
    if (!channel->isAttached)
      return channel;
  }
  return nullptr;
}

Status Channels::await(std::span<const ChannelId> ids, Deadline deadline,
                       const std::function<Status(int peer)> &check) {
  constexpr uint64_t lookAroundNs = 2'000'000;
  std::lock_guard lock(mutex);
  while (Channel *missing = firstIncomplete(ids)) {
    int peer = int(missing->id.peer);
    Message message;
    Status status = comm.control().receive(
        peer, offerKind, 0, Deadline::after(lookAroundNs), message);
    if (status.isOk()) {
      COLL_TRY(take(peer, std::move(message)));
      continue;
    }
    if (status.code() != COLL_TIMEOUT)
      return status;
    COLL_TRY(takeAll());
    COLL_TRY(check(peer));
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT,
                           "rank %d has not connected its channels", peer)
          .withPeer(peer);
  }
  return Status::ok();
}

const coll_end &Channels::end(const ChannelId &id) {
  std::lock_guard lock(mutex);
  const Channel &channel = *table.at(id);
  assert(channel.isComplete());
  return channel.end;
}

} // namespace coll
