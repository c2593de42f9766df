//===- ChannelOfferTest.cpp - How channels are connected ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChannelPair.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/syscall.h>
#include <unistd.h>

/// What the kernel gives at a time to this program, which has its own
/// fallocate.
static thread_local off_t mostAllocated = INT64_MAX;

extern "C" int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (bytes > mostAllocated) {
    errno = ENOSPC;
    return -1;
  }
  return int(syscall(SYS_fallocate, fd, mode, offset, bytes));
}

using namespace coll;
using namespace coll::test;

namespace {

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
  expectRefused(a, changed(b, 11, 8, 3), "of another width");
  expectRefused(a, changed(b, 12, 8, 32), "of another width"); // not tag 0
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

/// Rings are wider than their slots while a process has little memory in that;
/// both ends know from the offer.
TEST(ChannelOffer, WideRingsOfAProcessHaveABound) {
  const RingSizes sizes;
  constexpr size_t most = 32 << 20;
  size_t wide = 0, extra = 0;
  {
    std::vector<std::unique_ptr<ChannelPair>> pairs;
    for (int i = 0; i != 40; ++i) {
      auto pair = std::make_unique<ChannelPair>(sizes);
      const coll_end &send = pair->sender().end, &recv = pair->receiver().end;
      EXPECT_EQ(send.spread, recv.spread);
      wide += send.spread + 1u > sizes.slots;
      extra += size_t(send.spread + 1u - sizes.slots) * sizes.slotBytes;
      pairs.push_back(std::move(pair));
    }
    EXPECT_LE(extra, most);
    EXPECT_GT(wide, 0u);
    EXPECT_LT(wide, pairs.size());
    // The last place of either kind is there.
    for (ChannelPair *pair : {pairs.front().get(), pairs.back().get()}) {
      const coll_end &end = pair->receiver().end;
      std::memset(reinterpret_cast<char *>(end.slots) +
                      size_t(end.spread) * end.slot_bytes,
                  1, end.slot_bytes);
    }
  }
  ChannelPair after(sizes); // all has been given back
  EXPECT_GT(after.sender().end.spread + 1u, sizes.slots);
}

TEST(ChannelOffer, RingsAreNarrowWhereThereIsNoRoomForWideOnes) {
  const RingSizes sizes;
  mostAllocated = 1 << 20;
  std::vector<std::unique_ptr<ChannelPair>> pairs;
  for (int i = 0; i != 40; ++i) { // what was not had is not counted
    pairs.push_back(std::make_unique<ChannelPair>(sizes));
    ChannelPair &pair = *pairs.back();
    EXPECT_EQ(pair.receiver().end.spread + 1u, sizes.slots);
    EXPECT_EQ(pair.sender().end.spread + 1u, sizes.slots);
    HandChannel send(pair.sender().end, true), recv(pair.receiver().end, true);
    ASSERT_NE(send.trySend(), nullptr);
    send.publish(9);
    EXPECT_NE(recv.tryReceive(), nullptr);
  }
  mostAllocated = 64 << 10; // not even these
  Side side(0, sizes);
  Channel *list[] = {&side.end({1, 0, false})};
  Message message;
  EXPECT_EQ(side.transport->offer(1, list, message).code(), COLL_NO_MEMORY);
  mostAllocated = INT64_MAX;
  ChannelPair wide(sizes);
  EXPECT_GT(wide.receiver().end.spread + 1u, sizes.slots);
}

TEST(ChannelOffer, MoreThanThereIsIsRefusedAtOnce) {
  RingSizes sizes;
  sizes.slotBytes = 64 << 20;
  std::unique_ptr<Transport> transport =
      createHostTransport(sizes, /*ranks=*/1 << 24);
  Channel channel;
  channel.id = {1, 0, false};
  Channel *list[] = {&channel};
  Message message;
  Status status = transport->offer(1, list, message);
  EXPECT_EQ(status.code(), COLL_NO_MEMORY);
  EXPECT_NE(status.text().find("rings of 512 MiB on each of 16777216 ranks"),
            std::string::npos)
      << status.text();
  EXPECT_NE(status.text().find("COLL_SLOT_BYTES=67108864"), std::string::npos);
  EXPECT_FALSE(channel.isOffered);
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
