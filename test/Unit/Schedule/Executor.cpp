//===- Executor.cpp - Programs run on numbers, in any order ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Executor.h"
#include "Numbers.h"

#include <deque>
#include <map>
#include <tuple>
#include <unordered_set>

using namespace coll;
using namespace coll::test;

namespace {
/// What an execution has come to.
struct State {
  using Address =
      std::tuple<Rank, int, uint32_t, uint32_t, uint32_t,
                 uint32_t>; // rank, space/buffer, part, chunk, round, slice
  struct Cell {
    Number number;
    ElemType type;
    uint32_t size, chunk;
  };
  using Channel = std::tuple<Rank, Rank, uint32_t>; // from, to, tag
  struct Block {
    Rank rank;
    uint32_t block, round = 0, step = 0, slice = 0;
  };
  std::map<Address, Cell> memory;
  std::map<Channel, std::deque<Cell>> fifos;
  std::map<Channel, uint64_t> received, sent;
  std::vector<Block> blocks;
  std::map<Address, bool> written; // of out

  /// Equal states have equal digests. `onlyCounts`: data does not matter.
  uint64_t digest(bool onlyCounts) const {
    uint64_t hash = 0;
    auto add = [&](uint64_t word) { hash = mix(hash, word); };
    auto addCell = [&](const Cell &cell) {
      add(cell.number.hash);
      add(uint64_t(cell.number.type) << 8 | uint64_t(cell.number.isRaw) << 7 |
          uint64_t(cell.type));
    };
    for (const Block &b : blocks)
      add(uint64_t(b.round) << 48 | uint64_t(b.step) << 16 | b.slice);
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
};

struct Execution : State {
  Execution(const ProgramSet &programs, uint32_t member,
            const std::vector<Variant> &variants, const ChunkGraph &graph,
            const FifoShape &shape)
      : programs(programs), member(programs.members[member]),
        variants(variants), graph(graph), shape(shape) {
    initialise();
  }

  const ProgramSet &programs;
  const ProgramMember &member;
  const std::vector<Variant> &variants;
  const ChunkGraph &graph;
  FifoShape shape;
  ExecutorResult result;
  bool hasReadNothing = false;
  // These stay as they are.
  std::map<Channel, std::pair<Rank, uint32_t>> receiver;
  std::map<std::pair<Rank, uint32_t>, uint32_t> blockIndex;

  static constexpr uint64_t garbage = 0x5ca1ab1e; // read where nothing is

  bool reduces() const { return graph.reduces; }
  const RankProgram &programOf(Rank rank) const {
    return (variants[rank] == Variant::InPlace ? member.inPlace
                                               : member.outOfPlace)[rank];
  }

  uint32_t slicesOf(const Step &step, uint32_t round) const {
    bool isToken = programs.sizes[step.size].isToken();
    return isToken ? round == 0 : shape.slices;
  }

  Number leaf(Rank rank, uint16_t buffer, uint32_t part, uint32_t chunk,
              uint32_t round, uint32_t slice, bool raw) const {
    bool scales = reduces() && graph.buffers[buffer].kind == Buffer::In;
    uint64_t hash =
        mix(mix(mix(rank, buffer), mix(part, chunk)), mix(round, slice));
    if (!scales)
      return {hash, graph.buffers[buffer].kind == Buffer::Scalar
                        ? ElemType::Accum
                        : ElemType::T};
    return {mix(hash, 5), raw ? ElemType::T : ElemType::Accum, raw};
  }

  /// Parts that share memory with another have that other's address.
  Address addressOf(Rank rank, const Location &loc, uint32_t round,
                    uint32_t slice, bool isToken) const {
    if (loc.space == Location::Scratch)
      return {rank, isToken ? -2 : -1, loc.part, 0, 0, slice};
    uint32_t buffer = loc.buffer, part = loc.part;
    if (variants[rank] == Variant::InPlace)
      for (const InplacePair &pair : member.inplacePairs)
        if (pair.rank == rank && pair.bufferB == buffer && pair.partB == part) {
          buffer = pair.bufferA;
          part = pair.partA;
          break;
        }
    return {rank, int(buffer), part, loc.chunk, round, slice};
  }

