//===- ForcedRunTest.cpp - The runtime agrees with the checker ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An all-reduce over the binary tree of 7 ranks, up and down phase in one
// block, is run on the real runtime at the very edge that the checker finds:
// what it calls safe ends with the right sums, what it refuses ends in the
// deadline, with the ranks that wait for room in the report.
//
//===----------------------------------------------------------------------===//
#include "ForcedRun.h"
#include "RandomPrograms.h"
#include "Schedules.h"
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/Schedule.h"

#include <gtest/gtest.h>

using namespace coll;
using namespace coll::test;

namespace {
constexpr uint32_t numRanks = 7;
Rank parentOf(Rank rank) { return (rank - 1) / 2; }

/// A message is cut into `chunks` pieces; the tree's meaning.
ChunkGraph treeGraph(uint32_t chunks) {
  TestGraph graph({numRanks}, true, chunks);
  Array in = graph.in(), out = graph.out(), acc = graph.tmp();
  for (uint32_t c = 0; c < chunks; ++c) {
    for (Rank r = 0; r < numRanks; ++r)
      graph.copy({in, r, 0, c}, {acc, r, 0, c});
    for (Rank r = numRanks - 1; r > 0; --r)
      graph.reduce({acc, r, 0, c}, {acc, parentOf(r), 0, c});
    for (Rank r = 1; r < numRanks; ++r)
      graph.copy({acc, parentOf(r), 0, c}, {acc, r, 0, c});
    for (Rank r = 0; r < numRanks; ++r)
      graph.copy({acc, r, 0, c}, {out, r, 0, c});
  }
  graph.markComplete();
  return graph.finish();
}

/// Steps of one piece each. The root takes a piece out of its FIFOs before it
/// looks for room to send it on, as two steps; all others do so in one.
class Tree {
public:
  explicit Tree(uint32_t chunks);
  ProgramSet programs;

private:
  void add(Rank rank, std::vector<Port> sources, std::vector<Port> sinks);
  Port channel(Rank rank, Port::Kind kind, Rank peer);
  static Port memory(Port::Kind kind, uint16_t buffer, uint32_t chunk) {
    Port port{kind};
    port.loc = {Location::Buffer, buffer, 0, chunk};
    port.scaled = port.scaledRounded = kind == Port::Load && buffer == 0;
    return port;
  }
  uint32_t chunk = 0;
};
} // namespace

Port Tree::channel(Rank rank, Port::Kind kind, Rank peer) {
  RankProgram &program = programs.members[0].outOfPlace[rank];
  auto &ends = kind == Port::Send ? program.sendEnds : program.recvEnds;
  Port port{kind};
  for (port.end = 0; port.end < ends.size(); ++port.end)
    if (ends[port.end].peer == peer)
      return port;
  ends.push_back({peer, 0});
  return port;
}

void Tree::add(Rank rank, std::vector<Port> sources, std::vector<Port> sinks) {
  RankProgram &program = programs.members[0].outOfPlace[rank];
  Step step{};
  step.firstPort = program.ports.size();
  step.numSources = sources.size();
  step.numSinks = sinks.size();
  step.chunk = chunk;
  step.expr = sources.size() - 1;
  step.complete = rank == 0 && sources.size() > 1;
  program.ports.insert(program.ports.end(), sources.begin(), sources.end());
  program.ports.insert(program.ports.end(), sinks.begin(), sinks.end());
  program.blocks[0].steps.push_back(step);
}

Tree::Tree(uint32_t chunks) {
  ChunkGraph graph = treeGraph(chunks);
  programs.rankDims = graph.rankDims;
  programs.reduces = programs.isAvgLegal = true;
  programs.sizes = graph.sizes;
  // One source; two, added in order; ...
  programs.exprs.resize(3);
  for (uint32_t n = 1; n <= 3; ++n) {
    auto &nodes = programs.exprs[n - 1].nodes;
    nodes.push_back({ExprNode::Operand, ElemType::T, 0, 0});
    for (uint32_t i = 1; i < n; ++i) {
      if (i > 1) // the step rounds the last
        nodes.push_back({ExprNode::Round, ElemType::T});
      nodes.push_back({ExprNode::Operand, ElemType::T, 0, i});
      nodes.push_back({ExprNode::Fold, ElemType::T, 0, 2});
    }
  }
  ProgramMember &member = programs.members.emplace_back();
  member.buffers = graph.buffers;
  member.outOfPlace.resize(numRanks);
  for (Rank r = 0; r < numRanks; ++r) {
    member.outOfPlace[r].blocks.resize(1);
    bool isLeaf = 2 * r + 1 >= numRanks;
    for (bool isDown : {false, true})
      for (chunk = 0; chunk < chunks; ++chunk) {
        // As the graph sums: the right child first.
        std::vector<Port> up = {memory(Port::Load, 0, chunk)}, down;
        if (!isLeaf)
          up.insert(up.end(), {channel(r, Port::Recv, 2 * r + 2),
                               channel(r, Port::Recv, 2 * r + 1)});
        Port result = memory(Port::Store, 1, chunk);
        if (!isLeaf)
          down = {channel(r, Port::Send, 2 * r + 1),
                  channel(r, Port::Send, 2 * r + 2)};
        if (r == 0 && !isDown) {
          add(r, up, {result});
          add(r, {memory(Port::Load, 1, chunk)}, down);
        } else if (r != 0 && !isDown) {
          add(r, up, {channel(r, Port::Send, parentOf(r))});
        } else if (r != 0) {
          down.push_back(result);
          add(r, {channel(r, Port::Recv, parentOf(r))}, down);
        }
      }
  }
}

