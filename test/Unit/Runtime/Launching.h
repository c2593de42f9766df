//===- Launching.h - What tests of launches share ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_RUNTIME_LAUNCHING_H
#define COLL_TEST_UNIT_RUNTIME_LAUNCHING_H

#include "Calls.h"
#include "HandPlan.h"
#include "Ranks.h"

#include <atomic>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace coll::test {

/// Runs the body on every rank with a communicator of its own, and destroys it
/// in the end: COLL_OK is expected of that, unless the communicator failed.
void onThreads(int nranks, const WithComm &body, uint64_t deadlineMs = 60'000);

/// The same in a process per rank.  What a rank's end looked like: "" when all
/// its expectations held, "failed", or "signal 9".
std::vector<std::string> onProcesses(int nranks, const WithComm &body,
                                     uint64_t deadlineMs = 60'000);
/// ... and all are expected to be "".
void onGoodProcesses(int nranks, const WithComm &body,
                     uint64_t deadlineMs = 60'000);

/// Deterministic, different on every rank; sums of them are exact.
int32_t valueAt(int rank, size_t i);
std::vector<int32_t> inputOf(int rank, size_t count);
/// The sum over all ranks, element by element.
std::vector<int32_t> sumOf(int nranks, size_t count);

/// One all-reduce of `count` elements, checked.  Expects COLL_OK.
void checkAllreduce(const coll_plan &plan, int rank, coll_comm *comm,
                    size_t count, bool inPlace = false);

/// An all-reduce of `count` elements on whatever memory; returns its status.
coll_status allreduce(const coll_plan &plan, coll_comm *comm, size_t count,
                      coll_dtype dtype = COLL_I32, coll_op op = COLL_SUM);

void expectContains(const std::string &text, const std::string &part);

/// n[p, q] of the alltoallv of tests: some zero, some many slots.
size_t elemsFrom(int p, int q);
void checkAlltoallv(const coll_plan &plan, int rank, coll_comm *comm,
                    bool displaced);

/// One number that processes share.
class SharedNumber {
public:
  SharedNumber()
      : number(static_cast<std::atomic<int> *>(
            mmap(nullptr, sizeof *number, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedNumber() { munmap(number, sizeof *number); }
  std::atomic<int> *operator->() { return number; }

private:
  std::atomic<int> *number;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_LAUNCHING_H
