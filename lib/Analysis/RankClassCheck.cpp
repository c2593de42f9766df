//===- RankClassCheck.cpp - Do classes say what programs say? -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/RankClassCheck.h"

#include <tuple>

using namespace coll;

namespace {
/// One rank of one member against its class.
class Comparison {
public:
  Comparison(const ProgramSet &programs, const RankClass &cls, uint32_t member,
             Rank rank)
      : programs(programs), cls(cls), own(programs.members[member]),
        of(programs.members[cls.member]), rank(rank),
        root(own.launchValues.empty() ? 0 : own.launchValues[0]) {}
  /// Null: all is the same.
  const char *compare();

private:
  bool isNumber(FieldRef field, uint32_t ownNumber, uint32_t ofClass) const {
    const RelocTerms *terms = cls.termsOf(field);
    return ownNumber ==
           (terms ? evaluate(*terms, programs, rank, root) : ofClass);
  }
  const char *compareBuffers() const;
  const char *compareAliases() const;
  const char *compareProgram(Variant variant, const RankProgram &a,
                             const RankProgram &b) const;
  const char *compareStep(Variant variant, const RankProgram &a,
                          const RankProgram &b, const Step &x, const Step &y,
                          uint32_t number) const;
  bool isPort(Variant variant, uint32_t index, const Port &a,
              const Port &b) const;

  const ProgramSet &programs;
  const RankClass &cls;
  const ProgramMember &own, &of;
  Rank rank, root;
};
} // namespace

const char *Comparison::compareBuffers() const {
  uint32_t index = 0;
  for (uint32_t b = 0; b < own.buffers.size(); ++b) {
    const Buffer &x = own.buffers[b], &y = of.buffers[b];
    if (x.parts != y.parts || x.present[rank] != y.present[cls.rank])
      return "other buffers";
    for (uint32_t p = 0; p < x.parts; ++p, ++index)
      if (x.present[rank] &&
          !isNumber({FieldRef::PartSize, Variant::OutOfPlace, index},
                    x.sizeOf(rank, p), y.sizeOf(cls.rank, p)))
        return "another size of a part";
  }
  return nullptr;
}

const char *Comparison::compareAliases() const {
  std::vector<InplacePair> x, y;
  for (const InplacePair &pair : own.inplacePairs)
    if (pair.rank == rank)
      x.push_back(pair);
  for (const InplacePair &pair : of.inplacePairs)
    if (pair.rank == cls.rank)
      y.push_back(pair);
  if (x.size() != y.size())
    return "other parts that may share memory";
  for (uint32_t i = 0; i < x.size(); ++i)
    if (x[i].bufferA != y[i].bufferA || x[i].bufferB != y[i].bufferB ||
        !isNumber({FieldRef::AliasPart, Variant::OutOfPlace, 4 * i}, x[i].partA,
                  y[i].partA) ||
        !isNumber({FieldRef::AliasPart, Variant::OutOfPlace, 4 * i + 2},
                  x[i].partB, y[i].partB))
      return "other parts that may share memory";
  return nullptr;
}

bool Comparison::isPort(Variant variant, uint32_t index, const Port &a,
                        const Port &b) const {
  auto fixed = [](const Port &p) {
    bool isMemory = p.kind == Port::Load || p.kind == Port::Store;
    return std::tuple(p.kind, p.type, p.scaled, p.scaledRounded,
                      p.receivedScaled, isMemory ? 0 : p.end, p.loc.space,
                      p.loc.buffer, p.direct, p.ahead);
  };
  if (fixed(a) != fixed(b))
    return false;
  bool isMemory = a.kind == Port::Load || a.kind == Port::Store;
  if (!isMemory && a.direct == Port::None)
    return true;
  if (a.loc.space == Location::Scratch)
    return a.loc.part == b.loc.part;
  return isNumber({FieldRef::PortPart, variant, index}, a.loc.part,
                  b.loc.part) &&
         isNumber({FieldRef::PortChunk, variant, index}, a.loc.chunk,
                  b.loc.chunk);
}

