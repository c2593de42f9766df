//===- SemaLists.cpp - Lists in closed form -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over a list is written the way the list is written: `for` loops over
// ranges, one in another for grids and comprehensions, scf.if for filters. Only
// lists that are put together (literals, `a + b`, `c ? a : b`) are looped over
// by index, since the body should be written once.
//
// A list that is evaluated when it is used remembers the names of the place
// where it stands. Its loop switches to them and back: the body of the loop
// belongs to whoever loops.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaLists.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/SemaEmitter.h"
#include "lib/Frontend/SemaWalk.h"

using namespace mlir;

namespace coll::sema {

/// Longer literals are stored, and not chosen from by a chain of selects.
static constexpr size_t maxSelects = 4;

static Val integer(Value value, SourceRange range) {
  return Val::make(Kind::Int, range, value);
}

void List::forEach(Emitter &e, Walk walk, Body body) const {
  forEachIndex(e, walk.isReversed, body);
}

void List::forEachIndex(Emitter &e, bool isReversed, Body body) const {
  const List *list = e.store(this);
  Value n = list->size(e), last;
  if (isReversed)
    last = e.ints.sub(e.loc(range), n, e.ints.constant(1));
  e.emitFor(e.ints.constant(0), n, {}, range, [&](Value i) {
    if (isReversed)
      i = e.ints.sub(e.loc(range), last, i);
    body(list->element(e, i));
  });
}

//===----------------------------------------------------------------------===//
// Ranges and `all`
//===----------------------------------------------------------------------===//

RangeList::RangeList(const Val &bounds) : List(bounds.range), bounds(bounds) {
  width = 1;
}

Value RangeList::size(Emitter &e) const {
  return e.ints.rangeSize(e.loc(range), bounds.lo(), bounds.hi(),
                          bounds.step());
}

Val RangeList::element(Emitter &e, Value index) const {
  Location l = e.loc(range);
  if (bounds.step())
    index = e.ints.mul(l, index, bounds.step());
  return integer(e.ints.add(l, bounds.lo(), index), range);
}

void RangeList::forEach(Emitter &e, Walk walk, Body body) const {
  if (walk.isReversed)
    return forEachIndex(e, true, body);
  e.emitFor(bounds.lo(), bounds.hi(), bounds.step(), range,
            [&](Value i) { body(integer(i, range)); });
}

AllList::AllList(SourceRange range, llvm::ArrayRef<Value> dims)
    : List(range), dims(dims) {
  width = dims.size();
  isOfAll = true;
}

Value AllList::size(Emitter &e) const {
  Value product = dims.front();
  for (Value dim : dims.drop_front())
    product = e.ints.mul(e.loc(range), product, dim);
  return product;
}

static Val rankOf(llvm::ArrayRef<Value> coords, SourceRange range) {
  Val val =
      Val::make(coords.size() == 1 ? Kind::Int : Kind::Rank, range, coords);
  val.isOfAll = true;
  return val;
}

Val AllList::element(Emitter &e, Value index) const {
  Location l = e.loc(range);
  Coords coords(dims.size());
  for (unsigned d = dims.size(); d-- > 1;) {
    coords[d] = e.ints.make(IntOp::Mod, l, index, dims[d]);
    index = e.ints.make(IntOp::Div, l, index, dims[d]);
  }
  coords[0] = index;
  return rankOf(coords, range);
}

void AllList::forEach(Emitter &e, Walk walk, Body body) const {
  Coords coords;
  std::function<void()> next = [&] {
    if (coords.size() == dims.size())
      return body(rankOf(coords, range));
    Value n = dims[coords.size()], last;
    if (walk.isReversed)
      last = e.ints.sub(e.loc(range), n, e.ints.constant(1));
    e.emitFor(e.ints.constant(0), n, {}, range, [&](Value i) {
      if (walk.isReversed)
        i = e.ints.sub(e.loc(range), last, i);
      coords.push_back(i);
      next();
      coords.pop_back();
    });
  };
  next();
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

LiteralList::LiteralList(SourceRange range, std::vector<Val> given)
    : List(range), elements(std::move(given)) {
  isOfAll = !elements.empty();
  numParts = elements.size();
  for (const Val &element : elements) {
    width = element.ssa.size();
    isOfAll &= element.isOfAll;
  }
}

bool LiteralList::isClosed() const { return elements.size() <= maxSelects; }

Value LiteralList::size(Emitter &e) const {
  return e.ints.constant(elements.size());
}

Val LiteralList::element(Emitter &e, Value index) const {
  if (elements.empty())
    return {};
  std::optional<int64_t> known = Ints::constantOf(index);
  if (known && *known >= 0 && uint64_t(*known) < elements.size())
    return elements[*known];
  Val result = elements.back();
  Location l = e.loc(range);
  for (size_t i = elements.size() - 1; i-- > 0;) {
    Value is = e.ints.make(IntOp::Eq, l, index, e.ints.constant(i));
    for (auto [chosen, other] : llvm::zip_equal(result.ssa, elements[i].ssa))
      chosen = e.ints.select(l, is, other, chosen);
  }
  return result;
}

void LiteralList::forEach(Emitter &e, Walk walk, Body body) const {
  if (elements.empty())
    return e.probe([&] { body({}); });
  if (!walk.isBodySmall && elements.size() > 1)
    return forEachIndex(e, walk.isReversed, body);
  for (size_t i = 0; i < elements.size(); ++i)
    body(elements[walk.isReversed ? elements.size() - 1 - i : i]);
}

//===----------------------------------------------------------------------===//
// Comprehensions
//===----------------------------------------------------------------------===//

/// The element, in the names of the comprehension.
static Val evalElement(Emitter &e, const ComprehensionExpr *expr) {
  Val val = e.eval(expr->element);
  if (val.kind == Kind::Int || val.kind == Kind::Rank)
    return val;
  e.wrongKind(val, "an integer or a rank");
  return {};
}

void Comprehension::prepare(Emitter &e) {
  llvm::SmallVector<llvm::StringRef, 4> earlier;
  closed = !expr->iters.filter;
  for (const Iterator &it : expr->iters.list) {
    bool isDependent = mentionsAny(it.domain, earlier);
    domains.push_back(isDependent ? nullptr : e.evalDomain(it.domain));
    closed &= domains.back() && domains.back()->isClosed();
    earlier.push_back(it.name.text);
  }
  e.probe([&] {
    e.forIterators(
        expr->iters, {},
        [&] {
          Val val = evalElement(e, expr);
          width = val.ssa.size();
          isOfAll = val.isOfAll;
        },
        domains);
  });
}

Value Comprehension::size(Emitter &e) const {
  Value product;
  for (const List *domain : domains) {
    Value n = domain->size(e);
    product = product ? e.ints.mul(e.loc(range), product, n) : n;
  }
  return product;
}

Val Comprehension::element(Emitter &e, Value index) const {
  Location l = e.loc(range);
  llvm::SmallVector<Value, 4> indices(domains.size());
  for (size_t d = domains.size(); d-- > 1;) {
    Value n = domains[d]->size(e);
    indices[d] = e.ints.make(IntOp::Mod, l, index, n);
    index = e.ints.make(IntOp::Div, l, index, n);
  }
  indices[0] = index;
  Restore restore(e);
  e.env = env;
  for (auto [it, domain, i] :
       llvm::zip_equal(expr->iters.list, domains, indices))
    e.defineValue(it.name, domain->element(e, i));
  return evalElement(e, expr);
}

void Comprehension::forEach(Emitter &e, Walk walk, Body body) const {
  Environment outer = e.env;
  Restore restore(e);
  e.env = env;
  e.forIterators(
      expr->iters, walk,
      [&] {
        Val val = evalElement(e, expr);
        Restore back(e);
        e.env = outer;
        body(val);
      },
      domains);
}

//===----------------------------------------------------------------------===//
// What is made of lists
//===----------------------------------------------------------------------===//

ReversedList::ReversedList(SourceRange range, const List *list)
    : List(range), list(list) {
  width = list->width;
  isOfAll = list->isOfAll;
  numParts = list->numParts;
}

Val ReversedList::element(Emitter &e, Value index) const {
  Location l = e.loc(range);
  Value last = e.ints.sub(l, list->size(e), e.ints.constant(1));
  return list->element(e, e.ints.sub(l, last, index));
}

void ReversedList::forEach(Emitter &e, Walk walk, Body body) const {
  walk.isReversed = !walk.isReversed;
  list->forEach(e, walk, body);
}

/// What a list of these two is like; whether it is closed. Lists that double
/// from `let` to `let` soon have more parts than anybody can write down.
static bool combine(List &list, const List &a, const List &b) {
  constexpr size_t maxParts = 16;
  list.width = a.width ? a.width : b.width;
  list.isOfAll = a.isOfAll && b.isOfAll;
  list.numParts = a.numParts + b.numParts;
  return a.isClosed() && b.isClosed() && list.numParts <= maxParts;
}

JoinedList::JoinedList(SourceRange range, const List *a, const List *b)
    : List(range), a(a), b(b), closed(combine(*this, *a, *b)) {}

Value JoinedList::size(Emitter &e) const {
  return e.ints.add(e.loc(range), a->size(e), b->size(e));
}

Val JoinedList::element(Emitter &e, Value index) const {
  Location l = e.loc(range);
  Value n = a->size(e);
  Value isFirst = e.ints.make(IntOp::Lt, l, index, n);
  Emitter::Side first = e.side([&] { return a->element(e, index); });
  Emitter::Side second = e.side([&] {
    Value i = e.ints.sub(e.loc(range), index, n);
    return b->element(e, i);
  });
  return e.choose(isFirst, range, std::move(first), std::move(second));
}

void JoinedList::forEach(Emitter &e, Walk walk, Body body) const {
  if (!walk.isBodySmall)
    return forEachIndex(e, walk.isReversed, body);
  (walk.isReversed ? b : a)->forEach(e, walk, body);
  (walk.isReversed ? a : b)->forEach(e, walk, body);
}

ChosenList::ChosenList(const ConditionalExpr *expr, Environment env,
                       Value condition, const List *a, const List *b)
    : List(expr->range), expr(expr), env(env), condition(condition),
      closed(combine(*this, *a, *b)) {}

const List *ChosenList::evaluate(Emitter &e, const Expr *side) const {
  Restore restore(e);
  e.env = env;
  return e.toList(e.eval(side));
}

Value ChosenList::size(Emitter &e) const {
  auto of = [&](const Expr *side) {
    return e.side([&, side] {
      const List *list = evaluate(e, side);
      return list ? integer(list->size(e), range) : Val();
    });
  };
  Emitter::Side a = of(expr->thenValue), b = of(expr->elseValue);
  Val val = e.choose(condition, range, std::move(a), std::move(b));
  return val.isError() ? e.ints.constant(0) : val.integer();
}

Val ChosenList::element(Emitter &e, Value index) const {
  auto of = [&](const Expr *side) {
    return e.side([&, side] {
      const List *list = evaluate(e, side);
      return list ? list->element(e, index) : Val();
    });
  };
  Emitter::Side a = of(expr->thenValue), b = of(expr->elseValue);
  return e.choose(condition, range, std::move(a), std::move(b));
}

void ChosenList::forEach(Emitter &e, Walk walk, Body body) const {
  if (!walk.isBodySmall)
    return forEachIndex(e, walk.isReversed, body);
  auto of = [&](const Expr *side) {
    if (const List *list = evaluate(e, side))
      list->forEach(e, walk, body);
  };
  e.emitIf(
      condition, range, [&] { of(expr->thenValue); },
      [&] { of(expr->elseValue); });
}

//===----------------------------------------------------------------------===//
// Stored lists
//===----------------------------------------------------------------------===//

StoredList::StoredList(const List *source, Value handle)
    : List(source->range), source(source), handle(handle) {
  width = source->width;
  isOfAll = source->isOfAll;
}

Value StoredList::size(Emitter &e) const {
  if (Value known = e.ints.recall(Ints::listSizeTag, handle, {}))
    return known;
  Value size = ListSizeOp::create(e.builder, e.loc(range), handle);
  e.ints.remember(Ints::listSizeTag, handle, {}, size);
  return size;
}

Val StoredList::element(Emitter &e, Value index) const {
  if (width == 0)
    return {};
  llvm::SmallVector<Type> types(width, e.builder.getIndexType());
  auto op = ListGetOp::create(e.builder, e.loc(range), types, handle, index);
  llvm::SmallVector<Value> coords(op.getCoords());
  Val val = Val::make(width == 1 ? Kind::Int : Kind::Rank, range, coords);
  val.isOfAll = isOfAll;
  return val;
}

void StoredList::forEach(Emitter &e, Walk walk, Body body) const {
  if (source->isLoop())
    return source->forEach(e, walk, body);
  forEachIndex(e, walk.isReversed, body);
}

} // namespace coll::sema
