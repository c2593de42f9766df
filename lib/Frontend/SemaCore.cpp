//===- SemaCore.cpp - Errors, places and regions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some things must be evaluated before it is known what is to be written: the
// sides of `a ? b : c`, the right side of `and`. They are evaluated into a
// block that belongs to nobody. If nothing in it can fail it joins the code
// that is being written, else it becomes the body of an scf.if; and what was
// only a question is deleted.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaCore.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/Sema.h"
#include "lib/Support/Slugs.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

StringRef describe(Kind kind) {
  switch (kind) {
  case Kind::Error:
    return "an error";
  case Kind::Int:
    return "an integer";
  case Kind::Condition:
    return "a condition";
  case Kind::Rank:
    return "a rank of a grid";
  case Kind::Range:
    return "a range";
  case Kind::List:
    return "a list";
  case Kind::Array:
    return "an array";
  case Kind::Place:
    return "a place";
  case Kind::Value:
    return "a computed value";
  }
  llvm_unreachable("all kinds are listed");
}

Core::Core(const Globals &globals, MLIRContext &context,
           DiagnosticEngine &diags)
    : globals(globals), diags(diags), builder(&context), ints(builder),
      sink(diags.sources()) {}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Report &Report::note(SourceRange range, const Twine &message) {
  inFlight.note(range, message);
  return *this;
}
Report &Report::help(SourceRange range, const Twine &message) {
  inFlight.help(range, message);
  return *this;
}
Report &Report::fix(SourceRange range, StringRef replacement,
                    const Twine &message) {
  inFlight.fix(range, replacement, message);
  return *this;
}

Report::~Report() {
  for (; frame && frame->caller; frame = frame->caller) {
    StringRef name = frame->decl->name.text;
    if (isa<ContractDecl>(frame->decl))
      inFlight.note(frame->callSite,
                    "the contract '" + name + "' is used here");
    else
      inFlight.note(frame->callSite, "in this use of '" + name + "'");
  }
}

/// What is reported about schedules that were not asked for.
static bool isAboutNames(Slug slug) {
  return slug == Slug::UnknownName || slug == Slug::WrongArity ||
         slug == Slug::Recursion || slug == Slug::BuiltInName;
}

Report Core::error(Slug slug, SourceRange range, const Twine &message) {
  bool isWanted = (!isNamesOnly || isAboutNames(slug)) &&
                  !(hasErrorLimit && isLimitReached) &&
                  said.emplace(slug, range.file, range.begin).second;
  isLimitReached |= isWanted;
  return Report((isWanted ? diags : sink).error(slug, range, message),
                env.frame);
}

void Core::wrongKind(const Val &val, const Twine &needed) {
  if (val.isError())
    return;
  Report report = error(Slug::WrongKind, val.range,
                        "this is " + describe(val.kind) + ", where " + needed +
                            " is needed");
  if (val.kind == Kind::Place && val.isSpread())
    report.note(val.range, "it stands for one location on each rank of a list");
}

bool Core::spend(SourceRange range) {
  if (isExhausted)
    return false;
  if (++evaluations <= maxEvaluations)
    return true;
  isExhausted = true;
  error(Slug::ExpansionTooLarge, range,
        "the program is too large, its calls expanded: more than " +
            Twine(maxEvaluations) + " statements and expressions")
      .emit();
  return false;
}

//===----------------------------------------------------------------------===//
// Places in the source
//===----------------------------------------------------------------------===//

StringRef Core::text(SourceRange range) const {
  return diags.sources().text(range);
}

