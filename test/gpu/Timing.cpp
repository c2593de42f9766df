//===- Timing.cpp - Latency and bandwidth on a GPU ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best all-reduce of those that were packed at every size, launched from a
// graph; beside it a copy in device memory of as many bytes, and NCCL's, where
// its library is there and every rank has a device of its own.  Ranks that
// share a device share its memory's bandwidth, so what they reach is a floor.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

using namespace coll;
using namespace coll::cuda;
using namespace coll::gpu;

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Seconds of one launch, of `launches` in a graph that is replayed.
static double timeGraph(Gpu &device, int launches, int replays,
                        const std::function<void()> &meet,
                        const std::function<void()> &launch) {
  device.capture([&] {
    for (int i = 0; i != launches; ++i)
      launch();
  });
  meet();
  device.replay();
  device.wait();
  meet();
  double start = now();
  for (int i = 0; i != replays; ++i)
    device.replay();
  device.wait();
  return (now() - start) / (double(launches) * replays);
}

//===----------------------------------------------------------------------===//
// NCCL
//===----------------------------------------------------------------------===//

namespace {
/// Its interface, as far as it is in use (NVIDIA, "NCCL", nccl.h).
struct Nccl {
  struct Id {
    char bytes[128];
  };
  using Comm = void *;
  static constexpr int float32 = 7, sum = 0;
  int (*getUniqueId)(Id *) = nullptr;
  int (*commInitRank)(Comm *, int, Id, int) = nullptr;
  int (*commDestroy)(Comm) = nullptr;
  int (*allReduce)(const void *, void *, size_t, int, int, Comm,
                   Stream) = nullptr;

  bool open() {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    auto find = [&](auto *&function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          library ? dlsym(library, name) : nullptr);
      return function != nullptr;
    };
    return find(getUniqueId, "ncclGetUniqueId") &&
           find(commInitRank, "ncclCommInitRank") &&
           find(commDestroy, "ncclCommDestroy") &&
           find(allReduce, "ncclAllReduce");
  }
};

struct Row {
  size_t bytes = 0;
  double best = 0, copy = 0, nccl = 0; ///< seconds; 0: not measured
  const char *plan = "";
};

class Measurement {
public:
  explicit Measurement(const Options &options);
  void run();
  void print() const;

private:
  void timePlan(const coll_plan &plan);
  void timeNccl();
  void timeCopies();
  int launches(size_t bytes) const {
    return options.isQuick ? 1 : bytes <= (1 << 20) ? 50 : 5;
  }
  int replays() const { return options.isQuick ? 1 : 4; }

  const Options &options;
  std::vector<Row> rows;
};
} // namespace

Measurement::Measurement(const Options &options) : options(options) {
  size_t last = options.isQuick ? 64 : size_t(64) << 20;
  for (size_t bytes = 8; bytes <= last; bytes *= bytes < (64 << 10) ? 2 : 4) {
    rows.emplace_back();
    rows.back().bytes = bytes;
  }
}

void Measurement::timePlan(const coll_plan &plan) {
  onRanks(options.ranks, options.devices, 60, [&](RankContext &rank) {
    size_t most = rows.back().bytes / sizeof(float);
    const void *ins[] = {rank.device.allocate<float>(most)};
    void *outs[] = {rank.device.allocate<float>(most)};
    for (Row &row : rows) {
      size_t count = row.bytes / sizeof(float);
      coll_call call = {};
      call.in = ins;
      call.out = outs;
      call.count = &count;
      call.dtype = COLL_F32;
      call.op = COLL_SUM;
      if (coll_launch_prepare(&plan, &call, rank.comm) != COLL_OK)
        return fail("%s: %s", plan.name, coll_last_error());
      double seconds = timeGraph(
          rank.device, launches(row.bytes), replays(),
          [&] { rank.together.arrive_and_wait(); },
          [&] {
            if (coll_launch(&plan, &call, rank.comm, rank.device.stream()) !=
                COLL_OK)
              fail("%s: %s", plan.name, coll_last_error());
          });
      if (rank.rank == 0 && (row.best == 0 || seconds < row.best)) {
        row.best = seconds;
        row.plan = plan.name;
      }
    }
  });
}

void Measurement::timeNccl() {
  Nccl nccl;
  if (options.devices < options.ranks)
    return (void)printf("# NCCL: not run, ranks share a device\n");
  if (!nccl.open())
    return (void)printf("# NCCL: not run, there is no libnccl.so.2\n");
  Nccl::Id id = {};
  if (nccl.getUniqueId(&id) != 0)
    return (void)printf("# NCCL: not run, ncclGetUniqueId has failed\n");
  onRanks(options.ranks, options.devices, 60, [&](RankContext &rank) {
    size_t most = rows.back().bytes / sizeof(float);
    float *in = rank.device.allocate<float>(most);
    float *out = rank.device.allocate<float>(most);
    Nccl::Comm comm = nullptr;
    bool isGood = nccl.commInitRank(&comm, rank.ranks, id, rank.rank) == 0;
    for (Row &row : rows) {
      double seconds = timeGraph(
          rank.device, launches(row.bytes), replays(),
          [&] { rank.together.arrive_and_wait(); },
          [&] {
            isGood =
                isGood && nccl.allReduce(in, out, row.bytes / sizeof(float),
                                         Nccl::float32, Nccl::sum, comm,
                                         rank.device.stream()) == 0;
          });
      if (rank.rank == 0 && isGood)
        row.nccl = seconds;
    }
    if (!isGood)
      printf("# NCCL: not run on rank %d, a call of it has failed\n",
             rank.rank);
    if (comm)
      (void)nccl.commDestroy(comm);
  });
}

void Measurement::timeCopies() {
  Gpu device(0);
  size_t most = rows.back().bytes;
  auto from = DevicePtr(uintptr_t(device.allocate<char>(most)));
  auto to = DevicePtr(uintptr_t(device.allocate<char>(most)));
  for (Row &row : rows)
    row.copy = timeGraph(
        device, launches(row.bytes), replays(), [] {},
        [&] {
          check(driver().copyOnDevice(to, from, row.bytes, device.stream()),
                "copy in device memory");
        });
}

void Measurement::run() {
  for (unsigned p = 0; p != numPlans; ++p) {
    bool fits = strcmp(plans[p]->contract, "allreduce") == 0;
    for (uint32_t i = 0; fits && i != plans[p]->nranks_entries; ++i)
      if (plans[p]->ranks[i].nranks == uint32_t(options.ranks))
        timePlan(*plans[p]);
  }
  timeCopies();
  timeNccl();
}

void Measurement::print() const {
  printf("# all-reduce of f32, %d ranks on %d devices; busbw as in nccl-tests\n"
         "# %10s %10s %10s %10s %10s %10s  %s\n",
         options.ranks, options.devices, "bytes", "us", "busbw", "copy us",
         "copy GB/s", "NCCL us", "schedule");
  double factor = 2.0 * (options.ranks - 1) / options.ranks;
  for (const Row &row : rows) {
    char nccl[32] = "-";
    if (row.nccl > 0)
      snprintf(nccl, sizeof nccl, "%.2f", row.nccl * 1e6);
    printf("  %10zu %10.2f %10.2f %10.2f %10.2f %10s  %s\n", row.bytes,
           row.best * 1e6, double(row.bytes) / row.best / 1e9 * factor,
           row.copy * 1e6, double(row.bytes) / row.copy / 1e9, nccl, row.plan);
  }
}

void coll::gpu::measure(const Options &options) {
  Measurement measurement(options);
  measurement.run();
  measurement.print();
}
