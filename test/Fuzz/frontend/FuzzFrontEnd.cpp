//===- FuzzFrontEnd.cpp - Any bytes through the whole front end -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever the bytes: reading, semantic analysis and execution for a few small
// rank spaces end, within bounds, and either there is an error or there is a
// result. The ops that semantic analysis writes pass MLIR's verifier.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Elaborate.h"
#include "lib/Frontend/Sema.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>

using namespace coll;

static void require(bool condition, const char *what) {
  if (condition)
    return;
  llvm::errs() << "violated: " << what << '\n';
  std::abort();
}

/// Far below what the compiler allows: a fuzzer looks for the unexpected, and
/// has to look often.
static Limits smallLimits() {
  Limits limits;
  limits.steps = 1u << 14;
  limits.values = 1u << 14;
  limits.locations = 1u << 16;
  limits.ranks = 64;
  limits.chunks = 1u << 10;
  return limits;
}

static void execute(const Bytecode &code, const SourceManager &sources) {
  for (uint32_t size : {1u, 2u, 3u}) {
    DiagnosticEngine diags(sources);
    Parameters parameters;
    parameters.rankDims.assign(code.rankDims.size(), size);
    parameters.limits = smallLimits();
    LaunchFamily family = enumerateLaunch(code, parameters, diags);
    if (family.status == ElaborateResult::Right) {
      parameters.launch = family.member(family.size() - 1);
      ElaborateResult result = elaborate(code, parameters, diags);
      require((result.status == ElaborateResult::Wrong) == diags.hasErrors(),
              "a wrong schedule has an error, and only a wrong one");
    } else if (family.status == ElaborateResult::Wrong) {
      require(diags.hasErrors(), "a launch family that is wrong has an error");
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    render(diags, DiagnosticFormat::Text, os);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // One context for all runs would keep every location of every input.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadSemaDialects(context);
  SourceManager sources;
  DiagnosticEngine diags(sources);
  std::string text(reinterpret_cast<const char *>(data), size);
  Program program =
      loadProgram(sources, sources.add("input.coll", text), diags);
  if (program.hasErrors)
    return 0;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      emitModule(program, context, diags);
  if (!module) // an error, or a file without a schedule
    return 0;
  require(!diags.hasErrors(), "ops in spite of an error");
  require(succeeded(mlir::verify(*module)), "the ops are well-formed");
  for (ScheduleOp op : module->getOps<ScheduleOp>()) {
    Bytecode code = buildBytecode(op, sources);
    require(!code.code.empty(), "well-formed ops have code");
    execute(code, sources);
  }
  return 0;
}
