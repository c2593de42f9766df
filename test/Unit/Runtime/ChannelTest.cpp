//===- ChannelTest.cpp - The contract of channels, on shared memory -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChannelPair.h"

#include <cstring>
#include <sched.h>
#include <thread>

using namespace coll;
using namespace coll::test;

namespace {

struct Shape {
  uint32_t k, slotBytes, smallBytes;
  bool isSmall;
};

RingSizes sizesOf(const Shape &shape) {
  RingSizes sizes;
  sizes.slots = sizes.smallSlots = shape.k;
  sizes.slotBytes = shape.slotBytes;
  sizes.smallBytes = shape.smallBytes;
  return sizes;
}

class ChannelContract : public testing::TestWithParam<Shape> {
protected:
  RingSizes sizes = sizesOf(GetParam());
  bool isSmall = GetParam().isSmall;
  size_t slotBytes =
      isSmall ? GetParam().smallBytes : size_t(GetParam().slotBytes);
  uint64_t k = GetParam().k, batch = std::max<uint64_t>(k / 2, 1);
};

/// Message i's bytes: from none to a whole slot.
size_t lengthOf(uint64_t message, size_t slotBytes) {
  return message % 5 == 0 ? slotBytes : message * 31 % (slotBytes + 1);
}
char byteOf(uint64_t message, size_t i) { return char(message * 7 + i * 3); }

TEST_P(ChannelContract, MessagesArriveWholeAndInOrder) {
  ChannelPair pair(sizes, 1, true);
  const uint64_t messages = 20 * k + 3;
  constexpr uint64_t launch = 7; // messages in one
  std::thread sending([&] {
    HandChannel channel(pair.sender().end, isSmall);
    for (uint64_t m = 0; m != messages; ++m) {
      char *payload;
      while (!(payload = channel.trySend()))
        sched_yield();
      for (size_t i = 0; i != lengthOf(m, slotBytes); ++i)
        payload[i] = byteOf(m, i);
      channel.publish(uint32_t(m * 77));
    }
  });
  HandChannel channel(pair.receiver().end, isSmall);
  for (uint64_t m = 0; m != messages; ++m) {
    char *payload;
    while (!(payload = channel.tryReceive()))
      sched_yield();
    ASSERT_EQ(channel.signature(), channel.expected(uint32_t(m * 77)));
    for (size_t i = 0; i != lengthOf(m, slotBytes); ++i)
      ASSERT_EQ(payload[i], byteOf(m, i)) << "message " << m << " byte " << i;
    channel.consume();
    if (m % launch == launch - 1)
      channel.flush();
  }
  sending.join();
}

TEST_P(ChannelContract, CreditsComeBackInBatchesAndAtTheEnd) {
  ChannelPair pair(sizes);
  HandChannel send(pair.sender().end, isSmall);
  HandChannel receive(pair.receiver().end, isSmall);
  for (int lap = 0; lap != 5; ++lap) {
    uint64_t sent = 0;
    for (; send.trySend(); ++sent)
      send.publish(1);
    ASSERT_EQ(sent, k) << "as many as there are slots, and no more";
    for (uint64_t consumed = 1; consumed <= k; ++consumed) {
      ASSERT_NE(receive.tryReceive(), nullptr);
      receive.consume();
      // Not before a batch is complete; a lap begins with all credits there.
      EXPECT_EQ(send.trySend() != nullptr, consumed >= batch);
    }
    EXPECT_EQ(receive.tryReceive(), nullptr);
    receive.flush();
    // One message alone would stay without its credit but for the flush.
    send.trySend();
    send.publish(1);
    ASSERT_NE(receive.tryReceive(), nullptr);
    receive.consume();
    receive.flush();
    uint64_t room = 0;
    for (; send.trySend(); ++room)
      send.publish(1);
    EXPECT_EQ(room, k);
    for (; room != 0; --room) {
      ASSERT_NE(receive.tryReceive(), nullptr);
      receive.consume();
    }
    receive.flush();
  }
}

TEST_P(ChannelContract, ASenderMayBeLaunchesAhead) {
  ChannelPair pair(sizes);
  HandChannel send(pair.sender().end, isSmall);
  HandChannel receive(pair.receiver().end, isSmall);
  for (uint32_t sig = 100; send.trySend(); ++sig)
    send.publish(sig);
  for (uint64_t i = 0; i != k; ++i) {
    ASSERT_NE(receive.tryReceive(), nullptr);
    EXPECT_EQ(receive.signature(), 100 + i);
    receive.consume();
  }
}

TEST_P(ChannelContract, WholeSlotsDoNotTouchTheirNeighbours) {
  ChannelPair pair(sizes, 3);
  for (uint32_t tag : {0u, 1u, 2u}) {
    HandChannel send(pair.sender(tag).end, isSmall);
    for (uint64_t m = 0; m != k; ++m) {
      char *payload = send.trySend();
      ASSERT_NE(payload, nullptr);
      std::memset(payload, char(16 * tag + m), slotBytes);
      send.publish(tag);
    }
  }
  for (uint32_t tag : {0u, 1u, 2u}) {
    HandChannel receive(pair.receiver(tag).end, isSmall);
    for (uint64_t m = 0; m != k; ++m) {
      char *payload = receive.tryReceive();
      ASSERT_NE(payload, nullptr);
      EXPECT_EQ(receive.signature(), tag);
      std::string expected(slotBytes, char(16 * tag + m));
      EXPECT_EQ(std::string(payload, slotBytes), expected);
      receive.consume();
    }
  }
}

/// Numbers of messages beyond 32 bits: an old flag or tail is never taken for a
/// new one.
TEST_P(ChannelContract, NumbersDoNotWrap) {
  ChannelPair pair(sizes);
  const uint64_t start = ((uint64_t(1) << 32) - 2) / k * k;
  for (Channel *end : {&pair.sender(), &pair.receiver()})
    end->seq = {start, start, start, start, start, start, 0, 0};
  auto *credit = reinterpret_cast<coll_credit_line *>(pair.sender().end.credit);
  auto *line = reinterpret_cast<coll_ring_line *>(pair.receiver().end.line);
  credit->head = credit->small_head = line->tail = start;
  HandChannel send(pair.sender().end, isSmall);
  HandChannel receive(pair.receiver().end, isSmall);
  for (uint64_t m = 0; m != 4 * k + 5; ++m) {
    EXPECT_EQ(receive.tryReceive(), nullptr);
    char *payload = send.trySend();
    ASSERT_NE(payload, nullptr);
    *payload = char(m);
    send.publish(0);
    ASSERT_NE(payload = receive.tryReceive(), nullptr);
    EXPECT_EQ(*payload, char(m));
    receive.consume();
    receive.flush();
  }
}

std::vector<Shape> shapes() {
  std::vector<Shape> list;
  for (uint32_t k : {1u, 2u, 4u, 8u})
    for (bool isSmall : {false, true}) {
      list.push_back({k, 64, 16, isSmall});
      list.push_back({k, 4096 + 64, 208, isSmall});
      list.push_back({k, 65536, 2048, isSmall});
    }
  return list;
}
INSTANTIATE_TEST_SUITE_P(Shm, ChannelContract, testing::ValuesIn(shapes()),
                         [](const auto &info) {
                           const Shape &s = info.param;
                           return (s.isSmall ? "Small" : "Bulk") +
                                  std::to_string(s.k) + "x" +
                                  std::to_string(s.isSmall ? s.smallBytes
                                                           : s.slotBytes);
                         });

} // namespace
