//===- SemaContracts.cpp - Contracts, as a schedule uses them -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contract speaks of parts, whatever the schedule cuts them into. Its arrays
// are the schedule's, but only their leading dimensions can be indexed here.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaContracts.h"
#include "lib/Support/Slugs.h"

#include "dialect/CollDialect.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

using What = ArrayDecl::What;

std::vector<ContractArray> ContractEmitter::use(const ContractDecl *contract,
                                                llvm::ArrayRef<Val> args,
                                                SourceRange place,
                                                llvm::ArrayRef<Value> cuts) {
  chunks = cuts;
  Restore restore(e);
  e.enter(contract, place);
  // The library's contracts are right: what is wrong is one thing, their use.
  const SourceFile &file = e.diags.sources().file(contract->range.file);
  e.hasErrorLimit = file.isLibrary();
  e.isLimitReached = false;
  bind(contract, args);
  emitPromise(contract);
  e.hasErrorLimit = false;
  return std::move(arrays);
}

void ContractEmitter::checkUnused(const ContractDecl *contract) {
  Restore restore(e);
  e.enter(contract, {});
  llvm::SmallVector<Val, 4> unknown(contract->params.size());
  bind(contract, unknown);
  emitPromise(contract);
}

void ContractEmitter::bind(const ContractDecl *contract,
                           llvm::ArrayRef<Val> args) {
  for (auto [param, arg] : llvm::zip_equal(contract->params, args))
    e.defineValue(param, arg);
  for (const Clause *clause : contract->clauses) {
    if (const auto *parts = dyn_cast<PartsClause>(clause))
      emitParts(parts);
    else if (const auto *arg = dyn_cast<ArgClause>(clause))
      emitArg(arg);
    else if (const auto *launch = dyn_cast<LaunchClause>(clause))
      emitCounts(launch);
  }
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static BufferKind bufferKind(What what) {
  switch (what) {
  case What::In:
    return BufferKind::In;
  case What::Out:
    return BufferKind::Out;
  case What::Elem:
    return BufferKind::Elem;
  case What::Row:
    return BufferKind::Row;
  case What::Scalar:
    return BufferKind::Scalar;
  case What::Tmp:
    break;
  }
  llvm_unreachable("a tmp is not in a contract");
}

void ContractEmitter::addArray(const Ident &name, What what,
                               llvm::ArrayRef<Value> parts, const Val &rank,
                               SourceRange range) {
  const List *ranks = nullptr;
  Coords at;
  if (rank.kind == Kind::List || rank.kind == Kind::Range) {
    ranks = e.toList(rank);
  } else if (!rank.isError()) {
    if (std::optional<Coords> coords = e.toRank(rank))
      at = *coords;
  }
  auto op = BufferOp::create(e.builder, e.loc(range),
                             ArrayType::get(e.builder.getContext()),
                             bufferKind(what), name.text, parts, at);
  if (ranks)
    e.inRegion(op.getMembers(), range, [&] {
      Walk walk;
      walk.isBodySmall = true;
      ranks->forEach(e, walk, [&](const Val &val) {
        if (std::optional<Coords> coords = e.toRank(val))
          MemberOp::create(e.builder, e.loc(rank.range), *coords);
      });
    });
  ArrayView view;
  view.handle = op.getResult();
  view.dims.assign(parts.begin(), parts.end());
  view.decl = e.keep(ArrayDecl{what, name.text, name.range});
  view.isOpen = e.isOpen();
  Val val = Val::make(Kind::Array, name.range, {});
  val.array = e.keep(view);
  e.defineValue(name, val);
  if (what != What::Row && what != What::Scalar)
    view.dims.append(chunks.begin(), chunks.end());
  arrays.push_back({name, e.keep(view)});
}

void ContractEmitter::emitParts(const PartsClause *clause) {
  Ident name = clause->name;
  if (!name)
    name.text = clause->isOut ? "out" : "in";
  llvm::SmallVector<Value, 4> parts;
  bool isRight = e.evalShape(clause->shape, parts);
  Val rank = clause->rank ? e.eval(clause->rank) : Val();
  if (isRight)
    addArray(name, clause->isOut ? What::Out : What::In, parts, rank,
             clause->range);
  else
    e.defineValue(name, {});
}

void ContractEmitter::emitArg(const ArgClause *clause) {
  What what = clause->type == ArgKind::Elem  ? What::Elem
              : clause->type == ArgKind::Row ? What::Row
                                             : What::Scalar;
  addArray(clause->name, what, {}, {}, clause->range);
}

void ContractEmitter::emitCounts(const LaunchClause *clause) {
  llvm::SmallVector<Value, 4> dims;
  if (!e.evalShape(clause->shape, dims)) {
    e.defineValue(clause->name, {});
    return;
  }
  Binding *binding = e.define(clause->name);
  binding->what = Binding::What::Counts;
  binding->countDims.assign(dims.begin(), dims.end());
}

//===----------------------------------------------------------------------===//
// What is promised
//===----------------------------------------------------------------------===//

void ContractEmitter::emitPromise(const ContractDecl *contract) {
  auto op = PromiseOp::create(e.builder, e.loc(contract->range));
  e.isInContract = true;
  e.inRegion(op.getBody(), contract->range, [&] {
    for (const Clause *clause : contract->clauses) {
      if (const auto *launch = dyn_cast<LaunchClause>(clause)) {
        const Binding *counts = e.find(launch->name.text);
        if (counts && counts->what == Binding::What::Counts)
          LaunchCountsOp::create(e.builder, e.loc(clause->range),
                                 launch->name.text, counts->countDims,
                                 launch->isGlobal);
      } else if (const auto *same = dyn_cast<RequireSameClause>(clause)) {
        emitSame(same);
      } else if (const auto *equation = dyn_cast<EquationClause>(clause)) {
        emitEquation(equation);
      }
    }
  });
  e.isInContract = false;
}

void ContractEmitter::emitSame(const RequireSameClause *clause) {
  StringRef name = clause->array.text;
  const Binding *binding = e.find(name);
  if (!binding) {
    e.unknownName(name, clause->array.range, "array", [&](Suggestion &s) {
      for (const ContractArray &array : arrays)
        s.offer(array.name.text);
    });
    return;
  }
  Val val = binding->value;
  val.range = clause->array.range;
  if (val.kind == Kind::Array)
    SameOp::create(e.builder, e.loc(clause->range), val.array->handle);
  else if (binding->what == Binding::What::Counts)
    e.error(Slug::BadContract, clause->array.range,
            "counts are the same on every rank anyway")
        .emit();
  else
    e.wrongKind(val, "an array");
}

void ContractEmitter::emitEquation(const EquationClause *clause) {
  auto body = [&] {
    switch (clause->word) {
    case EquationClause::Word::Ensure:
      return emitEnsure(clause);
    case EquationClause::Word::InPlace:
      return emitInPlace(clause);
    case EquationClause::Word::Size:
      return emitSize(clause);
    }
  };
  if (clause->iters)
    e.forIterators(clause->iters, {}, body);
  else
    body();
}

/// An error unless `val` is a place at one rank.
static bool isOnePlace(Emitter &e, const Val &val) {
  if (val.isError())
    return false;
  if (val.kind == Kind::Place && !val.isSpread())
    return true;
  if (val.kind == Kind::Array)
    e.error(Slug::BadContract, val.range, "this location names no rank").emit();
  else if (val.kind == Kind::Place)
    e.error(Slug::BadContract, val.range, "this names several ranks at once")
        .emit();
  else
    e.wrongKind(val, "a place");
  return false;
}

void ContractEmitter::emitEnsure(const EquationClause *clause) {
  Val place = e.eval(clause->lhs), value = e.eval(clause->rhs);
  bool isRight = isOnePlace(e, place);
  if (isRight && place.array->decl->what != What::Out) {
    const ArrayDecl *decl = place.array->decl;
    e.error(Slug::BadContract, place.range, "'" + decl->name + "' is no output")
        .note(decl->range, "'" + decl->name + "' is declared here");
    isRight = false;
  }
  const Computed *computed = e.toComputed(value);
  if (!isRight || !computed)
    return;
  SourceRange both = clause->lhs->range.to(clause->rhs->range);
  if (e.checkShapes(e.shapeOf(*place.array), computed->shape, both,
                    "sides differ"))
    EnsureOp::create(e.builder, e.loc(clause->range), place.array->handle,
                     place.ssa, computed->handle);
}

void ContractEmitter::emitInPlace(const EquationClause *clause) {
  Val a = e.eval(clause->lhs), b = e.eval(clause->rhs);
  bool isEverywhere = a.kind == Kind::Array && b.kind == Kind::Array;
  if (!isEverywhere) {
    bool isRight = isOnePlace(e, a);
    if (!isOnePlace(e, b) || !isRight)
      return;
  }
  SourceRange both = clause->lhs->range.to(clause->rhs->range);
  if (e.checkShapes(e.shapeOf(*a.array), e.shapeOf(*b.array), both,
                    "sides differ"))
    InplaceOp::create(e.builder, e.loc(clause->range), a.array->handle, a.ssa,
                      b.array->handle, b.ssa);
}

Value ContractEmitter::evalSize(const Expr *expr) {
  const auto *index = dyn_cast<IndexExpr>(expr);
  const auto *name = dyn_cast<NameExpr>(index ? index->base : expr);
  const Binding *counts = name ? e.find(name->name) : nullptr;
  Type type = SizeType::get(e.builder.getContext());
  if (!counts || counts->what != Binding::What::Counts) {
    Value value = e.evalInt(expr);
    if (!value)
      return {};
    return ConstSizeOp::create(e.builder, e.loc(expr->range), type, value);
  }
  Coords indices;
  if (index)
    for (const Expr *i : index->indices) {
      Val val = e.eval(i);
      if (val.kind != Kind::Int && val.kind != Kind::Rank) {
        e.wrongKind(val, "an integer or a rank");
        return {};
      }
      indices.append(val.ssa.begin(), val.ssa.end());
    }
  if (indices.size() != counts->countDims.size() && !e.isOpen()) {
    e.error(Slug::WrongShape, expr->range,
            Twine(indices.size()) +
                (indices.size() == 1 ? " index" : " indexes") +
                " into counts of " + Twine(counts->countDims.size()) +
                " dimensions")
        .note(counts->range, "'" + counts->name + "' is declared here");
    return {};
  }
  return CountOp::create(e.builder, e.loc(expr->range), type, counts->name,
                         indices);
}

void ContractEmitter::emitSize(const EquationClause *clause) {
  Val place = e.eval(clause->lhs);
  Value size = evalSize(clause->rhs);
  if (place.kind != Kind::Array && !isOnePlace(e, place))
    return;
  if (place.array->decl->what != What::In &&
      place.array->decl->what != What::Out) {
    e.error(Slug::BadContract, place.range,
            "only 'in' and 'out' arrays have sizes")
        .emit();
    return;
  }
  if (size)
    SizeOfOp::create(e.builder, e.loc(clause->range), place.array->handle,
                     place.ssa, size);
}

} // namespace coll::sema
