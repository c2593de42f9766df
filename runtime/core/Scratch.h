//===- Scratch.h - Memory between the steps of a launch ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_SCRATCH_H
#define COLL_RUNTIME_CORE_SCRATCH_H

#include "coll/abi.h"
#include "runtime/core/Status.h"

#include <cstddef>
#include <vector>

namespace coll {

/// Nothing in scratch outlives a launch, and the launches of a lane have one
/// order, so all instances share one memory, as large as the largest needs.
/// It grows only while a plan is loaded.
class Scratch {
public:
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch();

  /// Makes sure that there are `bytes` and points inst->scratch at them, now
  /// and whenever the memory moves.
  Status serve(coll_inst &inst, uint64_t bytes);
  uint64_t bytes() const { return size; }
  /// The instance is gone.
  void forget(const coll_inst &inst);

private:
  void *memory = nullptr;
  uint64_t size = 0;
  std::vector<coll_inst *> users;
};

/// Where messages stop on their way from or to another process, if they must: a
/// slot for each block and each channel end that receives. Takes memory only
/// once it is written to.
class Stopovers {
public:
  Stopovers() = default;
  Stopovers(const Stopovers &) = delete;
  Stopovers &operator=(const Stopovers &) = delete;
  ~Stopovers();

  /// At least so many; the others' content is lost. While no launch runs.
  Status reserve(size_t slots, size_t slotBytes);
  std::byte *slot(size_t index) const { return memory + index * each; }

private:
  std::byte *memory = nullptr;
  size_t number = 0, each = 0;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_SCRATCH_H
