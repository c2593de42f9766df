//===- Gpu.h - What coll-run asks of CUDA's driver itself -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an application does that calls the runtime on devices: it finds them,
// has buffers and a stream, copies, and captures graphs. The driver is opened
// when it is needed, as the runtime does.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TOOLS_COLL_RUN_GPU_H
#define COLL_TOOLS_COLL_RUN_GPU_H

#include "runtime/transport/cuda/CudaApi.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace coll {

struct GpuInfo {
  unsigned chip = 0; // 90 for sm_90
  std::string name;
};

/// All devices of this machine; an error if there are none, or no driver. Asked
/// in a process of its own, since a driver that has been started does not
/// survive the fork that makes ranks of this one.
llvm::Expected<std::vector<GpuInfo>> findGpus();

/// One rank's use of a device, on the rank's thread. The first call that fails
/// leaves its text in `error`, and later ones do nothing but fail, too.
class Gpu {
public:
  Gpu();
  ~Gpu(); // gives everything back
  Gpu(const Gpu &) = delete;

  bool open(int device);
  void *allocate(size_t bytes);
  bool fill(void *to, const void *from, size_t bytes);
  bool read(void *to, const void *from, size_t bytes);
  void *stream() const;
  /// Until all that is queued on the stream has ended.
  bool wait();

  /// What `queue` queues on the stream becomes a graph, which takes the place
  /// of the last one.
  bool capture(const std::function<bool()> &queue);
  bool replay();

  std::string error;

private:
  struct State;
  bool check(cuda::Result result, const char *what);
  void dropGraph();
  std::unique_ptr<State> state;
};

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_GPU_H
