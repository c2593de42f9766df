//===- RegionModelTest.cpp - Regions against every interleaving -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model counts; here queues hold messages and events happen in a random
// order, or in every one. Both must agree on whether a region ends, at every
// capacity.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/RegionModel.h"

#include "../Score.h"
#include "../Seeds.h"

#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace coll;

namespace {
constexpr ScriptOp::Kind send = ScriptOp::Send, receive = ScriptOp::Receive;

/// Rendezvous and queues, one event at a time.
class Queues {
public:
  Queues(llvm::ArrayRef<Script> scripts, uint64_t capacity,
         std::mt19937_64 &random)
      : scripts(scripts), capacity(capacity), random(random),
        processes(scripts.size()) {}
  bool run();
  /// Whether it can end and whether it can get stuck, over all orders of
  /// events; neither: there are too many.
  std::pair<bool, bool> explore();
  uint64_t numStates = 0;

private:
  struct Process {
    size_t next = 0;
    std::vector<std::pair<const ScriptOp *, bool>>
        posted; ///< and whether complete
  };
  bool post(size_t p);
  bool transfer(size_t from, size_t to);
  const ScriptOp *firstOpen(size_t p, ScriptOp::Kind kind, Rank peer,
                            bool **flag);

  bool isDone() const;
  bool happen(size_t event);
  std::vector<uint64_t> state() const;

  llvm::ArrayRef<Script> scripts;
  uint64_t capacity;
  std::mt19937_64 &random;
  std::vector<Process> processes;
  std::map<std::pair<size_t, size_t>, uint64_t> queued;
};
} // namespace

bool Queues::post(size_t p) {
  Process &process = processes[p];
  for (auto &[op, isComplete] : process.posted)
    if (!isComplete)
      return false;
  const std::vector<ScriptOp> &ops = scripts[p].ops;
  if (process.next == ops.size())
    return false;
  process.posted.clear();
  bool isGroup = ops[process.next].kind == ScriptOp::Begin;
  do {
    const ScriptOp &op = ops[process.next++];
    if (op.kind == send || op.kind == receive)
      process.posted.push_back({&op, false});
  } while (isGroup && ops[process.next - 1].kind != ScriptOp::End);
  return true;
}

const ScriptOp *Queues::firstOpen(size_t p, ScriptOp::Kind kind, Rank peer,
                                  bool **flag) {
  for (auto &[op, isComplete] : processes[p].posted)
    if (!isComplete && op->kind == kind && op->peer == peer) {
      *flag = &isComplete;
      return op;
    }
  return nullptr;
}

bool Queues::transfer(size_t from, size_t to) {
  bool *sent = nullptr, *received = nullptr;
  bool hasSend = firstOpen(from, send, scripts[to].rank, &sent);
  bool hasReceive = firstOpen(to, receive, scripts[from].rank, &received);
  uint64_t &queue = queued[{from, to}];
  if (hasReceive && queue > 0) {
    --queue;
    return *received = true;
  }
  if (hasReceive && hasSend)
    return *sent = *received = true;
  if (hasSend && queue < capacity) {
    ++queue;
    return *sent = true;
  }
  return false;
}

bool Queues::run() {
  size_t n = scripts.size();
  std::vector<size_t> events(n * (n + 1));
  for (size_t i = 0; i < events.size(); ++i)
    events[i] = i;
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    std::shuffle(events.begin(), events.end(), random);
    for (size_t e : events)
      isMoving |= happen(e);
  }
  return isDone();
}

/// A process posts, or a message moves.
bool Queues::happen(size_t event) {
  size_t n = scripts.size();
  return event < n ? post(event) : transfer(event / n - 1, event % n);
}

bool Queues::isDone() const {
  for (size_t p = 0; p < scripts.size(); ++p) {
    if (processes[p].next != scripts[p].ops.size())
      return false;
    for (auto &[op, isComplete] : processes[p].posted)
      if (!isComplete)
        return false;
  }
  for (auto &[pair, count] : queued)
    if (count != 0)
      return false;
  return true;
}

