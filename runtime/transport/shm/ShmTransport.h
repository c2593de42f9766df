//===- ShmTransport.h - Channels in shared memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An offer is one sealed memory with this rank's halves of a batch of channels
// with one peer:
//
//   receiver's half   ring line 128 B | small ring | bulk ring
//   sender's half     credit line, alone on 128 B
//
// Every half begins on a multiple of 128 bytes: processors fetch lines in
// pairs, and a line that another rank writes next to it would be stolen again
// and again.  Bulk rings begin on pages.  Both sides map all of it, writable:
// the owner polls, the peer stores.
//
// Offer on the wire: u32 magic, u32 sizes of the rings (slot bytes, slots,
// small bytes, small slots), u64 bytes of the memory, u32 channels, and per
// channel u32 places of the bulk ring (0: the offering rank sends), u32 tag,
// u64 offset of the half.
//
// Who owns a ring decides how many places it has. More than slots cost memory
// that nothing needs, so all rings of a process together have a bound for it:
// an application may have many communicators.
//
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_SHM_SHMTRANSPORT_H
#define COLL_RUNTIME_TRANSPORT_SHM_SHMTRANSPORT_H

#include "runtime/transport/Transport.h"

namespace coll {

/// Where the parts of a receiver's half lie, from its beginning.
struct ShmRingLayout {
  ShmRingLayout(const RingSizes &sizes, uint32_t places);
  size_t small, slots, bytes;
};
/// Bytes from one small slot to the next.
size_t smallSlotStride(uint32_t smallBytes);

class ShmTransport final : public Transport {
public:
  ShmTransport(const RingSizes &sizes, int ranks);
  ~ShmTransport() override;

  const char *name() const override { return "shm"; }
  size_t ownBytes() const override { return offered; }
  Status offer(int peer, std::span<Channel *const> channels,
               Message &message) override;
  Status attach(int peer, Message message, ChannelSource &source,
                std::vector<Channel *> &attached) override;
  int progress() override { return 0; } // the peer's own stores are enough
  void abort() noexcept override {}     // kernels alone store, and see the word

private:
  /// Where a half lies in an offer; `places` are 0 if it is a sender's.
  struct Half {
    size_t offset;
    uint32_t places;
  };
  void setEnd(Channel &channel, std::byte *half, uint32_t places) const;
  size_t layOut(std::span<Channel *const> channels, bool isWide,
                std::vector<Half> &halves);
  Status allocate(std::span<Channel *const> channels, std::vector<Half> &halves,
                  size_t &bytes, UniqueFd &fd);
  Status checkRoom(size_t bytes) const;
  size_t extraBytes(uint32_t ringPlaces) const {
    return size_t(sizes.slotBytes) * (ringPlaces - sizes.slots);
  }

  const RingSizes sizes;
  const int ranks;
  const uint32_t places; ///< at most, of rings of the first tag
  std::vector<MappedMemory> mappings;
  size_t offered = 0;
  size_t extra = 0; ///< of the process's bound
};

} // namespace coll

#endif // COLL_RUNTIME_TRANSPORT_SHM_SHMTRANSPORT_H
