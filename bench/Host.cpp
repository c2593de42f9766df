//===- Host.cpp - Our collectives beside the limits of the machine --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: host RANKS BATCHES OPERATIONS BYTES...
//        host --calls NUMBER        (calls of one rank by itself, not timed)
//
// OPERATIONS: a list with commas, or all.
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
// larger of a rank's buffers. Results are checked. NAME is the operation, with
// what differs from f32 in memory of the application: allreduce:registered (in
// memory of coll_mem_alloc), allreduce:f16, allreduce:bf16.
//
//===----------------------------------------------------------------------===//

#include "host.h"              // generated from host.coll
#include "coll/use_standard.h" // and standard.h, generated

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

/// What is timed: a collective, or a floor.
struct Subject {
  std::string name;
  std::function<void()> once;
  /// Of the outputs once it has run, if `length` elements of them are f32.
  float wanted = 0;
  size_t length = 0;
  float *out = nullptr;
  std::vector<double> seconds = {}; // per batch, of the slowest rank
  uint64_t iterations = 0;
  bool settles = true; // a floor has nothing to find out
};

class Rank {
public:
  Rank(Shared &shared, int rank, int numRanks, int batches, std::string list)
      : shared(shared), rank(rank), numRanks(numRanks), batches(batches),
        list(std::move(list)) {}
  void run(const std::vector<size_t> &sizes);
  void call(uint64_t calls);

private:
  void pin();
  void init();
  void allocateAll(size_t bytes);
  void release();
  void meet();
  void exchange();
  void settle(Subject &subject);
  void batch(Subject &subject);
  std::vector<Subject> collectives(size_t bytes);
  std::vector<Subject> allreduces(size_t bytes);
  void measure(size_t bytes);
  void check(const Subject &subject) const;

  Shared &shared;
  const int rank, numRanks, batches;
  const std::string list;
  coll_comm *comm = nullptr;
  float *in = nullptr, *out = nullptr;
  float *sharedIn = nullptr, *sharedOut = nullptr; // of coll_mem_alloc
  uint64_t meetings = 0, exchanges = 0;
};

void must(coll_status status) {
  if (status != COLL_OK)
    fail("launch");
}

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
  // Which of the library's schedules runs is the table's choice, as for any
  // application; there is none for the shift of "sendrecv".
  if (coll_use_standard(comm) != COLL_OK)
    fail("use");
}

