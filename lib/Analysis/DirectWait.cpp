//===- DirectWait.cpp - When the arrival of puts is awaited ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/DirectWait.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace coll;

std::pair<DirectWait::Part, uint32_t>
DirectWait::regionOf(const Location &where) const {
  Part part{where.buffer, where.part};
  auto alias = aliases.find(part);
  return {alias == aliases.end() ? part : alias->second, where.chunk};
}

DirectWait::DirectWait(const ProgramMember &member, Rank rank, Variant variant)
    : program((variant == Variant::InPlace ? member.inPlace
                                           : member.outOfPlace)[rank]) {
  if (llvm::none_of(program.ports,
                    [](const Port &p) { return p.direct == Port::Put; }))
    return;
  for (const InplacePair &pair : member.inplacePairs)
    if (variant == Variant::InPlace && pair.rank == rank)
      aliases[{pair.bufferB, pair.partB}] = {pair.bufferA, pair.partA};
  silentFrom.resize(program.blocks.size());
  for (const BlockWait &wait : program.waits)
    silentFrom[wait.block] = std::max(silentFrom[wait.block], wait.step + 1);
  for (uint32_t b = 0; b < program.blocks.size(); ++b)
    for (uint32_t s = 0; s < program.blocks[b].steps.size(); ++s) {
      const Step &step = program.blocks[b].steps[s];
      for (uint32_t i = 0; i < uint32_t(step.numSources) + step.numSinks; ++i) {
        const Port &port = program.ports[step.firstPort + i];
        if (port.kind == Port::Send)
          silentFrom[b] = std::max(silentFrom[b], s + 1);
        if ((port.kind == Port::Load || port.kind == Port::Store) &&
            port.loc.space == Location::Buffer)
          uses[regionOf(port.loc)].push_back({b, s});
      }
    }
}

bool DirectWait::isDeferred(uint32_t block, uint32_t index) const {
  const Step &step = program.blocks[block].steps[index];
  const Port &source = program.ports[step.firstPort];
  if (step.numSources != 1 || step.numSinks != 1 ||
      source.direct != Port::Put || source.kind != Port::Recv ||
      index < silentFrom[block])
    return false;
  auto all = uses.find(regionOf(source.loc));
  return all != uses.end() && llvm::all_of(all->second, [&](auto use) {
           return use.first == block && use.second <= index;
         });
}

std::vector<std::vector<bool>>
coll::unorderedReceives(const ProgramMember &member, Variant variant) {
  std::vector<std::vector<bool>> result;
  for (Rank rank = 0; rank < member.outOfPlace.size(); ++rank) {
    // The messages of a channel are the same, in one order, in both variants.
    std::map<std::pair<Rank, uint32_t>, std::vector<bool>> unordered;
    auto forReceives = [&](Variant which, auto action) {
      std::map<std::pair<Rank, uint32_t>, uint32_t> received;
      const RankProgram &program =
          (which == Variant::InPlace ? member.inPlace
                                     : member.outOfPlace)[rank];
      for (uint32_t b = 0; b < program.blocks.size(); ++b)
        for (uint32_t s = 0; s < program.blocks[b].steps.size(); ++s) {
          const Step &step = program.blocks[b].steps[s];
          for (uint32_t p = step.firstPort;
               p < step.firstPort + step.numSources; ++p)
            if (const Port &port = program.ports[p]; port.kind == Port::Recv) {
              const ChannelEnd &end = program.recvEnds[port.end];
              std::vector<bool> &of = unordered[{end.peer, end.tag}];
              const uint32_t index = received[{end.peer, end.tag}]++;
              of.resize(std::max<size_t>(of.size(), index + 1));
              action(b, s, p, of, index);
            }
        }
    };
    for (Variant which : {Variant::OutOfPlace, Variant::InPlace}) {
      if (which == Variant::InPlace && member.inPlace.empty())
        continue;
      DirectWait wait(member, rank, which);
      const RankProgram &program =
          (which == Variant::InPlace ? member.inPlace
                                     : member.outOfPlace)[rank];
      forReceives(which, [&](uint32_t b, uint32_t s, uint32_t p,
                             std::vector<bool> &of, uint32_t index) {
        if (program.ports[p].direct == Port::Get || wait.isDeferred(b, s))
          of[index] = true;
      });
    }
    const RankProgram &program =
        (variant == Variant::InPlace ? member.inPlace
                                     : member.outOfPlace)[rank];
    std::vector<bool> &ports = result.emplace_back(program.ports.size());
    forReceives(variant,
                [&](uint32_t, uint32_t, uint32_t p, std::vector<bool> &of,
                    uint32_t index) { ports[p] = of[index]; });
  }
  return result;
}
