//===- RandomTransfers.cpp - Small programs around few chunks -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HandPrograms.h"
#include "RandomPrograms.h"

#include <algorithm>

using namespace coll;
using namespace coll::test;

namespace {
/// Every step comes behind those before it, in its block, by its messages and,
/// most of the time, by its waits.
class Transfers {
public:
  explicit Transfers(std::mt19937_64 &random) : random(random) {}
  ProgramSet run();

private:
  uint32_t below(uint32_t n) { return uint32_t(random() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  RankProgram &rankOf(Rank rank) {
    return programs.members[0].outOfPlace[rank];
  }
  uint32_t anyBlock(Rank rank) { return below(rankOf(rank).blocks.size()); }
  Port load(Rank rank);
  Port store(Rank rank);
  void add(Rank rank, uint32_t block, std::vector<Port> sources,
           std::vector<Port> sinks);
  void send(Rank from, uint32_t block, std::vector<Port> sources,
            std::vector<Port> sinks, uint32_t more);

  std::mt19937_64 &random;
  ProgramSet programs;
  uint32_t chunk = 0; // of what is being added
  std::vector<std::vector<std::vector<Location>>> held; // by rank and chunk
};
} // namespace

Port Transfers::load(Rank rank) {
  const std::vector<Location> &from = held[rank][chunk];
  const Location in{.chunk = chunk};
  return {.kind = Port::Load,
          .loc = from.empty() || chance(50) ? in : from[below(from.size())]};
}

Port Transfers::store(Rank rank) {
  Location to{.buffer = 1,
              .part = below(programs.members[0].buffers[1].parts),
              .chunk = chunk};
  if (chance(20))
    to = {.space = Location::Scratch, .part = below(2)};
  // Scratch is of any chunk: loaded again only as long as that is certain.
  if (to.space == Location::Buffer || programs.sizes[0].chunks == 1)
    held[rank][chunk].push_back(to);
  return {.kind = Port::Store, .loc = to};
}

void Transfers::add(Rank rank, uint32_t block, std::vector<Port> sources,
                    std::vector<Port> sinks) {
  RankProgram &program = rankOf(rank);
  Step step{};
  step.chunk = chunk;
  step.firstPort = program.ports.size();
  step.numSources = sources.size();
  step.numSinks = sinks.size();
  step.expr = sources.size() - 1;
  for (const std::vector<Port> &side : {sources, sinks})
    program.ports.insert(program.ports.end(), side.begin(), side.end());
  step.firstWait = program.waits.size();
  for (uint32_t b = 0; b < program.blocks.size(); ++b) {
    uint32_t steps = program.blocks[b].steps.size();
    if (b != block && steps > 0 && chance(75))
      program.waits.push_back({b, chance(80) ? steps - 1 : below(steps)});
  }
  step.numWaits = program.waits.size() - step.firstWait;
  program.blocks[block].steps.push_back(step);
}

/// A message of what `sources` make, which `sinks` also get, and how it is
/// received: stored, combined or sent on `more` times. One channel for each
/// pair of blocks.
void Transfers::send(Rank from, uint32_t block, std::vector<Port> sources,
                     std::vector<Port> sinks, uint32_t more) {
  const uint32_t n = programs.numRanks();
  const Rank to = (from + 1 + below(n - 1)) % n;
  const uint32_t receiver = anyBlock(to), tag = 2 * block + receiver;
  auto endOf = [&](std::vector<ChannelEnd> &ends, Rank peer) {
    ChannelEnd end{peer, tag};
    auto it = std::find(ends.begin(), ends.end(), end);
    if (it == ends.end())
      it = ends.insert(it, end);
    return uint32_t(it - ends.begin());
  };
  sinks.push_back(
      {.kind = Port::Send, .end = endOf(rankOf(from).sendEnds, to)});
  add(from, block, sources, sinks);
  std::vector<Port> got{
      {.kind = Port::Recv, .end = endOf(rankOf(to).recvEnds, from)}};
  if (chance(15))
    got.push_back(load(to));
  std::vector<Port> into{store(to)};
  if (more && chance(30))
    send(to, receiver, got, into, more - 1);
  else
    add(to, receiver, got, into);
}

ProgramSet Transfers::run() {
  const uint32_t ranks = 2 + below(2), chunks = chance(70) ? 1 : 2;
  programs = byHand(std::vector<std::vector<HandStep>>(ranks));
  programs.sizes[0].chunks = chunks;
  programs.exprs.push_back({{ExprNode{ExprNode::Operand},
                             ExprNode{.kind = ExprNode::Operand, .arg = 1},
                             ExprNode{.kind = ExprNode::Fold, .arg = 2}}});
  programs.reduces = true;
  ProgramMember &member = programs.members[0];
  member.buffers[1].parts = 1 + below(2);
  member.buffers[1].partSize.assign(member.buffers[1].parts, 0);
  held.assign(ranks, std::vector<std::vector<Location>>(chunks));
  for (Rank r = 0; r < ranks; ++r) {
    rankOf(r).blocks.resize(chance(60) ? 1 : 2);
    rankOf(r).scratchSlots = 2;
  }
  for (uint32_t n = 2 + below(4); n > 0; --n) {
    const Rank rank = below(ranks);
    const uint32_t block = anyBlock(rank);
    chunk = below(chunks);
    std::vector<Port> from{load(rank)};
    if (chance(10))
      from.push_back(load(rank));
    if (chance(75))
      send(rank, block, from, {}, 2);
    else
      add(rank, block, from, {store(rank)});
  }
  if (chance(40)) {
    member.inPlace = member.outOfPlace;
    for (Rank r = 0; r < ranks; ++r)
      member.inplacePairs.push_back({r, 0, 0, 1, 0});
  }
  return std::move(programs);
}

ProgramSet test::randomTransfers(std::mt19937_64 &random) {
  return Transfers(random).run();
}
