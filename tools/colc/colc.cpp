//===- colc.cpp - The compiler --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Plans.h"
#include "lib/Driver/Streams.h"
#include "tools/colc/Check.h"
#include "tools/colc/Compile.h"
#include "tools/colc/ProgramText.h"
#include "tools/colc/Prove.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace coll;

static void printTree(Session &session, const Options &options) {
  writeOutput(session, options.output, [&](llvm::raw_ostream &os) {
    printFile(*session.program().main, os);
  });
}

static void writeReport(Session &session, const Options &options) {
  std::string text = report(session, options);
  if (!session.diags.hasErrors())
    writeOutput(session, options.output,
                [&](llvm::raw_ostream &os) { os << text; });
}

/// A schedule of another system.
static void runXml(Session &session, const Options &options) {
  if (options.prove) {
    session.usage("an XML has one number of ranks: --check judges it").emit();
    return;
  }
  if (!options.check)
    return compileXml(session, options);
  checkForeign(session, options.file, options.schedule, options.ranks,
               llvm::outs());
}

/// What diagnostics do not tell goes to `proof`.
static void run(Session &session, const Options &options, Verdict &proof) {
  if (isForeign(options.file))
    return runXml(session, options);
  if (isProgramText(options.file))
    return checkProgramText(session, options);
  if (!session.parse(options.file, options.libraryDirs))
    return;
  bool isVerifiedOnly = options.check || options.prove;
  if (options.emit == Emit::Ast && !isVerifiedOnly)
    return printTree(session, options);
  if (!session.analyse(options.schedule, options.defines))
    return;
  if (options.prove)
    proof = proveSchedules(session, options);
  if (options.check)
    check(session, options);
  if (isVerifiedOnly)
    return;
  switch (options.emit) {
  case Emit::Coll:
    writeOutput(session, options.output,
                [&](llvm::raw_ostream &os) { session.module().print(os); });
    return;
  case Emit::Report:
    return writeReport(session, options);
  default:
    return compile(session, options);
  }
}

static int printExplanation(StandardStreams &streams, llvm::StringRef slug) {
  // As it stands in a message.
  slug.consume_front("[");
  slug.consume_back("]");
  if (!explain(slug, llvm::outs())) {
    llvm::errs() << "colc: error: there is no diagnostic [" << slug << "]\n";
    return static_cast<int>(Verdict::Usage);
  }
  SourceManager sources;
  DiagnosticEngine diags(sources);
  if (streams.flush(diags))
    return 0;
  render(diags, DiagnosticFormat::Text, llvm::errs());
  return static_cast<int>(Verdict::Usage);
}

int main(int argc, char **argv) {
  StandardStreams streams;
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(
      "colc crashed: please report this, with the file and the command line\n");
  std::optional<Options> options = parseOptions(argc, argv);
  if (!options)
    return static_cast<int>(Verdict::Usage);
  if (!options->explain.empty())
    return printExplanation(streams, options->explain);
  Session session;
  Verdict proof = Verdict::Right;
  run(session, *options, proof);
  streams.flush(session.diags);
  render(session.diags, options->diagnostics, llvm::errs());
  return static_cast<int>(worse(session.verdict(), proof));
}
