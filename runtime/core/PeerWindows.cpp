//===- PeerWindows.cpp - Peers' memory, mapped here -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/PeerWindows.h"
#include "runtime/core/Wire.h"

#include <cerrno>
#include <sys/stat.h>

namespace coll {

PeerWindows::PeerWindows(int nranks)
    : nranks(size_t(nranks)),
      entries(new coll_window[COLL_MAX_WINDOWS * size_t(nranks)]()) {}

Status PeerWindows::add(int peer, uint64_t window, Message message) {
  WireReader reader(message.bytes);
  uint64_t bytes = reader.read<uint64_t>();
  if (!reader.finish() || message.fds.size() != 1 || window == 0 ||
      window >= COLL_MAX_WINDOWS || bytes == 0 ||
      bytes != roundToPages(bytes) || mappings.count({peer, window}))
    return Status::error(COLL_SYSTEM, "rank %d offers no window", peer);
  struct stat info;
  if (fstat(message.fds[0].get(), &info) != 0 || info.st_size < 0 ||
      roundToPages(size_t(info.st_size)) < bytes)
    return Status::error(COLL_SYSTEM, "the file is shorter than %llu bytes",
                         (unsigned long long)bytes);
  MappedMemory &mapping = mappings[{peer, window}];
  Status status = MappedMemory::map(message.fds[0], 0, bytes,
                                    MappedMemory::ReadWrite, mapping);
  if (!status.isOk()) {
    mappings.erase({peer, window});
    return status;
  }
  // Kernels look here only after the peer has had the answer to this.
  coll_window &to = entry(peer, window);
  __atomic_store_n(&to.bytes, bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&to.base, reinterpret_cast<uint64_t>(mapping.get()),
                   __ATOMIC_RELEASE);
  return Status::ok();
}

void PeerWindows::addOwnProcess(int peer) {
  entry(peer, 0).bytes = kAddressEnd;
}

void PeerWindows::drop(int peer, uint64_t window) noexcept {
  auto found = mappings.find({peer, window});
  if (found == mappings.end())
    return;
  coll_window &from = entry(peer, window);
  __atomic_store_n(&from.base, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&from.bytes, 0, __ATOMIC_RELAXED);
  mappings.erase(found);
}

} // namespace coll
