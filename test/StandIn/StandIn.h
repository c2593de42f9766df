//===- StandIn.h - A CUDA driver without a device ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libcuda.so.1 for tests.  It has the calls that the runtime and its tests
// make, on host memory, and is stricter than a driver need be:
//
//   memory    VMM handles are memfds, so that export and import between
//             processes work; a mapping has no access until it is given, and
//             memory that is freed or unmapped faults.  Registered host memory
//             has another address for the device than for the host
//   streams   a thread each; copies read their source late
//   graphs    nodes know only the edges that were captured, and run in any
//             order that these allow
//   kernels   run by an Executor (Executor.h), all blocks at the same time
//   errors    wrong context, dead handles, ranges outside of an allocation: the
//             driver's error, and a line on standard error
//   exit      what was not given back is listed, and the process ends with 97
//
// Set by the environment:
//   COLL_STANDIN_DEVICES  their number (1)     COLL_STANDIN_CHIP  90
//   COLL_STANDIN_SMS      4                    COLL_STANDIN_PEERS 1; 0: none
//   COLL_STANDIN_MULTICAST 1; 0: none        COLL_STANDIN_NVLINK 1; 0: PCIe
//   COLL_STANDIN_VERSION  13000: the driver's CUDA
//   COLL_STANDIN_FABRIC   1: fabric handles; 0: none; 2: as of a process that
//                         has no right to them
//   COLL_STANDIN_FAIL     NAME:N:E or N:E: the N-th call (of that name) returns
//   E;
//                         without a name, calls that give back do not count
//   COLL_STANDIN_COUNT    1: the number of calls is printed at exit, and
//                         of multimem instructions that kernels have run, and
//                         of lines that they have stored, and for how many
//                         queues CUDA_DEVICE_MAX_CONNECTIONS asked
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_STANDIN_STANDIN_H
#define COLL_TEST_STANDIN_STANDIN_H

#include "runtime/transport/cuda/CudaApi.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace coll::standin {

using namespace cuda;

inline constexpr size_t granularity = 64 << 10;
/// Of multicast objects, as devices have a larger one there, too.
inline constexpr size_t multicastGranularity = 128 << 10;

struct MulticastState;
/// Physical memory, or a multicast object.
struct Physical {
  int fd = -1;
  size_t bytes = 0;
  int device = 0;
  MulticastState *multicast = nullptr; ///< shared by all processes
  unsigned handles = 0;                ///< and mappings
  int handleTypes = 0;                 ///< by which it may be exported
};
struct Reservation {
  size_t bytes = 0;
};
struct Mapping {
  size_t bytes = 0;
  std::shared_ptr<Physical> physical;
  bool isAccessible = false;
};
struct Allocation {
  size_t bytes = 0;
  int device = 0;
};
struct Registration {
  size_t bytes = 0;
  void *device = nullptr; ///< its address for kernels
};

/// All state but streams and modules.  Guarded by `mutex`.
struct World {
  std::mutex mutex;
  bool isInitialized = false;
  int devices = 1, chip = 90, sms = 4, version = 13000, queues = 8;
  bool hasPeers = true, hasLinks = true, hasMulticast = true;
  int fabric = 1;
  std::vector<unsigned> retained; ///< primary contexts, by device

  std::map<MemHandle, std::shared_ptr<Physical>> handles;
  MemHandle nextHandle = 0x1000;
  std::map<DevicePtr, Reservation> reservations;
  std::map<DevicePtr, Mapping> mappings;
  std::map<DevicePtr, Allocation> allocations;
  std::map<uintptr_t, Registration> registrations;

  uint64_t calls = 0;
  std::map<std::string, uint64_t> callsByName;
  std::string failName; ///< "": of all calls
  uint64_t failCall = 0;
  Result failResult = success, sticky = success;
  bool printsCount = false;
  uint64_t multimems = 0; ///< instructions on multicast addresses
  uint64_t lines = 0;     ///< of 128 bytes, stored as one

  static World &get();
  /// Bytes [address, address + bytes) lie in accessible device memory, or in
  /// registered host memory by its device address.
  bool isDeviceRange(DevicePtr address, size_t bytes);
  void leak(const std::string &what) { leaks.push_back(what); }
  std::vector<std::string> leaks;
};

/// Counts a call; not success: what it is to return at once.
Result enter(const char *name, bool needsContext = true);
/// Says what an application did wrong, and returns the error.
Result wrong(Result result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Ordinal of the current context's device, or -1.
int currentDevice();

// Memory.cpp.
Result findHandle(World &world, MemHandle handle, const char *call,
                  std::shared_ptr<Physical> &result);
MemHandle addHandle(World &world, std::shared_ptr<Physical> physical);
/// Takes the descriptor.
std::shared_ptr<Physical> makePhysical(int fd, size_t bytes);

// Multicast.cpp.
/// Whether a descriptor is that of an object, which is then open.
bool openMulticast(Physical &physical);
void closeMulticast(Physical &physical);
/// All devices are in it.
bool isWhole(const Physical &physical);
/// What is bound now, by any process: where, how much, and a descriptor to map
/// it with, which is the caller's, or -1.
struct BoundMemory {
  size_t offset, bytes, memoryOffset;
  int fd;
  uint64_t serial; ///< of this binding, never used again
};
std::vector<BoundMemory> boundMemory(const Physical &physical);

// Lists what is left over (Streams.cpp, Modules.cpp).
void listStreamLeaks(World &world);
void listModuleLeaks(World &world);

} // namespace coll::standin

/// The first line of every call.
#define STANDIN_CALL(...)                                                      \
  if (::coll::cuda::Result early = ::coll::standin::enter(__VA_ARGS__))        \
  return early

#endif // COLL_TEST_STANDIN_STANDIN_H
