//===- StepTable.cpp - Classes of ranks as words --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/StepTable.h"

#include "lib/Analysis/DirectWait.h"
#include "lib/Lowering/StepWords.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <tuple>

namespace coll::lowering {

namespace {
class TableBuilder {
public:
  TableBuilder(const ProgramSet &programs, const RankClass &rankClass,
               ShapeTable &shapes,
               const std::function<uint32_t(SiteId)> &siteOf)
      : programs(programs), rankClass(rankClass),
        member(programs.members[rankClass.member]), shapes(shapes),
        siteOf(siteOf) {}
  ClassTable build();

private:
  void push(uint32_t word) { table.words.push_back(word); }
  void push(uint32_t word, FieldRef field);
  void ends();
  void buffers();
  void given();
  void aliases();
  void variant(const RankProgram &program, Variant which);
  void step(const RankProgram &program, const Step &step, Variant which,
            uint32_t number, uint32_t marks);
  void port(const Port &port, Variant which, uint32_t index, uint32_t marks);
  void blockEnds(const RankProgram &program, const BlockProgram &block);
  void directEnds(const RankProgram &program, const BlockProgram &block);

  const ProgramSet &programs;
  const RankClass &rankClass;
  const ProgramMember &member;
  ShapeTable &shapes;
  const std::function<uint32_t(SiteId)> &siteOf;
  ClassTable table;
};
} // namespace

void TableBuilder::push(uint32_t word, FieldRef field) {
  if (const RelocTerms *terms = rankClass.termsOf(field))
    table.relocs.push_back({static_cast<uint32_t>(table.words.size()), *terms});
  push(word);
}

void TableBuilder::ends() {
  const RankProgram &program = member.outOfPlace[rankClass.rank];
  table.sendEnds = table.words.size();
  table.numSendEnds = program.sendEnds.size();
  for (uint32_t i = 0; i < program.sendEnds.size(); ++i) {
    push(program.sendEnds[i].peer,
         {FieldRef::SendPeer, Variant::OutOfPlace, i});
    push(program.sendEnds[i].tag, {FieldRef::SendTag, Variant::OutOfPlace, i});
  }
  table.recvEnds = table.words.size();
  table.numRecvEnds = program.recvEnds.size();
  for (uint32_t i = 0; i < program.recvEnds.size(); ++i) {
    push(program.recvEnds[i].peer,
         {FieldRef::RecvPeer, Variant::OutOfPlace, i});
    push(program.recvEnds[i].tag, {FieldRef::RecvTag, Variant::OutOfPlace, i});
  }
}

/// One size per buffer where all parts are alike, else one per part.
void TableBuilder::buffers() {
  const std::vector<Buffer> &buffers = member.buffers;
  bool uniform = true;
  uint32_t flat = 0;
  for (uint32_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].kind != Buffer::Scalar && buffers[b].present[rankClass.rank])
      table.present |= 1u << b;
    for (uint32_t p = 0; p < buffers[b].parts; ++p, ++flat)
      uniform &=
          buffers[b].sizeOf(rankClass.rank, p) ==
              buffers[b].sizeOf(rankClass.rank, 0) &&
          !rankClass.termsOf({FieldRef::PartSize, Variant::OutOfPlace, flat});
  }
  table.partSizes = table.words.size();
  table.sizeStride = uniform ? 0 : 1;
  flat = 0;
  for (const Buffer &buffer : buffers) {
    for (uint32_t p = 0; p < buffer.parts; ++p)
      if (!uniform)
        push(buffer.sizeOf(rankClass.rank, p),
             {FieldRef::PartSize, Variant::OutOfPlace, flat + p});
    if (uniform)
      push(buffer.parts ? buffer.sizeOf(rankClass.rank, 0) : 0);
    flat += buffer.parts;
  }
}

/// The sizes whose counts a rank is given: those that its own buffers name, or
/// all when the contract says `global`. Constants are nobody's. What differs
/// from rank to rank is listed part by part, since another part may be the
/// repetition on another rank.
void TableBuilder::given() {
  table.given = table.words.size();
  std::set<uint32_t> seen;
  auto add = [&](uint32_t size, const FieldRef *field) {
    bool varies = field && rankClass.termsOf(*field);
    if (!varies && (programs.sizes[size].kind == SizeSymbol::Const ||
                    !seen.insert(size).second))
      return;
    field ? push(size, *field) : push(size);
    ++table.numGiven;
  };
  if (programs.globalCounts) {
    for (uint32_t s = 0; s < programs.sizes.size(); ++s)
      add(s, nullptr);
    return;
  }
  uint32_t flat = 0;
  for (const Buffer &buffer : member.buffers)
    for (uint32_t p = 0; p < buffer.parts; ++p, ++flat) {
      FieldRef field{FieldRef::PartSize, Variant::OutOfPlace, flat};
      if (buffer.present[rankClass.rank] && buffer.kind != Buffer::Scalar)
        add(buffer.sizeOf(rankClass.rank, p), &field);
    }
}

