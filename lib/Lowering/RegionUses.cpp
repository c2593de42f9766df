//===- RegionUses.cpp - Who touches a region of a buffer ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/RegionUses.h"

#include <algorithm>

namespace coll::lowering {

RegionUses::RegionUses(const RankProgram &program, const ProgramMember &member,
                       Rank rank, Variant variant) {
  if (std::none_of(program.ports.begin(), program.ports.end(),
                   [](const Port &p) { return p.direct != Port::None; }))
    return;
  for (const InplacePair &pair : member.inplacePairs)
    if (variant == Variant::InPlace && pair.rank == rank)
      aliases[{pair.bufferB, pair.partB}] = {pair.bufferA, pair.partA};
  for (uint32_t b = 0; b < program.blocks.size(); ++b)
    for (uint32_t s = 0; s < program.blocks[b].steps.size(); ++s) {
      const Step &step = program.blocks[b].steps[s];
      for (uint32_t i = 0; i < uint32_t(step.numSources) + step.numSinks; ++i)
        if (const Port &port = program.ports[step.firstPort + i];
            (port.kind == Port::Load || port.kind == Port::Store) &&
            port.loc.space == Location::Buffer)
          uses[regionOf(port.loc)].push_back({b, s});
    }
}

bool RegionUses::isAlone(const Location &loc, uint32_t block,
                         uint32_t index) const {
  const auto &all = uses.at(regionOf(loc));
  return std::all_of(all.begin(), all.end(),
                     [&](auto use) { return use == std::pair(block, index); });
}

/// Whether all regions that are put to, or that what is got is stored in, are
/// touched by nothing else: on every rank, in place or not, since ranks of a
/// class share their words and peers choose variants by themselves. Then a
/// message of any round may be moved in the first. What gets come from is a
/// launch input and there from the start.
Ahead findAhead(const ProgramMember &member) {
  Ahead ahead = {true, true};
  for (Variant which : {Variant::OutOfPlace, Variant::InPlace}) {
    const std::vector<RankProgram> &ranks =
        which == Variant::InPlace ? member.inPlace : member.outOfPlace;
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      const RankProgram &program = ranks[rank];
      RegionUses uses(program, member, rank, which);
      for (uint32_t b = 0; b < program.blocks.size(); ++b)
        for (uint32_t s = 0; s < program.blocks[b].steps.size(); ++s) {
          const Step &step = program.blocks[b].steps[s];
          const Port &source = program.ports[step.firstPort];
          if (step.numSources != 1 || source.kind != Port::Recv)
            continue;
          if (source.direct == Port::Put)
            ahead.puts &= uses.isAlone(source.loc, b, s);
          const Port &sink = program.ports[step.firstPort + 1];
          if (source.direct == Port::Get && step.numSinks == 1 &&
              sink.kind == Port::Store && sink.loc.space == Location::Buffer)
            ahead.gets &= uses.isAlone(sink.loc, b, s);
        }
    }
  }
  return ahead;
}

} // namespace coll::lowering
