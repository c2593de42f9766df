//===- DeviceLane.h - What a lane does on a device --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A communicator belongs to the host or to one device.  What depends on it
// stands behind this interface: where channels, the tables of a plan and
// scratch lie, and how blocks run.  The rest of a lane (plans, arguments,
// signatures, the board, connecting) is the same.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_DEVICELANE_H
#define COLL_RUNTIME_CORE_DEVICELANE_H

#include "runtime/core/Arguments.h"
#include "runtime/core/Board.h"
#include "runtime/transport/Transport.h"

namespace coll {

class Lane;
class Member;
class WindowSink;

/// The kernels of a dtype and op.
struct DeviceKernels {
  const coll_device_kernel *slots = nullptr;
  const coll_device_kernel *packets = nullptr; ///< null: of no launch
  const coll_device_kernel *lines = nullptr;   ///< null: of no launch
  /// The kernel for a launch.
  const coll_device_kernel &of(const coll_args &args) const {
    return args.flags & COLL_ARGS_SMALL   ? *packets
           : args.flags & COLL_ARGS_LINES ? *lines
                                          : *slots;
  }
};

/// What a rank's ends of channels have counted, of launches that have ended.
struct MessageCounts {
  uint64_t bulk = 0;    ///< messages sent in slots, or as lines
  uint64_t packets = 0; ///< as packets
  uint64_t puts = 0;    ///< stored in the peer's memory
  uint64_t gets = 0;    ///< channels whose messages were last got by this rank
};

class DeviceLane {
public:
  virtual ~DeviceLane() = default;

  virtual std::unique_ptr<Transport> createTransport() = 0;
  virtual DeviceMark mark() const = 0;
  /// Collective, when all ranks have their lanes.
  virtual Status meet() = 0;
  /// From then on: whether messages may be lines, the same on all ranks.
  virtual bool hasLines() const = 0;

  /// The plan's kernel for a dtype, an op and a protocol, the same on all
  /// ranks; null: none.
  static const coll_device_kernel *find(const coll_plan &plan, uint32_t dtype,
                                        uint32_t op, uint32_t protocol);
  /// Makes what the member's launches need on the device but channels, and
  /// checks that all blocks fit it at a time.
  virtual Status load(Member &member) = 0;
  virtual void forget(const Member &member) noexcept = 0;
  /// What the first launch with this kernel would load.
  virtual Status prepare(Member &member, const coll_device_kernel &kernel) = 0;
  /// Copies the member's ends, all complete, to the device.
  virtual Status connect(Member &member) = 0;

  /// Can this launch run at all?  Before anything of it is begun.
  virtual Status check(Member &member, const coll_device_kernel &kernel,
                       const Arguments &arguments, coll_stream stream) = 0;
  /// Buffers of the host are copied to the device and back, and the call then
  /// returns when that is done; so it does without a stream.  Other launches
  /// are queued.
  virtual Status launch(Member &member, const Arguments &arguments) = 0;
  /// Before the next launch is written on the board.
  virtual void noteFinished() = 0;
  /// Waits for everything that has been queued.
  virtual Status drain(Deadline deadline) = 0;
  virtual void close() noexcept = 0;
  virtual Status countMessages(MessageCounts &counts) = 0;

  /// coll_mem_alloc and so on.
  virtual Status allocate(size_t bytes, void **result) = 0;
  virtual Status free(void *ptr) = 0;
  virtual Status add(void *ptr, size_t bytes, int fd) = 0;
  virtual Status remove(void *ptr) = 0;
  virtual WindowSink &windows() = 0;
};

/// The device that the communicator's environment names.  Must not wait for
/// peers.  Defined in transport/Transport.cpp.
Status createDeviceLane(Lane &lane, std::unique_ptr<DeviceLane> &result);

} // namespace coll

#endif // COLL_RUNTIME_CORE_DEVICELANE_H
