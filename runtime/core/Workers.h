//===- Workers.h - Threads for the further blocks of a plan -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block 0 of a launch runs in the caller's thread, every further block in a
// thread of its own: blocks wait for each other and for peers, so two on one
// thread could deadlock.  Threads are made when a plan is loaded and sleep
// between launches.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_WORKERS_H
#define COLL_RUNTIME_CORE_WORKERS_H

#include "runtime/core/Status.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace coll {

class Workers {
public:
  /// What a thread runs; must not throw.
  struct Job {
    void (*run)(void *context, uint32_t block) = nullptr;
    void *context = nullptr;
  };

  Workers() = default;
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;
  ~Workers() { stop(); }

  /// Makes sure that `blocks` blocks can run at a time.
  Status reserve(uint32_t blocks);
  /// Runs block 0 here and the others on threads; returns when all are done.
  /// A thread spins so many pauses for its next job before it sleeps.
  void run(Job job, uint32_t blocks, uint32_t spinLimit);
  /// Ends all threads.  Not during run().
  void stop() noexcept;

private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0}; ///< jobs given; kStop: end
    std::thread thread;
    uint32_t block = 0;
  };
  static constexpr uint32_t kStop = UINT32_MAX;

  void loop(Worker &worker);

  std::vector<std::unique_ptr<Worker>> workers;
  Job current;
  std::atomic<uint32_t> spins{0};
  alignas(64) std::atomic<uint32_t> running{0};
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_WORKERS_H
