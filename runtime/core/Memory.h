//===- Memory.h - File descriptors, mappings, sealed memory -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that ranks share is a memfd: it has no name in any file system, so
// nothing is left behind whatever happens, and it lives while anyone maps it,
// so a peer's late store cannot fault.  It is allocated in full first (else a
// full file system is a SIGBUS at some store) and then sealed against shrinking
// and growing (else a peer's ftruncate is one).  Mappings are kept out of
// forked children.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_MEMORY_H
#define COLL_RUNTIME_CORE_MEMORY_H

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace coll {

/// Owns a file descriptor.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept {
    reset(std::exchange(other.fd, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd; }
  bool isValid() const { return fd >= 0; }
  int release() { return std::exchange(fd, -1); }
  void reset(int newFd = -1);

private:
  int fd = -1;
};

/// Owns a mapping.
class MappedMemory {
public:
  MappedMemory() = default;
  MappedMemory(MappedMemory &&other) noexcept
      : base(std::exchange(other.base, nullptr)),
        bytes(std::exchange(other.bytes, 0)) {}
  MappedMemory &operator=(MappedMemory &&other) noexcept {
    reset();
    base = std::exchange(other.base, nullptr);
    bytes = std::exchange(other.bytes, 0);
    return *this;
  }
  ~MappedMemory() { reset(); }

  void *get() const { return base; }
  size_t size() const { return bytes; }
  explicit operator bool() const { return base != nullptr; }
  void reset();

  enum Access { ReadOnly, ReadWrite };
  /// Maps `bytes` of `fd` from `offset` (a multiple of the page size), shared,
  /// with all pages present, and not inherited by forked children; so that huge
  /// pages of the file can be mapped as such.
  static Status map(const UniqueFd &fd, size_t offset, size_t bytes,
                    Access access, MappedMemory &result);

private:
  void *base = nullptr;
  size_t bytes = 0;
};

/// The page size of this machine.
size_t pageBytes();
/// `bytes` rounded up to whole pages.
size_t roundToPages(size_t bytes);

/// A zeroed, fully allocated memfd of `bytes` (rounded up to whole pages),
/// sealed against shrinking, growing and further sealing.
/// COLL_NO_MEMORY when there is not that much, COLL_SYSTEM otherwise.
Status createSealedMemory(const char *name, size_t bytes, UniqueFd &result);

/// What has huge pages is not smaller than one of them.
inline constexpr size_t kHugeBytes = size_t(2) << 20;

/// Gathers the pages of such a memfd, whose length is a multiple of kHugeBytes,
/// into huge ones, also where shared memory gets none by itself. False: not all
/// of them; what they hold is the same in any case. Before anyone maps it.
bool gatherHugePages(const UniqueFd &fd, size_t bytes) noexcept;

/// Checks a descriptor that came from a peer: a memfd of at least `bytes`
/// bytes, sealed against shrinking.  Call before mapping it.
Status checkSealedMemory(const UniqueFd &fd, size_t bytes);

} // namespace coll

#endif // COLL_RUNTIME_CORE_MEMORY_H
