//===- CudaTransport.cpp - Channels between devices -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/CudaTransport.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <cassert>

namespace coll::cuda {

static constexpr uint32_t offerMagic = 0x3155'4343; // "CCU1"
static constexpr size_t lineBytes = 128;
static constexpr size_t headBytes = 256; ///< the line, and coll_seq behind it
static constexpr size_t ringAlignment = 4096;
/// Larger than what any device allocates at least.
static constexpr size_t largestUnit = size_t(512) << 20;

static size_t roundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

/// Small slots have room for a flag in every eight bytes of payload.
CudaTransport::HalfLayout::HalfLayout(const RingSizes &sizes) {
  small = headBytes;
  size_t stride = roundUp(2 * size_t(sizes.smallBytes) + lineBytes, lineBytes);
  slots = roundUp(small + stride * sizes.smallSlots, ringAlignment);
  bytes = slots + size_t(sizes.slotBytes) * sizes.slots;
  lines = size_t(COLL_LINE_STRIDE(sizes.slotBytes)) * sizes.slots;
}

size_t CudaTransport::halfBytes(bool isRing, bool isLines) const {
  if (isLines)
    return isRing ? ring.lines : lineBytes; // no half is empty
  return isRing ? ring.bytes : headBytes;
}

CudaTransport::CudaTransport(const CudaDevice &device, const RingSizes &sizes,
                             PeerMark peerMark)
    : device(device), sizes(sizes), ring(sizes), peerMark(std::move(peerMark)) {
}

void CudaTransport::setEnd(Channel &channel, DevicePtr half, bool isRing,
                           bool isOwn) const {
  coll_end &end = channel.end;
  if (channel.id.isLines) {
    if (isRing)
      end.lines = half;
    return;
  }
  end.peer = uint16_t(channel.id.peer);
  end.slot_bytes = sizes.slotBytes;
  end.small_bytes = sizes.smallBytes;
  end.k = uint16_t(sizes.slots);
  end.k_small = uint16_t(sizes.smallSlots);
  if (isOwn)
    end.seq = half + lineBytes;
  if (!isRing) {
    end.credit = half;
    return;
  }
  end.line = half;
  end.small = half + ring.small;
  end.slots = half + ring.slots;
}

Status CudaTransport::allocate(bool onDevice, size_t &bytes,
                               SharedHandle &shared, HalfMemory &memory) {
  if (onDevice) {
    COLL_TRY(SharedBuffer::create(device, bytes, shared, memory.device));
    bytes = memory.device.size();
    return Status::ok();
  }
  bytes = roundToPages(bytes);
  COLL_TRY(createSealedMemory("coll-channels", bytes, shared.fd));
  return open(onDevice, shared, bytes, memory);
}

Status CudaTransport::open(bool onDevice, const SharedHandle &shared,
                           size_t bytes, HalfMemory &memory) {
  if (onDevice)
    return SharedBuffer::import(device, shared, bytes, memory.device);
  COLL_TRY(MappedMemory::map(shared.fd, 0, bytes, MappedMemory::ReadWrite,
                             memory.host));
  return RegisteredMemory::create(
      device, {static_cast<std::byte *>(memory.host.get()), bytes},
      memory.registered);
}

Status CudaTransport::offer(int peer, std::span<Channel *const> channels,
                            Message &message) {
  assert(!channels.empty() && channels.size() <= kMaxChannelsPerOffer);
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  DeviceMark mark;
  COLL_TRY(peerMark(peer, mark));
  if (mark.kind != DeviceMark::Cuda)
    return Status::error(COLL_SYSTEM,
                         "rank %d runs on the host, and another on device %d: "
                         "all run on the host, or all on devices",
                         peer, device.number())
        .withPeer(peer);
  std::vector<uint64_t> offsets;
  size_t bytes = 0;
  for (const Channel *channel : channels) {
    assert(!channel->isOffered && channel->id.peer == uint32_t(peer));
    bool isRing = !channel->id.isSender;
    bytes = roundUp(bytes, isRing ? ringAlignment : lineBytes);
    offsets.push_back(bytes);
    bytes += halfBytes(isRing, channel->id.isLines);
  }

  // All that may fail comes first: then the channels are offered.
  bool onDevice = device.isReachableFrom(mark);
  SharedHandle shared;
  HalfMemory memory;
  memories.reserve(memories.size() + 1);
  senders.reserve(senders.size() + channels.size());
  receivers.reserve(receivers.size() + channels.size());
  message.fds.reserve(1);
  COLL_TRY(allocate(onDevice, bytes, shared, memory));
  DevicePtr base = memory.address();
  memories.push_back(std::move(memory));
  offered += bytes;

  WireWriter writer;
  writer.write<uint32_t>(offerMagic);
  for (uint32_t size :
       {sizes.slotBytes, sizes.slots, sizes.smallBytes, sizes.smallSlots})
    writer.write<uint32_t>(size);
  writer.write<uint32_t>(onDevice ? 0 : 1);
  writer.write<uint64_t>(bytes);
  if (onDevice)
    shared.write(writer);
  writer.write<uint32_t>(uint32_t(channels.size()));
  for (size_t i = 0; i != channels.size(); ++i) {
    const ChannelId &id = channels[i]->id;
    writer.write<uint32_t>(uint32_t(id.isSender) | uint32_t(id.isLines) << 1);
    writer.write<uint32_t>(id.tag);
    writer.write<uint64_t>(offsets[i]);
  }
  message.bytes.assign(writer.bytes().begin(), writer.bytes().end());
  for (size_t i = 0; i != channels.size(); ++i) {
    setEnd(*channels[i], base + offsets[i], !channels[i]->id.isSender, true);
    channels[i]->isOffered = true;
    const ChannelId &id = channels[i]->id;
    if (!id.isLines)
      (id.isSender ? senders : receivers).push_back(base + offsets[i]);
  }
  if (shared.fd.isValid())
    message.fds.push_back(std::move(shared.fd));
  return Status::ok();
}

Status CudaTransport::countMessages(MessageCounts &counts) const {
  counts = {};
  for (DevicePtr half : senders) {
    coll_seq seq;
    COLL_TRY(device.download(&seq, half + lineBytes, sizeof seq));
    counts.bulk += seq.next;
    counts.packets += seq.small_next;
    counts.puts += seq.direct;
  }
  for (DevicePtr half : receivers) {
    coll_ring_line line;
    COLL_TRY(device.download(&line, half, sizeof line));
    counts.gets += line.avail & 1;
  }
  return Status::ok();
}

Status CudaTransport::attach(int peer, Message message, ChannelSource &source,
                             std::vector<Channel *> &attached) {
  auto malformed = [&](const char *what) {
    return Status::error(COLL_SYSTEM,
                         "rank %d offers channels in a message that %s", peer,
                         what)
        .withPeer(peer);
  };
  WireReader reader(message.bytes);
  if (reader.read<uint32_t>() != offerMagic)
    return malformed("is of another kind: all ranks run on the host, or all on "
                     "devices");
  for (uint32_t size :
       {sizes.slotBytes, sizes.slots, sizes.smallBytes, sizes.smallSlots})
    if (reader.read<uint32_t>() != size)
      return malformed("has other ring sizes than this rank");
  uint32_t where = reader.read<uint32_t>();
  uint64_t bytes = reader.read<uint64_t>();
  SharedHandle shared;
  if (where == 0 ? !SharedHandle::read(reader, message.fds, shared)
                 : message.fds.size() != 1)
    return malformed("has no memory");
  if (where != 0)
    shared.fd = std::move(message.fds[0]);
  uint32_t count = reader.read<uint32_t>();
  uint64_t most = kMaxChannelsPerOffer *
                      roundUp(std::max(ring.bytes, ring.lines), ringAlignment) +
                  largestUnit;
  if (!reader.isGood() || count > kMaxChannelsPerOffer || where > 1 ||
      bytes == 0 || bytes > most || bytes != roundToPages(bytes))
    return malformed("has sizes out of range");
  bool onDevice = where == 0;
  if (!onDevice)
    COLL_TRY(checkSealedMemory(shared.fd, bytes));
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  HalfMemory memory;
  memories.reserve(memories.size() + 1);
  COLL_TRY(open(onDevice, shared, bytes, memory));
  DevicePtr base = memory.address();
  // Kept from here on, also on an error: some ends may already point into it.
  memories.push_back(std::move(memory));

  for (uint32_t i = 0; i != count; ++i) {
    uint32_t kind = reader.read<uint32_t>();
    bool peerSends = kind & 1, isLines = kind & 2;
    uint32_t tag = reader.read<uint32_t>();
    uint64_t offset = reader.read<uint64_t>();
    size_t half = halfBytes(!peerSends, isLines);
    size_t alignment = peerSends ? lineBytes : ringAlignment;
    if (!reader.isGood() || kind > 3 || tag >= kMaxChannelTags ||
        offset % alignment != 0 || offset > bytes || half > bytes - offset)
      return malformed("names a channel out of range");
    Channel *channel = nullptr;
    COLL_TRY(
        source.channel({uint32_t(peer), tag, !peerSends, isLines}, channel));
    if (channel->isAttached)
      return malformed("names a channel for the second time");
    setEnd(*channel, base + offset, !peerSends, false);
    channel->isAttached = true;
    attached.push_back(channel);
  }
  if (!reader.finish())
    return malformed("is too long");
  return Status::ok();
}

} // namespace coll::cuda
