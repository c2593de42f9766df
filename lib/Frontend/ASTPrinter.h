//===- ASTPrinter.h - The syntax tree as .coll text -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inside of printFile and printExpr (AST.h).
//
// Prints a tree in the one canonical form. An expression is printed for the
// place where it stands, given as the loosest precedence that may stand there
// bare; anything looser gets parentheses. With `allParentheses` every operation
// gets them, so that two trees are alike exactly if their prints are.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_ASTPRINTER_H
#define COLL_LIB_FRONTEND_ASTPRINTER_H

#include "lib/Frontend/AST.h"
#include "lib/Frontend/Precedence.h"

#include "llvm/Support/raw_ostream.h"

namespace coll {

class ASTPrinter {
public:
  ASTPrinter(llvm::raw_ostream &os, bool allParentheses)
      : os(os), allParentheses(allParentheses) {}

  void print(const File &file);
  void print(const Expr &expr, Precedence loosest = PrecConditional);

private:
  void printBare(const Expr &expr);
  void printOperation(const Expr &expr);
  void exprs(llvm::ArrayRef<Expr *> list);
  void bracketed(llvm::ArrayRef<Expr *> list);
  void idents(llvm::ArrayRef<Ident> list);
  void iterators(const Iterators &iters);

  void print(const Stmt &stmt);
  void printBare(const Stmt &stmt);
  void transfer(const TransferStmt &stmt);
  void tmp(const TmpStmt &stmt);
  void let(const LetDecl &let);
  void block(const BlockStmt &block);
  void stmts(const BlockStmt &block);
  void via(const TypeRef &type);

  void print(const Decl &decl);
  void print(const Clause &clause);
  void contract(const ContractDecl &contract);
  void schedule(const ScheduleDecl &schedule);
  void procedure(const ProcedureDecl &procedure);
  void function(const FunctionDecl &function);
  void param(const ScheduleParam &param);
  void where(llvm::ArrayRef<Expr *> conditions);
  void map(const MapBlock &map);
  void doc(llvm::StringRef text);

  llvm::raw_ostream &startLine() { return os.indent(2 * level); }

  llvm::raw_ostream &os;
  bool allParentheses;
  unsigned level = 0;
};

} // namespace coll

#endif // COLL_LIB_FRONTEND_ASTPRINTER_H
