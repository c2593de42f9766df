//===- Processes.cpp - Ranks in several processes on a GPU ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ranks in a process each: memory goes from one to the other by handles,
// and peers that share a device run by turns (a few milliseconds each), since
// there is no MPS here.  So launches are few.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <cstdio>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll;
using namespace coll::gpu;

static constexpr int ranks = 2;
static constexpr unsigned deadlineSeconds = 30;

int coll::gpu::runProcess(const Options &options) {
  const coll_plan *plan = anAllreduce(ranks);
  watch(2 * deadlineSeconds);
  begin("init of process %d", options.process);
  Gpu device(options.process % options.devices);
  coll_config config = COLL_CONFIG_INIT;
  config.device = device.number;
  config.deadline_ns = deadlineSeconds * 1'000'000'000ull;
  config.init_deadline_ns = config.deadline_ns;
  coll_comm *comm = nullptr;
  if (!plan || coll_comm_init_env(&comm, &config) != COLL_OK) {
    printf("FAILED: process %d: init: %s\n", options.process,
           plan ? coll_last_error() : "no plan");
    return 1;
  }
  std::barrier<> alone(1);
  RankContext rank = {options.process, ranks, comm, device, alone};
  for (size_t count : {300, 5001})
    for (bool isRegistered : {false, true})
      if (failures == 0)
        checkCall(rank, *plan, count, isRegistered);
  if (coll_comm_destroy(comm) != COLL_OK && failures == 0)
    fail("process %d: destroy: %s", options.process, coll_last_error());
  return failures ? 1 : 0;
}

static pid_t start(int rank, const std::string &job) {
  fflush(stdout);
  const std::string number = std::to_string(rank);
  std::string own[] = {"COLL_JOB=" + job, "COLL_RANK=" + number,
                       "COLL_NRANKS=" + std::to_string(ranks)};
  std::vector<char *> variables; // the first of a name counts
  for (std::string &each : own)
    variables.push_back(each.data());
  for (char **each = environ; *each; ++each)
    variables.push_back(*each);
  variables.push_back(nullptr);
  std::string words[] = {"gpu-check", "--process", number};
  char *arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       nullptr};
  pid_t child = -1;
  return posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments,
                     variables.data()) == 0
             ? child
             : -1;
}

void coll::gpu::checkProcesses(const Options &options) {
  if (!anAllreduce(ranks))
    return (void)printf("not run: no all-reduce for %d ranks is packed\n",
                        ranks);
  if (options.isOver(0.7))
    return fail("processes: not run, for time");
  begin("two processes");
  const double begun = secondsSpent();
  const std::string job = "gpu-check-" + std::to_string(getpid());
  pid_t children[ranks];
  for (int rank = 0; rank != ranks; ++rank)
    children[rank] = start(rank, job);
  bool isGood = true;
  for (pid_t child : children) {
    int status = 0;
    isGood &= child > 0 && waitpid(child, &status, 0) == child &&
              WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!isGood)
    fail("a process of two has failed");
  printf("%-32s %-16s %s %8.2f s\n", "two processes", "allreduce",
         isGood ? "ok" : "FAILED", secondsSpent() - begun);
  fflush(stdout);
}
