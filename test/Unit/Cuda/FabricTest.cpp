//===- FabricTest.cpp - Memory that is shared by fabric handles -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HandWindow.h"

#include <barrier>
#include <cstring>

using namespace coll::test;
namespace cuda = coll::cuda;

namespace {
/// Rank 1 sees what rank 0 has, by what COLL_DEBUG=INFO says that it is mapped.
void expectMappedBy(const char *how) {
  Variables debug(std::map<std::string, std::string>{{"COLL_DEBUG", "INFO"}});
  testing::internal::CaptureStderr();
  std::barrier<> together(2);
  uint64_t win = 0;
  HandPlan plan({ringAllreduce(2)});
  addDeviceKernels(plan);
  onDevices(2, [&](int rank, coll_comm *comm) {
    void *memory = nullptr;
    checkAllreduce(plan.plan(), rank, comm, 8); // channels, too
    if (rank == 0) {
      ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
      std::memset(memory, 'x', 100);
      win = windowOf(comm, memory, 100);
      EXPECT_NE(win, 0u);
    }
    together.arrive_and_wait();
    char *there = seen(comm, 0, win);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(*there, 'x');
    together.arrive_and_wait();
  });
  std::string said = testing::internal::GetCapturedStderr();
  expectContains(said,
                 std::string("rank 0's window 1 is mapped by a ") + how + "\n");
  EXPECT_EQ(standinLeaks(1), 0);
}
} // namespace

TEST(CudaWindow, IsMappedByAFabricHandleWhereThereAreSuch) {
  expectMappedBy("fabric handle");
  for (int fabric : {0, 2}) { // no such devices; no right to them
    standinSetFabric(fabric);
    expectMappedBy("descriptor");
  }
  standinSetFabric(1);
}

// By fabric for channels and the multicast object, then for the window.
TEST(CudaWindow, IsMappedByItsDescriptorWhereTheFabricFails) {
  Variables none(std::map<std::string, std::string>{{"COLL_MULTICAST", "0"}});
  standinFail("cuMemImportFromShareableHandle", 2, cuda::notPermitted);
  expectMappedBy("descriptor");
  standinFail("", 0, cuda::success);
}

TEST(CudaWindow, InProcessesByFabricHandles) {
  Variables device(std::map<std::string, std::string>{{"COLL_DEVICE", "cuda"}});
  HandPlan plan({ringAllreduce(3)});
  addDeviceKernels(plan);
  onGoodProcesses(3, [&](int rank, coll_comm *comm) {
    checkAllreduce(plan.plan(), rank, comm, 1000);
    Application application;
    OwnMemory memory(1 << 16, cuda::handleFabric); // no descriptor at all
    EXPECT_EQ(coll_register(comm, memory.get(), 100, -1), COLL_OK)
        << coll_last_error();
    memory.get()[0] = char('a' + rank);
    uint64_t win = windowOf(comm, memory.get(), 100);
    EXPECT_NE(win, 0u);
    checkAllreduce(plan.plan(), rank, comm, 8);
    char *there = seen(comm, (rank + 1) % 3, win);
    ASSERT_NE(there, nullptr);
    EXPECT_EQ(*there, 'a' + (rank + 1) % 3);
    checkAllreduce(plan.plan(), rank, comm, 8); // all have looked
    EXPECT_EQ(coll_deregister(comm, memory.get()), COLL_OK);
  });
}
