//===- ProgramCheckStep.cpp - Running one step on terms -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/ProgramCheckRun.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::check;

void Machine::wake(uint32_t block) {
  if (blocks[block].isQueued)
    return;
  blocks[block].isQueued = true;
  queue.push_back(block);
}

void Machine::advance(Block &block) {
  const auto &steps = ranks[block.rank].blocks[block.block].steps;
  for (; block.round < openRounds; ++block.round, block.step = 0)
    for (; block.step < steps.size(); ++block.step) {
      const Step &step = steps[block.step];
      if (!isReady(block, step) || !execute(block, step))
        return;
      if (order.isTracked(block.rank))
        for (uint32_t b = firstBlock[block.rank];
             b < firstBlock[block.rank + 1]; ++b)
          wake(b);
    }
}

static bool hasPassed(uint32_t round, uint32_t step, uint32_t wantRound,
                      uint32_t wantStep) {
  return round > wantRound || (round == wantRound && step > wantStep);
}

bool Machine::isReady(const Block &block, const Step &step) const {
  const RankProgram &program = ranks[block.rank];
  for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w) {
    const BlockWait &wait = program.waits[w];
    if (wait.previousRound && block.round == 0)
      continue;
    const Block &other = blocks[firstBlock[block.rank] + wait.block];
    if (!hasPassed(other.round, other.step, block.round - wait.previousRound,
                   wait.step))
      return false;
  }
  if (isIdle(block, step))
    return true;
  for (uint32_t p = step.firstPort; p < step.firstPort + step.numSources; ++p)
    if (program.ports[p].kind == Port::Recv) {
      const Fifo &fifo = fifos[recvFifos[block.rank][program.ports[p].end]];
      if (fifo.head == fifo.messages.size())
        return false;
    }
  return true;
}

/// A token is sent once a launch.
bool Machine::isIdle(const Block &block, const Step &step) const {
  return block.round > 0 && programs.sizes[step.size].isToken();
}

bool Machine::execute(Block &block, const Step &step) {
  const RankProgram &program = ranks[block.rank];
  const Port *ports = program.ports.data() + step.firstPort;
  llvm::SmallVector<Event, 4> after;
  if (order.isTracked(block.rank))
    for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w) {
      const BlockWait &wait = program.waits[w];
      if (wait.previousRound && block.round == 0)
        continue;
      uint32_t perRound = program.blocks[wait.block].steps.size();
      after.push_back(
          {firstBlock[block.rank] + wait.block,
           (block.round - wait.previousRound) * perRound + wait.step});
    }
  for (uint32_t p = 0; p < step.numSources && !isIdle(block, step); ++p)
    if (ports[p].kind == Port::Recv) {
      const Fifo &fifo = fifos[recvFifos[block.rank][ports[p].end]];
      if (unordered.empty() || !unordered[block.rank][step.firstPort + p])
        after.push_back(fifo.messages[fifo.head].event);
    }
  Event event = order.begin(block.rank, block.block, after);
  ++steps;
  if (isIdle(block, step))
    return true;

  sources.assign(step.numSources, kNone);
  for (uint32_t p = 0; p < step.numSources; ++p)
    if (!(ports[p].kind == Port::Recv
              ? receive(block, step, ports[p], sources[p])
              : load(block, step, ports[p], event, sources[p])))
      return false;
  operands.clear();
  for (uint32_t i = 0; i < step.numSources; ++i)
    operands.push_back(sources[(i + step.shift) % step.numSources]);
  TermId result = terms.result(programs.exprs[step.expr], operands,
                               step.complete, step.type);
  for (uint32_t p = step.numSources;
       p < uint32_t(step.numSources) + step.numSinks; ++p) {
    TermId term = ports[p].type == step.type
                      ? result
                      : terms.table.round(result, ports[p].type);
    if (ports[p].kind == Port::Send)
      send(block, step, ports[p], event, term);
    else if (!store(block, step, ports[p], event, term))
      return false;
  }
  return true;
}

/// premul_sum: a leaf becomes leaf x factor when it is read.
bool Machine::scale(const Block &block, const Port &port, bool isScaled,
                    TermId &term) {
  if (!programs.reduces || !isScaled)
    return true;
  TermId scaledTerm = terms.scaledLeaf(term);
  if (scaledTerm == kNone)
    return failAt(block, ProgramError::TypeMismatch, port,
                  "multiplies by premul_sum's factor what is no input");
  term = port.scaledRounded ? terms.table.round(scaledTerm, ElemType::T)
                            : scaledTerm;
  return true;
}

