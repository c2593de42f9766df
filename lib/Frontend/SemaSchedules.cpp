//===- SemaSchedules.cpp - Schedules --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the ops is the order in which things are known: parameters, the
// conditions on them, how parts are cut, the buffers and the promise,
// statements, and what `map` says of all of it.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaSchedules.h"

#include "lib/Frontend/SemaContracts.h"
#include "lib/Frontend/SemaFunctions.h"
#include "lib/Frontend/SemaStmts.h"
#include "lib/Frontend/SemaWalk.h"
#include "lib/Support/Slugs.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

using ParamKind = ScheduleParam::Kind;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

bool ScheduleEmitter::bindRanks(const ScheduleDecl *decl) {
  e.rankNames.clear();
  const ScheduleParam *ranks = nullptr;
  for (const ScheduleParam &param : decl->params) {
    if (param.kind != ParamKind::Ranks)
      continue;
    if (ranks) {
      e.error(Slug::BadRanks, param.range, "a second 'ranks'")
          .note(ranks->range, "the first one");
      return false;
    }
    ranks = &param;
  }
  if (!ranks) {
    e.error(Slug::BadRanks, decl->name.range,
            "schedule '" + decl->name.text + "' has no parameter 'ranks'")
        .help(decl->name.range, "its ranks are 0 .. N with 'ranks N'");
    return false;
  }
  // As an array may have, of which a dimension may be all of them.
  constexpr size_t maxRankDims = 12;
  if (ranks->dims.size() > maxRankDims) {
    e.error(Slug::TooManyDimensions, ranks->range,
            "ranks of " + Twine(ranks->dims.size()) +
                " dimensions, where at most " + Twine(maxRankDims) +
                " are possible")
        .emit();
    return false;
  }
  for (const Ident &dim : ranks->dims)
    e.rankNames.push_back(dim.text);
  return !ranks->dims.empty();
}

ScheduleOp ScheduleEmitter::create(const ScheduleDecl *decl, StringRef name) {
  llvm::SmallVector<StringRef> names(e.rankNames.begin(), e.rankNames.end());
  StringAttr doc;
  if (!decl->doc.empty())
    doc = e.builder.getStringAttr(decl->doc);
  auto op = ScheduleOp::create(
      e.builder, e.loc(decl->range), e.builder.getStringAttr(name),
      e.builder.getStrArrayAttr(names),
      e.builder.getStringAttr(decl->contract.text), doc);
  Block &body = op.getBody().emplaceBlock();
  e.rankDims.clear();
  for (const ScheduleParam &param : decl->params)
    if (param.kind == ParamKind::Ranks)
      for (const Ident &dim : param.dims)
        e.rankDims.push_back(
            body.addArgument(e.builder.getIndexType(), e.loc(dim.range)));
  return op;
}

void ScheduleEmitter::bindLaunch(const ScheduleParam &param) {
  const List *domain = e.evalDomain(param.value);
  unsigned width = domain ? domain->width : 0;
  if (domain && width == 0)
    e.error(Slug::BadOperand, param.value->range,
            "'" + param.name.text + "' has no values")
        .emit();
  if (width == 0)
    return e.defineValue(param.name, {});
  llvm::SmallVector<Type> types(width, e.builder.getIndexType());
  bool isInteger = width == 1 && !domain->isOfAll;
  auto op = LaunchOp::create(e.builder, e.loc(param.range), types,
                             e.builder.getStringAttr(param.name.text),
                             isInteger ? e.builder.getUnitAttr() : UnitAttr());
  e.inRegion(op.getDomain(), param.range, [&] {
    Walk walk;
    walk.isBodySmall = true;
    domain->forEach(e, walk, [&](const Val &val) {
      MemberOp::create(e.builder, e.loc(param.value->range), val.ssa);
    });
  });
  llvm::SmallVector<Value> coords(op.getCoords());
  Val val =
      Val::make(width == 1 ? Kind::Int : Kind::Rank, param.name.range, coords);
  val.isOfAll = domain->isOfAll;
  e.defineValue(param.name, val);
}

void ScheduleEmitter::bindParam(const ScheduleParam &param) {
  if (param.kind == ParamKind::Ranks)
    return;
  if (param.kind == ParamKind::Launch)
    return bindLaunch(param);
  Value preset = param.value ? e.evalInt(param.value) : Value();
  if (param.value && !preset)
    return e.defineValue(param.name, {});
  Value value =
      ParamOp::create(e.builder, e.loc(param.range), e.builder.getIndexType(),
                      e.builder.getStringAttr(param.name.text), preset);
  e.defineValue(param.name, Val::make(Kind::Int, param.name.range, value));
}

