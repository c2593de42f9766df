//===- HandDevice.h - Hand-written plans on the stand-in --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_CUDA_HANDDEVICE_H
#define COLL_TEST_UNIT_CUDA_HANDDEVICE_H

#include "Launching.h"
#include "runtime/transport/cuda/Driver.h"

#include <memory>

extern "C" {
void standinFail(const char *name, uint64_t skip, int result);
uint64_t standinCalls();
void standinSetPeers(int hasPeers);
void standinSetFabric(int fabric);
void standinClearSticky();
int standinLeaks(int print);
}

namespace coll::test {

/// Gives a plan device kernels that the stand-in runs: those of HandKernel.cpp,
/// with waits as docs/Cuda.md has them.
void addDeviceKernels(HandPlan &plan);
/// Blocks that kernels for small launches have run so far.
uint64_t blocksInSmallSlots();
/// And kernels for lines: these have found slots of lines on all of their ends.
uint64_t blocksWithLines();

#define X(name, symbol, parameters)                                            \
  extern "C" ::coll::cuda::Result symbol parameters;
namespace calls {
using namespace ::coll::cuda;
COLL_CUDA_APPLICATION_CALLS(X)
COLL_CUDA_CALLS(X)
} // namespace calls
#undef X

/// A context of device 0 on this thread, and streams, as an application has.
class Application {
public:
  Application();
  ~Application();
  cuda::Stream stream();

private:
  cuda::Context context = nullptr;
  std::vector<cuda::Stream> streams;
};

/// Device memory of a communicator, filled and read by copies.
class DeviceArray {
public:
  DeviceArray(coll_comm *comm, cuda::Stream stream, std::vector<int32_t> value);
  ~DeviceArray();
  int32_t *get() { return memory; }
  std::vector<int32_t> read();

private:
  coll_comm *comm;
  cuda::Stream stream;
  size_t count;
  int32_t *memory = nullptr;
};

/// Runs the body on every rank, as threads, each rank on the device of its
/// number modulo the devices.
void onDevices(int nranks, const WithComm &body, uint64_t deadlineMs = 60'000);

} // namespace coll::test

#endif // COLL_TEST_UNIT_CUDA_HANDDEVICE_H
