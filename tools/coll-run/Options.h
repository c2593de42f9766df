//===- Options.h - The command line of coll-run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_OPTIONS_H
#define COLL_TOOLS_COLL_RUN_OPTIONS_H

#include "lib/Driver/Ranks.h"
#include "lib/Lowering/Formats.h"

#include <optional>
#include <string>
#include <vector>

namespace coll {

/// Each is a process, or a thread.
constexpr uint32_t maxRunRanks = 1024;

struct RunOptions {
  std::string file, schedule;
  std::vector<RankSpec> ranks; // one; none: the file says it
  std::vector<std::pair<std::string, int64_t>> defines;
  std::vector<std::string> libraryDirs;
  uint64_t minBytes = 8, maxBytes = 64 << 20, stepBytes = 0;
  uint64_t factor = 4;
  std::vector<uint64_t> counts; // elements of a part; empty: sizes in bytes
  bool inBlocks = false;        // something is in mxe4m3: the plan says it
  uint64_t row = 1024; // elements of a row, where a schedule cuts by row
  bool rowIsNamed = false;
  std::optional<lowering::Isa> isa; // empty: the best that this processor has
  uint64_t iterations = 0;          // 0: as many as make a row last a moment
  uint64_t warmup = 5;
  std::vector<lowering::Format> dtypes;
  std::vector<lowering::ReduceOp> ops;
  std::vector<int> roots; // launch values; empty: 0
  bool allRoots = false, rootsAreNamed = false;
  bool allDtypes = false;  // those that the schedule can have
  bool countBytes = false; // of every launch, instead of timing it
  bool check = true, inPlaceOnly = false, csv = false;
  /// Whose buffers are from coll_mem_alloc, so that peers reach them.
  enum class Registered : uint8_t { None, All, In, Out, Even };
  Registered registered = Registered::None;
  bool onGpus = false;    // ranks run on CUDA devices:
  std::optional<int> gpu; // this one; empty: rank modulo their number
  bool threads = false;   // ranks are threads of this process
  uint64_t replays = 0;   // of a graph that holds the timed launches; 0: none
  std::string ptxas;      // "none": without; empty: the one that is found
  bool pin = false;       // rank r on the r-th processor, around
  uint64_t seed = 1;
  double factorOfPremul = 0.5;
  std::string dumpDir;
  // --tune: what to write, for which rank counts, in about how long
  std::string tuneFile;
  std::vector<uint32_t> tuneRanks;
  double tuneSeconds = 120;
};

/// Empty: the command line is wrong, and standard error says how.
std::optional<RunOptions> parseRunOptions(int argc, char **argv);

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_OPTIONS_H
