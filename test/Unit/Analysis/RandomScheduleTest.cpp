//===- RandomScheduleTest.cpp - Elaboration against a naive interpreter ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs go as text through the front end and the elaboration, and
// must come to the same as the naive interpreter: an error, or the same bits in
// every location of `out`. The contract promises what the interpreter found, so
// it must hold; with a change that matters it must not.
//
// Seeds.h says how to try others.
//
//===----------------------------------------------------------------------===//
#include "RandomSchedule.h"
#include "../Score.h"
#include "../Seeds.h"
#include "Elaborating.h"
#include "lib/Analysis/Terms.h"

#include "gtest/gtest.h"

using namespace coll;
using namespace coll::naive;

static std::map<Place, Tree> outputsOf(const std::map<Place, Tree> &state) {
  std::map<Place, Tree> outputs;
  for (const auto &[place, tree] : state)
    if (place.array == Out)
      outputs[place] = tree;
  return outputs;
}

static void compareBits(const ChunkGraph &graph,
                        const std::map<Place, Tree> &outputs, bool reduces) {
  EXPECT_EQ(graph.reduces, reduces);
  EXPECT_EQ(graph.outputs.size(), outputs.size());
  for (const Output &output : graph.outputs) {
    auto it = outputs.find({Out, int(output.cell.part), int(output.rank)});
    ASSERT_NE(it, outputs.end());
    EXPECT_EQ(bitsOf(graph, graph.values[output.value].term),
              bits(it->second, reduces));
  }
}

/// What every chunk graph promises to its readers: operands come first, and the
/// term of a value is that of its expression over its operands.
static void checkInvariants(const ChunkGraph &graph) {
  TermTable table(graph.terms, graph.termOperands, leafTypesOf(graph));
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value &value = graph.values[id];
    EXPECT_LT(value.term, graph.terms.size());
    EXPECT_LT(value.extent, graph.extents.size());
    EXPECT_EQ(value.kind == Value::Input, value.numOperands == 0);
    std::vector<TermId> operands;
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const Operand &operand = graph.operandsOf(value)[i];
      ASSERT_LT(operand.value, id);
      TermId term = graph.values[operand.value].term;
      if (!operand.hasVia) {
        EXPECT_EQ(operand.via, graph.values[operand.value].type);
      }
      operands.push_back(operand.hasVia ? table.round(term, operand.via)
                                        : term);
    }
    if (value.kind == Value::Op) {
      EXPECT_EQ(table.evaluate(graph.exprs[value.expr], operands, value.type),
                value.term);
    }
  }
}

/// The tree with one leaf changed, dropped or doubled.
static Tree mutate(const Tree &tree, int numRanks, int numParts,
                   std::mt19937_64 &random) {
  if (tree->kind == Node::Leaf) {
    bool isFold = numRanks * numParts == 1 || random() % 3 == 0;
    int part = random() % numParts, rank = random() % numRanks;
    return isFold ? fold({tree, leaf(part, rank)}) : leaf(part, rank);
  }
  auto copy = std::make_shared<Node>(*tree);
  size_t i = random() % copy->operands.size();
  if (copy->kind == Node::Fold && copy->operands.size() > 2 && random() % 2)
    copy->operands.erase(copy->operands.begin() + i);
  else
    copy->operands[i] = mutate(copy->operands[i], numRanks, numParts, random);
  return copy;
}

static bool hasReduce(const std::map<Place, Tree> &outputs) {
  for (const auto &[place, tree] : outputs)
    if (expression(tree).find("reduce(") != std::string::npos)
      return true;
  return false;
}

static void checkMutant(const Schedule &schedule, std::map<Place, Tree> outputs,
                        std::mt19937_64 &random) {
  auto chosen = std::next(outputs.begin(), random() % outputs.size());
  std::string before = meaning(chosen->second);
  chosen->second =
      mutate(chosen->second, schedule.numRanks, schedule.numParts, random);
  std::string text = print(schedule, outputs);
  SCOPED_TRACE(text);
  Elaborating program(text);
  ASSERT_EQ(program.codes.size(), 1u) << program.errors();
  ElaborateResult result = program.run({uint32_t(schedule.numRanks)});
  bool isSame = meaning(chosen->second) == before;
  EXPECT_EQ(result.status == ElaborateResult::Right, isSame)
      << before << " promised as " << meaning(chosen->second) << "\n"
      << program.errors();
}

static void checkSeed(uint64_t seed, std::map<std::string, int> &tally) {
  std::mt19937_64 random(seed);
  Schedule schedule = randomSchedule(random);
  Result expected = interpret(schedule, random);
  std::map<Place, Tree> outputs = outputsOf(expected.state);
  if (!expected.error.empty())
    outputs.clear();
  std::string text = print(schedule, outputs);
  SCOPED_TRACE("seed " + std::to_string(seed) + ":\n" + text);
  ++tally[expected.error];
  Elaborating program(text);
  ASSERT_EQ(program.codes.size(), 1u) << program.errors();
  ElaborateResult result = program.run({uint32_t(schedule.numRanks)});
  if (!expected.error.empty()) {
    EXPECT_EQ(result.status, ElaborateResult::Wrong) << expected.error;
    return;
  }
  ASSERT_EQ(result.status, ElaborateResult::Right) << program.errors();
  checkInvariants(result.graph);
  compareBits(result.graph, outputs, hasReduce(outputs));
  if (!outputs.empty())
    checkMutant(schedule, outputs, random);
}

TEST(RandomSchedule, AgreesWithTheNaiveInterpreter) {
  coll::test::Seeds seeds(1000);
  std::map<std::string, int> tally;
  while (seeds.next()) {
    checkSeed(seeds.seed(), tally);
    if (HasFailure())
      FAIL() << "seed " << seeds.seed();
  }
  std::string counts;
  for (const auto &[error, count] : tally)
    counts += (counts.empty() ? "" : ", ") + std::to_string(count) + " " +
              (error.empty() ? "right" : error);
  coll::test::reportScore("oracle of schedules",
                          std::to_string(seeds.numDone()) +
                              " schedules against a naive interpreter: " +
                              counts + "; 0 disagreements, " + seeds.text());
  // The generator is of use only while it makes all kinds.
  if (seeds.areMany()) {
    EXPECT_EQ(tally.size(), 4u);
    EXPECT_GT(tally[""] * 5, int(seeds.numDone()));
    EXPECT_LT(tally[""] * 5, int(seeds.numDone()) * 4);
  }
}
