//===- ProgramRoundTripTest.cpp - Programs to IR, to text, and back -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramEqual.h"
#include "ProgramSamples.h"

#include "lib/Transforms/ProgramToIR.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>

using namespace coll;

namespace {

/// A file of 20 lines of 30 bytes, whose sites are ranges in it.
class ProgramRoundTrip : public testing::Test {
protected:
  ProgramRoundTrip() {
    std::string text;
    for (int line = 0; line < 20; ++line)
      text += std::string(29, char('a' + line)) + "\n";
    file = sources.add("dir/x.coll", text);
    context.loadDialect<CollDialect>();
  }

  /// To IR, to text, and back. Fails the test if the program is not the same.
  std::string check(const ProgramSet &programs) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        programToIR(programs, sources, context);
    EXPECT_TRUE(module && mlir::succeeded(mlir::verify(*module)));
    std::string text;
    llvm::raw_string_ostream os(text);
    mlir::OpPrintingFlags flags;
    flags.enableDebugInfo(true);
    module->print(os, flags);
    mlir::OwningOpRef<mlir::ModuleOp> parsed =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(parsed) << text;
    if (!parsed)
      return text;
    auto imported =
        programFromIR(*parsed->getOps<ProgramOp>().begin(), sources);
    EXPECT_TRUE(mlir::succeeded(imported));
    if (mlir::succeeded(imported)) {
      EXPECT_EQ(describe(programs), describe(imported->programs)) << text;
      EXPECT_EQ(imported->siteLocs.size(), imported->programs.sites.size());
    }
    return text;
  }

  SourceManager sources;
  FileId file;
  mlir::MLIRContext context;
};

TEST_F(ProgramRoundTrip, Ring) {
  std::string text = check(makeRing(4, file));
  EXPECT_NE(text.find("coll.push %"), std::string::npos);
  check(makeRing(2, file));
}

TEST_F(ProgramRoundTrip, EveryField) { check(makeEveryField(file)); }

/// Without the source file there are no ranges, but all else is there.
TEST_F(ProgramRoundTrip, ForeignFile) {
  ProgramSet programs = makeRing(3, file);
  auto module = programToIR(programs, sources, context);
  auto imported =
      programFromIR(*module->getOps<ProgramOp>().begin(), SourceManager());
  ASSERT_TRUE(mlir::succeeded(imported));
  for (const Site &site : imported->programs.sites)
    EXPECT_FALSE(site.range.isValid());
  ASSERT_EQ(imported->siteLocs.size(), 2u);
  for (Site &site : programs.sites)
    site.range = {};
  EXPECT_EQ(describe(programs), describe(imported->programs));
}

TEST_F(ProgramRoundTrip, ShownUpToABound) {
  ProgramSet programs = makeRing(2, file);
  std::vector<Step> &steps = programs.members[0].outOfPlace[0].blocks[0].steps;
  steps.resize(maxStepsInIR + 1, steps[0]);
  EXPECT_FALSE(programToIR(programs, sources, context));
}

/// A value that is used twice is written twice, which doubles at each step
/// here.
TEST_F(ProgramRoundTrip, ExpressionsUpToABound) {
  auto module = programToIR(makeRing(2, file), sources, context);
  ProgramOp program = *module->getOps<ProgramOp>().begin();
  program.walk([](CombineOp combine) {
    mlir::OpBuilder b(combine);
    b.setInsertionPointAfter(combine);
    mlir::Value value = combine;
    for (int i = 0; i < 60; ++i)
      value = AddOp::create(b, combine.getLoc(), value, value);
    combine.getResult().replaceUsesWithIf(value, [](mlir::OpOperand &use) {
      return mlir::isa<PushOp, StoreOp>(use.getOwner());
    });
  });
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diag) { message = diag.str(); });
  EXPECT_TRUE(mlir::failed(programFromIR(program, sources)));
  EXPECT_EQ(message, "expression has more than 65536 nodes");
}

/// A random expression over `sources` operands.
std::vector<ExprNode> randomExpr(std::mt19937 &random, uint32_t sources) {
  std::vector<ExprNode> nodes;
  uint32_t height = 0;
  for (uint32_t i = random() % 6 + 1; i > 0 || height > 1; i -= i > 0) {
    if (i > 0) {
      nodes.push_back(
          {ExprNode::Operand, ElemType::T, 0, uint32_t(random() % sources)});
      ++height;
    }
    switch (random() % 4) {
    case 0:
      nodes.push_back({ExprNode::Round, ElemType(random() % 9)});
      break;
    case 1:
      if (height > 1)
        nodes.push_back({ExprNode::Add}), --height;
      break;
    default: {
      uint32_t taken = random() % height + 1;
      nodes.push_back({random() % 2 ? ExprNode::Fold : ExprNode::FoldAny,
                       ElemType::T, 0, taken});
      height -= taken - 1;
    }
    }
  }
  return nodes;
}

ProgramSet randomProgram(std::mt19937 &random, FileId file) {
  ProgramSet programs = makeRing(random() % 4 + 2, file);
  programs.exprs.clear();
  for (ProgramMember &member : programs.members)
    for (RankProgram &program : member.outOfPlace)
      for (BlockProgram &block : program.blocks)
        for (Step &step : block.steps) {
          step.expr = programs.exprs.size();
          step.shift = random() % step.numSources;
          step.type = ElemType(random() % 9);
          step.value = random() % 2 ? kNone : random() % 1000;
          programs.exprs.push_back({randomExpr(random, step.numSources)});
          for (uint32_t i = 0; i < step.numSources; ++i)
            program.ports[step.firstPort + i].type = ElemType(random() % 9);
        }
  return programs;
}

TEST_F(ProgramRoundTrip, Random) {
  uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int i = 0; i < 50 && !HasFailure(); ++i)
    check(randomProgram(random, file));
}

} // namespace
