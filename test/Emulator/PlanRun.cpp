//===- PlanRun.cpp - A plan on the host and on the emulator ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanRun.h"
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

class DeviceMemory : public PlanMemory {
public:
  explicit DeviceMemory(Machine &machine) : machine(machine) {}
  void *alloc(uint32_t rank, size_t bytes, bool isWritten) override {
    void *made = machine.alloc(rank == ~0u ? kHost : int(rank),
                               std::max<size_t>(bytes, 1));
    if (isWritten)
      machine.hostWrote(made, bytes);
    return made;
  }
  void *multicast(const std::vector<void *> &members, size_t bytes) override {
    // Addresses that nothing else may be loaded from.
    void *made =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped.emplace_back(made, bytes);
    bool isGood = made != MAP_FAILED && machine.addMulticast(made, bytes);
    for (void *member : members)
      isGood = isGood && machine.addMember(made, member, 0, bytes);
    return isGood ? made : nullptr;
  }
  ~DeviceMemory() override {
    for (auto [address, bytes] : mapped)
      munmap(address, bytes);
  }

private:
  Machine &machine;
  std::vector<std::pair<void *, size_t>> mapped;
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

template <typename Kernel>
static const Kernel *choose(const Kernel *kernels, uint32_t count,
                            const PlanCall &call) {
  for (uint32_t i = 0; i < count; ++i)
    if ((kernels[i].dtype == COLL_ANY || kernels[i].dtype == call.dtype) &&
        (!call.plan->reduces || kernels[i].op == COLL_ANY ||
         kernels[i].op == call.op))
      return &kernels[i];
  return nullptr;
}

std::string runOnHost(const PlanCall &call, std::vector<std::string> &outputs) {
  const coll_kernel *kernel = // the first is the oldest instruction set's
      choose(call.plan->kernels, call.plan->nkernels, call);
  if (!kernel)
    return "the plan has no host kernel for this dtype and op";
  HostMemory memory;
  PlanLayout layout;
  if (std::string error = layout.build(call, memory, false); !error.empty())
    return error;
  for (unsigned launch = 0; launch < call.launches; ++launch) {
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

static std::string difference(const std::string &have,
                              const std::string &want) {
  if (have == want)
    return "";
  size_t at = 0;
  while (at < have.size() && at < want.size() && have[at] == want[at])
    ++at;
  return "wrong output: byte " + std::to_string(at) + " of " +
         std::to_string(want.size()) + " differs from the host's";
}

/// What an application does with its buffers behind a launch: reads results and
/// writes inputs. Bytes stay what they are.
static const char *const applicationCode = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @application(ptr addrspace(1) %buffer, i64 %bytes) {
  br label %head
head:
  %at = phi i64 [ 0, %0 ], [ %next, %body ]
  %some = icmp ult i64 %at, %bytes
  br i1 %some, label %body, label %done
body:
  %address = getelementptr i8, ptr addrspace(1) %buffer, i64 %at
  %value = load i8, ptr addrspace(1) %address
  store i8 %value, ptr addrspace(1) %address
  %next = add i64 %at, 1
  br label %head
done:
  ret void
}
)";

static std::string useBuffers(Machine &machine, const Module *application,
                              const PlanLayout &layout) {
  std::string error;
  for (uint32_t number = 0; number < layout.ranks.size(); ++number) {
    const PlanRank &rank = layout.ranks[number];
    auto use = [&](void *buffer, size_t bytes) {
      void *params[] = {&buffer, &bytes};
      if (buffer && error.empty())
        machine.launch(int(number), number, application, "application", {}, {},
                       params, 0, error);
    };
    for (size_t i = 0; i < rank.in.size(); ++i)
      use(rank.in[i], rank.inBytes[i]);
    for (size_t i = 0; i < rank.out.size(); ++i)
      use(rank.out[i], rank.outBytes[i]);
  }
  return error;
}

static std::string launchAll(Machine &machine, const Module *module,
                             const coll_device_kernel &kernel,
                             const PlanLayout &layout) {
  std::string error;
  for (uint32_t number = 0; number < layout.ranks.size() && error.empty();
       ++number) {
    const PlanRank &rank = layout.ranks[number];
    if (!rank.inst->nblocks)
      continue;
    std::vector<char> args = layout.arguments(number, kernel.param_bytes);
    void *params[] = {args.data()};
    machine.launch(int(number), number, module, kernel.symbol,
                   {rank.inst->nblocks, 1, 1}, {kernel.threads, 1, 1}, params,
                   0, error);
  }
  return error;
}

std::string runOnDevices(const PlanCall &call, const std::string &code,
                         const Options &options,
                         const std::vector<std::string> &expected,
                         RunCounts *counts) {
  const coll_device_kernel *kernel =
      choose(call.plan->device_kernels, call.plan->ndevice_kernels, call);
  if (!kernel)
    return "the plan has no device kernel for this dtype and op";
  Machine machine(call.ranks, options);
  DeviceMemory memory(machine);
  std::string error;
  Module *module = machine.load(code, error);
  Module *application = machine.load(applicationCode, error);
  if (!module || !application)
    return error;
  PlanLayout layout;
  error = layout.build(call, memory, true);
  for (unsigned launch = 0; launch < call.launches && error.empty(); ++launch) {
    if (!call.isBackToBack || launch == 0)
      layout.fillInputs(launch);
    error = layout.fillArguments(launch);
    if (error.empty())
      error = launchAll(machine, module, *kernel, layout);
    if (call.isBackToBack && launch + 1 < call.launches) {
      if (error.empty())
        error = useBuffers(machine, application, layout);
      continue;
    }
    if (error.empty() && machine.run() == RunResult::Failed)
      error = machine.reportText();
    if (error.empty())
      error = difference(layout.outputs(),
                         expected[call.isBackToBack ? 0 : launch]);
  }
  if (counts) {
    counts->steps += machine.steps();
    counts->multicasts += machine.multicasts();
    counts->reached += machine.reached();
  }
  return error;
}

} // namespace coll::emu
