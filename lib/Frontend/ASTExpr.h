//===- ASTExpr.h - Expressions of the syntax tree ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One expression grammar serves integers, conditions, ranks, lists, ranges,
// places and values, and the bodies of fn; which of them one is, names decide.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_ASTEXPR_H
#define COLL_LIB_FRONTEND_ASTEXPR_H

#include "lib/Support/Source.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Casting.h"

namespace coll {

/// A name where it is written.
struct Ident {
  llvm::StringRef text;
  SourceRange range;

  explicit operator bool() const { return !text.empty(); }
};

class Expr {
public:
  enum class Kind : uint8_t {
    Error,
    Int,
    Float,
    Name,
    Call,
    Tuple,
    List,
    Comprehension,
    Unary,
    Binary,
    Conditional,
    Range,
    Index,
    View,
    At,
  };

  Kind kind() const { return exprKind; }

  SourceRange range;
  /// Length of the longest path below this node, itself included.
  uint32_t depth = 1;

protected:
  Expr(Kind kind, SourceRange range) : range(range), exprKind(kind) {}

private:
  Kind exprKind;
};

/// Gives a node class its classof; used below and in the other headers.
#define COLL_AST_CLASSOF(BASE, KIND)                                           \
  static bool classof(const BASE *node) {                                      \
    return node->kind() == BASE::Kind::KIND;                                   \
  }

/// `ID in expr`.
struct Iterator {
  Ident name;
  Expr *domain;
};

/// `i in X, j in Y if condition`; the last iterator runs fastest.
struct Iterators {
  llvm::ArrayRef<Iterator> list; ///< empty: there is no `for`
  Expr *filter = nullptr;        ///< or null
  SourceRange range;             ///< without the word `for`

  explicit operator bool() const { return !list.empty(); }
};

/// Stands for what did not parse; its error has been reported.
class ErrorExpr : public Expr {
public:
  explicit ErrorExpr(SourceRange range) : Expr(Kind::Error, range) {}
  COLL_AST_CLASSOF(Expr, Error)
};

/// `12`, `4KiB`.
class IntExpr : public Expr {
public:
  IntExpr(SourceRange range, int64_t value)
      : Expr(Kind::Int, range), value(value) {}
  COLL_AST_CLASSOF(Expr, Int)

  int64_t value;
};

/// `0.5`, `1e-6`; only in the body of fn.
class FloatExpr : public Expr {
public:
  FloatExpr(SourceRange range, double value, llvm::StringRef text)
      : Expr(Kind::Float, range), value(value), text(text) {}
  COLL_AST_CLASSOF(Expr, Float)

  double value;         ///< `text`, rounded to nearest
  llvm::StringRef text; ///< as written
};

/// A name, or one of the words `in`, `out` and `all`.
class NameExpr : public Expr {
public:
  enum class Word : uint8_t { Name, In, Out, All };
  NameExpr(SourceRange range, llvm::StringRef name, Word word)
      : Expr(Kind::Name, range), name(name), word(word) {}
  COLL_AST_CLASSOF(Expr, Name)

  llvm::StringRef name; ///< also "in", "out", "all"
  Word word;
};

/// An argument of a call: `expr` or `expr for iterators`.
struct CallArg {
  Expr *value;
  Iterators iters;
};

/// `f(a, b)`, `size(x)`, `reduce(v for r in g)`. Built-ins, `let` functions and
/// fn look alike here.
class CallExpr : public Expr {
public:
  CallExpr(SourceRange range, Ident callee, llvm::ArrayRef<CallArg> args)
      : Expr(Kind::Call, range), callee(callee), args(args) {}
  COLL_AST_CLASSOF(Expr, Call)

  Ident callee; ///< also "size" and "reduce"
  llvm::ArrayRef<CallArg> args;
};

/// `(m, g)`: a rank of a grid; two elements or more.
class TupleExpr : public Expr {
public:
  TupleExpr(SourceRange range, llvm::ArrayRef<Expr *> elements)
      : Expr(Kind::Tuple, range), elements(elements) {}
  COLL_AST_CLASSOF(Expr, Tuple)

