//===- RankClass.cpp - Ranks that run the same program --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every program is flattened into what must be equal, which is hashed, and what
// may vary, which is a list of numbers. Ranks of equal hash form a class if all
// their numbers are functions that RankClassFit can write. If not they are
// split: by the displacements of their peers, then by one coordinate, and in
// the end by the numbers themselves.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/RankClass.h"
#include "lib/Analysis/RankClassFit.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <map>

using namespace coll;
using namespace coll::classes;

namespace {
struct Hasher {
  uint64_t state = 0x243f6a8885a308d3u;
  void add(uint64_t word) {
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  }
};

/// One rank of one member.
struct Flat {
  uint32_t member;
  Rank rank;
  uint64_t fixed = 0; // hash
  std::vector<uint32_t> numbers =
      {}; // in the order of `fields`, the same for equal `fixed`
};

class Classifier {
public:
  explicit Classifier(const ProgramSet &programs);
  ClassSet run();

private:
  Flat flatten(uint32_t member, Rank rank, std::vector<FieldRef> *fields) const;
  void flattenProgram(const RankProgram &program, Variant variant,
                      const ProgramMember &member, Flat &flat, Hasher &hash,
                      std::vector<FieldRef> *fields) const;
  void classify(std::vector<uint32_t> group);
  bool makeClass(const std::vector<uint32_t> &group);
  template <typename KeyOf>
  std::vector<std::vector<uint32_t>> split(const std::vector<uint32_t> &group,
                                           KeyOf keyOf) const;
  std::vector<uint32_t> displacements(const Flat &flat) const;
  std::vector<uint32_t> coords(Rank rank) const;
  Rank rootOf(uint32_t member) const {
    return hasRoots ? programs.members[member].launchValues[0] : 0;
  }
  bool checkRotation() const;

  const ProgramSet &programs;
  bool hasRoots = false; // members are one per rank, in order
  std::vector<Flat> flats;
  ClassSet result;
};
} // namespace

Classifier::Classifier(const ProgramSet &programs) : programs(programs) {
  const uint32_t ranks = programs.numRanks();
  hasRoots = programs.members.size() == ranks && programs.members.size() > 1 &&
             programs.launchNames.size() == 1;
  for (uint32_t m = 0; m < programs.members.size() && hasRoots; ++m)
    hasRoots = programs.members[m].launchValues.size() == 1 &&
               programs.members[m].launchValues[0] == m;
}

void Classifier::flattenProgram(const RankProgram &program, Variant variant,
                                const ProgramMember &member, Flat &flat,
                                Hasher &hash,
                                std::vector<FieldRef> *fields) const {
  auto vary = [&](FieldRef::Kind kind, uint32_t index, uint32_t number) {
    flat.numbers.push_back(number);
    if (fields)
      fields->push_back({kind, variant, index});
  };
  hash.add(program.blocks.size());
  hash.add(program.scratchSlots);
  // Both variants have the same ends.
  hash.add(program.sendEnds.size() << 32 | program.recvEnds.size());
  for (uint32_t i = 0; i < program.sendEnds.size(); ++i) {
    vary(FieldRef::SendPeer, i, program.sendEnds[i].peer);
    vary(FieldRef::SendTag, i, program.sendEnds[i].tag);
  }
  for (uint32_t i = 0; i < program.recvEnds.size(); ++i) {
    vary(FieldRef::RecvPeer, i, program.recvEnds[i].peer);
    vary(FieldRef::RecvTag, i, program.recvEnds[i].tag);
  }
  uint32_t number = 0;
  for (const BlockProgram &block : program.blocks) {
    hash.add(block.steps.size());
    for (const Step &step : block.steps) {
      bool isToken = programs.sizes[step.size].isToken();
      hash.add(uint64_t(step.numSources) << 48 | uint64_t(step.numSinks) << 32 |
               step.expr);
      hash.add(uint64_t(step.type) << 48 | uint64_t(step.complete) << 40 |
               uint64_t(isToken) << 41 | step.site);
      vary(FieldRef::StepChunk, number, step.chunk);
      vary(FieldRef::StepSize, number, step.size);
      vary(FieldRef::StepShift, number, step.shift);
      ++number;
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p) {
        const Port &port = program.ports[p];
        bool isMemory = port.kind == Port::Load || port.kind == Port::Store;
        uint64_t flags = port.scaled | port.scaledRounded << 1 |
                         port.receivedScaled << 2 | isMemory << 3 |
                         port.ahead << 4;
        hash.add(uint64_t(port.kind) << 56 | uint64_t(port.type) << 48 |
                 flags << 40 | uint64_t(port.direct) << 36 |
                 (isMemory ? 0 : port.end));
        if (!isMemory && port.direct == Port::None)
          continue;
        bool inScratch = port.loc.space == Location::Scratch;
        hash.add(uint64_t(inScratch) << 63 |
                 (inScratch ? port.loc.part : port.loc.buffer));
        if (inScratch)
          continue;
        vary(FieldRef::PortPart, p, port.loc.part);
        vary(FieldRef::PortChunk, p, port.loc.chunk);
      }
      hash.add(step.numWaits);
      for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits;
           ++w) {
        const BlockWait &wait = program.waits[w];
        hash.add(uint64_t(wait.block) << 33 | uint64_t(wait.step) << 1 |
                 wait.previousRound);
      }
    }
  }
}

