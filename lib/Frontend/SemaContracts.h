//===- SemaContracts.h - Contracts, as a schedule uses them -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_SEMACONTRACTS_H
#define COLL_LIB_FRONTEND_SEMACONTRACTS_H

#include "lib/Frontend/SemaEmitter.h"

namespace coll::sema {

/// An array of a contract, as the schedule sees it: parts, then chunks.
struct ContractArray {
  Ident name;
  const ArrayView *view;
};

/// Writes the buffers of a contract and what it promises, in the names of the
/// contract: its parameters, its arrays (whose dimensions are parts there), the
/// names of the file and `all`.
class ContractEmitter {
public:
  explicit ContractEmitter(Emitter &e) : e(e) {}

  /// `chunks` is how the schedule cuts a part. The arrays the schedule gets.
  std::vector<ContractArray> use(const ContractDecl *contract,
                                 llvm::ArrayRef<Val> args, SourceRange place,
                                 llvm::ArrayRef<mlir::Value> chunks);
  /// Looks for what is wrong with it whoever uses it.
  void checkUnused(const ContractDecl *contract);

private:
  void bind(const ContractDecl *contract, llvm::ArrayRef<Val> args);
  void emitParts(const PartsClause *clause);
  void emitArg(const ArgClause *clause);
  void addArray(const Ident &name, ArrayDecl::What what,
                llvm::ArrayRef<mlir::Value> parts, const Val &rank,
                SourceRange range);
  void emitCounts(const LaunchClause *clause);
  void emitPromise(const ContractDecl *contract);
  void emitSame(const RequireSameClause *clause);
  void emitEquation(const EquationClause *clause);
  void emitEnsure(const EquationClause *clause);
  void emitInPlace(const EquationClause *clause);
  void emitSize(const EquationClause *clause);
  mlir::Value evalSize(const Expr *expr);

  Emitter &e;
  llvm::ArrayRef<mlir::Value> chunks;
  std::vector<ContractArray> arrays;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMACONTRACTS_H
