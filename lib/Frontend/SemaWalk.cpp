//===- SemaWalk.cpp - Questions about syntax trees ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Frontend/SemaWalk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace coll::sema {

void forEachIterators(const Expr *expr,
                      function_ref<void(const Iterators &)> visit) {
  if (const auto *list = dyn_cast<ComprehensionExpr>(expr))
    visit(list->iters);
  if (const auto *call = dyn_cast<CallExpr>(expr))
    for (const CallArg &arg : call->args)
      if (arg.iters)
        visit(arg.iters);
}

void forEachChild(const Expr *expr, function_ref<void(const Expr *)> visit) {
  auto some = [&](ArrayRef<Expr *> exprs) {
    for (const Expr *e : exprs)
      if (e)
        visit(e);
  };
  switch (expr->kind()) {
  case Expr::Kind::Error:
  case Expr::Kind::Int:
  case Expr::Kind::Float:
  case Expr::Kind::Name:
    break;
  case Expr::Kind::Call:
    for (const CallArg &arg : cast<CallExpr>(expr)->args)
      visit(arg.value);
    break;
  case Expr::Kind::Tuple:
    some(cast<TupleExpr>(expr)->elements);
    break;
  case Expr::Kind::List:
    some(cast<ListExpr>(expr)->elements);
    break;
  case Expr::Kind::Comprehension:
    visit(cast<ComprehensionExpr>(expr)->element);
    break;
  case Expr::Kind::Unary:
    visit(cast<UnaryExpr>(expr)->operand);
    break;
  case Expr::Kind::Binary:
    some({cast<BinaryExpr>(expr)->lhs, cast<BinaryExpr>(expr)->rhs});
    break;
  case Expr::Kind::Conditional: {
    const auto *e = cast<ConditionalExpr>(expr);
    some({e->condition, e->thenValue, e->elseValue});
    break;
  }
  case Expr::Kind::Range: {
    const auto *e = cast<RangeExpr>(expr);
    some({e->lo, e->hi, e->step});
    break;
  }
  case Expr::Kind::Index:
    visit(cast<IndexExpr>(expr)->base);
    some(cast<IndexExpr>(expr)->indices);
    break;
  case Expr::Kind::View:
    visit(cast<ViewExpr>(expr)->base);
    some(cast<ViewExpr>(expr)->shape);
    break;
  case Expr::Kind::At:
    some({cast<AtExpr>(expr)->base, cast<AtExpr>(expr)->rank});
    break;
  }
  forEachIterators(expr, [&](const Iterators &iters) {
    for (const Iterator &it : iters.list)
      visit(it.domain);
    if (iters.filter)
      visit(iters.filter);
  });
}

bool mentionsAny(const Expr *expr, ArrayRef<StringRef> names) {
  if (names.empty())
    return false;
  if (const auto *name = dyn_cast<NameExpr>(expr))
    return is_contained(names, name->name);
  if (const auto *call = dyn_cast<CallExpr>(expr))
    if (is_contained(names, call->callee.text))
      return true;
  SmallVector<StringRef, 4> free;
  forEachIterators(expr, [&](const Iterators &iters) {
    if (free.empty())
      free.assign(names.begin(), names.end());
    for (const Iterator &it : iters.list)
      erase(free, it.name.text);
  });
  bool found = false;
  bool hasIterators = false;
  forEachIterators(expr, [&](const Iterators &) { hasIterators = true; });
  forEachChild(expr, [&](const Expr *child) {
    found = found || mentionsAny(child, hasIterators ? ArrayRef(free) : names);
  });
  return found;
}

void forEachStmt(const Stmt *stmt, function_ref<void(const Stmt *)> visit) {
  visit(stmt);
  switch (stmt->kind()) {
  case Stmt::Kind::Block:
    for (const Stmt *s : cast<BlockStmt>(stmt)->stmts)
      forEachStmt(s, visit);
    break;
  case Stmt::Kind::If: {
    const auto *s = cast<IfStmt>(stmt);
    forEachStmt(s->thenBlock, visit);
    if (s->elseStmt)
      forEachStmt(s->elseStmt, visit);
    break;
  }
  case Stmt::Kind::For:
    forEachStmt(cast<ForStmt>(stmt)->body, visit);
    break;
  case Stmt::Kind::Group:
    forEachStmt(cast<GroupStmt>(stmt)->body, visit);
    break;
  case Stmt::Kind::On:
    forEachStmt(cast<OnStmt>(stmt)->body, visit);
    break;
  default:
    break;
  }
}

} // namespace coll::sema