static float *allocate(size_t bytes) {
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

void Rank::allocateAll(size_t bytes) {
  in = allocate(bytes);
  out = allocate(bytes);
  void *memory[2];
  for (void *&block : memory) {
    if (coll_mem_alloc(comm, bytes, &block) != COLL_OK)
      fail("registered memory");
    memset(block, 0, bytes);
  }
  sharedIn = static_cast<float *>(memory[0]);
  sharedOut = static_cast<float *>(memory[1]);
}

void Rank::release() {
  for (float *block : {sharedIn, sharedOut})
    if (coll_mem_free(comm, block) != COLL_OK)
      fail("registered memory");
  if (coll_comm_destroy(comm) != COLL_OK)
    fail("destroy");
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

/// Before the first batch, which has as many calls as take a moment, by the
/// clock of rank 0. The first launches of a plan find out how they run best;
/// that takes 14 of the longest, and some milliseconds of others.
void Rank::settle(Subject &subject) {
  constexpr uint64_t most = 20000, least = 16, batchesOfTrials = 4;
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
  uint64_t calls = std::max(least, batchesOfTrials * subject.iterations);
  for (uint64_t i = 0; i != calls && subject.settles; ++i)
    subject.once();
}

void Rank::batch(Subject &subject) {
  if (subject.iterations == 0)
    settle(subject);
  // What ran in between has left other data in the caches; peers' batches of an
  // operation follow one another.
  subject.once();
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

void Rank::check(const Subject &subject) const {
  for (size_t i = 0; i != subject.length; ++i)
    if (subject.out[i] != subject.wanted) {
      fprintf(stderr, "%s: element %zu is %g on rank %d, not %g\n",
              subject.name.c_str(), i, double(subject.out[i]), rank,
              double(subject.wanted));
      exit(1);
    }
}

/// All of them f32, in memory of the application.
std::vector<Subject> Rank::collectives(size_t bytes) {
  size_t count = bytes / sizeof(float), n = size_t(numRanks), part = count / n;
  auto ofRoot = [&](size_t length) { return rank == 0 ? length : 0; };
  // In place at the root, as in every other library.
  float *const whole = rank == 0 ? in : out;
  const float sum = float(numRanks);
  return {{"allgather",
           [=, this] {
             must(coll_allgather(in, out, part, COLL_F32, comm, nullptr));
           },
           1, part * n, out},
          {"reduce_scatter",
           [=, this] {
             must(coll_reduce_scatter(in, out, part, COLL_F32, COLL_SUM, comm,
                                      nullptr));
           },
           sum, part, out},
          {"broadcast",
           [=, this] {
             must(coll_broadcast(in, whole, count, COLL_F32, 0, comm, nullptr));
           },
           1, count - ofRoot(count), out},
          {"alltoall",
           [=, this] {
             must(coll_alltoall(in, out, part, COLL_F32, comm, nullptr));
           },
           1, part * n, out},
          {"reduce",
           [=, this] {
             must(coll_reduce(in, rank == 0 ? out : nullptr, count, COLL_F32,
                              COLL_SUM, 0, comm, nullptr));
           },
           sum, ofRoot(count), out},
          {"gather",
           [=, this] {
             must(coll_gather(in, rank == 0 ? out : nullptr, part, COLL_F32, 0,
                              comm, nullptr));
           },
           1, ofRoot(part * n), out},
          {"scatter",
           [=, this] {
             must(coll_scatter(rank == 0 ? in : nullptr, out, part, COLL_F32, 0,
                               comm, nullptr));
           },
           1, part, out},
          {"sendrecv",
           [=, this] {
             must(bench_sendrecv(in, out, count, COLL_F32, comm, nullptr));
           },
           1, count, out}};
}

std::vector<Subject> Rank::allreduces(size_t bytes) {
  size_t count = bytes / sizeof(float);
  auto reduce = [this](float *from, float *to, size_t elements,
                       coll_dtype dtype) {
    return [=, this] {
      must(coll_allreduce(from, to, elements, dtype, COLL_SUM, comm, nullptr));
    };
  };
  const float sum = float(numRanks);
  // Two halves are a float, so that 16-bit formats move as many bytes.
  return {{"allreduce", reduce(in, out, count, COLL_F32), sum, count, out},
          {"allreduce:registered", reduce(sharedIn, sharedOut, count, COLL_F32),
           sum, count, sharedOut},
          {"allreduce:f16", reduce(in, out, 2 * count, COLL_F16)},
          {"allreduce:bf16", reduce(in, out, 2 * count, COLL_BF16)}};
}

static bool isListed(const std::string &list, const std::string &name) {
  return list == "all" ||
         ("," + list + ",").find("," + name + ",") != std::string::npos;
}

void Rank::measure(size_t bytes) {
  size_t count = bytes / sizeof(float);
  std::fill_n(in, count, 1.0f);
  std::fill_n(sharedIn, count, 1.0f);
  std::vector<Subject> subjects;
  if (bytes <= largestExchange)
    subjects.push_back({"exchange", [&] { exchange(); }});
  else
    subjects.push_back({"copy", [&] { copyPastCaches(out, in, bytes); }});
  subjects[0].settles = false;
  for (auto &family : {allreduces(bytes), collectives(bytes)})
    for (const Subject &subject : family)
      if (isListed(list, subject.name))
        subjects.push_back(subject);
  for (size_t i = 1; i != subjects.size(); ++i) {
    if (subjects[i].out)
      std::fill_n(subjects[i].out, count, -1.0f);
    subjects[i].once();
    check(subjects[i]);
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
  allocateAll(*std::max_element(sizes.begin(), sizes.end()));
  for (size_t bytes : sizes)
    measure(bytes);
  release();
}

/// All-reduces of 8 bytes: nobody waits, so what is executed is always the
/// same.
void Rank::call(uint64_t calls) {
  init();
  allocateAll(8);
  for (uint64_t i = 0; i != calls; ++i)
    must(coll_allreduce(in, out, 2, COLL_F32, COLL_SUM, comm, nullptr));
  release();
}

int main(int argc, char **argv) {
  bool isCounted = argc == 3 && strcmp(argv[1], "--calls") == 0;
  int numRanks = isCounted  ? 1
                 : argc > 1 ? atoi(argv[1])
                            : 0,
      batches = argc > 2 ? atoi(argv[2]) : 0;
  std::vector<size_t> sizes;
  for (int i = 4; i < argc; ++i)
    sizes.push_back(strtoull(argv[i], nullptr, 10));
  if (numRanks < 1 || numRanks > maxRanks || batches < 1 ||
      (sizes.empty() && !isCounted)) {
    fprintf(stderr, "usage: host RANKS BATCHES OPERATIONS BYTES...\n");
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
  if (isCounted) {
    Rank(shared, 0, 1, 1, "").call(strtoull(argv[2], nullptr, 10));
    return 0;
  }
  for (int rank = 0; rank != numRanks; ++rank)
    if (fork() == 0) {
      Rank(shared, rank, numRanks, batches, argv[3]).run(sizes);
      return 0;
    }
  bool good = true;
  for (int status; wait(&status) > 0;)
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return good ? 0 : 1;
}
