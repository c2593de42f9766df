//===- PlanRun.cpp - A plan on the host and on the emulator ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanRun.h"
#include "HostCalls.h"
#include "runtime/core/Isa.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <sys/mman.h>
#include <thread>

namespace coll::emu {

namespace {
class HostMemory : public PlanMemory {
public:
  void *alloc(uint32_t, size_t bytes, bool) override {
    blocks.emplace_back(bytes / 64 + 2);
    return blocks.back().data();
  }

private:
  struct alignas(64) Line {
    char bytes[64] = {};
  };
  std::deque<std::vector<Line>> blocks;
};
} // namespace

uint32_t waitOnHost(const coll_inst *, uint32_t, const uint64_t *word,
                    uint64_t want, uint32_t how, uint64_t) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (true) {
    uint64_t have = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (how == COLL_WAIT_SMALL_FLAG ? have >> 16 == want : have > want)
      return 0;
    if (std::chrono::steady_clock::now() > end)
      return 1;
    std::this_thread::yield();
  }
}

uint32_t mismatchOnHost(const coll_inst *, uint32_t, uint64_t, uint32_t,
                        uint32_t) {
  return 1;
}

void *windowOnHost(const coll_inst *, uint32_t, const coll_end *, uint64_t,
                   uint64_t, uint64_t, uint64_t, uint32_t) {
  return nullptr;
}

uint32_t remoteOnHost(const coll_inst *, uint32_t, const coll_args *,
                      const coll_end *, uint64_t, uint32_t) {
  return 0;
}

uint32_t moveOnHost(const coll_inst *, uint32_t, const coll_end *, uint64_t,
                    uint64_t, uint64_t, void *, uint64_t) {
  return 1;
}

/// The first for the call, which is the oldest instruction set's.
static const coll_kernel *chooseHostKernel(const PlanCall &call) {
  for (const coll_kernel &kernel :
       std::span(call.plan->kernels, call.plan->nkernels))
    if ((kernel.dtype == COLL_ANY || kernel.dtype == call.dtype) &&
        (!call.plan->reduces || kernel.op == COLL_ANY || kernel.op == call.op))
      return &kernel;
  return nullptr;
}

std::string runOnHost(const PlanCall &call, std::vector<std::string> &outputs) {
  const coll_kernel *kernel = chooseHostKernel(call);
  if (!kernel)
    return "the plan has no host kernel for this dtype and op";
  HostMemory memory;
  PlanLayout layout;
  if (std::string error = layout.build(call, memory, false); !error.empty())
    return error;
  for (unsigned launch = 0; launch < call.launches; ++launch) {
    // Else the launch before has left its results there.
    if (launch == 0 || !call.isInPlace || !call.isBackToBack)
      layout.fillInputs(launch);
    if (std::string error = layout.fillArguments(launch); !error.empty())
      return error;
    std::vector<std::thread> threads;
    for (PlanRank &rank : layout.ranks) {
      auto *signals = reinterpret_cast<char *>(rank.inst->signals);
      memset(signals, 0, size_t(64) * rank.inst->nblocks);
      for (uint32_t block = 0; block < rank.inst->nblocks; ++block)
        threads.emplace_back([&rank, kernel, block] {
          kernel->fn(&rank.arguments->args(), block);
        });
    }
    for (std::thread &thread : threads)
      thread.join();
    outputs.push_back(layout.outputs());
  }
  return "";
}

} // namespace coll::emu
