//===- CudaDevice.cpp - A device, and memory of it ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/CudaDevice.h"
#include "runtime/core/Text.h"
#include "runtime/transport/cuda/SharedHandle.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace coll::cuda {

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

Status CudaDevice::open(int number, int rank,
                        std::unique_ptr<CudaDevice> &result) {
  const Driver *driver = nullptr;
  COLL_TRY(Driver::open(driver));
  int count = 0;
  COLL_TRY(driver->check(driver->deviceGetCount(&count),
                         "cannot count the devices"));
  if (count == 0)
    return Status::error(COLL_SYSTEM, "the CUDA driver finds no device");
  if (number >= count)
    return Status::error(COLL_INVALID,
                         "there is no CUDA device %d: there are %d", number,
                         count);
  std::unique_ptr<CudaDevice> device(new CudaDevice(*driver));
  device->ordinal = number >= 0 ? number : rank % count;
  COLL_TRY(device->inspect());
  COLL_TRY(
      driver->check(driver->primaryRetain(&device->primary, device->ordinal),
                    "cannot make a context on device %d", device->ordinal));
  ContextScope scope(*driver, device->primary);
  COLL_TRY(scope.status());
  for (Stream *stream : {&device->own, &device->launches})
    COLL_TRY(driver->check(driver->streamCreate(stream, streamNonBlocking),
                           "cannot make a stream on device %d",
                           device->ordinal));
  device->tryFabric();
  result = std::move(device);
  return Status::ok();
}

Status CudaDevice::inspect() {
  char text[128] = "";
  COLL_TRY(calls.check(calls.deviceGetName(text, sizeof text, ordinal),
                       "cannot name device %d", ordinal));
  title = text;
  int hasMemory = 0, hasHandles = 0;
  for (auto [attribute, value] :
       {std::pair(computeMajor, &major), std::pair(computeMinor, &minor),
        std::pair(multiprocessors, &sms), std::pair(virtualMemory, &hasMemory),
        std::pair(posixHandles, &hasHandles)})
    COLL_TRY(calls.check(calls.deviceGetAttribute(value, attribute, ordinal),
                         "cannot examine device %d", ordinal));
  if (!hasMemory || !hasHandles)
    return Status::error(COLL_SYSTEM,
                         "device %d (%s) cannot share memory by descriptors",
                         ordinal, text);
  Uuid uuid = {};
  COLL_TRY(calls.check(calls.deviceGetUuid(&uuid, ordinal),
                       "cannot identify device %d", ordinal));
  static_assert(sizeof uuid.bytes == sizeof identity.uuid);
  identity.kind = DeviceMark::Cuda;
  std::memcpy(identity.uuid, uuid.bytes, sizeof uuid.bytes);
  return Status::ok();
}

/// A device may say that it has fabric handles where the process has no right
/// to them (no IMEX channel), so a piece of memory is made and exported.
void CudaDevice::tryFabric() {
  int has = 0;
  if (calls.deviceGetAttribute(&has, fabricHandles, ordinal) != success || !has)
    return;
  AllocationProp prop = {};
  prop.type = allocationPinned;
  prop.requestedHandleTypes = handlePosixFd | handleFabric;
  prop.location = {locationDevice, ordinal};
  size_t unit = 0;
  MemHandle piece = 0;
  FabricHandle exported = {};
  if (calls.memGranularity(&unit, &prop, granularityMinimum) != success ||
      calls.memCreate(&piece, unit, &prop, 0) != success)
    return;
  isOnFabric = calls.memExport(&exported, piece, handleFabric, 0) == success;
  (void)calls.memRelease(piece);
}

CudaDevice::~CudaDevice() {
  if (!primary)
    return;
  {
    ContextScope scope(calls, primary);
    for (Stream stream : {own, launches})
      if (stream)
        (void)calls.streamDestroy(stream);
  }
  (void)calls.primaryRelease(ordinal);
}

/// False: not visible to this process.
bool CudaDevice::find(const DeviceMark &peer, Device &result) const {
  int count = 0;
  if (calls.deviceGetCount(&count) != success)
    return false;
  for (Device other = 0; other != count; ++other) {
    Uuid uuid = {};
    result = other;
    if (calls.deviceGetUuid(&uuid, other) == success &&
        std::memcmp(uuid.bytes, peer.uuid, sizeof uuid.bytes) == 0)
      return true;
  }
  return false;
}

