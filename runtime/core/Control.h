//===- Control.h - Messages between the ranks of a communicator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control mesh: one unix SOCK_SEQPACKET connection per pair of ranks.  It
// carries what is rare (descriptors of rings, splits, abort, goodbye), and its
// end of file is how a rank learns at once that a peer is gone.
//
// A monitor thread reads all connections and puts messages into a mailbox, from
// which `receive` takes them by (peer, kind, key).  So it does not matter in
// which order ranks send, and a sender never waits for the receiver to be
// willing.  The monitor also watches a pidfd per peer process, since a forked
// child may keep a dead peer's socket open.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_CONTROL_H
#define COLL_RUNTIME_CORE_CONTROL_H

#include "runtime/core/Clock.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Status.h"

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace coll {

inline constexpr size_t kMaxMessageBytes = 64 << 10;
inline constexpr size_t kMaxMessageFds = 16;
/// Messages that may lie in the mailbox unread, per peer; more is an error of
/// the peer that sent them and ends the communicator.
inline constexpr size_t kMaxPendingMessages = 4096;

/// Kinds below this belong to the communicator itself; lanes and transports
/// number their own from here.
inline constexpr uint16_t kFirstLaneKind = 64;

/// Windows: the key is their number. Offers and withdrawals go to onWindow, the
/// answer (one byte, 1: mapped) into the mailbox.
inline constexpr uint16_t kWindowOfferKind = 3, kWindowDropKind = 4,
                          kWindowAnswerKind = 5;

struct Message {
  std::vector<std::byte> bytes;
  std::vector<UniqueFd> fds;
};

/// A connection to one peer, made by rendezvous or by a split.
struct PeerLink {
  UniqueFd socket;
  UniqueFd pidfd; ///< may be missing
  int pid = 0;    ///< in this process's namespace, 0: not visible
};

/// What the monitor tells the communicator; called on the monitor's thread.
struct ControlEvents {
  /// The peer sent an abort; its board has the error.
  std::function<void(int peer)> onAbort;
  /// The peer is gone without a goodbye.
  std::function<void(int peer, std::string text)> onPeerLost;
  /// The peer offers memory as a window, or withdraws it (no descriptor).
  std::function<void(int peer, uint64_t window, bool isOffer, Message message)>
      onWindow;
  /// The peer broke the protocol, or a system call failed.
  std::function<void(Status status)> onError;
};

class Control {
public:
  /// `links[rank]` is empty.  Events come only after start().
  static Status create(int rank, std::vector<PeerLink> links,
                       ControlEvents events, std::unique_ptr<Control> &result);
  Status start(); ///< starts the monitor
  void stop();    ///< joins the monitor: no event comes after this
  ~Control();     ///< stops, and closes all connections

  /// Sends one message; `fds` are borrowed.  Any thread.  Blocks only while the
  /// connection is full (the peer is stopped), until the deadline
  /// (COLL_TIMEOUT), an abort (the communicator's error), or the peer's end
  /// (COLL_PEER_LOST).  Not to oneself.
  Status send(int peer, uint16_t kind, uint64_t key,
              std::span<const std::byte> bytes, std::span<const int> fds,
              Deadline deadline);

  /// Takes the oldest message with this peer, kind and key.  Any thread.
  /// Returns early with the communicator's error when that fails, and with
  /// COLL_PEER_LOST when the peer has said goodbye and nothing more can come.
  /// COLL_TIMEOUT does not end the communicator by itself: the caller knows
  /// better what it waited for.
  Status receive(int peer, uint16_t kind, uint64_t key, Deadline deadline,
                 Message &message);

  /// Tells all peers that this rank's board has an error.  Never blocks.
  void sendAbort() noexcept;
  /// Wakes all calls of send and receive, now and in future, with this error,
  /// which must live as long as this object.
  void interrupt(const Error *error) noexcept;

  /// Says goodbye and waits until every peer has; COLL_TIMEOUT names those
  /// that have not.
  Status exchangeGoodbyes(Deadline deadline);

  /// Has this peer said goodbye, or is it lost?
  enum class PeerState { Present, Left, Lost };
  PeerState peerState(int peer) const;
  int peerPid(int peer) const;
  const UniqueFd &peerPidfd(int peer) const;

private:
  struct State;
  explicit Control(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_CONTROL_H
