//===- Rank.cpp - What a rank does ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every row and mode: fresh inputs and poisoned outputs, one launch whose
// outputs are copied to where the parent checks them, some launches to warm up,
// and the timed ones. Buffers are private memory, as an application's are, or
// from coll_mem_alloc, a page behind the start of the window. On a device they
// lie in its memory, launches are queued on a stream, and with -G those that
// are checked and those that are timed are replayed from graphs.
//
//===----------------------------------------------------------------------===//

#include "tools/coll-run/Gpu.h"
#include "tools/coll-run/Jit.h"
#include "tools/coll-run/Job.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <utility>

using namespace coll;

namespace {
class RankProcess {
public:
  RankProcess(Job &job, Rank rank) : job(job), rank(rank) {}
  int run();

private:
  bool fail(const char *what, coll_status status);
  bool failGpu();
  bool open();
  bool allocate();
  bool isRegistered(uint32_t b) const;
  uint8_t *allocateOne(uint32_t b, uint64_t bytes);
  void place(const Row &row, Mode mode);
  bool put(uint32_t b, const void *from);
  bool fill(const Row &row, bool share);
  void prepareCall(const Row &row);
  bool launch();
  bool launchChecked();
  bool launchTimed(uint64_t launches);
  bool settle();
  bool meet() { return job.state->ranks.wait(job.numRanks, job.state->failed); }
  bool row(const Row &row, Mode mode);
  bool runRows();
  bool time();
  bool timeGraph(uint64_t launches);
  uint64_t chooseIterations(bool &ok);
  bool shareOutputs();
  const Buffer &buffer(uint32_t b) const {
    return job.rows[0].graph->buffers[b];
  }

  Job &job;
  Rank rank;
  std::unique_ptr<Gpu> gpu; // null: on the host
  coll_comm *comm = nullptr;
  std::vector<uint8_t *> memory; // per buffer
  std::vector<uint64_t> capacity;
  std::vector<uint8_t *>
      address; // per buffer, in this row and mode; null: not on this rank
  std::vector<BufferLayout> layout;
  std::vector<const void *> ins, arguments;
  std::vector<void *> outs;
  std::vector<size_t> counts;
  std::vector<double> scalars;
  coll_call call{};
};
} // namespace

static std::atomic<uint64_t> countedRead, countedWritten;

/// What kernels call that were compiled to count.
void coll::countBytes(uint64_t read, uint64_t written) {
  countedRead += read;
  countedWritten += written;
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A rank that another one has ended says nothing of its own.
bool RankProcess::fail(const char *what, coll_status status) {
  RankResult &result = job.state->results[rank];
  coll_error error{};
  const char *text = coll_last_error();
  if (comm && coll_comm_error(comm, &error) == COLL_OK &&
      error.status == status && error.text && error.text[0])
    text = error.text;
  bool isFollower = error.status == COLL_ABORTED && job.state->failed.load();
  if (!isFollower)
    snprintf(result.error, sizeof result.error, "%s: %s: %s", what,
             coll_status_string(status), text);
  job.state->failed.store(1);
  return false;
}

bool RankProcess::failGpu() {
  snprintf(job.state->results[rank].error, sizeof(RankResult::error),
           "CUDA driver: %s", gpu->error.c_str());
  job.state->failed.store(1);
  return false;
}

bool RankProcess::open() {
  coll_config config = COLL_CONFIG_INIT;
  if (job.options.onGpus) {
    config.device = job.options.gpu.value_or(int(rank % job.numGpus));
    gpu = std::make_unique<Gpu>();
    if (!gpu->open(config.device))
      return failGpu();
  }
  coll_status status =
      coll_comm_init(&comm, job.numRanks, &job.id, rank, &config);
  return status == COLL_OK || fail("init", status);
}

bool RankProcess::allocate() {
  capacity.resize(job.numBuffers);
  for (const Row &row : job.rows) {
    std::vector<BufferLayout> sizes = layoutOf(row, rank);
    for (uint32_t b = 0; b < job.numBuffers; ++b)
      capacity[b] = std::max(capacity[b], sizes[b].bytes);
    if (!row.canBeInPlace)
      continue;
    InPlaceLayout areas = layoutInPlace(row, rank, sizes);
    for (uint32_t b = 0; b < job.numBuffers; ++b)
      capacity[b] = std::max(capacity[b], areas.areaBytes[b]);
  }
  for (uint32_t b = 0; b < job.numBuffers; ++b) {
    memory.push_back(allocateOne(b, capacity[b]));
    if (!memory.back())
      return false;
  }
  return true;
}

bool RankProcess::isRegistered(uint32_t b) const {
  switch (job.options.registered) {
  case RunOptions::Registered::None:
    return false;
  case RunOptions::Registered::All:
    return true;
  case RunOptions::Registered::In:
    return buffer(b).kind != Buffer::Out;
  case RunOptions::Registered::Out:
    return buffer(b).kind == Buffer::Out;
  case RunOptions::Registered::Even:
    return rank % 2 == 0;
  }
  return false;
}

/// A page more than needed: a buffer of no bytes has an address, too.
uint8_t *RankProcess::allocateOne(uint32_t b, uint64_t bytes) {
  constexpr uint64_t page = 4096;
  if (isRegistered(b)) {
    void *p = nullptr;
    coll_status status = coll_mem_alloc(comm, bytes + 2 * page, &p);
    if (status != COLL_OK) {
      fail("coll_mem_alloc", status);
      return nullptr;
    }
    return static_cast<uint8_t *>(p) + page;
  }
  if (gpu) {
    void *p = gpu->allocate(bytes + page);
    if (!p)
      failGpu();
    return static_cast<uint8_t *>(p);
  }
  void *p = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    snprintf(job.state->results[rank].error, sizeof(RankResult::error),
             "no %llu bytes of memory", static_cast<unsigned long long>(bytes));
    job.state->failed.store(1);
    return nullptr;
  }
  madvise(p, bytes, MADV_HUGEPAGE);
  return static_cast<uint8_t *>(p);
}

