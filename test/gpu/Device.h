//===- Device.h - CUDA's driver for the check on a GPU ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_GPU_DEVICE_H
#define COLL_TEST_GPU_DEVICE_H

#include "coll/abi.h"
#include "coll/coll.h"
#include "runtime/transport/cuda/CudaApplication.h"

#include <atomic>
#include <barrier>
#include <cstdarg>
#include <functional>
#include <string>
#include <vector>

namespace coll::gpu {

/// Calls that are checked below end the program with a line when they fail:
/// nothing that follows would mean anything.
using Driver = cuda::ApplicationDriver;
Driver &driver();
void check(cuda::Result result, const char *what);

/// What has failed so far; a failed check says so and counts.
extern std::atomic<unsigned> failures;
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// One rank's device, stream, memory and graph, on the rank's thread.
class Gpu {
public:
  explicit Gpu(int number);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  template <typename T> T *allocate(size_t count) {
    return static_cast<T *>(allocateBytes(count * sizeof(T)));
  }
  void write(void *to, const void *from, size_t bytes);
  void read(void *to, const void *from, size_t bytes);
  void wait();
  cuda::Stream stream() const { return queue; }
  void capture(const std::function<void()> &launches);
  void replay();
  const int number;

private:
  void *allocateBytes(size_t bytes);
  void dropGraph();
  cuda::Context context = nullptr;
  cuda::Stream queue = nullptr;
  std::vector<cuda::DevicePtr> memory;
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
};

struct Options {
  int ranks = 4, devices = 1;
  bool isQuick = false; ///< few sizes, nothing timed for long
};

/// A rank of a job: a thread with a communicator.
struct RankContext {
  int rank, ranks;
  coll_comm *comm;
  Gpu &device;
  std::barrier<> &together;
};
/// Runs the body on every rank; rank r on device r modulo the devices.  A rank
/// that cannot begin is a failure.
void onRanks(int ranks, int devices, double deadlineSeconds,
             const std::function<void(RankContext &)> &body);

/// All plans that were packed (plans.cpp, which the packer writes).
extern const coll_plan *const plans[];
extern const unsigned numPlans;

// The sections of the check.
void checkLitmus(const Options &options);
void checkCollectives(const Options &options);
void checkFaults(const Options &options);
void measure(const Options &options);

} // namespace coll::gpu

#endif // COLL_TEST_GPU_DEVICE_H
