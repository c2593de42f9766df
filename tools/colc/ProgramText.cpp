//===- ProgramText.cpp - colc FILE.mlir --check ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/ProgramText.h"

#include "dialect/CollDialect.h"
#include "lib/Support/FileText.h"
#include "lib/Support/Slugs.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"

using namespace coll;

/// Of what a program of a few thousand ranks takes.
static constexpr uint64_t maxTextBytes = 256 << 20;

bool coll::isProgramText(llvm::StringRef path) {
  return path.ends_with(".mlir");
}

Verdict coll::checkProgramText(Session &session, const Options &options) {
  if (!options.check || options.prove) {
    session.usage("programs as text are verified only: say --check").emit();
    return Verdict::Usage;
  }
  FileText file = readFileText(options.file, maxTextBytes);
  if (file.error) {
    session.diags
        .error(Slug::UnreadableFile, {},
               "'" + options.file + "' cannot be read: " + file.message)
        .emit();
    return Verdict::Usage;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(file.text, options.file), {});
  mlir::MLIRContext &context = session.context();
  mlir::SourceMgrDiagnosticHandler handler(sources, &context, llvm::errs());
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return Verdict::Wrong;
  mlir::PassManager passes(&context);
  passes.addPass(createVerifyProgram());
  if (failed(passes.run(*module)))
    return Verdict::Wrong;
  unsigned numPrograms = 0;
  for (ProgramOp program : module->getOps<ProgramOp>()) {
    ++numPrograms;
    llvm::outs() << program.getSymName() << ": no race, no deadlock at "
                 << llvm::product_of(program.getRanks()) << " ranks\n";
  }
  if (numPrograms == 0) {
    session.usage("'" + options.file + "' has no coll.program").emit();
    return Verdict::Usage;
  }
  return Verdict::Right;
}
