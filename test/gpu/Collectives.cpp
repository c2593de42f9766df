//===- Collectives.cpp - Every plan, every element, on a GPU --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every plan that was packed and has the number of ranks is launched with
// several counts, small enough for small slots and large enough for several
// rounds of bulk slots, in memory of the driver and in registered memory, and
// replayed from a graph: so messages are packets, go through slots, and go
// direct, wherever the plan has that; and as lines, where the plan asks for
// them.  Which way they have gone is asked of the channels' own counters: as
// the launch's protocol says, and at the end by every way there is.  Inputs are
// small integers, so that sums are exact in every format, and what a contract
// promises is computed from its definition.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "runtime/core/Lane.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace coll;
using namespace coll::gpu;

namespace {
/// What rank `rank` has in part `part` of its input.
int32_t inputAt(int rank, int part, size_t element) {
  return int32_t((size_t(rank) * 7 + size_t(part) * 3 + element) % 13);
}

struct Shape {
  int inParts, outParts; ///< 0: this rank has no such buffer
};

struct Contract {
  const char *name;
  bool reduces;
  Shape (*shape)(int rank, int ranks, int root);
  int32_t (*expected)(int rank, int ranks, int root, int part, size_t element);
};

int32_t sumTo(int last, int part, size_t element) {
  int32_t sum = 0;
  for (int r = 0; r <= last; ++r)
    sum += inputAt(r, part, element);
  return sum;
}

const Contract contracts[] = {
    {"allreduce", true, [](int, int, int) { return Shape{1, 1}; },
     [](int, int n, int, int, size_t e) { return sumTo(n - 1, 0, e); }},
    {"allgather", false, [](int, int n, int) { return Shape{1, n}; },
     [](int, int, int, int part, size_t e) { return inputAt(part, 0, e); }},
    {"reduce_scatter", true, [](int, int n, int) { return Shape{n, 1}; },
     [](int rank, int n, int, int, size_t e) { return sumTo(n - 1, rank, e); }},
    {"alltoall", false, [](int, int n, int) { return Shape{n, n}; },
     [](int rank, int, int, int part, size_t e) {
       return inputAt(part, rank, e);
     }},
    {"broadcast", false,
     [](int rank, int, int root) { return Shape{rank == root, 1}; },
     [](int, int, int root, int, size_t e) { return inputAt(root, 0, e); }},
    {"reduce", true,
     [](int rank, int, int root) { return Shape{1, rank == root}; },
     [](int, int n, int, int, size_t e) { return sumTo(n - 1, 0, e); }},
    {"scatter", false,
     [](int rank, int n, int root) { return Shape{rank == root ? n : 0, 1}; },
     [](int rank, int, int root, int, size_t e) {
       return inputAt(root, rank, e);
     }},
    {"gather", false,
     [](int rank, int n, int root) { return Shape{1, rank == root ? n : 0}; },
     [](int, int, int, int part, size_t e) { return inputAt(part, 0, e); }},
    {"scan", true, [](int, int, int) { return Shape{1, 1}; },
     [](int rank, int, int, int, size_t e) { return sumTo(rank, 0, e); }},
    // From the root to the rank behind it.
    {"send_recv", false,
     [](int rank, int n, int root) {
       return Shape{rank == root, rank == (root + 1) % n};
     },
     [](int, int, int root, int, size_t e) { return inputAt(root, 0, e); }},
    // All counts are the same here, but no rank relies on that.
    {"allgatherv", false, [](int, int n, int) { return Shape{1, n}; },
     [](int, int, int, int part, size_t e) { return inputAt(part, 0, e); }},
    {"alltoallv", false, [](int, int n, int) { return Shape{n, n}; },
     [](int rank, int, int, int part, size_t e) {
       return inputAt(part, rank, e);
     }},
    {"barrier", true, [](int, int, int) { return Shape{0, 0}; },
     [](int, int, int, int, size_t) { return 0; }},
};

const Contract *contractOf(const coll_plan &plan) {
  for (const Contract &contract : contracts)
    if (strcmp(plan.contract, contract.name) == 0)
      return &contract;
  return nullptr;
}

bool hasRanks(const coll_plan &plan, int ranks) {
  for (uint32_t i = 0; i != plan.nranks_entries; ++i)
    if (plan.ranks[i].nranks == uint32_t(ranks))
      return true;
  return false;
}

/// Small integers, exact in all of these.
template <typename T> T valueOf(int32_t value) { return T(value); }
struct Bf16 {
  uint16_t bits;
  bool operator==(const Bf16 &) const = default;
};
template <> Bf16 valueOf<Bf16>(int32_t value) {
  float f = float(value);
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  return {uint16_t(bits >> 16)};
}

template <typename T> class PlanCheck {
public:
  PlanCheck(RankContext &rank, const coll_plan &plan, const Contract &contract,
            coll_dtype dtype, Ways &ways)
      : rank(rank), plan(plan), contract(contract), dtype(dtype), ways(ways) {}
  void run(size_t count, int root, bool isRegistered);

private:
  T *memory(size_t elements, bool isRegistered);
  void fillInput(T *in, int parts, size_t count);
  void compare(T *out, int parts, size_t count, const char *how);
  bool launch(const coll_call &call, coll_stream stream);
  MessageCounts messages();
  void noteWays(const MessageCounts &before, size_t count);

  RankContext &rank;
  const coll_plan &plan;
  const Contract &contract;
  coll_dtype dtype;
  Ways &ways;
  int root = 0;
  std::vector<void *> registered;
};
} // namespace

