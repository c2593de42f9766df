//===- SemaTransfers.cpp - tmp, copy, reduce, send and recv ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the global view either all locations of a statement name a rank, or none
// does and every rank does it by itself. Inside `on` a location without a rank
// is the process's own, and one that names a rank is compared with it.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaStmts.h"
#include "lib/Support/Slugs.h"

#include "dialect/CollDialect.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

static_assert(int(ElementType::T) == int(DataType::T) &&
              int(ElementType::F64) == int(DataType::F64) &&
              int(ElementType::MXE4M3) == int(DataType::MXE4M3));

static DataType dataType(const TypeRef &type) {
  return DataType(int(type.type));
}

static DataTypeAttr viaAttr(Emitter &e, const TypeRef &via) {
  return via ? DataTypeAttr::get(e.builder.getContext(), dataType(via))
             : DataTypeAttr();
}

//===----------------------------------------------------------------------===//
// tmp
//===----------------------------------------------------------------------===//

void StmtEmitter::emitTmp(const TmpStmt *stmt) {
  mayStandInGroup(stmt->range, "tmp");
  llvm::SmallVector<Value, 4> dims;
  bool isRight = e.evalShape(stmt->shape, dims);
  Val init;
  if (stmt->init) {
    init = e.eval(stmt->init);
    isRight &= init.kind == Kind::Array;
    if (init.kind == Kind::Place)
      e.error(Slug::WrongKind, init.range,
              "this names a rank; a tmp is filled on every rank")
          .note(stmt->name.range, "the tmp");
    else if (init.kind != Kind::Array)
      e.wrongKind(init, "an array");
  }
  if (!isRight) {
    e.defineValue(stmt->name, {});
    return;
  }
  ArrayView view;
  if (stmt->init) {
    const ArrayView &source = *init.array;
    view.isOpen = source.isOpen;
    if (!stmt->shape.empty() && !source.isOpen) {
      Shape shape;
      for (Value dim : dims)
        shape.dims.push_back(Ints::constantOf(dim).value_or(-1));
      if (e.checkShapes(shape, e.shapeOf(source), init.range,
                        "the tmp differs"))
        for (auto [mine, given] : llvm::zip_equal(dims, source.dims))
          e.requireEqual(given, mine, Slug::WrongShape, init.range,
                         "a dimension of {0} fills a tmp of {1}");
    }
    if (stmt->shape.empty())
      dims.assign(source.dims.begin(), source.dims.end());
  }
  view.handle = TmpOp::create(
      e.builder, e.loc(stmt->range), ArrayType::get(e.builder.getContext()),
      e.builder.getStringAttr(stmt->name.text), dims, dataType(stmt->type));
  view.isOpen |= e.isOpen();
  view.dims = dims;
  view.decl = e.keep(
      ArrayDecl{ArrayDecl::What::Tmp, stmt->name.text, stmt->name.range});
  if (stmt->init)
    InitOp::create(e.builder, e.loc(stmt->range), view.handle,
                   init.array->handle);
  Val val = Val::make(Kind::Array, stmt->name.range, {});
  val.array = e.keep(std::move(view));
  e.defineValue(stmt->name, val);
}

//===----------------------------------------------------------------------===//
// copy and reduce
//===----------------------------------------------------------------------===//

bool StmtEmitter::isTarget(const Val &place) {
  if (place.kind != Kind::Array && place.kind != Kind::Place) {
    e.wrongKind(place, "a place to write to");
    return false;
  }
  const ArrayDecl *decl = place.array->decl;
  if (decl->isWritable())
    return true;
  e.error(Slug::ReadOnly, place.range, "'" + decl->name + "' is read-only")
      .note(decl->range, "it is an input of the contract, declared here");
  return false;
}

