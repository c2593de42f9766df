//===- CudaWindows.h - Memory of devices that peers reach -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What UserMemory and PeerWindows are for hosts.  coll_mem_alloc gives memory
// that is exported; coll_register takes device memory of the application, which
// can be exported if it was made for that (cuMemCreate with POSIX or fabric
// handles).  The allocation goes to every peer, whose monitor imports and maps
// it on its own device and answers.
//
// Kernels look windows up in a table in device memory.  The monitor and the
// launching thread write it, on a stream of its own: a launch that is running
// may be waiting for the very rank that waits for the answer.
//
// Offer on the wire: u64 bytes of the window, u64 bytes of the allocation, u64
// where in it the window begins, u64 one more than where the window stands in
// the multicast arena (0: nowhere), and the allocation's SharedHandle.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDAWINDOWS_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDAWINDOWS_H

#include "runtime/core/Communicator.h"
#include "runtime/transport/cuda/CudaMulticast.h"

#include <map>
#include <mutex>

namespace coll::cuda {

class CudaWindows final : public WindowSink {
public:
  /// Both outlive it.
  CudaWindows(Communicator &comm, const CudaDevice &device)
      : comm(comm), device(device), multicast(comm, device) {}
  Status create();
  /// Collective; see CudaMulticast.
  Status meet(bool isEachAlone) { return multicast.meet(isEachAlone); }

  /// What coll_inst.wins points to.
  DevicePtr table() const { return memory.address(); }
  /// Not 0: windows may have multicast addresses.
  DevicePtr multicastArena() const { return multicast.address(); }

  //===-- The communicator's thread -----------------------------------------//
  Status allocate(size_t bytes, void **result);
  Status free(void *ptr);
  Status add(void *ptr, size_t bytes, int fd);
  Status remove(void *ptr);

  //===-- The monitor's -----------------------------------------------------//
  Status addWindow(int peer, uint64_t window, Message message) override;
  void dropWindow(int peer, uint64_t window) noexcept override;

private:
  struct DeviceAllocation {
    SharedBuffer memory;
    uint32_t window = 0;           ///< 0: none
    std::optional<uint64_t> place; ///< in the multicast arena
  };
  struct DeviceRegistration {
    size_t bytes = 0;
    uint32_t window = 0;
  };
  /// An allocation of the driver, and where in it a window lies.
  struct Exported {
    SharedHandle shared;
    uint64_t bytes = 0, offset = 0;
  };
  Status share(DevicePtr base, size_t bytes, const Exported &exported,
               std::optional<uint64_t> place, uint32_t &window);
  void withdraw(uint32_t window) noexcept;
  std::string exportRange(DevicePtr begin, size_t bytes, Exported &result);
  Status show(int rank, uint64_t window, const coll_window &entry);
  void hide(int rank, uint64_t window) noexcept;

  Communicator &comm;
  const CudaDevice &device;
  CudaMulticast multicast; ///< outlives what is bound
  DeviceBuffer memory;     ///< coll_window[COLL_MAX_WINDOWS][ranks]
  std::mutex mutex;        ///< guards what the application has
  std::map<void *, DeviceAllocation> allocations;
  std::map<void *, DeviceRegistration> registrations;
  std::map<std::pair<int, uint64_t>, SharedBuffer> mappings; ///< the monitor's
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDAWINDOWS_H
