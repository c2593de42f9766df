//===- RowOrder.h - In which order a row is summed --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element i of a row goes to partial result i mod 2048, in order; then the
// partial results are combined in adjacent pairs, level by level. For rows of
// up to 2048 elements this is a sum in pairs, whose error grows with the
// logarithm of their length; for longer ones a block of 256 threads has 8
// partial results each, consecutive ones, which is what its loads of 16 bytes
// bring; and a processor adds whole vectors.
//
// Sums start at +0. As neither +0 + x nor a sum of such is ever -0, partial
// results that no element goes to can be left out; so can those of a maximum,
// which starts at -infinity.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_ROWORDER_H
#define COLL_LIB_SUPPORT_ROWORDER_H

#include <algorithm>
#include <cstddef>
#include <vector>

namespace coll {

constexpr unsigned rowPartials = 2048;

/// The meaning that all targets have to match.
template <class C, class Combine>
C foldRow(const C *row, size_t elements, C start, Combine combine) {
  std::vector<C> partials(rowPartials, start);
  for (size_t i = 0; i < elements; ++i)
    partials[i % rowPartials] = combine(partials[i % rowPartials], row[i]);
  for (size_t n = rowPartials / 2; n != 0; n /= 2)
    for (size_t j = 0; j < n; ++j)
      partials[j] = combine(partials[2 * j], partials[2 * j + 1]);
  return partials[0];
}

} // namespace coll
#endif // COLL_LIB_SUPPORT_ROWORDER_H
