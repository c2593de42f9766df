//===- Execution.cpp - One execution of a program -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is in memory when a launch begins, and should be when it ends.
//
//===----------------------------------------------------------------------===//
#include "Execution.h"
#include "lib/Analysis/DirectWait.h"

#include <algorithm>

using namespace coll;
using namespace coll::test;

uint64_t State::digest(bool onlyCounts) const {
  uint64_t hash = 0;
  auto add = [&](uint64_t word) { hash = mix(hash, word); };
  auto addCell = [&](const Cell &cell) {
    add(cell.number.hash);
    add(uint64_t(cell.number.type) << 8 | uint64_t(cell.number.isRaw) << 7 |
        uint64_t(cell.type));
  };
  for (const Block &b : blocks)
    add(uint64_t(b.round) << 48 | uint64_t(b.step) << 16 | b.slice << 1 |
        b.hasLeft);
  for (uint32_t count : launch)
    add(count);
  if (onlyCounts)
    return hash;
  for (auto &[address, cell] : memory)
    addCell(cell);
  add(memory.size());
  for (auto &[channel, fifo] : fifos) {
    add(fifo.size());
    for (const Cell &cell : fifo)
      addCell(cell);
  }
  return hash;
}

Execution::Execution(const ProgramSet &programs, const ChunkGraph &graph,
                     const Setting &setting)
    : programs(programs), member(programs.members[setting.member]),
      graph(graph), setting(setting) {
  initialise();
  if (setting.asInRing)
    learn();
}

/// Runs once in the ring. The program is right there, so the order is one of
/// many that come to the same.
void Execution::learn() {
  Setting ring = setting;
  ring.direct.clear();
  ring.asInRing = false;
  ring.careless = Careless::Not;
  ring.shape.slots = 64;
  ring.launches = std::max(2u, setting.launches); // so that users look
  Execution other(programs, graph, ring);
  other.isLearning = true;
  for (auto now = other.ready(); !now.empty(); now = other.ready())
    if (!other.advance(now[0]))
      break;
  expected = std::move(other.expected);
}

Execution::Buffers Execution::buffersOf(Rank rank) const {
  Buffers result;
  for (const auto &[address, cell] : memory)
    if (std::get<0>(address) == rank && std::get<1>(address) >= 0)
      result[address] = cell.number.hash;
  return result;
}

State::Channel Execution::channelOf(Rank rank, const Port &port) const {
  const RankProgram &program = programOf(rank);
  if (port.kind == Port::Send)
    return {rank, program.sendEnds[port.end].peer,
            program.sendEnds[port.end].tag};
  return {program.recvEnds[port.end].peer, rank,
          program.recvEnds[port.end].tag};
}

uint32_t Execution::slicesOf(const Step &step, uint32_t round) const {
  if (setting.empty.count({step.size, step.chunk}))
    return 0;
  bool isToken = programs.sizes[step.size].isToken();
  return isToken ? round == 0 : setting.shape.slices;
}

Number Execution::leaf(Rank rank, uint16_t buffer, uint32_t part,
                       uint32_t chunk, uint32_t round, uint32_t slice,
                       uint32_t launch, bool raw) const {
  bool scales = reduces() && graph.buffers[buffer].kind == Buffer::In;
  uint64_t hash =
      mix(mix(mix(rank, buffer), mix(part, chunk)), mix(round, slice));
  if (launch)
    hash = mix(hash, launch);
  if (!scales)
    return {hash, graph.buffers[buffer].kind == Buffer::Scalar ? ElemType::Accum
                                                               : ElemType::T};
  return {mix(hash, 5), raw ? ElemType::T : ElemType::Accum, raw};
}

/// Parts that share memory with another have that other's address.
State::Address Execution::addressOf(Rank rank, const Location &loc,
                                    uint32_t round, uint32_t slice,
                                    bool isToken) const {
  if (loc.space == Location::Scratch)
    return {rank, isToken ? -2 : -1, loc.part, 0, 0, slice};
  uint32_t buffer = loc.buffer, part = loc.part;
  if (variantOf(rank) == Variant::InPlace)
    for (const InplacePair &pair : member.inplacePairs)
      if (pair.rank == rank && pair.bufferB == buffer && pair.partB == part) {
        buffer = pair.bufferA;
        part = pair.partA;
        break;
      }
  return {rank, int(buffer), part, loc.chunk, round, slice};
}

bool Execution::exists(Rank rank, const Location &loc, bool isToken) const {
  if (loc.space == Location::Scratch)
    return isToken || loc.part < programOf(rank).scratchSlots;
  if (loc.buffer >= member.buffers.size() ||
      !member.buffers[loc.buffer].present[rank] ||
      loc.part >= member.buffers[loc.buffer].parts)
    return false;
  return loc.chunk <
         programs.sizes[member.buffers[loc.buffer].sizeOf(rank, loc.part)]
             .chunks;
}

/// What the user puts in.
void Execution::fill(Rank rank) {
  for (uint32_t b = 0; b < member.buffers.size(); ++b) {
    const Buffer &buffer = member.buffers[b];
    if (buffer.kind == Buffer::Out || !buffer.present[rank])
      continue;
    for (uint32_t part = 0; part < buffer.parts; ++part) {
      const uint32_t size = buffer.sizeOf(rank, part);
      for (uint32_t chunk = 0; chunk < programs.sizes[size].chunks; ++chunk)
        for (uint32_t round = 0; round < setting.shape.rounds; ++round)
          for (uint32_t slice = 0; slice < setting.shape.slices; ++slice)
            memory[addressOf(rank, {Location::Buffer, uint16_t(b), part, chunk},
                             round, slice, false)] = {
                leaf(rank, b, part, chunk, round, slice, launch[rank], true),
                ElemType::T, size, chunk};
    }
  }
}

