//===- SemaStmts.h - Statements ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_SEMASTMTS_H
#define COLL_LIB_FRONTEND_SEMASTMTS_H

#include "lib/Frontend/SemaEmitter.h"
#include "lib/Frontend/SemaMaps.h"

namespace coll::sema {

/// Writes statements where the builder stands.
class StmtEmitter {
public:
  StmtEmitter(Emitter &e, MapEmitter &maps) : e(e), maps(maps) {}

  /// The statements of a block, in the scope there is.
  void emitAll(const BlockStmt *block);
  /// A label names one statement of a body.
  void checkLabels(const BlockStmt *body);
  /// Looks for what is wrong with a procedure whoever calls it.
  void checkUncalled(const ProcedureDecl *procedure);

private:
  // SemaStmts.cpp
  void emit(const Stmt *stmt);
  void emitIf(const IfStmt *stmt);
  void emitGroup(const GroupStmt *stmt);
  void emitOn(const OnStmt *stmt);
  void emitCall(const CallStmt *stmt);

  // SemaCallStmts.cpp
  const ProcedureDecl *findProcedure(const CallStmt *stmt);
  bool convertArg(const ProcedureParam &param, Val &arg);
  void bindParams(const ProcedureDecl *decl, llvm::ArrayRef<Val> args);
  void bindShape(const ProcedureDecl *decl, const ProcedureParam &param,
                 const Val &arg);
  void bindOrCheck(const ProcedureDecl *decl, const ProcedureParam &param,
                   const Expr *wanted, mlir::Value size, unsigned dim,
                   SourceRange place);

  // SemaTransfers.cpp
  void emitTmp(const TmpStmt *stmt);
  void emitTransfer(const TransferStmt *stmt);
  void emitSend(const SendStmt *stmt);
  void emitRecv(const RecvStmt *stmt);
  bool isTarget(const Val &place);
  bool checkSides(const Computed &value, const Val &target);
  std::optional<Coords> evalPeer(const Expr *expr);

  /// An error if the statement may not stand in the group, or outside of 'on'.
  bool mayStandInGroup(SourceRange range, llvm::StringRef what);
  bool mustStandInOn(SourceRange range, llvm::StringRef what);

  Emitter &e;
  MapEmitter &maps;
  SourceRange group, on;   ///< that the walk is in; invalid: none
  bool isUncalled = false; ///< nobody knows whether it is in an 'on'
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMASTMTS_H
