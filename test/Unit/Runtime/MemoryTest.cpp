//===- MemoryTest.cpp - Calls when there is no memory ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of two ranks again and again, until each allocation that one of them
// makes in it has failed once.  Whatever it was, nothing hangs or terminates;
// COLL_NO_MEMORY has left the communicator as it was, so that the rank can call
// again; and any other error ends the communicator on both ranks.
//
//===----------------------------------------------------------------------===//

#include "FailingMemory.h"
#include "Launching.h"

#include <atomic>
#include <barrier>
#include <csignal>

using namespace coll::test;

namespace {

/// Rings of two instances: a worker thread runs the second one.
const coll_plan &ring() {
  static const HandPlan plan({ringAllreduce(2, 2)});
  return plan.plan();
}

/// A rank; its calls allocate only what the library allocates.
struct Caller {
  Caller(int rank, const coll_id &id) : rank(rank), id(id) {
    call = arrays.in(in.data()).out(out.data()).count(in.size());
    ring();
  }
  coll_status init() {
    coll_config config = deadlines(30'000, 10'000);
    return coll_comm_init(&comm, 2, &id, rank, &config);
  }
  int rank;
  coll_id id;
  coll_comm *comm = nullptr, *sub = nullptr;
  std::vector<int32_t> in = inputOf(rank, 1000);
  std::vector<int32_t> out = std::vector<int32_t>(1000, -1);
  Call arrays;
  const coll_call *call;
};

using Action = coll_status (*)(Caller &);

coll_status launch(Caller &c) {
  return coll_launch(&ring(), c.call, c.comm, nullptr);
}
coll_status prepare(Caller &c) {
  return coll_launch_prepare(&ring(), c.call, c.comm);
}
coll_status use(Caller &c) { return coll_use(c.comm, &ring()); }
coll_status allreduce(Caller &c) {
  return coll_allreduce(c.in.data(), c.out.data(), c.in.size(), COLL_I32,
                        COLL_SUM, c.comm, nullptr);
}
coll_status duplicate(Caller &c) { return coll_comm_dup(c.comm, &c.sub); }
coll_status split(Caller &c) {
  return coll_comm_split(c.comm, 0, -c.rank, &c.sub);
}
coll_status allocate(Caller &c) {
  void *memory = nullptr;
  coll_status status = coll_mem_alloc(c.comm, 100, &memory);
  return status == COLL_OK ? coll_mem_free(c.comm, memory) : status;
}

bool areSignalsBlocked() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGUSR1) != 0;
}

/// Two ranks on threads of their own, one of them short of memory in `action`.
class TwoRanks {
public:
  TwoRanks(int victim, Shortage &shortage)
      : victim(victim), shortage(shortage) {
    EXPECT_EQ(coll_make_id(&id), COLL_OK);
  }
  void init();
  void act(const std::vector<Action> &before, Action action);
  void abort();
  void destroy();

private:
  template <typename Body> void onRanks(Body body) {
    asThreads(2, [&](int rank) {
      Caller caller(rank, id);
      body(caller);
    });
  }
  template <typename Body> coll_status attempt(Caller &caller, Body body) {
    if (caller.rank != victim)
      return body();
    coll_status status;
    {
      Shortage::OnThisThread now(shortage);
      status = body();
    }
    EXPECT_FALSE(areSignalsBlocked());
    return status;
  }
  void end(Caller &caller, coll_status expected) {
    if (caller.sub)
      (void)coll_comm_destroy(caller.sub);
    EXPECT_EQ(coll_comm_destroy(caller.comm), expected) << coll_last_error();
  }

  coll_id id = {};
  int victim;
  Shortage &shortage;
  std::barrier<> both{2};
  std::atomic<int> numDone{0};
  std::atomic<bool> isLost{false}, hasFailed{false};
};

/// A rank whose init has failed comes again, unless that was the other's end.
void TwoRanks::init() {
  onRanks([&](Caller &caller) {
    coll_status status = attempt(caller, [&] { return caller.init(); });
    if (status == COLL_NO_MEMORY && caller.rank == victim) {
      EXPECT_EQ(caller.comm, nullptr);
      for (int i = 0; i != 20 && numDone == 0; ++i)
        sleepMs(1);
      if (numDone == 0)
        status = caller.init();
    }
    ++numDone;
    EXPECT_NE(status, COLL_TIMEOUT) << coll_last_error();
    EXPECT_EQ(caller.comm != nullptr, status == COLL_OK);
    if (!shortage.hasStruck()) {
      EXPECT_EQ(status, COLL_OK) << coll_last_error();
    }
    (void)coll_comm_destroy(caller.comm);
  });
}

void TwoRanks::act(const std::vector<Action> &before, Action action) {
  onRanks([&](Caller &caller) {
    bool isReady = caller.init() == COLL_OK;
    for (Action earlier : before)
      isReady = isReady && earlier(caller) == COLL_OK;
    if (!isReady)
      isLost = true;
    EXPECT_TRUE(isReady) << coll_last_error();
    both.arrive_and_wait();
    if (isLost)
      return;
    coll_status status = attempt(caller, [&] { return action(caller); });
    if (status == COLL_NO_MEMORY) {
      EXPECT_EQ(caller.rank, victim);
      EXPECT_EQ(errorOf(caller.comm).status, COLL_OK);
      status = action(caller);
    }
    if (status != COLL_OK)
      hasFailed = true;
    both.arrive_and_wait();
    coll_status expected = COLL_OK;
    if (hasFailed) {
      EXPECT_TRUE(shortage.hasStruck());
      expected = awaitError(caller.comm).status;
      EXPECT_EQ(expected, COLL_SYSTEM) << errorOf(caller.comm).text;
      EXPECT_TRUE(status == COLL_OK || status == COLL_SYSTEM) << status;
    } else if (action == launch || action == allreduce) {
      EXPECT_EQ(caller.out, sumOf(2, caller.in.size()));
    }
    both.arrive_and_wait();
    end(caller, expected);
  });
}

