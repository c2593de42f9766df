//===- Executor.h - Runs kernels for the stand-in driver --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_STANDIN_EXECUTOR_H
#define COLL_TEST_STANDIN_EXECUTOR_H

#include "test/StandIn/StandIn.h"

namespace coll::standin {

struct LaunchShape {
  unsigned grid, threads;
};

/// Device code that has been loaded.
class Image {
public:
  virtual ~Image() = default;
  /// Null: no kernel of this name.
  virtual const void *find(const std::string &symbol) = 0;
  virtual size_t parameterBytes(const void *kernel) = 0;
  /// Runs all blocks to their end; false: the kernel has failed.
  virtual bool run(const void *kernel, LaunchShape shape,
                   const void *parameters) = 0;
};

/// Kernels of a test, as functions of this process: what an "image" of them
/// looks like.  A block is one call.
struct HostImage {
  static constexpr char mark[16] = "coll host image";
  char magic[16];
  struct Kernel {
    const char *symbol;
    uint32_t parameterBytes;
    void (*block)(const void *parameters, uint32_t block);
  };
  uint32_t count;
  const Kernel *kernels;
};

/// Bitcode for the emulator (Emulated.cpp); null: it is none, or there is no
/// emulator.
std::unique_ptr<Image> loadBitcode(const void *image);
/// Null: `image` is in no form that can be run.
std::unique_ptr<Image> loadImage(const void *image);

} // namespace coll::standin

#endif // COLL_TEST_STANDIN_EXECUTOR_H
