//===- ProgramCheckRun.cpp - Running programs on terms --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/ProgramCheckRun.h"
#include "lib/Analysis/DirectCheck.h"
#include "lib/Analysis/DirectWait.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace coll;
using namespace coll::check;

/// Scratch is the same memory in every round. Within a block that changes
/// nothing; between blocks the second round may meet the first.
uint32_t check::roundsToRun(const std::vector<RankProgram> &ranks) {
  return llvm::any_of(ranks,
                      [](const RankProgram &r) { return r.blocks.size() > 1; })
             ? 2
             : 1;
}

static const std::vector<RankProgram> &programsOf(const ProgramMember &member,
                                                  Variant variant) {
  return variant == Variant::InPlace ? member.inPlace : member.outOfPlace;
}

Machine::Machine(const ProgramSet &programs, uint32_t member, Variant variant,
                 CheckTerms &terms, const ProgramCheckOptions &options,
                 uint32_t rounds)
    : rounds(rounds
                 ? rounds
                 : roundsToRun(programsOf(programs.members[member], variant))),
      programs(programs), member(programs.members[member]), memberIndex(member),
      variant(variant), ranks(programsOf(this->member, variant)), terms(terms),
      memory(programs, member, variant, this->rounds),
      order(ranks, options.maxRaceSearch) {
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    firstBlock.push_back(blocks.size());
    for (uint32_t b = 0; b < ranks[rank].blocks.size(); ++b)
      blocks.push_back({rank, b});
  }
  firstBlock.push_back(blocks.size());
  if (hasDirect(this->member))
    unordered = unorderedReceives(this->member, variant);
}

bool Machine::run() {
  if (!validate() || !connect())
    return false;
  initialise();
  // Round by round, so that a race within a round is found before one between
  // rounds.
  for (openRounds = 1; openRounds <= rounds && errors.empty(); ++openRounds) {
    for (uint32_t b = blocks.size(); b-- > 0;) {
      queue.push_back(b);
      blocks[b].isQueued = true;
    }
    while (!queue.empty() && errors.empty()) {
      Block &block = blocks[queue.back()];
      queue.pop_back();
      block.isQueued = false;
      advance(block);
    }
  }
  return errors.empty() && finish();
}

bool Machine::fail(ProgramError::Kind kind, Rank rank, uint32_t block,
                   uint32_t step, const char *detail) {
  ProgramError error{kind};
  error.member = memberIndex;
  error.variant = variant;
  error.rank = rank;
  error.block = block;
  error.step = step;
  error.detail = detail;
  const auto &all = ranks[rank].blocks;
  if (block < all.size() && step < all[block].steps.size())
    error.site = all[block].steps[step].site;
  errors.push_back(error);
  return false;
}

bool Machine::failAt(const Block &block, ProgramError::Kind kind,
                     const Port &port, const char *detail) {
  fail(kind, block.rank, block.block, block.step, detail);
  ProgramError &error = errors.back();
  error.location = port.loc;
  const RankProgram &program = ranks[block.rank];
  if (port.kind == Port::Recv || port.kind == Port::Send) {
    const ChannelEnd &end =
        (port.kind == Port::Recv ? program.recvEnds
                                 : program.sendEnds)[port.end];
    error.peer = end.peer;
    error.tag = end.tag;
  }
  return false;
}

bool Machine::raceAt(const Block &block, const Port &port, Conflict other) {
  failAt(block, ProgramError::Race, port);
  ProgramError &error = errors.back();
  const Block &otherBlock = blocks[other.event.block];
  const auto &steps = ranks[otherBlock.rank].blocks[otherBlock.block].steps;
  error.otherBlock = otherBlock.block;
  error.otherStep = other.event.number % steps.size();
  error.isStore = port.kind == Port::Store;
  error.isOtherStore = other.isWrite;
  error.roundsBefore = block.round - other.event.number / steps.size();
  error.otherSite = steps[error.otherStep].site;
  error.isDirect = !unordered.empty();
  return false;
}

//===----------------------------------------------------------------------===//
// Before the run
//===----------------------------------------------------------------------===//

bool Machine::validate() {
  if (ranks.size() != programs.numRanks())
    return fail(ProgramError::Malformed, 0, 0, 0,
                "not one program for each rank");
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    const RankProgram &program = ranks[rank];
    for (const auto *ends : {&program.sendEnds, &program.recvEnds})
      for (const ChannelEnd &end : *ends)
        if (end.peer >= ranks.size() || end.peer == rank)
          return fail(ProgramError::Malformed, rank, 0, 0,
                      "a channel to no other rank");
    for (uint32_t b = 0; b < program.blocks.size(); ++b)
      for (uint32_t s = 0; s < program.blocks[b].steps.size(); ++s)
        if (!validateStep(rank, b, s))
          return false;
  }
  return true;
}

