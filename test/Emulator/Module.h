//===- Module.h - A loaded module -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_MODULE_H
#define COLL_TEST_EMULATOR_MODULE_H

#include "Instrument.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace coll::emu {

struct LoadedKernel {
  std::string name;
  void (*entry)(void **) = nullptr;
  std::vector<size_t> paramBytes;
};

struct LoadedGlobal {
  std::string name;
  void *address = nullptr;
  size_t bytes = 0;
};

class Module {
public:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<LoadedKernel> kernels;
  std::vector<LoadedGlobal> globals, constants;
  std::vector<Place> places;
  size_t sharedBytes = 0;

  const LoadedKernel *find(const std::string &name) const {
    for (const LoadedKernel &kernel : kernels)
      if (kernel.name == name)
        return &kernel;
    return nullptr;
  }
};

/// Null and a message on failure.
std::shared_ptr<Module> loadModule(const std::string &code, std::string &error);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_MODULE_H
