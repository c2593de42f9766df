//===- Workers.cpp - Threads for the further blocks of a plan -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each worker has its own ticket word, so a launch of few blocks does not touch
// the threads that it has no use for, and these never look at its job.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Workers.h"
#include "runtime/core/Pause.h"
#include "runtime/core/Thread.h"

#include <cassert>
#include <sched.h>
#include <unistd.h>

namespace coll {

Status Workers::reserve(uint32_t blocks) {
  workers.reserve(blocks); // a thread that runs must find its place
  while (workers.size() + 1 < blocks) {
    auto worker = std::make_unique<Worker>();
    worker->block = uint32_t(workers.size()) + 1;
    COLL_TRY(startThread(
        format("coll-block-%u", worker->block).c_str(),
        [this, w = worker.get()] { loop(*w); }, worker->thread));
    workers.push_back(std::move(worker));
  }
  return Status::ok();
}

void Workers::loop(Worker &worker) {
  uint32_t seen = 0;
  while (true) {
    uint32_t limit = spins.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i != limit; ++i) {
      if (worker.ticket.load(std::memory_order_relaxed) != seen)
        break;
      pauseCore();
    }
    worker.ticket.wait(seen, std::memory_order_acquire);
    seen = worker.ticket.load(std::memory_order_acquire);
    if (seen == kStop)
      return;
    current.run(current.context, worker.block);
    running.fetch_sub(1, std::memory_order_release);
  }
}

void Workers::run(Job job, uint32_t blocks, uint32_t spinLimit) {
  assert(blocks != 0 && blocks <= workers.size() + 1);
  current = job;
  spins.store(spinLimit, std::memory_order_relaxed);
  running.store(blocks - 1, std::memory_order_relaxed);
  for (uint32_t i = 0; i + 1 < blocks; ++i) {
    std::atomic<uint32_t> &ticket = workers[i]->ticket;
    uint32_t next = ticket.load(std::memory_order_relaxed) + 1;
    ticket.store(next == kStop ? 0 : next, std::memory_order_release);
    ticket.notify_one();
  }
  job.run(job.context, 0);

  // The blocks' own waits have deadlines, so this one needs none.
  constexpr uint32_t yields = 2000;
  constexpr useconds_t sleepUs = 50;
  for (uint32_t i = 0; running.load(std::memory_order_acquire) != 0; ++i) {
    if (i < spinLimit)
      pauseCore();
    else if (i < spinLimit + yields)
      sched_yield();
    else
      usleep(sleepUs);
  }
}

void Workers::stop() noexcept {
  for (const std::unique_ptr<Worker> &worker : workers) {
    worker->ticket.store(kStop, std::memory_order_release);
    worker->ticket.notify_one();
  }
  for (const std::unique_ptr<Worker> &worker : workers)
    worker->thread.join();
  workers.clear();
}

} // namespace coll
