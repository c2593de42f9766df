//===- Sema.cpp - From syntax trees to the normal form --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Frontend/Sema.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/SemaEmitter.h"
#include "lib/Frontend/SemaFunctions.h"
#include "lib/Frontend/SemaSchedules.h"
#include "lib/Support/Slugs.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/ProgramStack.h"

using namespace mlir;
using namespace coll::sema;
using llvm::StringRef;

namespace coll {

/// Expressions may nest by the thousand; see maxDepth in SemaExprs.cpp.
static constexpr unsigned stackBytes = 64u << 20;

void loadSemaDialects(MLIRContext &context) {
  context.loadDialect<CollDialect, arith::ArithDialect, math::MathDialect,
                      scf::SCFDialect>();
}

namespace {

/// The walk over a whole program.
class ProgramEmitter {
public:
  ProgramEmitter(const Program &program, MLIRContext &context,
                 DiagnosticEngine &diags, const SemaOptions &options)
      : program(program), diags(diags), options(options),
        globals(program, diags), e(globals, context, diags) {
    module = ModuleOp::create(e.loc({program.main->id, 0, 0}));
    e.functions->start(*module);
  }

  OwningOpRef<ModuleOp> emit();

private:
  void emitSchedule(const ScheduleDecl *decl);
  void checkUnused(const File &file);
  void removeUnusedFunctions();

  const Program &program;
  DiagnosticEngine &diags;
  const SemaOptions &options;
  Globals globals;
  Emitter e;
  OwningOpRef<ModuleOp> module;
  unsigned written = 0;
};

} // namespace

void ProgramEmitter::emitSchedule(const ScheduleDecl *decl) {
  e.builder.setInsertionPointToEnd(module->getBody());
  bool isWanted =
      options.schedule.empty() || options.schedule == decl->name.text;
  llvm::DenseSet<const Decl *> reached = e.reached;
  e.isNamesOnly = !isWanted;
  ScheduleOp op = ScheduleEmitter(e).emit(decl);
  e.isNamesOnly = false;
  if (isWanted) {
    ++written;
    return;
  }
  // What it alone reaches has not been looked at closely.
  e.reached = std::move(reached);
  if (op)
    op.erase();
}

void ProgramEmitter::checkUnused(const File &file) {
  bool isLibrary = diags.sources().file(file.id).isLibrary();
  if (isLibrary && &file != program.main)
    return;
  e.builder.setInsertionPointToEnd(module->getBody());
  for (const Decl *decl : file.decls)
    if (decl->name && !isa<ScheduleDecl>(decl) && !e.reached.contains(decl))
      ScheduleEmitter(e).checkUnused(decl);
}

void ProgramEmitter::removeUnusedFunctions() {
  llvm::StringSet<> used;
  module->walk([&](ApplyOp op) { used.insert(op.getCallee()); });
  for (auto fn : llvm::make_early_inc_range(module->getOps<FunctionOp>()))
    if (!used.contains(fn.getSymName()))
      fn.erase();
}

OwningOpRef<ModuleOp> ProgramEmitter::emit() {
  for (const Decl *decl : program.main->decls)
    if (const auto *schedule = dyn_cast<ScheduleDecl>(decl);
        schedule && decl->name)
      emitSchedule(schedule);
  for (const std::unique_ptr<File> &file : program.files)
    checkUnused(*file);
  if (!options.schedule.empty() && !written && !diags.hasErrors()) {
    Suggestion suggestion(options.schedule);
    for (const Decl *decl : program.main->decls)
      if (isa<ScheduleDecl>(decl))
        suggestion.offer(decl->name.text);
    InFlight error =
        diags.error(Slug::UnknownName, {},
                    "'" + diags.sources().file(program.main->id).name() +
                        "' has no schedule '" + options.schedule + "'");
    if (!suggestion.best().empty())
      error.help({}, "did you mean '" + suggestion.best() + "'?");
  }
  if (diags.hasErrors() || !written)
    return {};
  removeUnusedFunctions();
  assert(succeeded(verify(*module)) && "the walk wrote a module that is wrong");
  return std::move(module);
}

OwningOpRef<ModuleOp> emitModule(const Program &program, MLIRContext &context,
                                 DiagnosticEngine &diags,
                                 const SemaOptions &options) {
  if (!program.main)
    return {};
  loadSemaDialects(context);
  OwningOpRef<ModuleOp> module;
  llvm::runOnNewStack(stackBytes, [&] {
    module = ProgramEmitter(program, context, diags, options).emit();
  });
  return module;
}

} // namespace coll
