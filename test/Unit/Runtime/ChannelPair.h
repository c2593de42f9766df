//===- ChannelPair.h - Both ends of channels in one process -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_RUNTIME_CHANNELPAIR_H
#define COLL_TEST_UNIT_RUNTIME_CHANNELPAIR_H

#include "HandChannel.h"
#include "runtime/transport/Transport.h"

#include <gtest/gtest.h>

#include <map>

namespace coll::test {

/// One rank: its transport and its ends.
struct Side final : ChannelSource {
  Side(int rank, const RingSizes &sizes)
      : rank(rank), transport(createHostTransport(sizes, 2)) {}

  Status channel(const ChannelId &id, Channel *&result) override {
    std::unique_ptr<Channel> &slot = ends[id];
    if (!slot) {
      slot = std::make_unique<Channel>();
      slot->id = id;
    }
    result = slot.get();
    return Status::ok();
  }
  Channel &end(const ChannelId &id) {
    Channel *result = nullptr;
    EXPECT_TRUE(channel(id, result).isOk());
    return *result;
  }
  /// An offer of these ends, as a message for the peer.
  Message offer(std::vector<ChannelId> ids) {
    std::vector<Channel *> list;
    for (const ChannelId &id : ids)
      list.push_back(&end(id));
    Message message;
    Status status = transport->offer(1 - rank, list, message);
    EXPECT_TRUE(status.isOk()) << status.text();
    return message;
  }
  Status attach(Message message) {
    std::vector<Channel *> attached;
    return transport->attach(1 - rank, std::move(message), *this, attached);
  }

  int rank;
  std::unique_ptr<Transport> transport;
  std::map<ChannelId, std::unique_ptr<Channel>> ends;
};

/// Ranks 0 and 1 with channels 0 .. numTags from 0 to 1, connected.
class ChannelPair {
public:
  /// Two mappings of one memory are two memories for a thread sanitizer; with
  /// `shareMappings` both ends use the owner's.
  explicit ChannelPair(const RingSizes &sizes, uint32_t numTags = 1,
                       bool shareMappings = false)
      : from(0, sizes), to(1, sizes) {
    std::vector<ChannelId> sends, receives;
    for (uint32_t tag = 0; tag != numTags; ++tag) {
      sends.push_back({1, tag, true});
      receives.push_back({0, tag, false});
    }
    Message fromSender = from.offer(sends);
    EXPECT_TRUE(to.attach(std::move(fromSender)).isOk());
    EXPECT_TRUE(from.attach(to.offer(receives)).isOk());
    for (uint32_t tag = 0; shareMappings && tag != numTags; ++tag) {
      coll_end &send = sender(tag).end, &receive = receiver(tag).end;
      send.line = receive.line;
      send.slots = receive.slots;
      send.small = receive.small;
      receive.credit = send.credit;
    }
  }
  Channel &sender(uint32_t tag = 0) { return from.end({1, tag, true}); }
  Channel &receiver(uint32_t tag = 0) { return to.end({0, tag, false}); }

  Side from, to;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_CHANNELPAIR_H