void TableBuilder::aliases() {
  table.aliases = table.words.size();
  uint32_t index = 0;
  for (const InplacePair &pair : member.inplacePairs) {
    if (pair.rank != rankClass.rank)
      continue;
    push(pair.bufferA);
    push(pair.partA, {FieldRef::AliasPart, Variant::OutOfPlace, 4 * index});
    push(pair.bufferB);
    push(pair.partB, {FieldRef::AliasPart, Variant::OutOfPlace, 4 * index + 2});
    push(1);
    ++index;
  }
  table.numAliases = index;
}

void TableBuilder::port(const Port &port, Variant which, uint32_t index,
                        uint32_t marks) {
  if (port.kind == Port::Recv || port.kind == Port::Send) {
    push(kPortChannel);
    push(port.end);
    if (port.direct == Port::None) {
      push(0);
      push(0);
      return;
    }
    push(port.loc.part, {FieldRef::PortPart, which, index});
    push(static_cast<uint32_t>(port.direct) | port.loc.buffer << 8 | marks);
    return;
  }
  bool inBuffer = port.loc.space == Location::Buffer;
  if (inBuffer && member.buffers[port.loc.buffer].kind == Buffer::Scalar) {
    uint32_t number = 0;
    for (uint32_t b = 0; b < port.loc.buffer; ++b)
      number += member.buffers[b].kind == Buffer::Scalar;
    push(kPortScalar);
    push(number);
    push(0);
    push(0);
    return;
  }
  push(kPortMemory);
  push(inBuffer ? port.loc.buffer : kScratch);
  if (inBuffer)
    push(port.loc.part, {FieldRef::PortPart, which, index});
  else
    push(port.loc.part);
  push(marks);
}

void TableBuilder::step(const RankProgram &program, const Step &step,
                        Variant which, uint32_t number, uint32_t marks) {
  const Port *ports = program.ports.data() + step.firstPort;
  const std::vector<Buffer> &buffers = member.buffers;
  uint32_t numPorts = step.numSources + step.numSinks,
           begin = table.words.size();
  table.steps.push_back(begin);
  push(shapes.idOf(shapeOf(step, ports, programs.exprs[step.expr], buffers,
                           programs.sizes[step.size].isToken(), &program,
                           programs.numRanks())));
  push(table.steps.size() - 1);
  push(siteOf(step.site));
  push(step.chunk, {FieldRef::StepChunk, which, number});
  push(1);
  push(step.size, {FieldRef::StepSize, which, number});
  push(step.numWaits);
  push(kStepPorts + numPorts * kPortWords + step.numWaits * kWaitWords);
  push(step.numSources);
  push(step.numSinks);
  push(step.shift, {FieldRef::StepShift, which, number});
  for (uint32_t i = 0; i < numPorts; ++i)
    port(ports[i], which, step.firstPort + i, i == 0 ? marks : 0);
  for (uint32_t i = 0; i < step.numWaits; ++i) {
    const BlockWait &wait = program.waits[step.firstWait + i];
    push(wait.block | (wait.previousRound ? kPreviousRound : 0));
    push(wait.step + 1);
  }
  assert(table.words.size() - begin == table.words[begin + kStepLength] &&
         "a step is as long as it says");
}

/// The receive ends of a block, to return what credits they owe when the launch
/// ends.
void TableBuilder::blockEnds(const RankProgram &program,
                             const BlockProgram &block) {
  std::set<uint32_t> ends;
  for (const Step &step : block.steps)
    for (uint32_t i = 0; i < step.numSources; ++i)
      if (const Port &port = program.ports[step.firstPort + i];
          port.kind == Port::Recv)
        ends.insert(port.end);
  for (uint32_t end : ends)
    push(end);
  push(ends.size());
}

/// Channel ends, sending or not, with messages that go direct in this rank's
/// own buffer: 1 + its number.
using OwnedEnds = std::map<std::pair<bool, uint32_t>, uint32_t>;

static OwnedEnds ownedEnds(const RankProgram &program) {
  OwnedEnds result;
  for (const Port &port : program.ports) {
    const bool sends = port.kind == Port::Send;
    if (port.direct != (sends ? Port::Get : Port::Put))
      continue;
    uint32_t &buffer = result[{sends, port.end}];
    assert((buffer == 0 || buffer == port.loc.buffer + 1u) &&
           "all puts of a channel go into one buffer, all gets come from one");
    buffer = port.loc.buffer + 1;
  }
  return result;
}

