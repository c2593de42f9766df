//===- RepeatTest.cpp - Calls that have been made before ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launching.h"

#include <barrier>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace coll::test;

namespace {

/// Buffers of one rank for calls that come again and again.
struct Buffers {
  explicit Buffers(int rank) : rank(rank) {}

  void allreduce(coll_comm *comm, size_t count, bool inPlace, size_t shift) {
    std::vector<int32_t> values = inputOf(rank, count);
    std::copy(values.begin(), values.end(), in + shift);
    int32_t *to = inPlace ? in + shift : out + shift;
    ASSERT_EQ(coll_allreduce(in + shift, to, count, COLL_I32, COLL_SUM, comm,
                             nullptr),
              COLL_OK)
        << coll_last_error();
    EXPECT_TRUE(
        std::equal(to, to + count, sumOf(coll_comm_size(comm), count).begin()));
  }

  void broadcast(coll_comm *comm, size_t count, int root) {
    std::vector<int32_t> values = inputOf(rank, count);
    std::copy(values.begin(), values.end(), in);
    ASSERT_EQ(coll_broadcast(in, out, count, COLL_I32, root, comm, nullptr),
              COLL_OK)
        << coll_last_error();
    EXPECT_TRUE(std::equal(out, out + count, inputOf(root, count).begin()));
  }

  static constexpr size_t most = 5000, shifts = 3;
  int rank;
  int32_t in[most + shifts], out[most + shifts];
};

TEST(Repeat, EveryCallRunsWithItsOwnArguments) {
  constexpr int nranks = 2;
  HandPlan ring({ringAllreduce(nranks)}), chain({chainBroadcast(nranks)});
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    ASSERT_EQ(coll_use(comm, &ring.plan()), COLL_OK);
    ASSERT_EQ(coll_use(comm, &chain.plan()), COLL_OK);
    auto buffers = std::make_unique<Buffers>(rank);
    std::mt19937 random(1); // the same calls on both ranks
    const size_t counts[] = {0, 1, 2, 77, 78, Buffers::most};
    for (int i = 0; i != 1000 && !testing::Test::HasFailure(); ++i) {
      size_t count = counts[random() % std::size(counts)];
      if (random() % 2)
        buffers->broadcast(comm, count, int(random() % nranks));
      else
        buffers->allreduce(comm, count, random() % 2,
                           random() % Buffers::shifts);
      // The same member of the plan, filled by a call of another kind.
      if (random() % 8 == 0)
        checkAllreduce(ring.plan(), rank, comm, count);
    }
  });
}

TEST(Repeat, MistakesStayMistakes) {
  HandPlan ring({ringAllreduce(1)});
  onThreads(1, [&](int, coll_comm *comm) {
    ASSERT_EQ(coll_use(comm, &ring.plan()), COLL_OK);
    int32_t in[8] = {}, out[8] = {};
    for (int i = 0; i != 3; ++i) {
      EXPECT_EQ(coll_allreduce(in, out, 4, COLL_I32, COLL_SUM, comm, nullptr),
                COLL_OK);
      EXPECT_EQ(
          coll_allreduce(in, in + 1, 4, COLL_I32, COLL_SUM, comm, nullptr),
          COLL_INVALID);
      EXPECT_EQ(
          coll_allreduce(in, out, 4, COLL_I32, COLL_PREMUL_SUM, comm, nullptr),
          COLL_INVALID);
      EXPECT_EQ(coll_allreduce(in, out, 4, COLL_I32, COLL_SUM, comm,
                               coll_stream(&in)),
                COLL_INVALID);
    }
    ASSERT_EQ(coll_comm_abort(comm, "enough"), COLL_OK);
    EXPECT_EQ(coll_allreduce(in, out, 4, COLL_I32, COLL_SUM, comm, nullptr),
              COLL_ABORTED);
  });
}

TEST(Repeat, APlanPutToUseLaterIsFound) {
  Schedule first = ringAllreduce(1), second = ringAllreduce(1);
  first.sizesLow = 1 << 20; // far away
  second.digest = 77;
  HandPlan far({first}), near({second});
  static int nearRuns;
  nearRuns = 0;
  std::vector<coll_kernel> kernels = handKernels(true);
  for (coll_kernel &kernel : kernels)
    kernel.fn = [](const coll_args *, uint32_t) { ++nearRuns; };
  near.setKernels(kernels);
  onThreads(1, [&](int, coll_comm *comm) {
    int32_t in = 1, out = 0;
    for (HandPlan *plan : {&far, &near}) {
      ASSERT_EQ(coll_use(comm, &plan->plan()), COLL_OK);
      for (int i = 0; i != 3; ++i)
        ASSERT_EQ(
            coll_allreduce(&in, &out, 1, COLL_I32, COLL_SUM, comm, nullptr),
            COLL_OK);
    }
    EXPECT_EQ(nearRuns, 3);
  });
}

TEST(Repeat, SeesWhatHasBeenRegisteredSince) {
  HandPlan ring({ringAllreduce(2)});
  static thread_local uint64_t window;
  std::vector<coll_kernel> kernels = handKernels(true);
  for (coll_kernel &kernel : kernels)
    kernel.fn = [](const coll_args *args, uint32_t) {
      window = args->bufs[1].win;
    };
  ring.setKernels(kernels);
  // These kernels wait for nobody, and there is no window where a peer has
  // left.
  std::barrier<> together(2);
  onThreads(2, [&](int, coll_comm *comm) {
    constexpr size_t bytes = 1 << 16;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, bytes), 0);
    void *memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_EQ(coll_use(comm, &ring.plan()), COLL_OK);
    int32_t in[4] = {};
    auto windowOfCall = [&] {
      window = UINT64_MAX;
      EXPECT_EQ(
          coll_allreduce(in, memory, 4, COLL_I32, COLL_SUM, comm, nullptr),
          COLL_OK);
      return window;
    };
    EXPECT_EQ(windowOfCall(), 0u);
    EXPECT_EQ(windowOfCall(), 0u);
    ASSERT_EQ(coll_register(comm, memory, bytes, fd), COLL_OK);
    EXPECT_NE(windowOfCall(), 0u);
    EXPECT_NE(windowOfCall(), 0u);
    ASSERT_EQ(coll_deregister(comm, memory), COLL_OK);
    EXPECT_EQ(windowOfCall(), 0u);
    together.arrive_and_wait();
    munmap(memory, bytes);
    close(fd);
  });
}

} // namespace
