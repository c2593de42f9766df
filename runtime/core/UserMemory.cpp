//===- UserMemory.cpp - Memory that peers can reach -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/UserMemory.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/stat.h>

namespace coll {

Status UserMemory::allocate(size_t bytes, void **result) {
  *result = nullptr;
  if (bytes == 0)
    return Status::error(COLL_INVALID, "coll_mem_alloc of 0 bytes");
  if (bytes > PTRDIFF_MAX - pageBytes())
    return Status::error(COLL_NO_MEMORY, "coll_mem_alloc of %zu bytes", bytes);
  UniqueFd fd;
  COLL_TRY(createSealedMemory("coll-user", bytes, fd));
  MappedMemory mapping;
  COLL_TRY(MappedMemory::map(fd, 0, roundToPages(bytes),
                             MappedMemory::ReadWrite, mapping));
  std::lock_guard lock(mutex);
  void *base = mapping.get();
  allocations[base] = std::move(mapping);
  *result = base;
  return Status::ok();
}

Status UserMemory::free(void *ptr) {
  if (!ptr)
    return Status::ok();
  std::lock_guard lock(mutex);
  if (allocations.erase(ptr) == 0)
    return Status::error(COLL_INVALID,
                         "%p is not from coll_mem_alloc on this communicator",
                         ptr);
  return Status::ok();
}

Status UserMemory::add(void *ptr, size_t bytes, int fd) {
  if (!ptr || bytes == 0 || bytes > UINTPTR_MAX - uintptr_t(ptr))
    return Status::error(COLL_INVALID,
                         "coll_register of %zu bytes at %p is no range", bytes,
                         ptr);
  uintptr_t begin = uintptr_t(ptr) / pageBytes() * pageBytes();
  size_t length = roundToPages(uintptr_t(ptr) + bytes - begin);
  // MS_ASYNC does nothing but fail with ENOMEM where nothing is mapped.
  if (msync(reinterpret_cast<void *>(begin), length, MS_ASYNC) != 0)
    return Status::error(COLL_INVALID,
                         "coll_register: not all of %zu bytes at %p is mapped",
                         bytes, ptr);
  struct stat info;
  if (fd >= 0 && fstat(fd, &info) != 0)
    return Status::error(COLL_INVALID, "coll_register: descriptor %d is closed",
                         fd);
  if (fd >= 0 && uint64_t(info.st_size) < bytes)
    return Status::error(COLL_INVALID,
                         "coll_register: descriptor %d has %lld bytes, not %zu",
                         fd, (long long)info.st_size, bytes);
  std::lock_guard lock(mutex);
  if (!registrations.emplace(ptr, bytes).second)
    return Status::error(COLL_INVALID, "%p is registered already", ptr);
  return Status::ok();
}

Status UserMemory::remove(void *ptr) {
  std::lock_guard lock(mutex);
  if (registrations.erase(ptr) == 0)
    return Status::error(COLL_INVALID,
                         "%p is not registered on this communicator", ptr);
  return Status::ok();
}

} // namespace coll
