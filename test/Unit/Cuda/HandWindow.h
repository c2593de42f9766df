//===- HandWindow.h - What ranks see of each other's memory -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_CUDA_HANDWINDOW_H
#define COLL_TEST_UNIT_CUDA_HANDWINDOW_H

#include "HandDevice.h"
#include "runtime/core/Lane.h"
#include "runtime/transport/cuda/CudaLane.h"

namespace coll::test {

/// A rank's table, which lies in device memory: with the stand-in that is the
/// process's own.  The monitor has written it before a message told of it,
/// which a sanitizer does not see; that both use the driver it does.
inline coll_window entryOf(coll_comm *comm, int rank, uint64_t win) {
  (void)standinCalls();
  auto *lane = static_cast<cuda::CudaLane *>(coll::Lane::of(*comm).device());
  auto *table = reinterpret_cast<const coll_window *>(lane->windowTable());
  return table[(win >> 48) * uint64_t(comm->size()) + uint64_t(rank)];
}
inline uint64_t windowOf(coll_comm *comm, const void *ptr, size_t bytes) {
  auto begin = reinterpret_cast<uint64_t>(ptr);
  return comm->memory().find(begin, begin + bytes);
}
/// The first byte of what `rank` sees of a peer's window.
inline char *seen(coll_comm *comm, int peer, uint64_t win) {
  uint64_t base = entryOf(comm, peer, win).base;
  return base ? reinterpret_cast<char *>(base) + (win << 16 >> 16) : nullptr;
}

/// Memory as an application makes it that wants to share it.
struct OwnMemory {
  OwnMemory(size_t bytes, int handles) : bytes(bytes) {
    cuda::AllocationProp prop = {};
    prop.type = cuda::allocationPinned;
    prop.requestedHandleTypes = handles;
    prop.location = {cuda::locationDevice, 0};
    EXPECT_EQ(calls::cuMemCreate(&handle, bytes, &prop, 0), cuda::success);
    EXPECT_EQ(calls::cuMemAddressReserve(&base, bytes, 0, 0, 0), cuda::success);
    EXPECT_EQ(calls::cuMemMap(base, bytes, 0, handle, 0), cuda::success);
    cuda::AccessDesc access = {{cuda::locationDevice, 0},
                               cuda::accessReadWrite};
    EXPECT_EQ(calls::cuMemSetAccess(base, bytes, &access, 1), cuda::success);
  }
  ~OwnMemory() {
    EXPECT_EQ(calls::cuMemUnmap(base, bytes), cuda::success);
    EXPECT_EQ(calls::cuMemAddressFree(base, bytes), cuda::success);
    EXPECT_EQ(calls::cuMemRelease(handle), cuda::success);
  }
  char *get() const { return reinterpret_cast<char *>(base); }
  size_t bytes;
  cuda::MemHandle handle = 0;
  cuda::DevicePtr base = 0;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_CUDA_HANDWINDOW_H
