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

/// What is under way, for a check that ends without a word of its own: every
/// rank may say so. `watch` ends the program when nothing new is said for so
/// long.
void begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
void watch(double seconds);
/// Since the program began.
double secondsSpent();

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
  bool isQuick = false;            ///< few sizes, nothing timed for long
  size_t mostElements = 1'000'003; ///< of a call that is checked
  const char *only = "";           ///< plans whose names hold this
  double seconds = 280;            ///< what is not begun by then is left out
  int process = -1;                ///< this is such a process of checkProcesses
  bool isOver(double share) const { return secondsSpent() > share * seconds; }
};

/// A rank of a job: a thread with a communicator.
struct RankContext {
  int rank, ranks;
  coll_comm *comm;
  Gpu &device;
  std::barrier<> &together;
  unsigned failuresBefore = 0; ///< when the job began, the same on all ranks
};
/// Whether something has failed since `before`; all ranks ask and hear the
/// same.
bool hasFailed(RankContext &rank, unsigned before);
/// Runs the body on every rank; rank r on device r modulo the devices.  A rank
/// that cannot begin is a failure.
void onRanks(int ranks, int devices, double deadlineSeconds,
             const std::function<void(RankContext &)> &body);

/// How messages of launches have gone, on all ranks.
struct Ways {
  std::atomic<uint64_t> slots{0}, packets{0}, lines{0}, puts{0}, gets{0};
  std::atomic<bool> hasLines{false}; ///< the chips and links do
};

/// All plans that were packed (plans.cpp, which the packer writes).
extern const coll_plan *const plans[];
extern const unsigned numPlans;

/// The first all-reduce for so many ranks, whose messages are lines or not;
/// null: none was packed.
const coll_plan *anAllreduce(int ranks, bool isOfLines = false);
/// One call of a plan, launched and replayed from a graph, in memory of the
/// driver or in registered memory.
void checkCall(RankContext &rank, const coll_plan &plan, size_t count,
               bool isRegistered);
/// Of the process of checkProcesses that this is.
int runProcess(const Options &options);

// The sections of the check.
void checkLitmus(const Options &options);
void checkCollectives(const Options &options);
void checkProcesses(const Options &options);
void checkFaults(const Options &options);
void measure(const Options &options);

} // namespace coll::gpu

#endif // COLL_TEST_GPU_DEVICE_H
