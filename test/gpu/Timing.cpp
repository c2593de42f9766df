//===- Timing.cpp - Latency and bandwidth on a GPU ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best all-reduce of those that were packed at every size, in plain and in
// registered memory, launched from a graph; beside it a copy in device memory
// of as many bytes, and NCCL's, where its library is there and every rank has a
// device of its own.  Ranks that share a device share its memory's bandwidth,
// so what they reach is a floor.
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

/// Seconds of a launch; 0: not measured.
struct Best {
  double seconds = 0;
  const char *plan = "-";
};
struct Row {
  size_t bytes = 0;
  Best plain, registered;
  double copy = 0, nccl = 0;
};

class Measurement {
public:
  explicit Measurement(const Options &options);
  void run();
  void print() const;

private:
  void timePlan(const coll_plan &plan, bool isRegistered);
  void timeNccl();
  void timeCopies();
  /// All ranks ask: so many launches in a graph, by what one has taken rank 0.
  int launchesFor(double seconds, const RankContext &rank);
  int replays() const { return options.isQuick ? 1 : 4; }

  const Options &options;
  std::vector<Row> rows;
  std::atomic<int> agreed{0};
};
} // namespace

Measurement::Measurement(const Options &options) : options(options) {
  constexpr size_t most = size_t(64) << 20;
  size_t last =
      options.isQuick ? 64 : std::min(most, 64 * options.mostElements);
  for (size_t bytes = 8; bytes <= last; bytes *= bytes < (64 << 10) ? 2 : 4) {
    rows.emplace_back();
    rows.back().bytes = bytes;
  }
}

int Measurement::launchesFor(double seconds, const RankContext &rank) {
  constexpr double mostSeconds = 0.2;
  if (rank.rank == 0)
    agreed = std::clamp(int(mostSeconds / (seconds * (replays() + 1) + 1e-9)),
                        1, 50);
  rank.together.arrive_and_wait();
  return agreed;
}

void Measurement::timePlan(const coll_plan &plan, bool isRegistered) {
  onRanks(options.ranks, options.devices, 15, [&](RankContext &rank) {
    const size_t most = rows.back().bytes;
    void *buffers[2] = {};
    for (void *&buffer : buffers)
      if (!isRegistered)
        buffer = rank.device.allocate<char>(most);
      else if (coll_mem_alloc(rank.comm, most, &buffer) != COLL_OK)
        fail("%s: coll_mem_alloc: %s", plan.name, coll_last_error());
    const void *ins[] = {buffers[0]};
    void *outs[] = {buffers[1]};
    for (Row &row : rows) {
      begin("%s of %zu bytes, timed", plan.name, row.bytes);
      size_t count = row.bytes / sizeof(float);
      coll_call call = {};
      call.in = ins;
      call.out = outs;
      call.count = &count;
      call.dtype = COLL_F32;
      call.op = COLL_SUM;
      if (coll_launch_prepare(&plan, &call, rank.comm) != COLL_OK)
        fail("%s: %s", plan.name, coll_last_error());
      if (hasFailed(rank, rank.failuresBefore))
        return;
      auto timed = [&](int launches, int replays) {
        return timeGraph(
            rank.device, launches, replays,
            [&] { rank.together.arrive_and_wait(); },
            [&] {
              if (coll_launch(&plan, &call, rank.comm, rank.device.stream()) !=
                  COLL_OK)
                fail("%s: %s", plan.name, coll_last_error());
            });
      };
      double one = timed(1, 1);
      int launches = launchesFor(one, rank);
      double seconds = launches > 1 ? timed(launches, replays()) : one;
      Best &best = isRegistered ? row.registered : row.plain;
      if (rank.rank == 0 && (best.seconds == 0 || seconds < best.seconds))
        best = {seconds, plan.name};
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
          rank.device, 10, replays(), [&] { rank.together.arrive_and_wait(); },
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
        device, 10, replays(), [] {},
        [&] {
          check(driver().copyOnDevice(to, from, row.bytes, device.stream()),
                "copy in device memory");
        });
}

void Measurement::run() {
  timeCopies();
  timeNccl();
  for (unsigned p = 0; p != numPlans; ++p) {
    bool fits = strcmp(plans[p]->contract, "allreduce") == 0;
    for (uint32_t i = 0; fits && i != plans[p]->nranks_entries; ++i)
      if (plans[p]->ranks[i].nranks == uint32_t(options.ranks))
        for (bool isRegistered : {false, true})
          if (options.isOver(0.93))
            fail("%s: not timed, for time", plans[p]->name);
          else
            timePlan(*plans[p], isRegistered);
  }
}

void Measurement::print() const {
  printf("# all-reduce of f32, %d ranks on %d devices; busbw as in nccl-tests; "
         "plain: packets or slots, registered: packets or direct\n"
         "# %10s %10s %10s %10s %10s %10s  %-26s %10s %10s  %s\n",
         options.ranks, options.devices, "bytes", "copy us", "copy GB/s",
         "NCCL us", "plain us", "busbw", "schedule", "reg. us", "busbw",
         "schedule");
  double factor = 2.0 * (options.ranks - 1) / options.ranks;
  for (const Row &row : rows) {
    auto bandwidth = [&](double seconds) {
      return seconds > 0 ? double(row.bytes) / seconds / 1e9 : 0;
    };
    char nccl[32] = "-";
    if (row.nccl > 0)
      snprintf(nccl, sizeof nccl, "%.2f", row.nccl * 1e6);
    printf("  %10zu %10.2f %10.2f %10s", row.bytes, row.copy * 1e6,
           bandwidth(row.copy), nccl);
    for (const Best *best : {&row.plain, &row.registered})
      printf(" %10.2f %10.2f  %-26s", best->seconds * 1e6,
             bandwidth(best->seconds) * factor, best->plan);
    printf("\n");
  }
}

void coll::gpu::measure(const Options &options) {
  Measurement measurement(options);
  measurement.run();
  measurement.print();
}
