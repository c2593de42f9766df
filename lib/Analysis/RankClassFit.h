//===- RankClassFit.h - A number as a function of the rank ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks for terms ((base + sign * coordinate) mod size) * stride whose sum is a
// given function of the coordinates. The function has to be a sum of functions
// of one coordinate each; those are read off the samples that differ from the
// first in one coordinate only, and the sum is then compared with every sample,
// so a wrong guess costs a class, never a wrong number.
//
// A function of one coordinate is one wrapped line, or, if its domain is a
// power of two, a sum over the coordinate's bits: that is what r ^ d, and
// blocks of ranks, look like; bit j of c is ((c mod 2^(j+1)) - (c mod 2^j)) /
// 2^j.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_RANKCLASSFIT_H
#define COLL_LIB_ANALYSIS_RANKCLASSFIT_H

#include "lib/Analysis/RankClass.h"

#include <optional>
#include <span>

namespace coll::classes {

/// Where the numbers of a class come from: rank and root of each sample, as
/// coordinates.
class Samples {
public:
  Samples(const std::vector<uint32_t> &rankDims, std::vector<Rank> ranks,
          std::vector<Rank> roots);
  size_t size() const { return ranks.size(); }
  /// Nothing: no function of the rank (or, with `allowRoot`, of rank and root)
  /// that we can write. No terms: the same number everywhere.
  std::optional<RelocTerms> fit(std::span<const uint32_t> numbers,
                                bool allowRoot);

private:
  struct Axis {
    uint8_t dim;
    bool ofRoot;
    uint32_t size;
    std::vector<std::pair<uint32_t, uint32_t>>
        points; // coordinate, sample: differ from the first sample only here
  };
  uint32_t coordinate(bool ofRoot, uint8_t dim, size_t sample) const;
  std::vector<Axis> findAxes(bool useRank, bool useRoot) const;
  std::optional<RelocTerms> fitOver(const std::vector<Axis> &axes,
                                    std::span<const uint32_t> numbers) const;
  bool matches(const RelocTerms &terms,
               std::span<const uint32_t> numbers) const;

  const std::vector<uint32_t> &dims;
  std::vector<Rank> ranks, roots;
  std::vector<Axis> rankAxes, rootAxes, bothAxes;
};

} // namespace coll::classes

#endif // COLL_LIB_ANALYSIS_RANKCLASSFIT_H
