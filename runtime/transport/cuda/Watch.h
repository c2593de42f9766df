//===- Watch.h - Looks after the blocks on a device -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_WATCH_H
#define COLL_RUNTIME_TRANSPORT_CUDA_WATCH_H

#include "runtime/core/Lane.h"

#include <condition_variable>
#include <thread>

namespace coll::cuda {

/// A thread per lane, which does for the device's blocks what a waiting host
/// thread does for its own: it answers peers that offer channels, shows on the
/// board where blocks wait, ends the communicator when a peer is gone or a wait
/// outlives the deadline, and takes up the reasons that blocks leave behind.
///
/// No host code runs when a graph is replayed, and a block's line does not say
/// of which plan it is.  So when nothing else is queued, and a launch has been
/// captured, a block that waits, or has left with a reason, is taken for one of
/// the last launch that was captured: with several plans in graphs that may be
/// another's.
class Watch {
public:
  explicit Watch(Lane &lane) : lane(lane) {}
  ~Watch() { stop(); }
  Status start();
  void stop() noexcept;
  /// This is the launch from now on; `isCaptured`: whenever nothing else runs.
  void look(const Member &member, bool isCaptured);
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
  Status checkWait(uint32_t block, const coll_block &line, uint64_t now);
  Status reasonOf(const coll_block &line, uint32_t result) const;
  StepText textOf(uint64_t progress) const;
  bool isReplay() const {
    return !isBusy.load(std::memory_order_relaxed) && captured.member;
  }
  /// Whose the blocks' lines are.
  const Member &running() const {
    return isReplay() ? *captured.member : *member;
  }
  std::string replayText() const;

  Lane &lane;
  std::mutex mutex; ///< guards `member`, `captured` and `isEnding`
  std::condition_variable changed;
  const Member *member = nullptr;
  struct {
    const Member *member = nullptr;
    uint64_t launch = 0;
  } captured;
  bool isEnding = false;
  std::atomic<bool> isBusy{false};
  Seen seen[kMaxBlocks] = {};
  std::thread thread;
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_WATCH_H
