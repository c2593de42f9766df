//===- Jit.h - A generated object in this process ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_JIT_H
#define COLL_TOOLS_COLL_RUN_JIT_H

#include "coll/abi.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace coll {

/// Adds to what this process has counted (Rank.cpp).
void countBytes(uint64_t read, uint64_t written);

/// Links an object against the runtime that this program contains, as an
/// application's linker would; nothing but memory is needed for it. Processes
/// forked afterwards share the code.
class LoadedObject {
public:
  static llvm::Expected<std::unique_ptr<LoadedObject>>
  load(std::unique_ptr<llvm::MemoryBuffer> object);
  ~LoadedObject();
  /// The plan of schedule `name`.
  llvm::Expected<const coll_plan *> plan(llvm::StringRef name);

private:
  explicit LoadedObject(std::unique_ptr<llvm::orc::LLJIT> jit);
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_JIT_H
