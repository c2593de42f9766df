//===- SemaLists.h - Lists in closed form -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list is a way to write three things where they are needed: its size, its
// i-th element, and a loop over it. Most lists have all three in closed form
// (`all`, ranges, comprehensions without a filter over domains that do not
// depend on each other, and what reversed, `+` and `? :` make of them). The
// others are loops only; for their size and elements they are stored, as a
// coll.list.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMALISTS_H
#define COLL_LIB_FRONTEND_SEMALISTS_H

#include "lib/Frontend/SemaValue.h"

namespace coll::sema {

/// How a loop over a list is written.
struct Walk {
  bool isReversed = false;
  /// The body is a member or an operand: rather repeat it than write a loop
  /// that looks elements up.
  bool isBodySmall = false;
};

class List {
public:
  using Body = llvm::function_ref<void(const Val &)>;

  explicit List(SourceRange range) : range(range) {}
  virtual ~List() = default;

  /// Coordinates of an element: 1 for integers. 0: the list is empty, or its
  /// elements are unknown.
  unsigned width = 0;
  bool isOfAll = false; ///< elements come from `all`, so they mean ranks
  /// How many lists and elements `size` and `element` choose among.
  size_t numParts = 1;
  SourceRange range;

  /// `size` and `element` can be written as expressions.
  virtual bool isClosed() const { return true; }
  /// A loop over it need not look elements up.
  virtual bool isLoop() const { return false; }
  /// `element` checks its index by itself.
  virtual bool checksIndex() const { return false; }
  /// The element of `[x]`, else null.
  virtual const Val *only() const { return nullptr; }
  virtual mlir::Value size(Emitter &e) const = 0;
  /// `index` is in range, or its use is an error that has been provided for.
  virtual Val element(Emitter &e, mlir::Value index) const = 0;
  virtual void forEach(Emitter &e, Walk walk, Body body) const;

protected:
  void forEachIndex(Emitter &e, bool isReversed, Body body) const;
};

/// Elements of a procedure's parameter that nobody passed: unknown.
class OpaqueList : public List {
public:
  OpaqueList(SourceRange range, mlir::Value someSize)
      : List(range), someSize(someSize) {}
  mlir::Value size(Emitter &) const override { return someSize; }
  Val element(Emitter &, mlir::Value) const override { return {}; }
  void forEach(Emitter &, Walk, Body body) const override { body({}); }

private:
  mlir::Value someSize;
};

class RangeList : public List {
public:
  RangeList(const Val &range);
  bool isLoop() const override { return true; }
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  Val bounds;
};

/// `all`, in flat order.
class AllList : public List {
public:
  AllList(SourceRange range, llvm::ArrayRef<mlir::Value> dims);
  bool isLoop() const override { return true; }
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  llvm::ArrayRef<mlir::Value> dims;
};

class LiteralList : public List {
public:
  LiteralList(SourceRange range, std::vector<Val> elements);
  bool isClosed() const override;
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;
  const Val *only() const override {
    return elements.size() == 1 ? &elements[0] : nullptr;
  }

private:
  std::vector<Val> elements;
};

class Comprehension : public List {
public:
  Comprehension(const ComprehensionExpr *expr, Environment env)
      : List(expr->range), expr(expr), env(env) {}
  /// Evaluates the domains that do not depend on others and finds out the rest.
  void prepare(Emitter &e);
  bool isClosed() const override { return closed; }
  bool isLoop() const override { return true; }
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  const ComprehensionExpr *expr;
  Environment env;
  std::vector<const List *> domains; ///< null: depends on an iterator before it
  bool closed = false;
};

class ReversedList : public List {
public:
  ReversedList(SourceRange range, const List *list);
  bool isClosed() const override { return list->isClosed(); }
  bool isLoop() const override { return list->isLoop(); }
  mlir::Value size(Emitter &e) const override { return list->size(e); }
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  const List *list;
};

/// `a + b`
class JoinedList : public List {
public:
  JoinedList(SourceRange range, const List *a, const List *b);
  bool isClosed() const override { return closed; }
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  const List *a, *b;
  bool closed;
};

/// `condition ? a : b`; the sides are evaluated where they are needed, since
/// each may be an error unless its condition holds.
class ChosenList : public List {
public:
  ChosenList(const ConditionalExpr *expr, Environment env,
             mlir::Value condition, const List *a, const List *b);
  bool isClosed() const override { return closed; }
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  const List *evaluate(Emitter &e, const Expr *side) const;
  const ConditionalExpr *expr;
  Environment env;
  mlir::Value condition;
  bool closed;
};

/// A coll.list.
class StoredList : public List {
public:
  StoredList(const List *source, mlir::Value handle);
  bool isLoop() const override { return source->isLoop(); }
  bool checksIndex() const override { return true; }
  mlir::Value size(Emitter &e) const override;
  Val element(Emitter &e, mlir::Value index) const override;
  void forEach(Emitter &e, Walk walk, Body body) const override;

private:
  const List *source;
  mlir::Value handle;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMALISTS_H
