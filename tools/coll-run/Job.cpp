//===- Job.cpp - The processes of a run, and what they share --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Job.h"

#include "llvm/Support/raw_ostream.h"

#include <climits>
#include <csignal>
#include <cstring>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace coll;

/// Between processes, so not std::atomic's own.
static void sleepOn(std::atomic<uint32_t> &word, uint32_t value, unsigned ms) {
  timespec patience = {0, long(ms) * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &patience, nullptr, 0);
}
static void wakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Many more ranks than processors would keep these busy by asking, so after a
/// while each is woken once; now and then it looks whether the job has failed.
bool SharedBarrier::wait(uint32_t members, std::atomic<uint32_t> &failed,
                         const std::function<void()> &idle) {
  constexpr uint32_t few = 16, yields = 1000;
  constexpr unsigned idleMs = 1, patienceMs = 50;
  uint32_t mine = generation.load();
  if (arrived.fetch_add(1) + 1 == members) {
    arrived.store(0);
    generation.fetch_add(1);
    wakeAll(generation);
    return failed.load() == 0;
  }
  for (uint64_t polls = 0; generation.load() == mine; ++polls) {
    if (failed.load())
      return false;
    if (idle)
      idle();
    if (members <= few && polls < yields)
      sched_yield();
    else
      sleepOn(generation, mine, idle ? idleMs : patienceMs);
  }
  return failed.load() == 0;
}

std::unique_ptr<Job> Job::create(const RunOptions &options,
                                 const coll_plan *plan, std::vector<Row> rows,
                                 uint32_t numRanks) {
  std::unique_ptr<Job> job(new Job(options, plan, std::move(rows), numRanks));
  bool hasInPlace =
      llvm::any_of(job->rows, [](const Row &row) { return row.canBeInPlace; });
  if (!options.inPlaceOnly)
    job->modes.push_back(Mode::OutOfPlace);
  if (hasInPlace)
    job->modes.push_back(Mode::InPlace);
  if (!job->map())
    return nullptr;
  if (coll_make_id(&job->id) != COLL_OK) {
    llvm::errs() << "coll-run: error: " << coll_last_error() << "\n";
    return nullptr;
  }
  return job;
}

bool Job::map() {
  numBuffers = rows[0].graph->buffers.size();
  std::vector<uint64_t> largest(size_t(numRanks) * numBuffers);
  for (const Row &row : rows)
    for (Rank r = 0; r < numRanks; ++r) {
      std::vector<BufferLayout> layout = layoutOf(row, r);
      for (uint32_t b = 0; b < numBuffers; ++b)
        largest[size_t(r) * numBuffers + b] =
            std::max(largest[size_t(r) * numBuffers + b], layout[b].bytes);
    }
  size_t at = (sizeof(SharedState) + 4095) / 4096 * 4096;
  for (uint64_t bytes : largest) {
    offsets.push_back(at);
    at += (bytes + 4095) / 4096 * 4096;
  }
  sharedBytes = at;
  void *memory = mmap(nullptr, sharedBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    llvm::errs() << "coll-run: error: no " << sharedBytes
                 << " bytes of memory: " << strerror(errno) << "\n";
    return false;
  }
  shared = static_cast<uint8_t *>(memory);
  state = new (memory) SharedState();
  return true;
}

Job::~Job() {
  for (auto &thread : threads)
    if (thread->thread.joinable())
      thread->thread.join();
  for (pid_t child : children)
    if (child > 0)
      kill(child, SIGKILL);
  for (pid_t child : children)
    if (child > 0)
      waitpid(child, nullptr, 0);
  if (shared)
    munmap(shared, sharedBytes);
}

bool Job::startThread(Rank rank) {
  auto made = std::make_unique<RankThread>();
  RankThread &entry = *made;
  // Without exceptions a thread that cannot be had ends the program: as many as
  // there may be processes are few.
  made->thread = std::thread([this, rank, &entry] {
    entry.status = runRank(*this, rank);
    entry.hasEnded.store(true);
  });
  threads.push_back(std::move(made));
  return true;
}

