//===- UserMemory.h - Memory that peers can reach ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What coll_mem_alloc and coll_register keep. Memory with a descriptor becomes
// a window: the descriptor goes to every peer, whose monitor maps it and
// answers (PeerWindows.h); no thread of the peer's application takes part. A
// window counts only when all peers have mapped it; else, and without a
// descriptor, the memory is used as any other.
//
// Launches ask for windows by address. They remember the answer as long as
// `changes()` stays what it was.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_USERMEMORY_H
#define COLL_RUNTIME_CORE_USERMEMORY_H

#include "coll/abi.h"
#include "runtime/core/Memory.h"

#include <bitset>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace coll {

class Communicator;

class UserMemory {
public:
  explicit UserMemory(Communicator &comm) : comm(comm) {}

  /// Zeroed, page-aligned sealed memory, on huge pages if there are any.
  Status allocate(size_t bytes, void **result);
  Status free(void *ptr);
  /// Checks that the range is mapped and, unless `fd` is -1, that it maps that
  /// file from its start, shared.
  Status add(void *ptr, size_t bytes, int fd);
  Status remove(void *ptr);

  /// coll_buf.win of a buffer; 0: it lies in no window. The communicator's
  /// thread only, as all above.
  uint64_t find(uint64_t begin, uint64_t end) const;
  /// The same of memory in no window, where peers reach that as well.
  uint64_t findInProcess(uint64_t begin, uint64_t end) const;
  /// The shortest message for which findInProcess() is worth asking, in bytes.
  uint64_t leastInProcess() const;
  /// Whether what is computed with comes faster through slots than from there.
  bool isSlowToReduce() const;
  uint64_t changes() const { return numChanges; }

  /// Makes a window of memory that lies anywhere: peers get the words of the
  /// offer and the descriptor.  `window` is 0 where not all of them can map it,
  /// which is no error.
  Status share(void *ptr, size_t bytes, std::span<const std::byte> offered,
               int fd, uint32_t &window);
  void withdraw(uint32_t window) noexcept;

private:
  struct Registration {
    size_t bytes = 0;
    uint32_t window = 0; ///< 0: none
  };
  struct Allocation {
    MappedMemory mapping;
    uint32_t window = 0;
  };
  struct Window {
    uint64_t begin, end;
    uint32_t number;
  };

  Status share(void *ptr, size_t bytes, int fd, uint32_t &window);
  Status offer(uint32_t window, std::span<const std::byte> offered, int fd,
               bool &isMapped);
  void unlist(uint32_t window) noexcept;

  Communicator &comm;
  std::mutex mutex;
  std::map<void *, Allocation> allocations;
  std::map<void *, Registration> registrations;
  std::vector<Window> windows; ///< those that count
  std::bitset<COLL_MAX_WINDOWS> numbers;
  uint64_t numChanges = 1;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_USERMEMORY_H