bool Machine::validateStep(Rank rank, uint32_t b, uint32_t s) {
  const RankProgram &program = ranks[rank];
  const Step &step = program.blocks[b].steps[s];
  auto malformed = [&](const char *detail) {
    return fail(ProgramError::Malformed, rank, b, s, detail);
  };
  if (size_t(step.firstPort) + step.numSources + step.numSinks >
          program.ports.size() ||
      size_t(step.firstWait) + step.numWaits > program.waits.size())
    return malformed("ports or waits that do not exist");
  if (step.expr >= programs.exprs.size() ||
      step.size >= programs.sizes.size() || step.numSources == 0 ||
      step.shift >= step.numSources)
    return malformed("an expression, size or shift that does not exist");
  if (step.chunk >= programs.sizes[step.size].chunks)
    return malformed("a chunk that does not exist");
  uint32_t depth = 0;
  for (const ExprNode &node : programs.exprs[step.expr].nodes) {
    bool isOperand = node.kind == ExprNode::Operand;
    uint32_t takes = isOperand                      ? 0
                     : node.kind == ExprNode::Add   ? 2
                     : node.kind == ExprNode::Round ? 1
                                                    : node.arg;
    if (takes > depth || (!isOperand && takes == 0) ||
        (isOperand && node.arg >= step.numSources))
      return malformed("an expression that does not fit its sources");
    if (node.kind == ExprNode::Apply &&
        node.function >= programs.functions.size())
      return malformed("a function that does not exist");
    depth += 1 - takes;
  }
  if (depth != 1)
    return malformed("an expression that does not fit its sources");
  llvm::SmallVector<std::pair<bool, uint32_t>, 8> ends;
  for (uint32_t i = 0; i < uint32_t(step.numSources) + step.numSinks; ++i) {
    const Port &port = program.ports[step.firstPort + i];
    bool isChannel = port.kind == Port::Recv || port.kind == Port::Send;
    bool isSource = port.kind == Port::Recv || port.kind == Port::Load;
    if (isSource != (i < step.numSources))
      return malformed("a source among the sinks, or a sink among the sources");
    if (!isChannel)
      continue;
    if (port.end >= (isSource ? program.recvEnds : program.sendEnds).size())
      return malformed("a channel end that does not exist");
    ends.push_back({isSource, port.end});
  }
  llvm::sort(ends);
  if (std::adjacent_find(ends.begin(), ends.end()) != ends.end())
    return malformed("two messages of one channel in one step");
  for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w) {
    const BlockWait &wait = program.waits[w];
    if (wait.block >= program.blocks.size() || wait.block == b ||
        wait.step >= program.blocks[wait.block].steps.size())
      return malformed("a wait for a step that does not exist");
  }
  return true;
}

bool Machine::connect() {
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, uint32_t> ids;
  auto fifoOf = [&](Rank from, Rank to, uint32_t tag) {
    auto [it, isNew] =
        ids.try_emplace({uint64_t(from) << 32 | to, tag}, fifos.size());
    if (isNew)
      fifos.push_back({from, to, tag});
    return it->second;
  };
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    auto &sends = sendFifos.emplace_back(), &recvs = recvFifos.emplace_back();
    for (const ChannelEnd &end : ranks[rank].sendEnds)
      sends.push_back(fifoOf(rank, end.peer, end.tag));
    for (const ChannelEnd &end : ranks[rank].recvEnds)
      recvs.push_back(fifoOf(end.peer, rank, end.tag));
  }
  for (uint32_t id = 0; id < blocks.size(); ++id) {
    Block block = blocks[id];
    const RankProgram &program = ranks[block.rank];
    const auto &steps = program.blocks[block.block].steps;
    for (block.step = 0; block.step < steps.size(); ++block.step)
      for (uint32_t p = 0; p < uint32_t(steps[block.step].numSources) +
                                   steps[block.step].numSinks;
           ++p) {
        const Port &port = program.ports[steps[block.step].firstPort + p];
        if (port.kind != Port::Recv && port.kind != Port::Send)
          continue;
        bool isSend = port.kind == Port::Send;
        Fifo &fifo =
            fifos[(isSend ? sendFifos : recvFifos)[block.rank][port.end]];
        uint32_t &owner = isSend ? fifo.sender : fifo.receiver;
        if (owner != kNone && owner != id)
          return failAt(block, ProgramError::ChannelMismatch, port,
                        "two blocks use one end of a channel");
        owner = id;
      }
  }
  for (const Fifo &fifo : fifos)
    if (fifo.sender == kNone || fifo.receiver == kNone) {
      bool isSent = fifo.sender != kNone,
           isUsed = isSent || fifo.receiver != kNone;
      fail(ProgramError::ChannelMismatch, isSent ? fifo.from : fifo.to, 0, 0,
           isSent   ? "a channel that its receiver does not know"
           : isUsed ? "a channel that its sender does not know"
                    : "a channel that nobody uses");
      errors.back().peer = isSent ? fifo.to : fifo.from;
      errors.back().tag = fifo.tag;
      return false;
    }
  return true;
}

/// Inputs hold themselves. In place, so does the `out` that shares their
/// memory.
void Machine::initialise() {
  for (uint32_t b = 0; b < member.buffers.size(); ++b) {
    if (member.buffers[b].kind == Buffer::Out)
      continue;
    for (Rank rank = 0; rank < ranks.size(); ++rank)
      for (uint32_t part = 0;
           memory.hasBuffer(rank, b) && part < member.buffers[b].parts; ++part)
        for (uint32_t chunk = 0; chunk < memory.chunksOf(rank, b, part);
             ++chunk)
          for (uint32_t round = 0; round < rounds; ++round) {
            Cell cell{uint16_t(b), part, chunk};
            uint32_t at =
                memory.find(rank, {Location::Buffer, cell.buffer, part, chunk},
                            false, round);
            memory[at] = {terms.rawLeaf(rank, cell, round), ElemType::T,
                          member.buffers[b].sizeOf(rank, part), chunk};
          }
  }
}

Content Machine::contentOf(Rank rank, const Cell &cell, uint32_t round) {
  uint32_t at =
      memory.find(rank, {Location::Buffer, cell.buffer, cell.part, cell.chunk},
                  false, round);
  return at == kNone ? Content{} : memory[at];
}
