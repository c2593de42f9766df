//===- ChannelTest.cpp - The contract of channels, on shared memory -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChannelPair.h"

#include <cstring>
#include <random>
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

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

TEST(ChannelOffer, OrderOfOffersDoesNotMatter) {
  Side a(0, {}), b(1, {});
  Message fromB = b.offer({{0, 3, false}, {0, 4, true}});
  EXPECT_TRUE(a.attach(std::move(fromB)).isOk());
  Channel &send = a.end({1, 3, true}), &receive = a.end({1, 4, false});
  EXPECT_TRUE(send.isAttached && receive.isAttached);
  EXPECT_FALSE(send.isComplete() || receive.isComplete());
  EXPECT_TRUE(b.attach(a.offer({{1, 4, false}, {1, 3, true}})).isOk());
  EXPECT_TRUE(send.isComplete() && receive.isComplete());
  EXPECT_TRUE(b.end({0, 3, false}).isComplete());
  HandChannel sending(send.end, true),
      receiving(b.end({0, 3, false}).end, true);
  ASSERT_NE(sending.trySend(), nullptr);
  sending.publish(9);
  EXPECT_NE(receiving.tryReceive(), nullptr);
}

TEST(ChannelOffer, HalvesLieOnLinesOfTheirOwn) {
  ChannelPair pair({}, 2);
  for (uint32_t tag : {0u, 1u}) {
    const coll_end &send = pair.sender(tag).end;
    const coll_end &receive = pair.receiver(tag).end;
    for (uint64_t address : {send.credit, send.line, receive.line})
      EXPECT_EQ(address % 128, 0u);
    EXPECT_EQ(receive.slots % 4096, 0u);
    EXPECT_EQ(receive.small % 64, 0u);
    EXPECT_GE(receive.small - receive.line, sizeof(coll_ring_line));
    EXPECT_EQ(send.seq % 64, 0u);
    EXPECT_EQ(send.peer, 1);
    EXPECT_EQ(receive.peer, 0);
  }
  EXPECT_GE(pair.sender(1).end.credit - pair.sender(0).end.credit, 128u);
}

static void expectRefused(Side &side, Message message, const char *what) {
  Status status = side.attach(std::move(message));
  EXPECT_EQ(status.code(), COLL_SYSTEM) << what;
  EXPECT_NE(status.text().find(what), std::string::npos) << status.text();
}

static Message changed(Side &side, uint32_t tag, size_t word, uint32_t value) {
  Message message = side.offer({{0, tag, false}});
  std::memcpy(message.bytes.data() + 4 * word, &value, 4);
  return message;
}

TEST(ChannelOffer, WrongOnesAreRefused) {
  Side a(0, {}), b(1, {});
  expectRefused(a, changed(b, 0, 0, 1), "is of another kind");
  expectRefused(a, changed(b, 1, 1, 128), "other ring sizes");
  expectRefused(a, changed(b, 2, 2, 4), "other ring sizes");
  expectRefused(a, changed(b, 3, 5, 1 << 28), "bytes, not"); // too many bytes
  expectRefused(a, changed(b, 4, 7, 2), "out of range");     // more channels
  expectRefused(a, changed(b, 5, 9, 5000), "out of range");  // tag
  expectRefused(a, changed(b, 6, 10, 4096), "out of range"); // offset
  expectRefused(a, changed(b, 7, 10, 64), "out of range");
  expectRefused(a, changed(b, 8, 11, 1), "out of range");
  Message longer = b.offer({{0, 9, false}});
  longer.bytes.resize(longer.bytes.size() + 1);
  expectRefused(a, std::move(longer), "too long");
  Message bare = b.offer({{0, 10, false}});
  bare.fds.clear();
  expectRefused(a, std::move(bare), "of another kind");
  Side twice(1, {});
  EXPECT_TRUE(a.attach(twice.offer({{0, 20, false}})).isOk());
  Side again(1, {});
  expectRefused(a, again.offer({{0, 20, false}}), "second time");
}

/// Whatever the bytes, no crash, and no end outside of what was mapped.
TEST(ChannelOffer, RandomBytesAreSurvived) {
  std::mt19937 random(20250101);
  Side b(1, {});
  for (uint32_t round = 0; round != 300; ++round) {
    Side a(0, {});
    Message message = b.offer({{0, round, false}, {0, round, true}});
    for (uint32_t change = random() % 4; change != 0; --change)
      message.bytes[random() % message.bytes.size()] = std::byte(random());
    if (random() % 4 == 0)
      message.bytes.resize(random() % message.bytes.size());
    Status status = a.attach(std::move(message));
    if (status.isOk())
      for (auto &[id, channel] : a.ends)
        if (id.isSender) {
          auto *line = reinterpret_cast<coll_ring_line *>(channel->end.line);
          EXPECT_EQ(line->tail, 0u);
        }
  }
}

TEST(ChannelOffer, AsManyAsFitAMessage) {
  RingSizes sizes;
  sizes.slotBytes = 64;
  sizes.slots = 1;
  ChannelPair pair(sizes, kMaxChannelsPerOffer);
  HandChannel send(pair.sender(kMaxChannelsPerOffer - 1).end, false);
  ASSERT_NE(send.trySend(), nullptr);
  send.publish(3);
  HandChannel receive(pair.receiver(kMaxChannelsPerOffer - 1).end, false);
  EXPECT_NE(receive.tryReceive(), nullptr);
}

} // namespace
