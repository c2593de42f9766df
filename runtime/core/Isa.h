//===- Isa.h - What this processor can execute ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_ISA_H
#define COLL_RUNTIME_CORE_ISA_H

#include "coll/abi.h"
#include "runtime/core/Status.h"

#include <optional>

namespace coll {

/// "v3" and so on, as COLL_ISA spells it.
const char *isaName(uint32_t isa);

/// The highest COLL_ISA_* of this processor and operating system, nothing on
/// an x86-64 without SSE4.2 or on other machines.
std::optional<uint32_t> hostIsa();

/// May kernels of instruction set `kernel` run where `host` is the best one?
bool canRun(uint32_t kernel, uint32_t host);

/// The instruction set for a lane: `wanted` (COLL_ISA), else the host's best.
/// COLL_INVALID when the processor lacks what is wanted.
Status chooseIsa(std::optional<uint32_t> wanted, uint32_t &isa);

} // namespace coll

#endif // COLL_RUNTIME_CORE_ISA_H