Flat Classifier::flatten(uint32_t m, Rank rank,
                         std::vector<FieldRef> *fields) const {
  const ProgramMember &member = programs.members[m];
  Flat flat{m, rank};
  Hasher hash;
  auto vary = [&](FieldRef::Kind kind, uint32_t index, uint32_t number) {
    flat.numbers.push_back(number);
    if (fields)
      fields->push_back({kind, Variant::OutOfPlace, index});
  };
  uint32_t flatPart = 0;
  for (const Buffer &buffer : member.buffers) {
    bool isPresent = buffer.present[rank];
    hash.add(uint64_t(isPresent) << 32 | buffer.parts);
    for (uint32_t part = 0; part < buffer.parts; ++part, ++flatPart)
      vary(FieldRef::PartSize, flatPart,
           isPresent ? buffer.sizeOf(rank, part) : 0);
  }
  auto before = [](const InplacePair &pair, Rank r) { return pair.rank < r; };
  auto pair = std::lower_bound(member.inplacePairs.begin(),
                               member.inplacePairs.end(), rank, before);
  for (uint32_t i = 0; pair != member.inplacePairs.end() && pair->rank == rank;
       ++pair, ++i) {
    hash.add(uint64_t(pair->bufferA) << 32 | pair->bufferB);
    vary(FieldRef::AliasPart, 4 * i, pair->partA);
    vary(FieldRef::AliasPart, 4 * i + 2, pair->partB);
  }
  flattenProgram(member.outOfPlace[rank], Variant::OutOfPlace, member, flat,
                 hash, fields);
  if (!member.inPlace.empty())
    flattenProgram(member.inPlace[rank], Variant::InPlace, member, flat, hash,
                   fields);
  hash.add(flat.numbers.size());
  flat.fixed = hash.state;
  return flat;
}

std::vector<uint32_t> Classifier::coords(Rank rank) const {
  std::vector<uint32_t> result(programs.rankDims.size());
  for (size_t d = result.size(); d-- > 0; rank /= programs.rankDims[d])
    result[d] = rank % programs.rankDims[d];
  return result;
}

std::vector<uint32_t> Classifier::displacements(const Flat &flat) const {
  std::vector<uint32_t> result, own = coords(flat.rank);
  const RankProgram &program =
      programs.members[flat.member].outOfPlace[flat.rank];
  for (const auto *ends : {&program.sendEnds, &program.recvEnds})
    for (const ChannelEnd &end : *ends) {
      std::vector<uint32_t> peer = coords(end.peer);
      for (size_t d = 0; d < own.size(); ++d)
        result.push_back((peer[d] + programs.rankDims[d] - own[d]) %
                         programs.rankDims[d]);
    }
  return result;
}

/// A class of the whole group, if all numbers are functions of the coordinates.
bool Classifier::makeClass(const std::vector<uint32_t> &group) {
  std::vector<Rank> ranks, roots;
  for (uint32_t f : group) {
    ranks.push_back(flats[f].rank);
    roots.push_back(rootOf(flats[f].member));
  }
  Samples samples(programs.rankDims, std::move(ranks), std::move(roots));
  const size_t count = flats[group[0]].numbers.size();
  // Many fields are the same function: each is looked for once.
  std::map<std::vector<uint32_t>, RelocTerms> known;
  std::vector<const RelocTerms *> terms(count);
  std::vector<uint32_t> column(group.size());
  for (size_t i = 0; i < count; ++i) {
    bool varies = false;
    for (size_t s = 0; s < group.size(); ++s) {
      column[s] = flats[group[s]].numbers[i];
      varies |= column[s] != column[0];
    }
    if (!varies)
      continue;
    auto it = known.find(column);
    if (it == known.end()) {
      std::optional<RelocTerms> found = samples.fit(column, hasRoots);
      if (!found)
        return false;
      it = known.emplace(column, std::move(*found)).first;
    }
    terms[i] = &it->second;
  }
  RankClass rankClass;
  rankClass.member = flats[group[0]].member;
  rankClass.rank = flats[group[0]].rank;
  std::vector<FieldRef> fields;
  flatten(rankClass.member, rankClass.rank, &fields);
  for (size_t i = 0; i < count; ++i)
    if (terms[i])
      rankClass.relocs.emplace(fields[i].key(), *terms[i]);
  for (uint32_t f : group)
    result.classOf[flats[f].member][flats[f].rank] = result.classes.size();
  result.classes.push_back(std::move(rankClass));
  return true;
}

