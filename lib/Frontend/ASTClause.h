//===- ASTClause.h - Clauses of contracts in the syntax tree ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_ASTCLAUSE_H
#define COLL_LIB_FRONTEND_ASTCLAUSE_H

#include "lib/Frontend/ASTExpr.h"

namespace coll {

/// A clause of a contract.
class Clause {
public:
  enum class Kind : uint8_t { Parts, Arg, Launch, RequireSame, Equation };

  Kind kind() const { return clauseKind; }

  SourceRange range;
  llvm::StringRef doc;

protected:
  Clause(Kind kind, SourceRange range) : range(range), clauseKind(kind) {}

private:
  Kind clauseKind;
};

/// `in residual[all] @ root`: an array of parts and the ranks that have it.
class PartsClause : public Clause {
public:
  PartsClause(SourceRange range, bool isOut, Ident name,
              llvm::ArrayRef<Expr *> shape, Expr *rank)
      : Clause(Kind::Parts, range), isOut(isOut), name(name), shape(shape),
        rank(rank) {}
  COLL_AST_CLASSOF(Clause, Parts)

  bool isOut;
  Ident name; ///< empty: `in` or `out` itself; its range is then that word's
  llvm::ArrayRef<Expr *> shape; ///< empty: one part
  Expr *rank;                   ///< or null: every rank
};

/// What an argument of an fn is.
enum class ArgKind : uint8_t { Elem, Row, Scalar };

/// `arg w : row`.
class ArgClause : public Clause {
public:
  ArgClause(SourceRange range, Ident name, ArgKind type)
      : Clause(Kind::Arg, range), name(name), type(type) {}
  COLL_AST_CLASSOF(Clause, Arg)

  Ident name;
  ArgKind type;
};

/// `launch n[all] global`: counts known when the kernel is launched.
class LaunchClause : public Clause {
public:
  LaunchClause(SourceRange range, Ident name, llvm::ArrayRef<Expr *> shape,
               bool isGlobal)
      : Clause(Kind::Launch, range), name(name), shape(shape),
        isGlobal(isGlobal) {}
  COLL_AST_CLASSOF(Clause, Launch)

  Ident name;
  llvm::ArrayRef<Expr *> shape;
  bool isGlobal;
};

/// `require same(array)`.
class RequireSameClause : public Clause {
public:
  RequireSameClause(SourceRange range, Ident array)
      : Clause(Kind::RequireSame, range), array(array) {}
  COLL_AST_CLASSOF(Clause, RequireSame)

  Ident array; ///< also "in" and "out"
};

/// `ensure lhs == rhs for iterators`, and the same with `inplace` and `size`.
class EquationClause : public Clause {
public:
  enum class Word : uint8_t { Ensure, InPlace, Size };
  EquationClause(SourceRange range, Word word, Expr *lhs, Expr *rhs,
                 Iterators iters)
      : Clause(Kind::Equation, range), word(word), lhs(lhs), rhs(rhs),
        iters(iters) {}
  COLL_AST_CLASSOF(Clause, Equation)

  Word word;
  Expr *lhs;
  Expr *rhs;
  Iterators iters;
};

} // namespace coll

#endif // COLL_LIB_FRONTEND_ASTCLAUSE_H
