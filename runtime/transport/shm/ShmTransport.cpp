//===- ShmTransport.cpp - Channels in shared memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/shm/ShmTransport.h"
#include "runtime/core/Host.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>

namespace coll {

static constexpr uint32_t offerMagic = 0x3253'4843; // "CHS2"
static constexpr size_t linePairBytes = 128;
static_assert(sizeof(coll_ring_line) <= linePairBytes &&
              sizeof(coll_credit_line) <= linePairBytes);

static size_t roundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

size_t smallSlotStride(uint32_t smallBytes) {
  return roundUp(smallBytes + COLL_SMALL_HEAD, 64);
}

ShmRingLayout::ShmRingLayout(const RingSizes &sizes, uint32_t places) {
  small = linePairBytes;
  size_t end = small + smallSlotStride(sizes.smallBytes) * sizes.smallSlots;
  slots = roundUp(end, pageBytes());
  bytes = slots + size_t(sizes.slotBytes) * places;
}

/// As many as lie in 2 MiB, twice a usual second cache; of many ranks in
/// less, so that all rings of a tag have 32 MiB together, if the slots alone
/// have no more.
static uint32_t placesFor(const RingSizes &sizes, int ranks) {
  constexpr uint64_t ringBytes = 2 << 20, allBytes = 32 << 20;
  uint64_t rings = std::max<uint64_t>(uint64_t(ranks) * uint64_t(ranks - 1), 1);
  uint64_t bytes = std::min(ringBytes, allBytes / rings);
  uint64_t places =
      std::bit_floor(std::max<uint64_t>(bytes / sizes.slotBytes, 1));
  return uint32_t(std::clamp<uint64_t>(places, sizes.slots, 1 << 16));
}

/// What rings of this process have beyond their slots.
static std::atomic<size_t> extraOfProcess{0};

static bool takeExtra(size_t bytes) {
  constexpr size_t most = 32 << 20;
  size_t before = extraOfProcess.load(std::memory_order_relaxed);
  do
    if (bytes > most || before > most - bytes)
      return false;
  while (!extraOfProcess.compare_exchange_weak(before, before + bytes,
                                               std::memory_order_relaxed));
  return true;
}

ShmTransport::ShmTransport(const RingSizes &sizes, int ranks)
    : sizes(sizes), ranks(ranks), places(placesFor(sizes, ranks)) {}

ShmTransport::~ShmTransport() {
  extraOfProcess.fetch_sub(extra, std::memory_order_relaxed);
}

static uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

/// Fills in what one half gives to an end.  The halves write different fields,
/// so it does not matter which comes first.
void ShmTransport::setEnd(Channel &channel, std::byte *half,
                          uint32_t ringPlaces) const {
  coll_end &end = channel.end;
  end.seq = addressOf(&channel.seq);
  end.peer = uint16_t(channel.id.peer);
  end.slot_bytes = sizes.slotBytes;
  end.small_bytes = sizes.smallBytes;
  end.k = uint16_t(sizes.slots);
  end.k_small = uint16_t(sizes.smallSlots);
  if (ringPlaces == 0) {
    end.credit = addressOf(half);
    return;
  }
  const ShmRingLayout ring(sizes, ringPlaces);
  end.spread = uint16_t(ringPlaces - 1);
  end.line = addressOf(half);
  end.small = addressOf(half + ring.small);
  end.slots = addressOf(half + ring.slots);
}

/// The halves one after another, and how much they are. Rings are wide where
/// they may be and the process has room for it.
size_t ShmTransport::layOut(std::span<Channel *const> channels, bool isWide,
                            std::vector<Half> &halves) {
  size_t bytes = 0;
  for (const Channel *channel : channels) {
    uint32_t ringPlaces = channel->id.isSender ? 0 : sizes.slots;
    if (isWide && ringPlaces != 0 && channel->id.tag == 0 &&
        takeExtra(extraBytes(places))) {
      ringPlaces = places;
      extra += extraBytes(places);
    }
    bytes = roundUp(bytes, ringPlaces ? pageBytes() : linePairBytes);
    halves.push_back({bytes, ringPlaces});
    bytes +=
        ringPlaces ? ShmRingLayout(sizes, ringPlaces).bytes : linePairBytes;
  }
  return roundToPages(bytes);
}

/// Large rings are of somebody's own making. Every rank makes as many, so what
/// is missing shows before the machine has been filled with what there is.
Status ShmTransport::checkRoom(size_t bytes) const {
  constexpr size_t usual = 64 << 20;
  uint64_t available = bytes > usual ? availableBytes() : 0;
  if (available == 0 || bytes <= available / uint64_t(ranks))
    return Status::ok();
  return Status::error(
      COLL_NO_MEMORY,
      "rings of %zu MiB on each of %d ranks are more than the %llu MiB of "
      "memory that are available (COLL_SLOTS=%u, COLL_SLOT_BYTES=%u, "
      "COLL_SMALL_SLOTS=%u, COLL_SMALL_BYTES=%u)",
      bytes >> 20, ranks, (unsigned long long)(available >> 20), sizes.slots,
      sizes.slotBytes, sizes.smallSlots, sizes.smallBytes);
}

/// Without room for wide rings there may be some for others.
Status ShmTransport::allocate(std::span<Channel *const> channels,
                              std::vector<Half> &halves, size_t &bytes,
                              UniqueFd &fd) {
  const size_t before = extra;
  bytes = layOut(channels, /*isWide=*/true, halves);
  Status status = checkRoom(bytes);
  if (status.isOk())
    status = createSealedMemory("coll-channels", bytes, fd);
  if (status.code() != COLL_NO_MEMORY || extra == before)
    return status;
  extraOfProcess.fetch_sub(extra - before, std::memory_order_relaxed);
  extra = before;
  halves.clear();
  bytes = layOut(channels, /*isWide=*/false, halves);
  COLL_TRY(checkRoom(bytes));
  return createSealedMemory("coll-channels", bytes, fd);
}

Status ShmTransport::offer(int peer, std::span<Channel *const> channels,
                           Message &message) {
  assert(!channels.empty() && channels.size() <= kMaxChannelsPerOffer);
  for ([[maybe_unused]] const Channel *channel : channels)
    assert(!channel->isOffered && channel->id.peer == uint32_t(peer));
  // All that may fail comes first: then the channels are offered.
  std::vector<Half> halves;
  halves.reserve(channels.size());
  size_t bytes = 0;
  UniqueFd fd;
  MappedMemory &mapping = mappings.emplace_back();
  message.fds.reserve(1);
  COLL_TRY(allocate(channels, halves, bytes, fd));
  COLL_TRY(MappedMemory::map(fd, 0, bytes, MappedMemory::ReadWrite, mapping));
  offered += bytes;
  auto *base = static_cast<std::byte *>(mapping.get());

  WireWriter writer;
  writer.write<uint32_t>(offerMagic);
  for (uint32_t size :
       {sizes.slotBytes, sizes.slots, sizes.smallBytes, sizes.smallSlots})
    writer.write<uint32_t>(size);
  writer.write<uint64_t>(bytes);
  writer.write<uint32_t>(uint32_t(channels.size()));
  for (size_t i = 0; i != channels.size(); ++i) {
    writer.write<uint32_t>(halves[i].places);
    writer.write<uint32_t>(channels[i]->id.tag);
    writer.write<uint64_t>(halves[i].offset);
  }
  message.bytes.assign(writer.bytes().begin(), writer.bytes().end());
  for (size_t i = 0; i != channels.size(); ++i) {
    setEnd(*channels[i], base + halves[i].offset, halves[i].places);
    channels[i]->isOffered = true;
  }
  message.fds.push_back(std::move(fd));
  return Status::ok();
}

Status ShmTransport::attach(int peer, Message message, ChannelSource &source,
                            std::vector<Channel *> &attached) {
  auto malformed = [&](const char *what) {
    return Status::error(COLL_SYSTEM,
                         "rank %d offers channels in a message that %s", peer,
                         what)
        .withPeer(peer);
  };
  WireReader reader(message.bytes);
  if (reader.read<uint32_t>() != offerMagic || message.fds.size() != 1)
    return malformed("is of another kind");
  for (uint32_t size :
       {sizes.slotBytes, sizes.slots, sizes.smallBytes, sizes.smallSlots})
    if (reader.read<uint32_t>() != size)
      return malformed("has other ring sizes than this rank");
  uint64_t bytes = reader.read<uint64_t>();
  uint32_t count = reader.read<uint32_t>();
  uint64_t most =
      kMaxChannelsPerOffer * roundToPages(ShmRingLayout(sizes, places).bytes);
  if (!reader.isGood() || count > kMaxChannelsPerOffer || bytes > most ||
      bytes != roundToPages(bytes))
    return malformed("has sizes out of range");
  COLL_TRY(checkSealedMemory(message.fds[0], bytes));
  MappedMemory mapping;
  COLL_TRY(MappedMemory::map(message.fds[0], 0, bytes, MappedMemory::ReadWrite,
                             mapping));
  auto *base = static_cast<std::byte *>(mapping.get());
  // Kept from here on, also on an error: some ends may already point into it.
  mappings.push_back(std::move(mapping));

  for (uint32_t i = 0; i != count; ++i) {
    uint32_t ringPlaces = reader.read<uint32_t>();
    bool peerSends = ringPlaces == 0;
    uint32_t tag = reader.read<uint32_t>();
    uint64_t offset = reader.read<uint64_t>();
    if (!peerSends && ringPlaces != sizes.slots &&
        (ringPlaces != places || tag != 0))
      return malformed("has a ring of another width");
    size_t halfBytes =
        peerSends ? linePairBytes : ShmRingLayout(sizes, ringPlaces).bytes;
    size_t alignment = peerSends ? linePairBytes : pageBytes();
    if (!reader.isGood() || tag >= kMaxChannelTags || offset % alignment != 0 ||
        offset > bytes || halfBytes > bytes - offset)
      return malformed("names a channel out of range");
    Channel *channel = nullptr;
    COLL_TRY(source.channel({uint32_t(peer), tag, !peerSends}, channel));
    if (channel->isAttached)
      return malformed("names a channel for the second time");
    setEnd(*channel, base + offset, ringPlaces);
    channel->isAttached = true;
    attached.push_back(channel);
  }
  if (!reader.finish())
    return malformed("is too long");
  return Status::ok();
}

} // namespace coll
