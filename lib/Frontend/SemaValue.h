//===- SemaValue.h - What an expression stands for --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of things there are while the tree is walked, and the names for
// them. All of it lives as long as the walk over one declaration.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAVALUE_H
#define COLL_LIB_FRONTEND_SEMAVALUE_H

#include "lib/Frontend/AST.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace coll::sema {

class Emitter;
class List;

enum class Kind : uint8_t {
  Error, ///< something wrong that has been reported: fits everywhere
  Int,   ///< an integer; on a line also a rank
  Condition,
  Rank, ///< of a grid: two coordinates or more
  Range,
  List,
  Array, ///< locations, at no rank in particular
  Place, ///< locations at a rank, or at each rank of a list
  Value, ///< computed from what locations hold
};

/// "an integer", "a list": how messages call it.
llvm::StringRef describe(Kind kind);

/// An array that has a name in the program.
struct ArrayDecl {
  enum class What : uint8_t { In, Out, Elem, Row, Scalar, Tmp };
  What what;
  llvm::StringRef name;
  SourceRange range;

  bool isWritable() const { return what == What::Out || what == What::Tmp; }
};

struct ArrayView {
  mlir::Value handle;
  /// The dimensions that can be indexed. In a contract chunks are not among
  /// them.
  llvm::SmallVector<mlir::Value, 4> dims;
  const ArrayDecl *decl = nullptr;
  /// In a procedure that is not called, nobody knows how many dimensions it
  /// has.
  bool isOpen = false;
};

/// Extents, -1 where they are not constant.
struct Shape {
  llvm::SmallVector<int64_t, 4> dims;
  bool isOpen = false;
};

/// What a statement moves.
struct Computed {
  mlir::Value handle;
  Shape shape;
  /// The locations read that name a rank, and that do not: the first of each.
  SourceRange named, unnamed;
};

struct Val {
  Kind kind = Kind::Error;
  SourceRange range;
  /// Int, Condition: the value. Rank: a value for each coordinate. Range: lo,
  /// hi and perhaps step; none for the whole extent, `..`. Place: the
  /// coordinates of its rank, none if it is at a list.
  llvm::SmallVector<mlir::Value, 3> ssa;
  const List *list = nullptr;       ///< List; Place at a list
  const ArrayView *array = nullptr; ///< Array, Place
  const Computed *value = nullptr;  ///< Value
  bool isOfAll = false; ///< Int: comes from `all`, so it means a rank

  bool isError() const { return kind == Kind::Error; }
  bool isWhole() const { return kind == Kind::Range && ssa.empty(); }
  bool isSpread() const { return kind == Kind::Place && list; }
  mlir::Value integer() const { return ssa.front(); }
  mlir::Value lo() const { return ssa[0]; }
  mlir::Value hi() const { return ssa[1]; }
  mlir::Value step() const { return ssa.size() > 2 ? ssa[2] : mlir::Value(); }

  static Val make(Kind kind, SourceRange range,
                  llvm::ArrayRef<mlir::Value> ssa) {
    Val val;
    val.kind = kind;
    val.range = range;
    val.ssa.assign(ssa.begin(), ssa.end());
    return val;
  }
};

/// A call that is being inlined, or the declaration at the bottom of it.
struct Frame {
  const Frame *caller = nullptr;
  const Decl *decl = nullptr;
  SourceRange callSite;
  /// Of the call; every op of the frame is at a place called from there.
  std::optional<mlir::Location> location;
  /// While a procedure is being called: the names at the call.
  mutable const struct Binding *namesAtCall = nullptr;
  unsigned depth = 0;
};

/// A name and what it stands for. Bindings form chains, the newest first; a
/// chain is never changed, so whoever holds one sees the names that were
/// visible there.
struct Binding {
  enum class What : uint8_t { Value, LetFunction, Counts };
  const Binding *next = nullptr;
  llvm::StringRef name;
  SourceRange range;
  What what = What::Value;
  Val value;
  const LetDecl *let = nullptr;     ///< LetFunction
  const Binding *closure = nullptr; ///< LetFunction: the names it sees
  llvm::SmallVector<mlir::Value, 2> countDims; ///< Counts
};

/// Where an expression is evaluated.
struct Environment {
  const Binding *names = nullptr;
  const Frame *frame = nullptr;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAVALUE_H
