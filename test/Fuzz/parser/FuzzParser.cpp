//===- FuzzParser.cpp - Any bytes through the parser ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever the bytes: parsing ends, every range lies in the text, all renderers
// take the diagnostics, and a tree without errors prints to a text that parses
// to the same tree.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace coll;

static std::string print(const File &file, bool allParentheses) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printFile(file, os, allParentheses);
  return text;
}

static void require(bool condition, const char *what) {
  if (condition)
    return;
  llvm::errs() << "violated: " << what << '\n';
  std::abort();
}

static void checkRange(const SourceManager &sources, SourceRange range) {
  if (!range.isValid())
    return;
  require(range.begin <= range.end, "a range begins before it ends");
  require(range.end <= sources.file(range.file).text().size(),
          "a range lies in its file");
}

static void checkDiagnostics(const DiagnosticEngine &diags) {
  for (const Diagnostic &diagnostic : diags.diagnostics()) {
    checkRange(diags.sources(), diagnostic.range);
    for (const Note &note : diagnostic.notes)
      checkRange(diags.sources(), note.range);
    for (const FixIt &fixit : diagnostic.fixits)
      checkRange(diags.sources(), fixit.range);
  }
  for (auto format : {DiagnosticFormat::Text, DiagnosticFormat::Json,
                      DiagnosticFormat::Sarif}) {
    std::string text;
    llvm::raw_string_ostream os(text);
    render(diags, format, os);
  }
}

static void checkRoundTrip(const File &file) {
  std::string canonical = print(file, /*allParentheses=*/false);
  SourceManager sources;
  DiagnosticEngine diags(sources);
  std::unique_ptr<File> again =
      parseFile(sources, sources.add("printed", canonical), diags);
  require(!again->hasErrors, "a printed tree parses");
  require(print(*again, false) == canonical, "printing settles");
  require(print(*again, true) == print(file, true),
          "a printed tree parses to the same tree");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceManager sources;
  DiagnosticEngine diags(sources);
  FileId id = sources.add(
      "fuzz.coll", std::string(reinterpret_cast<const char *>(data), size));
  Program program = loadProgram(sources, id, diags);
  require(program.main, "text in memory can be read");
  require(program.hasErrors == diags.hasErrors(), "every error is told");
  checkDiagnostics(diags);
  if (!program.main->hasErrors)
    checkRoundTrip(*program.main);
  return 0;
}
