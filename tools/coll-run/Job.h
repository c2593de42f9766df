//===- Job.h - The processes of a run, and what they share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parent compiles, then forks one process per rank, or starts a thread.
// They share one piece of memory: barriers, results, and copies of all inputs
// and outputs, so that the parent can check every element of every rank at
// once. The ranks themselves meet through the runtime alone.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TOOLS_COLL_RUN_JOB_H
#define COLL_TOOLS_COLL_RUN_JOB_H

#include "coll/coll.h"
#include "tools/coll-run/Buffers.h"
#include "tools/coll-run/Options.h"

#include <atomic>
#include <functional>
#include <sys/types.h>
#include <thread>

namespace coll {

/// A barrier in shared memory that gives up when the job is over.
struct SharedBarrier {
  std::atomic<uint32_t> arrived, generation;
  /// False: the job has failed. `idle` is called now and then.
  bool wait(uint32_t members, std::atomic<uint32_t> &failed,
            const std::function<void()> &idle = {});
};

struct RankResult {
  double seconds;                   // per launch
  uint64_t bytesRead, bytesWritten; // by the checked launch
  char error[4000];
};

struct SharedState {
  std::atomic<uint32_t> failed;
  SharedBarrier all;   // the ranks and the parent
  SharedBarrier ranks; // the ranks
  std::atomic<uint64_t> iterations;
  RankResult results[maxRunRanks];
};

enum class Mode { OutOfPlace, InPlace };

class Job {
public:
  /// Maps what the rows need. Empty: standard error says why.
  static std::unique_ptr<Job> create(const RunOptions &options,
                                     const coll_plan *plan,
                                     std::vector<Row> rows, uint32_t numRanks);
  ~Job();

  bool start(); // forks the ranks, or starts their threads
  /// Waits at the common barrier; a rank that dies meanwhile fails the job.
  bool meet();
  /// Reaps the ranks. True if all ended well. Prints what those said that did
  /// not, and how many ended only because of them.
  bool finish();

  /// Not every row can be run in place.
  bool isRun(const Row &row, Mode mode) const {
    return mode == Mode::OutOfPlace || row.canBeInPlace;
  }
  /// Shared copies: of rank's `buffer`.
  uint8_t *sharedBuffer(Rank rank, uint32_t buffer) {
    return shared + offsets[size_t(rank) * numBuffers + buffer];
  }

  const RunOptions &options;
  const coll_plan *plan;
  std::vector<Row> rows;
  uint32_t numRanks, numBuffers = 0;
  std::vector<Mode> modes;
  coll_id id{};
  SharedState *state = nullptr;
  size_t numGpus = 0; // of this machine, when ranks run on them

private:
  Job(const RunOptions &options, const coll_plan *plan, std::vector<Row> rows,
      uint32_t numRanks)
      : options(options), plan(plan), rows(std::move(rows)),
        numRanks(numRanks) {}
  bool map();
  bool startThread(Rank rank);
  void watch();
  void noteEnd(Rank rank, int status);
  bool areGone() const;
  void endAll();
  void printErrors();

  uint8_t *shared = nullptr;
  size_t sharedBytes = 0;
  std::vector<size_t> offsets;
  std::vector<pid_t> children; // 0: has ended
  struct RankThread {
    std::thread thread;
    std::atomic<bool> hasEnded = false;
    int status = 0;
    bool isNoted = false;
  };
  std::vector<std::unique_ptr<RankThread>> threads;
  uint32_t numFollowers = 0; ///< ranks that ended since others had failed
};

/// What a rank process does (Rank.cpp). Returns its exit status.
int runRank(Job &job, Rank rank);

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_JOB_H
