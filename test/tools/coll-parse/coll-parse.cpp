//===- coll-parse.cpp - The front end without its second half -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests of the syntax alone: loads a program, prints its tree and what
// there is to say about it. Exits as colc does: 1 for a program that is wrong,
// 2 for the command line and for files that cannot be read.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Parser.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace coll;
namespace cl = llvm::cl;

enum class Emit { None, Ast, Parentheses, Files, RoundTrip };

static cl::opt<std::string> input(cl::Positional, cl::desc("FILE.coll"));
static cl::opt<Emit> emitWhat(
    "emit", cl::desc("What to print"), cl::init(Emit::None),
    cl::values(
        clEnumValN(Emit::None, "none", "nothing but diagnostics"),
        clEnumValN(Emit::Ast, "ast", "the tree in canonical form"),
        clEnumValN(Emit::Parentheses, "parentheses", "with all parentheses"),
        clEnumValN(Emit::Files, "files", "the files of the program, in order"),
        clEnumValN(Emit::RoundTrip, "round-trip",
                   "whether the printed tree parses to the same tree")));
static cl::opt<DiagnosticFormat> format(
    "diagnostics", cl::desc("Format of the diagnostics"),
    cl::init(DiagnosticFormat::Text),
    cl::values(clEnumValN(DiagnosticFormat::Text, "text", "for people"),
               clEnumValN(DiagnosticFormat::Json, "json", "JSON"),
               clEnumValN(DiagnosticFormat::Sarif, "sarif", "SARIF 2.1.0")));
static cl::list<std::string> libraryDirs("I",
                                         cl::desc("Where to find imports"));
static cl::opt<std::string> slug("explain",
                                 cl::desc("Explain a kind of diagnostic"));

static std::string print(const File &file, bool allParentheses) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printFile(file, os, allParentheses);
  return text;
}

/// Parses the canonical print of `file` and compares. True: the same tree.
static bool roundTrip(const File &file) {
  std::string canonical = print(file, /*allParentheses=*/false);
  SourceManager sources;
  DiagnosticEngine diags(sources);
  FileId id = sources.add("printed", canonical);
  std::unique_ptr<File> again = parseFile(sources, id, diags);
  render(diags, DiagnosticFormat::Text, llvm::errs());
  return !again->hasErrors && print(*again, false) == canonical &&
         print(*again, true) == print(file, true);
}

static int emit(const Program &program, const SourceManager &sources) {
  switch (emitWhat) {
  case Emit::None:
    break;
  case Emit::Ast:
  case Emit::Parentheses:
    llvm::outs() << print(*program.main, emitWhat == Emit::Parentheses);
    break;
  case Emit::Files:
    for (const std::unique_ptr<File> &file : program.files)
      llvm::outs() << llvm::sys::path::filename(sources.file(file->id).name())
                   << '\n';
    break;
  case Emit::RoundTrip:
    if (!roundTrip(*program.main)) {
      llvm::errs() << "the printed tree does not parse to the same tree\n";
      return 1;
    }
    llvm::outs() << "same tree\n";
    break;
  }
  return 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Parses a .coll program\n");
  if (!slug.empty())
    return explain(slug, llvm::outs()) ? 0 : 2;
  if (input.empty()) {
    llvm::errs() << "coll-parse: no file\n";
    return 2;
  }
  SourceManager sources;
  DiagnosticEngine diags(sources);
  LoadOptions options;
  options.libraryDirs.assign(libraryDirs.begin(), libraryDirs.end());
  Program program = loadProgram(sources, input, diags, options);
  int status = 0;
  if (program.main && (!program.hasErrors || emitWhat != Emit::RoundTrip))
    status = emit(program, sources);
  llvm::outs().flush();
  render(diags, format, llvm::errs());
  if (program.unreadable)
    return 2;
  return program.hasErrors ? 1 : status;
}
