//===- Device.cpp - CUDA's driver for the check on a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Device.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace coll;
using namespace coll::cuda;

namespace coll::gpu {

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

std::atomic<unsigned> failures{0};

namespace {
std::mutex saying;
char underWay[256] = "nothing yet";
unsigned numBegun = 0;

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
const double start = now();
} // namespace

double secondsSpent() { return now() - start; }

void begin(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::lock_guard lock(saying);
  vsnprintf(underWay, sizeof underWay, format, arguments);
  ++numBegun;
  va_end(arguments);
}

void watch(double seconds) {
  std::thread([seconds] {
    unsigned seen = 0;
    for (double since = now(); true;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::lock_guard lock(saying);
      if (numBegun != seen)
        since = now();
      seen = numBegun;
      if (now() - since < seconds)
        continue;
      printf("FAILED: nothing new for %.0f seconds: %s\n", seconds, underWay);
      fflush(stdout);
      _exit(1);
    }
  }).detach();
}

void fail(const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  // Of what is under way: one cause has many effects.
  constexpr unsigned mostSaid = 6;
  static unsigned of = 0, said = 0;
  ++failures;
  std::lock_guard lock(saying);
  said = of == numBegun ? said + 1 : 1;
  of = numBegun;
  if (said <= mostSaid)
    printf("FAILED: %s\n", text);
  fflush(stdout);
}

Driver &driver() {
  static Driver made;
  return made;
}

void check(Result result, const char *what) {
  if (result == success)
    return;
  printf("FAILED: CUDA driver: %s: %s\nunder way: %s\n", what,
         driver().textOf(result).c_str(), underWay);
  fflush(stdout);
  _exit(1);
}

//===----------------------------------------------------------------------===//
// A device
//===----------------------------------------------------------------------===//

static DevicePtr addressOf(const void *p) {
  return reinterpret_cast<uintptr_t>(p);
}

Gpu::Gpu(int number) : number(number) {
  check(driver().primaryRetain(&context, number), "context");
  check(driver().ctxPush(context), "context");
  check(driver().streamCreate(&queue, streamNonBlocking), "stream");
}

Gpu::~Gpu() {
  dropGraph();
  check(driver().streamDestroy(queue), "end of a stream");
  for (DevicePtr each : memory)
    check(driver().memFree(each), "free");
  check(driver().ctxPop(&context), "context");
  check(driver().primaryRelease(number), "end of a context");
}

void *Gpu::allocateBytes(size_t bytes) {
  DevicePtr made = 0;
  check(driver().memAlloc(&made, bytes + 16), "device memory");
  memory.push_back(made);
  return reinterpret_cast<void *>(uintptr_t(made));
}

void Gpu::write(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return;
  check(driver().copyToDevice(addressOf(to), from, bytes, queue), "copy");
  wait();
}
void Gpu::read(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return;
  check(driver().copyToHost(to, addressOf(from), bytes, queue), "copy");
  wait();
}
void Gpu::wait() { check(driver().streamSynchronize(queue), "stream"); }

void Gpu::dropGraph() {
  if (exec)
    check(driver().graphExecDestroy(exec), "end of a graph");
  if (graph)
    check(driver().graphDestroy(graph), "end of a graph");
  exec = nullptr;
  graph = nullptr;
}

void Gpu::capture(const std::function<void()> &launches) {
  dropGraph();
  check(driver().streamBeginCapture(queue, captureThreadLocal), "capture");
  launches();
  check(driver().streamEndCapture(queue, &graph), "capture");
  check(driver().graphInstantiate(&exec, graph, 0), "graph");
}

void Gpu::replay() { check(driver().graphLaunch(exec, queue), "replay"); }

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

bool hasFailed(RankContext &rank, unsigned before) {
  rank.together.arrive_and_wait();
  bool result = failures != before;
  rank.together.arrive_and_wait();
  return result;
}

void onRanks(int ranks, int devices, double deadlineSeconds,
             const std::function<void(RankContext &)> &body) {
  coll_id id = {};
  if (coll_make_id(&id) != COLL_OK)
    return fail("coll_make_id: %s", coll_last_error());
  std::barrier<> together(ranks);
  const unsigned before = failures;
  std::vector<std::thread> threads;
  for (int rank = 0; rank != ranks; ++rank)
    threads.emplace_back([&, rank] {
      Gpu device(rank % devices);
      coll_config config = COLL_CONFIG_INIT;
      config.device = device.number;
      config.deadline_ns = uint64_t(deadlineSeconds * 1e9);
      config.init_deadline_ns = 30'000'000'000;
      coll_comm *comm = nullptr;
      coll_status status = coll_comm_init(&comm, ranks, &id, rank, &config);
      if (status != COLL_OK) {
        fail("rank %d: init: %s", rank, coll_last_error());
        together.arrive_and_drop();
        return;
      }
      RankContext context = {rank, ranks, comm, device, together, before};
      body(context);
      coll_error error = {};
      bool isKnown =
          coll_comm_error(comm, &error) == COLL_OK && error.status != COLL_OK;
      if (coll_comm_destroy(comm) != COLL_OK && !isKnown)
        fail("rank %d: destroy: %s", rank, coll_last_error());
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace coll::gpu
