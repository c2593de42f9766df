//===- SemaIterators.cpp - Lists in expressions, and loops over them ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/CollDialect.h"
#include "lib/Frontend/Sema.h"
#include "lib/Frontend/SemaEmitter.h"
#include "lib/Support/Slugs.h"

using namespace mlir;
using llvm::Twine;

namespace coll::sema {

const List *Emitter::store(const List *list) {
  if (list->isClosed())
    return list;
  auto op = ListOp::create(builder, loc(list->range),
                           ListType::get(builder.getContext()));
  inRegion(op.getBody(), list->range, [&] {
    Walk walk;
    walk.isBodySmall = true;
    list->forEach(*this, walk, [&](const Val &val) {
      if (!val.isError())
        MemberOp::create(builder, loc(list->range), val.ssa);
    });
  });
  return makeList<StoredList>(list, op.getResult());
}

Val Emitter::evalListLiteral(const ListExpr *expr) {
  std::vector<Val> elements;
  bool isWrong = false;
  for (const Expr *element : expr->elements) {
    Val val = eval(element);
    if (val.kind != Kind::Int && val.kind != Kind::Rank) {
      wrongKind(val, "an integer or a rank");
      isWrong = true;
    } else if (!elements.empty() && elements[0].kind != val.kind) {
      error(Slug::WrongKind, val.range,
            "this is " + describe(val.kind) + " in a list that starts with " +
                describe(elements[0].kind))
          .note(elements[0].range, "the first element");
      isWrong = true;
    } else {
      elements.push_back(std::move(val));
    }
  }
  if (isWrong)
    return {};
  Val val = Val::make(Kind::List, expr->range, {});
  val.list = makeList<LiteralList>(expr->range, std::move(elements));
  return val;
}

const List *Emitter::toList(const Val &val) {
  if (val.kind == Kind::List)
    return val.list;
  if (val.kind == Kind::Range && !val.isWhole())
    return makeList<RangeList>(val);
  wrongKind(val, val.isWhole() ? "a range with two ends" : "a list or a range");
  return nullptr;
}

const List *Emitter::evalDomain(const Expr *expr) {
  Val val = eval(expr);
  if (val.kind != Kind::Int)
    return toList(val);
  error(Slug::WrongKind, val.range,
        "this is an integer, where a list or a range is needed")
      .fix(val.range, ("0 .. " + text(val.range)).str(),
           "write a range: half open, from 0");
  return nullptr;
}

Value Emitter::sizeOf(const List *list) { return store(list)->size(*this); }

Val Emitter::elementAt(const List *list, Value index, SourceRange range) {
  list = store(list);
  Value size = list->size(*this);
  if (!list->checksIndex() && !isOpen() && !Ints::isInRange(index, size)) {
    std::optional<int64_t> i = Ints::constantOf(index),
                           n = Ints::constantOf(size);
    if (i && n) {
      error(Slug::IndexOutOfRange, range,
            "index " + Twine(*i) + " of a list of " + Twine(*n))
          .emit();
      return {};
    }
    Location l = loc(range);
    Value isIn = ints.both(l, ints.make(IntOp::Ge, l, index, ints.constant(0)),
                           ints.make(IntOp::Lt, l, index, size));
    emitAssert(isIn, Slug::IndexOutOfRange, range, "index {0} of a list of {1}",
               {index, size});
  }
  Val val = list->element(*this, index);
  val.range = range;
  return val;
}

void Emitter::forIterators(const Iterators &iters, Walk walk,
                           llvm::function_ref<void()> body,
                           llvm::ArrayRef<const List *> domains) {
  Restore restore(*this);
  std::function<void(size_t)> from = [&](size_t i) {
    if (!spend(iters.range))
      return;
    if (i == iters.list.size()) {
      if (!iters.filter)
        return body();
      Value condition = evalCondition(iters.filter);
      return emitIf(condition, iters.filter->range, body);
    }
    if (i > maxIterators) {
      error(Slug::NestingTooDeep, iters.list[i].name.range,
            "more than " + Twine(maxIterators) + " iterators")
          .emit();
      return;
    }
    const Iterator &it = iters.list[i];
    const List *list = i < domains.size() ? domains[i] : nullptr;
    if (!list)
      list = evalDomain(it.domain);
    auto bind = [&](const Val &val) {
      Restore scope(*this);
      Val named = val;
      named.range = it.name.range;
      defineValue(it.name, named);
      from(i + 1);
    };
    if (list)
      list->forEach(*this, walk, bind);
    else
      bind({});
  };
  from(0);
}

} // namespace coll::sema
