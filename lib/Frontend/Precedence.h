//===- Precedence.h - How tightly operators bind ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the parser, which groups by it, and the printer, which puts
// parentheses where it would group otherwise. The order is Python's, with the
// range between comparisons and bit operators.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_PRECEDENCE_H
#define COLL_LIB_FRONTEND_PRECEDENCE_H

#include "lib/Frontend/ASTExpr.h"

#include "llvm/Support/ErrorHandling.h"

namespace coll {

enum Precedence : unsigned {
  PrecConditional,
  PrecOr,
  PrecAnd,
  PrecNot,
  PrecComparison,
  PrecRange,
  PrecBitOr,
  PrecBitXor,
  PrecBitAnd,
  PrecShift,
  PrecSum,
  PrecProduct,
  PrecUnary,
  PrecPlace,
  PrecRank,
  PrecAtom,
};

constexpr Precedence precedenceOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return PrecOr;
  case BinaryOp::And:
    return PrecAnd;
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
    return PrecComparison;
  case BinaryOp::BitOr:
    return PrecBitOr;
  case BinaryOp::BitXor:
    return PrecBitXor;
  case BinaryOp::BitAnd:
    return PrecBitAnd;
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return PrecShift;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return PrecSum;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
    return PrecProduct;
  }
  llvm_unreachable("no such operator");
}

} // namespace coll

#endif // COLL_LIB_FRONTEND_PRECEDENCE_H
