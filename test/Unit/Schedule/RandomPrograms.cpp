//===- RandomPrograms.cpp - Small programs, right and wrong ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomPrograms.h"
#include "HandPrograms.h"
#include "Mutants.h"
#include "TestGraph.h"
#include "lib/Analysis/Schedule.h"

#include <algorithm>

using namespace coll;
using namespace coll::test;

namespace {
class Generator {
public:
  explicit Generator(std::mt19937_64 &random)
      : random(random), ranks(1 + below(3)), chunks(1 + below(2)),
        graph({ranks}, chance(60), chunks) {}
  ChunkGraph run();

private:
  uint32_t below(uint32_t n) { return uint32_t(random() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  Place any(Array array) {
    return {array, below(ranks), below(array.parts), below(chunks)};
  }
  /// A place that holds something, chunk `chunk`.
  Place source(uint32_t chunk);
  void statement();
  void place();

  std::mt19937_64 &random;
  uint32_t ranks, chunks;
  TestGraph graph;
  Array in, out, a;
  std::vector<Place> held;
};
} // namespace

Place Generator::source(uint32_t chunk) {
  for (;;) {
    Place place = held[below(held.size())];
    if (place.chunk == chunk)
      return place;
  }
}

/// Most statements are placed in blocks; some values have memory of
/// their own, some messages a channel of their own.
void Generator::place() {
  Mapping mapping;
  if (chance(85)) {
    mapping.block = below(2);
    mapping.recvBlock = below(2);
  }
  if (chance(20))
    mapping.channel = below(2);
  mapping.store = chance(25);
  graph.mapping(mapping);
}

void Generator::statement() {
  place();
  Place to = any(chance(50) ? out : a);
  auto isHeld = [&](Place p) {
    for (Place h : held)
      if (h.array.id == p.array.id && h.rank == p.rank && h.part == p.part &&
          h.chunk == p.chunk)
        return true;
    return false;
  };
  std::optional<ElemType> via;
  if (chance(10))
    via = ElemType::BF16;
  Place from = source(to.chunk);
  if (chance(20))
    graph.fold({from, source(to.chunk)}, to);
  else if (chance(50) && isHeld(to))
    graph.reduce(from, to, via);
  else
    graph.copy(from, to, via);
  if (!isHeld(to))
    held.push_back(to);
}

ChunkGraph Generator::run() {
  const uint32_t parts = 1 + below(2);
  in = graph.in(parts);
  out = graph.out(parts);
  const uint32_t more = below(2);
  a = graph.tmp(1 + more, chance(20) ? ElemType::F32 : ElemType::T);
  for (Rank r = 0; r < ranks; ++r)
    for (uint32_t p = 0; p < parts; ++p)
      for (uint32_t c = 0; c < chunks; ++c)
        held.push_back({in, r, p, c});
  if (chance(40))
    for (Rank r = 0; r < ranks; ++r)
      graph.inplace(r, 0, 0);
  for (uint32_t n = 1 + below(6); n > 0; --n)
    statement();
  place();
  Rank r = below(ranks);
  uint32_t c = below(chunks);
  graph.copy(source(c), {out, r, 0, c});
  return graph.finish();
}

static size_t numSteps(const ProgramSet &programs) {
  size_t steps = 0;
  for (const auto *ranks :
       {&programs.members[0].outOfPlace, &programs.members[0].inPlace}) {
    size_t of = 0;
    for (const RankProgram &rank : *ranks)
      for (const BlockProgram &block : rank.blocks)
        of += block.steps.size();
    steps = std::max(steps, of);
  }
  return steps;
}

RandomProgram test::randomProgram(std::mt19937_64 &random) {
  RandomProgram result;
  do {
    result.graph = Generator(random).run();
    ScheduleOptions options;
    options.fusion = Fusion(random() % 3);
    result.programs = schedule({&result.graph, 1}, options).programs;
  } while (numSteps(result.programs) > 12);
  for (uint32_t n = random() % 4; n > 0; --n) {
    // Waits are few; most of the time one of them is what breaks.
    Mutation mutation = random() % 3
                            ? Mutation(int(Mutation::DropWait) + random() % 3)
                            : Mutation(random() % int(Mutation::Count));
    Mutated at = mutate(result.programs, mutation, random);
    if (at.isChanged)
      result.changes += std::string(result.changes.empty() ? "" : ", ") +
                        nameOf(mutation) + " at rank " +
                        std::to_string(at.rank);
  }
  return result;
}

namespace {
/// Every step comes behind those before it, in its block, by its waits and by
/// its messages; so all of them can end.
class Blocks {
public:
  explicit Blocks(std::mt19937_64 &random) : random(random) {}
  ProgramSet run();

private:
  uint32_t below(uint32_t n) { return uint32_t(random() % n); }
  RankProgram &rankOf(Rank rank) {
    return programs.members[0].outOfPlace[rank];
  }
  Port source(Rank rank);
  Port sink(Rank rank);
  void add(Rank rank, uint32_t block, Port from, Port to);
  void addMessage(Rank from);