void Execution::initialise() {
  launch.resize(programs.numRanks());
  for (Rank r = 0; r < programs.numRanks(); ++r)
    for (const Port &port : programOf(r).ports)
      if (port.direct == (port.kind == Port::Send ? Port::Get : Port::Put)) {
        auto [from, to, tag] = channelOf(r, port);
        owned.insert({from, to, tag, port.direct});
      }
  for (Rank r = 0; r < programs.numRanks(); ++r) {
    fill(r);
    DirectWait wait(member, r, variantOf(r));
    for (uint32_t b = 0; b < programOf(r).blocks.size(); ++b) {
      const uint32_t index = blocks.size();
      blockIndex[{r, b}] = index;
      blocks.push_back({r, b});
      puts.emplace_back(), gets.emplace_back();
      const std::vector<Step> &steps = programOf(r).blocks[b].steps;
      for (uint32_t s = 0; s < steps.size(); ++s) {
        if (wait.isDeferred(b, s))
          lateReceives.insert({r, b, s});
        for (uint32_t p = steps[s].firstPort;
             p < steps[s].firstPort + steps[s].numSources + steps[s].numSinks;
             ++p) {
          const Port &port = programOf(r).ports[p];
          if (port.kind == Port::Recv)
            receiver[channelOf(r, port)] = index;
          if (port.kind == Port::Recv && port.direct == Port::Put)
            puts[index].push_back(channelOf(r, port));
          if (port.kind == Port::Send && port.direct == Port::Get &&
              isDirect(r, port))
            gets[index].push_back(channelOf(r, port));
        }
      }
    }
  }
}

/// The graph's values, for one slice of one round of a launch.
const std::vector<Number> &Execution::meaning(uint32_t launch, uint32_t round,
                                              uint32_t slice) const {
  auto [it, isNew] = meanings.try_emplace({launch, round, slice});
  std::vector<Number> &numbers = it->second;
  if (!isNew)
    return numbers;
  for (const Value &value : graph.values) {
    if (value.kind == Value::Input) {
      numbers.push_back(leaf(value.rank, value.cell.buffer, value.cell.part,
                             value.cell.chunk, round, slice, launch, false));
      continue;
    }
    std::vector<Number> operands;
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const Operand &operand = graph.operandsOf(value)[i];
      Number number = numbers[operand.value];
      operands.push_back(operand.hasVia ? rounded(number, operand.via)
                                        : number);
    }
    numbers.push_back(finished(evaluate(graph.exprs[value.expr], operands),
                               value.complete && graph.numRanks() > 1,
                               value.type));
  }
  return numbers;
}

/// What a rank's user finds.
bool Execution::isRight(Rank rank) const {
  if (!setting.asInRing)
    return isPromised(rank);
  auto it = expected.find({launch[rank], rank});
  return it != expected.end() && it->second == buffersOf(rank);
}

bool Execution::isPromised(Rank rank) const {
  std::map<Address, bool> promised;
  for (uint32_t round = 0; round < setting.shape.rounds; ++round)
    for (uint32_t slice = 0; slice < setting.shape.slices; ++slice) {
      const std::vector<Number> &want =
          meaning(std::min(launch[rank], setting.launches - 1), round, slice);
      for (const Output &output : graph.outputs) {
        if (output.rank != rank)
          continue;
        Location loc{Location::Buffer, output.cell.buffer, output.cell.part,
                     output.cell.chunk};
        promised[{rank, int(loc.buffer), loc.part, loc.chunk, 0, 0}] = true;
        const uint32_t size = member.buffers[loc.buffer].sizeOf(rank, loc.part);
        if (setting.empty.count({size, loc.chunk}) ||
            graph.sizes[graph.extents[graph.values[output.value].extent].size]
                .isToken()) // order is all that a token carries
          continue;
        auto it = memory.find(addressOf(rank, loc, round, slice, false));
        if (it == memory.end() ||
            it->second.number.hash != want[output.value].hash ||
            it->second.number.isRaw)
          return false;
      }
    }
  return std::all_of(written.begin(), written.end(), [&](const auto &entry) {
    return std::get<0>(entry.first) != rank || promised.count(entry.first);
  });
}

/// No message is left.
bool Execution::isQuiet() const {
  return std::all_of(fifos.begin(), fifos.end(),
                     [](const auto &entry) { return entry.second.empty(); }) &&
         put == awaited;
}

/// The user has what there is and comes again, with other inputs.
void Execution::endLaunch(Rank rank) {
  if (isLearning)
    expected[{launch[rank], rank}] = buffersOf(rank);
  isWrong |= !isLearning && !isRight(rank);
  if (++launch[rank] == setting.launches)
    return;
  std::erase_if(memory, [&](const auto &entry) {
    return std::get<0>(entry.first) == rank;
  });
  std::erase_if(written, [&](const auto &entry) {
    return std::get<0>(entry.first) == rank;
  });
  for (Block &b : blocks)
    if (b.rank == rank)
      b = {rank, b.block};
  fill(rank);
}
