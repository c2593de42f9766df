//===- Watch.h - Looks after the blocks on a device -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_WATCH_H
#define COLL_RUNTIME_TRANSPORT_CUDA_WATCH_H

#include "runtime/core/Lane.h"

#include <condition_variable>
#include <map>
#include <thread>

namespace coll::cuda {

/// A thread per lane, which does for the device's blocks what a waiting host
/// thread does for its own: it answers peers that offer channels, shows on the
/// board where blocks wait, ends the communicator when a peer is gone or a wait
/// outlives the deadline, and takes up the reasons that blocks leave behind.
///
/// No host code runs when a graph is replayed, so a block that waits, or leaves
/// with a reason, says of which launch it is: by the number that this had when
/// it was queued or captured. Of those that were captured the last 4096 are
/// known; a replay of an older one is taken for the last.
class Watch {
public:
  explicit Watch(Lane &lane) : lane(lane) {}
  ~Watch() { stop(); }
  Status start();
  void stop() noexcept;
  /// This launch is queued, or captured.
  void look(const Member &member, bool isInPlace, bool isCaptured);
  /// Why a block has left that has.
  Status reason(uint32_t block);
  /// All that was queued has ended: a block's line may be an old one.
  void rest() { isBusy.store(false, std::memory_order_relaxed); }

private:
  struct Seen {
    uint64_t progress = 0, want = 0, have = 0, since = 0;
    uint64_t firstNs = 0; ///< when these were seen first
    uint64_t leftNs = 0;  ///< when the peer was first seen to have left
    bool isShown = false;
  };
  void run();
  Status check(uint32_t block, uint64_t now);
  /// A launch in a graph.
  struct Captured {
    const Member *member;
    bool isInPlace;
    uint64_t launch;
  };
  Status checkWait(uint32_t block, const coll_block &line, uint64_t now);
  Status reasonOf(const coll_block &line, uint32_t result) const;
  StepText textOf(const coll_block &line, uint64_t progress) const;
  /// Whose a block's line is; null: not a graph's.
  const Captured *capturedOf(const coll_block &line) const;
  uint64_t launchOf(const coll_block &line) const;
  const Member &memberOf(const coll_block &line) const;
  const Member &lastMember() const;
  std::string replayText(const coll_block &line) const;

  Lane &lane;
  std::mutex mutex; ///< guards what is below, but `isBusy`
  std::condition_variable changed;
  const Member *member = nullptr;
  std::map<uint32_t, Captured> captured; ///< by number
  uint32_t lastCaptured = 0;
  struct Count {
    uint64_t queued = 0, captured = 0;
  };
  std::map<std::pair<const Member *, bool>, Count> counts; ///< of launches
  bool isEnding = false;
  std::atomic<bool> isBusy{false};
  Seen seen[kMaxBlocks] = {};
  std::thread thread;
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_WATCH_H
