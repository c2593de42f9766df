//===- Channel.h - The channels of a lane -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Channels belong to the lane, not to plans: plans share them, and one is
// connected when the first plan needs it.  Both ends derive from their plan
// that they need it, so each makes its half and offers it without being asked;
// the channel is complete when the peer's offer has come as well.
//
// Ranks may prepare plans in different orders.  So whoever waits here, or in a
// kernel, also answers offers for channels that it has not asked for yet: it
// makes its own half at once.  No order of prepares can then deadlock.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_CHANNEL_H
#define COLL_RUNTIME_CORE_CHANNEL_H

#include "runtime/core/Communicator.h"
#include "runtime/transport/Transport.h"

#include <functional>
#include <map>
#include <mutex>

namespace coll {

class Channels final : private ChannelSource {
public:
  explicit Channels(Communicator &comm);

  /// Makes and offers this rank's halves of those channels that have none.
  /// COLL_NO_MEMORY leaves the lane usable.
  Status offer(std::span<const ChannelId> ids);

  /// Waits until all of these, which have been offered, are complete.  Looks at
  /// `check(peer)` now and then and gives up with its error.  COLL_TIMEOUT
  /// names the first peer that is missing.
  Status await(std::span<const ChannelId> ids, Deadline deadline,
               const std::function<Status(int peer)> &check);

  /// Answers what peers have offered meanwhile.  Does not wait, not even for
  /// another thread that is at it.
  Status poll();

  /// A complete channel.
  const coll_end &end(const ChannelId &id);
  /// Before any channel is made.
  void setTransport(std::unique_ptr<Transport> other) {
    link = std::move(other);
  }
  Transport &transport() { return *link; }
  const Transport &transport() const { return *link; }

private:
  static constexpr uint16_t offerKind = kFirstLaneKind;

  Status channel(const ChannelId &id, Channel *&result) override;
  Status offerLocked(std::span<Channel *const> channels);
  Status deliver(int peer, Message message);
  Status take(int peer, Message message);
  Status takeAll();
  Channel *firstIncomplete(std::span<const ChannelId> ids);

  Communicator &comm;
  std::unique_ptr<Transport> link;
  std::mutex mutex; ///< guards all below and the transport's offer and attach
  std::map<ChannelId, std::unique_ptr<Channel>> table;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_CHANNEL_H
