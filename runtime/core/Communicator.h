//===- Communicator.h - Ranks that launch together --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A communicator is one lane of channels among its ranks: launches on it have
// one order, the same on all ranks.  It owns, in this order of making and in
// the opposite order of tearing down: the boards of all ranks, the control
// mesh with its monitor, and the lane (channels, plan instances, workers).
//
//   init --all ranks met--> ready --fail()--> failed
//                             |                  |
//                             +----destroy-------+--> closed
//
// The first error wins, by compare-and-swap on one record.  It then (1) stands
// on the own board, (2) sets the own abort word and that of every peer, (3)
// goes out as a message, so that peers blocked in the mailbox wake.  A peer
// that finds its abort word set copies the error from the board that the word
// names; so all ranks tell the same story, and none ever waits to tell it.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_COMMUNICATOR_H
#define COLL_RUNTIME_CORE_COMMUNICATOR_H

#include "runtime/core/Board.h"
#include "runtime/core/Control.h"
#include "runtime/core/Environment.h"
#include "runtime/core/ForkMark.h"
#include "runtime/core/PeerWindows.h"
#include "runtime/core/UserMemory.h"

#include <atomic>
#include <memory>

namespace coll {

/// The part of a communicator that knows about plans and channels; implemented
/// in Lane.cpp, so that this side names no transport.
/// Where a lane's kernels find peers' windows, when that is not PeerWindows.
/// Called on the monitor's thread.
class WindowSink {
public:
  virtual ~WindowSink() = default;
  /// Maps what a peer offers; the message has not been checked.
  virtual Status addWindow(int peer, uint64_t window, Message message) = 0;
  /// Unknown windows are ignored.
  virtual void dropWindow(int peer, uint64_t window) noexcept = 0;
};

class LaneBase {
public:
  virtual ~LaneBase() = default; ///< after close(): frees everything
  /// An error has been recorded.  Any thread, must not block or call fail.
  /// After it returns no transport starts a new remote write.
  virtual void abort() noexcept = 0;
  /// Joins all worker threads.  Called once, by the destroying thread: either
  /// all peers have said goodbye (no one will touch a channel again), or the
  /// communicator has failed (kernels leave by themselves).  Must not wait for
  /// a peer.
  virtual void close() noexcept = 0;
  /// Waits for launches that are queued on a device.
  virtual Status drain() { return Status::ok(); }
  /// Collective, when all ranks have their lanes: may wait for peers.
  virtual Status meet() { return Status::ok(); }
  /// Null: PeerWindows takes them.
  virtual WindowSink *windowSink() { return nullptr; }
};

class Communicator;
/// Makes the lane of a communicator that is about to be ready: boards and
/// control mesh stand.  Must not block on peers.  Defined in Lane.cpp.
Status createLane(Communicator &comm, std::unique_ptr<LaneBase> &lane);

/// What rendezvous or split has agreed on; the same on all ranks but `rank`.
struct Membership {
  int rank = 0, nranks = 1;
  RingSizes rings;         ///< rank 0's, checked
  uint32_t hostCores = 1;  ///< usable by all ranks of this host together
  uint32_t commonIsa = 0;  ///< the best that every rank runs kernels of
  bool streams = false;    ///< stores past the caches pay, rank 0 has measured
  bool remotePays = false; ///< so does moving by the kernel between processes
  uint64_t id = 0;         ///< names the communicator in texts and logs
};

class Communicator {
public:
  //===-- Constants ---------------------------------------------------------//
  int rank() const { return membership.rank; }
  int size() const { return membership.nranks; }
  const RingSizes &rings() const { return membership.rings; }
  uint32_t hostCores() const { return membership.hostCores; }
  uint32_t commonIsa() const { return membership.commonIsa; }
  /// Whether bulk slots are written past the caches; each rank's own affair.
  bool streams() const { return env.nonTemporal.value_or(membership.streams); }
  /// Whether peers reach all memory of this process: by the kernel, or as
  /// threads of it.
  bool isReached() const { return reached; }
  bool isReachedByThreads() const { return reachedByThreads; }
  /// Whether launches begin with it offered to peers, and may change that.
  bool offersProcess() const;
  bool triesProcess() const;
  int hostRanks() const { return membership.nranks; } ///< all on one host yet
  const Environment &environment() const { return env; }
  uint64_t id() const { return membership.id; }
  uint64_t deadlineNs() const { return waitNs; } ///< per wait; UINT64_MAX: none
  Deadline deadline() const { return Deadline::after(waitNs); }
  Deadline initDeadline() const { return Deadline::after(initNs); }
  /// False in a forked child, where a communicator must not be used.
  bool isOwnProcess() const { return process.isOwnProcess(); }

