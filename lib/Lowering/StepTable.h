//===- StepTable.h - Classes of ranks as words ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what coll_class (coll/abi.h) describes: the words that all ranks of a
// class share and the relocations that make them a rank's own.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_STEPTABLE_H
#define COLL_LIB_LOWERING_STEPTABLE_H

#include "lib/Analysis/RankClass.h"
#include "lib/Lowering/StepShape.h"

#include <functional>

namespace coll::lowering {

struct WordReloc {
  uint32_t word;
  RelocTerms terms;
};

/// coll_class, with vectors instead of pointers.
struct ClassTable {
  std::vector<uint32_t> words;
  std::vector<WordReloc> relocs;
  std::vector<uint32_t> steps; // word offset of each
  uint32_t sendEnds = 0, numSendEnds = 0, recvEnds = 0, numRecvEnds = 0;
  uint32_t programBlocks = 1;
  uint32_t entry[2] = {
      0,
      0}; // out of place, in place; the same when the contract has no `inplace`
  uint32_t scratchSlots[2] = {0, 0};
  uint32_t present = 0;
  uint32_t partSizes = 0, sizeStride = 0;
  uint32_t given = 0, numGiven = 0;
  uint32_t aliases = 0, numAliases = 0;
};

/// `siteOf` numbers the sites of the plan.
ClassTable buildClassTable(const ProgramSet &programs,
                           const RankClass &rankClass, ShapeTable &shapes,
                           const std::function<uint32_t(SiteId)> &siteOf);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_STEPTABLE_H
