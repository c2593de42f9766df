//===- ASTPrinter.cpp - Printing expressions; the language's spelling -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Frontend/ASTPrinter.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using llvm::ArrayRef;
using llvm::cast;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

StringRef coll::spelling(UnaryOp op) {
  return op == UnaryOp::Neg ? "-" : "not ";
}

StringRef coll::spelling(BinaryOp op) {
  static constexpr StringRef texts[] = {
      "or", "and", "==", "!=", "<", "<=", ">", ">=", "|",
      "^",  "&",   "<<", ">>", "+", "-",  "*", "/",  "%"};
  return texts[unsigned(op)];
}

StringRef coll::spelling(ElementType type) {
  static constexpr StringRef texts[] = {"T",   "accum", "f16",  "bf16",  "f32",
                                        "f64", "e4m3",  "e5m2", "mxe4m3"};
  return texts[unsigned(type)];
}

StringRef coll::spelling(ArgKind kind) {
  static constexpr StringRef texts[] = {"elem", "row", "scalar"};
  return texts[unsigned(kind)];
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static Precedence precedence(const Expr &expr) {
  switch (expr.kind()) {
  case Expr::Kind::Conditional:
    return PrecConditional;
  case Expr::Kind::Binary:
    return precedenceOf(cast<BinaryExpr>(expr).op);
  case Expr::Kind::Unary:
    return cast<UnaryExpr>(expr).op == UnaryOp::Not ? PrecNot : PrecUnary;
  case Expr::Kind::Range:
    return PrecRange;
  case Expr::Kind::At:
  case Expr::Kind::View:
    return PrecPlace;
  case Expr::Kind::Index: {
    // `a[i]` can be a rank, `a as [n][i]` cannot; what needs parentheses to be
    // indexed is an atom with them.
    const Expr &base = *cast<IndexExpr>(expr).base;
    bool isView = precedence(base) == PrecPlace && !llvm::isa<AtExpr>(base);
    return isView ? PrecPlace : PrecRank;
  }
  default:
    return PrecAtom;
  }
}

void ASTPrinter::print(const Expr &expr, Precedence loosest) {
  Precedence own = precedence(expr);
  bool parentheses = own < loosest || (allParentheses && own < PrecAtom);
  if (parentheses)
    os << '(';
  printBare(expr);
  if (parentheses)
    os << ')';
}

void ASTPrinter::exprs(ArrayRef<Expr *> list) {
  llvm::interleaveComma(list, os, [&](const Expr *expr) { print(*expr); });
}

void ASTPrinter::bracketed(ArrayRef<Expr *> list) {
  os << '[';
  exprs(list);
  os << ']';
}

void ASTPrinter::idents(ArrayRef<Ident> list) {
  llvm::interleaveComma(list, os, [&](const Ident &name) { os << name.text; });
}

void ASTPrinter::iterators(const Iterators &iters) {
  llvm::interleaveComma(iters.list, os, [&](const Iterator &iterator) {
    os << iterator.name.text << " in ";
    print(*iterator.domain);
  });
  if (iters.filter) {
    os << " if ";
    print(*iters.filter);
  }
}

/// What may stand bare in front of brackets: a place without its rank.
static Precedence indexedPrecedence(const Expr &base) {
  return llvm::isa<AtExpr>(base) ? PrecAtom : PrecPlace;
}

void ASTPrinter::printBare(const Expr &expr) {
  switch (expr.kind()) {
  case Expr::Kind::Error:
    os << "<error>";
    return;
  case Expr::Kind::Int:
    os << cast<IntExpr>(expr).value;
    return;
  case Expr::Kind::Float:
    os << cast<FloatExpr>(expr).text;
    return;
  case Expr::Kind::Name:
    os << cast<NameExpr>(expr).name;
    return;
  case Expr::Kind::Call: {
    const auto &call = cast<CallExpr>(expr);
    os << call.callee.text << '(';
    llvm::interleaveComma(call.args, os, [&](const CallArg &arg) {
      print(*arg.value);
      if (arg.iters) {
        os << " for ";
        iterators(arg.iters);
      }
    });
    os << ')';
    return;
  }
  case Expr::Kind::Tuple:
    os << '(';
    exprs(cast<TupleExpr>(expr).elements);
    os << ')';
    return;
  case Expr::Kind::List:
    bracketed(cast<ListExpr>(expr).elements);
    return;
  case Expr::Kind::Comprehension: {
    const auto &list = cast<ComprehensionExpr>(expr);
    os << '[';
    print(*list.element);
    os << " for ";
    iterators(list.iters);
    os << ']';
    return;
  }
  default:
    return printOperation(expr);
  }
}

void ASTPrinter::printOperation(const Expr &expr) {
  switch (expr.kind()) {
  case Expr::Kind::Unary: {
    const auto &unary = cast<UnaryExpr>(expr);
    os << spelling(unary.op);
    print(*unary.operand, precedence(unary));
    return;
  }
  case Expr::Kind::Binary: {
    const auto &binary = cast<BinaryExpr>(expr);
    Precedence own = precedenceOf(binary.op);
    // Comparisons do not associate; all others do to the left.
    auto tighter = Precedence(own + 1);
    print(*binary.lhs, own == PrecComparison ? tighter : own);
    os << ' ' << spelling(binary.op) << ' ';
    print(*binary.rhs, tighter);
    return;
  }
  case Expr::Kind::Conditional: {
    const auto &conditional = cast<ConditionalExpr>(expr);
    print(*conditional.condition, PrecOr);
    os << " ? ";
    print(*conditional.thenValue);
    os << " : ";
    print(*conditional.elseValue);
    return;
  }
  case Expr::Kind::Range: {
    const auto &range = cast<RangeExpr>(expr);
    if (range.isWhole()) {
      os << "..";
      return;
    }
    print(*range.lo, PrecBitOr);
    os << " .. ";
    print(*range.hi, PrecBitOr);
    if (range.step) {
      os << " step ";
      print(*range.step, PrecBitOr);
    }
    return;
  }
  case Expr::Kind::Index: {
    const auto &index = cast<IndexExpr>(expr);
    print(*index.base, indexedPrecedence(*index.base));
    bracketed(index.indices);
    return;
  }
  case Expr::Kind::View: {
    const auto &view = cast<ViewExpr>(expr);
    print(*view.base, indexedPrecedence(*view.base));
    os << " as ";
    bracketed(view.shape);
    return;
  }
  case Expr::Kind::At: {
    const auto &at = cast<AtExpr>(expr);
    print(*at.base, indexedPrecedence(*at.base));
    os << '@';
    print(*at.rank, PrecRank);
    return;
  }
  default:
    llvm_unreachable("no operation");
  }
}

void coll::printExpr(const Expr &expr, llvm::raw_ostream &os) {
  ASTPrinter(os, /*allParentheses=*/false).print(expr);
}
