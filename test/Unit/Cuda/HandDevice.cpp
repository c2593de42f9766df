//===- HandDevice.cpp - Hand-written plans on the stand-in ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels of HandKernel.cpp once more, with the waits of a device.
#define coll_kernel_wait deviceWait
#define coll_kernel_mismatch deviceMismatch
#define handKernels kernelsOnDevice
#include "HandKernel.cpp"
#include "coll/abi.h"
#include "coll/coll.h"
#undef handKernels
#undef coll_kernel_wait
#undef coll_kernel_mismatch

#include "HandDevice.h"
#include "test/StandIn/Executor.h"

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <time.h>

using namespace coll;
using namespace coll::test;

static uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

static coll_block &lineOf(const coll_inst *inst, uint32_t block) {
  return reinterpret_cast<coll_block *>(inst->blocks)[block];
}
template <typename T> static void store(T &word, T value) {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
static coll_device_signal &signalOf(const coll_inst *inst, uint32_t block) {
  return reinterpret_cast<coll_device_signal *>(inst->signals)[block];
}
static void showLaunch(const coll_inst *inst, uint32_t block) {
  const coll_device_signal &signal = signalOf(inst, block);
  store(lineOf(inst, block).launch, uint64_t(signal.launch));
  store(lineOf(inst, block).runs, signal.launches + 1);
}
static void leave(coll_block &line, uint32_t reason, uint64_t progress) {
  store(line.progress, progress);
  __atomic_store_n(&line.result, reason, __ATOMIC_RELEASE);
}

uint32_t deviceWait(const coll_inst *inst, uint32_t block, const uint64_t *word,
                    uint64_t want, uint32_t how, uint64_t progress) {
  const auto &dev = *reinterpret_cast<const coll_comm_dev *>(inst->comm);
  coll_block &line = lineOf(inst, block);
  const auto *abort = reinterpret_cast<const uint32_t *>(dev.abort);
  auto holds = [&] {
    uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    return how == COLL_WAIT_SMALL_FLAG ? value >> 16 == want : value > want;
  };
  uint64_t start = nanoseconds();
  bool isShown = false;
  for (uint64_t polls = 0; !holds(); ++polls) {
    sched_yield();
    if (polls < 100)
      continue;
    if (!isShown) {
      showLaunch(inst, block);
      store(line.want, want);
      store(line.wait_since, start);
      store(line.progress, progress);
      isShown = true;
    }
    if (__atomic_load_n(abort, __ATOMIC_RELAXED))
      return 1;
    if (dev.deadline_ns != UINT64_MAX &&
        nanoseconds() - start > dev.deadline_ns) {
      leave(line, COLL_TIMEOUT, progress);
      return 1;
    }
  }
  if (isShown)
    store(line.progress, uint64_t(COLL_STATE_RUN) << 60);
  return 0;
}

uint32_t deviceMismatch(const coll_inst *inst, uint32_t block,
                        uint64_t progress, uint32_t want, uint32_t have) {
  coll_block &line = lineOf(inst, block);
  showLaunch(inst, block);
  store(line.want, uint64_t(want));
  store(line.have, uint64_t(have));
  leave(line, COLL_MISMATCH, progress);
  return 1;
}

static constexpr uint32_t parameterBytes =
    sizeof(coll_args) + 4 * sizeof(coll_buf) + 16 * sizeof(coll_size);

static std::atomic<uint64_t> smallBlocks, lineBlocks;
uint64_t coll::test::blocksInSmallSlots() { return smallBlocks; }
uint64_t coll::test::blocksWithLines() { return lineBlocks; }

/// How many of an instance's ends have slots of lines.
static uint32_t endsWithLines(const coll_inst &inst) {
  auto count = [](uint64_t at, uint32_t all) {
    const auto *ends = reinterpret_cast<const coll_end *>(at);
    return uint32_t(std::count_if(
        ends, ends + all, [](const coll_end &end) { return end.lines != 0; }));
  };
  return count(inst.send_ends, inst.nsend * inst.ninstances) +
         count(inst.recv_ends, inst.nrecv * inst.ninstances);
}

/// What a kernel does around its steps. Each is for one protocol; what it finds
/// in small slots is a host's, not packets, and its lines go in bulk slots.
static void runOnDevice(coll_kernel_fn kernel, uint32_t protocol,
                        const void *parameters, uint32_t block) {
  alignas(64) std::byte memory[COLL_MAX_PARAM_BYTES];
  std::memcpy(memory, parameters, parameterBytes);
  auto &args = *reinterpret_cast<coll_args *>(memory);
  auto &inst = *reinterpret_cast<coll_inst *>(args.inst);
  if (args.sizes == 0)
    args.sizes = reinterpret_cast<uint64_t>(&args.bufs[args.nbufs]);
  const bool isSmall = protocol == COLL_PROTOCOL_LL,
             isLines = protocol == COLL_PROTOCOL_LL128;
  const uint32_t ends = (inst.nsend + inst.nrecv) * inst.ninstances;
  if (isSmall != bool(args.flags & COLL_ARGS_SMALL) ||
      isLines != bool(args.flags & COLL_ARGS_LINES) ||
      (isLines && endsWithLines(inst) != ends)) {
    leave(lineOf(&inst, block), COLL_SYSTEM, 0);
    return;
  }
  smallBlocks += isSmall;
  lineBlocks += isLines;
  coll_device_signal &signal = signalOf(&inst, block);
  if (__atomic_exchange_n(&signal.entered, 1, __ATOMIC_ACQUIRE) != 0) {
    leave(lineOf(&inst, block), COLL_OVERLAP, 0);
    return;
  }
  signal.launch = args.flags >> COLL_ARGS_LAUNCH_SHIFT;
  kernel(&args, block);
  ++signal.launches;
  __atomic_store_n(&signal.entered, 0, __ATOMIC_RELEASE);
}

/// A function for each kernel, since an image holds plain functions.
template <size_t I, uint32_t Protocol>
static void blockOf(const void *parameters, uint32_t block) {
  static const auto kernels = kernelsOnDevice(true);
  runOnDevice(kernels[I].fn, Protocol, parameters, block);
}
template <uint32_t Protocol>
static void moveBlock(const void *parameters, uint32_t block) {
  static const auto kernels = kernelsOnDevice(false);
  runOnDevice(kernels[0].fn, Protocol, parameters, block);
}

void coll::test::addDeviceKernels(HandPlan &plan) {
  using standin::HostImage;
#define KERNELS(suffix, protocol)                                              \
  {"reduce0" suffix, parameterBytes, blockOf<0, protocol>},                    \
      {"reduce1" suffix, parameterBytes, blockOf<1, protocol>},                \
      {"reduce2" suffix, parameterBytes, blockOf<2, protocol>},                \
      {"reduce3" suffix, parameterBytes, blockOf<3, protocol>},                \
      {"reduce4" suffix, parameterBytes, blockOf<4, protocol>},                \
      {"reduce5" suffix, parameterBytes, blockOf<5, protocol>},                \
      {"reduce6" suffix, parameterBytes, blockOf<6, protocol>},                \
      {"reduce7" suffix, parameterBytes, blockOf<7, protocol>},                \
      {"reduce8" suffix, parameterBytes, blockOf<8, protocol>}, {              \
    "move" suffix, parameterBytes, moveBlock<protocol>                         \
  }
  constexpr size_t perProtocol = 10, moves = 9;
  static const HostImage::Kernel list[] = {
      KERNELS("", COLL_PROTOCOL_SIMPLE), KERNELS("_ll128", COLL_PROTOCOL_LL128),
      KERNELS("_ll", COLL_PROTOCOL_LL)};
#undef KERNELS
  static_assert(std::size(list) == 3 * perProtocol);
  static const HostImage image = [] {
    HostImage made = {{}, uint32_t(std::size(list)), list};
    std::memcpy(made.magic, HostImage::mark, sizeof made.magic);
    return made;
  }();
  static const coll_image images[] = {
      {COLL_IMAGE_BITCODE, 90, &image, sizeof image}};
  static const auto makeKernels = [](bool reduces) {
    std::vector<coll_device_kernel> kernels;
    auto sources = kernelsOnDevice(reduces);
    constexpr uint32_t protocols[] = {COLL_PROTOCOL_SIMPLE, COLL_PROTOCOL_LL128,
                                      COLL_PROTOCOL_LL};
    for (size_t p = 0; p != std::size(protocols); ++p)
      for (size_t i = 0; i != sources.size(); ++i)
        kernels.push_back(
            {sources[i].dtype, sources[i].op, 128, protocols[p], parameterBytes,
             0, 0, 0, list[perProtocol * p + (reduces ? i : moves)].symbol});
    return kernels;
  };
  static const auto reducing = makeKernels(true), moving = makeKernels(false);
  coll_plan &target = plan.change();
  const auto &kernels = target.reduces ? reducing : moving;
  target.images = images;
  target.nimages = 1;
  target.device_kernels = kernels.data();
  target.ndevice_kernels = uint32_t(kernels.size());
}

//===----------------------------------------------------------------------===//

Application::Application() {
  EXPECT_EQ(calls::cuInit(0), cuda::success);
  EXPECT_EQ(calls::cuDevicePrimaryCtxRetain(&context, 0), cuda::success);
  EXPECT_EQ(calls::cuCtxPushCurrent_v2(context), cuda::success);
}
Application::~Application() {
  for (cuda::Stream stream : streams)
    EXPECT_EQ(calls::cuStreamDestroy_v2(stream), cuda::success);
  EXPECT_EQ(calls::cuCtxPopCurrent_v2(&context), cuda::success);
  EXPECT_EQ(calls::cuDevicePrimaryCtxRelease_v2(0), cuda::success);
}
cuda::Stream Application::stream() {
  streams.push_back(nullptr);
  EXPECT_EQ(calls::cuStreamCreate(&streams.back(), cuda::streamNonBlocking),
            cuda::success);
  return streams.back();
}

DeviceArray::DeviceArray(coll_comm *comm, cuda::Stream stream,
                         std::vector<int32_t> value)
    : comm(comm), stream(stream), count(value.size()) {
  void *address = nullptr;
  EXPECT_EQ(coll_mem_alloc(comm, count * sizeof(int32_t), &address), COLL_OK)
      << coll_last_error();
  memory = static_cast<int32_t *>(address);
  EXPECT_EQ(calls::cuMemcpyHtoDAsync_v2(uintptr_t(memory), value.data(),
                                        count * sizeof(int32_t), stream),
            cuda::success);
  EXPECT_EQ(calls::cuStreamSynchronize(stream), cuda::success);
}
DeviceArray::~DeviceArray() {
  EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK) << coll_last_error();
}
std::vector<int32_t> DeviceArray::read() {
  std::vector<int32_t> value(count);
  EXPECT_EQ(calls::cuMemcpyDtoHAsync_v2(value.data(), uintptr_t(memory),
                                        count * sizeof(int32_t), stream),
            cuda::success);
  EXPECT_EQ(calls::cuStreamSynchronize(stream), cuda::success);
  return value;
}

void coll::test::onDevices(int nranks, const WithComm &body,
                           uint64_t deadlineMs) {
  Variables device(std::map<std::string, std::string>{{"COLL_DEVICE", "cuda"}});
  onThreads(nranks, body, deadlineMs);
}
