//===- DirectOrder.cpp - What comes before what in every mixture ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a step back: a bound per block, below which everything comes before it.
// Whatever lies below a bound and waits for a message or a block raises that
// one's bound.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/DirectOrder.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::direct;

Run::Run(const ProgramMember &member, Variant variant)
    : ranks(variant == Variant::InPlace ? member.inPlace : member.outOfPlace) {
  using Channel = std::tuple<Rank, Rank, uint32_t>;
  std::map<Channel, std::pair<std::vector<End>, std::vector<End>>> channels;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    firstBlock.push_back(blocks.size());
    const RankProgram &program = ranks[rank];
    for (uint32_t b = 0; b < program.blocks.size(); ++b) {
      const std::vector<Step> &steps = program.blocks[b].steps;
      for (uint32_t s = 0; s < steps.size(); ++s)
        for (uint32_t p = steps[s].firstPort;
             p < steps[s].firstPort + steps[s].numSources + steps[s].numSinks;
             ++p) {
          const Port &port = program.ports[p];
          End end{uint32_t(blocks.size()), s, p};
          if (port.kind == Port::Send) {
            const ChannelEnd &to = program.sendEnds[port.end];
            channels[{rank, to.peer, to.tag}].first.push_back(end);
          } else if (port.kind == Port::Recv) {
            const ChannelEnd &from = program.recvEnds[port.end];
            channels[{from.peer, rank, from.tag}].second.push_back(end);
          }
        }
      blocks.push_back({rank, b});
    }
  }
  firstBlock.push_back(blocks.size());
  for (const auto &[channel, ends] : channels) {
    const auto &[from, to, tag] = channel;
    for (uint32_t i = 0; i < std::min(ends.first.size(), ends.second.size());
         ++i) {
      const Step &step = stepAt(ends.first[i]);
      const Port::Direct asSent = portAt(ends.first[i]).direct,
                         asReceived = portAt(ends.second[i]).direct;
      Message message{{from, to, tag, i},
                      ends.first[i],
                      ends.second[i],
                      step.size,
                      step.chunk,
                      asSent == asReceived ? asSent : Port::None,
                      std::max(asSent, asReceived)};
      message.ahead = portAt(message.mover()).ahead;
      messages.push_back(message);
    }
  }
}

Order::Order(const Run &run, const std::set<MessageId> &unordered,
             bool hasVariants, uint64_t maxWork)
    : run(run), unordered(unordered), hasVariants(hasVariants),
      workLeft(maxWork), waits(run.blocks.size()), edges(run.blocks.size()),
      bounds(run.blocks.size()), queued(run.blocks.size()) {
  for (uint32_t m = 0; m < run.messages.size(); ++m)
    messagesOf[{run.messages[m].size, run.messages[m].chunk}].push_back(m);
  for (uint32_t b = 0; b < run.blocks.size(); ++b) {
    const RankProgram &program = run.programOf(b);
    const auto &steps = program.blocks[run.blocks[b].block].steps;
    for (uint32_t s = 0; s < steps.size(); ++s)
      for (uint32_t w = steps[s].firstWait;
           w < steps[s].firstWait + steps[s].numWaits; ++w)
        if (const BlockWait &wait = program.waits[w]; !wait.previousRound)
          waits[b].push_back(
              {s, run.firstBlock[run.blocks[b].rank] + wait.block, wait.step});
  }
}

void Order::enter(uint32_t size, uint32_t chunk) {
  for (uint32_t block : touched)
    edges[block].clear();
  touched.clear();
  for (uint32_t m : messagesOf[{size, chunk}]) {
    const Message &message = run.messages[m];
    if (unordered.count(message.id))
      continue;
    if (edges[message.recv.block].empty())
      touched.push_back(message.recv.block);
    edges[message.recv.block].push_back(
        {message.recv.step, message.send.block, message.send.step});
  }
}

bool Order::isBefore(End a, End b, Rank owner,
                     std::array<const Message *, 2> inRing) {
  if (a.block == b.block)
    return a.step < b.step;
  // Below its bound all of a block comes before b. Of b itself what it waits
  // for does, too.
  llvm::SmallVector<uint32_t, 16> seen{b.block}, queue{b.block};
  bounds[b.block] = b.step + 1;
  auto raise = [&](uint32_t block, uint32_t step) {
    if (bounds[block] > step)
      return;
    if (bounds[block] == 0)
      seen.push_back(block);
    bounds[block] = step + 1;
    if (!queued[block])
      queue.push_back(block);
    queued[block] = true;
  };
  while (!queue.empty() && bounds[a.block] <= a.step && !isCut) {
    uint32_t block = queue.pop_back_val();
    queued[block] = false;
    const uint32_t bound = bounds[block];
    for (const Edge &edge : edges[block])
      if (edge.at < bound)
        raise(edge.block, edge.step);
    if (!hasVariants || run.blocks[block].rank == owner)
      for (const Edge &edge : waits[block])
        if (edge.at < bound)
          raise(edge.block, edge.step);
    for (const Message *message : inRing)
      if (message && message->recv.block == block && message->recv.step < bound)
        raise(message->send.block, message->send.step);
    uint64_t work = 1 + edges[block].size() + waits[block].size();
    isCut = work > workLeft;
    workLeft -= std::min(work, workLeft);
  }
  bool isFound = bounds[a.block] > a.step;
  for (uint32_t block : seen)
    bounds[block] = queued[block] = 0;
  return isFound && !isCut;
}
