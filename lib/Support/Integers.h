//===- Integers.h - The integers of the language ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 64 bits with a sign. Each function is false where the language has an error:
// the result does not fit, or an operand is one that the operator does not
// take; `z` is then not to be used. What folds constants and what executes
// schedules both call these, so that they cannot differ.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_INTEGERS_H
#define COLL_LIB_SUPPORT_INTEGERS_H

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace coll::integers {

inline bool add(int64_t x, int64_t y, int64_t &z) {
  return !__builtin_add_overflow(x, y, &z);
}
inline bool sub(int64_t x, int64_t y, int64_t &z) {
  return !__builtin_sub_overflow(x, y, &z);
}
inline bool mul(int64_t x, int64_t y, int64_t &z) {
  return !__builtin_mul_overflow(x, y, &z);
}

/// Rounds down; the divisor is positive.
inline bool div(int64_t x, int64_t y, int64_t &z) {
  if (y <= 0)
    return false;
  z = x / y - (x % y < 0);
  return true;
}
/// Never negative.
inline bool mod(int64_t x, int64_t y, int64_t &z) {
  if (y <= 0)
    return false;
  z = x % y + (x % y < 0 ? y : 0);
  return true;
}

inline bool isShiftCount(int64_t by) { return by >= 0 && by <= 64; }

/// x times 2^by, also where that power is beyond 64 bits.
inline bool shl(int64_t x, int64_t by, int64_t &z) {
  if (!isShiftCount(by) || (by == 64 && x != 0))
    return false;
  z = by == 64 ? 0 : int64_t(uint64_t(x) << by);
  return by == 64 || z >> by == x;
}
/// Rounds down.
inline bool shr(int64_t x, int64_t by, int64_t &z) {
  if (!isShiftCount(by))
    return false;
  z = x >> (by < 63 ? by : 63);
  return true;
}

inline bool abs(int64_t x, int64_t &z) {
  if (x == INT64_MIN)
    return false;
  z = x < 0 ? -x : x;
  return true;
}
inline bool log2(int64_t x, int64_t &z) {
  if (x <= 0)
    return false;
  z = llvm::Log2_64(x);
  return true;
}
inline bool ceilLog2(int64_t x, int64_t &z) {
  if (x <= 0)
    return false;
  z = llvm::Log2_64_Ceil(x);
  return true;
}
inline bool lsb(int64_t x, int64_t &z) {
  if (x < 0)
    return false;
  z = x & -x;
  return true;
}
inline bool popcount(int64_t x, int64_t &z) {
  if (x < 0)
    return false;
  z = llvm::popcount(uint64_t(x));
  return true;
}

} // namespace coll::integers

#endif // COLL_LIB_SUPPORT_INTEGERS_H
