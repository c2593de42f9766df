//===- Wait.h - How kernels end a launch ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_WAIT_H
#define COLL_RUNTIME_CORE_WAIT_H

#include "coll/abi.h"
#include "runtime/core/Status.h"

namespace coll {

/// An error that a block meets at coll_block.progress `progress`, which says
/// where: ends the communicator. Returns what the kernel is told, not 0.
uint32_t endAt(const coll_inst *inst, uint32_t block, uint64_t progress,
               Status status) noexcept;

} // namespace coll

#endif // COLL_RUNTIME_CORE_WAIT_H
