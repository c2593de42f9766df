//===- MscclLower.cpp - The memory of a foreign schedule ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file may use its buffers more freely than a caller allows:
//
// * What a contract promises stays a location of `out`, what the caller gives
//   one of `in`.
// * `in` that is written, `out` that nothing is promised of, and chunks beyond
//   the contract's buffers are scratch of our own. Where something of the
//   caller lies there at the start and is read, the first steps of block 0 copy
//   it, and all other blocks wait for that.
// * A chunk of `out` may hold another chunk for a while; with counts that do
//   not divide the two differ in size, so meanwhile it is scratch, too.
// * A file that is only for calls in place gets such copies for calls out of
//   place.
//
// A file's scratch has a place for each iteration, ours is one round long: the
// first step of a round that touches a slot waits for the last ones of other
// blocks in the round before.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclLower.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace coll;
using namespace coll::msccl;

namespace {
enum : ExprId { copyExpr, foldExpr };

class RankLowering {
public:
  RankLowering(const Algorithm &algo, bool inPlace, bool copies, Rank rank,
               const RankProgram &source, const Flow &flow, FlowGraph &values)
      : algo(algo), inPlace(inPlace), copies(copies), rank(rank),
        source(source), flow(flow), values(values) {}
  RankProgram run();

private:
  struct Home {
    enum Kind : uint8_t { In, Out, Private } kind;
    uint32_t offset; ///< in the buffer, over its parts
  };
  Home homeOf(CellKey cell) const;
  Location locate(CellKey cell, ValueId value);
  Location inBuffer(uint16_t buffer, uint32_t offset) const;
  void numberScratch();
  void findCopies();
  void addCopies();
  void addWaits(uint32_t block, uint32_t step, const coll::Step &from);
  void addStep(const coll::Step &from, uint32_t block);
  Port lower(const Port &port, ValueId value, bool isRaw);
  void addRoundWaits();

