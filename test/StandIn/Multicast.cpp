//===- Multicast.cpp - The stand-in's multicast objects -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An object is a memfd: addresses to reserve, which nothing is ever written to,
// and behind them what all processes have to know of it: which devices are in
// it, and what is bound where.  Memory of other processes is found by process
// and descriptor.
//
// Rules that are kept, as CUDA's manual has them: a device once, as many
// devices as the object was made for, all of them before the first memory is
// bound and before it is mapped; sizes and offsets of the granularity; memory
// of a device of the object; no two pieces of a device at one place.
//
//===----------------------------------------------------------------------===//

#include "test/StandIn/StandIn.h"

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace coll::standin;

namespace coll::standin {
struct MulticastState {
  static constexpr unsigned mostDevices = 64, mostBindings = 1024;
  struct Binding {
    bool isLive;
    int device, pid, fd;
    size_t offset, bytes, memoryOffset;
    uint64_t serial;
  };
  std::atomic<uint32_t> lock;
  unsigned wanted, added;
  int devices[mostDevices];
  uint64_t nextSerial;
  Binding bindings[mostBindings];
};
} // namespace coll::standin

namespace {
constexpr size_t stateBytes =
    (sizeof(MulticastState) + granularity - 1) / granularity * granularity;

class Locked {
public:
  explicit Locked(MulticastState &state) : state(state) {
    while (state.lock.exchange(1, std::memory_order_acquire))
      sched_yield();
  }
  ~Locked() { state.lock.store(0, std::memory_order_release); }

private:
  MulticastState &state;
};

bool hasDevice(const MulticastState &state, int device) {
  for (unsigned i = 0; i != state.added; ++i)
    if (state.devices[i] == device)
      return true;
  return false;
}

bool isOf(size_t bytes) { return bytes % multicastGranularity == 0; }
} // namespace

bool coll::standin::openMulticast(Physical &physical) {
  char path[64], name[128] = "";
  struct stat info;
  snprintf(path, sizeof path, "/proc/self/fd/%d", physical.fd);
  if (readlink(path, name, sizeof name - 1) <= 0 ||
      strncmp(name, "/memfd:stand-in multicast", 25) != 0 ||
      fstat(physical.fd, &info) != 0)
    return false;
  physical.bytes = size_t(info.st_size) - stateBytes;
  void *memory = mmap(nullptr, stateBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      physical.fd, off_t(physical.bytes));
  if (memory == MAP_FAILED)
    return false;
  physical.multicast = static_cast<MulticastState *>(memory);
  return true;
}
void coll::standin::closeMulticast(Physical &physical) {
  if (physical.multicast)
    munmap(physical.multicast, stateBytes);
}
bool coll::standin::isWhole(const Physical &physical) {
  Locked locked(*physical.multicast);
  return physical.multicast->added == physical.multicast->wanted;
}

std::vector<BoundMemory> coll::standin::boundMemory(const Physical &physical) {
  Locked locked(*physical.multicast);
  std::vector<BoundMemory> result;
  for (const auto &entry : physical.multicast->bindings) {
    if (!entry.isLive)
      continue;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", entry.pid, entry.fd);
    result.push_back({entry.offset, entry.bytes, entry.memoryOffset,
                      open(path, O_RDWR | O_CLOEXEC), entry.serial});
  }
  return result;
}

STANDIN_EXPORT Result cuMulticastGetGranularity(size_t *bytes,
                                                const MulticastProp *prop,
                                                int) {
  STANDIN_CALL("cuMulticastGetGranularity", false);
  *bytes = multicastGranularity;
  return prop->numDevices ? success : invalidValue;
}
STANDIN_EXPORT Result cuMulticastCreate(MemHandle *handle,
                                        const MulticastProp *prop) {
  STANDIN_CALL("cuMulticastCreate", false);
  World &world = World::get();
  if (!world.hasMulticast)
    return notSupported;
  if (prop->numDevices == 0 || prop->numDevices > MulticastState::mostDevices ||
      prop->size == 0 || !isOf(prop->size) || prop->flags != 0)
    return wrong(invalidValue, "cuMulticastCreate of %zu bytes", prop->size);
  int fd = memfd_create("stand-in multicast", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, off_t(prop->size + stateBytes)) != 0)
    return outOfMemory;
  std::lock_guard lock(world.mutex);
  auto physical = makePhysical(fd, prop->size);
  if (!openMulticast(*physical))
    return outOfMemory;
  physical->multicast->wanted = prop->numDevices;
  physical->handleTypes = int(prop->handleTypes);
  *handle = addHandle(world, std::move(physical));
  return success;
}

