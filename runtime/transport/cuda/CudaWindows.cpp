//===- CudaWindows.cpp - Memory of devices that peers reach ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/CudaWindows.h"
#include "runtime/core/Wire.h"

namespace coll::cuda {

/// More than any device has.
static constexpr uint64_t mostBytes = uint64_t(1) << 46;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

Status CudaWindows::create() {
  size_t bytes = sizeof(coll_window) * COLL_MAX_WINDOWS * size_t(comm.size());
  COLL_TRY(DeviceBuffer::create(device, bytes, memory));
  return device.zero(memory.address(), bytes);
}

Status CudaWindows::show(int rank, uint64_t window, const coll_window &entry) {
  size_t index = window * size_t(comm.size()) + size_t(rank);
  return device.upload(memory.address() + index * sizeof entry, &entry,
                       sizeof entry);
}

/// A kernel looks at windows only that stand in a launch; so an entry that
/// cannot be cleared, as the device has failed, hurts nobody.
void CudaWindows::hide(int rank, uint64_t window) noexcept {
  (void)catchNoMemory([&] { return show(rank, window, {}); });
}

//===----------------------------------------------------------------------===//
// Own memory
//===----------------------------------------------------------------------===//

/// `window` is 0 where not all peers can map it, which is no error.
Status CudaWindows::share(DevicePtr base, size_t bytes,
                          const Exported &exported,
                          std::optional<uint64_t> place, uint32_t &window) {
  if (!multicast.isBound(place))
    place.reset();
  WireWriter writer;
  writer.write<uint64_t>(bytes);
  writer.write<uint64_t>(exported.bytes);
  writer.write<uint64_t>(exported.offset);
  writer.write<uint64_t>(place ? *place + 1 : 0);
  exported.shared.write(writer);
  COLL_TRY(comm.memory().share(reinterpret_cast<void *>(uintptr_t(base)), bytes,
                               writer.bytes(), exported.shared.fd.get(),
                               window));
  if (window == 0)
    return Status::ok();
  Status status =
      show(comm.rank(), window,
           {base, bytes, place ? multicast.address() + *place : 0, 0});
  if (!status.isOk())
    withdraw(window);
  return status;
}

void CudaWindows::withdraw(uint32_t window) noexcept {
  if (window == 0)
    return;
  comm.memory().withdraw(window);
  hide(comm.rank(), window);
}

Status CudaWindows::allocate(size_t bytes, void **result) {
  if (bytes == 0)
    return Status::error(COLL_INVALID, "coll_mem_alloc of 0 bytes");
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  DeviceAllocation made;
  Exported exported;
  COLL_TRY(SharedBuffer::create(device, bytes, exported.shared, made.memory,
                                multicast.granularity()));
  exported.bytes = made.memory.size();
  made.place = multicast.bind(made.memory.allocation(), exported.bytes);
  Status status = share(made.memory.address(), exported.bytes, exported,
                        made.place, made.window);
  if (!status.isOk()) {
    if (made.place)
      multicast.unbind(*made.place);
    return status;
  }
  comm.info(
      "coll_mem_alloc of %zu bytes on device %d: %s%s", bytes, device.number(),
      made.window ? "within reach of all ranks" : "not within reach of peers",
      multicast.isBound(made.place) ? ", by multicast too" : "");
  void *address = reinterpret_cast<void *>(uintptr_t(made.memory.address()));
  std::lock_guard lock(mutex);
  allocations[address] = std::move(made);
  *result = address;
  return Status::ok();
}

Status CudaWindows::free(void *ptr) {
  if (!ptr)
    return Status::ok();
  std::lock_guard lock(mutex);
  auto at = allocations.find(ptr);
  if (at == allocations.end())
    return Status::error(COLL_INVALID,
                         "%p is not from coll_mem_alloc on this communicator",
                         ptr);
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  withdraw(at->second.window);
  if (at->second.place)
    multicast.unbind(*at->second.place);
  allocations.erase(at);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Memory of the application
//===----------------------------------------------------------------------===//

/// Empty, or why it cannot be: that is the application's choice, and no error.
std::string CudaWindows::exportRange(DevicePtr begin, size_t bytes,
                                     Exported &result) {
  const Driver &driver = device.driver();
  DevicePtr base = 0;
  size_t size = 0;
  if (driver.memRange(&base, &size, begin) != success)
    return "the driver does not know it";
  if (begin - base > size || bytes > size - (begin - base))
    return "it is not of one allocation";
  MemHandle handle = 0;
  if (driver.memRetain(&handle, reinterpret_cast<void *>(uintptr_t(base))) !=
      success)
    return "it is not from cuMemCreate";
  Status exported = SharedHandle::of(device, handle, result.shared);
  (void)driver.memRelease(handle);
  if (!exported.isOk())
    return "it was not made to be exported as a descriptor" +
           std::string(device.hasFabric() ? ", or by a fabric handle" : "");
  result.bytes = size;
  result.offset = begin - base;
  return "";
}

Status CudaWindows::add(void *ptr, size_t bytes, int fd) {
  if (!ptr || bytes == 0 || bytes > UINTPTR_MAX - uintptr_t(ptr))
    return Status::error(COLL_INVALID,
                         "coll_register of %zu bytes at %p is no range", bytes,
                         ptr);
  if (fd != -1)
    return Status::error(COLL_INVALID,
                         "coll_register: device memory has no descriptor, so "
                         "that is -1 and not %d",
                         fd);
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  auto begin = DevicePtr(uintptr_t(ptr));
  unsigned type = 0;
  bool isDevice = device.driver().pointerGetAttribute(&type, pointerMemoryType,
                                                      begin) == success &&
                  type == memoryDevice;
  std::lock_guard lock(mutex);
  if (registrations.count(ptr))
    return Status::error(COLL_INVALID, "%p is registered already", ptr);
  DeviceRegistration made = {bytes, 0};
  Exported exported;
  std::string reason = isDevice ? exportRange(begin, bytes, exported)
                                : "it is not memory of a device";
  if (reason.empty())
    COLL_TRY(share(begin, bytes, exported, std::nullopt, made.window));
  if (reason.empty() && made.window == 0)
    reason = "not all of them can map it";
  if (!reason.empty())
    comm.info("peers do not reach %zu bytes at %p: %s", bytes, ptr,
              reason.c_str());
  registrations[ptr] = made;
  return Status::ok();
}

Status CudaWindows::remove(void *ptr) {
  std::lock_guard lock(mutex);
  auto at = registrations.find(ptr);
  if (at == registrations.end())
    return Status::error(COLL_INVALID,
                         "%p is not registered on this communicator", ptr);
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  withdraw(at->second.window);
  registrations.erase(at);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Peers' memory
//===----------------------------------------------------------------------===//

Status CudaWindows::addWindow(int peer, uint64_t window, Message message) {
  WireReader reader(message.bytes);
  uint64_t bytes = reader.read<uint64_t>();
  uint64_t whole = reader.read<uint64_t>();
  uint64_t offset = reader.read<uint64_t>();
  uint64_t place = reader.read<uint64_t>();
  SharedHandle shared;
  bool isShared = SharedHandle::read(reader, message.fds, shared);
  if (!isShared || !reader.finish() || window == 0 ||
      window >= COLL_MAX_WINDOWS || bytes == 0 || whole > mostBytes ||
      offset > whole || bytes > whole - offset ||
      mappings.count({peer, window}))
    return Status::error(COLL_SYSTEM, "rank %d offers no window", peer);
  if (!device.isReachableFrom(comm.board(peer).deviceMark()))
    return Status::error(COLL_SYSTEM,
                         "device %d has no access to that of rank %d",
                         device.number(), peer);
  ContextScope scope(device.driver(), device.context());
  COLL_TRY(scope.status());
  SharedBuffer mapping;
  COLL_TRY(SharedBuffer::import(device, shared, whole, mapping));
  comm.info("rank %d's window %llu is mapped by a %s", peer,
            (unsigned long long)window,
            mapping.isByFabric() ? "fabric handle" : "descriptor");
  // Kernels look here only after the peer has had the answer to this.
  COLL_TRY(show(
      peer, window,
      {mapping.address() + offset, bytes, multicast.placeOf(place, bytes), 0}));
  mappings[{peer, window}] = std::move(mapping);
  return Status::ok();
}

void CudaWindows::dropWindow(int peer, uint64_t window) noexcept {
  auto found = mappings.find({peer, window});
  if (found == mappings.end())
    return;
  ContextScope scope(device.driver(), device.context());
  hide(peer, window);
  mappings.erase(found);
}

} // namespace coll::cuda
