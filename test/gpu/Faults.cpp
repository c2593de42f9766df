//===- Faults.cpp - Abort, mismatch, deadline on a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that wait for what does not come must leave, the reason must be told,
// and the device must be usable afterwards.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <chrono>
#include <cstdio>
#include <thread>

using namespace coll;
using namespace coll::gpu;

namespace {
/// One all-reduce of so many elements, prepared.
struct Allreduce {
  Allreduce(RankContext &rank, const coll_plan &plan, size_t count,
            bool isRegistered)
      : rank(rank), plan(plan), count(count) {
    ins[0] = isRegistered ? registered() : rank.device.allocate<float>(count);
    outs[0] = isRegistered ? registered() : rank.device.allocate<float>(count);
    call.in = ins;
    call.out = outs;
    call.count = &this->count;
    call.dtype = COLL_F32;
    call.op = COLL_SUM;
    if (coll_launch_prepare(&plan, &call, rank.comm) != COLL_OK)
      fail("prepare: %s", coll_last_error());
    rank.together.arrive_and_wait();
  }
  coll_status launch() { return coll_launch(&plan, &call, rank.comm, nullptr); }
  /// The communicator's end gives it back.
  void *registered() {
    void *made = nullptr;
    if (coll_mem_alloc(rank.comm, count * sizeof(float), &made) != COLL_OK)
      fail("coll_mem_alloc: %s", coll_last_error());
    return made;
  }

  RankContext &rank;
  const coll_plan &plan;
  size_t count;
  const void *ins[1];
  void *outs[1];
  coll_call call = {};
};

void expect(coll_status have, coll_status want, const char *what, int rank) {
  if (have != want)
    fail("%s, rank %d: %s instead of %s: %s", what, rank,
         coll_status_string(have), coll_status_string(want), coll_last_error());
}

/// The error comes to a rank that is in no call.
void expectError(RankContext &rank, coll_status want, const char *what) {
  coll_error error = {};
  for (int i = 0; i != 2000 && error.status == COLL_OK; ++i) {
    (void)coll_comm_error(rank.comm, &error);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  expect(error.status, want, what, rank.rank);
}

struct Fault {
  const char *name;
  double deadlineSeconds;
  void (*body)(RankContext &rank, const coll_plan &plan);
  bool isOfLines = false;
};
} // namespace

/// How messages go; each way has waits of its own.
struct Way {
  size_t count;
  bool isRegistered;
};
constexpr Way inSlots = {5000, false}, ofPackets = {50, false},
              direct = {5000, true};

template <Way W>
static void abortOne(RankContext &rank, const coll_plan &plan) {
  Allreduce sum(rank, plan, W.count, W.isRegistered);
  expect(sum.launch(), COLL_OK, "before an abort", rank.rank);
  if (rank.rank != 0)
    return expect(sum.launch(), COLL_ABORTED, "abort", rank.rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  (void)coll_comm_abort(rank.comm, "enough");
}

template <Way W>
static void callOthers(RankContext &rank, const coll_plan &plan) {
  Allreduce sum(rank, plan, W.count + (rank.rank != 1), W.isRegistered);
  expect(sum.launch(), COLL_MISMATCH, "mismatch", rank.rank);
}

template <Way W>
static void waitTooLong(RankContext &rank, const coll_plan &plan) {
  Allreduce sum(rank, plan, W.count, W.isRegistered);
  if (rank.rank == 0)
    return expectError(rank, COLL_TIMEOUT, "deadline");
  expect(sum.launch(), COLL_TIMEOUT, "deadline", rank.rank);
}

static const Fault faults[] = {
    {"abort releases blocks", 30, abortOne<inSlots>},
    {"abort releases threads that wait for packets", 30, abortOne<ofPackets>},
    {"abort releases blocks of direct messages", 30, abortOne<direct>},
    {"abort releases blocks that wait for lines", 30, abortOne<inSlots>, true},
    {"other counts are a mismatch", 30, callOthers<inSlots>},
    {"other counts are a mismatch of packets", 30, callOthers<ofPackets>},
    {"other counts are a mismatch of direct messages", 30, callOthers<direct>},
    {"other counts are a mismatch of lines", 30, callOthers<inSlots>, true},
    {"a wait ends at the deadline", 2, waitTooLong<inSlots>},
    {"a wait for packets ends at the deadline", 2, waitTooLong<ofPackets>},
    {"a wait for a window ends at the deadline", 2, waitTooLong<direct>},
    {"a wait for lines ends at the deadline", 2, waitTooLong<inSlots>, true},
    {"an abort ends a graph's replay", 30,
     [](RankContext &rank, const coll_plan &plan) {
       Allreduce sum(rank, plan, 5000, false);
       rank.device.capture([&] {
         coll_status status =
             coll_launch(&plan, &sum.call, rank.comm, rank.device.stream());
         expect(status, COLL_OK, "capture", rank.rank);
       });
       rank.together.arrive_and_wait();
       if (rank.rank == 0) {
         std::this_thread::sleep_for(std::chrono::milliseconds(200));
         (void)coll_comm_abort(rank.comm, "enough");
       } else {
         rank.device.replay();
       }
       expectError(rank, COLL_ABORTED, "replay");
       rank.device.wait();
     }},
};

void coll::gpu::checkFaults(const Options &options) {
  auto run = [&](const Fault &fault) {
    unsigned before = failures;
    const coll_plan *plan = anAllreduce(options.ranks, fault.isOfLines);
    if (!plan)
      return fail("%s: no all-reduce for %d ranks was packed", fault.name,
                  options.ranks);
    if (options.isOver(0.8))
      return fail("%s: not run, for time", fault.name);
    begin("%s", fault.name);
    onRanks(options.ranks, options.devices, fault.deadlineSeconds,
            [&](RankContext &rank) { fault.body(rank, *plan); });
    printf("%-48s %s\n", fault.name, failures == before ? "ok" : "FAILED");
    fflush(stdout);
  };
  for (const Fault &fault : faults)
    run(fault);
  run({"and afterwards it works", 30,
       [](RankContext &rank, const coll_plan &plan) {
         Allreduce sum(rank, plan, 5000, false);
         expect(sum.launch(), COLL_OK, "after all", rank.rank);
       }});
}
