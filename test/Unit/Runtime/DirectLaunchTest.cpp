//===- DirectLaunchTest.cpp - Launches whose messages go direct -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launch upon launch whose users write their buffers as soon as they have them
// back, and windows that come and go.
//
//===----------------------------------------------------------------------===//

#include "DirectLaunches.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

using namespace coll;
using namespace coll::test;
using namespace coll::test::direct;

namespace {

/// Launches back to back, of other sizes and roots, in place or not, in windows
/// or not, by ranks of which now and then one is late. Whatever a user does
/// between two launches is done at once.
void replay(const Compiled &schedule, int rank, coll_comm *comm, int launches,
            bool alwaysShared) {
  Buffers buffers(comm);
  std::mt19937 common(7), own(unsigned(100 + rank));
  for (int l = 0; l != launches; ++l) {
    const size_t count = most / 10 + common() % (most * 9 / 10);
    Launch launch{schedule, count, l, int(common() % nranks)};
    const bool isInShared = alwaysShared || own() % 2,
               isOutShared = alwaysShared || own() % 2;
    const bool isInPlace = own() % 3 == 0;
    int32_t *out = buffers.out(isOutShared);
    int32_t *in =
        isInPlace ? out + launch.ownPart(rank) : buffers.in(isInShared);
    if (own() % 8 == 0)
      sleepMs(own() % 3);
    launch.fill(rank, in);
    ASSERT_EQ(launch.run(comm, in, out), COLL_OK) << coll_last_error();
    ASSERT_EQ(launch.numWrong(out), 0u)
        << schedule.name << ", launch " << l << ", " << count << " elements"
        << (isInPlace ? ", in place" : "");
    std::memset(out, 0x5a, count * 4);
    std::memset(in, 0xa5, count * 4);
  }
}

TEST(DirectLaunch, ManyLaunchesInWindows) {
  for (const Compiled &schedule : schedules)
    onThreads(nranks, [&](int rank, coll_comm *comm) {
      replay(schedule, rank, comm, 40, true);
    });
}

TEST(DirectLaunch, WindowsComeAndGo) {
  for (const Compiled &schedule : schedules)
    onThreads(nranks, [&](int rank, coll_comm *comm) {
      replay(schedule, rank, comm, 60, false);
    });
}

// What the root sent in the ring is still there when it has a window: nobody
// may take that for the launch whose message is in the ring. Only through the
// ring may the root be a launch ahead, so nothing else is offered.
TEST(DirectLaunch, AWindowAfterMessagesInTheRing) {
  setenv("COLL_CMA", "0", 1);
  std::atomic<int> before{0};
  onThreads(nranks, [&](int rank, coll_comm *comm) {
    Buffers buffers(comm);
    for (int l = -1; l != 6; ++l) { // the first connects
      Launch launch{schedules[1], most / 4, l};
      const bool isShared = l % 2 == 1;
      while (rank != 0 && l % 2 == 0 && before.load() <= l)
        sleepMs(1);
      launch.fill(rank, buffers.in(isShared));
      if (rank == 0 && isShared) { // the others are where they were
        std::thread late([&] {
          sleepMs(30);
          before.store(l + 1);
        });
        EXPECT_EQ(launch.run(comm, buffers.in(true), buffers.out(true)),
                  COLL_OK);
        late.join();
      } else {
        EXPECT_EQ(launch.run(comm, buffers.in(isShared), buffers.out(isShared)),
                  COLL_OK);
      }
      EXPECT_EQ(launch.numWrong(buffers.out(isShared)), 0u)
          << "rank " << rank << ", launch " << l;
    }
  });
  unsetenv("COLL_CMA");
}

} // namespace
