//===- StreamProbe.cpp - What is fast between processors ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line that is stored through the caches has to be fetched for writing from
// the core that read it last, and fetched again by the reader. Stores past the
// caches save the first of these; what they cost is that the reader finds the
// data further away. Which is faster is the machine's affair (here by a factor
// of 2 to 10), so the probe plays it: two threads, one ring of slots as wide as
// channels have it, a few times around either way in turn, and the best of
// each. Launches go on from there (WayTrials.cpp).
//
// What the kernel moves from process to process costs one copy, and some work
// per page; on some machines that makes 2 GB/s, on others 40. Its peer in the
// comparison is a rank that both sends and receives through slots, as most do,
// while its peer does the same, which takes each of them twice as long: so it
// pays if a move takes less than four messages of the ring.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StreamProbe.h"
#include "runtime/core/Clock.h"
#include "runtime/core/Host.h"
#include "runtime/core/Pause.h"
#include "runtime/core/RemoteMemory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace coll {

namespace {

constexpr size_t slotBytes = 32 << 10, numSlots = 64;
constexpr int messages = 64, rounds = 4;

/// How long so many messages take through a ring, with the better stores.
struct Ring {
  bool streams = false;
  uint64_t ns = 0; ///< 0: not known
};

} // namespace

#if defined(__x86_64__)
namespace {

constexpr size_t slotWords = slotBytes / sizeof(__m128i);
/// A round that takes longer has met something else.
constexpr uint64_t longestNs = 5'000'000;

class Probe {
public:
  explicit Probe(const CpuMask &cpus) : cpus(cpus) {}
  Ring run();

private:
  struct alignas(64) Word {
    std::atomic<uint64_t> value{0};
  };
  struct alignas(64) Slot {
    __m128i words[slotWords];
  };
  void moveAway(int cpu);
  static void awaitAtLeast(const Word &word, uint64_t value);
  void read();
  template <bool Streams> uint64_t write();

  const CpuMask &cpus;
  std::unique_ptr<Slot[]> slots{new Slot[numSlots]()};
  Word tail, head;
  std::atomic<bool> isOver{false};
  uint64_t sent = 0;
  std::atomic<uint32_t> sum{0}; // what was read is used
};

} // namespace

/// This thread runs anywhere but there. Ranks are often bound to one processor
/// each, and threads inherit that.
void Probe::moveAway(int cpu) {
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int i = 0; i != int(cpus.size()) * 64; ++i)
    if (i != cpu && cpus[size_t(i) / 64] >> (i % 64) & 1)
      CPU_SET(i, &others);
  sched_setaffinity(0, sizeof others, &others); // else it stays, and is slow
}

void Probe::awaitAtLeast(const Word &word, uint64_t value) {
  constexpr int spins = 1000;
  for (int i = 0; word.value.load(std::memory_order_acquire) < value; ++i)
    i < spins ? pauseCore() : (void)sched_yield();
}

void Probe::read() {
  for (uint64_t next = 0;; ++next) {
    while (tail.value.load(std::memory_order_acquire) <= next) {
      if (isOver.load(std::memory_order_relaxed))
        return;
      pauseCore();
    }
    const Slot &slot = slots[next % numSlots];
    __m128i all = _mm_setzero_si128();
    for (const __m128i &word : slot.words)
      all = _mm_xor_si128(all, word);
    sum.fetch_xor(uint32_t(_mm_cvtsi128_si32(all)), std::memory_order_relaxed);
    head.value.store(next + 1, std::memory_order_release);
  }
}

/// Sends a few messages and waits until all are read.
template <bool Streams> uint64_t Probe::write() {
  uint64_t start = monotonicNs();
  for (int i = 0; i != messages; ++i) {
    if (sent >= numSlots)
      awaitAtLeast(head, sent - numSlots + 1);
    __m128i value = _mm_set1_epi32(int(sent));
    for (__m128i &word : slots[sent % numSlots].words) {
      if constexpr (Streams)
        _mm_stream_si128(&word, value);
      else
        _mm_store_si128(&word, value);
    }
    if constexpr (Streams)
      _mm_sfence();
    tail.value.store(++sent, std::memory_order_release);
  }
  awaitAtLeast(head, sent);
  return monotonicNs() - start;
}

Ring Probe::run() {
  sigset_t all, before; // signals of the application are not for this thread
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread reader;
  try {
    int own = sched_getcpu();
    reader = std::thread([this, own] {
      moveAway(own);
      read();
    });
  } catch (const std::system_error &) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!reader.joinable())
    return {true, 0};
  uint64_t through = UINT64_MAX, past = UINT64_MAX;
  for (int i = 0; i != rounds; ++i) {
    uint64_t a = write<false>(), b = write<true>();
    // The first round meets pages and threads for the first time.
    if (i != 0 || rounds == 1) {
      through = std::min(through, a);
      past = std::min(past, b);
    }
    if (a + b > longestNs)
      break;
  }
  isOver.store(true, std::memory_order_relaxed);
  reader.join();
  return {past <= through, std::min(past, through)};
}

static Ring measureRing(const CpuMask &cpus) {
  int processors = 0;
  for (uint64_t word : cpus)
    processors += std::popcount(word);
  return processors < 2 ? Ring{true, 0} : Probe(cpus).run();
}

#else

/// Kernels have such stores for x86 alone.
static Ring measureRing(const CpuMask &) { return {}; }

#endif

static const Ring &ringOf(const CpuMask &cpus) {
  static const Ring ring = measureRing(cpus);
  return ring;
}

bool streamsPay(const CpuMask &cpus) { return ringOf(cpus).streams; }

static bool measureRemote(const CpuMask &cpus) {
  constexpr size_t bytes = messages * slotBytes;
  std::vector<char> from(bytes, 1), to(bytes);
  auto bestOf = [](auto &&move) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i != rounds; ++i) {
      uint64_t start = monotonicNs();
      if (!move())
        return UINT64_MAX;
      best = std::min(best, monotonicNs() - start);
    }
    return best;
  };
  auto address = reinterpret_cast<uint64_t>(from.data());
  uint64_t remote = bestOf(
      [&] { return readRemote(getpid(), address, to.data(), bytes) == 0; });
  uint64_t ring = ringOf(cpus).ns;
  if (ring == 0) // the slots' copies are no faster than any
    ring = bestOf([&] {
      std::memcpy(to.data(), from.data(), bytes);
      return to.back() == 1;
    });
  return remote != UINT64_MAX && remote / 4 <= ring;
}

bool remotePays(const CpuMask &cpus) {
  static const bool pays = measureRemote(cpus);
  return pays;
}

uint64_t streamOutBytes(int ranks) {
  constexpr uint64_t usualCache = 32 << 20;
  uint64_t cache = lastCacheBytes();
  return (cache ? cache : usualCache) / uint64_t(std::max(ranks, 1));
}

} // namespace coll