void RankProcess::place(const Row &row, Mode mode) {
  layout = layoutOf(row, rank);
  address.assign(job.numBuffers, nullptr);
  InPlaceLayout inPlace;
  if (mode == Mode::InPlace)
    inPlace = layoutInPlace(row, rank, layout);
  for (uint32_t b = 0; b < job.numBuffers; ++b) {
    if (layout[b].firstElement.empty())
      continue;
    address[b] = mode == Mode::InPlace
                     ? memory[inPlace.places[b].area] + inPlace.places[b].offset
                     : memory[b];
  }
}

bool RankProcess::put(uint32_t b, const void *from) {
  if (!gpu) {
    memcpy(address[b], from, layout[b].bytes);
    return true;
  }
  return gpu->fill(address[b], from, layout[b].bytes) || failGpu();
}

/// Outputs first: in place, inputs lie in them.
bool RankProcess::fill(const Row &row, bool share) {
  constexpr uint8_t poison = 0xa5;
  uint32_t element = bytesOf(row.call.dtype);
  for (uint32_t b = 0; b < job.numBuffers; ++b) {
    if (!address[b] || buffer(b).kind != Buffer::Out)
      continue;
    if (!gpu)
      memset(address[b], poison, layout[b].bytes);
    else if (!put(b, std::vector<uint8_t>(layout[b].bytes, poison).data()))
      return false;
  }
  std::vector<uint8_t> staging;
  for (uint32_t b = 0; b < job.numBuffers; ++b) {
    if (!address[b] || buffer(b).kind == Buffer::Out)
      continue;
    uint8_t *made = share ? job.sharedBuffer(rank, b) : address[b];
    if (gpu && !share) {
      staging.resize(layout[b].bytes);
      made = staging.data();
    }
    fillRandom(made, layout[b].bytes / element, row, job.options.seed, rank, b);
    if (made != address[b] && !put(b, made))
      return false;
  }
  return true;
}

bool RankProcess::shareOutputs() {
  for (uint32_t b = 0; b < job.numBuffers; ++b) {
    if (!address[b] || buffer(b).kind != Buffer::Out)
      continue;
    if (!gpu)
      memcpy(job.sharedBuffer(rank, b), address[b], layout[b].bytes);
    else if (!gpu->read(job.sharedBuffer(rank, b), address[b], layout[b].bytes))
      return failGpu();
  }
  return true;
}

/// The call is made once per row and mode: what is timed is the library.
void RankProcess::prepareCall(const Row &row) {
  ins.clear(), outs.clear(), arguments.clear();
  for (uint32_t b = 0; b < job.numBuffers; ++b)
    switch (buffer(b).kind) {
    case Buffer::In:
      ins.push_back(address[b]);
      break;
    case Buffer::Out:
      outs.push_back(address[b]);
      break;
    case Buffer::ElemArg:
    case Buffer::RowArg:
      arguments.push_back(address[b]);
      break;
    case Buffer::Scalar:
      break;
    }
  counts = countsOf(row, rank);
  scalars = row.call.scalars;
  scalars.push_back(row.call.factor);
  call = {};
  call.in = ins.data();
  call.out = outs.data();
  call.arg = arguments.data();
  call.count = counts.data();
  call.scalar = scalars.data();
  call.launch = row.launch.data();
  call.dtype = row.call.dtype;
  call.op = row.call.op;
}

bool RankProcess::launch() {
  coll_status status =
      coll_launch(job.plan, &call, comm, gpu ? gpu->stream() : nullptr);
  return status == COLL_OK || fail("launch", status);
}

