//===- HandPrograms.cpp - Programs written by hand ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HandPrograms.h"

#include <algorithm>

using namespace coll;

ProgramSet test::byHand(const std::vector<std::vector<HandStep>> &ranks) {
  ProgramSet programs;
  programs.rankDims = {uint32_t(ranks.size())};
  programs.sizes.push_back({SizeSymbol::Count, 0, 1});
  programs.exprs.push_back({{ExprNode{ExprNode::Operand}}});
  ProgramMember &member = programs.members.emplace_back();
  for (Buffer::Kind kind : {Buffer::In, Buffer::Out}) {
    Buffer &buffer = member.buffers.emplace_back();
    buffer.kind = kind;
    buffer.name = kind == Buffer::In ? "in" : "out";
    buffer.present.assign(ranks.size(), true);
    buffer.partSize = {0};
  }
  for (const auto &steps : ranks) {
    RankProgram &program = member.outOfPlace.emplace_back();
    program.blocks.resize(1);
    auto endOf = [](std::vector<ChannelEnd> &ends, Rank peer) {
      for (uint32_t i = 0; i < ends.size(); ++i)
        if (ends[i].peer == peer)
          return i;
      ends.push_back({peer, 0});
      return uint32_t(ends.size() - 1);
    };
    for (const HandStep &hand : steps) {
      Step step{};
      step.firstPort = program.ports.size();
      for (Rank peer : hand.from)
        program.ports.push_back(
            {.kind = Port::Recv, .end = endOf(program.recvEnds, peer)});
      if (hand.from.empty())
        program.ports.push_back({.kind = Port::Load});
      for (Rank peer : hand.to)
        program.ports.push_back(
            {.kind = Port::Send, .end = endOf(program.sendEnds, peer)});
      step.numSources = std::max<size_t>(1, hand.from.size());
      if (hand.to.empty())
        program.ports.push_back({.kind = Port::Store, .loc = {.buffer = 1}});
      step.numSinks = std::max<size_t>(1, hand.to.size());
      program.blocks[0].steps.push_back(step);
    }
  }
  return programs;
}
