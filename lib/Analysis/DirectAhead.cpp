//===- DirectAhead.cpp - What may be moved in the first round -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounds are there for the ring. What one call can move between two launch
// buffers it moves for all of them in the first, if nothing has to come before.
// Here that is found for the simplest of reasons; DirectCheck.h proves it.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/DirectOrder.h"

#include <algorithm>

using namespace coll;
using namespace coll::direct;

namespace {
/// Who touches a chunk of a buffer.
struct Uses {
  const Step *step = nullptr; ///< the last
  bool isShared = false;      ///< other steps, too
  uint32_t stores = 0, puts = 0, gets = 0;
};

/// Of one variant.
class Buffers {
public:
  Buffers(const ProgramMember &member, Variant variant)
      : run(member, variant), member(member), variant(variant) {
    for (uint32_t b = 0; b < run.blocks.size(); ++b)
      addBlock(b);
    for (const Message &message : run.messages)
      if (message.direct != Port::None) {
        const End owner = message.owner();
        Uses &uses = of(run.blocks[owner.block].rank, run.portAt(owner).loc);
        ++(message.direct == Port::Put ? uses.puts : uses.gets);
      }
  }
  /// Nothing touches it but this step, and so many messages that are put there.
  bool isAlone(Rank rank, const Location &where, const Step &step,
               uint32_t puts) {
    const Uses &uses = of(rank, where);
    return uses.step == &step && !uses.isShared && uses.puts == puts &&
           uses.gets == 0;
  }
  bool isConstant(Rank rank, const Location &where) {
    const Uses &uses = of(rank, where);
    return uses.stores + uses.puts == 0;
  }
  bool isOf(const Port &port, Buffer::Kind kind) const {
    return (port.kind == Port::Load || port.kind == Port::Store) &&
           port.loc.space == Location::Buffer &&
           member.buffers[port.loc.buffer].kind == kind &&
           port.type == ElemType::T && !port.scaled && !port.scaledRounded;
  }

  const Run run;

private:
  Uses &of(Rank rank, const Location &where) {
    for (const InplacePair &pair : member.inplacePairs)
      if (variant == Variant::InPlace && pair.rank == rank &&
          pair.bufferB == where.buffer && pair.partB == where.part)
        return all[{rank, pair.bufferA, pair.partA, where.chunk}];
    return all[{rank, where.buffer, where.part, where.chunk}];
  }
  void addBlock(uint32_t b) {
    const RankProgram &program = run.programOf(b);
    for (const Step &step : program.blocks[run.blocks[b].block].steps)
      for (uint32_t i = 0; i < uint32_t(step.numSources) + step.numSinks; ++i) {
        const Port &port = program.ports[step.firstPort + i];
        if ((port.kind != Port::Load && port.kind != Port::Store) ||
            port.loc.space != Location::Buffer)
          continue;
        Uses &uses = of(run.blocks[b].rank, port.loc);
        uses.isShared |= uses.step && uses.step != &step;
        uses.step = &step;
        uses.stores += port.kind == Port::Store;
      }
  }

  const ProgramMember &member;
  const Variant variant;
  std::map<std::tuple<Rank, uint32_t, uint32_t, uint32_t>, Uses> all;
};
} // namespace

static bool onlyMoves(const ProgramSet &programs, const Step &step) {
  return step.numSources == 1 && programs.exprs[step.expr].isIdentity() &&
         step.type == ElemType::T && !step.complete &&
         !programs.sizes[step.size].isToken();
}

/// Of the region, where its owner does not decline.
static bool mayRegion(Buffers &buffers, const Message &message) {
  const End owner = message.owner();
  const Rank rank = buffers.run.blocks[owner.block].rank;
  const Location &region = buffers.run.portAt(owner).loc;
  return message.direct == Port::None ||
         (message.direct == Port::Put
              ? buffers.isAlone(rank, region, buffers.run.stepAt(owner), 1)
              : buffers.isConstant(rank, region));
}

/// Of the memory that it is moved from or to.
static bool mayMove(const ProgramSet &programs, Buffers &buffers,
                    const Message &message) {
  const End mover = message.mover();
  const Step &step = buffers.run.stepAt(mover);
  const Rank rank = buffers.run.blocks[mover.block].rank;
  const Port *ports =
      buffers.run.programOf(mover.block).ports.data() + step.firstPort;
  if (!onlyMoves(programs, step))
    return false;
  if (message.said == Port::Put)
    return buffers.isOf(ports[0], Buffer::In) &&
           buffers.isConstant(rank, ports[0].loc);
  return step.numSinks == 1 && buffers.isOf(ports[1], Buffer::Out) &&
         !ports[0].receivedScaled && !ports[0].scaledRounded &&
         buffers.isAlone(rank, ports[1].loc, step, 0);
}

void coll::direct::markAhead(const ProgramSet &programs,
                             ProgramMember &member) {
  std::vector<Buffers> variants;
  variants.emplace_back(member, Variant::OutOfPlace);
  if (!member.inPlace.empty())
    variants.emplace_back(member, Variant::InPlace);
  // The same messages in each.
  for (size_t m = 0; m < variants[0].run.messages.size(); ++m) {
    if (variants[0].run.messages[m].said == Port::None)
      continue;
    if (!std::ranges::all_of(variants, [&](Buffers &buffers) {
          return mayRegion(buffers, buffers.run.messages[m]);
        }))
      continue;
    for (size_t v = 0; v < variants.size(); ++v) {
      const Message &message = variants[v].run.messages[m];
      const End mover = message.mover();
      auto &ranks = v == 0 ? member.outOfPlace : member.inPlace;
      ranks[variants[v].run.blocks[mover.block].rank].ports[mover.port].ahead =
          mayMove(programs, variants[v], message);
    }
  }
}
