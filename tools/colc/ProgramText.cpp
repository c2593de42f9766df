//===- ProgramText.cpp - colc FILE.mlir --check ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/ProgramText.h"

#include "dialect/CollDialect.h"
#include "lib/Analysis/SourceLocation.h"
#include "lib/Support/FileText.h"
#include "lib/Support/Slugs.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace coll;

/// Of what a program of a few thousand ranks takes.
static constexpr uint64_t maxTextBytes = 256 << 20;

bool coll::isProgramText(llvm::StringRef path) {
  return path.ends_with(".mlir");
}

namespace {
/// Takes what MLIR has to say of the text into the session's diagnostics.
class TextHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit TextHandler(Session &session)
      : ScopedDiagnosticHandler(&session.context()), session(session) {
    setHandler([this](mlir::Diagnostic &said) { add(said); });
  }

private:
  /// MLIR points at the first character; what it names is the word there.
  SourceRange wordAt(mlir::Location location) const {
    SourceRange range = rangeOf(session.sources, location);
    if (!range.isValid() || range.begin != range.end)
      return range;
    llvm::StringRef text = session.sources.file(range.file).text();
    auto isWord = [](char c) {
      return llvm::isAlnum(c) || llvm::is_contained("_.@%#", c);
    };
    range.end += text.substr(range.begin).take_while(isWord).size();
    if (range.end == range.begin && range.end < text.size())
      ++range.end;
    return range;
  }
  void add(mlir::Diagnostic &said) {
    bool isError = said.getSeverity() == mlir::DiagnosticSeverity::Error;
    Diagnostic diagnostic{isError ? Severity::Error : Severity::Warning,
                          Slug::WrongProgram,
                          said.str(),
                          wordAt(said.getLocation()),
                          {},
                          {}};
    for (mlir::Diagnostic &note : said.getNotes())
      diagnostic.note(wordAt(note.getLocation()), note.str());
    session.diags.emit(std::move(diagnostic));
  }

  Session &session;
};
} // namespace

void coll::checkProgramText(Session &session, const Options &options) {
  if (!options.check || options.prove) {
    session.usage("programs as text are verified only: say --check").emit();
    return;
  }
  FileText file = readFileText(options.file, maxTextBytes);
  if (file.error) {
    session.diags
        .error(Slug::UnreadableFile, {},
               "'" + options.file + "' cannot be read: " + file.message)
        .emit();
    return;
  }
  FileId id = session.sources.add(options.file, std::move(file.text));
  TextHandler handler(session);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      session.sources.file(id).text(), &session.context(), options.file);
  if (!module)
    return;
  if (module->getOps<ProgramOp>().empty()) {
    session.usage("'" + options.file + "' has no coll.program").emit();
    return;
  }
  mlir::PassManager passes(&session.context());
  passes.addPass(createVerifyProgram());
  if (failed(passes.run(*module)))
    return;
  for (ProgramOp program : module->getOps<ProgramOp>())
    llvm::outs() << program.getSymName() << ": no race, no deadlock at "
                 << llvm::product_of(program.getRanks()) << " ranks\n";
}
