//===- Evaluate.cpp - Integers and views of a schedule, symbolically ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A remainder by a symbol is linear once its quotient is known, and the
// quotient is one of a few constants where the dividend stays within a few
// divisors, as r + i with 0 <= i < N does. Which constants are possible is
// decided, not assumed: beyond them no point may be left.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace coll;
using namespace coll::prove;
namespace arith = mlir::arith;

/// Quotients by a symbol that are tried: -3 .. 3.
static constexpr int64_t maxQuotient = 3;
/// Shifts by more than this have no use in a rank space.
static constexpr int64_t maxShift = 32;

void Builder::addCase(const Context &context,
                      llvm::function_ref<void(Conj &)> what,
                      llvm::function_ref<void(const Context &)> then) {
  if (failed())
    return;
  Context next = context;
  what(next.domain);
  if (!isEmpty(next.domain))
    then(next);
}

void Builder::fork(const Lin &a, const Lin &b, const Context &context,
                   Then<bool> then) {
  addCase(
      context, [&](Conj &c) { c.less(a, b); },
      [&](const Context &c) { then(c, true); });
  addCase(
      context, [&](Conj &c) { c.lessEqual(b, a); },
      [&](const Context &c) { then(c, false); });
}

void Builder::withInts(mlir::ValueRange values, const Context &context,
                       WithInts then) {
  llvm::SmallVector<Lin> sofar;
  auto next = [&](auto &&self, const Context &c) -> void {
    if (sofar.size() == values.size())
      return then(c, sofar);
    withInt(values[sofar.size()], c, [&](const Context &inner, const Lin &lin) {
      sofar.push_back(lin);
      self(self, inner);
      sofar.pop_back();
    });
  };
  next(next, context);
}

void Builder::withInt(mlir::Value value, const Context &context, WithInt then) {
  if (failed())
    return;
  auto it = context.ints.find(value);
  if (it != context.ints.end())
    return then(context, it->second);
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return stop(schedule, "an integer that no statement defines");
  intOf(op, context, [&](const Context &c, const Lin &lin) {
    Context known = c;
    known.ints[value] = lin;
    then(known, lin);
  });
}

void Builder::binary(mlir::Operation *op, const Context &context,
                     Then<const Lin &, const Lin &> then) {
  withInt(op->getOperand(0), context, [&](const Context &c, const Lin &a) {
    withInt(op->getOperand(1), c,
            [&](const Context &inner, const Lin &b) { then(inner, a, b); });
  });
}

/// `a op b`.
void Builder::intOfTwo(mlir::Operation *op, const Lin &a, const Lin &b,
                       const Context &c, WithInt then) {
  if (llvm::isa<arith::AddIOp, arith::SubIOp>(op))
    return then(c, Lin(a).addScaled(b, llvm::isa<arith::AddIOp>(op) ? 1 : -1));
  if (llvm::isa<ModOp, DivOp>(op)) {
    bool isMod = llvm::isa<ModOp>(op);
    return divide(op, a, b, c,
                  [&](const Context &d, const Lin &q, const Lin &r) {
                    then(d, isMod ? r : q);
                  });
  }
  if (llvm::isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
    bool isMin = llvm::isa<arith::MinSIOp>(op);
    return fork(a, b, c, [&](const Context &d, bool less) {
      then(d, less == isMin ? a : b);
    });
  }
  bool isProduct = llvm::isa<arith::MulIOp>(op);
  if (!a.isConstant() && !b.isConstant())
    return stop(op, isProduct ? "a product of two variables"
                              : "'^' of two variables");
  const Lin &constant = b.isConstant() ? b : a, &other = b.isConstant() ? a : b;
  if (isProduct)
    return then(c, constant.getConstant() * other);
  if (constant.getConstant() < 0)
    return stop(op, "'^' with a negative number");
  flipBits(op, other, constant.getConstant(), c, then);
}

