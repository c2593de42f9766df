//===- StreamTrials.h - Stores as launches show them best -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_STREAMTRIALS_H
#define COLL_RUNTIME_CORE_STREAMTRIALS_H

#include "runtime/core/Clock.h"

#include <array>
#include <cstdint>

namespace coll {

/// Whether a member's launches store past the caches into bulk slots, by the
/// size of their messages. Each rank's own affair, but all begin a trial at the
/// same launches, whatever the former ones have shown.
class StreamTrials {
public:
  using Clock = uint64_t (*)(); ///< ns
  /// Starts with what the probe of init has found.
  explicit StreamTrials(bool prior, Clock clock = monotonicNs);

  /// How the next launch, whose largest message has so many bytes, is to store.
  bool begin(uint64_t messageBytes);
  /// Behind that launch.
  void end() {
    if (current->step != 0)
      endStep();
  }

  /// Launches from the begin of one trial to that of the next.
  static uint32_t periodOf(uint64_t messageBytes);
  /// A trial is runs of so many launches with the same stores: as now, the
  /// other way, and both once more.
  static uint32_t runOf(uint64_t messageBytes);
  static constexpr uint32_t numRuns = 4;

private:
  /// Messages of one order of magnitude.
  struct Kind {
    bool streams = false;
    bool isDoubted = false;       ///< by one trial; another has to agree
    uint32_t run = 1, period = 1; ///< in launches
    uint32_t phase = 0;           ///< launches since this period began
    uint32_t step = 0;     ///< launches of the trial begun; 0: there is none
    uint64_t spent = 0;    ///< ns, in this run
    uint64_t best[2] = {}; ///< ns of a run: as now, the other way
  };
  /// The second half of a run is.
  static bool isTimed(const Kind &kind) {
    return kind.step % kind.run >= kind.run / 2;
  }
  void endStep();
  void finish(Kind &kind);

  static constexpr uint32_t numKinds = 40;
  std::array<Kind, numKinds> kinds;
  Kind *current = kinds.data();
  uint64_t start = 0; ///< of a launch that is timed
  const Clock clock;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_STREAMTRIALS_H
