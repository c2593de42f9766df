//===- CudaTransport.h - Channels between devices ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An offer is one memory with this rank's halves of a batch of channels with
// one peer, and lies
//
//   on the device   where the peer's device can map it: exported as a
//                   SharedHandle, imported and mapped by the peer
//   on the host     where it cannot: a sealed memfd that both sides map and pin
//
//   receiver's half   ring line 128 B | coll_seq | small ring | bulk ring
//   sender's half     credit line, alone on 128 B | coll_seq
//   lines, receiver   slots of lines, of a channel that a plan with lines needs
//   lines, sender     nothing, in an alignment's room
//
// Sequence numbers lie beside the half: a graph that is replayed must find
// them on the device.
//
// Offer on the wire: u32 magic, u32 sizes of the rings (slot bytes, slots,
// small bytes, small slots), u32 where (0: device, 1: host), u64 bytes of the
// memory, its SharedHandle if on the device, u32 channels, and per channel u32
// (1: the offering rank sends, + 2: its lines), u32 tag, u64 offset of the
// half.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDATRANSPORT_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDATRANSPORT_H

#include "runtime/core/DeviceLane.h"
#include "runtime/transport/cuda/SharedHandle.h"

#include <functional>

namespace coll::cuda {

/// Memory of a batch of halves, wherever it lies.
struct HalfMemory {
  MappedMemory host; // outlives its registration
  RegisteredMemory registered;
  SharedBuffer device;
  DevicePtr address() const {
    return host ? registered.address() : device.address();
  }
};

class CudaTransport final : public Transport {
public:
  /// Where a peer runs; waits until it has said so.
  using PeerMark = std::function<Status(int peer, DeviceMark &mark)>;
  /// The device outlives it.
  CudaTransport(const CudaDevice &device, const RingSizes &sizes,
                PeerMark peerMark);

  const char *name() const override { return "cuda"; }
  size_t ownBytes() const override { return offered; }
  Status offer(int peer, std::span<Channel *const> channels,
               Message &message) override;
  Status attach(int peer, Message message, ChannelSource &source,
                std::vector<Channel *> &attached) override;
  int progress() override { return 0; }
  void abort() noexcept override {} // kernels see the abort word
  Status countMessages(MessageCounts &counts) const;

private:
  struct HalfLayout {
    explicit HalfLayout(const RingSizes &sizes);
    size_t small, slots, bytes;
    size_t lines; ///< bytes of those alone
  };
  size_t halfBytes(bool isRing, bool isLines) const;
  void setEnd(Channel &channel, DevicePtr half, bool isRing, bool isOwn) const;
  Status allocate(bool onDevice, size_t &bytes, SharedHandle &shared,
                  HalfMemory &memory);
  Status open(bool onDevice, const SharedHandle &shared, size_t bytes,
              HalfMemory &memory);

  const CudaDevice &device;
  const RingSizes sizes;
  const HalfLayout ring;
  PeerMark peerMark;
  std::vector<HalfMemory> memories;
  size_t offered = 0;
  std::vector<DevicePtr> senders, receivers; ///< own halves that count
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDATRANSPORT_H
