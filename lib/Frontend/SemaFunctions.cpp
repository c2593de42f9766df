//===- SemaFunctions.cpp - fn ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every number is f64 here, which stands for the accumulation type of the
// launch. Its kind says of what it is one: sums, means and maxima take a number
// per element of a row and give one per row. Calls of other fn are inlined.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaFunctions.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/SemaEmitter.h"
#include "lib/Support/Slugs.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

static BufferKind bufferKind(ArgKind kind) {
  switch (kind) {
  case ArgKind::Elem:
    return BufferKind::Elem;
  case ArgKind::Row:
    return BufferKind::Row;
  case ArgKind::Scalar:
    return BufferKind::Scalar;
  }
  llvm_unreachable("all kinds are listed");
}

/// What an operation of both is one of.
static ArgKind join(ArgKind a, ArgKind b) {
  if (a == ArgKind::Row || b == ArgKind::Row)
    return ArgKind::Row;
  return a == ArgKind::Elem || b == ArgKind::Elem ? ArgKind::Elem
                                                  : ArgKind::Scalar;
}

StringRef FunctionEmitter::use(const FunctionDecl *fn) {
  auto [it, isNew] = written.try_emplace(fn, false);
  bool isRight = it->second;
  if (isNew)
    isRight = written[fn] = write(fn);
  return isRight ? fn->name.text : StringRef();
}

bool FunctionEmitter::defineParams(const FunctionDecl *fn) {
  bool isRight = true;
  auto redefined = [&](const FunctionParam &param, SourceRange first,
                       const Twine &what) {
    e.error(Slug::Redefined, param.name.range,
            "'" + param.name.text + "' is already defined")
        .note(first, what);
    isRight = false;
  };
  for (auto [i, param] : llvm::enumerate(fn->params)) {
    StringRef name = param.name.text;
    if (findFnBuiltin(name) || findBuiltin(name)) {
      e.error(Slug::BuiltInName, param.name.range,
              "'" + name +
                  "' is a built-in function and cannot be defined again")
          .emit();
      isRight = false;
    }
    for (const FunctionParam &other : fn->params.take_front(i))
      if (other.name.text == name)
        redefined(param, other.name.range, "the first definition");
    if (const Decl *decl = e.findGlobal(name))
      redefined(param, decl->name.range,
                "the first definition, " + describe(decl->kind()));
  }
  return isRight;
}

