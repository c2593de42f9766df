//===- Clock.h - What a thread knows of the others --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks, as immutable arrays that threads share: after a barrier all
// threads of a block point to one. A thread's own time stands beside it. A
// release publishes time t and then moves to t + 1, so whoever knows (slot, t)
// knows all that was published with it: most joins end at one comparison.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_EMULATOR_CLOCK_H
#define COLL_TEST_EMULATOR_CLOCK_H

#include <cstdint>
#include <memory>
#include <vector>

namespace coll::emu {

struct Times {
  std::vector<uint32_t> known; // by slot
  /// Up to where there is an alias fence on the way from what was done then to
  /// here: so it is done at all addresses of its memory. Empty without fences.
  std::vector<uint32_t> linked;
};
using Clock = std::shared_ptr<const Times>;

inline bool knows(const Clock &clock, uint32_t slot, uint32_t time) {
  return clock && slot < clock->known.size() && clock->known[slot] >= time;
}
inline bool isLinked(const Clock &clock, uint32_t slot, uint32_t time) {
  return clock && slot < clock->linked.size() && clock->linked[slot] >= time;
}

inline void raise(std::vector<uint32_t> &into,
                  const std::vector<uint32_t> &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0, e = from.size(); i < e; ++i)
    into[i] = into[i] > from[i] ? into[i] : from[i];
}
inline void raise(std::vector<uint32_t> &into, uint32_t slot, uint32_t time) {
  if (into.size() <= slot)
    into.resize(slot + 1);
  if (into[slot] < time)
    into[slot] = time;
}

/// `into` = maximum of both.
inline void raise(Times &into, const Clock &clock) {
  if (!clock)
    return;
  raise(into.known, clock->known);
  raise(into.linked, clock->linked);
}
inline void raise(Times &into, uint32_t slot, uint32_t time) {
  raise(into.known, slot, time);
}

/// What an alias fence does.
inline void link(Times &times) { raise(times.linked, times.known); }

/// What a release publishes: all that its thread knew, and the thread's time.
struct Released {
  Clock base;
  uint32_t slot = 0, time = 0; // time 0: nothing
};

/// Adds what was published to what is known.
inline void acquire(Clock &known, const Released &released) {
  if (!released.time || knows(known, released.slot, released.time))
    return;
  auto joined =
      known ? std::make_shared<Times>(*known) : std::make_shared<Times>();
  if (released.base != known)
    raise(*joined, released.base);
  raise(*joined, released.slot, released.time);
  known = std::move(joined);
}
inline void acquire(Clock &known, const Clock &other) {
  if (!other || other == known)
    return;
  if (!known) {
    known = other;
    return;
  }
  auto joined = std::make_shared<Times>(*known);
  raise(*joined, other);
  known = std::move(joined);
}

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_CLOCK_H
