//===- SemaValues.cpp - What statements compute ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A computed value keeps track of two things besides its op: its shape, as far
// as it is known, and whether the locations it reads name their ranks. Either
// all locations of a statement do or none does.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaEmitter.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/SemaFunctions.h"
#include "lib/Support/Slugs.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

static ValueType valueType(Emitter &e) {
  return ValueType::get(e.builder.getContext());
}

/// What is read at one rank.
static Computed readAt(Emitter &e, const ArrayView &view, ValueRange coords,
                       SourceRange range) {
  Computed value;
  value.shape = e.shapeOf(view);
  if (e.ownRank && !coords.empty()) {
    e.checkOwnRank(coords, range);
    coords = {};
  } else if (!e.ownRank) {
    (coords.empty() ? value.unnamed : value.named) = range;
  }
  value.handle = ReadOp::create(e.builder, e.loc(range), valueType(e),
                                view.handle, coords);
  return value;
}

const Computed *Emitter::read(const Val &locations) {
  if (locations.isSpread()) {
    error(Slug::SourceIsList, locations.range,
          "this reads several ranks, a statement reads one")
        .help(locations.range, "their sum is reduce(...) of it");
    return nullptr;
  }
  if (isInContract && locations.kind == Kind::Array) {
    error(Slug::BadContract, locations.range, "this location names no rank")
        .emit();
    return nullptr;
  }
  return keep(readAt(*this, *locations.array, locations.ssa, locations.range));
}

const Computed *Emitter::toComputed(const Val &val) {
  if (val.kind == Kind::Array || val.kind == Kind::Place)
    return read(val);
  if (val.kind == Kind::Value)
    return val.value;
  wrongKind(val, "a value");
  return nullptr;
}

void Emitter::checkOwnRank(ValueRange coords, SourceRange range) {
  Value isOwn;
  Location l = loc(range);
  std::string theirs, own;
  llvm::SmallVector<Value, 4> args;
  for (auto [d, coord] : llvm::enumerate(coords)) {
    Value mine = (*ownRank)[d];
    if (!Ints::same(coord, mine)) {
      Value equal = ints.make(IntOp::Eq, l, coord, mine);
      isOwn = isOwn ? ints.both(l, isOwn, equal) : equal;
    }
    const char *comma = d ? ", " : "";
    own += comma + ("{" + std::to_string(d) + "}");
    theirs += comma + ("{" + std::to_string(d + coords.size()) + "}");
  }
  if (!isOwn)
    return;
  args.append(ownRank->begin(), ownRank->end());
  args.append(coords.begin(), coords.end());
  if (coords.size() > 1) {
    own = "(" + own + ")";
    theirs = "(" + theirs + ")";
  }
  emitAssert(isOwn, Slug::NotOwnRank, range,
             "the process of rank " + own + " names a location of rank " +
                 theirs,
             args);
}

bool Emitter::checkShapes(const Shape &a, const Shape &b, SourceRange range,
                          StringRef what) {
  if (a.isOpen || b.isOpen)
    return true;
  auto print = [](const Shape &shape) {
    if (shape.dims.empty())
      return std::string("one location");
    std::string text = "[";
    for (int64_t dim : shape.dims)
      text += (text.size() > 1 ? ", " : "") +
              (dim < 0 ? std::string("..") : std::to_string(dim));
    return "shape " + text + "]";
  };
  bool isRight = a.dims.size() == b.dims.size();
  if (isRight)
    for (auto [x, y] : llvm::zip_equal(a.dims, b.dims))
      isRight &= x == y || x < 0 || y < 0;
  if (!isRight)
    error(Slug::WrongShape, range, what + ": " + print(a) + " and " + print(b))
        .emit();
  return isRight;
}

/// Takes over which locations are named.
static void addSides(Computed &to, const Computed &from) {
  if (!to.named.isValid())
    to.named = from.named;
  if (!to.unnamed.isValid())
    to.unnamed = from.unnamed;
}

static Val wrap(Emitter &e, Computed value, SourceRange range) {
  Val val = Val::make(Kind::Value, range, {});
  val.value = e.keep(std::move(value));
  return val;
}

//===----------------------------------------------------------------------===//
// reduce(...)
//===----------------------------------------------------------------------===//

