//===- InitTest.cpp - Ranks meet, or learn why they do not ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace coll::test;

namespace {

class InitTest : public testing::Test {
protected:
  RendezvousDirectory directory;
};

/// What coll_comm_init says on every rank, each with its own arguments.
struct Outcome {
  coll_status status = COLL_OK;
  std::string text;
};
struct Attempt {
  int rank, nranks;
};

std::vector<Outcome> attempt(const std::vector<Attempt> &attempts,
                             uint64_t initMs = 20'000) {
  coll_id id;
  EXPECT_EQ(coll_make_id(&id), COLL_OK);
  std::vector<Outcome> outcomes(attempts.size());
  coll_config config = deadlines(20'000, initMs);
  asThreads(int(attempts.size()), [&](int i) {
    auto [rank, nranks] = attempts[size_t(i)];
    coll_comm *comm = nullptr;
    Outcome &outcome = outcomes[size_t(i)];
    outcome.status = coll_comm_init(&comm, nranks, &id, rank, &config);
    if (outcome.status != COLL_OK)
      outcome.text = coll_last_error();
    EXPECT_EQ(comm == nullptr, outcome.status != COLL_OK);
    coll_comm_destroy(comm);
  });
  return outcomes;
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'";
}

TEST_F(InitTest, ThreadsMeetAndPart) {
  for (int nranks : {1, 2, 3, 5, 8, 16}) {
    std::atomic<int> good{0};
    withComms(nranks, [&](int rank, coll_comm *comm) {
      EXPECT_EQ(coll_comm_rank(comm), rank);
      EXPECT_EQ(coll_comm_size(comm), nranks);
      EXPECT_EQ(errorOf(comm).status, COLL_OK);
      EXPECT_EQ(coll_comm_destroy(comm), COLL_OK) << coll_last_error();
      ++good;
    });
    EXPECT_EQ(good, nranks);
    EXPECT_TRUE(directory.entries().empty());
  }
}

TEST_F(InitTest, ProcessesMeetAndPart) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(5, [&](int rank) -> std::string {
    coll_comm *comm;
    if (coll_comm_init(&comm, 5, &id, rank, nullptr) != COLL_OK ||
        coll_comm_destroy(comm) != COLL_OK)
      return coll_last_error();
    return "";
  });
  EXPECT_EQ(results, std::vector<std::string>(5));
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(InitTest, TheEnvironmentNamesTheJob) {
  auto results = asProcesses(3, [&](int rank) -> std::string {
    setenv("COLL_RANK", std::to_string(rank).c_str(), 1);
    setenv("COLL_NRANKS", "3", 1);
    setenv("COLL_JOB", "a job", 1);
    for (int again = 0; again != 3; ++again) { // the same name, one by one
      coll_comm *comm;
      if (coll_comm_init_env(&comm, nullptr) != COLL_OK ||
          coll_comm_rank(comm) != rank || coll_comm_destroy(comm) != COLL_OK)
        return coll_last_error();
    }
    return "";
  });
  EXPECT_EQ(results, std::vector<std::string>(3));
}

TEST_F(InitTest, RanksThatNeverComeAreNamed) {
  auto outcomes = attempt({{0, 5}, {1, 5}, {4, 5}}, 300);
  for (const Outcome &outcome : outcomes) {
    EXPECT_EQ(outcome.status, COLL_TIMEOUT);
    expectContains(outcome.text, "ranks 2 and 3 of 5 never came");
  }
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(InitTest, RankZeroThatNeverComesIsNamed) {
  auto outcomes = attempt({{1, 2}}, 200);
  EXPECT_EQ(outcomes[0].status, COLL_TIMEOUT);
  expectContains(outcomes[0].text, "rank 0 of id");
  expectContains(outcomes[0].text,
                 "never came: nothing listens at " + directory.path());
}

TEST_F(InitTest, DifferentNumbersOfRanks) {
  // Many at the door at once, and again: each must get the reason.
  for (int i = 0; i != 20; ++i)
    for (const Outcome &outcome : attempt({{0, 8},
                                           {1, 8},
                                           {2, 9},
                                           {3, 8},
                                           {4, 8},
                                           {5, 8},
                                           {6, 8},
                                           {7, 8}})) {
      EXPECT_EQ(outcome.status, COLL_INVALID);
      expectContains(outcome.text, "rank 2 (pid " + std::to_string(getpid()) +
                                       ") says that there are 9 ranks, rank "
                                       "0 says 8");
    }
}

TEST_F(InitTest, ARankTwice) {
  for (const Outcome &outcome : attempt({{0, 3}, {1, 3}, {1, 3}})) {
    EXPECT_EQ(outcome.status, COLL_INVALID);
    expectContains(outcome.text, "two processes say that they are rank 1");
  }
}

TEST_F(InitTest, RankZeroTwice) {
  auto outcomes = attempt({{0, 2}, {0, 2}}, 300);
  if (outcomes[0].status == COLL_TIMEOUT)
    std::swap(outcomes[0], outcomes[1]);
  EXPECT_EQ(outcomes[0].status, COLL_INVALID);
  expectContains(outcomes[0].text, "already waits as rank 0");
  EXPECT_EQ(outcomes[1].status, COLL_TIMEOUT); // the other is none the worse
}

TEST_F(InitTest, BadArguments) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  coll_comm *comm;
  EXPECT_EQ(coll_comm_init(&comm, 0, &id, 0, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_init(&comm, 2, &id, 2, nullptr), COLL_INVALID);
  EXPECT_STREQ(coll_last_error(), "rank 2 is not from 0 to 1");
  EXPECT_EQ(coll_comm_init(&comm, 2, &id, -1, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_init(&comm, 2, nullptr, 0, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_init(nullptr, 2, &id, 0, nullptr), COLL_INVALID);
  coll_config config = COLL_CONFIG_INIT;
  config.device = -3;
  EXPECT_EQ(coll_comm_init(&comm, 1, &id, 0, &config), COLL_INVALID);
  config = COLL_CONFIG_INIT;
  config.size = 4;
  EXPECT_EQ(coll_comm_init(&comm, 1, &id, 0, &config), COLL_INVALID);
  coll_id made = id;
  made.bytes[0] ^= 1;
  EXPECT_EQ(coll_comm_init(&comm, 1, &made, 0, nullptr), COLL_INVALID);
  EXPECT_STREQ(coll_last_error(), "the id is not from coll_make_id");
  made = id;
  made.bytes[24] ^= 1; // of the host's id
  EXPECT_EQ(coll_comm_init(&comm, 1, &made, 0, nullptr), COLL_INVALID);
  expectContains(coll_last_error(), "not supported yet");
}

/// A socket that nobody listens at any more, as a killed rank 0 leaves it.
void leaveStaleSocket(const std::string &path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address),
            0);
  ASSERT_EQ(listen(fd, 1), 0);
  close(fd);
}

TEST_F(InitTest, LeftoversOfKilledRanksAreRemoved) {
  leaveStaleSocket(directory.path() + "/0123456789abcdef0123456789abcdef");
  for (const Outcome &outcome : attempt({{0, 2}, {1, 2}}))
    EXPECT_EQ(outcome.status, COLL_OK) << outcome.text;
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(InitTest, AKilledRankZeroCanBeFollowedByAnother) {
  Variables job({{"COLL_NRANKS", "2"}, {"COLL_JOB", "again"}});
  auto killed = asProcesses(1, [](int) -> std::string {
    setenv("COLL_RANK", "0", 1);
    alarm(1); // while it waits for rank 1
    coll_comm *comm;
    coll_comm_init_env(&comm, nullptr);
    return "came back";
  });
  EXPECT_EQ(killed[0], "signal 14");
  EXPECT_EQ(directory.entries().size(), 1u);
  auto results = asProcesses(2, [](int rank) -> std::string {
    setenv("COLL_RANK", std::to_string(rank).c_str(), 1);
    coll_comm *comm;
    if (coll_comm_init_env(&comm, nullptr) != COLL_OK)
      return coll_last_error();
    coll_comm_destroy(comm);
    return "";
  });
  EXPECT_EQ(results, std::vector<std::string>(2));
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(InitTest, ADirectoryThatIsOpenToOthersIsRefused) {
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  auto outcomes = attempt({{0, 2}});
  EXPECT_EQ(outcomes[0].status, COLL_SYSTEM);
  expectContains(outcomes[0].text, "is open to other users (mode 755)");
}

TEST_F(InitTest, ADirectoryThatCannotBe) {
  Variables variables(std::map<std::string, std::string>{
      {"COLL_DIR", directory.path() + "/a/b"}});
  auto outcomes = attempt({{0, 2}});
  EXPECT_EQ(outcomes[0].status, COLL_SYSTEM);
  expectContains(outcomes[0].text, "cannot create " + directory.path());
}

TEST_F(InitTest, ADirectoryThatIsTooLong) {
  Variables variables(std::map<std::string, std::string>{
      {"COLL_DIR", "/tmp/" + std::string(100, 'x')}});
  for (const Outcome &outcome : attempt({{0, 2}, {1, 2}})) {
    EXPECT_EQ(outcome.status, COLL_INVALID);
    expectContains(outcome.text, "is too long for a unix socket");
  }
}

TEST_F(InitTest, ARankThatDiesDuringInitIsNamed) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(3, [&](int rank) -> std::string {
    if (rank == 2)
      alarm(1); // rank 3 never comes
    coll_comm *comm;
    coll_comm_init(&comm, 4, &id, rank, nullptr);
    return coll_last_error();
  });
  EXPECT_EQ(results[2], "signal 14");
  expectContains(results[0], "rank 2 (pid ");
  expectContains(results[0], ") went away during init");
  expectContains(results[1], ") went away during init");
}

TEST_F(InitTest, RankZeroThatDiesDuringInitIsNamed) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    if (rank == 0)
      alarm(1);
    coll_comm *comm;
    coll_comm_init(&comm, 3, &id, rank, nullptr);
    return coll_last_error();
  });
  EXPECT_EQ(results[0], "signal 14");
  expectContains(results[1], "rank 0 went away during init");
}

TEST_F(InitTest, StrangersAtTheDoorAreIgnored) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  asThreads(3, [&](int rank) {
    if (rank == 2) { // talks nonsense until rank 1 comes
      std::vector<std::string> names;
      while (names.empty()) {
        sleepMs(1);
        names = directory.entries();
      }
      sockaddr_un address = {};
      address.sun_family = AF_UNIX;
      std::string path = directory.path() + "/" + names[0];
      path.copy(address.sun_path, sizeof address.sun_path - 1);
      for (int i = 0; i != 100; ++i) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(fd, reinterpret_cast<sockaddr *>(&address),
                    sizeof address) == 0 &&
            i % 2 == 0) {
          [[maybe_unused]] ssize_t sent = send(fd, "nonsense", 8, MSG_NOSIGNAL);
        }
        close(fd);
      }
      return;
    }
    if (rank == 1)
      sleepMs(100);
    coll_comm *comm = nullptr;
    EXPECT_EQ(coll_comm_init(&comm, 2, &id, rank, nullptr), COLL_OK)
        << coll_last_error();
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

TEST_F(InitTest, TooFewDescriptorsAreAnErrorForAll) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  for (int poor : {0, 3}) {
    auto results = asProcesses(12, [&](int rank) -> std::string {
      if (rank == poor) {
        int lowest = dup(STDIN_FILENO);
        close(lowest);
        // Enough to come to the door, too few for eleven peers.
        rlimit limit = {rlim_t(lowest) + 14, rlim_t(lowest) + 14};
        setrlimit(RLIMIT_NOFILE, &limit);
      }
      coll_comm *comm;
      coll_comm_init(&comm, 12, &id, rank, nullptr);
      return coll_last_error();
    });
    for (const std::string &result : results)
      expectContains(result, "(raise the limit: ulimit -n)");
    ASSERT_EQ(coll_make_id(&id), COLL_OK);
  }
}

