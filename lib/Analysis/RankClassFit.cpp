//===- RankClassFit.cpp - A number as a function of the rank --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/RankClassFit.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

using namespace coll;
using namespace coll::classes;

static uint32_t valueAt(const RelocTerm &term, uint32_t coordinate) {
  int64_t value = (int64_t(term.base) + term.sign * int64_t(coordinate)) %
                  int64_t(term.size);
  return uint32_t(value < 0 ? value + term.size : value) * term.stride;
}

static RelocTerm constant(uint32_t value) {
  if (value <= INT32_MAX)
    return {.base = int32_t(value), .size = 1u << 31, .stride = 1};
  return {.base = int32_t(-value), .size = 1u << 31, .stride = ~0u};
}

Samples::Samples(const std::vector<uint32_t> &rankDims, std::vector<Rank> ranks,
                 std::vector<Rank> roots)
    : dims(rankDims), ranks(std::move(ranks)), roots(std::move(roots)) {
  rankAxes = findAxes(true, false);
  rootAxes = findAxes(false, true);
  bothAxes = findAxes(true, true);
}

uint32_t Samples::coordinate(bool ofRoot, uint8_t dim, size_t sample) const {
  uint32_t rest = ofRoot ? roots[sample] : ranks[sample];
  for (size_t d = dims.size(); --d > dim;)
    rest /= dims[d];
  return rest % dims[dim];
}

/// One axis per coordinate in use. With only the rank (or the root) in use,
/// samples that differ in the other are not told apart.
std::vector<Samples::Axis> Samples::findAxes(bool useRank, bool useRoot) const {
  std::vector<Axis> axes;
  for (bool ofRoot : {false, true})
    for (uint8_t d = 0; d < dims.size() && (ofRoot ? useRoot : useRank); ++d)
      axes.push_back({d, ofRoot, dims[d], {}});
  for (size_t s = 0; s < ranks.size(); ++s) {
    Axis *differs = nullptr;
    int count = 0;
    for (Axis &axis : axes)
      if (coordinate(axis.ofRoot, axis.dim, s) !=
          coordinate(axis.ofRoot, axis.dim, 0)) {
        differs = &axis;
        ++count;
      }
    if (count == 1)
      differs->points.push_back(
          {coordinate(differs->ofRoot, differs->dim, s), uint32_t(s)});
  }
  for (Axis &axis : axes) {
    axis.points.push_back({coordinate(axis.ofRoot, axis.dim, 0), 0});
    std::sort(axis.points.begin(), axis.points.end());
    auto isSame = [](auto &a, auto &b) { return a.first == b.first; };
    axis.points.erase(
        std::unique(axis.points.begin(), axis.points.end(), isSame),
        axis.points.end());
  }
  return axes;
}

using Points = std::vector<std::pair<uint32_t, int64_t>>; // coordinate, number

/// k * (+-c), wrapped around every m: differences are k, or k - m * k.
static std::optional<RelocTerm> fitLine(const Points &points, uint32_t size,
                                        int64_t slope) {
  const int64_t stride = std::abs(slope);
  RelocTerm term{.base = 0,
                 .size = size,
                 .stride = uint32_t(stride),
                 .sign = int8_t(slope < 0 ? -1 : 1)};
  int64_t wrap = 0;
  size_t firstWrap = 0; // a wrap lies just before this point
  for (size_t i = 1; i < points.size(); ++i) {
    int64_t rest = points[i].second - points[i - 1].second -
                   slope * int64_t(points[i].first - points[i - 1].first);
    if (rest && !wrap)
      firstWrap = i;
    wrap = std::gcd(wrap, std::abs(rest));
  }
  if (!wrap) {
    term.base = slope < 0 ? int32_t(size - 1) : 0;
    return term;
  }
  if (wrap % stride || wrap / stride > INT32_MAX)
    return std::nullopt;
  const int64_t m = term.size = uint32_t(wrap / stride);
  auto matches = [&] {
    for (const auto &[c, number] : points)
      if (valueAt(term, c) - valueAt(term, points[0].first) !=
          uint32_t(number - points[0].second))
        return false;
    return true;
  };
  for (int64_t at = points[firstWrap - 1].first + 1;
       at <= points[firstWrap].first; ++at) {
    term.base = int32_t(slope > 0 ? (m - at % m) % m : (at - 1) % m);
    if (matches())
      return term;
  }
  return std::nullopt;
}