std::vector<uint64_t> Queues::state() const {
  std::vector<uint64_t> words;
  for (const Process &process : processes) {
    words.push_back(process.next);
    for (auto &[op, isComplete] : process.posted)
      words.back() = words.back() << 1 | isComplete;
  }
  for (auto &[pair, count] : queued)
    if (count != 0)
      words.push_back(pair.first << 40 | pair.second << 20 | count);
  return words;
}

std::pair<bool, bool> Queues::explore() {
  constexpr size_t maxStates = 20000;
  const size_t events = scripts.size() * (scripts.size() + 1);
  std::set<std::vector<uint64_t>> seen;
  std::vector<std::pair<std::vector<Process>, decltype(queued)>> open{
      {processes, queued}};
  bool canEnd = false, canStick = false;
  while (!open.empty() && seen.size() <= maxStates) {
    auto before = std::move(open.back());
    open.pop_back();
    bool isMoving = false;
    for (size_t e = 0; e < events; ++e) {
      std::tie(processes, queued) = before;
      if (!happen(e))
        continue;
      isMoving = true;
      if (seen.insert(state()).second)
        open.push_back({processes, queued});
    }
    std::tie(processes, queued) = before;
    if (!isMoving)
      (isDone() ? canEnd : canStick) = true;
  }
  numStates = seen.size();
  return open.empty() ? std::pair(canEnd, canStick) : std::pair(false, false);
}

static std::vector<Script> randomScripts(std::mt19937_64 &random) {
  auto below = [&](int n) { return int(random() % n); };
  int n = 1 + below(4);
  std::vector<Script> scripts(n);
  for (int p = 0; p < n; ++p)
    scripts[p].rank = p;
  for (int i = below(10); i > 0; --i) {
    int from = below(n), to = below(n);
    scripts[from].ops.push_back({send, Rank(to), SiteId(i)});
    scripts[to].ops.push_back({receive, Rank(from), SiteId(i)});
  }
  for (Script &script : scripts) {
    std::vector<ScriptOp> &ops = script.ops;
    for (size_t i = 0; i + 1 < ops.size(); ++i)
      if (below(4) == 0)
        std::swap(ops[i], ops[i + 1]);
    if (ops.size() > 1 && below(2)) {
      size_t end = 2 + below(ops.size() - 1);
      ops.insert(ops.begin() + end, {ScriptOp::End});
      ops.insert(ops.begin() + below(end - 1), {ScriptOp::Begin});
    }
    if (!ops.empty() && ops.back().kind != ScriptOp::End && below(10) == 0)
      ops.pop_back();
  }
  return scripts;
}

TEST(RegionModel, AgreesWithQueues) {
  coll::test::Seeds seeds(2000);
  uint64_t numDone = 0, numStuck = 0, numCut = 0, numStates = 0;
  while (seeds.next()) {
    uint64_t seed = seeds.seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<Script> scripts = randomScripts(random);
    bool wasDone = false;
    std::optional<uint64_t> least = leastCapacity(scripts);
    const uint64_t explored = random() % 3;
    for (uint64_t capacity = 0; capacity < 4; ++capacity) {
      bool isDone = simulateRegion(scripts, capacity).isDone;
      ASSERT_EQ(isDone, Queues(scripts, capacity, random).run()) << capacity;
      ASSERT_TRUE(isDone || !wasDone) << "more buffer never hurts";
      ASSERT_EQ(isDone, least && capacity >= *least);
      wasDone = isDone;
      if (capacity != explored)
        continue;
      Queues queues(scripts, capacity, random);
      auto [canEnd, canStick] = queues.explore();
      numStates += queues.numStates;
      numCut += !canEnd && !canStick;
      ASSERT_TRUE(canEnd == canStick || canEnd == isDone) << capacity;
      ASSERT_FALSE(canEnd && canStick);
      ++(isDone ? numDone : numStuck);
    }
  }
  coll::test::reportScore(
      "oracle of regions",
      std::to_string(seeds.numDone()) + " regions in every interleaving (" +
          std::to_string(numStates) + " states): " + std::to_string(numDone) +
          " end, " + std::to_string(numStuck) + " get stuck, " +
          std::to_string(numCut) + " too large; 0 disagreements, " +
          seeds.text());
  if (seeds.areMany()) {
    EXPECT_GT(numDone * 5, seeds.numDone());
    EXPECT_GT(numStuck * 5, seeds.numDone());
  }
}

