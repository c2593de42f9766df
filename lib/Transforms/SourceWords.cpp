//===- SourceWords.cpp - Analyses' diagnostics as MLIR's ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Transforms/SourceWords.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace coll;

void coll::openSources(mlir::Operation *op, SourceManager &sources) {
  llvm::SetVector<mlir::StringAttr> names;
  op->walk([&](mlir::Operation *inner) {
    inner->getLoc()->walk([&](mlir::Location loc) {
      if (auto range = mlir::dyn_cast<mlir::FileLineColRange>(loc))
        names.insert(range.getFilename());
      return mlir::WalkResult::advance();
    });
  });
  for (mlir::StringAttr name : names)
    if (name != "-" && name != "<stdin>")
      sources.open(name);
}

mlir::Location coll::locationOf(SourceRange range, const SourceManager &sources,
                                mlir::Location fallback) {
  if (!range.isValid())
    return fallback;
  LineColumn start = sources.start(range), end = sources.end(range);
  mlir::Builder b(fallback.getContext());
  return mlir::FileLineColRange::get(
      b.getStringAttr(sources.file(range.file).name()), start.line,
      start.column, end.line, end.column);
}

mlir::LogicalResult coll::emitDiagnostics(const DiagnosticEngine &diags,
                                          mlir::Location fallback) {
  auto place = [&](SourceRange range) {
    return locationOf(range, diags.sources(), fallback);
  };
  for (const Diagnostic &diagnostic : diags.diagnostics()) {
    bool isError = diagnostic.severity == Severity::Error;
    mlir::InFlightDiagnostic out =
        isError ? mlir::emitError(place(diagnostic.range))
                : mlir::emitWarning(place(diagnostic.range));
    out << diagnostic.message << " [" << slugText(diagnostic.slug) << "]";
    for (const Note &note : diagnostic.notes)
      out.attachNote(place(note.range))
          << (note.severity == Severity::Help ? "help: " : "") << note.message;
    for (const FixIt &fix : diagnostic.fixits)
      out.attachNote(place(fix.range)) << "help: " << fix.message;
  }
  return mlir::success(!diags.hasErrors());
}
