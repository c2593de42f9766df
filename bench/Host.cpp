//===- Host.cpp - Our collectives beside the limits of the machine --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: host RANKS BATCHES BYTES...
//
// Forks the ranks, pins them, and times every collective at every size, in
// batches that take turns with what no collective can beat:
//
//   exchange  every rank stores a word for its neighbour and waits for its own:
//             what a message costs that is nothing but its flag
//   copy      every rank copies as many bytes past the caches, all at a time
//
// so that both meet the same moods of the machine. A line of standard output is
//   NAME,RANKS,BYTES,MICROSECONDS    (of the slowest rank, the fifth of batches
// that are fastest left out and the rest not looked at). Bytes are those of the
// larger of a rank's buffers. Results are checked.
//
//===----------------------------------------------------------------------===//

#include "host.h" // generated from host.coll

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace {

constexpr int maxRanks = 64, words = 8;
constexpr double batchSeconds = 0.002;
constexpr size_t largestExchange = 4096; // the floor of larger sizes is a copy

struct alignas(128) Word {
  std::atomic<uint64_t> value;
};

struct Shared {
  coll_id id;
  Word flags[maxRanks][words];
  Word arrived, iterations;
  std::atomic<double> seconds[maxRanks];
};

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void relax(int &turns) {
  constexpr int spins = 2000;
#if defined(__x86_64__)
  _mm_pause();
#endif
  if (++turns > spins)
    sched_yield();
}

[[noreturn]] void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, coll_last_error());
  exit(1);
}

void copyPastCaches(float *to, const float *from, size_t bytes) {
#if defined(__x86_64__)
  auto *target = reinterpret_cast<__m128i *>(to);
  auto *source = reinterpret_cast<const __m128i *>(from);
  for (size_t i = 0; i != bytes / sizeof *target; ++i)
    _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
  _mm_sfence();
#else
  memcpy(to, from, bytes);
#endif
}

class Rank {
public:
  Rank(Shared &shared, int rank, int numRanks, int batches)
      : shared(shared), rank(rank), numRanks(numRanks), batches(batches) {}
  void run(const std::vector<size_t> &sizes);

private:
  struct Subject {
    std::string name;
    std::function<void()> once;
    std::vector<double> seconds; // per batch, of the slowest rank
    uint64_t iterations = 0;
  };
  void pin();
  void init();
  float *allocate(size_t bytes);
  void meet();
  void exchange();
  void batch(Subject &subject);
  void measure(size_t bytes);
  void check(const char *name, float wanted, size_t count) const;

  Shared &shared;
  const int rank, numRanks, batches;
  coll_comm *comm = nullptr;
  float *in = nullptr, *out = nullptr;
  uint64_t meetings = 0, exchanges = 0;
};

} // namespace

void Rank::pin() {
  cpu_set_t usable, own;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0)
    return;
  int skip = rank % CPU_COUNT(&usable), cpu = 0;
  while (!CPU_ISSET(cpu, &usable) || skip-- != 0)
    ++cpu;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

void Rank::init() {
  coll_config config = COLL_CONFIG_INIT;
  if (coll_comm_init(&comm, numRanks, &shared.id, rank, &config) != COLL_OK)
    fail("init");
  const coll_plan *plans[] = {
      &bench_allreduce_small_plan, &bench_allreduce_large_plan,
      &bench_allgather_plan,       &bench_reduce_scatter_plan,
      &bench_broadcast_plan,       &bench_alltoall_plan};
  for (const coll_plan *plan : plans)
    if (coll_use(comm, plan) != COLL_OK)
      fail("use");
}

float *Rank::allocate(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("memory");
    exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return static_cast<float *>(memory);
}

void Rank::meet() {
  shared.arrived.value.fetch_add(1);
  meetings += uint64_t(numRanks);
  for (int turns = 0; shared.arrived.value.load() < meetings;)
    relax(turns);
}

void Rank::exchange() {
  uint64_t number = ++exchanges;
  int next = (rank + 1) % numRanks;
  shared.flags[next][number % words].value.store(number,
                                                 std::memory_order_release);
  auto &own = shared.flags[rank][number % words].value;
  for (int turns = 0; own.load(std::memory_order_acquire) != number;)
    relax(turns);
}

