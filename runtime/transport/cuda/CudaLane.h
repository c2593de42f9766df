//===- CudaLane.h - The launches of a lane on a device ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A member's tables lie on the device in one block of memory:
//
//   coll_inst out of place, in place | coll_comm_dev | signals of both |
//   words | coll_end[]
//
// made when the member is loaded, and its ends when it is connected.  A launch
// then copies coll_args into the kernel's parameters, sizes behind the buffers,
// and queues the kernel; all that changes from launch to launch without the
// host (sequence numbers, signals) is on the device, so a graph may hold it.
//
// Order.  Launches of a lane come one after another.  Where a launch's stream
// is another one than the last launch's, it waits for an event behind that; so
// it does in a capture, when both are in the same.  Between a graph and
// launches outside of it the order is the application's affair.
//
// Room.  Blocks of one launch wait for one another and for those of other
// ranks, so all of them must be on the device at a time: a plan that does not
// fit is refused when it is loaded.  Launches of other communicators share the
// device: one that would not fit beside those in flight waits for the oldest
// (Account).
//
// Failure.  A watching thread looks at the blocks' lines, which lie in pinned
// host memory, and calls nothing of CUDA: a block that has left with a reason,
// or has waited too long, ends the communicator; the abort word then releases
// the others.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDALANE_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDALANE_H

#include "runtime/core/DeviceLane.h"
#include "runtime/core/Lane.h"
#include "runtime/transport/cuda/Account.h"
#include "runtime/transport/cuda/CudaTransport.h"
#include "runtime/transport/cuda/CudaWindows.h"
#include "runtime/transport/cuda/Watch.h"

namespace coll::cuda {

class CudaLane final : public DeviceLane {
public:
  static Status create(Lane &lane, std::unique_ptr<DeviceLane> &result);
  ~CudaLane() override;

  std::unique_ptr<Transport> createTransport() override;
  DeviceMark mark() const override { return device->mark(); }
  Status meet() override;
  bool hasLines() const override { return linesAllowed; }
  Status load(Member &member) override;
  void forget(const Member &member) noexcept override;
  Status prepare(Member &member, const coll_device_kernel &kernel) override;
  Status connect(Member &member) override;
  Status check(Member &member, const coll_device_kernel &kernel,
               const Arguments &arguments, coll_stream stream) override;
  Status launch(Member &member, const Arguments &arguments) override;
  void noteFinished() override;
  Status drain(Deadline deadline) override;
  void close() noexcept override;
  Status countMessages(MessageCounts &counts) override;
  Status allocate(size_t bytes, void **result) override {
    return memory->allocate(bytes, result);
  }
  Status free(void *ptr) override { return memory->free(ptr); }
  Status add(void *ptr, size_t bytes, int fd) override {
    return memory->add(ptr, bytes, fd);
  }
  Status remove(void *ptr) override { return memory->remove(ptr); }
  WindowSink &windows() override { return *memory; }
  DevicePtr windowTable() const { return memory->table(); }

private:
  explicit CudaLane(Lane &lane) : lane(lane), watch(lane) {}

  struct Tables { ///< of a member
    DeviceBuffer memory;
    DevicePtr instances[2] = {};
    DevicePtr ends = 0;
  };
  struct Kernel {
    Function function = nullptr;
    uint32_t capacity = 0; ///< blocks that the device holds at a time
  };
  struct LoadedPlan {
    Module module = nullptr;
    std::map<const coll_device_kernel *, Kernel> kernels;
  };
  /// Memory that a launch's arguments point to: sizes and displacements.
  struct LaunchTable {
    std::vector<uint64_t> content;
    DeviceBuffer memory;
    bool isCaptured = false;
  };
  /// Host memory of a call, copied to the device.
  struct Staged {
    uint64_t begin, end; ///< on the host
    bool isWritten;
    DevicePtr at = 0;
  };
  using Parameters = std::array<uint64_t, COLL_MAX_PARAM_BYTES / 8>;

  Status loadModule(const coll_plan &plan, LoadedPlan &loaded);
  Status find(const coll_plan &plan, const coll_device_kernel &kernel,
              Kernel *&result);
  Status checkRoom(const Member &member, const coll_device_kernel &kernel,
                   const Kernel &found);
  Status scratchFor(uint64_t bytes, DevicePtr &address);
  Status fillParameters(const Member &member, const coll_device_kernel &kernel,
                        const Arguments &arguments, bool isCaptured,
                        Parameters &parameters);
  Status growTo(size_t bytes, DeviceBuffer &memory);
  Status tableFor(std::vector<uint64_t> content, bool isCaptured,
                  DevicePtr &address);
  Status findHostBuffers(const Arguments &arguments);
  Status placeStaged(const Arguments &arguments, coll_args &args);
  Status markOf(int peer, DeviceMark &mark) const;
  Status meetForLines();
  Status copyStaged(bool toDevice, Stream stream);
  Status queue(Member &member, const Arguments &arguments);
  Status orderBehindLast();
  Status startKernel(const Member &member, Parameters &parameters);
  Status await(Deadline deadline);

  Lane &lane;
  std::unique_ptr<CudaDevice> device; // gone last
  RegisteredMemory abortWord, blocks;
  std::map<const coll_plan *, LoadedPlan> plans;
  std::map<const Member *, Tables> tables;
  CudaTransport *transport = nullptr;  ///< the lane's
  bool linesAllowed = false;           ///< on all ranks
  std::vector<DeviceBuffer> scratches; ///< the last one is the largest
  std::vector<std::unique_ptr<LaunchTable>> launchTables;
  size_t nextTable = 0;
  DeviceBuffer staging;
  std::vector<DeviceBuffer> retired;
  std::vector<Staged> staged;
  std::vector<size_t> hostBuffers; ///< of the call that has been checked
  struct Checked {                 ///< what check() has found for launch()
    const coll_device_kernel *kernel = nullptr;
    Kernel *found = nullptr;
    Stream stream = nullptr;
    bool isCaptured = false, isSynchronous = false;
    uint64_t capture = 0; ///< 0: none
  } checked;
  std::unique_ptr<CudaWindows> memory; ///< that peers reach
  /// Behind the last launch; where it was queued.
  Event event = nullptr, captureEvent = nullptr; ///< outside, inside of graphs
  Stream lastStream = nullptr;
  uint64_t lastCapture = 0; ///< 0: not in a graph
  bool isQueued = false;    ///< and not known to have ended
  bool doesNotAnswer = false;
  std::unique_ptr<Account::Entry> account;
  Watch watch; // ended first
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDALANE_H