  bool exists(Rank rank, const Location &loc, bool isToken) const {
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

  bool isDone(Rank rank, uint32_t block) const {
    auto it = blockIndex.find({rank, block});
    return it == blockIndex.end() || blocks[it->second].round == shape.rounds;
  }

  bool canGo(const Block &b) const {
    const RankProgram &program = programOf(b.rank);
    const Step &step = program.blocks[b.block].steps[b.step];
    if (b.slice == 0)
      for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits;
           ++w) {
        BlockWait wait = program.waits[w];
        if (wait.previousRound && b.round == 0)
          continue;
        const Block &other = blocks[blockIndex.at({b.rank, wait.block})];
        uint32_t round = b.round - wait.previousRound;
        if (std::pair(other.round, other.step) <= std::pair(round, wait.step))
          return false;
      }
    if (b.slice == slicesOf(step, b.round))
      return true;
    for (uint32_t p = step.firstPort;
         p < step.firstPort + step.numSources + step.numSinks; ++p) {
      const Port &port = program.ports[p];
      if (port.kind == Port::Recv) {
        ChannelEnd end = program.recvEnds[port.end];
        auto it = fifos.find({end.peer, b.rank, end.tag});
        if (it == fifos.end() || it->second.empty())
          return false;
      } else if (port.kind == Port::Send) {
        ChannelEnd end = program.sendEnds[port.end];
        std::tuple key{b.rank, end.peer, end.tag};
        auto get = [&](auto &map) {
          auto it = map.find(key);
          return it == map.end() ? 0 : it->second;
        };
        uint64_t back = get(received) / shape.batch * shape.batch;
        auto owner = receiver.find(key);
        if (owner != receiver.end() &&
            isDone(owner->second.first, owner->second.second))
          back = get(received);
        if (get(sent) - back >= shape.slots)
          return false;
      }
    }
    return true;
  }

  bool broken() {
    result.isBroken = true;
    return false;
  }

  bool doSlice(Block &b) {
    const RankProgram &program = programOf(b.rank);
    const Step &step = program.blocks[b.block].steps[b.step];
    bool isToken = programs.sizes[step.size].isToken();
    std::vector<Number> sources;
    for (uint32_t p = step.firstPort; p < step.firstPort + step.numSources;
         ++p) {
      const Port &port = program.ports[p];
      Cell cell;
      if (port.kind == Port::Recv) {
        ChannelEnd end = program.recvEnds[port.end];
        std::tuple key{end.peer, b.rank, end.tag};
        if (fifos[key].empty())
          return broken(); // two messages of it in one step
        cell = fifos[key].front();
        fifos[key].pop_front();
        ++received[key];
        if (cell.size != step.size || cell.chunk != step.chunk)
          return broken();
      } else {
        if (!exists(b.rank, port.loc, isToken))
          return broken();
        auto it =
            memory.find(addressOf(b.rank, port.loc, b.round, b.slice, isToken));
        if (it == memory.end()) {
          hasReadNothing = true;
          cell = {{garbage, ElemType::Accum}, port.type, step.size, step.chunk};
        } else
          cell = it->second;
      }
      if (cell.type != port.type)
        cell.number = {mix(cell.number.hash, 999), ElemType::Accum};
      if ((port.kind == Port::Recv ? port.receivedScaled : port.scaled) &&
          reduces()) {
        cell.number = cell.number.isRaw
                          ? Number{cell.number.hash, ElemType::Accum}
                          : Number{mix(cell.number.hash, 5), ElemType::Accum};
        if (port.scaledRounded)
          cell.number = rounded(cell.number, ElemType::T);
      } else if (cell.number.isRaw) {
        // Unless it is only passed on, the factor is missing.
        cell.number = {cell.number.hash, ElemType::T, true};
      }
      sources.push_back(cell.number);
    }
    std::vector<Number> operands;
    for (uint32_t i = 0; i < sources.size(); ++i)
      operands.push_back(sources[(i + step.shift) % sources.size()]);
    const ValueExpr &expr = programs.exprs[step.expr];
    if (!expr.isIdentity())
      for (Number &operand : operands)
        if (operand.isRaw)
          operand = {mix(operand.hash, 6), ElemType::T};
    Number value = finished(evaluate(expr, operands), step.complete, step.type);
    for (uint32_t p = step.firstPort + step.numSources;
         p < step.firstPort + step.numSources + step.numSinks; ++p) {
      const Port &port = program.ports[p];
      Cell cell{rounded(value, port.type), port.type, step.size, step.chunk};
      if (port.kind == Port::Send) {
        ChannelEnd end = program.sendEnds[port.end];
        std::tuple key{b.rank, end.peer, end.tag};
        fifos[key].push_back(cell);
        ++sent[key];
        continue;
      }
      if (!exists(b.rank, port.loc, isToken))
        return broken();
      memory[addressOf(b.rank, port.loc, b.round, b.slice, isToken)] = cell;
      if (port.loc.space == Location::Buffer) {
        if (member.buffers[port.loc.buffer].kind != Buffer::Out)
          return broken();
        written[{b.rank, int(port.loc.buffer), port.loc.part, port.loc.chunk, 0,
                 0}] = true;
      }
    }
    return true;
  }

