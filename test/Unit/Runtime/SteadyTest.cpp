//===- SteadyTest.cpp - Calls neither allocate nor enter the system -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Once every plan has run, calls in any order, with buffers that move, allocate
// nothing; a filter of the kernel ends the process at its first system call.
// Ranks spin for as long as it takes: a wait of some milliseconds yields and
// puts its place on the board.
//
//===----------------------------------------------------------------------===//

#include "FailingMemory.h"
#include "Launching.h"
#include "runtime/core/Pause.h"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace coll::test;

namespace {

constexpr int rounds = 30;
constexpr const char *spins = "1000000000";

/// Plans of all kinds, in use by rules of a table.
class Steady {
public:
  explicit Steady(int nranks)
      : nranks(nranks), ring({named(ringAllreduce(nranks), "ring")}),
        other({named(ringAllreduce(nranks), "other")}),
        chain({chainBroadcast(nranks)}), gather({directAllgather(nranks)}),
        barrier({starBarrier(nranks)}), vector({directAlltoallv(nranks)}) {
    FILE *file = fopen(path.c_str(), "w");
    fputs("coll-tune 1\nallreduce any any 0..64 other auto\n"
          "allreduce any any 64..max ring bulk\n",
          file);
    fclose(file);
  }
  ~Steady() { unlink(path.c_str()); }

  bool use(coll_comm *comm) const {
    for (const HandPlan *plan :
         {&ring, &other, &chain, &gather, &barrier, &vector})
      if (coll_use(comm, &plan->plan()) != COLL_OK)
        return false;
    return true;
  }
  /// Some calls of everything, each unlike the one before.
  bool call(coll_comm *comm);

  const int nranks;
  const std::string path =
      testing::TempDir() + "coll-steady-" + std::to_string(getpid()) + ".tune";

private:
  static Schedule named(Schedule schedule, const char *name) {
    schedule.name = name;
    return schedule;
  }

  HandPlan ring, other, chain, gather, barrier, vector;
  size_t sends[2] = {3, 3}, recvs[2] = {3, 3};
};

bool Steady::call(coll_comm *comm) {
  static thread_local int32_t in[4000], out[8000];
  bool good = true;
  for (size_t count : {size_t(1), size_t(16), size_t(3000)})
    for (size_t shift = 0; shift != 3; ++shift) {
      good &= coll_allreduce(in + shift, out, count, COLL_I32, COLL_SUM, comm,
                             nullptr) == COLL_OK;
      good &= coll_broadcast(in, out + shift, count, COLL_I32,
                             int(shift) % nranks, comm, nullptr) == COLL_OK;
      good &=
          coll_allgather(in, out, count, COLL_I32, comm, nullptr) == COLL_OK;
    }
  good &= coll_barrier(comm, nullptr) == COLL_OK;
  good &= coll_alltoallv(in, sends, nullptr, out, recvs, nullptr, COLL_I32,
                         comm, nullptr) == COLL_OK;
  const void *ins[] = {in};
  void *outs[] = {out};
  size_t count = 7;
  coll_call call = {};
  call.in = ins;
  call.out = outs;
  call.count = &count;
  call.dtype = COLL_I32;
  good &= coll_launch(&ring.plan(), &call, comm, nullptr) == COLL_OK;
  return good;
}

/// From here on this thread may only end the process.
bool forbidSystemCalls() {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Makes the calls with the filter on and leaves together with the others, who
/// would take an earlier end for a failure; never comes back.
[[noreturn]] void callForbidden(Steady &steady, coll_comm *comm,
                                std::atomic<int> &done) {
  bool good = forbidSystemCalls();
  for (int i = 0; i != rounds && good; ++i)
    good = steady.call(comm);
  for (done.fetch_add(1); good && done.load() != steady.nranks;)
    coll::pauseCore();
  syscall(SYS_exit_group, good ? 0 : 1);
  __builtin_unreachable();
}

std::vector<std::string> endsOf(int nranks) {
  Steady steady(nranks);
  Variables variables({{"COLL_TUNE", steady.path}, {"COLL_SPIN", spins}});
  auto *done = static_cast<std::atomic<int> *>(
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto ends = onProcesses(nranks, [&](int, coll_comm *comm) {
    ASSERT_TRUE(steady.use(comm) && steady.call(comm)) << coll_last_error();
    callForbidden(steady, comm, *done);
  });
  munmap(done, sizeof(int));
  return ends;
}

TEST(Steady, OneRankMakesNoSystemCall) {
  EXPECT_EQ(endsOf(1), std::vector<std::string>(1));
}

TEST(Steady, NorDoTwoRanks) {
  EXPECT_EQ(endsOf(2), std::vector<std::string>(2));
}

TEST(Steady, NothingIsAllocated) {
  for (int nranks : {1, 2}) {
    Steady steady(nranks);
    Variables variables({{"COLL_TUNE", steady.path}, {"COLL_SPIN", spins}});
    onThreads(nranks, [&](int, coll_comm *comm) {
      ASSERT_TRUE(steady.use(comm)) << coll_last_error();
      ASSERT_TRUE(steady.call(comm)) << coll_last_error();
      Shortage first(1);
      bool good = true;
      {
        Shortage::OnThisThread now(first);
        for (int i = 0; i != rounds; ++i)
          good &= steady.call(comm);
      }
      EXPECT_TRUE(good) << coll_last_error();
      EXPECT_FALSE(first.hasStruck());
    });
  }
}

} // namespace
