//===- Transport.cpp - Choosing a transport -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/Transport.h"
#include "runtime/transport/cuda/CudaLane.h"
#include "runtime/transport/shm/ShmTransport.h"

namespace coll {

std::unique_ptr<Transport> createHostTransport(const RingSizes &sizes,
                                               int ranks) {
  return std::make_unique<ShmTransport>(sizes, ranks);
}

Status createDeviceLane(Lane &lane, std::unique_ptr<DeviceLane> &result) {
  return cuda::CudaLane::create(lane, result);
}

} // namespace coll
