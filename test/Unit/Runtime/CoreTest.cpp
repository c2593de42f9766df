//===- CoreTest.cpp - The runtime's small parts ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Frame.h"
#include "runtime/core/Sha256.h"
#include "runtime/core/Text.h"
#include "runtime/core/Versioned.h"
#include "runtime/core/Wire.h"

#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace coll;

namespace {

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Wire, ReadsBackWhatWasWritten) {
  WireWriter writer;
  writer.write<uint16_t>(7).write<int64_t>(-3).writeString("abc");
  WireReader reader(writer.bytes());
  EXPECT_EQ(reader.read<uint16_t>(), 7);
  EXPECT_EQ(reader.read<int64_t>(), -3);
  EXPECT_EQ(reader.readString(3), "abc");
  EXPECT_TRUE(reader.finish());
}

TEST(Wire, EveryShorterInputFails) {
  WireWriter writer;
  writer.write<uint32_t>(1).writeString("hello").write<uint8_t>(2);
  for (size_t length = 0; length != writer.bytes().size(); ++length) {
    WireReader reader(writer.bytes().first(length));
    reader.read<uint32_t>();
    reader.readString(100);
    reader.read<uint8_t>();
    EXPECT_FALSE(reader.finish()) << length;
  }
}

TEST(Wire, NothingIsReadAfterAMissingField) {
  const std::byte input[3] = {};
  WireReader reader(input);
  EXPECT_EQ(reader.read<uint32_t>(), 0u);
  EXPECT_EQ(reader.read<uint8_t>(), 0u);
  EXPECT_FALSE(reader.isGood());
}

TEST(Wire, StringsAboveTheLimitAndLeftOversFail) {
  WireWriter writer;
  writer.writeString("hello");
  WireReader tooLong(writer.bytes());
  EXPECT_EQ(tooLong.readString(4), "");
  EXPECT_FALSE(tooLong.isGood());
  WireReader leftOver(writer.bytes());
  leftOver.read<uint32_t>();
  EXPECT_TRUE(leftOver.isGood());
  EXPECT_FALSE(leftOver.finish());
}

