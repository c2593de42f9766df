//===- Driver.h - CUDA's driver, opened at run time -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1 belongs to the kernel driver of the machine, so it is opened
// when the first device is used, and its absence is an error of that call.  It
// stays open: other libraries of the process use it as well.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_DRIVER_H
#define COLL_RUNTIME_TRANSPORT_CUDA_DRIVER_H

#include "runtime/core/Status.h"
#include "runtime/transport/cuda/CudaApi.h"

namespace coll::cuda {

struct Driver {
#define X(name, symbol, parameters) Result(*name) parameters = nullptr;
  COLL_CUDA_CALLS(X)
  COLL_CUDA_MULTICAST_CALLS(X)
#undef X
  /// CUDA 12.0 has none of its calls.
  bool hasMulticast() const;

  /// The driver of this process, initialised.  Any thread.
  static Status open(const Driver *&result);
  /// Looks a library up by name and fills the table; it stays open.
  static Status load(const char *library, Driver &result);

  /// OK, or an error "WHAT: TEXT (NAME)" with the driver's text and name.
  /// COLL_NO_MEMORY for lack of memory, else COLL_SYSTEM.
  Status check(Result result, const char *what, ...) const
      __attribute__((format(printf, 3, 4)));
};

/// Makes a context current on this thread for a scope; and, so that memory may
/// be allocated while some stream is being captured, relaxes what the driver
/// forbids during captures, for this thread.
class ContextScope {
public:
  ContextScope(const Driver &driver, Context context);
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  ~ContextScope();
  Status status() const {
    return driver.check(pushed, "cannot use the device");
  }

private:
  const Driver &driver;
  Result pushed;
  CaptureMode mode = captureRelaxed;
};

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_DRIVER_H
