//===- SemaCallStmts.cpp - Procedures are inlined -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A procedure sees its parameters only. Arrays come by reference, so inlining
// is all there is to a call. A size in a parameter's brackets is a new name,
// which gets the size, or an expression, which is compared with it.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaStmts.h"
#include "lib/Support/Slugs.h"

#include "dialect/CollDialect.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

using ParamKind = ProcedureParam::Kind;

const ProcedureDecl *StmtEmitter::findProcedure(const CallStmt *stmt) {
  StringRef name = stmt->callee.text;
  const Decl *decl = e.findGlobal(name);
  const Binding *binding = e.find(name);
  if (const auto *procedure = dyn_cast_or_null<ProcedureDecl>(decl);
      procedure && !binding)
    return procedure;
  bool isFunction = findBuiltin(name) ||
                    (binding ? binding->what == Binding::What::LetFunction
                             : isa_and_nonnull<LetDecl>(decl) &&
                                   cast<LetDecl>(decl)->isFunction);
  if (binding || isFunction || decl) {
    StringRef is = isFunction ? "a function"
                   : binding  ? "no procedure"
                              : describe(decl->kind());
    Report report =
        e.error(Slug::WrongKind, stmt->callee.range,
                "'" + name + "' is " + is + ", where a procedure is called");
    if (binding || decl)
      report.note(binding ? binding->range : decl->name.range,
                  "'" + name + "' is defined here");
    return nullptr;
  }
  e.unknownName(name, stmt->callee.range, "procedure", [&](Suggestion &s) {
    e.globals.forEach(e.currentFile(), [&](const Decl *known) {
      if (isa<ProcedureDecl>(known))
        s.offer(known->name.text);
    });
  });
  return nullptr;
}

bool StmtEmitter::convertArg(const ProcedureParam &param, Val &arg) {
  if (arg.isError())
    return false;
  switch (param.kind) {
  case ParamKind::Int:
    if (arg.kind == Kind::Int || arg.kind == Kind::Rank)
      return true;
    e.wrongKind(arg, "an integer or a rank");
    return false;
  case ParamKind::Ranks: {
    const List *list = e.toList(arg);
    if (!list)
      return false;
    if (!e.isOpen() && list->width && list->width != e.rankWidth()) {
      e.error(Slug::WrongKind, arg.range,
              "a list of integers, where ranks (" +
                  llvm::join(e.rankNames, ", ") + ") are needed")
          .note(param.range, "the parameter '" + param.name.text + "'");
      return false;
    }
    arg.kind = Kind::List;
    arg.list = e.store(list);
    return true;
  }
  case ParamKind::Chunks:
    if (arg.kind == Kind::Array)
      return true;
    if (arg.kind == Kind::Place)
      e.error(Slug::WrongKind, arg.range,
              "this names a rank, where an array of all ranks is needed")
          .note(param.range, "the parameter '" + param.name.text + "'");
    else
      e.wrongKind(arg, "an array");
    return false;
  }
  llvm_unreachable("all kinds are listed");
}

void StmtEmitter::emitCall(const CallStmt *stmt) {
  const ProcedureDecl *procedure = findProcedure(stmt);
  llvm::SmallVector<Val, 4> args;
  for (const Expr *arg : stmt->args)
    args.push_back(e.eval(arg));
  if (!procedure ||
      !e.checkArity(procedure->name.text, args.size(), procedure->params.size(),
                    procedure->params.size(), stmt->range, procedure))
    return;
  for (auto [param, arg] : llvm::zip_equal(procedure->params, args))
    if (!convertArg(param, arg))
      arg = {};
  if (!e.mayCall(procedure, stmt->range))
    return;
  Restore restore(e);
  bool isFirst = !e.reached.contains(procedure);
  e.enter(procedure, stmt->range);
  if (isFirst)
    checkLabels(procedure->body);
  bindParams(procedure, args);
  for (const Expr *condition : procedure->where)
    if (Value holds = e.evalCondition(condition))
      e.emitAssert(holds, Slug::WhereViolated, condition->range,
                   "'" + procedure->name.text + "' is called where '" +
                       e.text(condition->range) + "' does not hold");
  Restore scope(e);
  emitAll(procedure->body);
}

void StmtEmitter::bindParams(const ProcedureDecl *decl,
                             llvm::ArrayRef<Val> args) {
  for (auto [param, arg] : llvm::zip_equal(decl->params, args)) {
    Val val = arg;
    e.defineValue(param.name, val);
  }
  for (auto [param, arg] : llvm::zip_equal(decl->params, args))
    bindShape(decl, param, arg);
}

void StmtEmitter::bindShape(const ProcedureDecl *decl,
                            const ProcedureParam &param, const Val &arg) {
  if (param.shape.empty())
    return;
  SourceRange place = arg.range;
  if (arg.isError()) {
    for (const Expr *wanted : param.shape)
      bindOrCheck(decl, param, wanted, {}, 0, place);
    return;
  }
  if (param.kind == ParamKind::Ranks) {
    bindOrCheck(decl, param, param.shape.front(), arg.list->size(e), 0, place);
    return;
  }
  const ArrayView &view = *arg.array;
  if (!view.isOpen && view.dims.size() < param.shape.size()) {
    Environment callee = e.env;
    e.env.frame = callee.frame->caller; // where the argument stands
    e.error(Slug::WrongShape, place,
            "parameter '" + param.name.text + "' of '" + decl->name.text +
                "' has " + Twine(view.dims.size()) + " dimensions, " +
                Twine(param.shape.size()) + " are needed")
        .note(param.range, "the parameter '" + param.name.text + "'");
    e.env = callee;
  }
  for (auto [d, wanted] : llvm::enumerate(param.shape)) {
    Value size = view.isOpen            ? e.someInt
                 : d < view.dims.size() ? view.dims[d]
                                        : Value();
    bindOrCheck(decl, param, wanted, size, d, place);
  }
}

void StmtEmitter::bindOrCheck(const ProcedureDecl *decl,
                              const ProcedureParam &param, const Expr *wanted,
                              Value size, unsigned dim, SourceRange place) {
  const auto *name = dyn_cast<NameExpr>(wanted);
  bool isNew = name && name->word == NameExpr::Word::Name &&
               !e.find(name->name) && !e.findGlobal(name->name);
  if (isNew) {
    Val val;
    if (size)
      val = Val::make(Kind::Int, wanted->range, size);
    e.defineValue({name->name, name->range}, val);
    return;
  }
  Value needed = e.evalInt(wanted);
  if (!needed || !size || e.isOpen())
    return;
  std::string what = param.kind == ParamKind::Ranks ? " ranks" : " chunks";
  if (param.shape.size() > 1)
    what += " in dimension " + std::to_string(dim);
  std::string message =
      ("parameter '" + param.name.text + "' of '" + decl->name.text +
       "' has {0}" + what + ", {1} are needed")
          .str();
  // The argument stands in the caller.
  const Frame *callee = e.env.frame;
  e.env.frame = callee->caller;
  e.requireEqual(size, needed, Slug::WrongShape, place, message);
  e.env.frame = callee;
}

} // namespace coll::sema
