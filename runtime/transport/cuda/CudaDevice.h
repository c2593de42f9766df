//===- CudaDevice.h - A device, and memory of it ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDADEVICE_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDADEVICE_H

#include "runtime/core/Board.h"
#include "runtime/transport/cuda/Driver.h"

namespace coll::cuda {

/// The primary context of a device, retained.  What lives on the device keeps
/// a reference to it, and is gone first.
class CudaDevice {
public:
  /// `number`: of the device, or COLL_DEVICE_BY_RANK.
  static Status open(int number, int rank, std::unique_ptr<CudaDevice> &result);
  ~CudaDevice();

  const Driver &driver() const { return calls; }
  Context context() const { return primary; }
  Device number() const { return ordinal; }
  int chip() const { return major * 10 + minor; }
  int processors() const { return sms; }
  const std::string &name() const { return title; }
  const DeviceMark &mark() const { return identity; }
  /// Memory can be exported by fabric handles, which was tried.
  bool hasFabric() const { return isOnFabric; }
  /// By what new memory can be exported: a set of handle types.
  int handleTypes() const {
    return handlePosixFd | (isOnFabric ? int(handleFabric) : 0);
  }
  /// Can this device's memory be mapped on the device of a peer?
  bool isReachableFrom(const DeviceMark &peer) const;
  /// Are a warp's 128 bytes known to arrive in order between this device and
  /// that of a peer (LL128)?  Empty, or why not.
  std::string lacksLinesTo(const DeviceMark &peer) const;

  /// Copies and waits, on a stream of the device's own, so that no capture
  /// notices, and none of these waits for a launch.  Any thread.
  Status upload(DevicePtr to, const void *from, size_t bytes) const;
  Status download(void *to, DevicePtr from, size_t bytes) const;
  Status zero(DevicePtr to, size_t bytes) const;
  /// For launches that the application gives no stream.
  Stream stream() const { return launches; }
  /// After an error: waits for what a stream still does with memory that is
  /// about to go.
  void settle(Stream stream) const noexcept;

private:
  explicit CudaDevice(const Driver &driver) : calls(driver) {}
  Status inspect();
  bool find(const DeviceMark &peer, Device &result) const;
  void tryFabric();

  const Driver &calls;
  Device ordinal = 0;
  Context primary = nullptr;
  Stream own = nullptr, launches = nullptr;
  int major = 0, minor = 0, sms = 0;
  bool isOnFabric = false;
  std::string title;
  DeviceMark identity;
};

/// Plain memory of a device.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer &&other) noexcept { *this = std::move(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept;
  ~DeviceBuffer() { reset(); }
  static Status create(const CudaDevice &device, size_t bytes,
                       DeviceBuffer &result);
  DevicePtr address() const { return base; }
  size_t size() const { return bytes; }
  void reset() noexcept;

private:
  const CudaDevice *device = nullptr;
  DevicePtr base = 0;
  size_t bytes = 0;
};

struct SharedHandle;

/// Memory of a device that other processes can map: allocated here and
/// exported, or imported.  Mapped either way, readable and writable.
class SharedBuffer {
public:
  SharedBuffer() = default;
  SharedBuffer(SharedBuffer &&other) noexcept { *this = std::move(other); }
  SharedBuffer &operator=(SharedBuffer &&other) noexcept;
  ~SharedBuffer() { reset(); }

  /// Zeroed; `bytes` is rounded up to what the device allocates, and to a
  /// multiple of `multiple`, a power of two or 0.
  static Status create(const CudaDevice &device, size_t bytes,
                       SharedHandle &shared, SharedBuffer &result,
                       size_t multiple = 0);
  /// `bytes`: of the whole allocation.
  static Status import(const CudaDevice &device, const SharedHandle &shared,
                       size_t bytes, SharedBuffer &result);
  DevicePtr address() const { return base; }
  size_t size() const { return bytes; }
  MemHandle allocation() const { return handle; }
  bool isByFabric() const { return byFabric; } ///< imported so
  void reset() noexcept;

private:
  Status map(const CudaDevice &device, size_t bytes);

  const CudaDevice *device = nullptr;
  MemHandle handle = 0;
  DevicePtr base = 0;
  size_t bytes = 0;
  bool isMapped = false, byFabric = false;
};

/// Host memory that the device can reach.
class RegisteredMemory {
public:
  RegisteredMemory() = default;
  RegisteredMemory(RegisteredMemory &&other) noexcept {
    *this = std::move(other);
  }
  RegisteredMemory &operator=(RegisteredMemory &&other) noexcept;
  ~RegisteredMemory() { reset(); }
  static Status create(const CudaDevice &device, std::span<std::byte> memory,
                       RegisteredMemory &result);
  /// The device's address of the begin.
  DevicePtr address() const { return base; }
  void reset() noexcept;

private:
  const CudaDevice *device = nullptr;
  void *host = nullptr;
  DevicePtr base = 0;
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDADEVICE_H
