//===- ProgramLibraryTest.cpp - The library's programs, to IR and back ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule of a library file that is right at some rank space is
// scheduled and taken to text and back. What is rejected on the way is no
// matter here.
//
//===----------------------------------------------------------------------===//

#include "ProgramEqual.h"

#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Elaborate.h"
#include "lib/Analysis/Schedule.h"
#include "lib/Frontend/Sema.h"
#include "lib/Transforms/ProgramToIR.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

using Dims = std::vector<uint32_t>;

class ProgramLibrary : public testing::TestWithParam<const char *> {
protected:
  std::optional<ProgramSet> makePrograms(const Bytecode &code,
                                         const Dims &dims);
  void checkRoundTrip(const ProgramSet &programs);

  SourceManager sources;
  mlir::MLIRContext context;
};

/// Nothing if the schedule is wrong, excluded or refused.
std::optional<ProgramSet> ProgramLibrary::makePrograms(const Bytecode &code,
                                                       const Dims &dims) {
  DiagnosticEngine diags(sources);
  Parameters parameters;
  parameters.rankDims = dims;
  LaunchFamily family = enumerateLaunch(code, parameters, diags);
  if (family.status != ElaborateResult::Right)
    return std::nullopt;
  std::vector<ChunkGraph> members;
  for (uint64_t m = 0; m < family.size(); ++m) {
    parameters.launch = family.member(m);
    ElaborateResult result = elaborate(code, parameters, diags);
    if (result.status != ElaborateResult::Right)
      return std::nullopt;
    members.push_back(std::move(result.graph));
  }
  ScheduleResult result = schedule(members, {});
  if (result.refusal)
    return std::nullopt;
  return std::move(result.programs);
}

void ProgramLibrary::checkRoundTrip(const ProgramSet &programs) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      programToIR(programs, sources, context);
  ASSERT_TRUE(module && mlir::succeeded(mlir::verify(*module)));
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true);
  module->print(os, flags);
  mlir::OwningOpRef<mlir::ModuleOp> parsed =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(parsed);
  auto imported = programFromIR(*parsed->getOps<ProgramOp>().begin(), sources);
  ASSERT_TRUE(mlir::succeeded(imported));
  EXPECT_EQ(describe(programs), describe(imported->programs));
}

TEST_P(ProgramLibrary, RoundTrip) {
  loadSemaDialects(context);
  DiagnosticEngine diags(sources);
  Program program = loadProgram(
      sources, std::string(COLL_LIBRARY_DIR "/") + GetParam(), diags);
  ASSERT_FALSE(diags.hasErrors());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      emitModule(program, context, diags);
  ASSERT_TRUE(module);
  unsigned numPrograms = 0;
  for (ScheduleOp op : module->getOps<ScheduleOp>()) {
    Bytecode code = buildBytecode(op, sources);
    for (const Dims &dims : {Dims{2}, Dims{4}, Dims{5}, Dims{2, 3}}) {
      if (dims.size() != op.getRankNames().size())
        continue;
      SCOPED_TRACE(op.getSymName().str() + " at " + std::to_string(dims[0]));
      if (std::optional<ProgramSet> programs = makePrograms(code, dims)) {
        checkRoundTrip(*programs);
        ++numPrograms;
      }
    }
  }
  EXPECT_GT(numPrograms, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ProgramLibrary,
    testing::Values("ring.coll", "tree.coll", "hier.coll", "root.coll",
                    "nvls.coll", "p2p.coll", "pairs.coll", "standard.coll"),
    [](const testing::TestParamInfo<const char *> &info) {
      return llvm::StringRef(info.param).split('.').first.str();
    });

} // namespace
