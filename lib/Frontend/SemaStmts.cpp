//===- SemaStmts.cpp - Statements -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Frontend/SemaStmts.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/SemaWalk.h"
#include "lib/Support/Slugs.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

void StmtEmitter::emitAll(const BlockStmt *block) {
  for (const Stmt *stmt : block->stmts)
    emit(stmt);
}

void StmtEmitter::emit(const Stmt *stmt) {
  if (!e.spend(stmt->range))
    return;
  MapEmitter::Label label(maps, stmt->label);
  switch (stmt->kind()) {
  case Stmt::Kind::Transfer:
    return emitTransfer(cast<TransferStmt>(stmt));
  case Stmt::Kind::Tmp:
    return emitTmp(cast<TmpStmt>(stmt));
  case Stmt::Kind::Let:
    return e.defineLet(cast<LetStmt>(stmt)->let);
  case Stmt::Kind::If:
    return emitIf(cast<IfStmt>(stmt));
  case Stmt::Kind::Block: {
    Restore scope(e);
    return emitAll(cast<BlockStmt>(stmt));
  }
  case Stmt::Kind::For: {
    const auto *loop = cast<ForStmt>(stmt);
    return e.forIterators(loop->iters, {}, [&] {
      Restore scope(e);
      emitAll(loop->body);
    });
  }
  case Stmt::Kind::Group:
    return emitGroup(cast<GroupStmt>(stmt));
  case Stmt::Kind::On:
    return emitOn(cast<OnStmt>(stmt));
  case Stmt::Kind::Send:
    return emitSend(cast<SendStmt>(stmt));
  case Stmt::Kind::Recv:
    return emitRecv(cast<RecvStmt>(stmt));
  case Stmt::Kind::Call:
    return emitCall(cast<CallStmt>(stmt));
  }
}

void StmtEmitter::emitIf(const IfStmt *stmt) {
  Value condition = e.evalCondition(stmt->condition);
  auto thenBody = [&] {
    Restore scope(e);
    emitAll(stmt->thenBlock);
  };
  auto elseBody = [&] {
    Restore scope(e);
    emit(stmt->elseStmt);
  };
  if (stmt->elseStmt)
    e.emitIf(condition, stmt->range, thenBody, elseBody);
  else
    e.emitIf(condition, stmt->range, thenBody);
}

//===----------------------------------------------------------------------===//
// group and on
//===----------------------------------------------------------------------===//

bool StmtEmitter::mayStandInGroup(SourceRange range, StringRef what) {
  if (!group.isValid())
    return true;
  e.error(Slug::NotInGroup, range, "a group contains no '" + what + "'")
      .note(group, "the group");
  return false;
}

bool StmtEmitter::mustStandInOn(SourceRange range, StringRef what) {
  if (on.isValid() || isUncalled)
    return true;
  e.error(Slug::OnlyInOn, range, "'" + what + "' outside of 'on'").emit();
  return false;
}

/// The first word of a statement.
static SourceRange wordOf(const Stmt *stmt, size_t length) {
  SourceRange range = stmt->range;
  range.end = std::min<uint32_t>(range.end, range.begin + length);
  return range;
}

void StmtEmitter::emitGroup(const GroupStmt *stmt) {
  SourceRange word = wordOf(stmt, 5);
  SourceRange outer = group;
  mayStandInGroup(word, "group");
  auto op = GroupOp::create(e.builder, e.loc(stmt->range));
  group = word;
  e.inRegion(op.getBody(), stmt->range, [&] { emit(stmt->body); });
  group = outer;
}

void StmtEmitter::emitOn(const OnStmt *stmt) {
  SourceRange word = wordOf(stmt, 2);
  mayStandInGroup(word, "on");
  if (on.isValid())
    e.error(Slug::NestedOn, word, "an 'on' in another")
        .note(on, "the outer one");
  const List *ranks = e.evalDomain(stmt->ranks);
  Value capacity = stmt->buffer ? e.evalInt(stmt->buffer) : Value();
  if (std::optional<int64_t> c =
          capacity ? Ints::constantOf(capacity) : std::nullopt;
      c && *c < 0)
    e.error(Slug::BadOperand, stmt->buffer->range,
            "a buffer of " + Twine(*c) + " messages")
        .emit();
  auto op = OnOp::create(e.builder, e.loc(stmt->range), capacity);
  e.inRegion(op.getMembers(), stmt->range, [&] {
    Walk walk;
    walk.isBodySmall = true;
    if (ranks)
      ranks->forEach(e, walk, [&](const Val &val) {
        Val member = val;
        member.range = stmt->ranks->range;
        if (std::optional<Coords> coords = e.toRank(member))
          MemberOp::create(e.builder, e.loc(stmt->ranks->range), *coords);
      });
  });
  Block &body = op.getBody().emplaceBlock();
  Coords own;
  for (unsigned d = 0; d < e.rankWidth(); ++d)
    own.push_back(
        body.addArgument(e.builder.getIndexType(), e.loc(stmt->name.range)));
  SourceRange outerOn = std::exchange(on, word), outerGroup = group;
  group = {};
  std::optional<Coords> outerRank = e.ownRank;
  if (!e.isOpen())
    e.ownRank = own;
  e.inRegion(op.getBody(), stmt->range, [&] {
    Val rank;
    if (!e.isOpen())
      rank = Val::make(own.size() == 1 ? Kind::Int : Kind::Rank,
                       stmt->name.range, own);
    rank.isOfAll = true;
    e.defineValue(stmt->name, rank);
    emitAll(stmt->body);
  });
  on = outerOn;
  group = outerGroup;
  e.ownRank = outerRank;
}

//===----------------------------------------------------------------------===//
// Whole bodies
//===----------------------------------------------------------------------===//

void StmtEmitter::checkLabels(const BlockStmt *body) {
  llvm::StringMap<SourceRange> seen;
  forEachStmt(body, [&](const Stmt *stmt) {
    if (!stmt->label)
      return;
    auto [it, isNew] = seen.try_emplace(stmt->label.text, stmt->label.range);
    if (!isNew)
      e.error(Slug::Redefined, stmt->label.range,
              "the label '" + stmt->label.text + "' is already used")
          .note(it->second, "the first statement with this label");
  });
}

void StmtEmitter::checkUncalled(const ProcedureDecl *procedure) {
  Restore restore(e);
  e.enter(procedure, {});
  isUncalled = true;
  checkLabels(procedure->body);
  ArrayView view;
  view.isOpen = true;
  view.handle = TmpOp::create(e.builder, e.loc(procedure->range),
                              ArrayType::get(e.builder.getContext()),
                              e.builder.getStringAttr("unknown"), ValueRange(),
                              DataType::T);
  llvm::SmallVector<Val, 4> args;
  for (const ProcedureParam &param : procedure->params) {
    Val &arg = args.emplace_back();
    arg.range = param.range;
    if (param.kind == ProcedureParam::Kind::Ranks) {
      arg.kind = Kind::List;
      arg.list = e.makeList<OpaqueList>(param.range, e.someInt);
    } else if (param.kind == ProcedureParam::Kind::Chunks) {
      view.decl = e.keep(
          ArrayDecl{ArrayDecl::What::Tmp, param.name.text, param.name.range});
      arg.kind = Kind::Array;
      arg.array = e.keep(view);
    }
  }
  bindParams(procedure, args);
  for (const Expr *condition : procedure->where)
    e.evalCondition(condition);
  emitAll(procedure->body);
  isUncalled = false;
}

} // namespace coll::sema