  //===-- Parts -------------------------------------------------------------//
  Control &control() { return *mesh; }
  Board &board() { return boards[size_t(rank())]; } ///< this rank's
  const Board &board(int peer) const { return boards[size_t(peer)]; }
  LaneBase &lane() { return *laneState; }
  UserMemory &memory() { return userMemory; }
  const PeerWindows &windows() const { return *peerWindows; }

  //===-- Errors ------------------------------------------------------------//
  /// The word for coll_comm_dev.abort; not 0: leave.
  std::atomic<uint32_t> &abortWord() { return board().abortWord(); }
  bool isAborted() const {
    return board(rank()).abortWord().load(std::memory_order_relaxed) != 0;
  }
  /// COLL_OK while the communicator is ready, else its error.  Takes over a
  /// peer's error when only the abort word tells of it.  Never blocks.
  Status status() noexcept;
  /// The same as a record that lives as long as the communicator, or null.
  const Error *error() noexcept;
  /// Records an error and tells everyone; later errors are dropped.  Any
  /// thread.  Error::rank -1 means this rank.
  void fail(Error error) noexcept;
  /// fail(), unless the status is OK or does not end a communicator (INVALID,
  /// NO_PLAN, NO_MEMORY).  Returns what the caller is to return: this status,
  /// or the earlier error that has won.
  Status failWith(Status status) noexcept;
  /// Runs what peers have begun to rely on: every error of it ends the
  /// communicator, also those that would leave it as it was before (they become
  /// COLL_SYSTEM), and also when there is no memory left.
  template <typename Body> Status commit(Body &&body) noexcept {
    Status status = catchNoMemory(body);
    return status.isOk() ? Status::ok() : endWith(std::move(status));
  }
  /// failWith() for such an error that has happened.
  Status endWith(Status status) noexcept;

  /// The hang report: who waits where and for whom, who is late, and launches
  /// that do not fit, side by side.  Made from boards alone; several lines.
  std::string hangReport() const;
  /// What this rank has launched: "launch 3, allreduce by ...".
  std::string describeLaunch(uint64_t launch) const;
  /// Two ranks' records of a launch, side by side, for a mismatch.
  std::string describeLaunches(uint64_t launch, int peer) const;

  /// Orderly, collective end; after a failure nothing waits.  Returns the error
  /// of the communicator, if it has one by then.  What remains is to delete it.
  Status close();

  /// Says something on stderr at COLL_DEBUG=INFO.
  void info(const char *format, ...) const
      __attribute__((format(printf, 2, 3)));

  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  /// Made by CommunicatorFactory only.
  Communicator(const Environment &env, uint64_t waitNs, uint64_t initNs);

protected:
  ~Communicator();

private:
  friend class CommunicatorFactory;
  /// Takes over the error on the board that an abort word names.
  void adopt(int origin) noexcept;
  void record(Error error, int origin) noexcept;
  void takeWindow(int peer, uint64_t window, bool isOffer,
                  Message message) noexcept;

  Membership membership;
  Environment env;
  const uint64_t waitNs, initNs;
  bool reached = false, reachedByThreads = false;
  ForkMark process;
  std::vector<Board> boards;
  std::unique_ptr<PeerWindows> peerWindows;
  std::unique_ptr<Control> mesh;
  std::unique_ptr<LaneBase> laneState;
  std::atomic<const Error *> firstError{nullptr};
  Error spareError;       ///< when there is no memory for another
  uint64_t numSplits = 0; ///< collective calls of split, the same everywhere
  UserMemory userMemory{*this};
};

} // namespace coll

/// What coll.h's opaque handle is.
struct coll_comm final : coll::Communicator {
  using Communicator::Communicator;
};

#endif // COLL_RUNTIME_CORE_COMMUNICATOR_H