  void initialise() {
    for (Rank r = 0; r < programs.numRanks(); ++r)
      for (uint32_t b = 0; b < member.buffers.size(); ++b)
        for (uint32_t part = 0;
             member.buffers[b].kind != Buffer::Out &&
             member.buffers[b].present[r] && part < member.buffers[b].parts;
             ++part)
          for (uint32_t chunk = 0;
               chunk < programs.sizes[member.buffers[b].sizeOf(r, part)].chunks;
               ++chunk)
            for (uint32_t round = 0; round < shape.rounds; ++round)
              for (uint32_t slice = 0; slice < shape.slices; ++slice)
                memory[addressOf(r,
                                 {Location::Buffer, uint16_t(b), part, chunk},
                                 round, slice, false)] = {
                    leaf(r, b, part, chunk, round, slice, true), ElemType::T,
                    member.buffers[b].sizeOf(r, part), chunk};
    for (Rank r = 0; r < programs.numRanks(); ++r)
      for (uint32_t b = 0; b < programOf(r).blocks.size(); ++b) {
        blockIndex[{r, b}] = blocks.size();
        blocks.push_back({r, b});
        for (const Step &step : programOf(r).blocks[b].steps)
          for (uint32_t p = step.firstPort;
               p < step.firstPort + step.numSources; ++p)
            if (const Port &port = programOf(r).ports[p];
                port.kind == Port::Recv)
              receiver[{programOf(r).recvEnds[port.end].peer, r,
                        programOf(r).recvEnds[port.end].tag}] = {r, b};
      }
  }

