//===- ScheduleStorage.cpp - Where values wait, and the written steps -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every location of `out` is stored once, with what it holds at the end, so it
// is also where that value waits. What else waits gets a scratch slot. The
// slots of a block are reused as soon as they are free, in the order of its
// steps; a slot that two blocks touch keeps its value, and the next round waits
// for the readers of the last.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/ScheduleEmit.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <tuple>

using namespace coll;
using namespace coll::sched;

/// In place: a store to a location of `out` in whose memory a leaf lies that a
/// later step loads. Just before it, a step of its own saves the leaf, as it
/// is.
void Emitter::saveOverwritten() {
  if (variant != Variant::InPlace || alias.empty())
    return;
  llvm::DenseMap<ValueId, uint32_t> lastReader;
  for (uint32_t i = 0; i < drafts.size(); ++i)
    for (const Source &source : drafts[i].sources)
      if (source.kind == Source::Leaf)
        lastReader[source.id] = i;
  llvm::DenseMap<ValueId, bool> saved;
  std::vector<Draft> result;
  result.reserve(drafts.size());
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    for (Source &source : drafts[i].sources)
      if (source.kind == Source::Leaf && saved.contains(source.id))
        source.kind = Source::Memory;
    for (const Sink &sink : drafts[i].sinks) {
      ValueId leaf = sink.kind == Sink::Out
                         ? leafUnder(graph.outputs[sink.id].cell)
                         : kNone;
      auto last = leaf == kNone ? lastReader.end() : lastReader.find(leaf);
      if (last == lastReader.end() || last->second <= i)
        continue;
      saved[leaf] = true;
      Draft &save = result.emplace_back();
      save.block = drafts[i].block;
      save.value = leaf;
      save.site = drafts[i].site;
      save.expr.push_back({ExprNode::Operand, ElemType::T, 0, 0});
      save.sources.push_back({Source::Leaf, ElemType::T, false, false, leaf});
    }
    result.push_back(std::move(drafts[i]));
  }
  drafts = std::move(result);
}

/// Finds what is loaded, and makes the step that has it store it.
void Emitter::placeValues() {
  std::vector<uint32_t> stepsOfBlock(plan.maxBlock + 1, 0);
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    drafts[i].index = stepsOfBlock[drafts[i].block]++;
    for (const Source &source : drafts[i].sources)
      if (source.kind == Source::Memory) {
        places[source.id].isLoaded = true;
        places[source.id].reader = i;
      }
  }
  auto placeOne = [&](ValueId v, uint32_t at) {
    Place &place = places[v];
    if (!place.isLoaded)
      return;
    place.writer = at;
    Draft &draft = drafts[at];
    auto isHere = [&](const Sink &sink) {
      return sink.kind == Sink::Out && graph.outputs[sink.id].value == v;
    };
    if (std::any_of(draft.sinks.begin(), draft.sinks.end(), isHere))
      return;
    place.slot = 0; // of scratch; which one is not known yet
    auto firstSend =
        std::find_if(draft.sinks.begin(), draft.sinks.end(),
                     [](const Sink &sink) { return sink.kind == Sink::Send; });
    draft.sinks.insert(firstSend, {Sink::Memory, graph.values[v].type, v});
  };
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    ValueId v = drafts[i].value;
    bool isSave =
        graph.values[v].kind == Value::Input && drafts[i].sinks.empty();
    if (!isSave && plan.roles[v] != Role::Step)
      continue;
    if (!isSave && !drafts[i].sources.empty() &&
        drafts[i].sources[0].kind == Source::Memory &&
        drafts[i].sources[0].id == v)
      continue; // only sends it
    placeOne(v, i);
    for (ValueId rider = plan.firstRider[v]; rider != kNone;
         rider = plan.nextRider[rider])
      placeOne(rider, i);
  }
}

/// Who else must have finished: the readers of leaves that a store may hit, and
/// of values that wait for another block.
void Emitter::indexReaders() {
  readers.clear();
  if (plan.maxBlock == 0)
    return;
  for (uint32_t i = 0; i < drafts.size(); ++i)
    for (const Source &source : drafts[i].sources) {
      if (source.kind == Source::Memory &&
          drafts[places[source.id].writer].block != drafts[i].block)
        places[source.id].crossesBlocks = true;
      if (source.kind != Source::Receive)
        readers[source.id].push_back(i);
    }
}

void Emitter::giveSlots(RankProgram &program) {
  uint32_t tokens = 0;
  // Smallest first, so that the slots of ranks alike are alike.
  std::vector<std::vector<uint32_t>> freeSlots(plan.maxBlock + 1);
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    const Draft &draft = drafts[i];
    std::vector<uint32_t> &free = freeSlots[draft.block];
    for (const Sink &sink : draft.sinks) {
      if (sink.kind != Sink::Memory)
        continue;
      Place &place = places[sink.id];
      if (plan.isToken(sink.id)) {
        place.slot = tokens++;
      } else if (place.crossesBlocks || free.empty()) {
        place.slot = program.scratchSlots++;
      } else {
        std::pop_heap(free.begin(), free.end(), std::greater<>());
        place.slot = free.back();
        free.pop_back();
      }
    }
    for (const Source &source : draft.sources) {
      if (source.kind != Source::Memory)
        continue;
      Place &place = places[source.id];
      if (place.reader != i || place.slot == kNone || place.crossesBlocks ||
          plan.isToken(source.id))
        continue;
      place.reader = kNone; // a step may load it twice
      free.push_back(place.slot);
      std::push_heap(free.begin(), free.end(), std::greater<>());
    }
  }
}