Val Emitter::evalFold(const CallExpr *expr) {
  StringRef name = expr->callee.text;
  if (!checkArity(name, expr->args.size(), 1, anyNumber, expr->range))
    return {};
  auto op = FoldOp::create(builder, loc(expr->range), valueType(*this),
                           name == "reduce_any");
  Computed result;
  result.handle = op.getResult();
  bool isFirst = true, isWrong = false;
  auto operand = [&](const Computed *value, SourceRange range) {
    if (!value) {
      isWrong = true;
      return;
    }
    if (isFirst)
      result.shape = value->shape;
    else if (!checkShapes(result.shape, value->shape, range,
                          "operands of '" + name.str() + "' differ"))
      isWrong = true;
    isFirst = false;
    addSides(result, *value);
    OperandOp::create(builder, loc(range), value->handle);
  };
  Walk walk;
  walk.isBodySmall = true;
  auto argument = [&](const Expr *arg) {
    Val val = eval(arg);
    if (!val.isSpread())
      return operand(toComputed(val), val.range);
    val.list->forEach(*this, walk, [&](const Val &rank) {
      std::optional<Coords> coords = toRank(rank);
      const Computed *value = nullptr;
      if (coords || isOpen())
        value = keep(
            readAt(*this, *val.array, coords ? *coords : Coords(), val.range));
      operand(value, val.range);
    });
  };
  inRegion(op.getBody(), expr->range, [&] {
    for (const CallArg &arg : expr->args)
      if (arg.iters)
        forIterators(arg.iters, walk, [&] { argument(arg.value); });
      else
        argument(arg.value);
  });
  if (isWrong)
    return {};
  return wrap(*this, std::move(result), expr->range);
}

//===----------------------------------------------------------------------===//
// a + b, f(a, b)
//===----------------------------------------------------------------------===//

Val Emitter::evalSum(const BinaryExpr *expr, const Val &a, const Val &b) {
  const Computed *x = toComputed(a), *y = toComputed(b);
  if (!x || !y ||
      !checkShapes(x->shape, y->shape, expr->range, "operands differ"))
    return {};
  Computed result = *x;
  addSides(result, *y);
  result.handle = AddOp::create(builder, loc(expr->range), valueType(*this),
                                x->handle, y->handle);
  return wrap(*this, std::move(result), expr->range);
}

/// An error if an argument of an fn is not of its parameter's kind.
static bool checkArgument(Emitter &e, const FunctionParam &param,
                          const Val &arg) {
  using What = ArrayDecl::What;
  What what = arg.array ? arg.array->decl->what : What::Tmp;
  bool isScalar = what == What::Scalar, isRow = what == What::Row;
  bool isRight = param.type == ArgKind::Scalar ? isScalar
                 : param.type == ArgKind::Elem
                     ? !isScalar && !isRow
                     : !isScalar && what != What::Elem;
  if (isRight)
    return true;
  StringRef is = isScalar ? "a scalar"
                 : isRow  ? "a row"
                          : "an array of elements";
  StringRef needed = param.type == ArgKind::Scalar ? "a scalar"
                     : param.type == ArgKind::Row  ? "a row"
                                                   : "an element";
  e.error(Slug::WrongKind, arg.range,
          "this is " + is + ", where " + needed + " is needed")
      .note(param.name.range, "the parameter '" + param.name.text + "'");
  return false;
}

Val Emitter::evalApply(const FunctionDecl *fn, const CallExpr *expr) {
  llvm::SmallVector<Value, 4> operands;
  Computed result;
  bool isWrong =
      !checkArity(fn->name.text, expr->args.size(), fn->params.size(),
                  fn->params.size(), expr->range, fn);
  bool hasShape = false, hasRow = false;
  for (auto [i, arg] : llvm::enumerate(expr->args)) {
    if (arg.iters) {
      error(Slug::WrongKind, arg.iters.range,
            "a 'for' among the arguments of an fn, which reduces nothing")
          .emit();
      return {};
    }
    Val val = eval(arg.value);
    const Computed *value = toComputed(val);
    if (!value || isWrong || !checkArgument(*this, fn->params[i], val)) {
      isWrong = true;
      continue;
    }
    hasRow |= fn->params[i].type == ArgKind::Row;
    addSides(result, *value);
    operands.push_back(value->handle);
    // A scalar, or a row that is the same everywhere, serves every location.
    using What = ArrayDecl::What;
    if (val.array && (val.array->decl->what == What::Scalar ||
                      val.array->decl->what == What::Row))
      continue;
    if (hasShape &&
        !checkShapes(result.shape, value->shape, val.range,
                     "arguments of '" + fn->name.text.str() + "' differ"))
      isWrong = true;
    result.shape = value->shape;
    hasShape = true;
  }
  StringRef symbol = functions->use(fn);
  if (isWrong || symbol.empty())
    return {};
  if (hasRow && !isByRow && !isOpen()) {
    Report report = error(Slug::NeedsByRow, expr->range,
                          "'" + fn->name.text +
                              "' takes rows, and this schedule may cut them");
    if (chunksRange.isValid())
      report.fix(chunksRange.after(), " by row", "cut between rows only");
    return {};
  }
  result.handle = ApplyOp::create(
      builder, loc(expr->range), valueType(*this),
      FlatSymbolRefAttr::get(builder.getContext(), symbol), operands);
  return wrap(*this, std::move(result), expr->range);
}

} // namespace coll::sema
