//===- RegionUses.h - Who touches a region of a buffer ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_LOWERING_REGIONUSES_H
#define COLL_LIB_LOWERING_REGIONUSES_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <map>
#include <tuple>

namespace coll::lowering {

/// Who touches a region of a launch buffer, by place in a rank's program.
class RegionUses {
public:
  RegionUses(const RankProgram &program, const ProgramMember &member, Rank rank,
             Variant variant);
  /// Does nothing touch a buffer's region but this step?
  bool isAlone(const Location &loc, uint32_t block, uint32_t index) const;

private:
  using Region = std::tuple<uint32_t, uint32_t, uint32_t>;
  Region regionOf(const Location &loc) const {
    auto alias = aliases.find({loc.buffer, loc.part});
    auto [buffer, part] =
        alias == aliases.end()
            ? std::pair<uint32_t, uint32_t>(loc.buffer, loc.part)
            : alias->second;
    return {buffer, part, loc.chunk};
  }
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>>
      aliases;
  std::map<Region, std::vector<std::pair<uint32_t, uint32_t>>> uses;
};

/// Whether what the kernel moves by itself may be moved in the first round for
/// all rounds: puts, and gets of steps that only store what they get.
struct Ahead {
  bool puts = false, gets = false;
};
Ahead findAhead(const ProgramMember &member);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_REGIONUSES_H
