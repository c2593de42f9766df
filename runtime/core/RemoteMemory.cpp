//===- RemoteMemory.cpp - Memory of another process -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/RemoteMemory.h"

#include <cerrno>
#include <sys/uio.h>

namespace coll {

/// Both calls stop early where a page is missing, and say so when they are to
/// begin there.
template <typename Call>
static int moveAll(const Call &call, int pid, uint64_t remote, char *local,
                   size_t bytes) noexcept {
  for (size_t done = 0; done != bytes;) {
    iovec here = {local + done, bytes - done};
    iovec there = {reinterpret_cast<void *>(remote + done), bytes - done};
    ssize_t moved = call(pid_t(pid), &here, 1ul, &there, 1ul, 0ul);
    if (moved > 0)
      done += size_t(moved);
    else if (moved == 0)
      return EFAULT;
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

int readRemote(int pid, uint64_t from, void *to, size_t bytes) noexcept {
  return moveAll(process_vm_readv, pid, from, static_cast<char *>(to), bytes);
}

int writeRemote(int pid, uint64_t to, const void *from, size_t bytes) noexcept {
  return moveAll(process_vm_writev, pid, to,
                 static_cast<char *>(const_cast<void *>(from)), bytes);
}

bool reachesProcess(int pid, const Board &board) noexcept {
  if (pid <= 0)
    return false;
  const Board::Probe probe = board.probe();
  uint64_t value = 0;
  return readRemote(pid, probe.address, &value, sizeof value) == 0 &&
         value == probe.value &&
         writeRemote(pid, probe.address + sizeof value, &value, sizeof value) ==
             0;
}

} // namespace coll