/// As many calls as take a moment, by the clock of rank 0 in the first batch.
void Rank::batch(Subject &subject) {
  constexpr uint64_t most = 20000;
  if (subject.iterations == 0) {
    meet();
    double start = now();
    subject.once();
    subject.once();
    double each = std::max((now() - start) / 2, 1e-8);
    if (rank == 0)
      shared.iterations.value.store(
          std::clamp(uint64_t(batchSeconds / each), uint64_t(1), most));
    meet();
    subject.iterations = shared.iterations.value.load();
  }
  meet();
  double start = now();
  for (uint64_t i = 0; i != subject.iterations; ++i)
    subject.once();
  shared.seconds[rank] = (now() - start) / double(subject.iterations);
  meet();
  double slowest = 0;
  for (int r = 0; r != numRanks; ++r)
    slowest = std::max(slowest, shared.seconds[r].load());
  subject.seconds.push_back(slowest);
}

void Rank::check(const char *name, float wanted, size_t count) const {
  for (size_t i = 0; i != count; ++i)
    if (out[i] != wanted) {
      fprintf(stderr, "%s: element %zu is %g on rank %d, not %g\n", name, i,
              double(out[i]), rank, double(wanted));
      exit(1);
    }
}

void Rank::measure(size_t bytes) {
  size_t count = bytes / sizeof(float), part = count / size_t(numRanks);
  std::fill_n(in, count, 1.0f);
  auto must = [](coll_status status) {
    if (status != COLL_OK)
      fail("launch");
  };
  std::vector<Subject> subjects;
  if (bytes <= largestExchange)
    subjects.push_back({"exchange", [&] { exchange(); }, {}});
  else
    subjects.push_back({"copy", [&] { copyPastCaches(out, in, bytes); }, {}});
  subjects.push_back({"allreduce",
                      [&] {
                        must(coll_allreduce(in, out, count, COLL_F32, COLL_SUM,
                                            comm, nullptr));
                      },
                      {}});
  subjects.push_back(
      {"allgather",
       [&] { must(coll_allgather(in, out, part, COLL_F32, comm, nullptr)); },
       {}});
  subjects.push_back({"reduce_scatter",
                      [&] {
                        must(coll_reduce_scatter(in, out, part, COLL_F32,
                                                 COLL_SUM, comm, nullptr));
                      },
                      {}});
  subjects.push_back(
      {"broadcast",
       [&] {
         must(coll_broadcast(in, out, count, COLL_F32, 0, comm, nullptr));
       },
       {}});
  subjects.push_back(
      {"alltoall",
       [&] { must(coll_alltoall(in, out, part, COLL_F32, comm, nullptr)); },
       {}});
  const float sum = float(numRanks);
  const float wanted[] = {0, sum, 1, sum, 1, 1};
  const size_t lengths[] = {0,    count, part * numRanks,
                            part, count, part * size_t(numRanks)};
  for (size_t s = 1; s != subjects.size(); ++s) {
    std::fill_n(out, count, -1.0f);
    subjects[s].once();
    check(subjects[s].name.c_str(), wanted[s], lengths[s]);
  }
  for (int b = 0; b != batches; ++b)
    for (Subject &subject : subjects)
      batch(subject);
  if (rank != 0)
    return;
  for (Subject &subject : subjects) {
    std::sort(subject.seconds.begin(), subject.seconds.end());
    printf("%s,%d,%zu,%.4f\n", subject.name.c_str(), numRanks, bytes,
           subject.seconds[subject.seconds.size() / 5] * 1e6);
  }
  fflush(stdout);
}

void Rank::run(const std::vector<size_t> &sizes) {
  pin();
  init();
  size_t most = *std::max_element(sizes.begin(), sizes.end());
  in = allocate(most);
  out = allocate(most);
  for (size_t bytes : sizes)
    measure(bytes);
  if (coll_comm_destroy(comm) != COLL_OK)
    fail("destroy");
}

int main(int argc, char **argv) {
  int numRanks = argc > 1 ? atoi(argv[1]) : 0,
      batches = argc > 2 ? atoi(argv[2]) : 0;
  std::vector<size_t> sizes;
  for (int i = 3; i < argc; ++i)
    sizes.push_back(strtoull(argv[i], nullptr, 10));
  if (numRanks < 1 || numRanks > maxRanks || batches < 1 || sizes.empty()) {
    fprintf(stderr, "usage: host RANKS BATCHES BYTES...\n");
    return 2;
  }
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("memory");
    return 1;
  }
  auto &shared = *static_cast<Shared *>(memory);
  if (coll_make_id(&shared.id) != COLL_OK)
    fail("id");
  for (int rank = 0; rank != numRanks; ++rank)
    if (fork() == 0) {
      Rank(shared, rank, numRanks, batches).run(sizes);
      return 0;
    }
  bool good = true;
  for (int status; wait(&status) > 0;)
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return good ? 0 : 1;
}
