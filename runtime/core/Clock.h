//===- Clock.h - Monotonic time and deadlines -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All times of the runtime are nanoseconds of CLOCK_MONOTONIC, which is one
// clock for all processes of a host, so times of peers can be compared.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_CLOCK_H
#define COLL_RUNTIME_CORE_CLOCK_H

#include <cstdint>
#include <time.h>

namespace coll {

inline uint64_t monotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}

/// The same clock as of its last tick, some milliseconds ago: for what every
/// launch writes down, since it costs a tenth.
inline uint64_t coarseNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}

/// A point in time that a wait must not outlive.  UINT64_MAX: none.
class Deadline {
public:
  static Deadline never() { return Deadline(UINT64_MAX); }
  static Deadline at(uint64_t ns) { return Deadline(ns); }
  /// UINT64_MAX, and whatever would overflow, means never.
  static Deadline after(uint64_t ns) {
    uint64_t now = monotonicNs();
    return Deadline(ns > UINT64_MAX - now ? UINT64_MAX : now + ns);
  }

  /// The same with so much more time.
  Deadline later(uint64_t ns) const {
    return Deadline(ns > UINT64_MAX - atNs ? UINT64_MAX : atNs + ns);
  }

  bool isNever() const { return atNs == UINT64_MAX; }
  bool hasPassed() const { return !isNever() && monotonicNs() >= atNs; }
  uint64_t ns() const { return atNs; }
  /// What is left, for poll(2): rounded up, at most `capMs`, never negative.
  int pollMs(int capMs) const {
    if (isNever())
      return capMs;
    uint64_t now = monotonicNs();
    if (now >= atNs)
      return 0;
    uint64_t ms = (atNs - now + 999'999) / 1'000'000;
    return ms < uint64_t(capMs) ? int(ms) : capMs;
  }

private:
  explicit Deadline(uint64_t ns) : atNs(ns) {}
  uint64_t atNs;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_CLOCK_H
