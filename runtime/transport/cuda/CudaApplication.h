//===- CudaApplication.h - The driver of an application ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that use devices beside the runtime: coll-run, and the check on
// a GPU.  All calls of CudaApi.h, from the machine's libcuda.so.1, which stays
// open.  Headers alone, so that nothing of the runtime is linked for it.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_TRANSPORT_CUDA_CUDAAPPLICATION_H
#define COLL_RUNTIME_TRANSPORT_CUDA_CUDAAPPLICATION_H

#include "runtime/transport/cuda/CudaApi.h"

#include <dlfcn.h>
#include <string>

namespace coll::cuda {

struct ApplicationDriver {
#define X(name, symbol, parameters) Result(*name) parameters = nullptr;
  COLL_CUDA_CALLS(X)
  COLL_CUDA_APPLICATION_CALLS(X)
#undef X

  /// "": it is there, and has a device; else why this machine has none.
  std::string open();
  /// "TEXT (NUMBER)".
  std::string textOf(Result result) const;
};

inline std::string ApplicationDriver::textOf(Result result) const {
  const char *text = nullptr;
  if (getErrorString(result, &text) != success || !text)
    text = "the driver gives no text";
  return std::string(text) + " (" + std::to_string(result) + ")";
}

inline std::string ApplicationDriver::open() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return std::string("there is no CUDA driver on this machine: ") + dlerror();
#define X(name, symbol, parameters)                                            \
  if (void *address = dlsym(library, #symbol))                                 \
    name = reinterpret_cast<decltype(name)>(address);                          \
  else                                                                         \
    return "the CUDA driver is too old: it has no " #symbol;
  COLL_CUDA_CALLS(X)
  COLL_CUDA_APPLICATION_CALLS(X)
#undef X
  int count = 0;
  Result result = init(0);
  if (result == success)
    result = deviceGetCount(&count);
  if (result == noDevice || (result == success && count == 0))
    return "there is a CUDA driver on this machine, and no CUDA device";
  return result == success ? ""
                           : "cannot start the CUDA driver: " + textOf(result);
}

} // namespace coll::cuda

#endif // COLL_RUNTIME_TRANSPORT_CUDA_CUDAAPPLICATION_H
