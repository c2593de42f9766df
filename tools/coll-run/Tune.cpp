//===- Tune.cpp - Measuring the table of schedules ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every candidate is run by a coll-run of its own, and the candidates take
// turns, round by round, so that all meet the same moods of the machine; a
// figure is the median of its rounds. Rounds end when the time is over, but
// the first is always whole. What is written is a table for COLL_TUNE, with
// the machine and its limits in comments.
//
//===----------------------------------------------------------------------===//

#include "tools/coll-run/Tune.h"
#include "lib/Library/Library.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

using namespace coll;

static const std::vector<TuneCandidate> candidates = {
    {"allreduce", "std_allreduce_one_shot", false},
    {"allreduce", "std_allreduce_one_shot", true},
    {"allreduce", "std_allreduce_two_shot", false},
    {"allreduce", "std_allreduce_ring", false},
    {"allreduce", "std_allreduce_ring", true},
    {"allgather", "std_allgather_direct", false},
    {"allgather", "std_allgather_direct", true},
    {"allgather", "std_allgather_ring", false},
    {"reduce_scatter", "std_reduce_scatter_direct", false},
    {"reduce_scatter", "std_reduce_scatter_direct", true},
    {"reduce_scatter", "std_reduce_scatter_ring", false},
    {"alltoall", "std_alltoall_direct", false},
    {"alltoall", "std_alltoall_direct", true},
    {"broadcast", "std_broadcast_direct", false},
    {"broadcast", "std_broadcast_direct", true},
    {"broadcast", "std_broadcast_chain", false},
    {"broadcast", "std_broadcast_halves", true},
    {"reduce", "std_reduce_direct", false},
    {"reduce", "std_reduce_direct", true},
    {"scatter", "std_scatter_direct", false},
    {"scatter", "std_scatter_direct", true},
    {"gather", "std_gather_direct", false},
    {"gather", "std_gather_direct", true}};

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "coll-run: error: --tune: " << message << "\n";
  return 1;
}

namespace {
class Tuner {
public:
  explicit Tuner(const RunOptions &options) : options(options) {}
  int run();

private:
  bool prepare();
  bool isWritable() const;
  bool measure(uint32_t ranks);
  bool runOne(const TuneCandidate &candidate, uint32_t ranks,
              std::vector<std::map<uint64_t, std::vector<double>>> &samples,
              size_t index);
  void progress(uint32_t ranks, unsigned round, size_t done) const;
  int write() const;

  const RunOptions &options;
  std::string program, folder, file, table;
  double end = 0;
  unsigned leastRounds = UINT_MAX;
};
} // namespace

/// The library's schedules as a file, and this program's own path.
bool Tuner::prepare() {
  program = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<64> path;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("coll-tune", path))
    return !fail("cannot make a folder: " + error.message());
  folder = path.str().str();
  file = folder + "/standard.coll";
  std::error_code error;
  llvm::raw_fd_ostream os(file, error);
  if (!error) {
    os << *libraryFile("standard.coll");
    os.close();
    error = os.error();
    os.clear_error();
  }
  return !error || !fail("cannot write '" + file + "': " + error.message());
}

/// What is there stays until there is something better.
bool Tuner::isWritable() const {
  std::error_code error;
  llvm::raw_fd_ostream os(options.tuneFile, error, llvm::sys::fs::OF_Append);
  return !error ||
         !fail("cannot write '" + options.tuneFile + "': " + error.message());
}

/// A line that is overwritten, for people who wait.
void Tuner::progress(uint32_t ranks, unsigned round, size_t done) const {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r%u ranks, round %u: %zu of %zu candidates \033[K", ranks,
            round + 1, done, candidates.size());
}

using Samples = std::vector<std::map<uint64_t, std::vector<double>>>;

/// Adds what a run says, a line per size: the mode out of place alone.
static void readTimes(llvm::StringRef csv,
                      std::map<uint64_t, std::vector<double>> &times) {
  for (llvm::StringRef line : llvm::split(csv, '\n')) {
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, ',');
    uint64_t bytes;
    double us;
    if (cells.size() > 8 && cells[2] == "out-of-place" &&
        !cells[3].getAsInteger(10, bytes) && !cells[8].getAsDouble(us))
      times[bytes].push_back(us);
  }
}

bool Tuner::runOne(const TuneCandidate &candidate, uint32_t ranks,
                   Samples &samples, size_t index) {
  std::string name = file + ":" + candidate.schedule;
  std::string count = std::to_string(ranks),
              low = std::to_string(options.minBytes),
              high = std::to_string(options.maxBytes),
              factor = std::to_string(options.factor),
              iterations = std::to_string(options.iterations);
  std::vector<llvm::StringRef> arguments = {
      program, name,   "--ranks", count, "-b", low,        "-e",    high,
      "-f",    factor, "-c",      "0",   "-n", iterations, "--csv", "--pin"};
  std::string out = folder + "/out", err = folder + "/err";
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), out, err};
  // Slots that hold next to nothing: all messages are bulk.
  std::string before =
      getenv("COLL_SMALL_BYTES") ? getenv("COLL_SMALL_BYTES") : std::string();
  if (candidate.isBulk)
    setenv("COLL_SMALL_BYTES", "16", 1);
  std::string why;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, 0, 0, &why);
  if (candidate.isBulk)
    before.empty() ? unsetenv("COLL_SMALL_BYTES")
                   : setenv("COLL_SMALL_BYTES", before.c_str(), 1);
  auto text = llvm::MemoryBuffer::getFile(status == 0 ? out : err);
  if (status != 0 || !text)
    return !fail(candidate.schedule + " at " + count + " ranks: " +
                 (text ? (*text)->getBuffer() : llvm::StringRef(why)));
  readTimes((*text)->getBuffer(), samples[index]);
  return true;
}