  const Algorithm &algo;
  const bool inPlace, copies;
  const Rank rank;
  const RankProgram &source;
  const Flow &flow;
  FlowGraph &values;
  RankProgram result;
  std::map<std::pair<uint64_t, bool>, uint32_t> slots; // cell, is it a stand-in
  std::vector<std::pair<CellKey, uint32_t>> initial;   // copies, from the input
  llvm::DenseSet<uint64_t> copied;                     // to these
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

RankLowering::Home RankLowering::homeOf(CellKey cell) const {
  PhysicalPlace out = placeOf(algo, inPlace, rank, {Space::Output, 0});
  if (cell.buffer == out.buffer && cell.part >= out.part &&
      values.hasOutput(rank, cell.part - out.part))
    return {Home::Out, cell.part - out.part};
  auto it = flow.cells[rank].find(cell.packed());
  bool isWritten = it != flow.cells[rank].end() && it->second.isWritten;
  auto offset = initialOffset(algo, inPlace, values, rank, cell);
  if (offset && !isWritten)
    return {Home::In, *offset};
  return {Home::Private, 0};
}

Location RankLowering::inBuffer(uint16_t buffer, uint32_t offset) const {
  return {Location::Buffer, buffer, offset / values.perPart,
          offset % values.perPart};
}

Location RankLowering::locate(CellKey cell, ValueId value) {
  Home home = homeOf(cell);
  if (home.kind == Home::In)
    return inBuffer(InBuffer, home.offset);
  bool isOut = home.kind == Home::Out;
  if (isOut && home.offset % values.perPart == values.chunkOf(value))
    return inBuffer(OutBuffer, home.offset);
  auto [it, isNew] =
      slots.try_emplace({cell.packed(), isOut}, result.scratchSlots);
  result.scratchSlots += isNew;
  return {Location::Scratch, 0, it->second, 0};
}

/// The file's own scratch keeps its order.
void RankLowering::numberScratch() {
  std::vector<uint32_t> used;
  for (const auto &[key, cell] : flow.cells[rank])
    if (key >> 32 == ScratchBuffer)
      used.push_back(uint32_t(key));
  llvm::sort(used);
  for (uint32_t part : used)
    slots[{CellKey{ScratchBuffer, part}.packed(), false}] =
        result.scratchSlots++;
}

/// Of what lies somewhere at the start and has to lie elsewhere. Chunks that no
/// step touches are outputs, too.
void RankLowering::findCopies() {
  PhysicalPlace first = placeOf(algo, inPlace, rank, {Space::Input, 0});
  for (uint32_t offset = 0; values.hasInput(rank, offset); ++offset) {
    CellKey cell{first.buffer, first.part + offset};
    auto it = flow.cells[rank].find(cell.packed());
    bool isTouched = it != flow.cells[rank].end(),
         isRead = isTouched && it->second.isReadFirst,
         isWritten = isTouched && it->second.isWritten;
    Home::Kind home = homeOf(cell).kind;
    if ((home == Home::Private && isRead) ||
        (home == Home::Out && copies && (isRead || !isWritten))) {
      initial.push_back({cell, offset});
      copied.insert(cell.packed());
    }
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void RankLowering::addCopies() {
  for (auto [cell, offset] : initial) {
    coll::Step step;
    step.firstPort = result.ports.size();
    step.numSources = step.numSinks = 1;
    step.expr = copyExpr;
    step.chunk = offset % values.perPart;
    ValueId value = values.input(rank, offset);
    step.value = value;
    Port load{Port::Load}, store{Port::Store};
    load.loc = inBuffer(InBuffer, offset);
    load.scaled = load.scaledRounded = values.graph.reduces;
    store.loc = locate(cell, value);
    result.ports.push_back(load);
    result.ports.push_back(store);
    result.blocks[0].steps.push_back(step);
  }
}

Port RankLowering::lower(const Port &port, ValueId value, bool isRaw) {
  Port made{port.kind};
  made.end = port.end;
  if (port.kind != Port::Load && port.kind != Port::Store)
    return made;
  CellKey cell{port.loc.buffer, port.loc.part};
  made.loc = locate(cell, value);
  made.scaled = made.scaledRounded =
      isRaw && !copied.contains(cell.packed()) && values.graph.reduces;
  return made;
}

void RankLowering::addWaits(uint32_t block, uint32_t s,
                            const coll::Step &from) {
  uint32_t numCopies = initial.size();
  bool hasFirst = false;
  for (uint32_t w = from.firstWait; w < from.firstWait + from.numWaits; ++w) {
    BlockWait wait = source.waits[w];
    hasFirst |= wait.block == 0;
    wait.step += wait.block == 0 ? numCopies : 0;
    result.waits.push_back(wait);
  }
  if (s == 0 && block != 0 && numCopies && !hasFirst)
    result.waits.push_back({0, numCopies - 1});
}

void RankLowering::addStep(const coll::Step &from, uint32_t block) {
  const std::vector<ValueId> &through = flow.through[rank];
  coll::Step step;
  step.firstPort = result.ports.size();
  step.numSources = from.numSources;
  step.numSinks = from.numSinks;
  step.expr = from.numSources == 2 ? foldExpr : copyExpr;
  step.site = from.site;
  // A step without sinks does not exist in the format.
  step.value = through[from.firstPort + from.numSources];
  step.chunk = values.chunkOf(step.value);
  bool isSum = from.numSources == 2;
  step.complete = isSum && values.graph.values[step.value].complete;
  for (uint32_t p = 0; p < uint32_t(from.numSources) + from.numSinks; ++p)
    result.ports.push_back(lower(source.ports[from.firstPort + p],
                                 through[from.firstPort + p],
                                 flow.isRaw[rank][from.firstPort + p]));
  step.firstWait = result.waits.size();
  addWaits(block, result.blocks[block].steps.size(), from);
  step.numWaits = result.waits.size() - step.firstWait;
  result.blocks[block].steps.push_back(step);
}

/// Of the steps of one block that a step waits for, the last is enough.
void RankLowering::addRoundWaits() {
  struct Use {
    uint32_t first, last;
    bool isWritten;
  };
  std::map<uint32_t, std::map<uint32_t, Use>> uses; // slot, block
  for (uint32_t b = 0; b < result.blocks.size(); ++b)
    for (uint32_t s = 0; s < result.blocks[b].steps.size(); ++s) {
      const coll::Step &step = result.blocks[b].steps[s];
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p) {
        const Port &port = result.ports[p];
        bool isMemory = port.kind == Port::Load || port.kind == Port::Store;
        if (!isMemory || port.loc.space != Location::Scratch)
          continue;
        Use &use =
            uses[port.loc.part].try_emplace(b, Use{s, s, false}).first->second;
        use.last = s;
        use.isWritten |= port.kind == Port::Store;
      }
    }
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, uint32_t>>
      needed; // block and step: other block, its step
  for (const auto &[slot, blocks] : uses)
    for (const auto &[block, use] : blocks)
      for (const auto &[other, theirs] : blocks)
        if (other != block && (use.isWritten || theirs.isWritten)) {
          uint32_t &last = needed[{block, use.first}][other];
          last = std::max(last, theirs.last);
        }
  for (const auto &[at, waits] : needed) {
    coll::Step &step = result.blocks[at.first].steps[at.second];
    uint32_t first = result.waits.size();
    for (uint32_t w = 0; w < step.numWaits; ++w)
      result.waits.push_back(BlockWait(result.waits[step.firstWait + w]));
    for (auto [block, last] : waits)
      result.waits.push_back({block, last, /*previousRound=*/true});
    step.firstWait = first;
    step.numWaits = result.waits.size() - first;
  }
}

RankProgram RankLowering::run() {
  result.sendEnds = source.sendEnds;
  result.recvEnds = source.recvEnds;
  result.blocks.resize(std::max<size_t>(1, source.blocks.size()));
  numberScratch();
  findCopies();
  addCopies();
  for (uint32_t b = 0; b < source.blocks.size(); ++b)
    for (const coll::Step &step : source.blocks[b].steps)
      addStep(step, b);
  addRoundWaits();
  return std::move(result);
}

RankProgram msccl::lowerRank(const Algorithm &algo, bool inPlace, bool copies,
                             Rank rank, const RankProgram &source,
                             const Flow &flow, FlowGraph &values) {
  return RankLowering(algo, inPlace, copies, rank, source, flow, values).run();
}
