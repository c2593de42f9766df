//===- device-packets.cpp - Small messages on devices, and what ends them -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: device-packets wrap|mismatch|abort|deadline
//
// Two ranks as threads, each on a device, call generated code whose messages
// are packets, with flags that come again after 256 messages (exchange.coll).

#include "coll/coll.h"
#include "exchange.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

static const coll_id *jobId() {
  static const coll_id id = [] {
    coll_id made = {};
    if (coll_make_id(&made) != COLL_OK)
      abort();
    return made;
  }();
  return &id;
}

static void fail(const char *what, int rank, const char *text) {
  printf("rank %d: %s: %s\n", rank, what, text);
  fflush(stdout);
  _Exit(1);
}

static coll_status sum(coll_comm *comm, size_t count, int launch) {
  std::vector<float> in(count), out(count, -1);
  for (size_t i = 0; i < count; ++i)
    in[i] = float(coll_comm_rank(comm) + 1) * float(launch % 100) + float(i);
  coll_status status =
      exchange(in.data(), out.data(), count, COLL_F32, COLL_SUM, comm, nullptr);
  for (size_t i = 0; status == COLL_OK && i < count; ++i)
    if (out[i] != 3 * float(launch % 100) + 2 * float(i))
      fail("wrong sum", coll_comm_rank(comm), "");
  return status;
}

/// Flags come again every 256 launches: only the first of them is long, so a
/// slot's end holds what was written there 256 messages ago.
static void wrap(int rank, coll_comm *comm) {
  for (int launch = 0; launch < 600; ++launch)
    if (sum(comm, launch % 256 ? 4 : 400, launch) != COLL_OK)
      fail("launch", rank, coll_last_error());
}

static void expect(int rank, coll_status have, coll_status want) {
  if (have != want)
    fail(coll_status_string(have), rank, coll_last_error());
  if (rank == 0)
    printf("%s\n", coll_last_error());
}

static void mismatch(int rank, coll_comm *comm) {
  expect(rank, sum(comm, rank ? 40 : 50, 1), COLL_MISMATCH);
}

/// Rank 1 does not come.
static void late(int rank, coll_comm *comm, coll_status want) {
  if (sum(comm, 40, 1) != COLL_OK) // connects
    fail("first", rank, coll_last_error());
  if (rank == 0)
    return expect(rank, sum(comm, 40, 2), want);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (want == COLL_ABORTED)
    coll_comm_abort(comm, "enough");
  coll_error error = {};
  while (coll_comm_error(comm, &error) == COLL_OK && error.status == COLL_OK)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  const bool isLate = !strcmp(what, "deadline");
  auto run = [&](int rank) {
    coll_config config = COLL_CONFIG_INIT;
    config.device = COLL_DEVICE_BY_RANK;
    config.deadline_ns = isLate ? 1'000'000'000 : 60'000'000'000;
    coll_comm *comm = nullptr;
    if (coll_comm_init(&comm, 2, jobId(), rank, &config) != COLL_OK)
      fail("init", rank, coll_last_error());
    if (!strcmp(what, "wrap"))
      wrap(rank, comm);
    else if (!strcmp(what, "mismatch"))
      mismatch(rank, comm);
    else
      late(rank, comm, isLate ? COLL_TIMEOUT : COLL_ABORTED);
    (void)coll_comm_destroy(comm);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  printf("%s: done\n", what);
}
