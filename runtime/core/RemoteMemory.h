//===- RemoteMemory.h - Memory of another process ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel moves bytes between two processes of one user in one copy
// (process_vm_readv, process_vm_writev), which no sysctl tells of beforehand:
// containers forbid the calls by seccomp, Yama by the processes' kinship. So
// ranks try them when they meet.
//
// A pid that has been given to another process since is not told from the old
// one. Pids are given in turn, so that takes tens of thousands of processes
// within the moment between a peer's death and its discovery.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_REMOTEMEMORY_H
#define COLL_RUNTIME_CORE_REMOTEMEMORY_H

#include "runtime/core/Board.h"

namespace coll {

/// 0 when all bytes are there, else an errno: ESRCH (no such process, any
/// more), EPERM, EFAULT (not all is mapped, on either side).
int readRemote(int pid, uint64_t from, void *to, size_t bytes) noexcept;
int writeRemote(int pid, uint64_t to, const void *from, size_t bytes) noexcept;

/// Tries both on the board of a peer's; its `pid` as seen here, 0: not seen.
bool reachesProcess(int pid, const Board &board) noexcept;

} // namespace coll

#endif // COLL_RUNTIME_CORE_REMOTEMEMORY_H
