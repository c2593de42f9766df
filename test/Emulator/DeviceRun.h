//===- DeviceRun.h - A plan on the emulator ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_DEVICERUN_H
#define COLL_TEST_EMULATOR_DEVICERUN_H

#include "PlanRun.h"

namespace coll::emu {

class DeviceRun {
public:
  DeviceRun(const PlanCall &call, Options options);
  std::string go(const std::string &code,
                 const std::vector<std::string> &expected);
  void count(RunCounts &counts) const {
    layout.countMessages(counts);
    counts.doesAll &= doesAll;
  }
  Machine machine;
  std::set<std::string> launched; // kernels

private:
  /// How often the host looks, in steps.
  static constexpr uint64_t kLook = 512;

  Options watched(Options options);
  void launchAll(unsigned launch);
  void useBuffers();
  void shareNotes(unsigned launch, bool isBehind);
  void abort();
  uint64_t look(uint64_t steps);
  bool onIdle();
  bool areOthersDone() const;
  bool hasResult();
  std::string checkPositions();
  bool tellsLaunch(uint32_t rank, uint32_t block) const;
  bool tellsSignatures(uint32_t rank, const coll_block &line) const;
  void hideWindows(coll_args &args);
  std::string checkEnd();
  std::string checkChannels();
  std::string checkOutputs(const std::string &before,
                           const std::string &after) const;
  coll_block *lines(uint32_t rank) const {
    return reinterpret_cast<coll_block *>(layout.ranks[rank].inst->blocks);
  }
  bool stops() const {
    return isToAbort() || call.trouble == Trouble::Deadline;
  }
  bool isToAbort() const {
    return call.trouble == Trouble::Abort || call.trouble == Trouble::Gone;
  }
  /// Whether the rank stops for good.
  bool isGone(uint32_t rank) const {
    return call.trouble == Trouble::Gone && rank == stopped;
  }

  const PlanCall &call;
  const DeviceKernels kernels;
  const Module *module = nullptr, *application = nullptr;
  PlanLayout layout;
  std::vector<LaunchId> last; // by rank
  std::vector<char *> notes;  // by rank
  std::string error, seen;    // seen: what the host found wrong meanwhile
  uint64_t seed, stopAt = ~uint64_t(0);
  uint32_t stopped = ~0u;    // a rank
  uint32_t signature = 0;    // of rank 1, in the last launch
  bool hidesWindows = false; // some buffer of rank 0, in the last launch
  unsigned idleCalls = 0, begun = 0; // begun: launches
  bool isAborted = false, isReady = false, doesAll = true;
  bool isMissed = false; // the rank that stops, by others
};

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_DEVICERUN_H