/// What is said of a region that does not end must be so.
TEST(RegionModel, ExplainsWhatIsStuck) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<Script> scripts = randomScripts(random);
    uint64_t capacity = random() % 3;
    if (simulateRegion(scripts, capacity).isDone)
      continue;
    RegionFault fault = explainRegion(scripts, capacity);
    ASSERT_FALSE(fault.links.empty());
    if (fault.kind == RegionFault::Deadlock) {
      for (size_t i = 0; i < fault.links.size(); ++i) {
        EXPECT_EQ(fault.links[i].peer,
                  fault.links[(i + 1) % fault.links.size()].rank);
        EXPECT_NE(fault.links[i].counterpart, kNone);
      }
    } else {
      EXPECT_EQ(fault.links.size(), 1u);
      EXPECT_EQ(fault.links[0].counterpart, kNone);
    }
  }
}

static Script script(Rank rank, std::vector<ScriptOp> ops) {
  return {rank, std::move(ops)};
}

TEST(RegionModel, FindsTheLeastCapacity) {
  std::vector<Script> scripts{
      script(0, {{send, 1, 1}, {send, 1, 2}, {receive, 1, 3}, {receive, 1, 4}}),
      script(1,
             {{send, 0, 1}, {send, 0, 2}, {receive, 0, 3}, {receive, 0, 4}})};
  EXPECT_EQ(leastCapacity(scripts), 2u);
  RegionFault fault = explainRegion(scripts, 1);
  EXPECT_EQ(fault.kind, RegionFault::Deadlock);
  EXPECT_EQ(fault.leastCapacity, 2u);
  EXPECT_EQ(fault.links.size(), 2u);
}

TEST(RegionModel, OffersAGroupOnlyWhereItChangesNoRead) {
  std::vector<Script> scripts{
      script(0, {{receive, 1, 1, {5}}, {send, 1, 2, {6}}}),
      script(1, {{receive, 0, 1, {5}}, {send, 0, 2, {6}}})};
  RegionFault fault = explainRegion(scripts, 0);
  ASSERT_EQ(fault.repairs.size(), 1u);
  EXPECT_EQ(fault.repairs[0], std::pair(SiteId(1), SiteId(2)));
  scripts[1].ops[1].cells = {5}; // sends on what it has received
  EXPECT_TRUE(explainRegion(scripts, 0).repairs.empty());
}

TEST(RegionModel, TellsTheShortestCircle) {
  constexpr ScriptOp::Kind begin = ScriptOp::Begin, end = ScriptOp::End;
  // 0 waits for 1, which waits for 2, which waits for 0; but 2 waits for 3 at
  // the same time, and 3 for 2.
  std::vector<Script> scripts{script(0, {{receive, 1, 1}, {send, 2, 2}}),
                              script(1, {{receive, 2, 3}, {send, 0, 4}}),
                              script(2, {{begin},
                                         {receive, 0, 5},
                                         {receive, 3, 6},
                                         {end},
                                         {send, 1, 7},
                                         {send, 3, 8}}),
                              script(3, {{receive, 2, 9}, {send, 2, 10}})};
  RegionFault fault = explainRegion(scripts, 0);
  ASSERT_EQ(fault.links.size(), 2u);
  EXPECT_EQ(fault.links[0].rank, 2u);
  EXPECT_EQ(fault.links[0].peer, 3u);
  EXPECT_EQ(fault.links[0].site, 6u);
  EXPECT_EQ(fault.links[1].rank, 3u);
  EXPECT_FALSE(fault.leastCapacity);
}