bool RankProcess::launchTimed(uint64_t launches) {
  for (uint64_t i = 0; i < launches; ++i)
    if (!launch())
      return false;
  return true;
}

/// Until all launches have ended, which on the host they have.
bool RankProcess::settle() {
  if (!gpu)
    return true;
  bool isGood = gpu->wait();
  coll_error error{};
  coll_status status = coll_comm_error(comm, &error);
  if (status == COLL_OK && error.status != COLL_OK)
    return fail("launch", error.status);
  return isGood || failGpu();
}

/// Without a stream, so that the call itself says what was wrong.
bool RankProcess::launchChecked() {
  if (!gpu)
    return launch();
  coll_status status = coll_launch_prepare(job.plan, &call, comm);
  if (status != COLL_OK)
    return fail("prepare", status);
  // Ranks may share the device, and nothing is to be loaded while one waits.
  if (!meet())
    return false;
  if (job.options.replays)
    return (gpu->capture([&] { return launch(); }) || failGpu()) && meet() &&
           (gpu->replay() || failGpu()) && settle();
  status = coll_launch(job.plan, &call, comm, nullptr);
  return status == COLL_OK || fail("launch", status);
}

/// As many launches as take about 50 ms, by the clock of rank 0.
uint64_t RankProcess::chooseIterations(bool &ok) {
  if (job.options.iterations)
    return job.options.iterations;
  constexpr int probes = 3;
  double start = now();
  ok = ok && launchTimed(probes) && settle();
  double each = std::max((now() - start) / probes, 1e-9);
  if (rank == 0)
    job.state->iterations.store(
        static_cast<uint64_t>(std::clamp(0.05 / each, 5.0, 20000.0)));
  ok = ok && meet();
  return job.state->iterations.load();
}

/// The time of a launch, from all that the graph holds and its replays.
bool RankProcess::timeGraph(uint64_t launches) {
  constexpr uint64_t mostNodes = 1000; // more only take longer to capture
  launches = std::min(launches, mostNodes);
  if (!gpu->capture([&] { return launchTimed(launches); }))
    return failGpu();
  if (!meet() || !(gpu->replay() || failGpu()) || !settle() || !meet())
    return false;
  double start = now();
  for (uint64_t i = 0; i < job.options.replays; ++i)
    if (!gpu->replay())
      return failGpu();
  if (!settle())
    return false;
  job.state->results[rank].seconds =
      (now() - start) / double(launches * job.options.replays);
  return true;
}

bool RankProcess::time() {
  bool ok = launchTimed(job.options.warmup) && settle();
  uint64_t iterations = chooseIterations(ok);
  if (!ok || !meet())
    return false;
  if (job.options.replays)
    return timeGraph(iterations);
  double start = now();
  ok = launchTimed(iterations) && settle();
  job.state->results[rank].seconds =
      (now() - start) / static_cast<double>(iterations);
  return ok;
}

bool RankProcess::row(const Row &row, Mode mode) {
  place(row, mode);
  prepareCall(row);
  if (!fill(row, job.options.check) || !meet())
    return false;
  countedRead = countedWritten = 0;
  if (!launchChecked())
    return false;
  job.state->results[rank].bytesRead = countedRead;
  job.state->results[rank].bytesWritten = countedWritten;
  if (job.options.check) {
    // The parent checks between these two.
    if (!shareOutputs() ||
        !job.state->all.wait(job.numRanks + 1, job.state->failed) ||
        !job.state->all.wait(job.numRanks + 1, job.state->failed))
      return false;
  }
  return time() && job.state->all.wait(job.numRanks + 1, job.state->failed);
}

/// Where the pages of a rank lie and how far the other ranks are then stays
/// the same from launch to launch.
static void stayOnProcessor(Rank rank) {
  cpu_set_t usable, own;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0)
    return;
  int skip = int(rank) % CPU_COUNT(&usable);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &usable) || skip-- != 0)
    ++cpu;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

bool RankProcess::runRows() {
  for (const Row &r : job.rows)
    for (Mode mode : job.modes)
      if (job.isRun(r, mode) && !row(r, mode))
        return false;
  return true;
}

int RankProcess::run() {
  if (job.options.pin)
    stayOnProcessor(rank);
  bool ok = open() && allocate() && meet() && runRows();
  if (ok) {
    // Gone whatever it returns: what is wrong is the thread's last error then.
    coll_status status = coll_comm_destroy(std::exchange(comm, nullptr));
    ok = status == COLL_OK || fail("destroy", status);
  } else if (comm && (gpu || job.options.threads)) {
    // The process does not end here, or not before its device has.
    coll_comm_abort(comm, "this rank has failed");
    coll_comm_destroy(comm);
  }
  return ok ? 0 : 1;
}

int coll::runRank(Job &job, Rank rank) { return RankProcess(job, rank).run(); }
