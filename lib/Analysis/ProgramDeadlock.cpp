//===- ProgramDeadlock.cpp - Do programs get stuck on their FIFOs? --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worklist of blocks. A block runs until a port has no data or no slot, or a
// wait does not hold; it is looked at again when the other end of one of its
// channels, or a block of its rank, has moved. Slices of a step move together,
// so as many as all ports allow are moved at once.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/ProgramDeadlock.h"
#include "lib/Analysis/ShortestCycle.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>

using namespace coll;

namespace {
struct Fifo {
  uint32_t sender = kNone, receiver = kNone; // blocks
  uint64_t sent = 0, received = 0;
};

struct BlockState {
  Rank rank;
  uint32_t block; // of the rank
  const BlockProgram *program;
  uint32_t round = 0, step = 0, slice = 0;
  uint64_t finished = 0; // steps, over all rounds
  bool isQueued = true;
};

class Run {
public:
  Run(const ProgramSet &programs, const std::vector<RankProgram> &ranks,
      const FifoShape &shape);
  DeadlockResult go();

private:
  bool connect();
  void advance(BlockState &block);
  bool advanceStep(BlockState &block, const RankProgram &program,
                   const Step &step);
  uint32_t slicesOf(const Step &step, uint32_t round) const;
  uint64_t freeSlots(const Fifo &fifo) const;
  bool holds(const BlockState &block, const BlockWait &wait) const;
  bool isOver(uint32_t block) const {
    return block == kNone || blocks[block].round == shape.rounds;
  }
  void wake(uint32_t block);
  std::vector<BlockedAt> waitsOf(const BlockState &block) const;
  void findCycle(const std::vector<std::vector<BlockedAt>> &waits,
                 DeadlockResult &result) const;

  const ProgramSet &programs;
  const std::vector<RankProgram> &ranks;
  FifoShape shape;
  std::vector<BlockState> blocks;
  std::vector<uint32_t> firstBlock; // by rank
  std::vector<Fifo> fifos;
  std::vector<std::vector<uint32_t>> sendFifos, recvFifos; // by rank and end
  std::vector<uint32_t> queue;
};
} // namespace

Run::Run(const ProgramSet &programs, const std::vector<RankProgram> &ranks,
         const FifoShape &shape)
    : programs(programs), ranks(ranks), shape(shape) {
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    firstBlock.push_back(blocks.size());
    for (uint32_t b = 0; b < ranks[rank].blocks.size(); ++b)
      blocks.push_back({rank, b, &ranks[rank].blocks[b]});
  }
  firstBlock.push_back(blocks.size());
}

/// Finds the FIFOs, and which block is at which end. False: two are at one.
bool Run::connect() {
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, uint32_t> ids;
  auto fifoOf = [&](Rank from, Rank to, uint32_t tag) {
    auto [it, isNew] =
        ids.try_emplace({uint64_t(from) << 32 | to, tag}, fifos.size());
    if (isNew)
      fifos.emplace_back();
    return it->second;
  };
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    auto &sends = sendFifos.emplace_back(), &recvs = recvFifos.emplace_back();
    for (const ChannelEnd &end : ranks[rank].sendEnds)
      sends.push_back(fifoOf(rank, end.peer, end.tag));
    for (const ChannelEnd &end : ranks[rank].recvEnds)
      recvs.push_back(fifoOf(end.peer, rank, end.tag));
  }
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const RankProgram &program = ranks[blocks[b].rank];
    for (const Step &step : blocks[b].program->steps)
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p) {
        const Port &port = program.ports[p];
        if (port.kind != Port::Recv && port.kind != Port::Send)
          continue;
        bool isSend = port.kind == Port::Send;
        Fifo &fifo =
            fifos[(isSend ? sendFifos : recvFifos)[blocks[b].rank][port.end]];
        uint32_t &owner = isSend ? fifo.sender : fifo.receiver;
        if (owner != kNone && owner != b)
          return false;
        owner = b;
      }
  }
  return true;
}

uint32_t Run::slicesOf(const Step &step, uint32_t round) const {
  if (programs.sizes[step.size].isToken())
    return round == 0 ? 1 : 0;
  if (round + 1 < shape.rounds || shape.lastSlices == 0)
    return shape.slices;
  return step.chunk < shape.longChunks ? shape.lastSlices
                                       : shape.lastSlices - 1;
}

uint64_t Run::freeSlots(const Fifo &fifo) const {
  uint64_t returned = isOver(fifo.receiver)
                          ? fifo.received
                          : fifo.received / shape.batch * shape.batch;
  return returned + shape.slots - fifo.sent;
}