const char *Comparison::compareStep(Variant variant, const RankProgram &a,
                                    const RankProgram &b, const Step &x,
                                    const Step &y, uint32_t number) const {
  auto fixed = [&](const Step &s) {
    return std::tuple(s.numSources, s.numSinks, s.expr, s.type, s.complete,
                      s.numWaits, s.site, programs.sizes[s.size].isToken());
  };
  if (fixed(x) != fixed(y))
    return "another step";
  if (!isNumber({FieldRef::StepChunk, variant, number}, x.chunk, y.chunk) ||
      !isNumber({FieldRef::StepSize, variant, number}, x.size, y.size) ||
      !isNumber({FieldRef::StepShift, variant, number}, x.shift, y.shift))
    return "another chunk, size or shift of a step";
  for (uint32_t w = 0; w < x.numWaits; ++w) {
    const BlockWait &p = a.waits[x.firstWait + w],
                    &q = b.waits[y.firstWait + w];
    if (std::tie(p.block, p.step, p.previousRound) !=
        std::tie(q.block, q.step, q.previousRound))
      return "another wait";
  }
  for (uint32_t i = 0; i < uint32_t(x.numSources) + x.numSinks; ++i)
    if (!isPort(variant, y.firstPort + i, a.ports[x.firstPort + i],
                b.ports[y.firstPort + i]))
      return "another source or sink";
  return nullptr;
}

const char *Comparison::compareProgram(Variant variant, const RankProgram &a,
                                       const RankProgram &b) const {
  if (a.sendEnds.size() != b.sendEnds.size() ||
      a.recvEnds.size() != b.recvEnds.size() ||
      a.scratchSlots != b.scratchSlots || a.blocks.size() != b.blocks.size())
    return "other channels, scratch or blocks";
  for (uint32_t i = 0; i < a.sendEnds.size(); ++i)
    if (!isNumber({FieldRef::SendPeer, variant, i}, a.sendEnds[i].peer,
                  b.sendEnds[i].peer) ||
        !isNumber({FieldRef::SendTag, variant, i}, a.sendEnds[i].tag,
                  b.sendEnds[i].tag))
      return "another channel to a peer";
  for (uint32_t i = 0; i < a.recvEnds.size(); ++i)
    if (!isNumber({FieldRef::RecvPeer, variant, i}, a.recvEnds[i].peer,
                  b.recvEnds[i].peer) ||
        !isNumber({FieldRef::RecvTag, variant, i}, a.recvEnds[i].tag,
                  b.recvEnds[i].tag))
      return "another channel from a peer";
  uint32_t number = 0;
  for (uint32_t block = 0; block < a.blocks.size(); ++block) {
    const std::vector<Step> &x = a.blocks[block].steps,
                            &y = b.blocks[block].steps;
    if (x.size() != y.size())
      return "another number of steps";
    for (uint32_t s = 0; s < x.size(); ++s, ++number)
      if (const char *what = compareStep(variant, a, b, x[s], y[s], number))
        return what;
  }
  return nullptr;
}

const char *Comparison::compare() {
  if (const char *what = compareBuffers())
    return what;
  if (const char *what = compareAliases())
    return what;
  if (own.inPlace.empty() != of.inPlace.empty())
    return "no program in place";
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
    bool isInPlace = variant == Variant::InPlace;
    if (isInPlace && own.inPlace.empty())
      continue;
    if (const char *what = compareProgram(
            variant, (isInPlace ? own.inPlace : own.outOfPlace)[rank],
            (isInPlace ? of.inPlace : of.outOfPlace)[cls.rank]))
      return what;
  }
  return nullptr;
}

std::string coll::checkClasses(const ProgramSet &programs,
                               const ClassSet &set) {
  auto at = [](uint32_t member, Rank rank) {
    return " for rank " + std::to_string(rank) + ", member " +
           std::to_string(member);
  };
  for (uint32_t m = 0; m < programs.members.size(); ++m)
    for (Rank rank = 0; rank < programs.numRanks(); ++rank) {
      if (m >= set.classOf.size() || rank >= set.classOf[m].size() ||
          set.classOf[m][rank] >= set.classes.size())
        return "there is no class" + at(m, rank);
      const RankClass &cls = set.classes[set.classOf[m][rank]];
      if (cls.member >= programs.members.size() ||
          cls.rank >= programs.numRanks())
        return "a class has no program" + at(m, rank);
      if (const char *what = Comparison(programs, cls, m, rank).compare())
        return std::string("its class has ") + what + at(m, rank);
    }
  return "";
}