bool CudaDevice::isReachableFrom(const DeviceMark &peer) const {
  if (peer == identity)
    return true;
  Device other = 0;
  int can = 0;
  return find(peer, other) &&
         calls.deviceCanAccessPeer(&can, other, ordinal) == success && can;
}

/// NCCL's conditions (src/graph/tuning.cc): chips where it was tested, the same
/// on both ends, and nothing but NVLink between them.
std::string CudaDevice::lacksLinesTo(const DeviceMark &peer) const {
  static constexpr int chips[] = {70, 80, 90, 100, 120};
  if (std::find(std::begin(chips), std::end(chips), chip()) == std::end(chips))
    return format("it is not known of sm_%d", chip());
  if (peer == identity)
    return "";
  Device other = 0;
  if (!isReachableFrom(peer) || !find(peer, other))
    return "there is no peer access";
  int otherMajor = 0, otherMinor = 0;
  if (calls.deviceGetAttribute(&otherMajor, computeMajor, other) != success ||
      calls.deviceGetAttribute(&otherMinor, computeMinor, other) != success ||
      otherMajor * 10 + otherMinor != chip())
    return "the devices are of different kinds";
  int has = 0;
  if (calls.deviceGetPeerAttribute(&has, nativeAtomics, other, ordinal) !=
          success ||
      !has)
    return "the devices are not linked by NVLink";
  return "";
}

void CudaDevice::settle(Stream stream) const noexcept {
  if (calls.streamSynchronize(stream) != success)
    (void)calls.streamSynchronize(stream); // now the device itself has failed
}

Status CudaDevice::upload(DevicePtr to, const void *from, size_t size) const {
  COLL_TRY(calls.check(calls.copyToDevice(to, from, size, own),
                       "cannot copy %zu bytes to device %d", size, ordinal));
  Status status = calls.check(calls.streamSynchronize(own),
                              "a copy to device %d has failed", ordinal);
  if (!status.isOk())
    settle(own);
  return status;
}

Status CudaDevice::download(void *to, DevicePtr from, size_t size) const {
  COLL_TRY(calls.check(calls.copyToHost(to, from, size, own),
                       "cannot copy %zu bytes from device %d", size, ordinal));
  return calls.check(calls.streamSynchronize(own),
                     "a copy from device %d has failed", ordinal);
}

Status CudaDevice::zero(DevicePtr to, size_t size) const {
  COLL_TRY(calls.check(calls.setBytes(to, 0, size, own),
                       "cannot clear %zu bytes of device %d", size, ordinal));
  Status status =
      calls.check(calls.streamSynchronize(own),
                  "clearing memory of device %d has failed", ordinal);
  if (!status.isOk())
    settle(own);
  return status;
}

//===----------------------------------------------------------------------===//
// Plain memory
//===----------------------------------------------------------------------===//

DeviceBuffer &DeviceBuffer::operator=(DeviceBuffer &&other) noexcept {
  reset();
  device = std::exchange(other.device, nullptr);
  base = std::exchange(other.base, 0);
  bytes = std::exchange(other.bytes, 0);
  return *this;
}

Status DeviceBuffer::create(const CudaDevice &device, size_t bytes,
                            DeviceBuffer &result) {
  const Driver &driver = device.driver();
  DeviceBuffer made;
  COLL_TRY(driver.check(driver.memAlloc(&made.base, bytes),
                        "cannot allocate %zu bytes on device %d", bytes,
                        device.number()));
  made.device = &device;
  made.bytes = bytes;
  result = std::move(made);
  return Status::ok();
}

void DeviceBuffer::reset() noexcept {
  if (!device)
    return;
  ContextScope scope(device->driver(), device->context());
  (void)device->driver().memFree(base);
  device = nullptr;
  bytes = 0;
}

//===----------------------------------------------------------------------===//
// Memory to share
//===----------------------------------------------------------------------===//

SharedBuffer &SharedBuffer::operator=(SharedBuffer &&other) noexcept {
  reset();
  device = std::exchange(other.device, nullptr);
  handle = std::exchange(other.handle, 0);
  base = std::exchange(other.base, 0);
  bytes = std::exchange(other.bytes, 0);
  isMapped = std::exchange(other.isMapped, false);
  byFabric = std::exchange(other.byFabric, false);
  return *this;
}