bool Job::start() {
  llvm::outs().flush();
  llvm::errs().flush();
  for (Rank r = 0; options.threads && r < numRanks; ++r)
    startThread(r);
  if (options.threads)
    return true;
  pid_t parent = getpid();
  for (Rank r = 0; r < numRanks; ++r) {
    pid_t pid = fork();
    if (pid < 0) {
      llvm::errs() << "coll-run: error: cannot start rank " << r << ": "
                   << strerror(errno) << "\n";
      return false;
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent)
        _exit(1);
      _exit(runRank(*this, r));
    }
    children.push_back(pid);
  }
  return true;
}

/// Looks whether a rank has ended: one question for all.
void Job::watch() {
  int status;
  for (pid_t pid;
       !children.empty() && (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    auto child = llvm::find(children, pid);
    if (child == children.end())
      continue;
    *child = 0;
    noteEnd(Rank(child - children.begin()), status);
  }
  for (Rank r = 0; r < threads.size(); ++r) {
    RankThread &thread = *threads[r];
    if (thread.isNoted || !thread.hasEnded.load())
      continue;
    thread.isNoted = true;
    noteEnd(r, W_EXITCODE(thread.status, 0));
  }
}

/// As waitpid has it.
void Job::noteEnd(Rank rank, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  RankResult &result = state->results[rank];
  bool wasOver = state->failed.exchange(1) != 0;
  if (result.error[0])
    return;
  if (WIFSIGNALED(status))
    snprintf(result.error, sizeof result.error, "killed by signal %d (%s)",
             WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (wasOver) // it has left a barrier, and knows no more than that
    ++numFollowers;
  else
    snprintf(result.error, sizeof result.error, "ended with status %d",
             WEXITSTATUS(status));
}

bool Job::areGone() const {
  return llvm::none_of(children, [](pid_t child) { return child > 0; }) &&
         llvm::all_of(threads, [](auto &thread) { return thread->isNoted; });
}

/// Threads cannot be ended; with those that do not end the program does.
void Job::endAll() {
  auto note = [&](Rank r) {
    RankResult &result = state->results[r];
    if (!result.error[0])
      snprintf(result.error, sizeof result.error,
               "did not end when the job had failed");
  };
  for (Rank r = 0; r < children.size(); ++r) {
    if (children[r] <= 0)
      continue;
    note(r);
    kill(children[r], SIGKILL);
  }
  bool isLeft = false;
  for (Rank r = 0; r < threads.size(); ++r)
    if (!threads[r]->isNoted) {
      note(r);
      isLeft = true;
    }
  if (!isLeft)
    return;
  printErrors();
  llvm::outs().flush();
  _exit(1);
}

bool Job::meet() {
  return state->all.wait(numRanks + 1, state->failed, [this] { watch(); });
}

/// Many ranks fail alike.
void Job::printErrors() {
  constexpr unsigned mostPrinted = 16;
  unsigned failed = 0;
  for (Rank r = 0; r < numRanks; ++r)
    if (state->results[r].error[0] && ++failed <= mostPrinted)
      llvm::errs() << "coll-run: error: rank " << r << ": "
                   << state->results[r].error << "\n";
  if (failed > mostPrinted)
    llvm::errs() << "coll-run: error: and " << failed - mostPrinted
                 << " more ranks failed\n";
}

bool Job::finish() {
  // Ranks of a failed job get a moment to say what they saw.
  constexpr unsigned graceMs = 5000;
  unsigned failedMs = 0;
  while (true) {
    watch();
    if (areGone())
      break;
    usleep(1000);
    if (state->failed.load() && ++failedMs == graceMs)
      endAll();
  }
  printErrors();
  if (numFollowers)
    llvm::errs() << "coll-run: note: and " << numFollowers
                 << (numFollowers == 1 ? " other" : " others") << " stopped\n";
  return state->failed.load() == 0;
}
