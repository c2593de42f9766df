//===- RowValues.h - What functions reduce over rows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rms(x, w, eps) = x * rsqrt(mean(x * x) + eps) * w is a pass over the row for
// the mean, and one for the result. A reduction over what depends on another
// reduction takes one pass more: in exp(x - max(x)) / sum(exp(x - max(x))) the
// maximum is of the first, the sum of the second. Reductions that are written
// twice are done once.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_ROWVALUES_H
#define COLL_LIB_LOWERING_ROWVALUES_H

#include "lib/Lowering/TileEmitter.h"

namespace coll::lowering {

/// The reductions of a step's expression, in the order in which its evaluation
/// meets them.
struct RowReductions {
  struct One {
    bool isMax = false; // else a sum
    unsigned pass = 0;  // from 0 on
    bool operator==(const One &) const = default;
  };
  std::vector<One> all;
  struct Use {
    unsigned reduction;
    bool isMean; // the sum divided by the length of the row
  };
  std::vector<Use> uses;
  unsigned passes = 0;
};
RowReductions findRowReductions(const std::vector<ExprNode> &expr,
                                const std::vector<Function> &functions);

/// The reductions' values while code for one row is emitted. In a pass, those
/// of earlier passes are known, and what this one reduces is collected.
class RowValues {
public:
  RowValues(Builder &b, const RowReductions &plan, Value length)
      : b(b), plan(plan), length(length), known(plan.all.size()),
        operands(plan.all.size()) {}

  /// Before each evaluation of the expression.
  void restart() { next = 0; }
  /// What stands for the next reduction, over `operand`; something without a
  /// user where that is not known yet.
  Value take(Value operand);
  void set(unsigned reduction, Value scalar) { known[reduction] = scalar; }
  Value operandOf(unsigned reduction) const { return operands[reduction]; }
  /// The reductions of a pass.
  llvm::SmallVector<unsigned> of(unsigned pass) const;
  bool isMax(unsigned reduction) const { return plan.all[reduction].isMax; }
  /// What a reduction starts with.
  Value start(unsigned reduction, mlir::Type type) {
    return b.fcst(isMax(reduction) ? -__builtin_inf() : 0.0, type);
  }
  Value combine(unsigned reduction, Value x, Value y);

private:
  Builder &b;
  const RowReductions &plan;
  Value length; // of the row, i64
  llvm::SmallVector<Value> known, operands;
  unsigned next = 0;
};

/// Operands of row number `row` of a slice.
TileOperands operandsOfRow(Builder &b, const StepShape &shape,
                           const Variant &variant, const TileOperands &operands,
                           Value row);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_ROWVALUES_H
