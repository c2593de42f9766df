//===- MapLimits.cpp - What map may ask for ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/MapLimits.h"

#include "llvm/ADT/StringSwitch.h"

using namespace coll;

MapLimit coll::mapLimitOf(llvm::StringRef directive) {
  return llvm::StringSwitch<MapLimit>(directive)
      .Case("slots", {1, maxSlots, 1, true})
      .Case("slot", {64, maxSlotBytes, 64})
      .Case("round", {1, maxRoundBytes})
      .Cases({"sizes", "scratch"}, {0, INT64_MAX})
      .Case("channel", {0, INT32_MAX})
      .Cases({"block", "recv_block"}, {0, maxProgramBlocks - 1})
      .Default({});
}

std::string coll::describe(const MapLimit &limit) {
  std::string what = limit.isPowerOfTwo ? "a power of two "
                     : limit.step != 1
                         ? "a multiple of " + std::to_string(limit.step) + " "
                         : "";
  bool isBounded = limit.high != INT64_MAX;
  return what + "from " + std::to_string(limit.low) +
         (isBounded ? " to " + std::to_string(limit.high) : " on");
}