TEST_F(InitTest, RanksWithOtherTablesAreRefused) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(3, [&](int rank) -> std::string {
    setenv("COLL_ALLREDUCE", rank == 2 ? "one" : "another", 1);
    coll_comm *comm;
    coll_status status = coll_comm_init(&comm, 3, &id, rank, nullptr);
    return status == COLL_INVALID ? coll_last_error() : "no error";
  });
  for (const std::string &result : results)
    expectContains(result, "rank 2 chooses schedules by another table than "
                           "rank 0: digest ");
}

TEST_F(InitTest, RankZerosRingSizesHold) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  auto results = asProcesses(2, [&](int rank) -> std::string {
    setenv("COLL_SLOTS", rank == 0 ? "8" : "2", 1);
    setenv("COLL_DEBUG", "INFO", 1);
    FILE *log =
        freopen((directory.path() + "/log" + std::to_string(rank)).c_str(), "w",
                stderr);
    coll_comm *comm;
    if (coll_comm_init(&comm, 2, &id, rank, nullptr) != COLL_OK)
      return coll_last_error();
    coll_comm_destroy(comm);
    fflush(log);
    return "";
  });
  EXPECT_EQ(results, std::vector<std::string>(2));
  std::ifstream log(directory.path() + "/log1");
  std::string text((std::istreambuf_iterator<char>(log)), {});
  expectContains(text, "rank 1 of 2: id ");
  expectContains(text, "rings of 8 x 65536 and 32 x 2048 bytes");
  expectContains(text, "rank 0's ring sizes hold");
}

TEST_F(InitTest, NothingIsLeftBehind) {
  { // what a first use of the libraries opens stays open
    attempt({{0, 2}, {1, 2}});
  }
  Holdings before = Holdings::now();
  attempt({{0, 4}, {1, 4}, {2, 4}, {3, 4}});
  EXPECT_EQ(Holdings::now(), before);
  attempt({{0, 3}, {1, 3}}, 200); // fails
  attempt({{0, 3}, {1, 3}, {1, 3}});
  EXPECT_EQ(Holdings::now(), before);
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(InitTest, AForkedChildMayNotUseIt) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK);
  coll_comm *comm;
  ASSERT_EQ(coll_comm_init(&comm, 1, &id, 0, nullptr), COLL_OK);
  auto results = asProcesses(1, [&](int) -> std::string {
    coll_error error;
    if (coll_comm_destroy(comm) != COLL_INVALID ||
        coll_comm_abort(comm, "no") != COLL_INVALID ||
        coll_comm_error(comm, &error) != COLL_INVALID)
      return "was allowed";
    return coll_last_error();
  });
  expectContains(results[0], "not to a forked child");
  EXPECT_EQ(errorOf(comm).status, COLL_OK);
  EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
}

} // namespace
