//===- Versioned.h - A value that one writes and many read ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence lock.  The writer makes the version odd, stores the words, makes
// it even again; a reader that sees an odd version, or another one afterwards,
// has read a mixture and tries again, a bounded number of times, since the
// writer may have died in between.
//
// Every access is atomic, with the order on the words themselves in place of
// fences: a reader that sees any word of a later write sees (acquire, release)
// the odd version stored before it, so its second look at the version differs.
// On x86-64 all of these are plain moves.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_VERSIONED_H
#define COLL_RUNTIME_CORE_VERSIONED_H

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace coll {

template <typename T> class Versioned {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 8 == 0);
  static constexpr size_t numWords = sizeof(T) / 8;
  static constexpr int maxTries = 64;

public:
  /// One writer at a time.
  void write(const T &value) { writeStart<sizeof(T)>(value); }

  /// Its first bytes alone; the rest stays as it is.
  template <size_t Bytes> void writeStart(const T &value) {
    static_assert(Bytes % 8 == 0 && Bytes <= sizeof(T));
    uint64_t image[Bytes / 8];
    std::memcpy(image, &value, Bytes);
    uint64_t now = version.load(std::memory_order_relaxed);
    version.store(now + 1, std::memory_order_relaxed);
    for (size_t i = 0; i != Bytes / 8; ++i)
      words[i].store(image[i], std::memory_order_release);
    version.store(now + 2, std::memory_order_release);
  }

  /// False when every try met a write: the writer is very busy, or dead.
  bool read(T &value) const {
    uint64_t image[numWords];
    for (int tries = 0; tries != maxTries; ++tries) {
      uint64_t before = version.load(std::memory_order_acquire);
      for (size_t i = 0; i != numWords; ++i)
        image[i] = words[i].load(std::memory_order_acquire);
      if (before % 2 == 0 &&
          version.load(std::memory_order_relaxed) == before) {
        std::memcpy(&value, image, sizeof value);
        return true;
      }
    }
    return false;
  }

private:
  std::atomic<uint64_t> version;
  std::atomic<uint64_t> words[numWords];
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_VERSIONED_H
