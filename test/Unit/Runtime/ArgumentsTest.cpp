//===- ArgumentsTest.cpp - From a call to what kernels read ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No kernel runs here, so buffers may be mere addresses.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Arguments.h"
#include "Calls.h"
#include "HandPlan.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

using namespace coll;
using namespace coll::test;

namespace {

/// One rank's arguments for a schedule.
class Fixture {
public:
  explicit Fixture(Schedule schedule, int rank = 0,
                   RingSizes rings = {.smallBytes = 2 << 10},
                   LaunchRules streams = {})
      : plan({schedule}), rings(rings) {
    const coll_plan_ranks &ranks = plan.plan().ranks[0];
    const coll_class &cls = classOf(ranks, 0, rank, 0);
    words.assign(cls.words, cls.words + cls.nwords);
    relocate(cls, ranks, rank, 0, words);
    stepChunks = maxStepChunks(ranks);
    arguments = std::make_unique<Arguments>(plan.plan(), ranks, cls, words,
                                            stepChunks, this->rings, streams);
  }
  Status fill(const coll_call *call) { return arguments->fill(*call); }
  const coll_args &args() { return arguments->args(); }
  const coll_size &size(uint32_t i) {
    return reinterpret_cast<const coll_size *>(args().sizes)[i];
  }
  bool isSmall() { return args().flags & COLL_ARGS_SMALL; }

