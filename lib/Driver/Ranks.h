//===- Ranks.h - What --ranks says ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_RANKS_H
#define COLL_LIB_DRIVER_RANKS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace coll {

/// One argument of --ranks: `8`, `2,4`, or `2..9` (half open, as in the
/// language).
struct RankSpec {
  std::vector<uint32_t> dims; // `8` or `2,4`; empty for a range
  uint32_t low = 0, high = 0; // the range
  bool isRange() const { return dims.empty(); }
};

llvm::Expected<RankSpec> parseRankSpec(llvm::StringRef text);

/// The rank spaces of `numDims` dimensions that the specs name, each once, in
/// order. A range, and a plain number where the schedule has a grid, stand for
/// every shape of those sizes. Fails where a grid is named and the schedule has
/// another number of dimensions.
llvm::Expected<std::vector<std::vector<uint32_t>>>
rankSpaces(llvm::ArrayRef<RankSpec> specs, unsigned numDims);

} // namespace coll
#endif // COLL_LIB_DRIVER_RANKS_H