void Builder::intOf(mlir::Operation *op, const Context &context, WithInt then) {
  if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op)) {
    auto value = llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue());
    if (!value || std::abs(value.getInt()) > maxCoefficient)
      return stop(op, "a number that is too large");
    return then(context, Lin(value.getInt()));
  }
  if (llvm::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, ModOp, DivOp,
                arith::MinSIOp, arith::MaxSIOp, arith::XOrIOp>(op))
    return binary(op, context,
                  [&](const Context &c, const Lin &a, const Lin &b) {
                    intOfTwo(op, a, b, c, then);
                  });
  if (auto select = llvm::dyn_cast<arith::SelectOp>(op))
    return withBool(
        select.getCondition(), context, [&](const Context &c, bool isTrue) {
          withInt(isTrue ? select.getTrueValue() : select.getFalseValue(), c,
                  then);
        });
  if (llvm::isa<AbsOp>(op))
    return withInt(op->getOperand(0), context,
                   [&](const Context &c, const Lin &a) {
                     fork(a, Lin(0), c, [&](const Context &d, bool isNegative) {
                       then(d, isNegative ? -1 * a : a);
                     });
                   });
  if (auto dim = llvm::dyn_cast<DimOp>(op))
    return withView(dim.getArray(), context,
                    [&](const Context &c, const ViewRef &view) {
                      if (dim.getDim() < view.extents.size())
                        then(c, view.extents[dim.getDim()]);
                      else
                        stop(op, "a dimension that the array does not have");
                    });
  if (llvm::isa<ShlOp, ShrOp>(op))
    return shift(op, context, then);
  if (llvm::isa<Log2Op, CeilLog2Op, LsbOp, PopcountOp>(op))
    return logarithm(op, context, then);
  if (llvm::isa<ListGetOp, ListSizeOp>(op))
    return stop(op, "a list whose members have no closed form");
  stop(op, "'" + op->getName().stripDialect().str() + "' of variables");
}

void Builder::shift(mlir::Operation *op, const Context &context, WithInt then) {
  binary(op, context, [&](const Context &c, const Lin &a, const Lin &b) {
    if (!b.isConstant() || b.getConstant() < 0 || b.getConstant() > maxShift)
      return stop(op, "a shift by a variable: powers of two are not affine");
    int64_t power = int64_t(1) << b.getConstant();
    if (llvm::isa<ShlOp>(op))
      return then(c, power * a);
    divide(op, a, Lin(power), c,
           [&](const Context &d, const Lin &q, const Lin &) { then(d, q); });
  });
}