bool Machine::load(const Block &block, const Step &step, const Port &port,
                   Event event, TermId &term) {
  bool isToken = programs.sizes[step.size].isToken();
  uint32_t at = memory.find(block.rank, port.loc, isToken, block.round);
  if (at == kNone)
    return failAt(block, ProgramError::Overflow, port);
  if (std::optional<Conflict> other = order.touch(block.rank, at, event, false))
    return raceAt(block, port, *other);
  const Content &content = memory[at];
  if (content.term == kNone)
    return failAt(block, ProgramError::Uninitialised, port);
  if (content.type != port.type)
    return failAt(block, ProgramError::TypeMismatch, port,
                  "loads as another type than was stored");
  // Rows and scalars are read whole, whatever the chunk.
  bool isBroadcast = false;
  if (port.loc.space == Location::Buffer) {
    Buffer::Kind kind = member.buffers[port.loc.buffer].kind;
    isBroadcast = kind == Buffer::RowArg || kind == Buffer::Scalar;
  }
  if (!isBroadcast &&
      (content.size != step.size || content.chunk != step.chunk))
    return failAt(block, ProgramError::TypeMismatch, port,
                  "loads a chunk of another size");
  term = content.term;
  return scale(block, port, port.scaled, term);
}

bool Machine::receive(const Block &block, const Step &step, const Port &port,
                      TermId &term) {
  Fifo &fifo = fifos[recvFifos[block.rank][port.end]];
  const Message &message = fifo.messages[fifo.head++];
  const Content &content = message.content;
  if (content.type != port.type || content.size != step.size ||
      content.chunk != step.chunk) {
    failAt(block, ProgramError::MessageMismatch, port,
           content.type != port.type ? "sent as another type"
                                     : "sent with another size");
    errors.back().otherBlock = message.block;
    errors.back().otherStep = message.step;
    errors.back().otherSite = message.site;
    return false;
  }
  term = content.term;
  if (fifo.head == fifo.messages.size()) {
    fifo.messages.clear();
    fifo.head = 0;
  }
  return scale(block, port, port.receivedScaled, term);
}

bool Machine::store(const Block &block, const Step &step, const Port &port,
                    Event event, TermId term) {
  bool isToken = programs.sizes[step.size].isToken();
  uint32_t at = memory.find(block.rank, port.loc, isToken, block.round);
  if (at == kNone)
    return failAt(block, ProgramError::Overflow, port);
  if (port.loc.space == Location::Buffer) {
    if (!memory.isOut(block.rank, port.loc))
      return failAt(block, ProgramError::WritesInput, port);
    uint32_t size =
        member.buffers[port.loc.buffer].sizeOf(block.rank, port.loc.part);
    if (size != step.size || port.loc.chunk != step.chunk)
      return failAt(block, ProgramError::TypeMismatch, port,
                    "stores a chunk of another size");
    if (port.type != ElemType::T)
      return failAt(block, ProgramError::TypeMismatch, port,
                    "stores to a buffer as another type than T");
    if (block.round == 0)
      stored.push_back({block.rank, port.loc, block.block, block.step});
  }
  if (std::optional<Conflict> other = order.touch(block.rank, at, event, true))
    return raceAt(block, port, *other);
  memory[at] = {term, port.type, step.size, step.chunk};
  return true;
}

void Machine::send(const Block &block, const Step &step, const Port &port,
                   Event event, TermId term) {
  Fifo &fifo = fifos[sendFifos[block.rank][port.end]];
  fifo.messages.push_back({{term, port.type, step.size, step.chunk},
                           event,
                           block.block,
                           block.step,
                           step.site});
  uint64_t what = uint64_t(term) << 32 ^ uint64_t(port.type) << 28 ^
                  uint64_t(step.size) << 14 ^ step.chunk;
  fifo.trace.hash = (fifo.trace.hash ^ what) * 0x9e3779b97f4a7c15u;
  fifo.trace.hash ^= fifo.trace.hash >> 32;
  ++fifo.trace.messages;
  ++messages;
  wake(fifo.receiver);
}

bool Machine::finish() {
  for (const Block &block : blocks) {
    if (block.round == rounds)
      continue;
    const Step &step = stepAt(block);
    const RankProgram &program = ranks[block.rank];
    for (uint32_t p = step.firstPort; p < step.firstPort + step.numSources;
         ++p) {
      const Port &port = program.ports[p];
      if (port.kind != Port::Recv)
        continue;
      const Fifo &fifo = fifos[recvFifos[block.rank][port.end]];
      if (fifo.head == fifo.messages.size())
        return failAt(block, ProgramError::Stuck, port,
                      "waits for a message that does not come");
    }
    return fail(ProgramError::Stuck, block.rank, block.block, block.step,
                "waits for a block that does not get there");
  }
  for (const Fifo &fifo : fifos) {
    traces[{uint64_t(fifo.from) << 32 | fifo.to, fifo.tag}] = fifo.trace;
    if (fifo.head == fifo.messages.size())
      continue;
    const Message &message = fifo.messages[fifo.head];
    fail(ProgramError::LeftOver, fifo.from, message.block, message.step);
    errors.back().peer = fifo.to;
    errors.back().tag = fifo.tag;
    return false;
  }
  return true;
}
