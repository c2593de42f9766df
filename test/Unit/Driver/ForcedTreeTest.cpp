//===- ForcedTreeTest.cpp - Generated kernels at the edge -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a tree with up and down phase in one block are run with longer
// messages than they were verified for: what the checker calls safe ends, what
// it refuses outlives the deadline. (Kernels return credits in batches of half
// the slots; ForcedRunTest.cpp forces others on kernels written by hand.)
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Plans.h"
#include "test/Unit/Runtime/Launching.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <gtest/gtest.h>
#include <mutex>

using namespace coll;
namespace orc = llvm::orc;

namespace {
constexpr int numRanks = 7;

/// A plan with its kernels, linked against the runtime in this process.
class Linked {
public:
  Linked(Session &session, const Plan &plan) {
    HostOptions host;
    host.arch = nativeArch();
    host.dtypes = {lowering::Format::I32};
    host.ops = {lowering::ReduceOp::Sum};
    host.isas = {host.arch == HostArch::X86_64 ? lowering::Isa::V2
                                               : lowering::Isa::AArch64};
    auto machine = llvm::cantFail(createHostMachine(host.arch));
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = llvm::cantFail(
        compileHost(&session.context(), *context, plan, host, *machine));
    jit = llvm::cantFail(orc::LLJITBuilder().create());
    auto symbol = [](auto *function) {
      return orc::ExecutorSymbolDef(orc::ExecutorAddr::fromPtr(function),
                                    llvm::JITSymbolFlags::Exported);
    };
    orc::SymbolMap runtime;
    runtime[jit->mangleAndIntern("coll_kernel_wait")] =
        symbol(&coll_kernel_wait);
    runtime[jit->mangleAndIntern("coll_kernel_mismatch")] =
        symbol(&coll_kernel_mismatch);
    runtime[jit->mangleAndIntern("coll_kernel_window")] =
        symbol(&coll_kernel_window);
    runtime[jit->mangleAndIntern("coll_kernel_remote")] =
        symbol(&coll_kernel_remote);
    runtime[jit->mangleAndIntern("coll_kernel_move")] =
        symbol(&coll_kernel_move);
    llvm::cantFail(jit->getMainJITDylib().define(
        orc::absoluteSymbols(std::move(runtime))));
    llvm::cantFail(jit->addIRModule(
        orc::ThreadSafeModule(std::move(module), std::move(context))));
    loaded = llvm::cantFail(jit->lookup(plan.name + "_plan"))
                 .toPtr<const coll_plan *>();
  }
  const coll_plan &get() const { return *loaded; }

private:
  std::unique_ptr<orc::LLJIT> jit;
  const coll_plan *loaded;
};
} // namespace

TEST(ForcedTree, GeneratedKernelsAgree) {
  Session session;
  ASSERT_TRUE(session.parse(COLL_TREE_FILE, {}) && session.analyse("", {}));
  CompiledSchedule compiled;
  ASSERT_TRUE(compileSchedule(session, session.schedules()[0],
                              {RankSpec{{numRanks}, 0, 0}}, {}, compiled));
  ScheduleResult &scheduled = *compiled.instances[0].scheduled;
  for (uint32_t slices : {8u, 9u}) {
    SCOPED_TRACE("messages of " + std::to_string(slices) + " slots");
    FifoShape shape{4, 2, slices, 1};
    bool isStuck =
        runFifos(scheduled.programs, 0, Variant::OutOfPlace, shape).isStuck;
    EXPECT_EQ(isStuck, slices == 9);
    scheduled.bulk = shape; // as if it had been found to run on that
    std::optional<Plan> plan = planOf(session, compiled);
    ASSERT_TRUE(plan);
    Linked linked(session, *plan);
    test::Variables variables({{"COLL_SLOTS", "4"},
                               {"COLL_SLOT_BYTES", "64"},
                               {"COLL_SMALL_BYTES", "16"}});
    const size_t count = slices * 64 / sizeof(int32_t);
    std::mutex mutex;
    int numTimeouts = 0;
    std::string report;
    auto body = [&](int rank, coll_comm *comm) {
      if (!isStuck)
        return test::checkAllreduce(linked.get(), rank, comm, count);
      coll_status status = test::allreduce(linked.get(), comm, count, COLL_I32);
      std::lock_guard lock(mutex);
      numTimeouts += status == COLL_TIMEOUT;
      report = coll_last_error();
    };
    test::onThreads(numRanks, body, isStuck ? 700 : 120'000);
    EXPECT_EQ(numTimeouts, isStuck ? numRanks : 0);
    if (isStuck)
      test::expectContains(report, "waits for room at");
  }
}
