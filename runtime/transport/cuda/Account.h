//===- Account.h - Blocks in flight on the devices --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of this process have queued on each device.  Blocks wait for
// blocks of other ranks, so launches that do not all fit a device must not be
// started half: one that would not fit waits, on the device, for the oldest
// launches of other communicators.  It never waits for a lane of its own
// communicator, since ranks of it may share the device: for those there is
// room, or the plan is refused.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_ACCOUNT_H
#define COLL_RUNTIME_TRANSPORT_CUDA_ACCOUNT_H

#include "runtime/transport/cuda/CudaDevice.h"

#include <list>
#include <mutex>

namespace coll::cuda {

class Account {
public:
  /// The last launch of a lane.
  struct Entry {
    Entry(const CudaDevice &device, uint64_t communicator, Event event)
        : device(device), communicator(communicator), event(event) {}
    ~Entry();
    const CudaDevice &device;
    const uint64_t communicator;
    const Event event;
    uint64_t blocks = 0; ///< 0: nothing is in flight
    uint64_t order = 0;  ///< of the launch
  };

  /// Makes `stream` wait until `blocks` more fit beside the launches in
  /// flight, `capacity` being the device's, and counts them in.  The event is
  /// recorded by the caller, under the same lock.
  template <typename Launch>
  static Status launch(Entry &entry, Stream stream, uint64_t blocks,
                       uint64_t capacity, Launch &&launch) {
    std::lock_guard lock(mutex());
    COLL_TRY(makeRoom(entry, stream, blocks, capacity));
    COLL_TRY(launch());
    add(entry, blocks);
    return Status::ok();
  }

private:
  static std::mutex &mutex();
  static std::list<Entry *> &entries();
  static Status makeRoom(Entry &entry, Stream stream, uint64_t blocks,
                         uint64_t capacity);
  static void add(Entry &entry, uint64_t blocks);
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_ACCOUNT_H
