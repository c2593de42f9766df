//===- SymmetryTurn.cpp - How numbers change when ranks turn --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/SymmetryTurn.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"

using namespace coll;
using namespace coll::elab;

static Turn unknown(int64_t low, int64_t high) {
  return {Turn::Unknown, 0, 0, low, high};
}

static uint32_t degreeOf(const Turn &turn) {
  return turn.isFixed() ? 0 : turn.degree;
}

/// Sums and differences.
static bool turnOfSum(const Seen &a, const Seen &b, bool isDifference,
                      llvm::ArrayRef<uint32_t> dims, Turn &turn) {
  int64_t low, high;
  bool overflows = isDifference
                       ? __builtin_sub_overflow(a.low(), b.high(), &low) ||
                             __builtin_sub_overflow(a.high(), b.low(), &high)
                       : __builtin_add_overflow(a.low(), b.low(), &low) ||
                             __builtin_add_overflow(a.high(), b.high(), &high);
  if (overflows)
    return false;
  turn = unknown(low, high);
  if (a.turn.kind == Turn::Unknown || b.turn.kind == Turn::Unknown)
    return true;
  bool hasBoth = a.turn.turns() && b.turn.turns();
  if (hasBoth && a.turn.dim != b.turn.dim)
    return true;
  turn.kind = Turn::Number;
  turn.dim = a.turn.turns() ? a.turn.dim : b.turn.dim;
  uint64_t n = dims[turn.dim];
  uint64_t db = degreeOf(b.turn);
  turn.degree = (degreeOf(a.turn) + (isDifference ? n - db : db)) % n;
  // r + 0, r - 0 and N - 1 - r stay within 0 .. N.
  bool isSame = a.turn.kind == Turn::Index && b.turn.isFixed() && b.value == 0;
  bool isMirror = isDifference && b.turn.kind == Turn::Index &&
                  a.turn.isFixed() && uint64_t(a.value) == n - 1;
  if (isSame || isMirror)
    turn.kind = Turn::Index;
  return true;
}

static bool turnOfProduct(const Seen &a, const Seen &b,
                          llvm::ArrayRef<uint32_t> dims, Turn &turn) {
  int64_t ends[4];
  if (__builtin_mul_overflow(a.low(), b.low(), &ends[0]) ||
      __builtin_mul_overflow(a.low(), b.high(), &ends[1]) ||
      __builtin_mul_overflow(a.high(), b.low(), &ends[2]) ||
      __builtin_mul_overflow(a.high(), b.high(), &ends[3]))
    return false;
  turn = unknown(*std::min_element(ends, ends + 4),
                 *std::max_element(ends, ends + 4));
  const Seen &turning = a.turn.isFixed() ? b : a;
  const Seen &fixed = a.turn.isFixed() ? a : b;
  if (!fixed.turn.isFixed() || !turning.turn.turns())
    return true;
  turn.kind = Turn::Number;
  turn.dim = turning.turn.dim;
  int64_t n = dims[turn.dim];
  uint64_t factor = uint64_t((fixed.value % n + n) % n);
  turn.degree = factor * turning.turn.degree % uint64_t(n);
  return true;
}

static bool turnOfMod(const Seen &a, const Seen &b,
                      llvm::ArrayRef<uint32_t> dims, Turn &turn) {
  if (!b.turn.isFixed() || b.value <= 0)
    return false;
  if (a.low() >= 0 && a.high() < b.value) {
    turn = a.turn;
    if (turn.kind == Turn::Number && a.high() < dims[turn.dim])
      turn.kind = Turn::Index;
    return true;
  }
  turn = unknown(0, b.value - 1);
  if (!a.turn.turns() || b.value != dims[a.turn.dim])
    return true;
  // A multiple of N more or less for other ranks makes no difference.
  if (a.turn.degree == 0)
    turn = {};
  else
    turn = {Turn::Index, a.turn.dim, a.turn.degree, 0, b.value - 1};
  return true;
}

/// Comparisons: known where the ranges are apart, or both sides turn alike.
static Turn turnOfComparison(Opcode op, const Seen &a, const Seen &b) {
  bool isBelow = a.high()<b.low(), isAbove = a.low()> b.high();
  bool isNotBelow = a.low() >= b.high(), isNotAbove = a.high() <= b.low();
  bool areAlike = a.turn.kind == Turn::Index && b.turn.kind == Turn::Index &&
                  a.turn.dim == b.turn.dim && a.turn.degree == b.turn.degree;
  bool isKnown = false;
  switch (op) {
  case Opcode::Eq:
  case Opcode::Ne:
    isKnown = isBelow || isAbove || areAlike;
    break;
  case Opcode::Lt:
  case Opcode::Ge:
    isKnown = isBelow || isNotBelow;
    break;
  default: // Le, Gt
    isKnown = isNotAbove || isAbove;
    break;
  }
  return isKnown ? Turn{} : unknown(0, 1);
}

/// And, or, xor of numbers that are not negative.
static bool turnOfBits(Opcode op, const Seen &a, const Seen &b, Turn &turn) {
  if (a.low() < 0 || b.low() < 0)
    return false;
  bool isZero = op == Opcode::And && ((a.turn.isFixed() && a.value == 0) ||
                                      (b.turn.isFixed() && b.value == 0));
  uint64_t most = uint64_t(std::max(a.high(), b.high()));
  uint64_t all = most == 0 ? 0 : ~uint64_t(0) >> llvm::countl_zero(most);
  turn = isZero ? Turn{} : unknown(0, int64_t(all));
  return true;
}

bool elab::turnOfBinary(Opcode op, const Seen &a, const Seen &b,
                        llvm::ArrayRef<uint32_t> dims, int64_t value,
                        Turn &turn) {
  switch (op) {
  case Opcode::Move:
    turn = a.turn;
    return true;
  case Opcode::Add:
  case Opcode::Sub:
    return turnOfSum(a, b, op == Opcode::Sub, dims, turn);
  case Opcode::Mul:
    return turnOfProduct(a, b, dims, turn);
  case Opcode::Mod:
    return turnOfMod(a, b, dims, turn);
  case Opcode::Div:
    if (!b.turn.isFixed() || b.value <= 0)
      return false;
    // One more at the lower end, which / rounds down.
    turn = unknown(a.low() / b.value - (a.low() < 0), a.high() / b.value);
    return true;
  case Opcode::Min:
    turn = unknown(std::min(a.low(), b.low()), std::min(a.high(), b.high()));
    return true;
  case Opcode::Max:
    turn = unknown(std::max(a.low(), b.low()), std::max(a.high(), b.high()));
    return true;
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
    return turnOfBits(op, a, b, turn);
  case Opcode::Eq:
  case Opcode::Ne:
  case Opcode::Lt:
  case Opcode::Le:
  case Opcode::Gt:
  case Opcode::Ge:
    turn = turnOfComparison(op, a, b);
    return true;
  default:
    return false;
  }
}
