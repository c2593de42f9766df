//===- SemaExprs.cpp - Integers, conditions, ranks and ranges -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The grammar has one kind of expression; here it is found out what each one
// is. `and`, `or` and `? :` evaluate a side only where it counts, since each
// may be an error elsewhere (`d != 0 and n / d > 1`).
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaEmitter.h"

#include "dialect/CollDialect.h"
#include "lib/Frontend/Sema.h"
#include "lib/Frontend/SemaFunctions.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

Emitter::Emitter(const Globals &globals, MLIRContext &context,
                 DiagnosticEngine &diags)
    : Core(globals, context, diags),
      functions(std::make_unique<FunctionEmitter>(*this)) {}

Emitter::~Emitter() = default;

/// The stack has room for this many evaluations in one another.
static constexpr unsigned maxDepth = 3000;

Val Emitter::eval(const Expr *expr) {
  // After errors of syntax anything may be missing.
  if (!expr || !spend(expr->range))
    return {};
  if (depth >= maxDepth) {
    isExhausted = true;
    error(Slug::NestingTooDeep, expr->range,
          "expressions, calls inlined, are nested more than " +
              Twine(maxDepth) + " deep")
        .emit();
    return {};
  }
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  switch (expr->kind()) {
  case Expr::Kind::Error:
    return {};
  case Expr::Kind::Int: {
    Value value = ints.constant(cast<IntExpr>(expr)->value);
    return Val::make(Kind::Int, expr->range, value);
  }
  case Expr::Kind::Float:
    error(Slug::FloatOutsideFn, expr->range,
          "numbers with a fraction stand in 'fn' only")
        .emit();
    return {};
  case Expr::Kind::Name:
    return evalName(cast<NameExpr>(expr));
  case Expr::Kind::Call:
    return evalCall(cast<CallExpr>(expr));
  case Expr::Kind::Tuple:
    return evalTuple(cast<TupleExpr>(expr));
  case Expr::Kind::List:
    return evalListLiteral(cast<ListExpr>(expr));
  case Expr::Kind::Comprehension: {
    auto *list = makeList<Comprehension>(cast<ComprehensionExpr>(expr), env);
    list->prepare(*this);
    Val val = Val::make(Kind::List, expr->range, {});
    val.list = list;
    return val;
  }
  case Expr::Kind::Unary:
    return evalUnary(cast<UnaryExpr>(expr));
  case Expr::Kind::Binary:
    return evalBinary(cast<BinaryExpr>(expr));
  case Expr::Kind::Conditional:
    return evalConditional(cast<ConditionalExpr>(expr));
  case Expr::Kind::Range:
    return evalRange(cast<RangeExpr>(expr));
  case Expr::Kind::Index:
    return evalIndex(cast<IndexExpr>(expr));
  case Expr::Kind::View:
    return evalView(cast<ViewExpr>(expr));
  case Expr::Kind::At:
    return evalAt(cast<AtExpr>(expr));
  }
  llvm_unreachable("all kinds are listed");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Val Emitter::evalName(const NameExpr *expr) {
  if (expr->word == NameExpr::Word::All) {
    Val val = Val::make(Kind::List, expr->range, {});
    if (isOpen())
      val.list = makeList<OpaqueList>(expr->range, someInt);
    else
      val.list = makeList<AllList>(expr->range, rankDims);
    return val;
  }
  if (const Binding *binding = find(expr->name)) {
    Val val = binding->value;
    val.range = expr->range;
    if (binding->what == Binding::What::LetFunction)
      error(Slug::WrongKind, expr->range,
            "'" + expr->name +
                "' is a function and stands only in front of its "
                "arguments")
          .note(binding->range, "'" + expr->name + "' is defined here");
    if (binding->what == Binding::What::Counts)
      error(Slug::WrongKind, expr->range,
            "'" + expr->name +
                "' is given at launch and stands only after the "
                "'==' of 'size'")
          .note(binding->range, "'" + expr->name + "' is declared here");
    return val;
  }
  if (const Decl *decl = findGlobal(expr->name))
    return evalGlobal(decl, expr->range);
  if (expr->word != NameExpr::Word::Name) {
    bool inProcedure = env.frame && isa<ProcedureDecl>(env.frame->decl);
    Report report = error(Slug::UnknownName, expr->range,
                          "there is no '" + expr->name + "' here");
    if (inProcedure)
      report.help(expr->range,
                  "a procedure gets arrays by 'chunks' parameters");
    return {};
  }
  unknownName(expr->name, expr->range, "name", [&](Suggestion &s) {
    for (const Binding *b = env.names; b; b = b->next)
      s.offer(b->name);
    globals.forEach(currentFile(), [&](const Decl *known) {
      if (isa<LetDecl>(known))
        s.offer(known->name.text);
    });
    s.offer("all");
  });
  return {};
}

Val Emitter::evalGlobal(const Decl *decl, SourceRange range) {
  const auto *let = dyn_cast<LetDecl>(decl);
  if (!let || let->isFunction) {
    error(Slug::WrongKind, range,
          "'" + decl->name.text + "' is " +
              (let ? StringRef("a function") : describe(decl->kind())) +
              " and has no value")
        .note(decl->name.range, "'" + decl->name.text + "' is defined here");
    return {};
  }
  if (!mayCall(let, range))
    return {};
  Restore restore(*this);
  enter(let, range);
  Val val = eval(let->value);
  if (val.kind == Kind::Condition || val.kind == Kind::Place ||
      val.kind == Kind::Value || val.isWhole()) {
    wrongKind(val, "an integer, a rank, a range, a list or an array");
    return {};
  }
  val.range = range;
  return val;
}

Val Emitter::evalTuple(const TupleExpr *expr) {
  Val val = Val::make(Kind::Rank, expr->range, {});
  bool isWrong = isOpen();
  for (const Expr *element : expr->elements) {
    val.ssa.push_back(evalInt(element));
    isWrong |= !val.ssa.back();
  }
  if (isWrong)
    return {};
  if (val.ssa.size() == rankWidth())
    return val;
  error(Slug::WrongKind, expr->range,
        "this rank has " + Twine(val.ssa.size()) +
            " coordinates, ranks of this schedule have " + Twine(rankWidth()))
      .emit();
  return {};
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

Value Emitter::toInt(const Val &val) {
  if (val.kind == Kind::Int)
    return val.integer();
  wrongKind(val, "an integer");
  return {};
}

std::optional<Coords> Emitter::toRank(const Val &val) {
  if (val.isError() || (isOpen() && val.kind == Kind::Int))
    return std::nullopt;
  if (val.kind == Kind::Rank || (val.kind == Kind::Int && rankWidth() == 1))
    return Coords(val.ssa.begin(), val.ssa.end());
  std::string needed = "a rank";
  if (rankWidth() > 1) {
    needed += " (" + llvm::join(rankNames, ", ") + ")";
  }
  wrongKind(val, needed);
  return std::nullopt;
}

Value Emitter::evalInt(const Expr *expr) { return toInt(eval(expr)); }
std::optional<Coords> Emitter::evalRank(const Expr *expr) {
  return toRank(eval(expr));
}

Value Emitter::evalCondition(const Expr *expr) {
  Val val = eval(expr);
  if (val.kind == Kind::Condition)
    return val.integer();
  wrongKind(val, "a condition");
  return {};
}

bool Emitter::evalShape(ArrayRef<Expr *> exprs, SmallVectorImpl<Value> &dims) {
  bool isRight = true;
  for (const Expr *expr : exprs) {
    const auto *name = dyn_cast<NameExpr>(expr);
    if (name && name->word == NameExpr::Word::All) {
      dims.append(rankDims.begin(), rankDims.end());
      continue;
    }
    Value dim = evalInt(expr);
    isRight &= bool(dim);
    if (std::optional<int64_t> c = dim ? Ints::constantOf(dim) : std::nullopt;
        c && *c < 0)
      error(Slug::WrongShape, expr->range, "a size of " + Twine(*c)).emit();
    dims.push_back(dim);
  }
  return isRight;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Val Emitter::evalUnary(const UnaryExpr *expr) {
  if (expr->op == UnaryOp::Not) {
    Value condition = evalCondition(expr->operand);
    if (!condition)
      return {};
    return Val::make(Kind::Condition, expr->range,
                     ints.negate(loc(expr->range), condition));
  }
  Value operand = evalInt(expr->operand);
  if (!operand)
    return {};
  return Val::make(Kind::Int, expr->range,
                   ints.sub(loc(expr->range), ints.constant(0), operand));
}

Val Emitter::evalBinary(const BinaryExpr *expr) {
  if (expr->op == BinaryOp::And || expr->op == BinaryOp::Or)
    return evalLogic(expr);
  Val a = eval(expr->lhs), b = eval(expr->rhs);
  if (expr->op >= BinaryOp::Eq && expr->op <= BinaryOp::Ge)
    return evalComparison(expr, a, b);
  auto isList = [](const Val &v) {
    return v.kind == Kind::List || (v.kind == Kind::Range && !v.isWhole());
  };
  auto isLocated = [](const Val &v) {
    return v.kind == Kind::Array || v.kind == Kind::Place ||
           v.kind == Kind::Value;
  };
  if (expr->op != BinaryOp::Add || a.isError() || b.isError())
    return evalArithmetic(expr, a, b);
  if (isLocated(a) || isLocated(b))
    return evalSum(expr, a, b);
  if (!isList(a) && !isList(b))
    return evalArithmetic(expr, a, b);
  const List *la = toList(a), *lb = toList(b);
  if (!la || !lb)
    return {};
  if (la->width && lb->width && la->width != lb->width) {
    error(Slug::WrongKind, expr->range,
          "a list of integers and a list of ranks are joined")
        .emit();
    return {};
  }
  Val val = Val::make(Kind::List, expr->range, {});
  val.list = makeList<JoinedList>(expr->range, la, lb);
  return val;
}

Val Emitter::evalLogic(const BinaryExpr *expr) {
  Value condition = evalCondition(expr->lhs);
  auto rest = [&] {
    Val val = eval(expr->rhs);
    if (val.kind != Kind::Condition)
      wrongKind(val, "a condition");
    return val.kind == Kind::Condition ? val : Val();
  };
  bool isAnd = expr->op == BinaryOp::And;
  auto known = [&] {
    return Val::make(Kind::Condition, expr->range, ints.boolean(!isAnd));
  };
  Side evaluated = side(rest), constant = side(known);
  return isAnd ? choose(condition, expr->range, std::move(evaluated),
                        std::move(constant))
               : choose(condition, expr->range, std::move(constant),
                        std::move(evaluated));
}

static IntOp intOp(BinaryOp op) {
  switch (op) {
  case BinaryOp::Eq:
    return IntOp::Eq;
  case BinaryOp::Ne:
    return IntOp::Ne;
  case BinaryOp::Lt:
    return IntOp::Lt;
  case BinaryOp::Le:
    return IntOp::Le;
  case BinaryOp::Gt:
    return IntOp::Gt;
  case BinaryOp::Ge:
    return IntOp::Ge;
  case BinaryOp::BitOr:
    return IntOp::Or;
  case BinaryOp::BitXor:
    return IntOp::Xor;
  case BinaryOp::BitAnd:
    return IntOp::And;
  case BinaryOp::Shl:
    return IntOp::Shl;
  case BinaryOp::Shr:
    return IntOp::Shr;
  case BinaryOp::Add:
    return IntOp::Add;
  case BinaryOp::Sub:
    return IntOp::Sub;
  case BinaryOp::Mul:
    return IntOp::Mul;
  case BinaryOp::Div:
    return IntOp::Div;
  case BinaryOp::Mod:
    return IntOp::Mod;
  case BinaryOp::And:
  case BinaryOp::Or:
    break;
  }
  llvm_unreachable("'and' and 'or' are no operations on integers");
}

Val Emitter::evalComparison(const BinaryExpr *expr, const Val &a,
                            const Val &b) {
  if (a.isError() || b.isError())
    return {};
  Location l = loc(expr->range);
  bool isEquality = expr->op == BinaryOp::Eq || expr->op == BinaryOp::Ne;
  if (a.kind == Kind::Int && b.kind == Kind::Int)
    return Val::make(Kind::Condition, expr->range,
                     ints.make(intOp(expr->op), l, a.integer(), b.integer()));
  if (a.kind == Kind::Rank && b.kind == Kind::Rank && !isEquality) {
    error(Slug::WrongKind, expr->range, "ranks of a grid have no order")
        .help(expr->range, "compare rank(a) and rank(b), their flat numbers");
    return {};
  }
  for (const Val *v : {&a, &b})
    if (v->kind != Kind::Int && v->kind != Kind::Rank) {
      wrongKind(*v, "an integer or a rank");
      return {};
    }
  if (a.kind != b.kind) {
    error(Slug::WrongKind, expr->range,
          describe(a.kind) + " is compared with " + describe(b.kind))
        .emit();
    return {};
  }
  Value result;
  for (auto [x, y] : llvm::zip_equal(a.ssa, b.ssa)) {
    Value one = ints.make(intOp(expr->op), l, x, y);
    result = !result                    ? one
             : expr->op == BinaryOp::Eq ? ints.both(l, result, one)
                                        : ints.either(l, result, one);
  }
  return Val::make(Kind::Condition, expr->range, result);
}

/// A number as it is written, perhaps with a sign.
static bool isLiteral(const Expr *expr) {
  if (const auto *unary = dyn_cast<UnaryExpr>(expr))
    expr = unary->operand;
  return isa<IntExpr>(expr);
}

Val Emitter::evalArithmetic(const BinaryExpr *expr, const Val &a,
                            const Val &b) {
  Value x = toInt(a), y = toInt(b);
  if (!x || !y)
    return {};
  IntOp op = intOp(expr->op);
  std::optional<int64_t> divisor = Ints::constantOf(y);
  if ((op == IntOp::Div || op == IntOp::Mod) && divisor && *divisor <= 0 &&
      isLiteral(expr->rhs)) {
    error(Slug::BadOperand, expr->rhs->range,
          "a divisor of " + Twine(*divisor) + ", which is not positive")
        .emit();
    return {};
  }
  if ((op == IntOp::Shl || op == IntOp::Shr) && divisor &&
      (*divisor < 0 || *divisor > 64) && isLiteral(expr->rhs)) {
    error(Slug::BadOperand, expr->rhs->range,
          "a shift by " + Twine(*divisor) + ", which is not in 0 .. 64")
        .emit();
    return {};
  }
  Value result = ints.make(op, loc(expr->range), x, y);
  if (Ints::constantOf(x) && divisor && !Ints::constantOf(result) &&
      isLiteral(expr->lhs) && isLiteral(expr->rhs)) {
    error(Slug::IntegerOverflow, expr->range,
          "the result does not fit into 64 bits")
        .emit();
    return {};
  }
  return Val::make(Kind::Int, expr->range, result);
}

Val Emitter::evalConditional(const ConditionalExpr *expr) {
  Value condition = evalCondition(expr->condition);
  Side a = side([&] { return eval(expr->thenValue); });
  Side b = side([&] { return eval(expr->elseValue); });
  if (a.val.isError() || b.val.isError() || !condition)
    return {};
  Kind ka = a.val.kind, kb = b.val.kind;
  auto isList = [](Kind kind) {
    return kind == Kind::List || kind == Kind::Range;
  };
  if (isList(ka) && isList(kb) && (ka == Kind::List || kb == Kind::List)) {
    const List *la = nullptr, *lb = nullptr;
    probe([&] { la = toList(a.val), lb = toList(b.val); });
    if (!la || !lb)
      return {};
    if (la->width && lb->width && la->width != lb->width) {
      error(Slug::WrongKind, expr->range,
            "one side is a list of integers, the other one of ranks")
          .emit();
      return {};
    }
    Val val = Val::make(Kind::List, expr->range, {});
    val.list = makeList<ChosenList>(expr, env, condition, la, lb);
    return val;
  }
  for (const Val *v : {&a.val, &b.val})
    if (v->kind == Kind::Array || v->kind == Kind::Place ||
        v->kind == Kind::Value || v->isWhole()) {
      wrongKind(*v, "an integer, a condition, a rank, a range or a list");
      return {};
    }
  if (ka != kb) {
    error(Slug::WrongKind, expr->range,
          "one side is " + describe(ka) + ", the other " + describe(kb))
        .emit();
    return {};
  }
  return choose(condition, expr->range, std::move(a), std::move(b));
}

Val Emitter::evalRange(const RangeExpr *expr) {
  if (expr->isWhole())
    return Val::make(Kind::Range, expr->range, {});
  Value lo = evalInt(expr->lo), hi = evalInt(expr->hi);
  Value step = expr->step ? evalInt(expr->step) : Value();
  if (!lo || !hi || (expr->step && !step))
    return {};
  Val val = Val::make(Kind::Range, expr->range, {lo, hi});
  if (!step)
    return val;
  std::optional<int64_t> least = Ints::lowerBound(step);
  if (std::optional<int64_t> c = Ints::constantOf(step); c && *c <= 0) {
    error(Slug::BadOperand, expr->step->range,
          "a step of " + Twine(*c) + ", which is not positive")
        .emit();
    return {};
  }
  if (!least || *least < 1)
    emitAssert(
        ints.make(IntOp::Ge, loc(expr->step->range), step, ints.constant(1)),
        Slug::BadOperand, expr->step->range,
        "a step of {0}, which is not positive", step);
  val.ssa.push_back(step);
  return val;
}

} // namespace coll::sema
