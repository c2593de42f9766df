//===- MapLimits.h - What map may ask for ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What plans and runtimes can hold, for those that must not see the runtime's
// headers; lib/Target/PlanData.cpp compares it with coll/abi.h.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_MAPLIMITS_H
#define COLL_LIB_ANALYSIS_MAPLIMITS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace coll {

constexpr uint32_t maxSlots = 8;             // COLL_MAX_SLOTS
constexpr uint32_t maxSlotBytes = 1u << 30;  // COLL_MAX_SLOT_BYTES
constexpr uint32_t maxRoundBytes = 1u << 28; // COLL_MAX_ROUND_BYTES
constexpr uint32_t maxSlices = UINT16_MAX;   // of a message
/// Blocks of a rank, instances counted (COLL_MAX_BLOCKS); channels from one
/// rank to another, instances counted; sources or sinks of a step; steps of all
/// blocks of a rank, both variants (COLL_MAX_STEPS).
constexpr uint32_t maxProgramBlocks = 64, maxProgramTags = 64,
                   maxStepPorts = 4096, maxProgramSteps = 1u << 20;

/// What an amount or a placement in `map` may be: `low` to `high`, and a power
/// of two or a multiple of `step`.
struct MapLimit {
  int64_t low = 1, high = INT32_MAX, step = 1;
  bool isPowerOfTwo = false;

  bool allows(int64_t value) const {
    return low <= value && value <= high && value % step == 0 &&
           (!isPowerOfTwo || (value & (value - 1)) == 0);
  }
};
/// Of a directive that takes numbers.
MapLimit mapLimitOf(llvm::StringRef directive);
/// "a power of two from 1 to 8"
std::string describe(const MapLimit &limit);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_MAPLIMITS_H