void ScheduleEmitter::emitWhere(const ScheduleDecl *decl) {
  for (const Expr *condition : decl->where)
    if (Value holds = e.evalCondition(condition))
      WhereOp::create(e.builder, e.loc(condition->range), holds,
                      e.text(condition->range));
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

void ScheduleEmitter::useContract(const ScheduleDecl *decl) {
  StringRef name = decl->contract.text;
  const ContractDecl *contract = e.globals.findContract(name, e.currentFile());
  llvm::SmallVector<Val, 4> args;
  for (const Expr *arg : decl->contractArgs) {
    Val val = e.eval(arg);
    if (val.kind != Kind::Int && val.kind != Kind::Rank) {
      e.wrongKind(val, "an integer or a rank");
      val = {};
    }
    args.push_back(std::move(val));
  }
  if (!contract && decl->contract)
    e.unknownName(name, decl->contract.range, "contract", [&](Suggestion &s) {
      e.globals.forEachContract(e.currentFile(), [&](const Decl *known) {
        s.offer(known->name.text);
      });
    });
  SourceRange place = decl->contract.range;
  if (!decl->contractArgs.empty())
    place = place.to(decl->contractArgs.back()->range);
  if (!contract || !e.checkArity(name, args.size(), contract->params.size(),
                                 contract->params.size(), place, contract)) {
    // Its arrays are unknown, which is said.
    for (StringRef array : {"in", "out"})
      e.defineValue({array, decl->contract.range}, {});
    return;
  }
  ContractEmitter emitter(e);
  for (const ContractArray &array :
       emitter.use(contract, args, decl->contract.range, chunks)) {
    Val val = Val::make(Kind::Array, array.name.range, {});
    val.array = array.view;
    if (const Binding *taken = e.find(array.name.text))
      e.error(Slug::Redefined, taken->range,
              "'" + array.name.text + "' is already defined")
          .note(array.name.range, "the first definition, by the contract");
    else
      e.defineValue(array.name, val);
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void ScheduleEmitter::emitBody(const ScheduleDecl *decl) {
  MapEmitter maps(e);
  StmtEmitter stmts(e, maps);
  maps.start(decl->map);
  stmts.checkLabels(decl->body);
  // One scope for the parameters, the statements and the top of `map`.
  stmts.emitAll(decl->body);
  maps.finish();
}

ScheduleOp ScheduleEmitter::emit(const ScheduleDecl *decl) {
  OpBuilder::InsertionGuard guard(e.builder);
  Restore restore(e);
  e.env = {};
  e.enter(decl, {});
  if (!bindRanks(decl))
    return {};
  ScheduleOp op = create(decl, decl->name.text);
  Block *body = &op.getBody().front();
  e.builder.setInsertionPointToEnd(body);
  e.ints.start(body, e.loc(decl->name.range));
  for (const ScheduleParam &param : decl->params)
    if (param.kind == ParamKind::Ranks)
      for (auto [dim, value] : llvm::zip_equal(param.dims, e.rankDims))
        e.defineValue(dim, Val::make(Kind::Int, dim.range, value));
  for (const ScheduleParam &param : decl->params)
    bindParam(param);
  emitWhere(decl);
  chunks.clear();
  e.chunksRange = decl->chunksRange;
  e.isByRow = decl->byRow;
  if (!e.evalShape(decl->chunks, chunks))
    llvm::erase(chunks, Value());
  if (decl->chunksRange.isValid())
    ChunksOp::create(e.builder, e.loc(decl->chunksRange), chunks, decl->byRow);
  useContract(decl);
  emitBody(decl);
  // Lists that turned out to be loops only.
  op.walk([](ListOp list) {
    if (list->use_empty())
      list->erase();
  });
  return op;
}

void ScheduleEmitter::checkUnused(const Decl *decl) {
  OpBuilder::InsertionGuard guard(e.builder);
  Restore restore(e);
  e.env = {};
  e.rankNames.clear();
  e.rankDims.clear();
  e.chunksRange = {};
  e.isByRow = false;
  auto scratch = ScheduleOp::create(e.builder, e.loc(decl->range),
                                    e.builder.getStringAttr(" unused"),
                                    e.builder.getStrArrayAttr({"N"}),
                                    e.builder.getStringAttr(""), StringAttr());
  Block &body = scratch.getBody().emplaceBlock();
  e.someInt = body.addArgument(e.builder.getIndexType(), e.loc(decl->range));
  e.builder.setInsertionPointToEnd(&body);
  e.ints.start(&body, e.loc(decl->range));
  if (const auto *procedure = dyn_cast<ProcedureDecl>(decl)) {
    MapEmitter maps(e);
    StmtEmitter(e, maps).checkUncalled(procedure);
  } else if (const auto *contract = dyn_cast<ContractDecl>(decl)) {
    ContractEmitter(e).checkUnused(contract);
  } else if (const auto *fn = dyn_cast<FunctionDecl>(decl)) {
    e.functions->use(fn);
  } else if (const auto *let = dyn_cast<LetDecl>(decl)) {
    e.checkGlobalLet(let);
  }
  scratch.erase();
  e.someInt = {};
}

} // namespace coll::sema
