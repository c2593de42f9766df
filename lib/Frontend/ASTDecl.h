//===- ASTDecl.h - Declarations of the syntax tree --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands at the top of a file: imports, contracts, schedules and their map
// blocks, procedures, functions and lets.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_ASTDECL_H
#define COLL_LIB_FRONTEND_ASTDECL_H

#include "lib/Frontend/ASTClause.h"
#include "lib/Frontend/ASTExpr.h"
#include "lib/Frontend/ASTStmt.h"

namespace coll {

class Decl {
public:
  enum class Kind : uint8_t {
    Import,
    Contract,
    Schedule,
    Procedure,
    Function,
    Let
  };

  Kind kind() const { return declKind; }

  SourceRange range;
  Ident name;          ///< empty for imports
  llvm::StringRef doc; ///< the `///` lines before it, joined by '\n', or ""

protected:
  Decl(Kind kind, SourceRange range, Ident name)
      : range(range), name(name), declKind(kind) {}

private:
  Kind declKind;
};

/// `import "path"`.
class ImportDecl : public Decl {
public:
  ImportDecl(SourceRange range, llvm::StringRef path, SourceRange pathRange)
      : Decl(Kind::Import, range, {}), path(path), pathRange(pathRange) {}
  COLL_AST_CLASSOF(Decl, Import)

  llvm::StringRef path; ///< without the quotes
  SourceRange pathRange;
};

/// `contract name(params) { clauses }`.
class ContractDecl : public Decl {
public:
  ContractDecl(SourceRange range, Ident name, llvm::ArrayRef<Ident> params,
               llvm::ArrayRef<Clause *> clauses)
      : Decl(Kind::Contract, range, name), params(params), clauses(clauses) {}
  COLL_AST_CLASSOF(Decl, Contract)

  llvm::ArrayRef<Ident> params;
  llvm::ArrayRef<Clause *> clauses;
};

struct MapBlock;

/// Part of a map block: a directive, or a label path with a block of its own.
struct MapItem {
  SourceRange range;
  llvm::ArrayRef<Ident> path;  ///< the label path; empty: a directive
  const MapBlock *block;       ///< of the label path, or null
  Ident name;                  ///< the directive's
  llvm::ArrayRef<Expr *> args; ///< empty for pull, push and staged only
};

struct MapBlock {
  SourceRange range; ///< the braces included
  llvm::ArrayRef<MapItem> items;
};

/// A parameter of a schedule.
struct ScheduleParam {
  enum class Kind : uint8_t { Ranks, Launch, Int };
  Kind kind;
  SourceRange range;
  Ident name;                 ///< Launch and Int
  llvm::ArrayRef<Ident> dims; ///< Ranks: `N`, or the names of `(M, G)`
  bool isGrid = false;        ///< Ranks: written in parentheses
  Expr *value = nullptr;      ///< Launch: its domain. Int: the default, or null
};

class ScheduleDecl : public Decl {
public:
  ScheduleDecl(SourceRange range, Ident name)
      : Decl(Kind::Schedule, range, name) {}
  COLL_AST_CLASSOF(Decl, Schedule)

  llvm::ArrayRef<ScheduleParam> params;
  Ident contract; ///< may be "reduce"; empty after an error
  llvm::ArrayRef<Expr *> contractArgs;
  llvm::ArrayRef<Expr *> where;  ///< empty: none
  llvm::ArrayRef<Expr *> chunks; ///< empty: parts are not cut
  SourceRange chunksRange;       ///< of the clause; invalid: none
  bool byRow = false;
  BlockStmt *body = nullptr;     ///< the statements; its range has the braces
  const MapBlock *map = nullptr; ///< or null
};

/// A parameter of a procedure.
struct ProcedureParam {
  enum class Kind : uint8_t { Ranks, Chunks, Int };
  Kind kind;
  SourceRange range;
  Ident name;
  /// Ranks: empty or the one size. Chunks: the leading sizes.
  llvm::ArrayRef<Expr *> shape;
};

/// `def name(params) where conditions { }`.
class ProcedureDecl : public Decl {
public:
  ProcedureDecl(SourceRange range, Ident name,
                llvm::ArrayRef<ProcedureParam> params,
                llvm::ArrayRef<Expr *> where, BlockStmt *body)
      : Decl(Kind::Procedure, range, name), params(params), where(where),
        body(body) {}
  COLL_AST_CLASSOF(Decl, Procedure)

  llvm::ArrayRef<ProcedureParam> params;
  llvm::ArrayRef<Expr *> where;
  BlockStmt *body;
};

struct FunctionParam {
  Ident name;
  ArgKind type;
};

/// `fn name(x: row, eps: scalar) = expr`.
class FunctionDecl : public Decl {
public:
  FunctionDecl(SourceRange range, Ident name,
               llvm::ArrayRef<FunctionParam> params, Expr *body)
      : Decl(Kind::Function, range, name), params(params), body(body) {}
  COLL_AST_CLASSOF(Decl, Function)

  llvm::ArrayRef<FunctionParam> params;
  Expr *body;
};

/// `let name = expr`, `let name(params) = expr`; of a file or of a LetStmt.
class LetDecl : public Decl {
public:
  LetDecl(SourceRange range, Ident name, bool isFunction,
          llvm::ArrayRef<Ident> params, Expr *value)
      : Decl(Kind::Let, range, name), isFunction(isFunction), params(params),
        value(value) {}
  COLL_AST_CLASSOF(Decl, Let)

  bool isFunction; ///< has parameters
  llvm::ArrayRef<Ident> params;
  Expr *value;
};

} // namespace coll

#endif // COLL_LIB_FRONTEND_ASTDECL_H