/// Groups of equal keys, in the order of their first members.
template <typename KeyOf>
std::vector<std::vector<uint32_t>>
Classifier::split(const std::vector<uint32_t> &group, KeyOf keyOf) const {
  std::map<decltype(keyOf(flats[0])), uint32_t> ids;
  std::vector<std::vector<uint32_t>> groups;
  for (uint32_t f : group) {
    auto [it, isNew] = ids.try_emplace(keyOf(flats[f]), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[it->second].push_back(f);
  }
  return groups;
}

void Classifier::classify(std::vector<uint32_t> group) {
  if (makeClass(group))
    return;
  for (const auto &alike :
       split(group, [&](const Flat &flat) { return displacements(flat); })) {
    if (makeClass(alike))
      continue;
    bool isDone = false;
    // By the coordinate that leaves the largest classes first.
    for (size_t d = 0; d < programs.rankDims.size() &&
                       programs.rankDims.size() > 1 && !isDone;
         ++d) {
      size_t before = result.classes.size();
      isDone = true;
      for (const auto &line :
           split(alike, [&](const Flat &flat) { return coords(flat.rank)[d]; }))
        isDone = isDone && makeClass(line);
      if (!isDone)
        result.classes.resize(before);
    }
    if (isDone)
      continue;
    for (const auto &same :
         split(alike, [&](const Flat &flat) { return flat.numbers; }))
      makeClass(same);
  }
}

/// Whether class numbers depend on rank - root alone.
bool Classifier::checkRotation() const {
  if (!hasRoots)
    return false;
  for (uint32_t m = 1; m < programs.members.size(); ++m) {
    std::vector<uint32_t> root = coords(rootOf(m));
    for (Rank rank = 0; rank < programs.numRanks(); ++rank) {
      std::vector<uint32_t> at = coords(rank);
      Rank rotated = 0;
      for (size_t d = 0; d < at.size(); ++d)
        rotated =
            rotated * programs.rankDims[d] +
            (at[d] + programs.rankDims[d] - root[d]) % programs.rankDims[d];
      if (result.classOf[m][rank] != result.classOf[0][rotated])
        return false;
    }
  }
  return true;
}

ClassSet Classifier::run() {
  const uint32_t ranks = programs.numRanks();
  for (uint32_t m = 0; m < programs.members.size(); ++m)
    for (Rank rank = 0; rank < ranks; ++rank)
      flats.push_back(flatten(m, rank, nullptr));
  result.classOf.assign(programs.members.size(),
                        std::vector<uint32_t>(ranks, kNone));
  std::vector<uint32_t> all(flats.size());
  for (uint32_t f = 0; f < all.size(); ++f)
    all[f] = f;
  for (auto &group : split(all, [](const Flat &flat) {
         return std::pair(flat.fixed, flat.numbers.size());
       }))
    classify(std::move(group));
  // Numbered by the first rank that has them.
  std::vector<uint32_t> numbers(result.classes.size(), kNone);
  std::vector<RankClass> ordered;
  for (auto &row : result.classOf)
    for (uint32_t &id : row) {
      if (numbers[id] == kNone) {
        numbers[id] = ordered.size();
        ordered.push_back(std::move(result.classes[id]));
      }
      id = numbers[id];
    }
  result.classes = std::move(ordered);
  result.rotates = checkRotation();
  return std::move(result);
}

ClassSet coll::classifyRanks(const ProgramSet &programs) {
  return Classifier(programs).run();
}

uint32_t coll::evaluate(const RelocTerms &terms, const ProgramSet &programs,
                        Rank rank, Rank root) {
  uint32_t sum = 0;
  for (const RelocTerm &term : terms) {
    uint32_t rest = term.ofRoot ? root : rank;
    for (size_t d = programs.rankDims.size(); --d > term.dim;)
      rest /= programs.rankDims[d];
    int64_t value = (int64_t(term.base) +
                     term.sign * int64_t(rest % programs.rankDims[term.dim])) %
                    int64_t(term.size);
    sum += uint32_t(value < 0 ? value + term.size : value) * term.stride;
  }
  return sum;
}