Location Emitter::locate(ValueId v) const {
  if (places[v].slot != kNone)
    return {Location::Scratch, 0, places[v].slot, 0};
  for (uint32_t i = plan.firstOutput[v]; i < plan.firstOutput[v + 1]; ++i) {
    const Cell &cell = graph.outputs[plan.outputsByValue[i]].cell;
    return {Location::Buffer, cell.buffer, cell.part, cell.chunk};
  }
  assert(false && "a value that is loaded has no place");
  return {};
}

void Emitter::writeSteps(RankProgram &program) {
  uint32_t numBlocks = 1;
  size_t numPorts = 0;
  for (const Draft &draft : drafts) {
    numBlocks = std::max<uint32_t>(numBlocks, draft.block + 1);
    numPorts += draft.sources.size() + draft.sinks.size();
  }
  program.blocks.resize(numBlocks);
  program.ports.reserve(numPorts);
  if (numBlocks == 1)
    program.blocks[0].steps.reserve(drafts.size());
  waited.assign(numBlocks, std::vector<uint32_t>(numBlocks, 0));
  std::vector<ExprNode> nodes;
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    const Draft &draft = drafts[i];
    const Extent &extent = graph.extents[graph.values[draft.value].extent];
    Step step;
    step.firstPort = program.ports.size();
    step.numSources = draft.sources.size();
    step.numSinks = draft.sinks.size();
    step.shift = draft.shift;
    nodes.assign(draft.expr.begin(), draft.expr.end());
    step.expr = interner.expr(nodes);
    step.type = draft.type;
    step.complete = draft.complete;
    step.size = interner.size(extent.size);
    step.chunk = extent.chunk;
    step.site = interner.site(draft.site);
    step.value = draft.value;
    writePorts(draft, program);
    if (numBlocks > 1)
      addWaits(i, step, program);
    program.blocks[draft.block].steps.push_back(step);
  }
}

void Emitter::writePorts(const Draft &draft, RankProgram &program) {
  auto endOf = [&](uint32_t m, bool isSend) {
    const Channel &channel = plan.channels[plan.messages[m].channel];
    auto &list = isSend ? program.sendEnds : program.recvEnds;
    auto [it, isNew] = (isSend ? sendEnds : recvEnds)
                           .try_emplace(plan.messages[m].channel, list.size());
    if (isNew)
      list.push_back({isSend ? channel.to : channel.from, channel.tag});
    return it->second;
  };
  auto atCell = [](const Cell &cell) {
    return Location{Location::Buffer, cell.buffer, cell.part, cell.chunk};
  };
  for (const Source &source : draft.sources) {
    Port port{Port::Load, source.type};
    if (source.kind == Source::Receive) {
      port.kind = Port::Recv;
      port.receivedScaled = source.scaled;
      port.end = endOf(source.id, false);
      port.wish = plan.wishOf(plan.messages[source.id]);
    } else {
      port.scaled = source.scaled;
      port.loc = source.kind == Source::Memory
                     ? locate(source.id)
                     : atCell(graph.values[source.id].cell);
    }
    port.scaledRounded = source.scaledRounded;
    program.ports.push_back(port);
  }
  for (const Sink &sink : draft.sinks) {
    Port port{Port::Store, sink.type};
    if (sink.kind == Sink::Send) {
      port.kind = Port::Send;
      port.end = endOf(sink.id, true);
      port.wish = plan.wishOf(plan.messages[sink.id]);
    } else {
      port.loc = sink.kind == Sink::Memory
                     ? locate(sink.id)
                     : atCell(graph.outputs[sink.id].cell);
    }
    program.ports.push_back(port);
  }
}

void Emitter::addWaits(uint32_t at, Step &step, RankProgram &program) {
  const Draft &draft = drafts[at];
  std::vector<BlockWait> waits;
  auto wait = [&](uint32_t on, bool previousRound) {
    const Draft &other = drafts[on];
    if (other.block == draft.block)
      return;
    // A block goes in order: who waited for a step has waited for all before
    // it.
    uint32_t &known = waited[draft.block][other.block];
    if (!previousRound && known > other.index)
      return;
    if (!previousRound)
      known = other.index + 1;
    waits.push_back({other.block, other.index, previousRound});
  };
  for (const Source &source : draft.sources)
    if (source.kind == Source::Memory)
      wait(places[source.id].writer, false);
  for (const Sink &sink : draft.sinks) {
    ValueId overwritten = sink.kind == Sink::Memory ? sink.id : kNone;
    if (sink.kind == Sink::Out)
      overwritten = leafUnder(graph.outputs[sink.id].cell);
    if (overwritten == kNone)
      continue;
    auto it = readers.find(overwritten);
    if (it == readers.end())
      continue;
    for (uint32_t reader : it->second)
      if (sink.kind == Sink::Memory || reader < at)
        wait(reader, sink.kind == Sink::Memory);
  }
  // One per block: the latest.
  std::sort(waits.begin(), waits.end(),
            [](const BlockWait &a, const BlockWait &b) {
              return std::tie(a.block, a.previousRound, b.step) <
                     std::tie(b.block, b.previousRound, a.step);
            });
  auto isSame = [](const BlockWait &a, const BlockWait &b) {
    return a.block == b.block && a.previousRound == b.previousRound;
  };
  waits.erase(std::unique(waits.begin(), waits.end(), isSame), waits.end());
  step.firstWait = program.waits.size();
  step.numWaits = waits.size();
  program.waits.insert(program.waits.end(), waits.begin(), waits.end());
}
