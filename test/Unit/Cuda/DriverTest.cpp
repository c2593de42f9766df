//===- DriverTest.cpp - The table of the driver's calls -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HandDevice.h"
#include "runtime/transport/cuda/CudaDevice.h"
#include "runtime/transport/cuda/SharedHandle.h"

using namespace coll;
using namespace coll::test;

TEST(CudaDriver, AnAbsentDriverIsAnError) {
  cuda::Driver driver;
  Status status = cuda::Driver::load("libcuda-absent.so.1", driver);
  EXPECT_EQ(status.code(), COLL_SYSTEM);
  expectContains(status.text(), "there is no CUDA driver on this machine");
}

TEST(CudaDriver, ALibraryWithoutTheCallsIsAnError) {
  cuda::Driver driver;
  Status status = cuda::Driver::load("libm.so.6", driver);
  EXPECT_EQ(status.code(), COLL_SYSTEM);
  expectContains(status.text(), "libm.so.6 has no cuInit");
}

TEST(CudaDriver, ErrorsHaveTheDriversText) {
  const cuda::Driver *driver = nullptr;
  ASSERT_TRUE(cuda::Driver::open(driver).isOk());
  Status status = driver->check(cuda::outOfMemory, "cannot do %d", 3);
  EXPECT_EQ(status.code(), COLL_NO_MEMORY);
  EXPECT_EQ(status.text(), "cannot do 3: out of memory "
                           "(CUDA_ERROR_OUT_OF_MEMORY, 2)");
  EXPECT_EQ(driver->check(12345, "x").text(),
            "x: the CUDA driver gives no text (unknown error, 12345)");
}

TEST(CudaDriver, DevicesAreChecked) {
  std::unique_ptr<cuda::CudaDevice> device;
  Status status = cuda::CudaDevice::open(7, 0, device);
  EXPECT_EQ(status.code(), COLL_INVALID);
  expectContains(status.text(), "there is no CUDA device 7");
}

TEST(CudaDriver, MemoryIsSharedByHandles) {
  std::unique_ptr<cuda::CudaDevice> device;
  ASSERT_TRUE(cuda::CudaDevice::open(0, 0, device).isOk());
  cuda::ContextScope scope(device->driver(), device->context());
  for (bool byFabric : {true, false}) {
    cuda::SharedBuffer own, imported;
    cuda::SharedHandle shared;
    ASSERT_TRUE(cuda::SharedBuffer::create(*device, 1000, shared, own).isOk());
    ASSERT_TRUE(shared.fabric);
    if (!byFabric)
      shared.fabric.reset();
    ASSERT_TRUE(
        cuda::SharedBuffer::import(*device, shared, own.size(), imported)
            .isOk());
    EXPECT_EQ(imported.isByFabric(), byFabric);
    EXPECT_NE(own.address(), imported.address());
    uint64_t word = 0x1122334455667788, seen = 0;
    ASSERT_TRUE(device->upload(own.address() + 8, &word, sizeof word).isOk());
    seen = *reinterpret_cast<uint64_t *>(uintptr_t(imported.address()) + 8);
    EXPECT_EQ(seen, word);
    // Not what was exported.
    UniqueFd sealed;
    ASSERT_TRUE(createSealedMemory("other", 100, sealed).isOk());
    cuda::SharedHandle other;
    other.fabric = cuda::FabricHandle();
    other.fd = std::move(sealed);
    cuda::SharedBuffer none;
    EXPECT_FALSE(
        cuda::SharedBuffer::import(*device, other, own.size(), none).isOk());
  }
  EXPECT_EQ(standinLeaks(0), 1 + 1); // the stream and the context are in use
}
