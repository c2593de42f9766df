//===- SemaWalk.h - Questions about syntax trees ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_SEMAWALK_H
#define COLL_LIB_FRONTEND_SEMAWALK_H

#include "lib/Frontend/AST.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace coll::sema {

/// Calls `visit` for the parts of `expr` that are expressions themselves.
void forEachChild(const Expr *expr,
                  llvm::function_ref<void(const Expr *)> visit);

/// The iterators of `expr`, if it has any, one for each `for` in it.
void forEachIterators(const Expr *expr,
                      llvm::function_ref<void(const Iterators &)> visit);

/// Whether `expr` uses one of `names` that it does not bind itself.
bool mentionsAny(const Expr *expr, llvm::ArrayRef<llvm::StringRef> names);

/// Calls `visit` for `stmt` and all statements in it, in the order of the
/// source.
void forEachStmt(const Stmt *stmt,
                 llvm::function_ref<void(const Stmt *)> visit);

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAWALK_H