/// A line plus one that wraps once at the axis's own size: one slope, but for
/// one place.
static std::optional<RelocTerms> fitTwoLines(const Points &points,
                                             uint32_t size, int64_t slope) {
  int64_t jump = 0;
  uint32_t at = 0; // the wrapped line is at 0 here
  for (size_t i = 1; i < points.size(); ++i) {
    int64_t rest = points[i].second - points[i - 1].second -
                   slope * int64_t(points[i].first - points[i - 1].first);
    if (rest == 0)
      continue;
    if (jump || points[i].first != points[i - 1].first + 1)
      return std::nullopt;
    jump = rest;
    at = points[i].first;
  }
  if (!jump || jump % int64_t(size))
    return std::nullopt;
  const int64_t weight = -jump / int64_t(size);
  return RelocTerms{
      {.base = 0, .size = size, .stride = uint32_t(slope - weight), .sign = 1},
      {.base = int32_t(size - at),
       .size = size,
       .stride = uint32_t(weight),
       .sign = 1}};
}

/// A sum over the bits of the coordinate.
static std::optional<RelocTerms> fitBits(const Points &points, uint32_t size) {
  if (!std::has_single_bit(size) || points.size() != size)
    return std::nullopt;
  auto number = [&](uint32_t c) { return points[c].second - points[0].second; };
  const int bits = std::countr_zero(size);
  for (uint32_t c = 1; c < size; ++c)
    if (number(c) != number(c & (c - 1)) + number(c & -c))
      return std::nullopt;
  // weight[j] of bit j, over 2^j: of (c mod 2^(j+1)) - (c mod 2^j).
  RelocTerms terms;
  int64_t above = 0; // the weight of bit j + 1, over 2^(j+1)
  for (int j = bits; j-- > 0;) {
    int64_t weight = number(1u << j);
    if (weight % (int64_t(1) << j))
      return std::nullopt;
    weight >>= j;
    if (weight != above)
      terms.push_back({.base = 0,
                       .size = 2u << j,
                       .stride = uint32_t(weight - above),
                       .sign = 1});
    above = weight;
  }
  return terms;
}

static std::optional<RelocTerms> fitAxis(const Points &points, uint32_t size) {
  std::vector<int64_t> slopes;
  for (size_t i = 1; i < points.size() && slopes.size() < 4; ++i) {
    int64_t step = points[i].first - points[i - 1].first,
            rise = points[i].second - points[i - 1].second;
    if (rise % step == 0 &&
        std::find(slopes.begin(), slopes.end(), rise / step) == slopes.end())
      slopes.push_back(rise / step);
  }
  if (slopes.empty() || (slopes.size() == 1 && slopes[0] == 0))
    return RelocTerms{};
  std::optional<RelocTerm> best;
  for (int64_t slope : slopes)
    if (slope != 0)
      if (auto term = fitLine(points, size, slope);
          term && (!best || term->stride < best->stride))
        best = term;
  if (best)
    return RelocTerms{*best};
  for (int64_t slope : slopes)
    if (auto terms = fitTwoLines(points, size, slope))
      return terms;
  return fitBits(points, size);
}

bool Samples::matches(const RelocTerms &terms,
                      std::span<const uint32_t> numbers) const {
  for (size_t s = 0; s < numbers.size(); ++s) {
    uint32_t sum = 0;
    for (const RelocTerm &term : terms)
      sum += term.sign ? valueAt(term, coordinate(term.ofRoot, term.dim, s))
                       : valueAt(term, 0);
    if (sum != numbers[s])
      return false;
  }
  return true;
}

std::optional<RelocTerms>
Samples::fitOver(const std::vector<Axis> &axes,
                 std::span<const uint32_t> numbers) const {
  RelocTerms terms;
  uint32_t atFirst = 0;
  Points points;
  for (const Axis &axis : axes) {
    points.clear();
    for (auto [c, sample] : axis.points)
      points.push_back({c, numbers[sample]});
    std::optional<RelocTerms> ofAxis = fitAxis(points, axis.size);
    if (!ofAxis)
      return std::nullopt;
    for (RelocTerm &term : *ofAxis) {
      term.dim = axis.dim;
      term.ofRoot = axis.ofRoot;
      atFirst += valueAt(term, coordinate(axis.ofRoot, axis.dim, 0));
      terms.push_back(term);
    }
  }
  if (numbers[0] != atFirst)
    terms.push_back(constant(numbers[0] - atFirst));
  if (!matches(terms, numbers))
    return std::nullopt;
  return terms;
}

std::optional<RelocTerms> Samples::fit(std::span<const uint32_t> numbers,
                                       bool allowRoot) {
  if (std::all_of(numbers.begin(), numbers.end(),
                  [&](uint32_t n) { return n == numbers[0]; }))
    return RelocTerms{};
  if (auto terms = fitOver(rankAxes, numbers))
    return terms;
  if (!allowRoot)
    return std::nullopt;
  if (auto terms = fitOver(rootAxes, numbers))
    return terms;
  return fitOver(bothAxes, numbers);
}
