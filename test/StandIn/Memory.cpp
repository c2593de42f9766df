//===- Memory.cpp - The stand-in's memory ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory is memory of this process.  Addresses that were given up stay
// reserved without access, so that a late use faults instead of hitting
// something new.
//
//===----------------------------------------------------------------------===//

#include "test/StandIn/StandIn.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace coll::standin;

static void *pointer(DevicePtr address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}
static bool isValid(const AllocationProp *prop) {
  return prop->type == allocationPinned &&
         prop->location.type == locationDevice && prop->location.id >= 0 &&
         prop->location.id < World::get().devices;
}

bool World::isDeviceRange(DevicePtr address, size_t bytes) {
  auto lies = [&](auto &table, auto &&usable) {
    auto after = table.upper_bound(address);
    if (after == table.begin())
      return false;
    auto &[base, entry] = *--after;
    return usable(entry) && address - base <= entry.bytes &&
           bytes <= entry.bytes - (address - base);
  };
  if (lies(allocations, [](auto &) { return true; }) ||
      lies(mappings,
           [](Mapping &m) { return m.isAccessible && !m.physical->multicast; }))
    return true;
  for (auto &[host, entry] : registrations) {
    auto base = DevicePtr(reinterpret_cast<uintptr_t>(entry.device));
    if (address >= base && address - base <= entry.bytes &&
        bytes <= entry.bytes - (address - base))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Plain memory
//===----------------------------------------------------------------------===//

STANDIN_EXPORT Result cuMemAlloc_v2(DevicePtr *address, size_t bytes) {
  STANDIN_CALL("cuMemAlloc_v2");
  if (bytes == 0)
    return wrong(invalidValue, "cuMemAlloc of 0 bytes");
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return outOfMemory;
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  *address = reinterpret_cast<uintptr_t>(memory);
  // Not zero: memory of a device holds anything.
  for (size_t i = 0; i != bytes; ++i)
    static_cast<unsigned char *>(memory)[i] = 0xa5;
  world.allocations[*address] = {bytes, currentDevice()};
  return success;
}
STANDIN_EXPORT Result cuMemFree_v2(DevicePtr address) {
  STANDIN_CALL("cuMemFree_v2");
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto found = world.allocations.find(address);
  if (found == world.allocations.end())
    return wrong(invalidValue, "cuMemFree of %llx, which is no allocation",
                 address);
  mmap(pointer(address), found->second.bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  world.allocations.erase(found);
  return success;
}

STANDIN_EXPORT Result cuMemHostRegister_v2(void *host, size_t bytes,
                                           unsigned flags) {
  STANDIN_CALL("cuMemHostRegister_v2");
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (bytes == 0 || !(flags & hostRegisterMapped))
    return wrong(invalidValue, "cuMemHostRegister of %zu bytes, flags %u",
                 bytes, flags);
  if (msync(host, bytes, MS_ASYNC) != 0)
    return wrong(invalidValue, "cuMemHostRegister of what is not mapped");
  auto begin = reinterpret_cast<uintptr_t>(host);
  for (auto &[base, entry] : world.registrations)
    if (begin < base + entry.bytes && base < begin + bytes)
      return wrong(alreadyMapped, "cuMemHostRegister of registered memory");
  // A second address for shared memory; what is private has only one.
  void *second = mremap(host, 0, bytes, MREMAP_MAYMOVE);
  bool isShared = second != MAP_FAILED;
  world.registrations[begin] = {bytes, isShared ? second : host};
  return success;
}
STANDIN_EXPORT Result cuMemHostUnregister(void *host) {
  STANDIN_CALL("cuMemHostUnregister");
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto found = world.registrations.find(reinterpret_cast<uintptr_t>(host));
  if (found == world.registrations.end())
    return wrong(notRegistered, "cuMemHostUnregister of what is not");
  if (found->second.device != host)
    mmap(found->second.device, found->second.bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  world.registrations.erase(found);
  return success;
}
STANDIN_EXPORT Result cuMemHostGetDevicePointer_v2(DevicePtr *address,
                                                   void *host, unsigned flags) {
  STANDIN_CALL("cuMemHostGetDevicePointer_v2");
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto at = reinterpret_cast<uintptr_t>(host);
  for (auto &[base, entry] : world.registrations)
    if (at >= base && at < base + entry.bytes && flags == 0) {
      *address = reinterpret_cast<uintptr_t>(entry.device) + (at - base);
      return success;
    }
  return wrong(invalidValue, "cuMemHostGetDevicePointer of what is not "
                             "registered");
}

STANDIN_EXPORT Result cuPointerGetAttribute(void *data,
                                            PointerAttribute attribute,
                                            DevicePtr address) {
  STANDIN_CALL("cuPointerGetAttribute");
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  unsigned type = 0;
  int device = 0;
  for (auto &[base, entry] : world.allocations)
    if (address >= base && address < base + entry.bytes) {
      type = memoryDevice;
      device = entry.device;
    }
  for (auto &[base, entry] : world.mappings)
    if (address >= base && address < base + entry.bytes) {
      type = memoryDevice;
      device = entry.physical->device;
    }
  for (auto &[base, entry] : world.registrations)
    if (address >= base && address < base + entry.bytes)
      type = memoryHost;
  if (type == 0)
    return invalidValue; // as for any memory that CUDA does not know
  if (attribute == pointerMemoryType)
    *static_cast<unsigned *>(data) = type;
  else if (attribute == pointerDeviceOrdinal)
    *static_cast<int *>(data) = device;
  else
    return wrong(invalidValue, "there is no pointer attribute %d", attribute);
  return success;
}

//===----------------------------------------------------------------------===//
// Virtual memory management
//===----------------------------------------------------------------------===//

Result coll::standin::findHandle(World &world, MemHandle handle,
                                 const char *call,
                                 std::shared_ptr<Physical> &result) {
  auto found = world.handles.find(handle);
  if (found == world.handles.end())
    return wrong(invalidValue, "%s: handle %llx is dead", call, handle);
  result = found->second;
  return success;
}

STANDIN_EXPORT Result cuMemGetAllocationGranularity(size_t *bytes,
                                                    const AllocationProp *prop,
                                                    int) {
  STANDIN_CALL("cuMemGetAllocationGranularity", false);
  *bytes = granularity;
  return isValid(prop) ? success : invalidValue;
}
MemHandle coll::standin::addHandle(World &world,
                                   std::shared_ptr<Physical> physical) {
  world.handles[world.nextHandle] = std::move(physical);
  return world.nextHandle++;
}
std::shared_ptr<Physical> coll::standin::makePhysical(int fd, size_t bytes) {
  std::shared_ptr<Physical> made(new Physical, [](Physical *physical) {
    closeMulticast(*physical);
    close(physical->fd);
    delete physical;
  });
  made->fd = fd;
  made->bytes = bytes;
  return made;
}

STANDIN_EXPORT Result cuMemCreate(MemHandle *handle, size_t bytes,
                                  const AllocationProp *prop,
                                  unsigned long long flags) {
  STANDIN_CALL("cuMemCreate", false);
  if (!isValid(prop) || flags != 0 || bytes == 0 || bytes % granularity != 0)
    return wrong(invalidValue, "cuMemCreate of %zu bytes", bytes);
  World &world = World::get();
  const int types = prop->requestedHandleTypes;
  if (types & ~(handlePosixFd | handleFabric))
    return wrong(invalidValue, "cuMemCreate with handle types %d", types);
  if ((types & handleFabric) && world.fabric != 1)
    return world.fabric ? notPermitted : notSupported;
  // Whoever imports it learns the device from its name.
  std::string name = "stand-in device " + std::to_string(prop->location.id);
  int fd = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, off_t(bytes)) != 0)
    return outOfMemory;
  std::lock_guard lock(world.mutex);
  auto physical = makePhysical(fd, bytes);
  physical->device = prop->location.id;
  physical->handleTypes = types;
  *handle = addHandle(world, std::move(physical));
  return success;
}
/// The mapping that has the address; null: none.
static const std::pair<const DevicePtr, Mapping> *findMapping(World &world,
                                                              DevicePtr at) {
  auto after = world.mappings.upper_bound(at);
  if (after == world.mappings.begin())
    return nullptr;
  --after;
  return at - after->first < after->second.bytes ? &*after : nullptr;
}

STANDIN_EXPORT Result cuMemRetainAllocationHandle(MemHandle *handle,
                                                  void *address) {
  STANDIN_CALL("cuMemRetainAllocationHandle", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto *found = findMapping(world, reinterpret_cast<uintptr_t>(address));
  if (!found) // as for memory of cuMemAlloc
    return invalidValue;
  *handle = addHandle(world, found->second.physical);
  return success;
}
STANDIN_EXPORT Result cuMemGetAddressRange_v2(DevicePtr *base, size_t *bytes,
                                              DevicePtr address) {
  STANDIN_CALL("cuMemGetAddressRange_v2");
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  for (auto &[begin, entry] : world.allocations)
    if (address - begin < entry.bytes) {
      *base = begin;
      *bytes = entry.bytes;
      return success;
    }
  auto *found = findMapping(world, address);
  if (!found)
    return notFound;
  *base = found->first;
  *bytes = found->second.bytes;
  return success;
}

STANDIN_EXPORT Result cuMemRelease(MemHandle handle) {
  STANDIN_CALL("cuMemRelease", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (world.handles.erase(handle) == 0)
    return wrong(invalidValue, "cuMemRelease of a dead handle");
  return success;
}
namespace {
/// What a fabric handle says: whose memory it is, as long as that lives.
struct FabricName {
  static constexpr uint64_t mark = 0x6369'7262'6166'2d79; // "y-fabric"
  uint64_t magic, inode;
  int pid, fd;
};
static_assert(sizeof(FabricName) <= sizeof(FabricHandle));
} // namespace

static void nameFabric(const Physical &physical, void *result) {
  struct stat info = {};
  fstat(physical.fd, &info);
  FabricName name = {FabricName::mark, info.st_ino, getpid(), physical.fd};
  FabricHandle handle = {};
  std::memcpy(handle.bytes, &name, sizeof name);
  std::memcpy(result, &handle, sizeof handle);
}

/// A descriptor of it; -1: there is no such memory.
static int openFabric(const void *source) {
  FabricName name;
  std::memcpy(&name, source, sizeof name);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", name.pid, name.fd);
  int fd = name.magic == FabricName::mark ? open(path, O_RDWR | O_CLOEXEC) : -1;
  struct stat info = {};
  if (fd >= 0 && (fstat(fd, &info) != 0 || info.st_ino != name.inode)) {
    close(fd);
    return -1;
  }
  return fd;
}

STANDIN_EXPORT Result cuMemExportToShareableHandle(void *result,
                                                   MemHandle handle, int type,
                                                   unsigned long long flags) {
  STANDIN_CALL("cuMemExportToShareableHandle", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  std::shared_ptr<Physical> physical;
  if (Result r = findHandle(world, handle, "export", physical))
    return r;
  if (!(physical->handleTypes & type) || flags != 0) // 0: as an application has
    return physical->handleTypes && type == handlePosixFd
               ? invalidValue
               : wrong(invalidValue,
                       "export of memory that was not made for it");
  if (type == handleFabric) {
    nameFabric(*physical, result);
    return success;
  }
  int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
  *static_cast<int *>(result) = fd;
  return fd >= 0 ? success : unknownError;
}
/// By the name that its memfd was given; -1: it was not exported by us.
static int deviceOf(int fd) {
  char path[64], name[128] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (readlink(path, name, sizeof name - 1) <= 0)
    return -1;
  int device = -1;
  return sscanf(name, "/memfd:stand-in device %d", &device) == 1 ? device : -1;
}

STANDIN_EXPORT Result cuMemImportFromShareableHandle(MemHandle *handle,
                                                     void *source, int type) {
  STANDIN_CALL("cuMemImportFromShareableHandle", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (type == handleFabric && world.fabric != 1)
    return notPermitted;
  int fd = type == handleFabric ? openFabric(source)
                                : fcntl(int(reinterpret_cast<intptr_t>(source)),
                                        F_DUPFD_CLOEXEC, 0);
  struct stat info;
  if ((type != handlePosixFd && type != handleFabric) || fd < 0 ||
      fstat(fd, &info) != 0)
    return wrong(invalidValue, "import of what is no handle");
  auto physical = makePhysical(fd, size_t(info.st_size));
  physical->device = deviceOf(fd);
  if (openMulticast(*physical)) {
    *handle = addHandle(world, std::move(physical));
    return success;
  }
  if (info.st_size == 0 || size_t(info.st_size) % granularity != 0 ||
      physical->device < 0)
    return wrong(invalidValue, "import of what was not exported");
  *handle = addHandle(world, std::move(physical));
  return success;
}

STANDIN_EXPORT Result cuMemAddressReserve(DevicePtr *address, size_t bytes,
                                          size_t alignment, DevicePtr wish,
                                          unsigned long long flags) {
  STANDIN_CALL("cuMemAddressReserve", false);
  if (bytes == 0 || bytes % granularity != 0 || wish != 0 || flags != 0 ||
      (alignment & (alignment - 1)) != 0)
    return wrong(invalidValue, "cuMemAddressReserve of %zu bytes", bytes);
  // What is not used of it stays reserved.
  void *memory = mmap(nullptr, bytes + alignment, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return outOfMemory;
  if (alignment)
    memory = reinterpret_cast<void *>(
        (reinterpret_cast<uintptr_t>(memory) + alignment - 1) / alignment *
        alignment);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  *address = reinterpret_cast<uintptr_t>(memory);
  world.reservations[*address] = {bytes};
  return success;
}
STANDIN_EXPORT Result cuMemAddressFree(DevicePtr address, size_t bytes) {
  STANDIN_CALL("cuMemAddressFree", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto found = world.reservations.find(address);
  if (found == world.reservations.end() || found->second.bytes != bytes)
    return wrong(invalidValue, "cuMemAddressFree of what is not reserved");
  if (world.mappings.count(address))
    return wrong(invalidValue, "cuMemAddressFree of mapped addresses");
  world.reservations.erase(found);
  return success;
}
STANDIN_EXPORT Result cuMemMap(DevicePtr address, size_t bytes, size_t offset,
                               MemHandle handle, unsigned long long flags) {
  STANDIN_CALL("cuMemMap", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  std::shared_ptr<Physical> physical;
  if (Result r = findHandle(world, handle, "cuMemMap", physical))
    return r;
  auto found = world.reservations.find(address);
  if (found == world.reservations.end() || bytes > found->second.bytes ||
      offset != 0 || flags != 0 || bytes > physical->bytes)
    return wrong(invalidValue, "cuMemMap of %zu bytes at %llx", bytes, address);
  if (world.mappings.count(address))
    return wrong(invalidValue, "cuMemMap where something is mapped");
  if (physical->multicast && !isWhole(*physical))
    return wrong(invalidValue, "cuMemMap of a multicast object that lacks "
                               "devices");
  if (mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
           physical->fd, 0) == MAP_FAILED)
    return outOfMemory;
  world.mappings[address] = {bytes, std::move(physical)};
  return success;
}
STANDIN_EXPORT Result cuMemUnmap(DevicePtr address, size_t bytes) {
  STANDIN_CALL("cuMemUnmap", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto found = world.mappings.find(address);
  if (found == world.mappings.end() || found->second.bytes != bytes)
    return wrong(invalidValue, "cuMemUnmap of what is not mapped");
  mmap(pointer(address), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  world.mappings.erase(found);
  return success;
}
STANDIN_EXPORT Result cuMemSetAccess(DevicePtr address, size_t bytes,
                                     const AccessDesc *access, size_t count) {
  STANDIN_CALL("cuMemSetAccess", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  auto found = world.mappings.find(address);
  if (found == world.mappings.end() || found->second.bytes != bytes ||
      count == 0 || access->flags != accessReadWrite ||
      access->location.type != locationDevice)
    return wrong(invalidValue, "cuMemSetAccess of what is not mapped");
  if (found->second.physical->multicast) { // no plain access is allowed
    found->second.isAccessible = true;
    return success;
  }
  if (access->location.id != found->second.physical->device && !world.hasPeers)
    return wrong(peerAccessUnsupported,
                 "device %d has no access to memory of device %d",
                 access->location.id, found->second.physical->device);
  if (mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) != 0)
    return unknownError;
  found->second.isAccessible = true;
  return success;
}