  HandPlan plan;
  RingSizes rings;
  std::vector<uint32_t> words, stepChunks;
  std::unique_ptr<Arguments> arguments;
};

/// An address that nothing is read from.
char *address(uint64_t value) { return reinterpret_cast<char *>(value); }
constexpr uint64_t low = 0x10000, high = 0x7000'0000'0000;

Call ringCall(size_t count, coll_dtype dtype = COLL_F32) {
  Call call(dtype);
  call.in(address(low)).out(address(high)).count(count);
  return call;
}

TEST(Arguments, StoresPastTheCachesAreForLargeLaunches) {
  constexpr uint32_t any = COLL_ARGS_STREAM_SLOTS | COLL_ARGS_STREAM_OUT;
  constexpr size_t small = 4, medium = 10'000, large = 200'000;
  struct {
    LaunchRules rules;
    size_t count;
    uint32_t flags;
  } cases[] = {
      {{true, 1 << 20}, small, 0},
      {{true, 1 << 20}, medium, COLL_ARGS_STREAM_SLOTS},
      {{true, 1 << 20}, large, any}, // 2 x 800 000 bytes
      {{false, 1 << 20}, medium, 0},
      {{false, 1 << 20}, large, COLL_ARGS_STREAM_OUT},
  };
  for (const auto &c : cases) {
    Fixture f(ringAllreduce(4), 0, {}, c.rules);
    ASSERT_TRUE(f.fill(ringCall(c.count)).isOk());
    EXPECT_EQ(f.args().flags & any, c.flags) << c.count;
    EXPECT_EQ(f.isSmall(), c.count == small);
    ASSERT_TRUE(f.fill(ringCall(c.count)).isOk());
    EXPECT_EQ(f.args().flags & any, c.flags) << "again " << c.count;
    // In place a launch touches half as much.
    Call inPlace(COLL_F32);
    inPlace.in(address(low)).out(address(low)).count(c.count);
    ASSERT_TRUE(f.fill(inPlace).isOk());
    EXPECT_EQ(f.args().flags & any, c.flags & COLL_ARGS_STREAM_SLOTS);
  }
}

TEST(Arguments, BuffersMayMoveBetweenLaunchesOfOneShape) {
  constexpr size_t count = 100;
  Fixture f(ringAllreduce(4));
  auto fill = [&](char *in, char *out) {
    Call call(COLL_F32);
    Status status = f.fill(call.in(in).out(out).count(count));
    return status.isOk();
  };
  char *a = address(low), *b = address(high);
  auto isAt = [&](char *in, char *out) {
    return f.args().bufs[0].ptr == reinterpret_cast<uint64_t>(in) &&
           f.args().bufs[1].ptr == reinterpret_cast<uint64_t>(out);
  };
  auto isInPlace = [&] { return bool(f.args().flags & COLL_ARGS_IN_PLACE); };
  ASSERT_TRUE(fill(a, b) && isAt(a, b) && !isInPlace());
  ASSERT_TRUE(fill(a, b) && isAt(a, b) && !isInPlace());
  ASSERT_TRUE(fill(a + 64, b + 64) && isAt(a + 64, b + 64) && !isInPlace());
  ASSERT_TRUE(fill(a, b + 4) && isAt(a, b + 4) && !isInPlace());
  ASSERT_TRUE(fill(b, b) && isAt(b, b) && isInPlace());
  ASSERT_TRUE(fill(a, a) && isAt(a, a) && isInPlace());
  EXPECT_FALSE(fill(a, a + 4)) << "overlaps, but not in place";
  ASSERT_TRUE(fill(a, b) && isAt(a, b) && !isInPlace());
  EXPECT_FALSE(fill(a, nullptr));
  ASSERT_TRUE(fill(a, a + 4 * count) && isAt(a, a + 4 * count));
  EXPECT_FALSE(fill(a, a + 4 * count - 4)) << "the last element overlaps";
  EXPECT_FALSE(fill(a, reinterpret_cast<char *>(UINT64_MAX - 4)));
}

TEST(Arguments, CountsAreCutIntoUnitsAndChunks) {
  Fixture f(ringAllreduce(4));
  struct {
    size_t count;
    uint64_t units, q;
    uint32_t r, tail;
  } cases[] = {{0, 0, 0, 0, 0},
               {1, 1, 0, 1, 4},
               {4, 1, 0, 1, 16},
               {5, 2, 0, 2, 4},
               {16, 4, 1, 0, 16},
               {1021, 256, 64, 0, 4},
               {1000003, 250001, 62500, 1, 12}};
  for (const auto &c : cases) {
    ASSERT_TRUE(f.fill(ringCall(c.count)).isOk());
    EXPECT_EQ(f.args().count, c.count);
    EXPECT_EQ(f.size(0).units, c.units) << c.count;
    EXPECT_EQ(f.args().units_q, c.q) << c.count;
    EXPECT_EQ(f.args().units_r, c.r) << c.count;
    EXPECT_EQ(f.args().tail_bytes, c.tail) << c.count;
  }
}

TEST(Arguments, RowsAndBlocksAreUnits) {
  Fixture f(ringAllreduce(4));
  f.plan.change().flags |= COLL_PLAN_ROWS;
  auto fill = [&](size_t rows, size_t row) {
    Call made = ringCall(0);
    size_t counts[] = {rows, row};
    coll_call call = *static_cast<const coll_call *>(made);
    call.count = counts;
    return f.fill(&call);
  };
  ASSERT_TRUE(fill(7, 101).isOk());
  EXPECT_EQ(f.args().count, 707u);
  EXPECT_EQ(f.args().unit_bytes, 404u);
  EXPECT_EQ(f.size(0).units, 7u);
  EXPECT_EQ(f.args().slice_units, 2048 / 404u);
  ASSERT_TRUE(fill(101, 7).isOk()) << "as many elements, but other rows";
  EXPECT_EQ(f.args().unit_bytes, 28u);
  EXPECT_EQ(fill(1, 0).code(), COLL_INVALID);
  EXPECT_EQ(fill(1, 16385).code(), COLL_INVALID) << "fits no slot";
  f.plan.change().flags = COLL_PLAN_BLOCKS;
  ASSERT_TRUE(f.fill(ringCall(1000)).isOk());
  EXPECT_EQ(f.size(0).units, 32u);
  EXPECT_EQ(f.args().tail_bytes, 32u);
  EXPECT_EQ(f.args().slice_units % 16, 0u);
}

TEST(Arguments, SizesBeyond32Bits) {
  Fixture f(ringAllreduce(4));
  const size_t count = (size_t(1) << 40) + 1;
  ASSERT_TRUE(f.fill(ringCall(count, COLL_F64)).isOk());
  EXPECT_EQ(f.size(0).units, (uint64_t(1) << 39) + 1);
  EXPECT_EQ(f.args().units_q, uint64_t(1) << 37);
  EXPECT_EQ(f.args().nrounds, (uint64_t(1) << 37) / 4096 + 1);
  for (size_t bad : {SIZE_MAX, SIZE_MAX / 4, size_t(1) << 61}) {
    Status status = f.fill(ringCall(bad));
    EXPECT_EQ(status.code(), COLL_INVALID) << bad;
  }
  EXPECT_TRUE(f.fill(ringCall(7)).isOk()) << "an error leaves no trace";
  EXPECT_EQ(f.args().units_q, 0u);
}

TEST(Arguments, SmallRingsWhenEveryMessageFitsASlot) {
  Fixture f(ringAllreduce(4));
  ASSERT_TRUE(f.fill(ringCall(4 * 512)).isOk()); // chunks of 2048 bytes
  EXPECT_TRUE(f.isSmall());
  EXPECT_EQ(f.args().slice_units, 128u);
  EXPECT_EQ(f.args().nrounds, 1u);
  ASSERT_TRUE(f.fill(ringCall(4 * 512 + 1)).isOk());
  EXPECT_FALSE(f.isSmall());
  EXPECT_EQ(f.args().slice_units, 4096u);
  Fixture halves(ringAllreduce(4, 2));
  ASSERT_TRUE(halves.fill(ringCall(4 * 1024)).isOk());
  EXPECT_TRUE(halves.isSmall()) << "a share of a chunk is the message";
  Schedule picky = ringAllreduce(4);
  picky.smallSlots = 8;
  RingSizes few;
  few.smallSlots = 4;
  Fixture g(picky, 0, few);
  ASSERT_TRUE(g.fill(ringCall(4)).isOk());
  EXPECT_FALSE(g.isSmall()) << "fewer slots than the program was verified with";
}

/// `protocol ll` on a device: small slots for calls below the end of `sizes`,
/// in as many slices as the program was verified with.
TEST(Arguments, PacketsTakeSeveralSlots) {
  LaunchRules device, host;
  device.hasPackets = true;
  Schedule ring = ringAllreduce(4, 1, 8192); // two slots a round
  ring.sizesHigh = 64 << 10;
  Fixture f(ring, 0, {}, device);
  Fixture g(ring, 0, {}, host);
  ASSERT_TRUE(f.fill(ringCall(4 * 512 + 1)).isOk());
  EXPECT_FALSE(f.isSmall()) << "the schedule does not ask for them";
  f.plan.change().flags |= COLL_PLAN_LL;
  g.plan.change().flags |= COLL_PLAN_LL;
  ASSERT_TRUE(f.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_TRUE(f.isSmall());
  EXPECT_EQ(f.args().slice_units, 128u);
  EXPECT_EQ(f.args().round_units, 256u) << "two small slots";
  EXPECT_EQ(f.args().nrounds, 4u);
  ASSERT_TRUE(f.fill(ringCall(16 << 10)).isOk());
  EXPECT_FALSE(f.isSmall()) << "64 KiB are not below 64 KiB";
  ASSERT_TRUE(g.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_FALSE(g.isSmall()) << "on a host";
  RingSizes few;
  few.smallSlots = 2;
  Fixture h(ring, 0, few, device);
  h.plan.change().flags |= COLL_PLAN_LL;
  ASSERT_TRUE(h.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_FALSE(h.isSmall()) << "fewer slots than the program was verified with";
}

/// `protocol ll128` on a device: packets, lines, slots, by size.
TEST(Arguments, LinesAreBetweenPacketsAndSlots) {
  LaunchRules device, without;
  device.hasPackets = device.hasLines = without.hasPackets = true;
  Schedule ring = ringAllreduce(4, 1, 8192);
  ring.sizesHigh = 64 << 10;
  auto isLines = [](Fixture &f) {
    return (f.args().flags & COLL_ARGS_LINES) != 0;
  };
  Fixture f(ring, 0, {}, device);
  ASSERT_TRUE(f.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_FALSE(isLines(f)) << "the schedule does not ask for them";
  f.plan.change().flags |= COLL_PLAN_LL128;
  ASSERT_TRUE(f.fill(ringCall(4 * 512)).isOk());
  EXPECT_TRUE(f.isSmall()) << "2 KiB are packets";
  EXPECT_FALSE(isLines(f));
  ASSERT_TRUE(f.fill(ringCall(4 * 512 + 1)).isOk());
  EXPECT_FALSE(f.isSmall());
  EXPECT_TRUE(isLines(f));
  EXPECT_EQ(f.args().slice_units, 4096u) << "as a bulk slot's";
  ASSERT_TRUE(f.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_TRUE(isLines(f));
  f.arguments->useBulk(true);
  ASSERT_TRUE(f.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_FALSE(isLines(f)) << "bulk slots were asked for";
  f.arguments->useBulk(false);
  ASSERT_TRUE(f.fill(ringCall(16 << 10)).isOk());
  EXPECT_FALSE(isLines(f)) << "64 KiB are not below 64 KiB";
  Fixture g(ring, 0, {}, without);
  g.plan.change().flags |= COLL_PLAN_LL128;
  ASSERT_TRUE(g.fill(ringCall((16 << 10) - 1)).isOk());
  EXPECT_FALSE(isLines(g)) << "not between these devices";
}

/// Ranks whose objects have other kernels of one plan would wait for each
/// other.
TEST(Arguments, SignaturesTellWhichKernelsThereAre) {
  LaunchRules slots, packets, lines;
  packets.hasPackets = lines.hasPackets = lines.hasLines = true;
  std::set<uint32_t> signatures;
  std::set<uint64_t> digests;
  for (const LaunchRules &rules : {slots, packets, lines, lines}) {
    Fixture f(ringAllreduce(4), 0, {}, rules);
    ASSERT_TRUE(f.fill(ringCall(100)).isOk());
    signatures.insert(f.args().sig);
    digests.insert(digestOf(f.plan.plan().ranks[0], rules));
    if (!rules.hasPackets) {
      EXPECT_EQ(*digests.begin(), f.plan.plan().ranks[0].digest);
    }
  }
  EXPECT_EQ(signatures.size(), 3u);
  EXPECT_EQ(digests.size(), 3u);
}

TEST(Arguments, CountsOfEachRankNeverChooseSmallRings) {
  Fixture f(directAlltoallv(2));
  Call call(COLL_F32);
  call.in(address(low)).out(address(high)).counts({1, 2, 3});
  ASSERT_TRUE(f.fill(call).isOk());
  EXPECT_FALSE(f.isSmall());
}

TEST(Arguments, RoundsShrinkWithSlots) {
  Schedule ring = ringAllreduce(4, 1, 8192); // two slots of 64 KiB a round
  RingSizes rings;
  Fixture usual(ring);
  ASSERT_TRUE(usual.fill(ringCall(4 << 20)).isOk());
  EXPECT_EQ(usual.args().round_units, 8192u);
  EXPECT_EQ(usual.args().nrounds, 32u);
  rings.slotBytes = 16 << 10;
  Fixture smaller(ring, 0, rings);
  ASSERT_TRUE(smaller.fill(ringCall(4 << 20)).isOk());
  EXPECT_EQ(smaller.args().round_units, 2048u) << "still two slots";
  EXPECT_EQ(smaller.args().nrounds, 128u);
  rings.slotBytes = 1 << 20;
  Fixture larger(ring, 0, rings);
  ASSERT_TRUE(larger.fill(ringCall(4 << 20)).isOk());
  EXPECT_EQ(larger.args().round_units, 8192u) << "scratch holds no more";
}

TEST(Arguments, MessagesOfFewSlotsAreCutIntoPieces) {
  constexpr LaunchRules rules = {.pieceBytes = 16 << 10};
  const struct {
    size_t bytes; // of a message
    uint32_t slice;
  } cases[] = {{4 << 10, 16 << 10},   {64 << 10, 16 << 10},
               {100'000, 25 << 10},   {(128 << 10) + 4, 33 << 10},
               {256 << 10, 64 << 10}, {64 << 20, 64 << 10}};
  for (const auto &c : cases) {
    Fixture f(ringAllreduce(2), 0, {}, rules);
    ASSERT_TRUE(f.fill(ringCall(2 * c.bytes / 4)).isOk());
    EXPECT_EQ(f.args().slice_units * COLL_UNIT_BYTES, c.slice) << c.bytes;
  }
  Fixture vector(directAlltoallv(2), 0, {}, rules);
  Call call(COLL_F32);
  call.in(address(low)).out(address(high)).counts({100, 20000, 3});
  ASSERT_TRUE(vector.fill(call).isOk());
  EXPECT_EQ(vector.args().slice_units, 4096u) << "peers do not know the counts";
}

TEST(Arguments, WideStorageTakesMoreOfASlot) {
  Schedule ring = ringAllreduce(4);
  Fixture f(ring);
  f.plan.changeRanks(0).flags = COLL_PLAN_ACCUM;
  ASSERT_TRUE(f.fill(ringCall(1 << 20, COLL_BF16)).isOk());
  EXPECT_EQ(f.args().slice_units, 2048u);
  EXPECT_EQ(f.args().round_units, 2048u) << "one slot a round was verified";
  ASSERT_TRUE(f.fill(ringCall(4 * 512, COLL_BF16)).isOk());
  EXPECT_TRUE(f.isSmall()) << "1 KiB chunks, 2 KiB as f32";
  ASSERT_TRUE(f.fill(ringCall(4 * 512 + 8, COLL_BF16)).isOk());
  EXPECT_FALSE(f.isSmall());
}

TEST(Arguments, SignatureSeesWhatMustAgree) {
  Fixture f(ringAllreduce(4));
  auto sigOf = [&](Call call) {
    EXPECT_TRUE(f.fill(call).isOk());
    return f.args().sig;
  };
  uint32_t sig = sigOf(ringCall(100));
  EXPECT_NE(sig, sigOf(ringCall(101)));
  EXPECT_NE(sig, sigOf(ringCall(100, COLL_I32)));
  Call max(COLL_F32, COLL_MAX);
  EXPECT_NE(sig, sigOf(max.in(address(low)).out(address(high)).count(100)));
  Call elsewhere(COLL_F32);
  elsewhere.in(address(low + 4)).out(address(high)).count(100);
  EXPECT_EQ(sig, sigOf(elsewhere)) << "buffers are each rank's own affair";
  Fixture other(ringAllreduce(3));
  EXPECT_TRUE(other.fill(ringCall(100)).isOk());
  EXPECT_NE(sig, other.args().sig);
  Fixture again(ringAllreduce(4), 3);
  EXPECT_TRUE(again.fill(ringCall(100)).isOk());
  EXPECT_EQ(sig, again.args().sig) << "the same on all ranks";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

TEST(Arguments, InPlaceIsSeenByAddress) {
  Fixture f(ringAllreduce(4));
  Call same(COLL_F32), apart = ringCall(10), empty(COLL_F32);
  same.in(address(low)).out(address(low)).count(10);
  ASSERT_TRUE(f.fill(same).isOk());
  EXPECT_TRUE(f.arguments->isInPlace());
  ASSERT_TRUE(f.fill(apart).isOk());
  EXPECT_FALSE(f.arguments->isInPlace());
  empty.in(address(low)).out(address(low)).count(0);
  ASSERT_TRUE(f.fill(empty).isOk());
}

static Status fillGather(Fixture &f, uint64_t in, uint64_t out, size_t count) {
  Call call(COLL_U8);
  call.in(address(in)).out(address(out)).count(count);
  return f.fill(call);
}

TEST(Arguments, OverlapsOtherThanInPlaceAreErrors) {
  Fixture f(directAllgather(4), 2); // in is part 2 of out
  ASSERT_TRUE(fillGather(f, low + 200, low, 100).isOk());
  EXPECT_TRUE(f.arguments->isInPlace());
  for (uint64_t in :
       {low, low + 100, low + 300, low + 199, low + 201, low + 1}) {
    Status status = fillGather(f, in, low, 100);
    EXPECT_EQ(status.code(), COLL_INVALID) << in - low;
    EXPECT_NE(status.text().find("share memory, but not"), std::string::npos);
  }
  EXPECT_EQ(fillGather(f, low + 199, low, 100).text(),
            "part 1 of buffer 'out' and buffer 'in' share memory, but not in "
            "the way that contract 'allgather' calls in place");
  for (uint64_t in : {low - 100, low + 400, low + 1000}) {
    EXPECT_TRUE(fillGather(f, in, low, 100).isOk()) << in - low;
    EXPECT_FALSE(f.arguments->isInPlace());
  }
  Fixture shift(twoBlockShift(3));
  Status status = fillGather(shift, low, low, 100);
  EXPECT_NE(status.text().find("has no in-place form"), std::string::npos);
}

TEST(Arguments, DisplacedParts) {
  Fixture f(directAllgather(3));
  auto fill = [&](std::vector<size_t> displ) {
    Call call(COLL_F32);
    call.in(address(low)).out(address(high)).count(10);
    call.displ({}).displ(displ);
    return f.fill(call);
  };
  ASSERT_TRUE(fill({20, 0, 10}).isOk());
  EXPECT_NE(f.args().bufs[1].displ, 0u);
  EXPECT_EQ(fill({0, 9, 30}).text(),
            "part 0 of buffer 'out' and part 1 of buffer 'out' share memory, "
            "but not in the way that contract 'allgather' calls in place");
  EXPECT_EQ(fill({0, 10, SIZE_MAX}).code(), COLL_INVALID);
  EXPECT_EQ(fill({0, 10, SIZE_MAX / 8}).code(), COLL_INVALID);
}

TEST(Arguments, PartsOfDifferentSizesArePacked) {
  Fixture f(directAlltoallv(3), 1);
  Call call(COLL_F32);
  // n[0, 1], n[1, 0], n[1, 1], n[1, 2], n[2, 1]
  call.in(address(low)).out(address(high)).counts({7, 1, 2, 3, 9});
  ASSERT_TRUE(f.fill(call).isOk());
  const auto *in = reinterpret_cast<const uint64_t *>(f.args().bufs[0].displ);
  const auto *out = reinterpret_cast<const uint64_t *>(f.args().bufs[1].displ);
  EXPECT_EQ(std::vector<uint64_t>(in, in + 3),
            (std::vector<uint64_t>{0, 1, 3}));
  EXPECT_EQ(std::vector<uint64_t>(out, out + 3),
            (std::vector<uint64_t>{0, 7, 9}));
  EXPECT_EQ(f.size(0 * 3 + 1).elems, 7u);
  EXPECT_EQ(f.size(2 * 3 + 1).elems, 9u);
  EXPECT_EQ(f.size(2 * 3 + 2).elems, 0u) << "not this rank's to know";
}

TEST(Arguments, MissingThingsAreNamed) {
  Fixture f(ringAllreduce(2));
  Call noCount(COLL_F32), noIn(COLL_F32), nothing(COLL_F32);
  noCount.in(address(low)).out(address(high));
  EXPECT_EQ(f.fill(noCount).text(), "coll_call.count is NULL");
  noIn.in(nullptr).out(address(high)).count(1);
  EXPECT_EQ(f.fill(noIn).text(), "buffer 'in' is NULL");
  nothing.count(1);
  EXPECT_EQ(f.fill(nothing).text(), "buffer 'in' is NULL");
  Call none(COLL_F32);
  EXPECT_TRUE(f.fill(none.count(0)).isOk()) << "nothing needs no buffer";
  Call premul(COLL_F32, COLL_PREMUL_SUM);
  premul.in(address(low)).out(address(high)).count(1);
  EXPECT_EQ(f.fill(premul).text(),
            "coll_call.scalar is NULL, but premul_sum takes a factor");
  ASSERT_TRUE(f.fill(premul.scalar(2.5)).isOk());
  EXPECT_EQ(f.args().scalar[COLL_MAX_SCALARS - 1], 2.5);
  Call beyond(COLL_F32);
  beyond.in(address(~uint64_t(3))).out(address(low)).count(100);
  EXPECT_EQ(f.fill(beyond).text(), "buffer 'in' ends beyond the address space");
}

TEST(Arguments, ABufferOfAnotherRankIsIgnored) {
  Fixture f(chainBroadcast(3), 1); // only the root has `in`
  Call call(COLL_F32);
  call.in(address(low)).out(address(low)).count(4).root(0);
  ASSERT_TRUE(f.fill(call).isOk());
  EXPECT_EQ(f.args().bufs[0].ptr, 0u);
  EXPECT_FALSE(f.arguments->isInPlace());
}

} // namespace
