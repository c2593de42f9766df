//===- SemaCalls.cpp - Built-in and let functions -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Frontend/SemaEmitter.h"
#include "lib/Frontend/SemaWalk.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

Val Emitter::evalCall(const CallExpr *expr) {
  StringRef name = expr->callee.text;
  if (const Builtin *builtin = findBuiltin(name))
    return evalBuiltin(expr, *builtin);
  if (const Binding *binding = find(name)) {
    if (binding->what == Binding::What::LetFunction)
      return callLet(binding->let, binding->closure, expr);
    Val val = binding->value;
    val.range = expr->callee.range;
    wrongKind(val, "a function");
    return {};
  }
  const Decl *decl = findGlobal(name);
  if (const auto *let = dyn_cast_or_null<LetDecl>(decl); let && let->isFunction)
    return callLet(let, nullptr, expr);
  if (const auto *fn = dyn_cast_or_null<FunctionDecl>(decl))
    return evalApply(fn, expr);
  if (decl) {
    bool isProcedure = isa<ProcedureDecl>(decl);
    error(Slug::WrongKind, expr->callee.range,
          "'" + name + "' is " + describe(decl->kind()) +
              (isProcedure ? ", which is called as a statement"
                           : ", not a function"))
        .note(decl->name.range, "'" + name + "' is defined here");
  } else {
    unknownName(name, expr->callee.range, "function", [&](Suggestion &s) {
      for (const Binding *b = env.names; b; b = b->next)
        if (b->what == Binding::What::LetFunction)
          s.offer(b->name);
      globals.forEach(currentFile(), [&](const Decl *known) {
        if (isa<LetDecl, FunctionDecl>(known))
          s.offer(known->name.text);
      });
      for (const Builtin &builtin : allBuiltins())
        s.offer(builtin.name);
    });
  }
  for (const CallArg &arg : expr->args)
    if (!arg.iters)
      eval(arg.value);
  return {};
}

/// An error if an argument has a `for`, which only reductions may have.
static bool hasNoFor(Emitter &e, const CallExpr *expr) {
  for (const CallArg &arg : expr->args)
    if (arg.iters) {
      e.error(Slug::WrongKind, arg.iters.range,
              "a 'for' among the arguments of '" + expr->callee.text +
                  "', which reduces nothing")
          .emit();
      return false;
    }
  return true;
}

Val Emitter::callLet(const LetDecl *let, const Binding *closure,
                     const CallExpr *expr) {
  if (!hasNoFor(*this, expr))
    return {};
  llvm::SmallVector<Val, 4> args;
  for (const CallArg &arg : expr->args) {
    Val val = eval(arg.value);
    if (val.kind == Kind::Condition || val.kind == Kind::Place ||
        val.kind == Kind::Value || val.isWhole()) {
      wrongKind(val, "an integer, a rank, a range, a list or an array");
      val = {};
    }
    args.push_back(std::move(val));
  }
  if (!checkArity(let->name.text, args.size(), let->params.size(),
                  let->params.size(), expr->range, let) ||
      !mayCall(let, expr->range))
    return {};
  Restore restore(*this);
  enter(let, expr->range);
  env.names = closure;
  for (auto [param, arg] : llvm::zip_equal(let->params, args))
    defineValue(param, arg);
  Val val = eval(let->value);
  if (val.kind == Kind::Condition || val.kind == Kind::Place ||
      val.kind == Kind::Value || val.isWhole()) {
    wrongKind(val, "an integer, a rank, a range, a list or an array");
    return {};
  }
  val.range = expr->range;
  return val;
}

//===----------------------------------------------------------------------===//
// Built-in functions
//===----------------------------------------------------------------------===//

