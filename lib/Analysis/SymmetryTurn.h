//===- SymmetryTurn.h - How numbers change when ranks turn ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the check by symmetry. All ranks may be turned by one step along a
// dimension of N ranks. The code is run as one rank sees it; the Turn of an
// integer register says what the register holds when the same code is run k
// steps further, for every k:
//
//   Fixed    the same number
//   Index    (value + k * degree) mod N, a number of 0 .. N
//   Number   some number that is congruent to value + k * degree modulo N
//   Unknown  some number
//
// and all of these numbers are within low .. high, both inclusive. So what is
// known of one rank is known of all, or nothing is claimed.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_SYMMETRYTURN_H
#define COLL_LIB_ANALYSIS_SYMMETRYTURN_H

#include "lib/Analysis/Bytecode.h"

namespace coll::elab {

struct Turn {
  enum Kind : uint8_t { Fixed, Index, Number, Unknown } kind = Fixed;
  uint8_t dim = 0;           ///< of the rank space: Index, Number
  uint32_t degree = 0;       ///< less than N
  int64_t low = 0, high = 0; ///< not of Fixed

  bool isFixed() const { return kind == Fixed; }
  bool turns() const { return kind == Index || kind == Number; }
};

/// An integer as one rank sees it.
struct Seen {
  int64_t value = 0;
  Turn turn;
  int64_t low() const { return turn.isFixed() ? value : turn.low; }
  int64_t high() const { return turn.isFixed() ? value : turn.high; }
};

/// The turn of `a op b`, whose value is `value`; operands are not both fixed.
/// False: some rank may compute what is not allowed, or it is not known.
bool turnOfBinary(Opcode op, const Seen &a, const Seen &b,
                  llvm::ArrayRef<uint32_t> dims, int64_t value, Turn &turn);

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_SYMMETRYTURN_H
