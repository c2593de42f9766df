//===- UserMemory.h - Memory that peers can reach ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What coll_mem_alloc and coll_register keep.  Both are local: they promise
// only that a plan *may* reach the memory directly, so ranks may differ, and
// plans that stage through rings, as all do yet, ignore them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_USERMEMORY_H
#define COLL_RUNTIME_CORE_USERMEMORY_H

#include "runtime/core/Memory.h"

#include <map>
#include <mutex>

namespace coll {

class UserMemory {
public:
  /// Zeroed, page-aligned sealed memory.
  Status allocate(size_t bytes, void **result);
  Status free(void *ptr);
  /// Checks that the range is mapped, and `fd` (unless -1) a file of at least
  /// its size.
  Status add(void *ptr, size_t bytes, int fd);
  Status remove(void *ptr);

private:
  std::mutex mutex;
  std::map<void *, MappedMemory> allocations;
  std::map<void *, size_t> registrations;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_USERMEMORY_H