  llvm::ArrayRef<Expr *> elements;
};

/// `[a, b]`, `[]`.
class ListExpr : public Expr {
public:
  ListExpr(SourceRange range, llvm::ArrayRef<Expr *> elements)
      : Expr(Kind::List, range), elements(elements) {}
  COLL_AST_CLASSOF(Expr, List)

  llvm::ArrayRef<Expr *> elements;
};

/// `[e for i in X if c]`.
class ComprehensionExpr : public Expr {
public:
  ComprehensionExpr(SourceRange range, Expr *element, Iterators iters)
      : Expr(Kind::Comprehension, range), element(element), iters(iters) {}
  COLL_AST_CLASSOF(Expr, Comprehension)

  Expr *element;
  Iterators iters;
};

enum class UnaryOp : uint8_t { Neg, Not };

class UnaryExpr : public Expr {
public:
  UnaryExpr(SourceRange range, UnaryOp op, Expr *operand)
      : Expr(Kind::Unary, range), op(op), operand(operand) {}
  COLL_AST_CLASSOF(Expr, Unary)

  UnaryOp op;
  Expr *operand;
};

enum class BinaryOp : uint8_t {
  Or,
  And,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  BitOr,
  BitXor,
  BitAnd,
  Shl,
  Shr,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
};

/// `a op b`; `+` also joins lists and adds values.
class BinaryExpr : public Expr {
public:
  BinaryExpr(SourceRange range, BinaryOp op, SourceRange opRange, Expr *lhs,
             Expr *rhs)
      : Expr(Kind::Binary, range), op(op), opRange(opRange), lhs(lhs),
        rhs(rhs) {}
  COLL_AST_CLASSOF(Expr, Binary)

  BinaryOp op;
  SourceRange opRange;
  Expr *lhs;
  Expr *rhs;
};

/// `condition ? a : b`.
class ConditionalExpr : public Expr {
public:
  ConditionalExpr(SourceRange range, Expr *condition, Expr *thenValue,
                  Expr *elseValue)
      : Expr(Kind::Conditional, range), condition(condition),
        thenValue(thenValue), elseValue(elseValue) {}
  COLL_AST_CLASSOF(Expr, Conditional)

  Expr *condition;
  Expr *thenValue;
  Expr *elseValue;
};

/// `lo .. hi step s`, half open; the bare `..` has neither.
class RangeExpr : public Expr {
public:
  RangeExpr(SourceRange range, Expr *lo, Expr *hi, Expr *step)
      : Expr(Kind::Range, range), lo(lo), hi(hi), step(step) {}
  COLL_AST_CLASSOF(Expr, Range)

  bool isWhole() const { return !lo; }

  Expr *lo;   ///< null in `..`, and then so are the others
  Expr *hi;   ///< null in `..`
  Expr *step; ///< or null
};

/// `base[i, j]`: an element or slice of an array, a member of a list. Each pair
/// of brackets is a node.
class IndexExpr : public Expr {
public:
  IndexExpr(SourceRange range, Expr *base, llvm::ArrayRef<Expr *> indices)
      : Expr(Kind::Index, range), base(base), indices(indices) {}
  COLL_AST_CLASSOF(Expr, Index)

  Expr *base;
  llvm::ArrayRef<Expr *> indices;
};

/// `base as [X, Y]`.
class ViewExpr : public Expr {
public:
  ViewExpr(SourceRange range, Expr *base, llvm::ArrayRef<Expr *> shape)
      : Expr(Kind::View, range), base(base), shape(shape) {}
  COLL_AST_CLASSOF(Expr, View)

  Expr *base;
  llvm::ArrayRef<Expr *> shape;
};

/// `base@rank`: a place. The rank may be a list.
class AtExpr : public Expr {
public:
  AtExpr(SourceRange range, Expr *base, Expr *rank)
      : Expr(Kind::At, range), base(base), rank(rank) {}
  COLL_AST_CLASSOF(Expr, At)

  Expr *base;
  Expr *rank;
};

} // namespace coll

#endif // COLL_LIB_FRONTEND_ASTEXPR_H
