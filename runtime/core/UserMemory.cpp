//===- UserMemory.cpp - Memory that peers can reach -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/UserMemory.h"
#include "runtime/core/Communicator.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26)
#endif

namespace coll {

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Offers the memory to all peers; `isMapped`: all of them have it.
Status UserMemory::offer(uint32_t window, std::span<const std::byte> offered,
                         int fd, bool &isMapped) {
  Deadline deadline = comm.deadline();
  isMapped = true;
  for (int peer = 0; peer != comm.size(); ++peer)
    if (peer != comm.rank())
      COLL_TRY(comm.control().send(peer, kWindowOfferKind, window, offered,
                                   {&fd, size_t(fd >= 0 ? 1 : 0)}, deadline));
  for (int peer = 0; peer != comm.size(); ++peer) {
    if (peer == comm.rank())
      continue;
    Message answer;
    COLL_TRY(comm.control().receive(peer, kWindowAnswerKind, window, deadline,
                                    answer));
    isMapped &= answer.bytes.size() == 1 && answer.bytes[0] == std::byte{1};
  }
  return Status::ok();
}

/// The same of memory of the host, as PeerWindows takes it.
Status UserMemory::share(void *ptr, size_t bytes, int fd, uint32_t &window) {
  WireWriter writer;
  writer.write<uint64_t>(bytes);
  return share(ptr, bytes, writer.bytes(), fd, window);
}

Status UserMemory::share(void *ptr, size_t bytes,
                         std::span<const std::byte> offered, int fd,
                         uint32_t &window) {
  window = 0;
  if (comm.size() == 1 || comm.isAborted())
    return Status::ok();
  uint32_t number = 1;
  while (number != COLL_MAX_WINDOWS && numbers[number])
    ++number;
  if (number == COLL_MAX_WINDOWS) {
    comm.info("%p is one window more than %u: peers do not reach it", ptr,
              COLL_MAX_WINDOWS - 1);
    return Status::ok();
  }
  windows.reserve(windows.size() + 1);
  // What a peer has mapped must be withdrawn, whatever happens from here on.
  numbers[number] = true;
  bool isMapped = false;
  Status status =
      catchNoMemory([&] { return offer(number, offered, fd, isMapped); });
  if (status.isOk() && isMapped) {
    windows.push_back({uint64_t(ptr), uint64_t(ptr) + bytes, number});
    ++numChanges;
    window = number;
    return Status::ok();
  }
  withdraw(number);
  // A peer that has left, or is about to, needs no window.
  return status.isOk() || status.code() == COLL_PEER_LOST
             ? Status::ok()
             : comm.endWith(std::move(status).withContext("sharing memory"));
}

/// Launches no longer find it.
void UserMemory::unlist(uint32_t window) noexcept {
  std::erase_if(windows, [&](const Window &w) { return w.number == window; });
  ++numChanges;
}

/// Peers unmap it when they get to it: nothing of theirs is under way.
void UserMemory::withdraw(uint32_t window) noexcept {
  if (window == 0)
    return;
  unlist(window);
  numbers[window] = false;
  if (comm.isAborted())
    return;
  Deadline deadline = comm.deadline();
  for (int peer = 0; peer != comm.size(); ++peer) {
    if (peer == comm.rank())
      continue;
    Status sent = catchNoMemory([&] {
      return comm.control().send(peer, kWindowDropKind, window, {}, {},
                                 deadline);
    });
    if (!sent.isOk() && sent.code() != COLL_PEER_LOST)
      (void)comm.endWith(std::move(sent).withContext("withdrawing memory"));
  }
}

uint64_t UserMemory::find(uint64_t begin, uint64_t end) const {
  for (const Window &window : windows)
    if (begin >= window.begin && end <= window.end)
      return uint64_t(window.number) << 48 | (begin - window.begin);
  return 0;
}

uint64_t UserMemory::findInProcess(uint64_t begin, uint64_t end) const {
  return comm.isReached() && end <= kAddressEnd ? begin : 0;
}

/// A copy by loads and stores pays early. One by the kernel takes a call and
/// looks up pages; where both ranks move at a time it took 0.9 of what slots
/// take for messages of 32 KiB, 0.6 for 64 KiB, and 1.0 to 1.4 where one waits
/// for the other, whose message then better comes in two halves.
uint64_t UserMemory::leastInProcess() const {
  constexpr uint64_t least = 16 << 10, leastByKernel = 32 << 10;
  return isSlowToReduce() ? leastByKernel : least;
}

bool UserMemory::isSlowToReduce() const {
  return !comm.isReachedByThreads() && !comm.environment().processMemory;
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

/// A memfd of huge pages that are there; invalid: there are none.
static UniqueFd createHugeMemory(size_t bytes) {
  UniqueFd fd(memfd_create("coll-user", MFD_CLOEXEC | MFD_ALLOW_SEALING |
                                            MFD_HUGETLB | MFD_HUGE_2MB));
  if (!fd.isValid() || ftruncate(fd.get(), off_t(bytes)) != 0 ||
      fallocate(fd.get(), 0, 0, off_t(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
          0)
    return UniqueFd();
  return fd;
}

Status UserMemory::allocate(size_t bytes, void **result) {
  *result = nullptr;
  if (bytes == 0)
    return Status::error(COLL_INVALID, "coll_mem_alloc of 0 bytes");
  if (bytes > PTRDIFF_MAX - kHugeBytes)
    return Status::error(COLL_NO_MEMORY, "coll_mem_alloc of %zu bytes", bytes);
  const bool isLarge = bytes >= kHugeBytes;
  const size_t length = isLarge
                            ? (bytes + kHugeBytes - 1) / kHugeBytes * kHugeBytes
                            : roundToPages(bytes);
  UniqueFd fd;
  if (isLarge)
    fd = createHugeMemory(length);
  bool isHuge = fd.isValid();
  if (!isHuge) {
    COLL_TRY(createSealedMemory("coll-user", length, fd));
    isHuge = isLarge && gatherHugePages(fd, length);
  }
  Allocation made;
  COLL_TRY(
      MappedMemory::map(fd, 0, length, MappedMemory::ReadWrite, made.mapping));
  void *base = made.mapping.get();
  std::lock_guard lock(mutex);
  auto [at, isNew] = allocations.emplace(base, std::move(made));
  Status status = share(base, length, fd.get(), at->second.window);
  if (!status.isOk()) {
    allocations.erase(at);
    return status;
  }
  comm.info("coll_mem_alloc of %zu bytes: %s pages, %s", bytes,
            isHuge ? "huge" : "small",
            at->second.window ? "within reach of all ranks"
                              : "not within reach of peers");
  *result = base;
  return Status::ok();
}

Status UserMemory::free(void *ptr) {
  if (!ptr)
    return Status::ok();
  std::lock_guard lock(mutex);
  auto at = allocations.find(ptr);
  if (at == allocations.end())
    return Status::error(COLL_INVALID,
                         "%p is not from coll_mem_alloc on this communicator",
                         ptr);
  withdraw(at->second.window);
  allocations.erase(at);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Memory of the application
//===----------------------------------------------------------------------===//

/// Is [begin, end) a shared, writable mapping of this file from its start?
static bool mapsFile(uint64_t begin, uint64_t end, const struct stat &file) {
  std::unique_ptr<FILE, int (*)(FILE *)> maps(fopen("/proc/self/maps", "re"),
                                              fclose);
  if (!maps)
    return false;
  char line[512];
  uint64_t covered = begin;
  bool isLineBegin = true;
  while (covered < end && fgets(line, sizeof line, maps.get())) {
    bool isWhole = isLineBegin; // paths may be longer than a line
    isLineBegin = std::string_view(line).ends_with('\n');
    uint64_t first, last, offset, inode;
    unsigned devMajor, devMinor;
    char access[5];
    if (!isWhole ||
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64,
               &first, &last, access, &offset, &devMajor, &devMinor,
               &inode) != 7 ||
        last <= covered)
      continue;
    bool isPart = first <= covered && access[0] == 'r' && access[1] == 'w' &&
                  access[3] == 's' && inode == file.st_ino &&
                  makedev(devMajor, devMinor) == file.st_dev &&
                  offset + (covered - first) == covered - begin;
    if (!isPart)
      return false;
    covered = last;
  }
  return covered >= end;
}

/// Can peers map the file as the application has?
static Status checkFile(void *ptr, size_t bytes, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return Status::error(COLL_INVALID, "coll_register: descriptor %d is closed",
                         fd);
  if (uint64_t(info.st_size) < bytes)
    return Status::error(COLL_INVALID,
                         "coll_register: descriptor %d has %lld bytes, not %zu",
                         fd, (long long)info.st_size, bytes);
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
    return Status::error(COLL_INVALID,
                         "coll_register: descriptor %d is not open for reading "
                         "and writing",
                         fd);
  if (!mapsFile(uint64_t(ptr), uint64_t(ptr) + bytes, info))
    return Status::error(COLL_INVALID,
                         "coll_register: %zu bytes at %p are not a writable "
                         "MAP_SHARED mapping of descriptor %d from its start",
                         bytes, ptr, fd);
  // A file that shrinks kills whoever touches the rest; not all can be sealed.
  (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
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
  if (fd < -1)
    return Status::error(COLL_INVALID, "coll_register: descriptor %d is none",
                         fd);
  if (fd >= 0)
    COLL_TRY(checkFile(ptr, bytes, fd));
  std::lock_guard lock(mutex);
  auto [at, isNew] = registrations.emplace(ptr, Registration{bytes});
  if (!isNew)
    return Status::error(COLL_INVALID, "%p is registered already", ptr);
  Status status = fd < 0
                      ? Status::ok()
                      : share(ptr, roundToPages(bytes), fd, at->second.window);
  if (!status.isOk())
    registrations.erase(at);
  return status;
}

Status UserMemory::remove(void *ptr) {
  std::lock_guard lock(mutex);
  auto at = registrations.find(ptr);
  if (at == registrations.end())
    return Status::error(COLL_INVALID,
                         "%p is not registered on this communicator", ptr);
  withdraw(at->second.window);
  registrations.erase(at);
  return Status::ok();
}

} // namespace coll
