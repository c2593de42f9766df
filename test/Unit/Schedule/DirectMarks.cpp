//===- DirectMarks.cpp - Messages that a test lets go direct --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DirectMarks.h"
#include "lib/Analysis/Direct.h"

#include <array>
#include <map>

using namespace coll;
using namespace coll::test;

void test::mark(ProgramSet &programs, const MessageId &id, Port::Direct direct,
                const Location &region) {
  ProgramMember &member = programs.members[0];
  for (auto *ranks : {&member.outOfPlace, &member.inPlace})
    for (Rank rank = 0; rank < ranks->size(); ++rank) {
      RankProgram &program = (*ranks)[rank];
      uint32_t seen = 0;
      for (const BlockProgram &block : program.blocks)
        for (const Step &step : block.steps)
          for (uint32_t p = step.firstPort;
               p < step.firstPort + step.numSources + step.numSinks; ++p) {
            Port &port = program.ports[p];
            bool isSend =
                port.kind == Port::Send && rank == id.from &&
                program.sendEnds[port.end] == ChannelEnd{id.to, id.tag};
            bool isRecv =
                port.kind == Port::Recv && rank == id.to &&
                program.recvEnds[port.end] == ChannelEnd{id.from, id.tag};
            if ((!isSend && !isRecv) || seen++ != id.index)
              continue;
            port.direct = direct;
            port.ahead = false;
            port.loc = direct == Port::None ? Location() : region;
          }
    }
}

std::vector<MarkedMessage> test::messagesOf(const ProgramSet &programs) {
  std::map<MessageId, MarkedMessage> messages;
  const auto &ranks = programs.members[0].outOfPlace;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    const RankProgram &program = ranks[rank];
    std::map<uint32_t, uint32_t> sent, received;
    for (const BlockProgram &block : program.blocks)
      for (const Step &step : block.steps) {
        std::vector<Location> loads, stores;
        std::vector<MarkedMessage *> sends, receives;
        for (uint32_t p = step.firstPort;
             p < step.firstPort + step.numSources + step.numSinks; ++p) {
          const Port &port = program.ports[p];
          if (port.kind == Port::Load || port.kind == Port::Store) {
            (port.kind == Port::Load ? loads : stores).push_back(port.loc);
            continue;
          }
          const bool isSend = port.kind == Port::Send;
          const ChannelEnd &end =
              (isSend ? program.sendEnds : program.recvEnds)[port.end];
          const MessageId id =
              isSend ? MessageId{rank, end.peer, end.tag, sent[port.end]++}
                     : MessageId{end.peer, rank, end.tag, received[port.end]++};
          MarkedMessage &message = messages[id];
          message.id = id;
          (isSend ? sends : receives).push_back(&message);
          if (!isSend)
            continue;
          message.send = port;
          if (port.direct == Port::None)
            message.send.loc = {Location::Buffer, 0, 0, step.chunk};
        }
        for (MarkedMessage *message : sends)
          message->gets = loads;
        for (MarkedMessage *message : receives)
          message->puts = stores;
      }
  }
  std::vector<MarkedMessage> result;
  for (auto &[id, message] : messages)
    result.push_back(message);
  return result;
}

void test::declineAtRandom(ProgramSet &programs, std::mt19937_64 &random) {
  for (RankProgram &program : programs.members[0].inPlace) {
    std::map<std::pair<bool, uint32_t>, bool> declines; // of the own ends
    for (Port &port : program.ports) {
      const bool sends = port.kind == Port::Send;
      if (port.direct != (sends ? Port::Get : Port::Put))
        continue;
      auto [it, isNew] = declines.try_emplace({sends, port.end});
      if (isNew)
        it->second = random() % 3 == 0;
      if (it->second != (random() % 50 == 0)) { // seldom not all of a channel
        port.direct = Port::None;
        port.loc = {};
      }
    }
  }
}

/// Some messages are moved ahead by steps that could.
static void markAheadAtRandom(ProgramSet &programs, std::mt19937_64 &random) {
  ProgramMember &member = programs.members[0];
  const bool mayMove = random() % 2 == 0;
  for (auto *ranks : {&member.outOfPlace, &member.inPlace})
    for (RankProgram &program : *ranks)
      for (const BlockProgram &block : program.blocks)
        for (const Step &step : block.steps)
          for (uint32_t p = step.firstPort;
               p < step.firstPort + step.numSources + step.numSinks; ++p) {
            Port &port = program.ports[p];
            const bool isSend = port.kind == Port::Send;
            port.ahead = mayMove &&
                         port.direct == (isSend ? Port::Put : Port::Get) &&
                         port.direct != Port::None && step.numSources == 1 &&
                         (isSend || step.numSinks == 1) && random() % 3 != 0;
          }
}

void test::markAtRandom(ProgramSet &programs, std::mt19937_64 &random) {
  if (random() % 8 == 0) {
    chooseDirect(programs, std::array{FifoShape{8, 1, 1, 1}});
    return;
  }
  for (const MarkedMessage &message : messagesOf(programs)) {
    const bool isPut = random() % 3 != 0;
    const std::vector<Location> &at = isPut ? message.puts : message.gets;
    const bool isWild = random() % 100 == 0;
    if ((at.empty() && !isWild) || random() % 5 == 0) {
      mark(programs, message.id, Port::None, {});
      continue;
    }
    Location region = {Location::Buffer, uint16_t(random() % 2), 0,
                       uint32_t(random() % 2)};
    if (!isWild)
      region = at[random() % at.size()];
    if (region.space == Location::Buffer || isWild)
      mark(programs, message.id, isPut ? Port::Put : Port::Get, region);
  }
  markAheadAtRandom(programs, random);
  declineAtRandom(programs, random);
}
