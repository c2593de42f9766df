//===- SharedHandle.cpp - What another process maps memory by -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/SharedHandle.h"

namespace coll::cuda {

Status SharedHandle::of(const CudaDevice &device, MemHandle memory,
                        SharedHandle &result) {
  const Driver &driver = device.driver();
  SharedHandle made;
  FabricHandle fabric = {};
  if (device.hasFabric() &&
      driver.memExport(&fabric, memory, handleFabric, 0) == success)
    made.fabric = fabric;
  int descriptor = -1;
  Result exported = driver.memExport(&descriptor, memory, handlePosixFd, 0);
  if (exported == success)
    made.fd.reset(descriptor);
  else if (!made.fabric)
    return driver.check(exported, "cannot export memory of device %d",
                        device.number());
  result = std::move(made);
  return Status::ok();
}

void SharedHandle::write(WireWriter &writer) const {
  writer.write<uint8_t>(fabric.has_value());
  if (fabric)
    writer.writeBytes(std::as_bytes(std::span(fabric->bytes)));
}

bool SharedHandle::read(WireReader &reader, std::vector<UniqueFd> &fds,
                        SharedHandle &result) {
  SharedHandle made;
  const uint8_t hasFabric = reader.read<uint8_t>();
  if (hasFabric == 1) {
    FabricHandle fabric = {};
    reader.readBytes(std::as_writable_bytes(std::span(fabric.bytes)));
    made.fabric = fabric;
  }
  if (!fds.empty())
    made.fd = std::move(fds[0]);
  if (!reader.isGood() || hasFabric > 1 || fds.size() > 1 ||
      (!made.fabric && !made.fd.isValid()))
    return false;
  result = std::move(made);
  return true;
}

/// A fabric that is set up for one of two processes only, or for other devices,
/// shows when it is used.
Status SharedHandle::import(const CudaDevice &device, MemHandle &memory,
                            bool &byFabric) const {
  const Driver &driver = device.driver();
  byFabric = false;
  Result imported = notSupported;
  if (fabric && device.hasFabric()) {
    FabricHandle source = *fabric;
    imported = driver.memImport(&memory, &source, handleFabric);
    byFabric = imported == success;
  }
  if (!byFabric && fd.isValid())
    imported = driver.memImport(
        &memory, reinterpret_cast<void *>(intptr_t(fd.get())), handlePosixFd);
  return driver.check(imported, "cannot import a peer's memory on device %d",
                      device.number());
}

} // namespace coll::cuda