TEST(Frame, RandomPacketsAreRefusedOrWhole) {
  std::mt19937 random(20240607);
  std::vector<std::byte> packet;
  int accepted = 0;
  for (int i = 0; i != 100'000; ++i) {
    packet.resize(random() % 64);
    for (std::byte &byte : packet)
      byte = std::byte(random());
    // Half of them begin well, so that later fields are reached.
    if (i % 2 == 0 && packet.size() >= 24) {
      const char head[] = "coll\1\0\0\0";
      std::memcpy(packet.data(), head, 8);
      std::memset(packet.data() + 16, 0, 8);
      packet[16] = std::byte(packet.size() - 24 - (i % 4 == 0));
    }
    Frame frame;
    Status status = parseFrame(packet, 0, frame);
    if (!status.isOk())
      continue;
    ASSERT_EQ(frame.message.bytes.size(), packet.size() - 24);
    ++accepted;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(Frame, CarriesBytesAndDescriptorsAndSaysWhenClosed) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd a(ends[0]), b(ends[1]);
  UniqueFd memory;
  ASSERT_TRUE(createSealedMemory("coll-test", 1, memory).isOk());
  std::vector<std::byte> large(kMaxMessageBytes, std::byte(9));
  std::vector<int> fds(kMaxMessageFds, memory.get());
  Status status;
  ASSERT_EQ(sendFrame(a.get(), 77, 123456789012, large, fds, status),
            FrameResult::Ok);
  Frame frame;
  ASSERT_EQ(receiveFrame(b.get(), frame, status), FrameResult::Ok)
      << status.text();
  EXPECT_EQ(frame.kind, 77);
  EXPECT_EQ(frame.key, 123456789012u);
  EXPECT_EQ(frame.message.bytes, large);
  EXPECT_EQ(frame.message.fds.size(), kMaxMessageFds);
  EXPECT_EQ(receiveFrame(b.get(), frame, status), FrameResult::WouldBlock);

  // What was sent before the end arrives, also when the end was unfriendly.
  ASSERT_EQ(sendFrame(b.get(), 1, 0, {}, {}, status), FrameResult::Ok);
  ASSERT_EQ(sendFrame(a.get(), 2, 0, {}, {}, status), FrameResult::Ok);
  a.reset(); // with an unread frame in it
  ASSERT_EQ(receiveFrame(b.get(), frame, status), FrameResult::Ok);
  EXPECT_EQ(frame.kind, 2);
  EXPECT_EQ(receiveFrame(b.get(), frame, status), FrameResult::Closed);
  EXPECT_EQ(sendFrame(b.get(), 1, 0, {}, {}, status), FrameResult::Closed);
}

TEST(Sha256, KnownAnswers) { // FIPS 180-4 examples
  auto hash = [](std::string_view text) {
    return hexText(Sha256().update(text).finish().data(), 32);
  };
  EXPECT_EQ(hash(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, KnownAuthenticationCodes) { // RFC 4231, cases 1, 2 and 6
  auto code = [](std::string_view key, std::string_view text) {
    return hexText(hmacSha256(bytesOf(key), bytesOf(text)).data(), 32);
  };
  EXPECT_EQ(code(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(code("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(code(std::string(131, '\xaa'),
                 "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_TRUE(equalInConstantTime(bytesOf("ab"), bytesOf("ab")));
  EXPECT_FALSE(equalInConstantTime(bytesOf("ab"), bytesOf("ac")));
  EXPECT_FALSE(equalInConstantTime(bytesOf("ab"), bytesOf("a")));
}

TEST(Text, Ranks) {
  EXPECT_EQ(ranksText({3}), "rank 3");
  EXPECT_EQ(ranksText({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(ranksText({0, 1, 2, 5}), "ranks 0..2 and 5");
  EXPECT_EQ(ranksText({0, 2, 4, 6, 8, 10, 12, 14, 16, 18}),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 more");
}

TEST(Text, Durations) {
  EXPECT_EQ(durationText(3'000'000), "3 ms");
  EXPECT_EQ(durationText(12'340'000'000), "12.3 s");
  EXPECT_EQ(durationText(600'000'000'000), "10 min");
}

TEST(Versioned, ReadersNeverSeeAMixture) {
  struct Value {
    uint64_t words[512]; // long enough to be met half way
  };
  static Versioned<Value> shared;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> pause{0};
  std::thread writer([&] {
    for (uint64_t n = 1; !stop; ++n) {
      Value value;
      for (uint64_t &word : value.words)
        word = n;
      shared.write(value);
      // So that readers often find it whole, also where ThreadSanitizer makes
      // every atomic store slow: as many more of these.
      for (int i = 0; i != 4 * 512; ++i)
        pause.store(n, std::memory_order_relaxed);
    }
  });
  uint64_t last = 0;
  int good = 0;
  for (int i = 0; i != 40'000 && good != 20'000; ++i) {
    Value value;
    if (!shared.read(value))
      continue;
    ++good;
    bool isWhole = true;
    for (uint64_t word : value.words)
      isWhole = isWhole && word == value.words[0];
    EXPECT_TRUE(isWhole);
    EXPECT_GE(value.words[0], last);
    last = value.words[0];
    if (HasFailure())
      break;
  }
  EXPECT_GT(good, 0);
  stop = true;
  writer.join();
}

/// Whether there are huge pages or not; another mapping sees the same.
TEST(Memory, HugePagesHoldWhatSmallOnesDid) {
  constexpr size_t bytes = 2 * kHugeBytes;
  for (bool isWrittenBefore : {false, true}) {
    UniqueFd fd;
    ASSERT_TRUE(createSealedMemory("coll-test", bytes, fd).isOk());
    if (isWrittenBefore) {
      ASSERT_EQ(pwrite(fd.get(), "ab", 2, kHugeBytes - 1), 2);
    }
    (void)gatherHugePages(fd, bytes);
    MappedMemory one, other;
    ASSERT_TRUE(
        MappedMemory::map(fd, 0, bytes, MappedMemory::ReadWrite, one).isOk());
    ASSERT_TRUE(MappedMemory::map(fd, pageBytes(), bytes - pageBytes(),
                                  MappedMemory::ReadOnly, other)
                    .isOk());
    EXPECT_EQ(uint64_t(one.get()) % kHugeBytes, 0u);
    EXPECT_EQ(uint64_t(other.get()) % kHugeBytes, pageBytes());
    auto *bytesOfOne = static_cast<char *>(one.get());
    EXPECT_EQ(bytesOfOne[kHugeBytes - 1], isWrittenBefore ? 'a' : 0);
    EXPECT_EQ(bytesOfOne[kHugeBytes], isWrittenBefore ? 'b' : 0);
    bytesOfOne[bytes - 1] = 'z';
    EXPECT_EQ(static_cast<char *>(other.get())[bytes - pageBytes() - 1], 'z');
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  }
}

TEST(Memory, SealedMemoryCannotChangeItsSize) {
  UniqueFd fd;
  ASSERT_TRUE(createSealedMemory("coll-test", 5000, fd).isOk());
  EXPECT_NE(ftruncate(fd.get(), 0), 0);
  EXPECT_NE(ftruncate(fd.get(), 1 << 20), 0);
  EXPECT_TRUE(checkSealedMemory(fd, 5000).isOk());
  EXPECT_FALSE(checkSealedMemory(fd, 1 << 20).isOk());
}

TEST(Memory, UnsealedMemoryOfAPeerIsRefused) {
  UniqueFd fd(memfd_create("coll-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(fd.get(), 8192), 0);
  EXPECT_EQ(checkSealedMemory(fd, 8192).code(), COLL_SYSTEM);
}

TEST(Memory, MoreThanTheMachineHasIsRefused) {
  UniqueFd fd;
  Status status = createSealedMemory("coll-test", size_t(1) << 46, fd);
  EXPECT_EQ(status.code(), COLL_NO_MEMORY) << status.text();
}

} // namespace