template <typename T>
T *PlanCheck<T>::memory(size_t elements, bool isRegistered) {
  if (!isRegistered)
    return rank.device.allocate<T>(elements);
  void *made = nullptr;
  if (coll_mem_alloc(rank.comm, elements * sizeof(T) + 16, &made) != COLL_OK)
    fail("%s: coll_mem_alloc: %s", plan.name, coll_last_error());
  registered.push_back(made);
  return static_cast<T *>(made);
}

template <typename T>
void PlanCheck<T>::fillInput(T *in, int parts, size_t count) {
  std::vector<T> values(size_t(parts) * count);
  for (size_t i = 0; i != values.size(); ++i)
    values[i] = valueOf<T>(inputAt(rank.rank, int(i / count), i % count));
  rank.device.write(in, values.data(), values.size() * sizeof(T));
}

template <typename T>
void PlanCheck<T>::compare(T *out, int parts, size_t count, const char *how) {
  std::vector<T> values(size_t(parts) * count);
  rank.device.read(values.data(), out, values.size() * sizeof(T));
  for (size_t i = 0; i != values.size(); ++i) {
    int32_t expected = contract.expected(rank.rank, rank.ranks, root,
                                         int(i / count), i % count);
    if (values[i] == valueOf<T>(expected))
      continue;
    return fail("%s, %s, dtype %d, count %zu, rank %d: element %zu is wrong",
                plan.name, how, dtype, count, rank.rank, i);
  }
}

template <typename T>
bool PlanCheck<T>::launch(const coll_call &call, coll_stream stream) {
  if (coll_launch(&plan, &call, rank.comm, stream) == COLL_OK)
    return true;
  fail("%s, rank %d: %s", plan.name, rank.rank, coll_last_error());
  return false;
}

/// When no launch is under way.
template <typename T> MessageCounts PlanCheck<T>::messages() {
  MessageCounts counts;
  if (!Lane::of(*rank.comm).device()->countMessages(counts).isOk())
    fail("%s, rank %d: the channels' counters cannot be read", plan.name,
         rank.rank);
  return counts;
}

/// Messages go by the launch's protocol; those in slots may go direct instead.
template <typename T>
void PlanCheck<T>::noteWays(const MessageCounts &before, size_t count) {
  const MessageCounts now = messages();
  const uint64_t bulk = now.bulk - before.bulk, puts = now.puts - before.puts,
                 packets = now.packets - before.packets;
  const uint32_t protocol = Lane::of(*rank.comm).lastProtocol();
  const bool isPackets = protocol == COLL_PROTOCOL_LL,
             isLines = protocol == COLL_PROTOCOL_LL128;
  if (isPackets ? bulk || puts : packets || (isLines && puts))
    fail("%s, count %zu, rank %d: the launch's protocol is %u, and %llu "
         "messages went in slots or lines, %llu as packets, %llu were put",
         plan.name, count, rank.rank, protocol, (unsigned long long)bulk,
         (unsigned long long)packets, (unsigned long long)puts);
  ways.hasLines = Lane::of(*rank.comm).device()->hasLines();
  (isLines ? ways.lines : ways.slots) += bulk;
  ways.packets += packets;
  ways.puts += puts;
  if (!isPackets && !isLines)
    ways.gets += now.gets;
}

template <typename T>
void PlanCheck<T>::run(size_t count, int launchRoot, bool isRegistered) {
  if (rank.rank == 0)
    begin("%s of %zu elements of dtype %d in %s memory, root %d", plan.name,
          count, dtype, isRegistered ? "registered" : "plain", launchRoot);
  root = launchRoot;
  Shape shape = contract.shape(rank.rank, rank.ranks, root);
  T *in = shape.inParts ? memory(size_t(shape.inParts) * count, isRegistered)
                        : nullptr;
  T *out = shape.outParts ? memory(size_t(shape.outParts) * count, isRegistered)
                          : nullptr;
  const void *ins[] = {in};
  void *outs[] = {out};
  coll_call call = {};
  call.in = ins;
  call.out = outs;
  // Of a launch array a rank is given some of its counts.
  const std::vector<size_t> counts(size_t(rank.ranks) * rank.ranks, count);
  const int launchValues[] = {root, (root + 1) % rank.ranks};
  call.count = counts.data();
  call.launch = launchValues;
  call.dtype = dtype;
  call.op = COLL_SUM;
  if (coll_launch_prepare(&plan, &call, rank.comm) != COLL_OK)
    fail("%s, rank %d: prepare: %s", plan.name, rank.rank, coll_last_error());
  auto poison = [&] {
    std::vector<T> zeros(size_t(shape.outParts) * count, valueOf<T>(77));
    rank.device.write(out, zeros.data(), zeros.size() * sizeof(T));
  };
  fillInput(in, shape.inParts, count);
  poison();
  const MessageCounts before = messages();
  rank.together.arrive_and_wait();
  if (launch(call, nullptr)) {
    compare(out, shape.outParts, count, isRegistered ? "registered" : "plain");
    noteWays(before, count);
  }
  poison();
  rank.device.capture([&] {
    for (int i = 0; i != 3; ++i)
      launch(call, rank.device.stream());
  });
  rank.together.arrive_and_wait();
  for (int i = 0; i != 2; ++i)
    rank.device.replay();
  rank.device.wait();
  compare(out, shape.outParts, count, "replayed");
  rank.together.arrive_and_wait();
  for (void *each : registered)
    (void)coll_mem_free(rank.comm, each);
  registered.clear();
}