bool FunctionEmitter::write(const FunctionDecl *fn) {
  OpBuilder::InsertionGuard guard(e.builder);
  Restore restore(e);
  e.env = {};
  e.enter(fn, {});
  bool isRight = defineParams(fn);
  e.builder.setInsertionPointToEnd(module.getBody());
  llvm::SmallVector<Attribute, 4> kinds;
  for (const FunctionParam &param : fn->params)
    kinds.push_back(
        BufferKindAttr::get(e.builder.getContext(), bufferKind(param.type)));
  auto op = FunctionOp::create(e.builder, e.loc(fn->range), fn->name.text,
                               e.builder.getArrayAttr(kinds));
  Block &block = op.getBody().emplaceBlock();
  llvm::SmallVector<Param, 4> own;
  for (const FunctionParam &param : fn->params) {
    Value arg =
        block.addArgument(e.builder.getF64Type(), e.loc(param.name.range));
    own.push_back({param.name.text, {arg, param.type}});
  }
  e.builder.setInsertionPointToEnd(&block);
  llvm::ArrayRef<Param> outer = std::exchange(params, own);
  Number result = eval(fn->body);
  params = outer;
  if (!isRight || !result.value) {
    op.erase();
    return false;
  }
  YieldOp::create(e.builder, e.loc(fn->body->range), result.value);
  return true;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

FunctionEmitter::Number FunctionEmitter::constant(double value,
                                                  SourceRange range) {
  auto attr = e.builder.getF64FloatAttr(value);
  return {arith::ConstantOp::create(e.builder, e.loc(range), attr),
          ArgKind::Scalar};
}

FunctionEmitter::Number FunctionEmitter::eval(const Expr *expr) {
  if (!e.spend(expr->range))
    return {};
  switch (expr->kind()) {
  case Expr::Kind::Error:
    return {};
  case Expr::Kind::Int:
    return constant(cast<IntExpr>(expr)->value, expr->range);
  case Expr::Kind::Float:
    return constant(cast<FloatExpr>(expr)->value, expr->range);
  case Expr::Kind::Name:
    return evalName(cast<NameExpr>(expr));
  case Expr::Kind::Call:
    return evalCall(cast<CallExpr>(expr));
  case Expr::Kind::Binary:
    return evalBinary(cast<BinaryExpr>(expr));
  case Expr::Kind::Unary: {
    const auto *unary = cast<UnaryExpr>(expr);
    if (unary->op != UnaryOp::Neg)
      break;
    Number x = eval(unary->operand);
    if (!x.value)
      return {};
    return {arith::NegFOp::create(e.builder, e.loc(expr->range), x.value),
            x.kind};
  }
  default:
    break;
  }
  e.error(Slug::WrongKind, expr->range, "an fn computes numbers, this is none")
      .help(expr->range, "fn has + - * /, calls, parameters and numbers");
  return {};
}

FunctionEmitter::Number FunctionEmitter::evalName(const NameExpr *expr) {
  for (const Param &param : params)
    if (param.name == expr->name)
      return param.number;
  e.unknownName(expr->name, expr->range, "parameter", [&](Suggestion &s) {
    for (const Param &param : params)
      s.offer(param.name);
  });
  return {};
}

FunctionEmitter::Number FunctionEmitter::evalBinary(const BinaryExpr *expr) {
  Number a = eval(expr->lhs), b = eval(expr->rhs);
  Location l = e.loc(expr->range);
  if (!a.value || !b.value)
    return {};
  ArgKind kind = join(a.kind, b.kind);
  switch (expr->op) {
  case BinaryOp::Add:
    return {arith::AddFOp::create(e.builder, l, a.value, b.value), kind};
  case BinaryOp::Sub:
    return {arith::SubFOp::create(e.builder, l, a.value, b.value), kind};
  case BinaryOp::Mul:
    return {arith::MulFOp::create(e.builder, l, a.value, b.value), kind};
  case BinaryOp::Div:
    return {arith::DivFOp::create(e.builder, l, a.value, b.value), kind};
  default:
    e.error(Slug::WrongKind, expr->opRange,
            "'" + spelling(expr->op) + "' is no operation on numbers of an fn")
        .emit();
    return {};
  }
}

FunctionEmitter::Number FunctionEmitter::evalCall(const CallExpr *expr) {
  StringRef name = expr->callee.text;
  const Builtin *builtin = findFnBuiltin(name);
  const auto *fn = dyn_cast_or_null<FunctionDecl>(e.findGlobal(name));
  llvm::SmallVector<Number, 4> args;
  bool isWrong = false;
  for (const CallArg &arg : expr->args) {
    if (arg.iters) {
      e.error(Slug::WrongKind, arg.iters.range, "a 'for' in an fn").emit();
      return {};
    }
    args.push_back(eval(arg.value));
    isWrong |= !args.back().value;
  }
  if (builtin)
    return e.checkArity(name, args.size(), builtin->minArgs, builtin->maxArgs,
                        expr->range) &&
                   !isWrong
               ? evalBuiltin(expr, args)
               : Number();
  if (fn)
    return e.checkArity(name, args.size(), fn->params.size(), fn->params.size(),
                        expr->range, fn) &&
                   !isWrong
               ? inlineCall(fn, expr, args)
               : Number();
  e.unknownName(name, expr->callee.range, "function", [&](Suggestion &s) {
    e.globals.forEach(e.currentFile(), [&](const Decl *known) {
      if (isa<FunctionDecl>(known))
        s.offer(known->name.text);
    });
    for (const Builtin &known : allFnBuiltins())
      s.offer(known.name);
  });
  return {};
}

FunctionEmitter::Number
FunctionEmitter::evalBuiltin(const CallExpr *expr,
                             llvm::ArrayRef<Number> args) {
  StringRef name = expr->callee.text;
  OpBuilder &b = e.builder;
  Location l = e.loc(expr->range);
  Value x = args[0].value;
  ArgKind kind = args[0].kind;
  if (args.size() == 2) {
    kind = join(kind, args[1].kind);
    if (name == "max")
      return {arith::MaximumFOp::create(b, l, x, args[1].value), kind};
    return {arith::MinimumFOp::create(b, l, x, args[1].value), kind};
  }
  if (name == "sum" || name == "mean" || name == "max") {
    if (kind != ArgKind::Row) {
      e.error(Slug::WrongKind, expr->args[0].value->range,
              "this is no row, which '" + name + "' needs")
          .emit();
      return {};
    }
    RowReduction reduction = name == "sum"    ? RowReduction::Sum
                             : name == "mean" ? RowReduction::Mean
                                              : RowReduction::Max;
    return {RowOp::create(b, l, b.getF64Type(), reduction, x), ArgKind::Scalar};
  }
  if (name == "exp")
    return {math::ExpOp::create(b, l, x), kind};
  if (name == "sqrt")
    return {math::SqrtOp::create(b, l, x), kind};
  if (name == "rsqrt")
    return {math::RsqrtOp::create(b, l, x), kind};
  if (name == "tanh")
    return {math::TanhOp::create(b, l, x), kind};
  return {math::AbsFOp::create(b, l, x), kind};
}

FunctionEmitter::Number
FunctionEmitter::inlineCall(const FunctionDecl *fn, const CallExpr *expr,
                            llvm::ArrayRef<Number> args) {
  for (auto [param, arg, given] :
       llvm::zip_equal(fn->params, args, expr->args)) {
    bool isRight = param.type == ArgKind::Row ||
                   (param.type == ArgKind::Elem ? arg.kind != ArgKind::Row
                                                : arg.kind == ArgKind::Scalar);
    if (isRight)
      continue;
    StringRef is = arg.kind == ArgKind::Row ? "a row" : "an element";
    StringRef needed =
        param.type == ArgKind::Scalar ? "a scalar" : "an element";
    e.error(Slug::WrongKind, given.value->range,
            "this is " + is + ", where " + needed + " is needed")
        .note(param.name.range, "the parameter '" + param.name.text + "'");
    return {};
  }
  if (!e.mayCall(fn, expr->range))
    return {};
  Restore restore(e);
  e.enter(fn, expr->range);
  llvm::SmallVector<Param, 4> own;
  for (auto [param, arg] : llvm::zip_equal(fn->params, args))
    own.push_back({param.name.text, {arg.value, param.type}});
  llvm::ArrayRef<Param> outer = std::exchange(params, own);
  Number result = eval(fn->body);
  params = outer;
  return result;
}

} // namespace coll::sema