static AllocationProp propOf(const CudaDevice &device) {
  AllocationProp prop = {};
  prop.type = allocationPinned;
  prop.requestedHandleTypes = device.handleTypes();
  prop.location = {locationDevice, device.number()};
  return prop;
}

Status SharedBuffer::create(const CudaDevice &device, size_t bytes,
                            SharedHandle &shared, SharedBuffer &result,
                            size_t multiple) {
  const Driver &driver = device.driver();
  AllocationProp prop = propOf(device);
  size_t unit = 0;
  COLL_TRY(driver.check(driver.memGranularity(&unit, &prop, granularityMinimum),
                        "cannot tell in which sizes device %d allocates",
                        device.number()));
  unit = std::max(unit, multiple); // powers of two
  if (unit == 0 || bytes > SIZE_MAX - unit)
    return Status::error(COLL_NO_MEMORY, "%zu bytes of device memory", bytes);
  bytes = (bytes + unit - 1) / unit * unit;
  SharedBuffer made;
  COLL_TRY(driver.check(driver.memCreate(&made.handle, bytes, &prop, 0),
                        "cannot allocate %zu bytes on device %d to share",
                        bytes, device.number()));
  made.device = &device;
  COLL_TRY(made.map(device, bytes));
  COLL_TRY(device.zero(made.base, bytes));
  COLL_TRY(SharedHandle::of(device, made.handle, shared));
  result = std::move(made);
  return Status::ok();
}

Status SharedBuffer::import(const CudaDevice &device,
                            const SharedHandle &shared, size_t bytes,
                            SharedBuffer &result) {
  SharedBuffer made;
  COLL_TRY(shared.import(device, made.handle, made.byFabric));
  made.device = &device;
  COLL_TRY(made.map(device, bytes));
  result = std::move(made);
  return Status::ok();
}

Status SharedBuffer::map(const CudaDevice &device, size_t size) {
  const Driver &driver = device.driver();
  COLL_TRY(driver.check(driver.addressReserve(&base, size, 0, 0, 0),
                        "cannot reserve %zu bytes of addresses", size));
  bytes = size;
  COLL_TRY(driver.check(driver.memMap(base, size, 0, handle, 0),
                        "cannot map %zu bytes on device %d", size,
                        device.number()));
  isMapped = true;
  AccessDesc access = {{locationDevice, device.number()}, accessReadWrite};
  return driver.check(driver.memSetAccess(base, size, &access, 1),
                      "cannot give device %d access to %zu bytes",
                      device.number(), size);
}

void SharedBuffer::reset() noexcept {
  if (!device)
    return;
  const Driver &driver = device->driver();
  ContextScope scope(driver, device->context());
  if (isMapped)
    (void)driver.memUnmap(base, bytes);
  if (bytes)
    (void)driver.addressFree(base, bytes);
  (void)driver.memRelease(handle);
  device = nullptr;
  bytes = 0;
  isMapped = false;
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

RegisteredMemory &
RegisteredMemory::operator=(RegisteredMemory &&other) noexcept {
  reset();
  device = std::exchange(other.device, nullptr);
  host = std::exchange(other.host, nullptr);
  base = std::exchange(other.base, 0);
  return *this;
}

Status RegisteredMemory::create(const CudaDevice &device,
                                std::span<std::byte> memory,
                                RegisteredMemory &result) {
  const Driver &driver = device.driver();
  RegisteredMemory made;
  COLL_TRY(driver.check(
      driver.hostRegister(memory.data(), memory.size(),
                          hostRegisterPortable | hostRegisterMapped),
      "cannot pin %zu bytes of shared memory for device %d", memory.size(),
      device.number()));
  made.device = &device;
  made.host = memory.data();
  COLL_TRY(driver.check(driver.hostDevicePointer(&made.base, made.host, 0),
                        "device %d cannot reach pinned memory",
                        device.number()));
  result = std::move(made);
  return Status::ok();
}

void RegisteredMemory::reset() noexcept {
  if (!device)
    return;
  ContextScope scope(device->driver(), device->context());
  (void)device->driver().hostUnregister(host);
  device = nullptr;
}

} // namespace coll::cuda
