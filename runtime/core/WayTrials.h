//===- WayTrials.h - How launches move data best ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_WAYTRIALS_H
#define COLL_RUNTIME_CORE_WAYTRIALS_H

#include "runtime/core/Clock.h"

#include <array>
#include <cstdint>

namespace coll {

/// How a rank has its part of a launch done.
struct Way {
  bool streams = false;  ///< bulk slots are stored to past the caches
  bool byKernel = false; ///< memory in no window is offered to peers
  bool operator==(const Way &) const = default;
};

/// What may differ from launch to launch.
struct WayRules {
  Way first = {}; ///< as the probes of init have found
  bool triesStreams = false;
  /// Of launches whose largest message has so many bytes or more.
  uint64_t leastByKernel = UINT64_MAX;
  bool triesAny() const { return triesStreams || leastByKernel != UINT64_MAX; }
};

/// Which way a member's launches take, by the size of their messages. Each
/// rank's own affair, but all ranks run the same ways at the same launches when
/// they compare them, whatever former trials have shown.
class WayTrials {
public:
  using Clock = uint64_t (*)(); ///< ns
  explicit WayTrials(const WayRules &rules, Clock clock = monotonicNs);

  /// How the next launch, whose largest message has so many bytes, is to run.
  Way begin(uint64_t messageBytes);
  /// Behind that launch.
  void end() {
    if (current->step != 0)
      endStep();
  }

  /// Launches from the begin of one trial to that of the next.
  static uint32_t periodOf(uint64_t messageBytes);
  /// A trial is runs of so many launches the same way: every way in turn, and
  /// all of them once more.
  static uint32_t runOf(uint64_t messageBytes);
  static constexpr uint32_t maxWays = 3;

private:
  /// Messages of one order of magnitude.
  struct Kind {
    Way ways[maxWays];
    uint8_t numWays = 0;
    uint8_t taken = 0;            ///< of ways
    uint8_t doubt = 0;            ///< one trial says so; another has to agree
    uint32_t run = 1, period = 1; ///< in launches
    uint32_t phase = 0;           ///< launches since this period began
    uint32_t step = 0;      ///< launches of the trial begun; 0: there is none
    uint64_t spent = 0;     ///< ns, in this run
    uint64_t best[maxWays]; ///< ns of a run
    uint32_t trial() const { return 2 * numWays * run; }
  };
  void setWays(Kind &kind, const WayRules &rules, uint64_t messageBytes);
  /// The second half of a run is.
  static bool isTimed(const Kind &kind) {
    return kind.step % kind.run >= kind.run / 2;
  }
  static bool isFarWorse(const Kind &kind, uint32_t way);
  void endStep();
  void finish(Kind &kind);

  static constexpr uint32_t numKinds = 40;
  std::array<Kind, numKinds> kinds;
  Kind *current = kinds.data();
  uint64_t start = 0; ///< of a launch that is timed
  const Clock clock;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_WAYTRIALS_H
