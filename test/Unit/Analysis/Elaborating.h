//===- Elaborating.h - Programs from text to chunk graphs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_ANALYSIS_ELABORATING_H
#define COLL_TEST_UNIT_ANALYSIS_ELABORATING_H

#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Elaborate.h"
#include "lib/Frontend/Sema.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

namespace coll {

/// A program that is compiled once and executed for several parameters.
class Elaborating {
public:
  explicit Elaborating(std::string text)
      : diags(sources), context(mlir::MLIRContext::Threading::DISABLED) {
    loadSemaDialects(context);
    Program program =
        loadProgram(sources, sources.add("test.coll", std::move(text)), diags);
    if (!diags.hasErrors())
      module = emitModule(program, context, diags);
    if (module && !diags.hasErrors())
      for (ScheduleOp op : module->getOps<ScheduleOp>())
        codes.push_back(buildBytecode(op, sources));
  }

  ElaborateResult run(std::vector<uint32_t> dims, size_t schedule = 0) {
    Parameters params;
    params.rankDims = std::move(dims);
    return elaborate(codes.at(schedule), params, diags);
  }

  std::string errors() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    render(diags, DiagnosticFormat::Text, os);
    return text;
  }
  /// Of the first error, or "".
  llvm::StringRef slug() const {
    for (const Diagnostic &d : diags.diagnostics())
      if (d.severity == Severity::Error)
        return slugText(d.slug);
    return "";
  }

  SourceManager sources;
  DiagnosticEngine diags;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Bytecode> codes;
};

} // namespace coll

#endif // COLL_TEST_UNIT_ANALYSIS_ELABORATING_H
