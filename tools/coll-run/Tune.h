//===- Tune.h - Measuring the table of schedules ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_TUNE_H
#define COLL_TOOLS_COLL_RUN_TUNE_H

#include "tools/coll-run/Options.h"

#include <map>

namespace coll {

/// A schedule of standard.coll over slots of one kind.
struct TuneCandidate {
  std::string collective, schedule;
  bool isBulk = false;
};

/// Microseconds by bytes, of one candidate.
using TuneTimes = std::map<uint64_t, double>;

/// Lines of a table (runtime/core/Selection.h) for `ranks` ("3..6"): at each
/// size the fastest candidate, but no change for less than 10 %.
std::string tuneRules(const std::string &ranks,
                      const std::vector<TuneCandidate> &candidates,
                      const std::vector<TuneTimes> &times);

/// Measures and writes options.tuneFile. Returns the exit status.
int runTune(const RunOptions &options);

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_TUNE_H
