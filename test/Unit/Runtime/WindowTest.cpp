//===- WindowTest.cpp - Memory that peers reach ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"
#include "runtime/core/Communicator.h"

#include <barrier>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll;
using namespace coll::test;

namespace {

class WindowTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

/// Two ranks, which leave together: who has left needs no windows.
void withPair(const WithComm &body) {
  std::barrier<> together(2);
  withComms(2, [&](int rank, coll_comm *comm) {
    body(rank, comm);
    together.arrive_and_wait();
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

/// coll_buf.win of memory of this rank.
uint64_t windowOf(coll_comm *comm, const void *ptr, size_t bytes) {
  auto begin = reinterpret_cast<uint64_t>(ptr);
  return comm->memory().find(begin, begin + bytes);
}

/// What this rank has mapped of a peer's window. Kernels are ordered behind the
/// monitor's stores by sockets, which a sanitizer does not see through.
coll_window mapped(coll_comm *comm, int peer, uint64_t win) {
  const coll_window &window =
      comm->windows()
          .table()[(win >> 48) * uint64_t(comm->size()) + uint64_t(peer)];
  uint64_t base = __atomic_load_n(&window.base, __ATOMIC_ACQUIRE);
  return {base, __atomic_load_n(&window.bytes, __ATOMIC_RELAXED), 0, 0};
}

/// A file in memory, mapped shared, as an application has it.
struct SharedFile {
  explicit SharedFile(size_t bytes, int flags = MAP_SHARED) : bytes(bytes) {
    fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(fd, off_t(bytes)), 0);
    base = static_cast<char *>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0));
  }
  ~SharedFile() {
    munmap(base, bytes);
    close(fd);
  }
  size_t bytes;
  int fd;
  char *base;
};

void expectInvalid(coll_status status, const std::string &text) {
  EXPECT_EQ(status, COLL_INVALID);
  expectContains(coll_last_error(), text);
}

TEST_F(WindowTest, AllocatedMemoryIsReachedByPeersAtOnce) {
  constexpr int nranks = 3;
  std::barrier<> together(nranks);
  std::vector<uint64_t> wins(nranks);
  withComms(nranks, [&](int rank, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 10'000, &memory), COLL_OK);
    std::memset(memory, 'a' + rank, 10'000);
    wins[size_t(rank)] = windowOf(comm, memory, 10'000);
    together.arrive_and_wait();
    for (int peer = 0; peer != nranks; ++peer) {
      EXPECT_NE(wins[size_t(peer)], 0u);
      coll_window window = mapped(comm, peer, wins[size_t(peer)]);
      if (peer == rank) {
        EXPECT_EQ(window.base, 0u);
        continue;
      }
      EXPECT_EQ(window.bytes, roundToPages(10'000));
      EXPECT_EQ(*reinterpret_cast<const char *>(window.base + 9'999),
                'a' + peer);
    }
    together.arrive_and_wait();
    EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK);
    EXPECT_EQ(windowOf(comm, memory, 10'000), 0u);
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(WindowTest, ABufferMustLieInOneWindowWhole) {
  withPair([](int, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, pageBytes(), &memory), COLL_OK);
    char *base = static_cast<char *>(memory);
    uint64_t win = windowOf(comm, base, pageBytes());
    EXPECT_EQ(windowOf(comm, base + 100, 50), win + 100);
    EXPECT_EQ(windowOf(comm, base + 1, pageBytes()), 0u);
    EXPECT_EQ(windowOf(comm, base - 1, 5), 0u);
  });
}

TEST_F(WindowTest, MemoryOfTheApplicationIsAWindowWithItsDescriptor) {
  withPair([](int, coll_comm *comm) {
    SharedFile file(3 * pageBytes() + 10);
    ASSERT_EQ(coll_register(comm, file.base, file.bytes, file.fd), COLL_OK);
    EXPECT_NE(windowOf(comm, file.base, file.bytes), 0u);
    // Nobody can take it away from those who use it.
    EXPECT_NE(ftruncate(file.fd, 0), 0);
    expectInvalid(coll_register(comm, file.base, file.bytes, file.fd),
                  "is registered already");
    EXPECT_EQ(coll_deregister(comm, file.base), COLL_OK);
    EXPECT_EQ(windowOf(comm, file.base, file.bytes), 0u);
    expectInvalid(coll_deregister(comm, file.base), "is not registered");
    // Without one it stays this rank's own.
    EXPECT_EQ(coll_register(comm, file.base, file.bytes, -1), COLL_OK);
    EXPECT_EQ(windowOf(comm, file.base, file.bytes), 0u);
  });
}

TEST_F(WindowTest, WhatPeersCannotMapIsRefused) {
  withPair([](int, coll_comm *comm) {
    size_t page = pageBytes();
    SharedFile file(2 * page), other(2 * page), copy(page, MAP_PRIVATE);
    auto add = [&](void *ptr, size_t bytes, int fd) {
      return coll_register(comm, ptr, bytes, fd);
    };
    expectInvalid(add(copy.base, page, copy.fd), "MAP_SHARED mapping");
    expectInvalid(add(file.base, page, other.fd), "MAP_SHARED mapping");
    expectInvalid(add(file.base + page, page, file.fd), "from its start");
    expectInvalid(add(file.base, 2 * page, copy.fd), "bytes, not");
    expectInvalid(add(file.base, page, 1 << 20), "is closed");
    expectInvalid(add(file.base, page, -2), "is none");
    std::string path = "/proc/self/fd/" + std::to_string(file.fd);
    int readOnly = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    expectInvalid(add(file.base, page, readOnly), "not open for reading and");
    close(readOnly);
    EXPECT_EQ(windowOf(comm, file.base, page), 0u);
  });
}

TEST_F(WindowTest, ArgumentsAreChecked) {
  withComms(1, [](int, coll_comm *comm) {
    UserMemory &memory = comm->memory();
    void *ptr = nullptr;
    EXPECT_EQ(memory.allocate(0, &ptr).code(), COLL_INVALID);
    EXPECT_EQ(memory.allocate(SIZE_MAX, &ptr).code(), COLL_NO_MEMORY);
    ASSERT_TRUE(memory.allocate(100'000, &ptr).isOk());
    EXPECT_EQ(static_cast<char *>(ptr)[99'999], 0);
    EXPECT_TRUE(memory.add(ptr, 100'000, -1).isOk());
    EXPECT_EQ(memory.add(ptr, 100'000, -1).code(), COLL_INVALID); // twice
    EXPECT_TRUE(memory.remove(ptr).isOk());
    EXPECT_EQ(memory.remove(ptr).code(), COLL_INVALID);
    EXPECT_TRUE(memory.free(ptr).isOk());
    EXPECT_EQ(memory.free(ptr).code(), COLL_INVALID);
    EXPECT_EQ(memory.add(ptr, 100'000, -1).code(), COLL_INVALID); // unmapped
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(WindowTest, FreeingTwiceIsAnError) {
  withPair([](int, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 1, &memory), COLL_OK);
    EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK);
    expectInvalid(coll_mem_free(comm, memory), "is not from coll_mem_alloc");
  });
}

TEST_F(WindowTest, ThereAreSoManyWindowsAndNumbersComeBack) {
  withPair([](int, coll_comm *comm) {
    std::vector<void *> all(COLL_MAX_WINDOWS);
    for (int round = 0; round != 2; ++round) {
      for (void *&memory : all)
        ASSERT_EQ(coll_mem_alloc(comm, 1, &memory), COLL_OK);
      EXPECT_NE(windowOf(comm, all[COLL_MAX_WINDOWS - 2], 1), 0u);
      EXPECT_EQ(windowOf(comm, all[COLL_MAX_WINDOWS - 1], 1), 0u);
      for (void *memory : all)
        ASSERT_EQ(coll_mem_free(comm, memory), COLL_OK);
    }
  });
}

TEST_F(WindowTest, NothingIsLeftOfThem) {
  auto use = [](bool frees) {
    withComms(3, [&](int, coll_comm *comm) {
      void *memory = nullptr;
      ASSERT_EQ(coll_mem_alloc(comm, 3 << 20, &memory), COLL_OK);
      SharedFile file(pageBytes());
      ASSERT_EQ(coll_register(comm, file.base, file.bytes, file.fd), COLL_OK);
      if (frees) {
        EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK);
        EXPECT_EQ(coll_deregister(comm, file.base), COLL_OK);
      }
      EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
    });
  };
  use(true);
  Holdings before = Holdings::now();
  use(true);
  use(false);
  Holdings after = Holdings::now();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
}

TEST_F(WindowTest, AfterAFailureMemoryIsStillFreedAndPeersKeepTheirs) {
  std::barrier<> together(2);
  uint64_t win = 0;
  withComms(2, [&](int rank, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    if (rank == 0)
      win = windowOf(comm, memory, 100);
    together.arrive_and_wait();
    if (rank == 0)
      coll_comm_abort(comm, "enough");
    awaitError(comm);
    EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK);
    together.arrive_and_wait();
    // Its kernel may not have seen the abort yet.
    if (rank == 1) {
      EXPECT_NE(mapped(comm, 0, win).base, 0u);
    }
    EXPECT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    EXPECT_EQ(windowOf(comm, memory, 100), 0u);
    coll_comm_destroy(comm);
  });
}

TEST_F(WindowTest, APeersDeathEndsARegistration) {
  std::vector<std::string> ends = onProcesses(2, [](int rank, coll_comm *comm) {
    if (rank == 1)
      raise(SIGKILL);
    awaitError(comm);
    void *memory = nullptr;
    EXPECT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    EXPECT_EQ(windowOf(comm, memory, 100), 0u);
    EXPECT_EQ(coll_mem_free(comm, memory), COLL_OK);
  });
  EXPECT_EQ(ends[0], "");
  EXPECT_EQ(ends[1], "signal 9");
}

TEST_F(WindowTest, AForkedChildHasNoPeersMemory) {
  onGoodProcesses(2, [](int, coll_comm *comm) {
    void *memory = nullptr;
    ASSERT_EQ(coll_mem_alloc(comm, 100, &memory), COLL_OK);
    pid_t child = fork();
    if (child == 0) {
      unsigned char resident;
      _exit(mincore(memory, pageBytes(), &resident) == 0 ? 1 : 0);
    }
    int how = 0;
    EXPECT_EQ(waitpid(child, &how, 0), child);
    EXPECT_EQ(how, 0);
  });
}

TEST_F(WindowTest, OffersAreCheckedAndOnlyAnsweredWithNo) {
  withPair([](int rank, coll_comm *comm) {
    if (rank == 0) {
      SharedFile file(pageBytes());
      auto offer = [&](uint64_t number, uint64_t bytes, size_t length) {
        auto *raw = reinterpret_cast<const std::byte *>(&bytes);
        Message answer;
        EXPECT_TRUE(comm->control()
                        .send(1, kWindowOfferKind, number, {raw, length},
                              {&file.fd, 1}, Deadline::never())
                        .isOk());
        EXPECT_TRUE(comm->control()
                        .receive(1, kWindowAnswerKind, number,
                                 Deadline::never(), answer)
                        .isOk());
        return answer.bytes[0] == std::byte{1};
      };
      size_t page = pageBytes();
      EXPECT_FALSE(offer(0, page, 8));
      EXPECT_FALSE(offer(COLL_MAX_WINDOWS, page, 8));
      EXPECT_FALSE(offer(7, page + 1, 8));
      EXPECT_FALSE(offer(7, 0, 8));
      EXPECT_FALSE(offer(7, 2 * page, 8));
      EXPECT_FALSE(offer(7, page, 7));
      EXPECT_TRUE(offer(7, page, 8));
      EXPECT_FALSE(offer(7, page, 8));
    }
  });
}

} // namespace
