//===- colc.cpp - The compiler --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "tools/colc/Check.h"
#include "tools/colc/Compile.h"

using namespace coll;

static Verdict printTree(Session &session, const Options &options) {
  auto os = openOutput(options.output);
  if (!os)
    return Verdict::Usage;
  if (session.program().main)
    printFile(*session.program().main, *os);
  return Verdict::Right;
}

static Verdict printIR(Session &session, const Options &options) {
  auto os = openOutput(options.output);
  if (!os)
    return Verdict::Usage;
  session.module().print(*os);
  return Verdict::Right;
}

static Verdict run(Session &session, const Options &options) {
  if (!session.load(options.file, options.schedule, options.libraryDirs))
    return session.verdict;
  if (options.check)
    return check(session, options);
  switch (options.emit) {
  case Emit::Ast: return printTree(session, options);
  case Emit::Coll: return printIR(session, options);
  case Emit::Report: return report(session, options);
  default: return compile(session, options);
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("colc crashed: please report this, with the file and the command line\n");
  std::optional<Options> options = parseOptions(argc, argv);
  if (!options)
    return static_cast<int>(Verdict::Usage);
  if (!options->explain.empty()) {
    if (explain(options->explain, llvm::outs()))
      return 0;
    llvm::errs() << "colc: error: there is no diagnostic [" << options->explain << "]\n";
    return static_cast<int>(Verdict::Usage);
  }
  Session session;
  Verdict verdict = run(session, *options);
  llvm::outs().flush();
  render(session.diags, options->diagnostics, llvm::errs());
  return static_cast<int>(verdict);
}