static void checkPlan(const Options &options, const coll_plan &plan,
                      const Contract &contract, RankContext &rank, Ways &ways) {
  std::vector<size_t> counts = {1, 300, 5001};
  if (!options.isQuick)
    counts.push_back(options.mostElements);
  const unsigned before = rank.failuresBefore;
  int roots = plan.nlaunch ? 2 : 1;
  for (size_t count : counts)
    for (int root = 0; root != roots; ++root)
      for (bool isRegistered : {false, true}) {
        if (options.isQuick && (count == 1 || (isRegistered && count == 300)))
          continue;
        PlanCheck<float>(rank, plan, contract, COLL_F32, ways)
            .run(count, root, isRegistered);
        if (contract.reduces && !isRegistered && !options.isQuick)
          PlanCheck<Bf16>(rank, plan, contract, COLL_BF16, ways)
              .run(count, root, isRegistered);
        if (hasFailed(rank, before)) // one cause, one error
          return;
      }
}

const coll_plan *coll::gpu::anAllreduce(int ranks, bool isOfLines) {
  for (unsigned p = 0; p != numPlans; ++p)
    if (strcmp(plans[p]->contract, "allreduce") == 0 &&
        hasRanks(*plans[p], ranks) &&
        bool(plans[p]->flags & COLL_PLAN_LL128) == isOfLines)
      return plans[p];
  return nullptr;
}

void coll::gpu::checkCall(RankContext &rank, const coll_plan &plan,
                          size_t count, bool isRegistered) {
  Ways ways;
  if (const Contract *contract = contractOf(plan))
    PlanCheck<float>(rank, plan, *contract, COLL_F32, ways)
        .run(count, 0, isRegistered);
}

static const std::pair<const char *, std::atomic<uint64_t> Ways::*> wayNames[] =
    {{"slots", &Ways::slots},
     {"packets", &Ways::packets},
     {"lines", &Ways::lines},
     {"put", &Ways::puts},
     {"got", &Ways::gets}};

void coll::gpu::checkCollectives(const Options &options) {
  unsigned inVain = 0; // plans that have failed, one after another
  constexpr unsigned mostInVain = 3; // what is wrong is not theirs then
  Ways all;
  for (unsigned p = 0; p != numPlans; ++p) {
    const coll_plan &plan = *plans[p];
    const Contract *contract = contractOf(plan);
    if (!hasRanks(plan, options.ranks) || !strstr(plan.name, options.only))
      continue;
    if (!contract || plan.nlaunch > 2) {
      fail("%s: nothing is known of contract %s", plan.name, plan.contract);
      continue;
    }
    if (options.isOver(0.6) || inVain == mostInVain) {
      fail("%s: not run, %s", plan.name,
           inVain == mostInVain ? "as those before have failed" : "for time");
      continue;
    }
    const unsigned before = failures;
    const double start = secondsSpent();
    Ways ways;
    onRanks(options.ranks, options.devices, 15, [&](RankContext &rank) {
      checkPlan(options, plan, *contract, rank, ways);
    });
    inVain = failures == before ? 0 : inVain + 1;
    printf("%-32s %-16s %s %8.2f s ", plan.name, plan.contract,
           failures == before ? "ok" : "FAILED", secondsSpent() - start);
    for (const auto &[name, way] : wayNames) {
      if (uint64_t count = ways.*way)
        printf(" %s %llu", name, (unsigned long long)count);
      all.*way += ways.*way;
    }
    all.hasLines = all.hasLines || ways.hasLines;
    printf("\n");
    fflush(stdout);
  }
  // Peers on other devices may be out of reach, and chips without lines.
  if (options.devices > 1 || *options.only || inVain != 0)
    return;
  for (const auto &[name, way] : wayNames)
    if (all.*way == 0 && (way != &Ways::lines || all.hasLines))
      fail("no message has gone this way: %s", name);
}