Location Core::loc(SourceRange range) {
  Location place = UnknownLoc::get(builder.getContext());
  if (range.isValid()) {
    const SourceManager &sources = diags.sources();
    LineColumn start = sources.start(range), end = sources.end(range);
    place = FileLineColRange::get(
        builder.getStringAttr(sources.file(range.file).name()), start.line,
        start.column, end.line, end.column);
  }
  if (env.frame && env.frame->location)
    return CallSiteLoc::get(place, *env.frame->location);
  return place;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void Core::inRegion(Region &region, SourceRange range,
                    llvm::function_ref<void()> body) {
  if (region.empty())
    region.emplaceBlock();
  Block &block = region.front();
  if (regionDepth >= maxRegionDepth) {
    error(Slug::NestingTooDeep, range,
          "loops, conditions and calls are nested more than " +
              Twine(maxRegionDepth) + " deep")
        .emit();
    return;
  }
  ++regionDepth;
  OpBuilder::InsertionGuard guard(builder);
  if (block.mightHaveTerminator() && !block.empty() &&
      block.back().hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPoint(&block.back());
  else
    builder.setInsertionPointToEnd(&block);
  {
    Ints::Scope scope(ints);
    Restore restore(*this);
    body();
  }
  --regionDepth;
}

std::unique_ptr<Block> Core::detached(llvm::function_ref<void()> body) {
  auto block = std::make_unique<Block>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(block.get());
  Ints::Scope scope(ints);
  Restore restore(*this);
  body();
  return block;
}

void Core::probe(llvm::function_ref<void()> body) { detached(body); }

void Core::emitIf(Value condition, SourceRange range,
                  llvm::function_ref<void()> thenBody,
                  llvm::function_ref<void()> elseBody) {
  if (!condition) { // an error: look for more of them
    probe(thenBody);
    if (elseBody)
      probe(elseBody);
    return;
  }
  auto op =
      scf::IfOp::create(builder, loc(range), condition, elseBody != nullptr);
  auto fill = [&](Region &region, llvm::function_ref<void()> body) {
    inRegion(region, range, body);
    scf::IfOp::ensureTerminator(region, builder, op.getLoc());
  };
  fill(op.getThenRegion(), thenBody);
  if (elseBody)
    fill(op.getElseRegion(), elseBody);
}

void Core::emitFor(Value lo, Value hi, Value step, SourceRange range,
                   llvm::function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(builder, loc(range), lo, hi,
                               step ? step : ints.constant(1));
  inRegion(op.getRegion(), range, [&] { body(op.getInductionVar()); });
}

Core::Side Core::side(llvm::function_ref<Val()> body) {
  Side result;
  result.code = detached([&] { result.val = body(); });
  return result;
}

Val Core::choose(Value condition, SourceRange range, Side a, Side b) {
  Val &va = a.val, &vb = b.val;
  if (!condition || va.isError() || vb.isError())
    return {};
  if (va.kind == Kind::Range && va.ssa.size() != vb.ssa.size())
    (va.ssa.size() < vb.ssa.size() ? va : vb).ssa.push_back(ints.constant(1));
  assert(va.kind == vb.kind && va.ssa.size() == vb.ssa.size() &&
         "the caller compares kinds");
  Val result = Val::make(va.kind, range, {});
  result.isOfAll = va.isOfAll && vb.isOfAll;
  Location l = loc(range);
  if (Ints::isHarmless(*a.code) && Ints::isHarmless(*b.code)) {
    for (Block *block : {a.code.get(), b.code.get()})
      builder.getInsertionBlock()->getOperations().splice(
          builder.getInsertionPoint(), block->getOperations());
    for (auto [x, y] : llvm::zip_equal(va.ssa, vb.ssa))
      result.ssa.push_back(ints.select(l, condition, x, y));
    return result;
  }
  SmallVector<Type> types;
  for (Value v : va.ssa)
    types.push_back(v.getType());
  auto op =
      scf::IfOp::create(builder, l, types, condition, /*addThenBlock=*/true,
                        /*addElseBlock=*/true);
  auto fill = [&](Block &into, Block &from, ValueRange yields) {
    into.getOperations().splice(into.end(), from.getOperations());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&into);
    scf::YieldOp::create(builder, l, yields);
  };
  fill(*op.thenBlock(), *a.code, va.ssa);
  fill(*op.elseBlock(), *b.code, vb.ssa);
  result.ssa.assign(op.result_begin(), op.result_end());
  return result;
}

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

void Core::emitAssert(Value condition, Slug slug, SourceRange range,
                      const Twine &message, ValueRange args) {
  AssertOp::create(builder, loc(range), condition,
                   builder.getStringAttr(slugText(slug)),
                   builder.getStringAttr(message), args);
}

void Core::requireEqual(Value a, Value b, Slug slug, SourceRange range,
                        StringRef message) {
  if (Ints::same(a, b))
    return;
  std::optional<int64_t> ca = Ints::constantOf(a), cb = Ints::constantOf(b);
  if (ca && cb) {
    std::string said;
    for (size_t i = 0; i < message.size(); ++i) {
      bool isFirst = message.substr(i).starts_with("{0}");
      if (isFirst || message.substr(i).starts_with("{1}")) {
        said += std::to_string(isFirst ? *ca : *cb);
        i += 2;
      } else {
        said += message[i];
      }
    }
    error(slug, range, said).emit();
    return;
  }
  Value equal = ints.make(IntOp::Eq, loc(range), a, b);
  emitAssert(equal, slug, range, message, {a, b});
}

} // namespace coll::sema
