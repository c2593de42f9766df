//===- Scratch.h - Memory between the steps of a launch ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_SCRATCH_H
#define COLL_RUNTIME_CORE_SCRATCH_H

#include "coll/abi.h"
#include "runtime/core/Status.h"

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

} // namespace coll

#endif // COLL_RUNTIME_CORE_SCRATCH_H
