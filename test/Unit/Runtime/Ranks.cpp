//===- Ranks.cpp - Ranks as threads and as processes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace coll::test {

RendezvousDirectory::RendezvousDirectory() {
  char name[] = "/tmp/coll-test-XXXXXX";
  EXPECT_NE(mkdtemp(name), nullptr);
  this->name = name;
  setenv("COLL_DIR", name, 1);
}

RendezvousDirectory::~RendezvousDirectory() {
  unsetenv("COLL_DIR");
  std::filesystem::remove_all(name);
}

std::vector<std::string> RendezvousDirectory::entries() const {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(name))
    names.push_back(entry.path().filename());
  return names;
}

static void setVariable(const std::string &name, const std::string &value) {
  if (value.empty())
    unsetenv(name.c_str());
  else
    setenv(name.c_str(), value.c_str(), 1);
}

Variables::Variables(const std::map<std::string, std::string> &values) {
  for (const auto &[name, value] : values) {
    const char *old = getenv(name.c_str());
    before[name] = old ? old : "";
    setVariable(name, value);
  }
}

Variables::~Variables() {
  for (const auto &[name, value] : before)
    setVariable(name, value);
}

static size_t countEntries(const char *directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto &entry :
       std::filesystem::directory_iterator(directory))
    ++count;
  return count;
}

Holdings Holdings::now() {
  Holdings holdings;
  holdings.descriptors = countEntries("/proc/self/fd");
  holdings.threads = countEntries("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    holdings.mappings += line.find("/memfd:coll") != std::string::npos;
  return holdings;
}

void asThreads(int nranks, const std::function<void(int)> &body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank != nranks; ++rank)
    threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread &thread : threads)
    thread.join();
}

static std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(got));
  return text;
}

std::vector<std::string>
asProcesses(int nranks, const std::function<std::string(int)> &body) {
  std::vector<pid_t> children;
  std::vector<int> results;
  for (int rank = 0; rank != nranks; ++rank) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t child = fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      std::string text = body(rank);
      ssize_t written = write(ends[1], text.data(), text.size());
      _exit(written == ssize_t(text.size()) ? 0 : 100);
    }
    close(ends[1]);
    children.push_back(child);
    results.push_back(ends[0]);
  }
  std::vector<std::string> texts;
  for (int rank = 0; rank != nranks; ++rank) {
    std::string text = readAll(results[size_t(rank)]);
    close(results[size_t(rank)]);
    int status = 0;
    EXPECT_EQ(waitpid(children[size_t(rank)], &status, 0),
              children[size_t(rank)]);
    if (WIFSIGNALED(status))
      text = "signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      text += " exit " + std::to_string(WEXITSTATUS(status));
    texts.push_back(text);
  }
  return texts;
}

void withComms(int nranks, const WithComm &body, const coll_config *config) {
  coll_id id;
  ASSERT_EQ(coll_make_id(&id), COLL_OK) << coll_last_error();
  asThreads(nranks, [&](int rank) {
    coll_comm *comm = nullptr;
    ASSERT_EQ(coll_comm_init(&comm, nranks, &id, rank, config), COLL_OK)
        << coll_last_error();
    body(rank, comm);
  });
}

coll_config deadlines(uint64_t waitMs, uint64_t initMs) {
  coll_config config = COLL_CONFIG_INIT;
  config.deadline_ns = waitMs * 1'000'000;
  config.init_deadline_ns = initMs * 1'000'000;
  return config;
}

coll_error errorOf(coll_comm *comm) {
  coll_error error;
  EXPECT_EQ(coll_comm_error(comm, &error), COLL_OK);
  return error;
}

coll_error awaitError(coll_comm *comm) {
  coll_error error = errorOf(comm);
  for (int i = 0; i != 10'000 && error.status == COLL_OK; ++i) {
    sleepMs(1);
    error = errorOf(comm);
  }
  return error;
}

void sleepMs(unsigned ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

} // namespace coll::test