/// Both must say the same, at the edge and one beyond.
static void expectEdge(const ProgramSet &safe, FifoShape safeShape,
                       const ProgramSet &stuck, FifoShape stuckShape) {
  EXPECT_FALSE(runFifos(safe, 0, Variant::OutOfPlace, safeShape).isStuck);
  ForcedResult result = runForced(safe, safeShape, 120'000);
  EXPECT_TRUE(result.hasEnded && result.isRight) << result.report;

  DeadlockResult why = runFifos(stuck, 0, Variant::OutOfPlace, stuckShape);
  EXPECT_TRUE(why.isStuck);
  ASSERT_FALSE(why.cycle.empty());
  result = runForced(stuck, stuckShape, 700);
  EXPECT_TRUE(result.hasTimedOut) << result.report;
  // The same rank waits for the same peer.
  std::string line = "rank " + std::to_string(why.cycle[0].rank) + " waits for";
  line += why.cycle[0].why == BlockedAt::Credit ? " room at" : " data from";
  line += " rank " + std::to_string(why.cycle[0].peer);
  EXPECT_NE(result.report.find(line), std::string::npos)
      << line << " is not in:\n"
      << result.report;
}

TEST(ForcedRun, TreeMeansAnAllreduce) {
  for (uint32_t chunks : {1u, 9u}) {
    ChunkGraph graph = treeGraph(chunks);
    ProgramCheckResult check =
        checkPrograms(Tree(chunks).programs, {&graph, 1});
    EXPECT_TRUE(check.isRight())
        << describe(check.errors[0], Tree(chunks).programs);
  }
}

// Messages of 9 slots with credits one by one, of 8 with batches of 2.
TEST(ForcedRun, TreeInPieces) {
  for (auto [batch, safe] : {std::pair(1u, 9u), std::pair(2u, 8u)}) {
    SCOPED_TRACE("batches of " + std::to_string(batch));
    FifoShape shape{4, batch, 1, 1};
    expectEdge(Tree(safe).programs, shape, Tree(safe + 1).programs, shape);
  }
}

// The same edge where it takes no runtime to see it.
TEST(ForcedRun, TreeInPiecesOnLongerRings) {
  for (auto [slots, batch, safe] :
       {std::tuple(8u, 1u, 17u), std::tuple(8u, 4u, 16u)}) {
    auto isStuck = [&](uint32_t pieces) {
      return runFifos(Tree(pieces).programs, 0, Variant::OutOfPlace,
                      {slots, batch, 1, 1})
          .isStuck;
    };
    EXPECT_FALSE(isStuck(safe));
    EXPECT_TRUE(isStuck(safe + 1));
  }
}

// Programs that are nothing but messages, on any rings.
TEST(ForcedRun, RandomMessages) {
  int stuck = 0, ended = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ProgramSet programs = randomMessages(random);
    uint32_t slots = 1u << random() % 2;
    FifoShape shape{slots, 1 + uint32_t(random() % slots),
                    1 + uint32_t(random() % 3), 1};
    bool isStuck = runFifos(programs, 0, Variant::OutOfPlace, shape).isStuck;
    ForcedResult result = runForced(programs, shape, isStuck ? 300 : 120'000);
    EXPECT_EQ(result.hasEnded, !isStuck) << result.report;
    EXPECT_EQ(result.hasTimedOut, isStuck);
    ++(isStuck ? stuck : ended);
  }
  EXPECT_GT(stuck, 3);
  EXPECT_GT(ended, 3);
}

// A fused step holds the slot that it has received until it can send: whatever
// the batches, one slot less.
TEST(ForcedRun, FusedTree) {
  ChunkGraph graph = binaryTreeAllreduce(numRanks);
  ProgramSet programs = schedule({&graph, 1}, {}).programs;
  for (uint32_t batch : {1u, 2u}) {
    SCOPED_TRACE("batches of " + std::to_string(batch));
    expectEdge(programs, {4, batch, 8, 1}, programs, {4, batch, 9, 1});
  }
}