  /// The graph's values, for one slice of one round.
  std::vector<Number> meaning(uint32_t round, uint32_t slice) const {
    std::vector<Number> numbers;
    for (const Value &value : graph.values) {
      if (value.kind == Value::Input) {
        numbers.push_back(leaf(value.rank, value.cell.buffer, value.cell.part,
                               value.cell.chunk, round, slice, false));
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

  bool isRight() {
    for (auto &[key, fifo] : fifos)
      if (!fifo.empty())
        return false;
    std::map<Address, bool> promised;
    for (uint32_t round = 0; round < shape.rounds; ++round)
      for (uint32_t slice = 0; slice < shape.slices; ++slice) {
        std::vector<Number> want = meaning(round, slice);
        for (const Output &output : graph.outputs) {
          promised[{output.rank, int(output.cell.buffer), output.cell.part,
                    output.cell.chunk, 0, 0}] = true;
          bool isToken =
              graph.sizes[graph.extents[graph.values[output.value].extent].size]
                  .isToken();
          if (isToken) // order is all that a token carries
            continue;
          Location loc{Location::Buffer, output.cell.buffer, output.cell.part,
                       output.cell.chunk};
          auto it =
              memory.find(addressOf(output.rank, loc, round, slice, false));
          if (it == memory.end() ||
              it->second.number.hash != want[output.value].hash ||
              it->second.number.isRaw)
            return false;
        }
      }
    for (auto &[address, is] : written)
      if (!promised.count(address))
        return false;
    return true;
  }

  /// The blocks that can go on.
  std::vector<uint32_t> ready() {
    std::vector<uint32_t> result;
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      Block &b = blocks[i];
      while (b.round < shape.rounds &&
             b.step == programOf(b.rank).blocks[b.block].steps.size()) {
        b.step = 0;
        ++b.round;
      }
      if (b.round < shape.rounds && canGo(b))
        result.push_back(i);
    }
    return result;
  }

  /// One slice. False: broken.
  bool advance(Block &b) {
    const Step &step = programOf(b.rank).blocks[b.block].steps[b.step];
    if (b.slice < slicesOf(step, b.round)) {
      if (!doSlice(b))
        return false;
      ++b.slice;
    }
    if (b.slice == slicesOf(step, b.round)) {
      b.slice = 0;
      ++b.step;
    }
    return true;
  }

  void finish() {
    for (const Block &b : blocks)
      result.isStuck |= b.round < shape.rounds;
    if (!result.isStuck)
      result.isRight = isRight();
  }

  void run(std::mt19937_64 &random) {
    for (auto now = ready(); !now.empty(); now = ready())
      if (!advance(blocks[now[random() % now.size()]]))
        return;
    finish();
  }

  /// Both blocks are about to touch one location, and one writes.
  bool conflict(const Block &a, const Block &b) const {
    if (a.rank != b.rank)
      return false;
    for (auto &[one, isWrite] : touched(a))
      for (auto &[other, isOtherWrite] : touched(b))
        if (one == other && (isWrite || isOtherWrite))
          return true;
    return false;
  }

  std::vector<std::pair<Address, bool>> touched(const Block &b) const {
    const RankProgram &program = programOf(b.rank);
    const Step &step = program.blocks[b.block].steps[b.step];
    std::vector<std::pair<Address, bool>> result;
    for (uint32_t p = step.firstPort;
         b.slice < slicesOf(step, b.round) &&
         p < step.firstPort + step.numSources + step.numSinks;
         ++p)
      if (const Port &port = program.ports[p];
          port.kind == Port::Load || port.kind == Port::Store)
        result.push_back({addressOf(b.rank, port.loc, b.round, b.slice,
                                    programs.sizes[step.size].isToken()),
                          port.kind == Port::Store});
    return result;
  }

  AllOrders explore(uint64_t maxStates, bool onlyCounts) {
    AllOrders all;
    std::unordered_set<uint64_t> seen;
    std::vector<State> open{*this};
    while (!open.empty() && !all.isCut) {
      State &now = *this;
      now = std::move(open.back());
      open.pop_back();
      ++all.states;
      std::vector<uint32_t> movable = ready();
      for (uint32_t i : movable)
        for (uint32_t j : movable)
          all.canRace |= i < j && conflict(blocks[i], blocks[j]);
      if (movable.empty()) {
        result = {};
        finish();
        (result.isStuck ? all.canStick : all.canFinish) = true;
        all.canBeWrong |= !result.isStuck && !result.isRight;
      }
      const State before = movable.size() > 1 ? now : State();
      for (size_t m = 0; m < movable.size(); ++m) {
        if (m)
          now = before;
        if (!advance(blocks[movable[m]])) {
          all.canBreak = true;
          continue;
        }
        if (seen.insert(digest(onlyCounts)).second)
          open.push_back(now);
      }
      all.isCut = seen.size() > maxStates;
    }
    all.canReadNothing = hasReadNothing;
    return all;
  }
};
} // namespace

ExecutorResult coll::test::execute(const ProgramSet &programs, uint32_t member,
                                   const std::vector<Variant> &variantOfRank,
                                   const ChunkGraph &graph,
                                   const FifoShape &shape,
                                   std::mt19937_64 &random) {
  Execution execution(programs, member, variantOfRank, graph, shape);
  execution.run(random);
  return execution.result;
}

AllOrders coll::test::executeAll(const ProgramSet &programs, uint32_t member,
                                 const std::vector<Variant> &variantOfRank,
                                 const ChunkGraph &graph,
                                 const FifoShape &shape, uint64_t maxStates) {
  return Execution(programs, member, variantOfRank, graph, shape)
      .explore(maxStates, false);
}

/// Loads and stores go to a buffer that everybody has.
static ProgramSet messagesOnly(const ProgramSet &programs, ChunkGraph &graph) {
  ProgramSet copy = programs;
  Buffer buffer;
  buffer.kind = Buffer::Out;
  buffer.present.assign(programs.numRanks(), true);
  buffer.partSize = {0};
  copy.members[0].buffers = {buffer};
  for (auto *ranks : {&copy.members[0].outOfPlace, &copy.members[0].inPlace})
    for (RankProgram &rank : *ranks)
      for (Port &port : rank.ports)
        port.loc = {};
  graph.rankDims = programs.rankDims;
  graph.buffers = copy.members[0].buffers;
  return copy;
}

bool coll::test::executeOnly(const ProgramSet &programs, const FifoShape &shape,
                             std::mt19937_64 &random) {
  ChunkGraph nothing;
  ProgramSet copy = messagesOnly(programs, nothing);
  std::vector<Variant> variants(programs.numRanks(), Variant::OutOfPlace);
  return execute(copy, 0, variants, nothing, shape, random).isStuck;
}

AllOrders coll::test::executeAllOnly(const ProgramSet &programs,
                                     const FifoShape &shape,
                                     uint64_t maxStates) {
  ChunkGraph nothing;
  ProgramSet copy = messagesOnly(programs, nothing);
  std::vector<Variant> variants(programs.numRanks(), Variant::OutOfPlace);
  return Execution(copy, 0, variants, nothing, shape).explore(maxStates, true);
}