  std::mt19937_64 &random;
  ProgramSet programs;
  std::vector<std::vector<uint32_t>> stored; // by rank: scratch slots
};
} // namespace

Port Blocks::source(Rank rank) {
  if (stored[rank].empty() || below(4) == 0)
    return {.kind = Port::Load};
  uint32_t slot = stored[rank][below(stored[rank].size())];
  return {.kind = Port::Load,
          .loc = {.space = Location::Scratch, .part = slot}};
}

Port Blocks::sink(Rank rank) {
  if (below(4) == 0)
    return {.kind = Port::Store, .loc = {.buffer = 1}};
  uint32_t slot = below(rankOf(rank).scratchSlots);
  stored[rank].push_back(slot);
  return {.kind = Port::Store,
          .loc = {.space = Location::Scratch, .part = slot}};
}

void Blocks::add(Rank rank, uint32_t block, Port from, Port to) {
  RankProgram &program = rankOf(rank);
  Step step{};
  step.firstPort = program.ports.size();
  program.ports.push_back(from);
  program.ports.push_back(to);
  step.numSources = step.numSinks = 1;
  step.firstWait = program.waits.size();
  for (uint32_t b = 0; b < program.blocks.size(); ++b) {
    uint32_t steps = program.blocks[b].steps.size();
    if (b == block || steps == 0)
      continue;
    if (below(3) > 0)
      program.waits.push_back({b, below(2) ? steps - 1 : below(steps)});
    if (below(3) > 0)
      program.waits.push_back({b, below(2) ? steps - 1 : below(steps), true});
  }
  step.numWaits = program.waits.size() - step.firstWait;
  program.blocks[block].steps.push_back(step);
}

/// One channel for each pair of blocks.
void Blocks::addMessage(Rank from) {
  Rank to = 1 - from;
  uint32_t sender = below(rankOf(from).blocks.size()),
           receiver = below(rankOf(to).blocks.size()),
           tag = 2 * sender + receiver;
  auto endOf = [&](std::vector<ChannelEnd> &ends, Rank peer) {
    ChannelEnd end{peer, tag};
    auto it = std::find(ends.begin(), ends.end(), end);
    uint32_t index = it - ends.begin();
    if (it == ends.end())
      ends.push_back(end);
    return index;
  };
  add(from, sender, source(from),
      {.kind = Port::Send, .end = endOf(rankOf(from).sendEnds, to)});
  add(to, receiver,
      {.kind = Port::Recv, .end = endOf(rankOf(to).recvEnds, from)}, sink(to));
}

ProgramSet Blocks::run() {
  const uint32_t ranks = 1 + below(2);
  programs = byHand(std::vector<std::vector<HandStep>>(ranks));
  stored.resize(ranks);
  for (Rank r = 0; r < ranks; ++r) {
    rankOf(r).blocks.resize(1 + below(2) + (ranks == 1));
    rankOf(r).scratchSlots = 1 + below(2);
  }
  for (uint32_t n = 2 + below(4); n > 0; --n) {
    Rank rank = below(ranks);
    if (ranks > 1 && below(2)) {
      addMessage(rank);
      continue;
    }
    const uint32_t block = below(rankOf(rank).blocks.size());
    // First what is loaded: what is there, most of the time.
    Port from = source(rank), to = sink(rank);
    add(rank, block, from, to);
  }
  return std::move(programs);
}

ProgramSet test::randomBlocks(std::mt19937_64 &random) {
  return Blocks(random).run();
}

ProgramSet test::randomMessages(std::mt19937_64 &random) {
  const uint32_t n = 2 + random() % 3, messages = 2 + random() % 6;
  std::vector<std::vector<HandStep>> ranks(n);
  for (uint32_t m = 0; m < messages; ++m) {
    Rank from = random() % n, to = (from + 1 + random() % (n - 1)) % n;
    if (random() % 2 && !ranks[from].empty() &&
        !ranks[from].back().from.empty() && ranks[from].back().to.empty())
      ranks[from].back().to = {to};
    else
      ranks[from].push_back({{}, {to}});
    ranks[to].push_back({{from}, {}});
  }
  std::vector<HandStep> &steps = ranks[random() % n];
  if (steps.size() > 1) {
    size_t at = random() % (steps.size() - 1);
    std::swap(steps[at], steps[at + 1]);
  }
  return byHand(ranks);
}