Val Emitter::evalBuiltin(const CallExpr *expr, const Builtin &builtin) {
  StringRef name = builtin.name;
  if (name == "reduce" || name == "reduce_any")
    return evalFold(expr);
  if (!hasNoFor(*this, expr) ||
      !checkArity(name, expr->args.size(), builtin.minArgs, builtin.maxArgs,
                  expr->range)) {
    for (const CallArg &arg : expr->args)
      if (!arg.iters)
        eval(arg.value);
    return {};
  }
  Location l = loc(expr->range);
  if (name == "size" || name == "reversed") {
    const List *list = toList(eval(expr->args[0].value));
    if (!list)
      return {};
    if (name == "size")
      return Val::make(Kind::Int, expr->range, sizeOf(list));
    Val val = Val::make(Kind::List, expr->range, {});
    val.list = makeList<ReversedList>(expr->range, list);
    return val;
  }
  if (name == "rank") {
    std::optional<Coords> coords = evalRank(expr->args[0].value);
    if (!coords)
      return {};
    Value flat = coords->front();
    for (unsigned d = 1; d < coords->size(); ++d)
      flat = ints.add(l, ints.mul(l, flat, rankDims[d]), (*coords)[d]);
    return Val::make(Kind::Int, expr->range, flat);
  }
  if (name == "coords") {
    Value flat = evalInt(expr->args[0].value);
    if (!flat || isOpen())
      return {};
    Val all = AllList(expr->range, rankDims).element(*this, flat);
    all.range = expr->range;
    return all;
  }
  return evalIntBuiltin(expr, name);
}

Val Emitter::evalIntBuiltin(const CallExpr *expr, StringRef name) {
  Location l = loc(expr->range);
  llvm::SmallVector<Value, 4> args;
  for (const CallArg &arg : expr->args)
    args.push_back(evalInt(arg.value));
  if (llvm::is_contained(args, Value()))
    return {};
  Value result;
  if (name == "min" || name == "max") {
    result = args[0];
    for (Value arg : llvm::drop_begin(args))
      result =
          ints.make(name == "min" ? IntOp::Min : IntOp::Max, l, result, arg);
  } else if (name == "ceil_div") {
    result = ints.ceilDiv(l, args[0], args[1]);
  } else {
    IntOp op = llvm::StringSwitch<IntOp>(name)
                   .Case("abs", IntOp::Abs)
                   .Case("log2", IntOp::Log2)
                   .Case("ceil_log2", IntOp::CeilLog2)
                   .Case("lsb", IntOp::Lsb)
                   .Case("popcount", IntOp::Popcount)
                   .Case("pow2", IntOp::Pow2);
    result = ints.make(op, l, args[0]);
    bool isCondition = op == IntOp::Pow2;
    return Val::make(isCondition ? Kind::Condition : Kind::Int, expr->range,
                     result);
  }
  return Val::make(Kind::Int, expr->range, result);
}

//===----------------------------------------------------------------------===//
// Let
//===----------------------------------------------------------------------===//

void Emitter::defineLet(const LetDecl *let) {
  if (!let->name)
    return;
  if (!find(let->name.text) && mentionsAny(let->value, let->name.text)) {
    error(Slug::Recursion, let->name.range,
          "'" + let->name.text + "' needs its own value")
        .emit();
    defineValue(let->name, {});
    return;
  }
  if (let->isFunction) {
    Binding *binding = define(let->name);
    binding->what = Binding::What::LetFunction;
    binding->let = let;
    binding->closure = binding->next;
    probe([&] { checkLetFunction(let); });
    return;
  }
  Val value = eval(let->value);
  switch (value.kind) {
  case Kind::List:
    value.list = store(value.list);
    break;
  case Kind::Condition:
  case Kind::Place:
  case Kind::Value:
    wrongKind(value, "an integer, a rank, a range, a list or an array");
    value = {};
    break;
  default:
    break;
  }
  if (value.isWhole()) {
    wrongKind(value, "a range with two ends");
    value = {};
  }
  defineValue(let->name, value);
}

/// Looks for what is wrong whatever the arguments are.
void Emitter::checkLetFunction(const LetDecl *let) {
  Restore restore(*this);
  for (const Ident &param : let->params)
    defineValue(param, {});
  eval(let->value);
}

void Emitter::checkGlobalLet(const LetDecl *let) {
  Restore restore(*this);
  if (!let->isFunction) {
    evalGlobal(let, let->name.range);
    return;
  }
  enter(let, {});
  checkLetFunction(let);
}

} // namespace coll::sema