/// The ends with messages that may go direct, in place or not: what is posted
/// for them when a launch begins, and awaited when it ends.
void TableBuilder::directEnds(const RankProgram &program,
                              const BlockProgram &block) {
  struct Entry {
    uint32_t flags = 0, buffer = 0, step = 0;
  };
  const OwnedEnds here = ownedEnds(program),
                  apart = ownedEnds(member.outOfPlace[rankClass.rank]);
  std::map<std::pair<bool, uint32_t>, Entry> entries;
  uint32_t number = table.steps.size();
  for (const Step &step : block.steps) {
    for (uint32_t i = 0; i < uint32_t(step.numSources) + step.numSinks; ++i) {
      const Port &port = program.ports[step.firstPort + i];
      const bool sends = port.kind == Port::Send;
      if (!sends && port.kind != Port::Recv)
        continue;
      const std::pair end(sends, port.end);
      const auto own = apart.find(end);
      const bool declines = own != apart.end() && !here.count(end);
      if (port.direct == Port::None && !declines)
        continue;
      Entry &entry = entries[end];
      entry.step = number;
      if (port.direct != Port::None)
        entry.flags |= port.direct == Port::Put ? kEndPuts : kEndGets;
      if (declines) {
        entry.flags |= kEndDeclines | (sends ? kEndGets : kEndPuts);
        entry.buffer = own->second;
      } else if (auto it = here.find(end); it != here.end()) {
        entry.buffer = it->second; // else the peer's region
      }
    }
    ++number;
  }
  for (const auto &[end, entry] : entries) {
    push(end.second);
    push((end.first ? uint32_t(kEndSends) : 0) | entry.flags);
    push(entry.buffer);
    push(entry.step);
  }
  push(entries.size());
}

/// Whether the step moves all rounds at once, where it moves at all: one call
/// is for all its puts.
static uint32_t aheadMark(const RankProgram &program, const Step &step) {
  const Port *first = program.ports.data() + step.firstPort;
  const Port *sinks = first + step.numSources, *end = sinks + step.numSinks;
  auto isPut = [](const Port &port) {
    return port.kind == Port::Send && port.direct == Port::Put;
  };
  const bool isAhead = first->kind == Port::Recv
                           ? first->ahead
                           : std::any_of(sinks, end, isPut) &&
                                 std::all_of(sinks, end, [&](const Port &port) {
                                   return !isPut(port) || port.ahead;
                                 });
  return isAhead ? uint32_t(kPortAhead) : 0;
}

void TableBuilder::variant(const RankProgram &program, Variant which) {
  std::vector<std::pair<uint32_t, uint32_t>> entries;
  uint32_t number = 0;
  DirectWait wait(member, rankClass.rank, which);
  const BlockProgram idle;
  for (uint32_t b = 0; b < table.programBlocks; ++b) {
    const BlockProgram &block =
        b < program.blocks.size() ? program.blocks[b] : idle;
    directEnds(program, block);
    blockEnds(program, block);
    entries.push_back({table.words.size(), block.steps.size()});
    for (uint32_t s = 0; s < block.steps.size(); ++s)
      step(program, block.steps[s], which, number++,
           aheadMark(program, block.steps[s]) |
               (wait.isDeferred(b, s) ? uint32_t(kPortDeferred) : 0));
  }
  table.entry[static_cast<unsigned>(which)] = table.words.size();
  for (auto [offset, count] : entries) {
    push(offset);
    push(count);
  }
  table.scratchSlots[static_cast<unsigned>(which)] = program.scratchSlots;
}

ClassTable TableBuilder::build() {
  ends();
  buffers();
  given();
  aliases();
  const RankProgram &program = member.outOfPlace[rankClass.rank];
  table.programBlocks = program.blocks.size();
  // The last blocks of one variant may have nothing to do in the other.
  if (!member.inPlace.empty())
    table.programBlocks = std::max<uint32_t>(
        table.programBlocks, member.inPlace[rankClass.rank].blocks.size());
  variant(program, Variant::OutOfPlace);
  if (!member.inPlace.empty()) {
    assert(member.inPlace[rankClass.rank].sendEnds == program.sendEnds &&
           member.inPlace[rankClass.rank].recvEnds == program.recvEnds &&
           "in place has the same channels");
    variant(member.inPlace[rankClass.rank], Variant::InPlace);
  } else {
    table.entry[1] = table.entry[0];
    table.scratchSlots[1] = table.scratchSlots[0];
  }
  return std::move(table);
}

ClassTable buildClassTable(const ProgramSet &programs,
                           const RankClass &rankClass, ShapeTable &shapes,
                           const std::function<uint32_t(SiteId)> &siteOf) {
  return TableBuilder(programs, rankClass, shapes, siteOf).build();
}

} // namespace coll::lowering
