//===- InterpreterBound.h - Exact results and rounding ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside every number of the compute type goes a wider one, computed without
// the schedule's roundings, and a bound on the distance between the two: each
// rounding adds half a unit in the last place of what is rounded, each
// operation carries the bounds of its operands on (running error analysis; N.
// Higham, Accuracy and Stability of Numerical Algorithms, section 3.3).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_INTERPRETERBOUND_H
#define COLL_LIB_ANALYSIS_INTERPRETERBOUND_H

#include "lib/Analysis/InterpreterArith.h"

#include <limits>

namespace coll::interpreter {

/// The type that is wide enough to call a result exact.
template <class C> struct WideOf {
  using Type = double;
};
template <> struct WideOf<double> {
  using Type = long double;
};

/// Half a unit in the last place, relative; of subnormals, absolute; the
/// largest finite number.
struct FormatBounds {
  double relative, absolute, largest;
};
inline FormatBounds boundsOf(coll_dtype storage) {
  switch (storage) {
  case COLL_F16:
    return {0x1p-11, 0x1p-25, 65504};
  case COLL_BF16:
    return {0x1p-8, 0x1p-134, 0x1.fep127};
  case COLL_E4M3:
    return {0x1p-4, 0x1p-10, 448};
  case COLL_E5M2:
    return {0x1p-3, 0x1p-17, 57344};
  case COLL_F32:
    return {0x1p-24, 0x1p-150, 0x1.fffffep127};
  default:
    return {0x1p-53, 0x1p-1074, std::numeric_limits<double>::max()};
  }
}

template <class C> struct BoundedBlock {
  using X = typename WideOf<C>::Type;
  X *exact;
  double *bound;
};

constexpr double unboundedError = std::numeric_limits<double>::infinity();

/// Rounds what is known to `bound` to `storage`. Beyond its range nothing is
/// known.
template <class C>
void roundBound(BoundedBlock<C> out, size_t n, coll_dtype storage) {
  const FormatBounds format = boundsOf(storage);
  for (size_t i = 0; i < n; ++i) {
    double magnitude = std::abs(double(out.exact[i])) + out.bound[i];
    double bound = out.bound[i] + magnitude * format.relative + format.absolute;
    out.bound[i] = magnitude > format.largest ? unboundedError : bound;
  }
}

/// acc = acc op in, computed in the compute type of `accum`.
template <class C>
void combineBound(BoundedBlock<C> acc, BoundedBlock<C> in, size_t n, coll_op op,
                  coll_dtype accum) {
  using X = typename WideOf<C>::Type;
  // The wide type rounds too, by far less.
  constexpr double wide = 2 * double(std::numeric_limits<X>::epsilon());
  switch (op) {
  case COLL_MIN:
  case COLL_MAX:
    for (size_t i = 0; i < n; ++i) {
      acc.exact[i] = op == COLL_MIN ? minOne(acc.exact[i], in.exact[i])
                                    : maxOne(acc.exact[i], in.exact[i]);
      acc.bound[i] = std::max(acc.bound[i], in.bound[i]);
    }
    return;
  case COLL_PROD:
    for (size_t i = 0; i < n; ++i) {
      double a = std::abs(double(acc.exact[i])),
             b = std::abs(double(in.exact[i]));
      acc.bound[i] = a * in.bound[i] + b * acc.bound[i] +
                     acc.bound[i] * in.bound[i] + a * b * wide;
      acc.exact[i] *= in.exact[i];
    }
    return roundBound<C>(acc, n, accum);
  default:
    for (size_t i = 0; i < n; ++i) {
      acc.exact[i] += in.exact[i];
      acc.bound[i] += in.bound[i] + std::abs(double(acc.exact[i])) * wide;
    }
    return roundBound<C>(acc, n, accum);
  }
}

/// The sum of so many numbers in whatever order: no sum of some of them is
/// larger than that of all magnitudes, and all but one are rounded.
template <class C>
void boundAnyOrder(BoundedBlock<C> sum, const double *magnitudes,
                   const double *bounds, size_t n, size_t count,
                   coll_dtype accum) {
  const FormatBounds format = boundsOf(accum);
  for (size_t i = 0; i < n; ++i) {
    double largest = magnitudes[i] * (1 + double(count) * format.relative);
    double bound = bounds[i] + double(count - 1) * (largest * format.relative +
                                                    format.absolute);
    sum.bound[i] = largest > format.largest ? unboundedError
                                            : std::max(sum.bound[i], bound);
  }
}

} // namespace coll::interpreter

#endif // COLL_LIB_ANALYSIS_INTERPRETERBOUND_H