static double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

/// Which rank counts the rules of a measured one are for: up to half of the
/// way to its neighbours.
static std::string rangeOf(llvm::ArrayRef<uint32_t> all, size_t i) {
  uint32_t begin = i == 0 ? 2 : (all[i - 1] + all[i]) / 2;
  std::string end =
      i + 1 == all.size() ? "max" : std::to_string((all[i] + all[i + 1]) / 2);
  return std::to_string(begin) + ".." + end;
}

bool Tuner::measure(uint32_t ranks) {
  constexpr unsigned rounds = 5;
  Samples samples(candidates.size());
  unsigned round = 0;
  for (; round < rounds && (round == 0 || now() < end); ++round)
    for (size_t i = 0; i < candidates.size(); ++i) {
      progress(ranks, round, i);
      if (!runOne(candidates[i], ranks, samples, i))
        return false;
    }
  leastRounds = std::min(leastRounds, round);
  std::vector<TuneTimes> times(candidates.size());
  for (size_t i = 0; i < samples.size(); ++i)
    for (const auto &[bytes, values] : samples[i])
      times[i][bytes] = median(values);
  size_t index =
      llvm::find(options.tuneRanks, ranks) - options.tuneRanks.begin();
  table += tuneRules(rangeOf(options.tuneRanks, index), candidates, times);
  return true;
}

namespace {
struct alignas(128) Word {
  std::atomic<uint64_t> value{0};
};
} // namespace

static void bindTo(unsigned index) {
  cpu_set_t usable, own;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0)
    return;
  unsigned skip = index % unsigned(CPU_COUNT(&usable)), cpu = 0;
  while (!CPU_ISSET(cpu, &usable) || skip-- != 0)
    ++cpu;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

/// Nanoseconds in which two processors hand each other a word, at best.
static double exchangeNs() {
  constexpr uint64_t turns = 20000;
  Word words[2];
  double best = 1e9;
  auto play = [&](unsigned side) {
    bindTo(side);
    for (int batch = 0; batch < 5; ++batch) {
      double start = now();
      uint64_t first = uint64_t(batch) * turns;
      for (uint64_t i = first + 1; i <= first + turns; ++i) {
        words[1 - side].value.store(i, std::memory_order_release);
        for (unsigned spins = 0;
             words[side].value.load(std::memory_order_acquire) < i;)
          if (++spins > 10000)
            sched_yield();
      }
      if (side == 0)
        best = std::min(best, (now() - start) * 1e9 / double(turns));
    }
  };
  std::thread other(play, 1), one(play, 0);
  one.join();
  other.join();
  return best;
}

/// Bytes per nanosecond that one processor copies while all do.
static double copyRate(unsigned processors) {
  constexpr size_t bytes = 16 << 20;
  std::vector<double> best(processors, 0);
  std::vector<std::thread> threads;
  for (unsigned p = 0; p < processors; ++p)
    threads.emplace_back([&, p] {
      bindTo(p);
      std::vector<char> from(bytes, 1), to(bytes, 2);
      for (int i = 0; i < 5; ++i) {
        double start = now();
        std::memcpy(to.data(), from.data(), bytes);
        // What nobody reads is not copied.
        volatile char last = to[size_t(i) + 1];
        from[0] = char(last + 1);
        best[p] = std::max(best[p], double(bytes) / (now() - start) * 1e-9);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return *std::min_element(best.begin(), best.end());
}

static std::string processorName() {
  if (auto info = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo"))
    for (llvm::StringRef line : llvm::split((*info)->getBuffer(), '\n'))
      if (line.consume_front("model name"))
        return line.ltrim(" \t:").str();
  return "unknown processor";
}

int Tuner::write() const {
  std::error_code error;
  llvm::raw_fd_ostream os(options.tuneFile, error);
  if (!error) {
    utsname system = {};
    uname(&system);
    unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    os << "coll-tune 1\n# by coll-run --tune; use it: COLL_TUNE="
       << options.tuneFile << "\n# machine: " << processorName() << ", "
       << processors << " processors, Linux " << system.release << "\n"
       << llvm::formatv("# limits: {0:f0} ns to exchange a word, {1:f1} GB/s a "
                        "processor while all copy\n",
                        exchangeNs(), copyRate(std::min(processors, 64u)))
       << "# medians of " << leastRounds << " rounds or more, "
       << options.minBytes << " to " << options.maxBytes << " bytes\n"
       << "# collective ranks   cores bytes          schedule                  "
          "protocol\n"
       << table;
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? fail("cannot write '" + options.tuneFile +
                      "': " + error.message())
               : 0;
}

int Tuner::run() {
  llvm::scope_exit remove([&] {
    if (!folder.empty())
      llvm::sys::fs::remove_directories(folder);
  });
  // Better now than after minutes.
  if (!prepare() || !isWritable())
    return 1;
  double start = now();
  for (size_t i = 0; i < options.tuneRanks.size(); ++i) {
    end = start + options.tuneSeconds * double(i + 1) /
                      double(options.tuneRanks.size());
    if (!measure(options.tuneRanks[i]))
      return 1;
  }
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r\033[K");
  return write();
}

int coll::runTune(const RunOptions &options) { return Tuner(options).run(); }