static Result findObject(World &world, MemHandle handle, const char *call,
                         std::shared_ptr<Physical> &object) {
  if (Result r = findHandle(world, handle, call, object))
    return r;
  return object->multicast
             ? success
             : wrong(invalidValue, "%s of what is no multicast object", call);
}

STANDIN_EXPORT Result cuMulticastAddDevice(MemHandle handle, Device device) {
  STANDIN_CALL("cuMulticastAddDevice", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  std::shared_ptr<Physical> object;
  if (Result r = findObject(world, handle, "cuMulticastAddDevice", object))
    return r;
  if (device < 0 || device >= world.devices)
    return wrong(invalidDevice, "cuMulticastAddDevice of device %d", device);
  MulticastState &state = *object->multicast;
  Locked locked(state);
  if (hasDevice(state, device) || state.added == state.wanted)
    return wrong(invalidValue,
                 "cuMulticastAddDevice of device %d, which is in the object "
                 "already, or one too many",
                 device);
  state.devices[state.added++] = device;
  return success;
}

STANDIN_EXPORT Result cuMulticastBindMem(MemHandle handle, size_t offset,
                                         MemHandle memory, size_t memOffset,
                                         size_t bytes,
                                         unsigned long long flags) {
  STANDIN_CALL("cuMulticastBindMem", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  std::shared_ptr<Physical> object, physical;
  if (Result r = findObject(world, handle, "cuMulticastBindMem", object))
    return r;
  if (Result r = findHandle(world, memory, "cuMulticastBindMem", physical))
    return r;
  if (flags != 0 || bytes == 0 || !isOf(bytes) || !isOf(offset) ||
      !isOf(memOffset) || offset > object->bytes ||
      bytes > object->bytes - offset || memOffset > physical->bytes ||
      bytes > physical->bytes - memOffset)
    return wrong(invalidValue, "cuMulticastBindMem out of range");
  MulticastState &state = *object->multicast;
  Locked locked(state);
  if (state.added != state.wanted)
    return wrong(invalidValue, "cuMulticastBindMem before all devices are in");
  if (!hasDevice(state, physical->device))
    return wrong(invalidValue, "cuMulticastBindMem of memory of device %d",
                 physical->device);
  MulticastState::Binding *free = nullptr;
  for (MulticastState::Binding &entry : state.bindings) {
    if (!entry.isLive && !free)
      free = &entry;
    if (entry.isLive && entry.device == physical->device &&
        offset < entry.offset + entry.bytes && entry.offset < offset + bytes)
      return wrong(invalidValue, "cuMulticastBindMem where memory is bound");
  }
  if (!free)
    return outOfMemory;
  *free = {true,  physical->device, getpid(),          physical->fd, offset,
           bytes, memOffset,        ++state.nextSerial};
  return success;
}

STANDIN_EXPORT Result cuMulticastUnbind(MemHandle handle, Device device,
                                        size_t offset, size_t bytes) {
  STANDIN_CALL("cuMulticastUnbind", false);
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  std::shared_ptr<Physical> object;
  if (Result r = findObject(world, handle, "cuMulticastUnbind", object))
    return r;
  Locked locked(*object->multicast);
  for (MulticastState::Binding &entry : object->multicast->bindings)
    if (entry.isLive && entry.device == device && entry.offset == offset &&
        entry.bytes == bytes) {
      entry.isLive = false;
      return success;
    }
  return wrong(invalidValue, "cuMulticastUnbind of what is not bound");
}
