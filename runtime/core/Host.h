//===- Host.h - What this host and process are ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_HOST_H
#define COLL_RUNTIME_CORE_HOST_H

#include "runtime/core/Environment.h"

#include <array>
#include <functional>
#include <span>
#include <string>

namespace coll {

/// The processors of this thread's affinity mask, as far as the first 1024.
CpuMask affinityMask();

/// The least processor quota of this process's cgroups (version 2, or version 1
/// where that has one), rounded up to whole processors; 0: none.
uint32_t cgroupQuotaCores();

/// Size of the last cache that processor 0 shares with others; 0: unknown.
uint64_t lastCacheBytes();

/// Memory that can be had without swapping, as the kernel estimates; 0:
/// unknown.
uint64_t availableBytes();

/// Names the running kernel of this machine: its boot id.  Containers share it.
using HostId = std::array<std::byte, 16>;
HostId hostId();
std::string hostName();

/// Fills `bytes` with random ones.
Status fillRandom(std::span<std::byte> bytes);

/// "comm:PID:START" of the nearest ancestor process for which `isLauncher` is
/// true of (command name, environment with '\0' between variables), or "".
/// Ancestors whose environment may not be read end the search.
std::string findAncestor(
    const std::function<bool(std::string_view comm, std::string_view environ)>
        &isLauncher);

/// The state letter of a process in /proc: 'R', 'S', 'T' (stopped), 'Z', or 0.
char processState(int pid);

} // namespace coll

#endif // COLL_RUNTIME_CORE_HOST_H
