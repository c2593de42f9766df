//===- Transport.h - What drives one kind of link ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A channel has two halves.  Each end allocates the memory that the *other*
// end's stores are to land in (whoever polls, polls its own memory): the
// receiver the ring, the sender the credit line.  `offer` makes this rank's
// halves and describes them in a message; `attach` takes the peer's message.
// A channel whose two halves are there is complete, whatever came first.
//
// A transport never waits for a peer and owns the memory of its halves until it
// is destroyed.  `offer` and `attach` are called under the lane's lock, the
// rest from any thread of the lane.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_TRANSPORT_H
#define COLL_RUNTIME_TRANSPORT_TRANSPORT_H

#include "coll/abi.h"
#include "runtime/core/Control.h"
#include "runtime/core/Environment.h"

#include <memory>
#include <span>
#include <vector>

namespace coll {

/// One end of a channel, as its rank sees it.
struct ChannelId {
  uint32_t peer = 0;
  uint32_t tag = 0; ///< among the channels of this ordered pair of ranks
  bool isSender = false;
  /// Not the channel, but its slots of lines (coll_end.lines), which few plans
  /// need: a channel of its own for all that connects, and nothing without the
  /// other.
  bool isLines = false;

  auto operator<=>(const ChannelId &) const = default;
};

/// Bounds on what a plan may ask for and on what a peer may send.
inline constexpr uint32_t kMaxChannelTags = 4096;
inline constexpr size_t kMaxChannelsPerOffer = 1024;

/// The state of one end.  Stays where it is as long as its lane.
struct alignas(64) Channel {
  coll_seq seq = {}; ///< written by the owning block alone
  coll_end end = {}; ///< constant once the channel is complete
  ChannelId id;
  bool isOffered = false;  ///< this rank's half is made and described
  bool isAttached = false; ///< the peer's half is mapped

  bool isComplete() const { return isOffered && isAttached; }
};

/// Finds or makes the end that a peer has named.
class ChannelSource {
public:
  virtual ~ChannelSource() = default;
  virtual Status channel(const ChannelId &id, Channel *&result) = 0;
};

class Transport {
public:
  virtual ~Transport() = default;
  virtual const char *name() const = 0;
  /// Memory of the halves that this rank has made.
  virtual size_t ownBytes() const = 0;

  /// Makes this rank's halves of these channels, at most kMaxChannelsPerOffer,
  /// all with one peer, none offered before.  On success they are offered, and
  /// `fds` and `bytes` are to be sent to the peer.  COLL_NO_MEMORY and
  /// std::bad_alloc leave them as they were.
  virtual Status offer(int peer, std::span<Channel *const> channels,
                       Message &message) = 0;

  /// Takes a peer's offer; `attached` gets its channels.  The message is
  /// checked: an error is the peer's fault, or lack of memory.
  virtual Status attach(int peer, Message message, ChannelSource &source,
                        std::vector<Channel *> &attached) = 0;

  /// Moves what can be moved without waiting; the number of events.
  virtual int progress() = 0;
  /// After it returns nothing is sent to a peer's memory any more.
  virtual void abort() noexcept = 0;
};

/// The transport for ranks of one host.
std::unique_ptr<Transport> createHostTransport(const RingSizes &sizes,
                                               int ranks);

} // namespace coll

#endif // COLL_RUNTIME_TRANSPORT_TRANSPORT_H
