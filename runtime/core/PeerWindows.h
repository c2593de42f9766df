//===- PeerWindows.h - Peers' memory, mapped here ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window is memory of a peer that kernels of this rank load from and store
// to. The peer offers it under a number of its own choice, with a descriptor;
// the monitor maps it and answers. Who registers waits for the answers of all
// peers, so a number that stands in a launch is in the table.
//
// The peer withdraws a window between launches: its kernels leave only when all
// that was put to it or got from it is done. Where a launch has failed that is
// not so, and mappings stay until the communicator goes.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_PEERWINDOWS_H
#define COLL_RUNTIME_CORE_PEERWINDOWS_H

#include "coll/abi.h"
#include "runtime/core/Control.h"

#include <map>
#include <memory>

namespace coll {

/// Addresses that fit beside a window's number.
inline constexpr uint64_t kAddressEnd = uint64_t(1) << 48;

class PeerWindows {
public:
  explicit PeerWindows(int nranks);

  /// The monitor's: maps what a peer offers. The message (u64 bytes, and the
  /// descriptor) is checked.
  Status add(int peer, uint64_t window, Message message);
  /// Unknown windows are ignored: one that could not be mapped is withdrawn,
  /// too.
  void drop(int peer, uint64_t window) noexcept;

  /// The peer's whole process is this one.
  void addOwnProcess(int peer);
  bool hasOwnProcess(int peer) const {
    return entries[size_t(peer)].bytes != 0; // of window 0
  }

  /// What coll_inst.wins points to.
  const coll_window *table() const { return entries.get(); }

private:
  coll_window &entry(int peer, uint64_t window) {
    return entries[window * nranks + size_t(peer)];
  }

  size_t nranks;
  std::unique_ptr<coll_window[]> entries;
  std::map<std::pair<int, uint64_t>, MappedMemory> mappings;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_PEERWINDOWS_H
