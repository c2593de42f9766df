//===- SemaViews.cpp - Arrays indexed, reshaped and placed ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many dimensions a view has is known here; their extents are SSA values,
// and whether an index is in range is a question for elaboration.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaEmitter.h"
#include "lib/Support/Slugs.h"

#include "dialect/CollDialect.h"

using namespace mlir;
using llvm::Twine;

namespace coll::sema {

const ArrayView *Emitter::keep(ArrayView view) {
  return &arrays.emplace_back(std::move(view));
}
const Computed *Emitter::keep(Computed value) {
  return &values.emplace_back(std::move(value));
}

Shape Emitter::shapeOf(const ArrayView &view) const {
  Shape shape;
  shape.isOpen = view.isOpen;
  for (Value dim : view.dims)
    shape.dims.push_back(Ints::constantOf(dim).value_or(-1));
  return shape;
}

//===----------------------------------------------------------------------===//
// a[i, lo .. hi, (m, g)]
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a coll.slice, one index after the other.
struct Slice {
  llvm::SmallVector<Value, 4> offsets, sizes, steps;
  llvm::SmallVector<bool, 4> drop;
  bool hasStep = false;

  void at(Value index) {
    offsets.push_back(index);
    drop.push_back(true);
  }
  void some(Value lo, Value size, Value step) {
    offsets.push_back(lo);
    sizes.push_back(size);
    steps.push_back(step);
    drop.push_back(false);
  }
};
} // namespace

/// Adds what `index` says of the next dimension, or dimensions; false: an
/// error.
static bool addIndex(Emitter &e, Slice &slice, const ArrayView &base,
                     const Val &index) {
  Location l = e.loc(index.range);
  switch (index.kind) {
  case Kind::Int:
  case Kind::Rank:
    for (Value coord : index.ssa)
      slice.at(coord);
    return true;
  case Kind::Range: {
    if (!index.isWhole()) {
      Value size = e.ints.rangeSize(l, index.lo(), index.hi(), index.step());
      slice.some(index.lo(), size,
                 index.step() ? index.step() : e.ints.constant(1));
      slice.hasStep |= bool(index.step());
      return true;
    }
    size_t dim = slice.offsets.size();
    if (dim < base.dims.size())
      slice.some(e.ints.constant(0), base.dims[dim], e.ints.constant(1));
    else
      slice.some({}, {}, {}); // too many: an error soon
    return true;
  }
  default:
    e.wrongKind(index, "an integer, a range or a rank");
    return false;
  }
}

Val Emitter::evalIndex(const IndexExpr *expr) {
  Val base = eval(expr->base);
  llvm::SmallVector<Val, 4> indices;
  for (const Expr *index : expr->indices)
    indices.push_back(eval(index));
  if (base.isError())
    return {};
  if (base.kind == Kind::List || base.kind == Kind::Range) {
    if (indices.size() != 1) {
      error(Slug::WrongShape, expr->range,
            "a list has one index, here are " + Twine(indices.size()))
          .emit();
      return {};
    }
    Value index = toInt(indices[0]);
    const List *list = toList(base);
    return index && list ? elementAt(list, index, expr->range) : Val();
  }
  if (base.kind != Kind::Array && base.kind != Kind::Place) {
    wrongKind(base, "an array or a list");
    return {};
  }
  const ArrayView &view = *base.array;
  Slice slice;
  bool isWrong = false;
  for (const Val &index : indices)
    isWrong |= index.isError() || !addIndex(*this, slice, view, index);
  if (isWrong)
    return {};
  Val val = base;
  val.range = expr->range;
  if (view.isOpen)
    return val;
  if (slice.offsets.size() > view.dims.size()) {
    error(Slug::WrongShape, expr->range,
          Twine(slice.offsets.size()) +
              (slice.offsets.size() == 1 ? " index" : " indexes") +
              " into an array of " + Twine(view.dims.size()) + " dimensions")
        .note(view.decl->range, "'" + view.decl->name + "' is declared here");
    return {};
  }
  if (!slice.hasStep)
    slice.steps.clear();
  ArrayView result = view;
  // The commonest view, a[i], is often named on both sides.
  bool isSimple = slice.drop.size() == 1 && slice.drop[0];
  if (isSimple)
    result.handle = ints.recall(Ints::sliceTag, view.handle, slice.offsets[0]);
  if (!isSimple || !result.handle)
    result.handle = SliceOp::create(builder, loc(expr->range), view.handle,
                                    slice.offsets, slice.sizes, slice.steps,
                                    builder.getDenseBoolArrayAttr(slice.drop));
  if (isSimple)
    ints.remember(Ints::sliceTag, view.handle, slice.offsets[0], result.handle);
  result.dims = slice.sizes;
  result.dims.append(view.dims.begin() + slice.offsets.size(), view.dims.end());
  val.array = keep(std::move(result));
  return val;
}

