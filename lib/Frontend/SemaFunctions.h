//===- SemaFunctions.h - fn -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_SEMAFUNCTIONS_H
#define COLL_LIB_FRONTEND_SEMAFUNCTIONS_H

#include "lib/Frontend/AST.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace coll::sema {

class Emitter;

/// Writes fn as coll.function, one for each that is used. The bodies of fn have
/// an arithmetic of their own: numbers, of which every element has one, every
/// row has one, or everything has one.
class FunctionEmitter {
public:
  explicit FunctionEmitter(Emitter &e) : e(e) {}

  /// Functions are put at the end of `module`.
  void start(mlir::ModuleOp module) { this->module = module; }
  /// The symbol of `fn`, which is written if it is not there yet. Empty: an
  /// error.
  llvm::StringRef use(const FunctionDecl *fn);

private:
  struct Number {
    mlir::Value value; ///< null: an error
    ArgKind kind = ArgKind::Scalar;
  };
  struct Param {
    llvm::StringRef name;
    Number number;
  };

  bool write(const FunctionDecl *fn);
  Number eval(const Expr *expr);
  Number evalName(const NameExpr *expr);
  Number evalBinary(const BinaryExpr *expr);
  Number evalCall(const CallExpr *expr);
  Number evalBuiltin(const CallExpr *expr, llvm::ArrayRef<Number> args);
  Number inlineCall(const FunctionDecl *fn, const CallExpr *expr,
                    llvm::ArrayRef<Number> args);
  Number constant(double value, SourceRange range);
  bool defineParams(const FunctionDecl *fn);

  Emitter &e;
  mlir::ModuleOp module;
  llvm::DenseMap<const FunctionDecl *, bool> written; ///< false: with an error
  llvm::ArrayRef<Param> params;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAFUNCTIONS_H
