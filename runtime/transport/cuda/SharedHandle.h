//===- SharedHandle.h - What another process maps memory by -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An allocation of a device, or a multicast object, as others can import it: by
// a descriptor, which passes through a unix socket alone, or by a fabric handle
// (CUmemFabricHandle), which is 64 bytes for whoever belongs to the same NVLink
// fabric, whatever the process or host.  Whoever exports offers all that it
// has; whoever imports takes the fabric handle if its device has such, and the
// descriptor if it has not, or if that fails.
//
//   on the wire   u8 1: a fabric handle, 64 bytes of it; then the message has a
//                 descriptor or none
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_SHAREDHANDLE_H
#define COLL_RUNTIME_TRANSPORT_CUDA_SHAREDHANDLE_H

#include "runtime/core/Wire.h"
#include "runtime/transport/cuda/CudaDevice.h"

#include <optional>

namespace coll::cuda {

struct SharedHandle {
  UniqueFd fd;
  std::optional<FabricHandle> fabric;

  /// All that the driver gives for it; an error if that is nothing.
  static Status of(const CudaDevice &device, MemHandle memory,
                   SharedHandle &result);
  void write(WireWriter &writer) const;
  /// Takes the message's descriptor, if there is one.  False: it is malformed.
  static bool read(WireReader &reader, std::vector<UniqueFd> &fds,
                   SharedHandle &result);
  /// `byFabric`: how.
  Status import(const CudaDevice &device, MemHandle &memory,
                bool &byFabric) const;
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_SHAREDHANDLE_H