void Builder::logarithm(mlir::Operation *op, const Context &context,
                        WithInt then) {
  withInt(op->getOperand(0), context, [&](const Context &c, const Lin &a) {
    int64_t value = a.getConstant();
    if (!a.isConstant() || value <= 0)
      return stop(op, "'" + op->getName().stripDialect().str() +
                          "' of a variable: powers of two are not affine");
    if (llvm::isa<Log2Op>(op))
      then(c, Lin(int64_t(llvm::Log2_64(value))));
    else if (llvm::isa<CeilLog2Op>(op))
      then(c, Lin(int64_t(llvm::Log2_64_Ceil(value))));
    else if (llvm::isa<LsbOp>(op))
      then(c, Lin(value & -value));
    else
      then(c, Lin(int64_t(llvm::popcount(uint64_t(value)))));
  });
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

void Builder::divide(mlir::Operation *op, const Lin &a, const Lin &b,
                     const Context &context,
                     Then<const Lin &, const Lin &> then) {
  if (failed())
    return;
  for (const auto &[key, q] : context.quotients)
    if (key.first == a && key.second == b) {
      if (b.isConstant())
        return then(context, q, Lin(a).addScaled(q, -b.getConstant()));
      return then(context, q, Lin(a).addScaled(b, -q.getConstant()));
    }
  if (!b.isConstant())
    return divideBySymbol(op, a, b, context, then);
  int64_t divisor = b.getConstant();
  if (divisor <= 0)
    return stop(op, "a divisor that is not positive");
  Lin quotient;
  Context next = context;
  if (a.isConstant()) {
    int64_t value = a.getConstant();
    quotient = Lin(value / divisor - (value % divisor < 0));
  } else {
    // A whole number that is determined, though no linear form.
    if (llvm::all_of(a.getTerms(), [&](const auto &term) {
          return term.first < numStartVars;
        })) {
      // Of N alone: it is known from the start, in a run from there.
      newQuotient = std::pair(a, divisor);
      return stop(op, "");
    }
    quotient =
        Lin::of(model.makeVar("q" + std::to_string(model.varNames.size())));
    Lin rest = Lin(a).addScaled(quotient, -divisor);
    next.domain.within(rest, Lin(0), Lin(divisor));
  }
  next.quotients.push_back({{a, b}, quotient});
  then(next, quotient, Lin(a).addScaled(quotient, -divisor));
}

void Builder::divideBySymbol(mlir::Operation *op, const Lin &a, const Lin &b,
                             const Context &context,
                             Then<const Lin &, const Lin &> then) {
  requireLess(context, Lin(0), b, "the divisor may not be positive", op);
  auto isPossible = [&](llvm::function_ref<void(Conj &)> what) {
    Conj domain = context.domain;
    what(domain);
    return !isEmpty(domain);
  };
  int64_t low = 0, high = 0;
  while (high <= maxQuotient &&
         isPossible([&](Conj &c) { c.lessEqual((high + 1) * b, a); }))
    ++high;
  while (low >= -maxQuotient &&
         isPossible([&](Conj &c) { c.less(a, low * b); }))
    --low;
  if (high > maxQuotient || low < -maxQuotient)
    return stop(op, "a remainder of something beyond a few times the divisor");
  for (int64_t q = low; q <= high; ++q) {
    Lin rest = Lin(a).addScaled(b, -q);
    addCase(
        context, [&](Conj &c) { c.within(rest, Lin(0), b); },
        [&](const Context &c) {
          Context next = c;
          next.quotients.push_back({{a, b}, Lin(q)});
          then(next, Lin(q), rest);
        });
  }
}

/// a ^ bits, bit by bit: a set bit is taken away, a clear one added.
void Builder::flipBits(mlir::Operation *op, const Lin &a, int64_t bits,
                       const Context &context, WithInt then) {
  if (bits == 0)
    return then(context, a);
  int64_t bit = bits & -bits;
  divide(op, a, Lin(bit), context,
         [&](const Context &c, const Lin &q, const Lin &) {
           divide(op, q, Lin(2), c,
                  [&](const Context &d, const Lin &, const Lin &isSet) {
                    for (int64_t value : {0, 1})
                      addCase(
                          d, [&](Conj &conj) { conj.equal(isSet, Lin(value)); },
                          [&](const Context &e) {
                            flipBits(op, value ? a - Lin(bit) : a + Lin(bit),
                                     bits ^ bit, e, then);
                          });
                  });
         });
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

void Builder::compare(mlir::Operation *op, const Context &context,
                      Then<bool> then) {
  arith::CmpIPredicate predicate = llvm::cast<arith::CmpIOp>(op).getPredicate();
  using P = arith::CmpIPredicate;
  binary(op, context, [&](const Context &c, const Lin &a, const Lin &b) {
    switch (predicate) {
    case P::slt:
      return fork(a, b, c, then);
    case P::sgt:
      return fork(b, a, c, then);
    case P::sge:
      return fork(a, b, c,
                  [&](const Context &d, bool less) { then(d, !less); });
    case P::sle:
      return fork(b, a, c,
                  [&](const Context &d, bool less) { then(d, !less); });
    case P::eq:
    case P::ne: {
      bool isEq = predicate == P::eq;
      addCase(
          c, [&](Conj &conj) { conj.equal(a, b); },
          [&](const Context &d) { then(d, isEq); });
      addCase(
          c, [&](Conj &conj) { conj.less(a, b); },
          [&](const Context &d) { then(d, !isEq); });
      addCase(
          c, [&](Conj &conj) { conj.less(b, a); },
          [&](const Context &d) { then(d, !isEq); });
      return;
    }
    default:
      stop(op, "a comparison without sign");
    }
  });
}

void Builder::withBool(mlir::Value value, const Context &context,
                       Then<bool> then) {
  if (failed())
    return;
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return stop(schedule, "a condition that no statement defines");
  if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op))
    return then(context,
                llvm::cast<mlir::IntegerAttr>(constant.getValue()).getValue() !=
                    0);
  if (llvm::isa<arith::CmpIOp>(op))
    return compare(op, context, then);
  if (llvm::isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    bool isAnd = llvm::isa<arith::AndIOp>(op),
         isOr = llvm::isa<arith::OrIOp>(op);
    return withBool(op->getOperand(0), context, [&](const Context &c, bool a) {
      if ((isAnd && !a) || (isOr && a))
        return then(c, a);
      withBool(op->getOperand(1), c, [&](const Context &d, bool b) {
        then(d, isAnd || isOr ? b : a != b);
      });
    });
  }
  if (auto pow2 = llvm::dyn_cast<Pow2Op>(op))
    return withInt(
        pow2.getOperand(), context, [&](const Context &c, const Lin &a) {
          if (!a.isConstant())
            return stop(op, "'pow2' of a variable: powers of two "
                            "are not affine");
          then(c, llvm::isPowerOf2_64(std::max<int64_t>(0, a.getConstant())));
        });
  stop(op, "a condition '" + op->getName().stripDialect().str() + "'");
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void Builder::withView(mlir::Value value, const Context &context,
                       Then<const ViewRef &> then) {
  if (failed())
    return;
  mlir::Operation *op = value.getDefiningOp();
  if (auto slice = llvm::dyn_cast_or_null<SliceOp>(op))
    return withView(slice.getArray(), context,
                    [&](const Context &c, const ViewRef &view) {
                      withSlice(slice, view, c, then);
                    });
  if (auto reshape = llvm::dyn_cast_or_null<ReshapeOp>(op))
    return withView(reshape.getArray(), context,
                    [&](const Context &c, const ViewRef &view) {
                      withInts(reshape.getDims(), c,
                               [&](const Context &d, llvm::ArrayRef<Lin> dims) {
                                 if (dims == llvm::ArrayRef<Lin>(view.extents))
                                   then(d, view);
                                 else
                                   stop(op, "'as' with other dimensions");
                               });
                    });
  auto it = op ? arrayOf.find(op) : arrayOf.end();
  if (it == arrayOf.end())
    return stop(op ? op : schedule.getOperation(), "an array of this kind");
  ViewRef view;
  view.array = it->second;
  for (auto [i, dim] : llvm::enumerate(model.arrays[view.array].dims)) {
    view.dims.push_back({Lin(0), int(i), 1});
    view.extents.push_back(dim);
  }
  then(context, view);
}

void Builder::withSlice(SliceOp slice, const ViewRef &view,
                        const Context &context, Then<const ViewRef &> then) {
  llvm::SmallVector<mlir::Value> operands(slice.getOffsets());
  size_t numOffsets = operands.size(), numSizes = slice.getSizes().size();
  llvm::append_range(operands, slice.getSizes());
  llvm::append_range(operands, slice.getSteps());
  withInts(operands, context, [&](const Context &c, llvm::ArrayRef<Lin> ints) {
    llvm::ArrayRef<Lin> sizes = ints.slice(numOffsets, numSizes),
                        steps = ints.drop_front(numOffsets + numSizes);
    if (numOffsets > view.extents.size())
      return stop(slice, "more indexes than dimensions");
    ViewRef result;
    result.array = view.array;
    llvm::SmallVector<int> renamed(view.extents.size(), -1);
    llvm::SmallVector<int64_t> factor(view.extents.size(), 1);
    unsigned stays = 0;
    for (size_t d = 0; d < view.extents.size(); ++d) {
      if (d >= numOffsets) {
        renamed[d] = result.extents.size();
        result.extents.push_back(view.extents[d]);
        continue;
      }
      requireLess(c, Lin(-1), ints[d], "an index may be negative", slice);
      if (slice.getDrop()[d]) {
        requireLess(c, ints[d], view.extents[d], "an index may be too large",
                    slice);
        continue;
      }
      Lin size = sizes[stays], step = steps.empty() ? Lin(1) : steps[stays];
      ++stays;
      if (!step.isConstant() || step.getConstant() <= 0)
        return stop(slice, "a slice whose step is a variable");
      factor[d] = step.getConstant();
      requireLess(c, Lin(-1), size, "a slice may be inverted", slice);
      Context some = c;
      some.domain.less(Lin(0), size);
      requireLess(some, ints[d] + factor[d] * (size - Lin(1)), view.extents[d],
                  "a slice may be too long", slice);
      renamed[d] = result.extents.size();
      result.extents.push_back(size);
    }
    for (const ViewDim &dim : view.dims) {
      ViewDim next = dim;
      if (dim.viewDim >= 0) {
        size_t d = dim.viewDim;
        if (d < numOffsets)
          next.offset.addScaled(ints[d], dim.step);
        next.viewDim = renamed[d];
        next.step = dim.step * factor[d];
      }
      result.dims.push_back(next);
    }
    then(c, result);
  });
}
