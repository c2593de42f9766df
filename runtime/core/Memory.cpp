//===- Memory.cpp - File descriptors, mappings, sealed memory -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Memory.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

// Since Linux 6.1.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace coll {

void UniqueFd::reset(int newFd) {
  // The descriptor is gone even when close reports EINTR, so no retry.
  if (fd >= 0)
    close(fd);
  fd = newFd;
}

void MappedMemory::reset() {
  if (base)
    munmap(base, bytes);
  base = nullptr;
  bytes = 0;
}

/// As mmap does, but at an address where huge pages can be mapped as such,
/// which it chooses by itself only where shared memory is to have them.
static void *mapAligned(int fd, size_t offset, size_t bytes, int protection,
                        int flags) {
  const size_t length = roundToPages(bytes);
  void *room = MAP_FAILED;
  if (bytes >= kHugeBytes && length <= PTRDIFF_MAX)
    room = mmap(nullptr, length + kHugeBytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return mmap(nullptr, bytes, protection, flags, fd, off_t(offset));
  char *begin = static_cast<char *>(room);
  const size_t before = (offset - uint64_t(begin)) % kHugeBytes;
  void *base = mmap(begin + before, bytes, protection, flags | MAP_FIXED, fd,
                    off_t(offset));
  if (base == MAP_FAILED) {
    const int error = errno;
    munmap(begin, length + kHugeBytes);
    errno = error;
    return base;
  }
  if (before != 0)
    munmap(begin, before);
  munmap(begin + before + length, kHugeBytes - before);
  return base;
}

Status MappedMemory::map(const UniqueFd &fd, size_t offset, size_t bytes,
                         Access access, MappedMemory &result) {
  int protection = access == ReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void *base = mapAligned(fd.get(), offset, bytes, protection,
                          MAP_SHARED | MAP_POPULATE);
  if (base == MAP_FAILED)
    return Status::system(errno, "cannot map %zu bytes of shared memory",
                          bytes);
  MappedMemory mapping;
  mapping.base = base;
  mapping.bytes = bytes;
  // A forked child that ran a kernel on its parent's rings would corrupt them.
  if (madvise(base, bytes, MADV_DONTFORK) != 0)
    return Status::system(errno, "cannot keep shared memory from children");
  result = std::move(mapping);
  return Status::ok();
}

size_t pageBytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t roundToPages(size_t bytes) {
  return (bytes + pageBytes() - 1) / pageBytes() * pageBytes();
}

Status createSealedMemory(const char *name, size_t bytes, UniqueFd &result) {
  bytes = roundToPages(bytes);
  // A memfd knows no limit: without this, fallocate would go on until the
  // kernel kills processes.
  struct sysinfo machine;
  if (sysinfo(&machine) == 0 &&
      bytes / machine.mem_unit > machine.totalram + machine.totalswap)
    return Status::error(COLL_NO_MEMORY,
                         "'%s' of %zu bytes is more than this machine has",
                         name, bytes);
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.isValid())
    return Status::system(errno, "cannot create shared memory '%s'", name);
  if (ftruncate(fd.get(), off_t(bytes)) != 0)
    return Status::system(errno, "cannot size shared memory '%s' to %zu bytes",
                          name, bytes);
  int failure;
  do // tmpfs gives up with EINTR when a signal arrives while it allocates
    failure = fallocate(fd.get(), 0, 0, off_t(bytes)) == 0 ? 0 : errno;
  while (failure == EINTR);
  if (failure != 0)
    return Status::system(failure, "cannot allocate %zu bytes for '%s'", bytes,
                          name);
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0)
    return Status::system(errno, "cannot seal shared memory '%s'", name);
  result = std::move(fd);
  return Status::ok();
}

/// The kernel copies small pages together when it is told to, whatever
/// transparent_hugepage/shmem_enabled says of those that it chooses itself.
bool gatherHugePages(const UniqueFd &fd, size_t bytes) noexcept {
  void *base =
      mapAligned(fd.get(), 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (base == MAP_FAILED)
    return false;
  bool isAll = madvise(base, bytes, MADV_COLLAPSE) == 0;
  munmap(base, bytes);
  return isAll;
}

Status checkSealedMemory(const UniqueFd &fd, size_t bytes) {
  int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return Status::error(COLL_SYSTEM,
                         "a peer's shared memory is not sealed against "
                         "shrinking");
  struct stat info;
  if (fstat(fd.get(), &info) != 0)
    return Status::system(errno, "cannot examine a peer's shared memory");
  if (uint64_t(info.st_size) < bytes)
    return Status::error(COLL_SYSTEM,
                         "a peer's shared memory has %lld bytes, not %zu",
                         (long long)info.st_size, bytes);
  return Status::ok();
}

} // namespace coll