bool Run::holds(const BlockState &block, const BlockWait &wait) const {
  if (wait.previousRound && block.round == 0)
    return true;
  const BlockState &other = blocks[firstBlock[block.rank] + wait.block];
  uint64_t round = block.round - wait.previousRound;
  return other.finished > round * other.program->steps.size() + wait.step;
}

void Run::wake(uint32_t block) {
  if (block == kNone || blocks[block].isQueued)
    return;
  blocks[block].isQueued = true;
  queue.push_back(block);
}

/// False: the step is not finished and cannot go on now.
bool Run::advanceStep(BlockState &block, const RankProgram &program,
                      const Step &step) {
  if (block.slice == 0)
    for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
      if (!holds(block, program.waits[w]))
        return false;
  const uint32_t slices = slicesOf(step, block.round);
  const Port *ports = program.ports.data() + step.firstPort;
  const uint32_t numPorts = step.numSources + step.numSinks;
  uint64_t movable = slices - block.slice;
  for (uint32_t p = 0; p < numPorts; ++p) {
    if (ports[p].kind == Port::Recv) {
      const Fifo &fifo = fifos[recvFifos[block.rank][ports[p].end]];
      movable = std::min(movable, fifo.sent - fifo.received);
    } else if (ports[p].kind == Port::Send) {
      movable = std::min(movable,
                         freeSlots(fifos[sendFifos[block.rank][ports[p].end]]));
    }
  }
  if (movable)
    for (uint32_t p = 0; p < numPorts; ++p) {
      if (ports[p].kind == Port::Recv) {
        Fifo &fifo = fifos[recvFifos[block.rank][ports[p].end]];
        fifo.received += movable;
        wake(fifo.sender);
      } else if (ports[p].kind == Port::Send) {
        Fifo &fifo = fifos[sendFifos[block.rank][ports[p].end]];
        fifo.sent += movable;
        wake(fifo.receiver);
      }
    }
  block.slice += movable;
  return block.slice == slices;
}

void Run::advance(BlockState &block) {
  const RankProgram &program = ranks[block.rank];
  const bool hasSiblings = program.blocks.size() > 1;
  for (; block.round < shape.rounds; ++block.round, block.step = 0)
    for (; block.step < block.program->steps.size(); ++block.step) {
      if (!advanceStep(block, program, block.program->steps[block.step]))
        return;
      block.slice = 0;
      ++block.finished;
      if (hasSiblings)
        for (uint32_t b = firstBlock[block.rank];
             b < firstBlock[block.rank + 1]; ++b)
          wake(b);
    }
  // It has ended: it gives back what it still holds.
  for (uint32_t fifo : recvFifos[block.rank])
    wake(fifos[fifo].sender);
}

/// All that the next slice lacks: blocks, then data, then room.
std::vector<BlockedAt> Run::waitsOf(const BlockState &block) const {
  const RankProgram &program = ranks[block.rank];
  const Step &step = block.program->steps[block.step];
  std::vector<BlockedAt> waits;
  auto waitsFor = [&](BlockedAt::Why why, uint32_t other, Rank peer,
                      uint32_t tag) {
    BlockedAt at{why,         block.rank,  block.block, block.step,
                 block.slice, block.round, step.site};
    at.peer = peer;
    at.tag = tag;
    at.isOver = isOver(other);
    at.onBlock = other == kNone ? kNone : blocks[other].block;
    waits.push_back(at);
  };
  if (block.slice == 0)
    for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
      if (!holds(block, program.waits[w]))
        waitsFor(BlockedAt::Block,
                 firstBlock[block.rank] + program.waits[w].block, block.rank,
                 0);
  for (bool lookAtSends : {false, true})
    for (uint32_t p = step.firstPort;
         p < step.firstPort + step.numSources + step.numSinks; ++p) {
      const Port &port = program.ports[p];
      if (!lookAtSends && port.kind == Port::Recv) {
        const Fifo &fifo = fifos[recvFifos[block.rank][port.end]];
        const ChannelEnd &end = program.recvEnds[port.end];
        if (fifo.sent == fifo.received)
          waitsFor(BlockedAt::Data, fifo.sender, end.peer, end.tag);
      } else if (lookAtSends && port.kind == Port::Send) {
        const Fifo &fifo = fifos[sendFifos[block.rank][port.end]];
        const ChannelEnd &end = program.sendEnds[port.end];
        if (freeSlots(fifo) == 0)
          waitsFor(BlockedAt::Credit, fifo.receiver, end.peer, end.tag);
      }
    }
  return waits;
}

