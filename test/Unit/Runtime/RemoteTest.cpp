//===- RemoteTest.cpp - Memory of other processes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"
#include "runtime/core/Communicator.h"
#include "runtime/core/RemoteMemory.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll;
using namespace coll::test;

namespace {

class RemoteTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

/// From here on this system call fails in this process, as in a container.
bool deny(uint32_t number) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {4, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Two ranks as processes: what each finds, when it has done `before`.
std::vector<std::string> meet(const std::function<void(int)> &before) {
  coll_id id;
  EXPECT_EQ(coll_make_id(&id), COLL_OK);
  return asProcesses(2, [&](int rank) -> std::string {
    before(rank);
    coll_comm *comm = nullptr;
    if (coll_comm_init(&comm, 2, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    char byte = 0;
    auto begin = reinterpret_cast<uint64_t>(&byte);
    uint64_t win = comm->memory().findInProcess(begin, begin + 1);
    bool isReached = comm->isReached() && win == begin;
    if (!comm->isReached() && win != 0)
      return "an address without reach";
    if (coll_comm_destroy(comm) != COLL_OK)
      return coll_last_error();
    return isReached ? "reached" : "by slots";
  });
}

using Both = std::vector<std::string>;

TEST_F(RemoteTest, RanksSayWhetherTheyAreReached) {
  Variables always(std::map<std::string, std::string>{{"COLL_CMA", "1"}});
  EXPECT_EQ(meet([](int) {}), Both({"reached", "reached"}));
  Variables never(std::map<std::string, std::string>{{"COLL_CMA", "0"}});
  EXPECT_EQ(meet([](int) {}), Both({"by slots", "by slots"}));
}

TEST_F(RemoteTest, ARankThatMayNotReadOrWriteIsReachedBySlots) {
  Variables always(std::map<std::string, std::string>{{"COLL_CMA", "1"}});
  for (long call : {SYS_process_vm_readv, SYS_process_vm_writev})
    EXPECT_EQ(meet([&](int rank) {
                if (rank == 1)
                  EXPECT_TRUE(deny(uint32_t(call)));
              }),
              Both({"by slots", "by slots"}));
}

TEST_F(RemoteTest, OneVariableIsEnoughToTurnItOff) {
  Variables always(std::map<std::string, std::string>{{"COLL_CMA", "1"}});
  EXPECT_EQ(meet([](int rank) {
              if (rank == 0)
                setenv("COLL_CMA", "0", 1);
            }),
            Both({"by slots", "by slots"}));
}

TEST_F(RemoteTest, ThreadsAreReachedUnlessTurnedOff) {
  withComms(3, [](int rank, coll_comm *comm) {
    EXPECT_TRUE(comm->isReached());
    EXPECT_TRUE(comm->isReachedByThreads());
    for (int peer = 0; peer != 3; ++peer)
      EXPECT_NE(comm->windows().table()[peer].bytes, 0u) << rank;
    coll_comm *copy = nullptr;
    ASSERT_EQ(coll_comm_dup(comm, &copy), COLL_OK);
    EXPECT_TRUE(copy->isReachedByThreads());
    EXPECT_EQ(coll_comm_destroy(copy), COLL_OK);
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
  Variables never(std::map<std::string, std::string>{{"COLL_CMA", "0"}});
  withComms(2, [](int, coll_comm *comm) {
    EXPECT_FALSE(comm->isReached());
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(RemoteTest, WhatCannotBeMovedIsToldApart) {
  void *memory = mmap(nullptr, 2 * pageBytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto *bytes = static_cast<char *>(memory);
  munmap(bytes + pageBytes(), pageBytes());
  bytes[0] = 7;
  auto address = reinterpret_cast<uint64_t>(memory);
  pid_t child = fork();
  if (child == 0) {
    while (true)
      pause();
  }
  std::vector<char> here(2 * pageBytes(), 1);
  EXPECT_EQ(readRemote(child, address, here.data(), pageBytes()), 0);
  EXPECT_EQ(here[0], 7);
  EXPECT_EQ(here[1], 0);
  EXPECT_EQ(writeRemote(child, address + 1, &here[0], 1), 0);
  EXPECT_EQ(readRemote(child, address, here.data(), 2), 0);
  EXPECT_EQ(here[1], 7);
  EXPECT_EQ(bytes[1], 0); // the child's, not this process's
  // The second page is missing, at the start or half way.
  EXPECT_EQ(readRemote(child, address, here.data(), 2 * pageBytes()), EFAULT);
  EXPECT_EQ(writeRemote(child, address + pageBytes(), here.data(), 1), EFAULT);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(readRemote(child, address, here.data(), 1), ESRCH);
  munmap(memory, pageBytes());
}

TEST_F(RemoteTest, AProbeMeansTheProcessOfTheBoard) {
  UniqueFd fd, other;
  Board own, peer;
  ASSERT_TRUE(Board::create(0, 2, fd, own).isOk());
  ASSERT_TRUE(Board::create(1, 2, other, peer).isOk());
  EXPECT_TRUE(reachesProcess(getpid(), own));
  EXPECT_FALSE(reachesProcess(0, own));
  pid_t child = fork(); // which has no boards
  if (child == 0) {
    while (true)
      pause();
  }
  EXPECT_FALSE(reachesProcess(child, own));
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

} // namespace