void TwoRanks::abort() {
  onRanks([&](Caller &caller) {
    ASSERT_EQ(caller.init(), COLL_OK) << coll_last_error();
    if (caller.rank == victim) {
      EXPECT_EQ(
          attempt(caller, [&] { return coll_comm_abort(caller.comm, "so"); }),
          COLL_OK);
    }
    coll_status found = awaitError(caller.comm).status;
    EXPECT_TRUE(found == COLL_ABORTED || found == COLL_SYSTEM) << found;
    end(caller, found);
  });
}

void TwoRanks::destroy() {
  onRanks([&](Caller &caller) {
    ASSERT_EQ(caller.init(), COLL_OK) << coll_last_error();
    coll_status status =
        attempt(caller, [&] { return coll_comm_destroy(caller.comm); });
    EXPECT_TRUE(status == COLL_OK || status == COLL_SYSTEM ||
                status == COLL_PEER_LOST)
        << status;
  });
}

/// Runs `body` with every allocation of either rank failing in turn, alone or
/// with all that follow it.
template <typename Body> void sweep(Body body) {
  constexpr int maxAllocations = 5000;
  RendezvousDirectory directory;
  const std::map<std::string, std::string> values = {{"COLL_NT", "0"}};
  Variables variables(values);
  Holdings before = Holdings::now();
  for (int victim : {0, 1})
    for (bool lasts : {false, true})
      for (int first = 1;; ++first) {
        Shortage shortage(first, lasts);
        TwoRanks ranks(victim, shortage);
        body(ranks);
        ASSERT_LT(first, maxAllocations);
        ASSERT_FALSE(testing::Test::HasFailure())
            << "rank " << victim << ", allocation " << first
            << (lasts ? " and all that follow" : "");
        if (!shortage.hasStruck())
          break;
      }
  EXPECT_EQ(Holdings::now(), before);
}

TEST(NoMemory, InitCanBeTriedAgain) {
  sweep([](TwoRanks &ranks) { ranks.init(); });
}
TEST(NoMemory, Prepare) {
  sweep([](TwoRanks &ranks) { ranks.act({}, prepare); });
}
TEST(NoMemory, FirstLaunch) {
  sweep([](TwoRanks &ranks) { ranks.act({}, launch); });
}
TEST(NoMemory, LaterLaunchesNeedNone) {
  Shortage shortage(1);
  RendezvousDirectory directory;
  TwoRanks(0, shortage).act({launch}, launch);
  EXPECT_FALSE(shortage.hasStruck());
}
TEST(NoMemory, Standard) {
  sweep([](TwoRanks &ranks) { ranks.act({use}, allreduce); });
}
TEST(NoMemory, Use) {
  sweep([](TwoRanks &ranks) { ranks.act({}, use); });
}
TEST(NoMemory, Duplicate) {
  sweep([](TwoRanks &ranks) { ranks.act({}, duplicate); });
}
TEST(NoMemory, Split) {
  sweep([](TwoRanks &ranks) { ranks.act({launch}, split); });
}
TEST(NoMemory, Allocate) {
  sweep([](TwoRanks &ranks) { ranks.act({}, allocate); });
}
TEST(NoMemory, AbortAlwaysAborts) {
  sweep([](TwoRanks &ranks) { ranks.abort(); });
}
TEST(NoMemory, DestroyAlwaysDestroys) {
  sweep([](TwoRanks &ranks) { ranks.destroy(); });
}

/// The library's own threads have no caller that could be told.
TEST(NoMemory, ThreadsOfTheLibraryEndTheCommunicator) {
  RendezvousDirectory directory;
  for (bool lasts : {false, true})
    for (int first = 1;; ++first) {
      Shortage shortage(first, lasts);
      {
        Shortage::OnLibraryThreads now(shortage);
        coll_id id;
        ASSERT_EQ(coll_make_id(&id), COLL_OK);
        asThreads(2, [&](int rank) {
          Caller caller(rank, id);
          ASSERT_EQ(caller.init(), COLL_OK) << coll_last_error();
          for (Action action : {launch, duplicate}) {
            coll_status status = action(caller);
            EXPECT_TRUE(status == COLL_OK || status == COLL_SYSTEM)
                << coll_last_error();
          }
          for (coll_comm *comm : {caller.sub, caller.comm}) {
            coll_status status = coll_comm_destroy(comm);
            EXPECT_TRUE(status == COLL_OK || status == COLL_SYSTEM ||
                        status == COLL_PEER_LOST)
                << coll_last_error();
          }
        });
      }
      ASSERT_FALSE(HasFailure()) << "allocation " << first;
      if (!shortage.hasStruck())
        break;
    }
}

} // namespace