/// Every blocked block waits for others. Either that leads into a circle, or to
/// a block that has ended.
void Run::findCycle(const std::vector<std::vector<BlockedAt>> &waits,
                    DeadlockResult &result) const {
  std::vector<uint32_t> blockedIndex(blocks.size(), kNone);
  for (uint32_t i = 0; i < waits.size(); ++i)
    blockedIndex[firstBlock[waits[i][0].rank] + waits[i][0].block] = i;
  std::vector<std::vector<uint32_t>> targets(waits.size());
  for (uint32_t i = 0; i < waits.size(); ++i)
    for (const BlockedAt &at : waits[i])
      targets[i].push_back(
          at.isOver ? kNone : blockedIndex[firstBlock[at.peer] + at.onBlock]);
  for (auto [block, wait] : shortestCycle(targets))
    result.cycle.push_back(waits[block][wait]);
  for (uint32_t i = 0; i < waits.size() && result.cycle.empty(); ++i)
    for (const BlockedAt &at : waits[i])
      if (at.isOver && result.cycle.empty())
        result.cycle.push_back(at);
}

DeadlockResult Run::go() {
  DeadlockResult result;
  if (!connect()) {
    result.isDecided = false;
    return result;
  }
  for (uint32_t b = blocks.size(); b-- > 0;)
    queue.push_back(b);
  while (!queue.empty()) {
    BlockState &block = blocks[queue.back()];
    queue.pop_back();
    block.isQueued = false;
    if (block.round < shape.rounds)
      advance(block);
  }
  std::vector<std::vector<BlockedAt>> waits;
  for (const BlockState &block : blocks)
    if (block.round < shape.rounds)
      waits.push_back(waitsOf(block));
  for (const std::vector<BlockedAt> &of : waits)
    result.blocked.push_back(of[0]);
  result.isStuck = !waits.empty();
  if (result.isStuck)
    findCycle(waits, result);
  return result;
}

DeadlockResult coll::runFifos(const ProgramSet &programs, uint32_t member,
                              Variant variant, const FifoShape &shape) {
  const ProgramMember &m = programs.members[member];
  return Run(programs, variant == Variant::InPlace ? m.inPlace : m.outOfPlace,
             shape)
      .go();
}

DeadlockResult coll::findDeadlock(const ProgramSet &programs, uint32_t member,
                                  Variant variant, const FifoShape &shape) {
  DeadlockResult result =
      runFifos(programs, member, variant, shape.guaranteed());
  if (!result.isStuck || shape.batch == 1)
    return result;
  uint32_t chunks = 1;
  for (const SizeSymbol &size : programs.sizes)
    chunks = std::max(chunks, size.chunks);
  std::vector<uint32_t> splits{chunks};
  if (chunks > 1)
    splits.push_back(1);
  if (chunks > 2)
    splits.push_back((chunks + 1) / 2);
  for (uint32_t last = shape.slices; last > 0; --last)
    for (uint32_t rounds = 1; rounds <= shape.batch; ++rounds)
      for (uint32_t longChunks : splits) {
        FifoShape exact{shape.slots, shape.batch, shape.slices,
                        rounds,      last,        longChunks};
        result = runFifos(programs, member, variant, exact);
        if (result.isStuck || !result.isDecided)
          return result;
      }
  return result;
}

/// More slots never hurt, and more than a block ever sends are as good as any.
std::optional<uint32_t> coll::leastSlots(const ProgramSet &programs,
                                         uint32_t member, Variant variant,
                                         const FifoShape &shape) {
  auto ends = [&](uint32_t slots) {
    FifoShape other = shape;
    other.slots = slots;
    DeadlockResult result = findDeadlock(programs, member, variant, other);
    return result.isDecided && !result.isStuck;
  };
  const ProgramMember &m = programs.members[member];
  uint64_t steps = 1;
  for (const RankProgram &rank :
       variant == Variant::InPlace ? m.inPlace : m.outOfPlace)
    for (const BlockProgram &block : rank.blocks)
      steps = std::max<uint64_t>(steps, block.steps.size());
  uint32_t low = shape.batch;
  uint32_t high = std::min<uint64_t>(
      shape.batch + steps * shape.slices * shape.batch, kNone / 2);
  if (!ends(high))
    return std::nullopt;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (ends(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}
