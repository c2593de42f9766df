//===- coll-elab.cpp - Elaboration alone ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests of the elaboration: executes the schedules of a .coll program, or
// of the algorithm level in .mlir, for one rank space, and says what came of
// it.
//
//   coll-elab ring.coll --schedule allreduce_ring -D N=4 --graph
//
// Exits as colc does: 1 for a program that is wrong, 2 for the command line,
// for files that cannot be read and for a `where` that leaves nothing.
//
//===----------------------------------------------------------------------===//
#include "GraphPrinter.h"
#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Elaborate.h"
#include "lib/Frontend/Sema.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"

using namespace coll;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("FILE.coll or FILE.mlir"));
static cl::opt<std::string> schedule("schedule",
                                     cl::desc("Only this schedule"));
static cl::list<std::string>
    defines("D", cl::Prefix, cl::desc("NAME=VALUE, also of rank dimensions"));
static cl::opt<bool> graph("graph", cl::desc("Print the chunk graph"));
static cl::opt<bool> summary("summary",
                             cl::desc("Print figures of the chunk graph"));
static cl::opt<bool> regions("regions",
                             cl::desc("Print figures of `on` statements"));
static cl::opt<uint64_t> maxSteps("max-steps",
                                  cl::desc("Limits, for tests of them"),
                                  cl::init(Limits().steps));
static cl::opt<uint32_t> maxValues("max-values", cl::init(Limits().values));
static cl::opt<uint64_t> maxLocations("max-locations",
                                      cl::init(Limits().locations));

namespace {
struct Outcome {
  bool isUsage = false, isWrong = false, isAny = false;
};
} // namespace

static bool parseDefines(Parameters &params) {
  params.limits.steps = maxSteps;
  params.limits.values = maxValues;
  params.limits.locations = maxLocations;
  for (llvm::StringRef define : defines) {
    auto [name, text] = define.split('=');
    int64_t value;
    if (text.getAsInteger(0, value)) {
      llvm::errs() << "coll-elab: -D" << define << " has no value\n";
      return false;
    }
    params.defines.push_back({name.str(), value});
  }
  return true;
}

static bool setRanks(const Bytecode &code, Parameters &params) {
  params.rankDims.clear();
  for (const std::string &name : code.rankNames) {
    for (const auto &[key, value] : params.defines)
      if (key == name)
        params.rankDims.push_back(value);
  }
  if (params.rankDims.size() == code.rankNames.size())
    return true;
  llvm::errs() << "coll-elab: the ranks of " << code.schedule
               << " are not given\n";
  return false;
}

static void printRight(const Bytecode &code, const ElaborateResult &result) {
  llvm::raw_ostream &os = llvm::outs();
  os << code.schedule << ": right";
  if (result.agreement == Agreement::No)
    os << ", ranks differ: " << result.disagreement;
  if (result.agreement == Agreement::Hardware)
    os << ", ranks may differ: " << result.disagreement;
  os << "\n";
  if (regions)
    for (const RegionReport &region : result.regions)
      os << "  region: " << region.processes << " processes, "
         << region.messages << " messages, buffer " << region.capacity
         << ", least " << region.leastCapacity << "\n";
  if (summary)
    printSummary(result.graph, os);
  if (graph)
    printGraph(result.graph, os);
}

static void runSchedule(const Bytecode &code, Parameters params,
                        DiagnosticEngine &diags, Outcome &outcome) {
  if (code.code.empty()) { // which MLIR has said
    outcome.isWrong = true;
    return;
  }
  if (!setRanks(code, params)) {
    outcome.isUsage = true;
    return;
  }
  LaunchFamily family = enumerateLaunch(code, params, diags);
  if (family.status == ElaborateResult::Wrong)
    outcome.isWrong = true;
  for (uint64_t i = 0;
       family.status == ElaborateResult::Right && i < family.size(); ++i) {
    params.launch = family.member(i);
    ElaborateResult result = elaborate(code, params, diags);
    if (result.status == ElaborateResult::Excluded) {
      llvm::outs() << code.schedule << ": excluded by " << result.excludedBy
                   << "\n";
      continue;
    }
    outcome.isAny = true;
    if (result.status == ElaborateResult::Right) {
      printRight(code, result);
      continue;
    }
    outcome.isWrong = true;
    return;
  }
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Executes schedules\n");
  SourceManager sources;
  DiagnosticEngine diags(sources);
  Parameters params;
  if (!parseDefines(params))
    return 2;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadSemaDialects(context);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (llvm::StringRef(input).ends_with(".mlir")) {
    sources.open(input);
    module = mlir::parseSourceFile<mlir::ModuleOp>(input, &context);
    if (!module)
      return 2;
  } else {
    Program program = loadProgram(sources, input, diags, {});
    SemaOptions options;
    options.schedule = schedule;
    if (program.main)
      module = emitModule(program, context, diags, options);
  }
  Outcome outcome;
  if (module && !diags.hasErrors())
    for (ScheduleOp op : module->getOps<ScheduleOp>())
      if (schedule.empty() || op.getSymName() == schedule)
        runSchedule(buildBytecode(op, sources), params, diags, outcome);
  llvm::outs().flush();
  render(diags, DiagnosticFormat::Text, llvm::errs());
  if (outcome.isUsage)
    return 2;
  if (diags.hasErrors() || outcome.isWrong)
    return 1;
  return outcome.isAny ? 0 : 2;
}