//===----------------------------------------------------------------------===//
// a as [x, y]
//===----------------------------------------------------------------------===//

/// The product, if all are constant and it fits.
static std::optional<int64_t> constantProduct(ValueRange dims) {
  int64_t product = 1;
  for (Value dim : dims) {
    std::optional<int64_t> c = Ints::constantOf(dim);
    if (!c || __builtin_mul_overflow(product, *c, &product))
      return std::nullopt;
  }
  return product;
}

Val Emitter::evalView(const ViewExpr *expr) {
  Val base = eval(expr->base);
  llvm::SmallVector<Value, 4> dims;
  bool isRight = evalShape(expr->shape, dims);
  if (base.isError() || !isRight)
    return {};
  if (isInContract) {
    error(Slug::BadContract, expr->range, "a contract reshapes nothing").emit();
    return {};
  }
  if (base.kind != Kind::Array && base.kind != Kind::Place) {
    wrongKind(base, "an array");
    return {};
  }
  const ArrayView &view = *base.array;
  if (view.isOpen || isOpen())
    return base;
  std::optional<int64_t> before = constantProduct(view.dims),
                         after = constantProduct(dims);
  if (before && after && *before != *after) {
    error(Slug::WrongShape, expr->range,
          Twine(*before) + " locations do not fit into a shape of " +
              Twine(*after))
        .emit();
    return {};
  }
  ArrayView result = view;
  result.handle = ReshapeOp::create(builder, loc(expr->range),
                                    view.handle.getType(), view.handle, dims);
  result.dims = dims;
  Val val = base;
  val.range = expr->range;
  val.array = keep(std::move(result));
  return val;
}

//===----------------------------------------------------------------------===//
// a@r
//===----------------------------------------------------------------------===//

Val Emitter::evalAt(const AtExpr *expr) {
  Val base = eval(expr->base), rank = eval(expr->rank);
  if (base.kind == Kind::Place) {
    error(Slug::WrongKind, expr->range, "this place names a rank already")
        .note(base.range, "the place");
    return {};
  }
  if (!base.isError() && base.kind != Kind::Array) {
    wrongKind(base, "an array");
    return {};
  }
  if (base.isError() || (rank.isError() && !isOpen()))
    return {};
  Val val = base;
  val.kind = Kind::Place;
  val.range = expr->range;
  bool isList = rank.kind == Kind::List || rank.kind == Kind::Range;
  const List *list = isList ? toList(rank) : nullptr;
  if (isList && !list)
    return {};
  if (list && !list->only()) {
    if (list->width && !isOpen() && list->width != rankWidth()) {
      error(Slug::WrongKind, rank.range,
            "a list of integers, where ranks (" + llvm::join(rankNames, ", ") +
                ") are needed")
          .emit();
      return {};
    }
    val.list = list;
    return val;
  }
  std::optional<Coords> coords = toRank(list ? *list->only() : rank);
  if (coords)
    val.ssa.assign(coords->begin(), coords->end());
  return coords || isOpen() ? val : Val();
}

} // namespace coll::sema