bool StmtEmitter::checkSides(const Computed &value, const Val &target) {
  if (e.ownRank || e.isOpen())
    return true;
  bool isTargetNamed = target.kind == Kind::Place;
  if (isTargetNamed ? !value.unnamed.isValid() && value.named.isValid()
                    : !value.named.isValid())
    return true;
  SourceRange without = isTargetNamed ? value.unnamed : target.range;
  SourceRange with = isTargetNamed ? target.range : value.named;
  if (!without.isValid())
    return true; // the value reads nothing
  e.error(Slug::OneSided, without,
          "only one side names a rank, this one does not")
      .note(with, "the side that names one");
  return false;
}

void StmtEmitter::emitTransfer(const TransferStmt *stmt) {
  Val source = e.eval(stmt->value), target = e.eval(stmt->place);
  bool isRight = isTarget(target);
  const Computed *value = e.toComputed(source);
  if (!isRight || !value)
    return;
  if (target.isSpread() && source.kind == Kind::Value) {
    e.error(Slug::NobodyComputes, target.range,
            "a computed value needs one rank to compute it, this names several")
        .note(source.range, "the computed value")
        .help(source.range, "copy it to a tmp on one rank first");
    return;
  }
  if (!checkSides(*value, target) ||
      !e.checkShapes(value->shape, e.shapeOf(*target.array), stmt->range,
                     "sides differ"))
    return;
  Coords at(target.ssa.begin(), target.ssa.end());
  if (e.ownRank && target.kind == Kind::Place) {
    if (target.isSpread()) {
      e.error(Slug::NotOwnRank, target.range,
              "a process writes to its own rank only, this names several")
          .emit();
      return;
    }
    e.checkOwnRank(at, target.range);
    at.clear();
  }
  Value mapping = maps.mapping(stmt->range);
  DataTypeAttr via = viaAttr(e, stmt->via);
  Location l = e.loc(stmt->range);
  Region *members;
  if (stmt->isReduce)
    members = &ReduceOp::create(e.builder, l, value->handle,
                                target.array->handle, at, via, mapping)
                   .getMembers();
  else
    members = &CopyOp::create(e.builder, l, value->handle, target.array->handle,
                              at, via, mapping)
                   .getMembers();
  if (!target.isSpread())
    return;
  e.inRegion(*members, target.range, [&] {
    Walk walk;
    walk.isBodySmall = true;
    target.list->forEach(e, walk, [&](const Val &val) {
      if (std::optional<Coords> coords = e.toRank(val))
        MemberOp::create(e.builder, e.loc(target.range), *coords);
    });
  });
}

//===----------------------------------------------------------------------===//
// send and recv
//===----------------------------------------------------------------------===//

std::optional<Coords> StmtEmitter::evalPeer(const Expr *expr) {
  Val val = e.eval(expr);
  if (val.kind == Kind::List || val.kind == Kind::Range) {
    e.wrongKind(val, "one rank");
    return std::nullopt;
  }
  return e.toRank(val);
}

void StmtEmitter::emitSend(const SendStmt *stmt) {
  bool isRight = mustStandInOn(stmt->range, "send");
  Val source = e.eval(stmt->value);
  std::optional<Coords> peer = evalPeer(stmt->to);
  const Computed *value = e.toComputed(source);
  if (!isRight || !peer || !value)
    return;
  Value mapping = maps.mapping(stmt->range);
  SendOp::create(e.builder, e.loc(stmt->range), value->handle, *peer,
                 viaAttr(e, stmt->via), mapping);
}

void StmtEmitter::emitRecv(const RecvStmt *stmt) {
  bool isRight = mustStandInOn(stmt->range, "recv");
  Val target = e.eval(stmt->place);
  std::optional<Coords> peer = evalPeer(stmt->from);
  isRight &= isTarget(target);
  if (!isRight || !peer)
    return;
  if (target.isSpread()) {
    e.error(Slug::NotOwnRank, target.range,
            "a process writes to its own rank only, this names several")
        .emit();
    return;
  }
  if (e.ownRank && target.kind == Kind::Place)
    e.checkOwnRank(target.ssa, target.range);
  Value mapping = maps.mapping(stmt->range);
  RecvOp::create(e.builder, e.loc(stmt->range), stmt->isReduce,
                 target.array->handle, *peer, mapping);
}

} // namespace coll::sema
