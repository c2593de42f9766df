//===- coll-sema.cpp - The front end alone --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests of the front end: writes the algorithm level of a program and what
// there is to say about it. Exits as colc does: 1 for a program that is wrong,
// 2 for the command line and for files that cannot be read.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Sema.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace coll;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("FILE.coll"));
static cl::opt<std::string> schedule("schedule",
                                     cl::desc("Only this schedule"));
static cl::opt<bool> locations("locations", cl::desc("Print locations"));
static cl::opt<bool> quiet("quiet", cl::desc("Print diagnostics only"));
static cl::list<std::string> libraryDirs("I",
                                         cl::desc("Where to find imports"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Checks a .coll program\n");
  SourceManager sources;
  DiagnosticEngine diags(sources);
  LoadOptions load;
  load.libraryDirs.assign(libraryDirs.begin(), libraryDirs.end());
  Program program = loadProgram(sources, input, diags, load);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  SemaOptions options;
  options.schedule = schedule;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (program.main)
    module = emitModule(program, context, diags, options);
  if (module && !quiet) {
    mlir::OpPrintingFlags flags;
    if (locations)
      flags.enableDebugInfo();
    module->print(llvm::outs(), flags);
    llvm::outs() << '\n';
  }
  llvm::outs().flush();
  render(diags, DiagnosticFormat::Text, llvm::errs());
  if (program.unreadable)
    return 2;
  return diags.hasErrors() ? 1 : 0;
}
