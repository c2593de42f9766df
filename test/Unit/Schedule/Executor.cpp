//===- Executor.cpp - Programs run on numbers, in any order ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Executor.h"
#include "Execution.h"

#include <algorithm>
#include <unordered_set>

using namespace coll;
using namespace coll::test;

/// Blocks that can go on and users whose launch is over. What only lets others
/// go on is done at once: credits and words of the end of a launch, leaving it.
std::vector<Execution::Event> Execution::ready() {
  std::vector<Event> result;
  std::vector<bool> hasLeft(programs.numRanks(), true);
  for (Block &b : blocks)
    while (!isOver(b) &&
           b.step == programOf(b.rank).blocks[b.block].steps.size()) {
      b.step = 0;
      if (++b.round == setting.shape.rounds)
        for (auto &[channel, index] : receiver)
          if (&blocks[index] == &b && received.count(channel))
            given[channel] = received[channel];
    }
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    Block &b = blocks[i];
    if (!isOver(b) && canGo(b))
      result.push_back({false, i});
    b.hasLeft = b.hasLeft || (isOver(b) && canLeave(b));
    hasLeft[b.rank] = hasLeft[b.rank] && b.hasLeft;
  }
  for (Rank r = 0; r < programs.numRanks() && hasUsers(); ++r)
    if (hasLeft[r] && launch[r] < setting.launches)
      result.push_back({true, r});
  return result;
}

/// One slice, or the end of a launch. False: broken.
bool Execution::advance(Event event) {
  if (event.isUser) {
    endLaunch(event.number);
    return true;
  }
  Block &b = blocks[event.number];
  const uint32_t slices = slicesOf(stepOf(b), b.round);
  if (b.slice < slices) {
    if (!doSlice(b))
      return false;
    ++b.slice;
  }
  if (b.slice == slices) {
    b.slice = 0;
    ++b.step;
  }
  return true;
}

bool Execution::isAnyRace(const std::vector<Event> &events) const {
  std::vector<std::vector<Access>> accesses;
  for (Event event : events)
    accesses.push_back(event.isUser ? std::vector<Access>()
                                    : touched(blocks[event.number]));
  auto isUsers = [&](Event event, const Access &access) {
    return event.isUser && std::get<0>(access.first) == event.number &&
           std::get<1>(access.first) >= 0;
  };
  for (size_t i = 0; i < events.size(); ++i)
    for (const Access &one : accesses[i])
      for (size_t j = 0; j < events.size(); ++j) {
        if (i != j && isUsers(events[j], one))
          return true;
        for (size_t k = 0; j > i && k < accesses[j].size(); ++k)
          if (one.first == accesses[j][k].first &&
              (one.second || accesses[j][k].second))
            return true;
      }
  return false;
}

void Execution::finish() {
  for (const Block &b : blocks)
    result.isStuck |=
        hasUsers() ? launch[b.rank] < setting.launches : !isOver(b);
  if (result.isStuck)
    return;
  result.isRight = isQuiet() && !isWrong;
  for (Rank r = 0; r < programs.numRanks() && !hasUsers(); ++r)
    result.isRight &= isRight(r);
}

void Execution::run(std::mt19937_64 &random) {
  for (auto now = ready(); !now.empty(); now = ready()) {
    result.hasRaced = result.hasRaced || (hasUsers() && isAnyRace(now));
    if (!advance(now[random() % now.size()]))
      return;
  }
  finish();
}

AllOrders Execution::explore(uint64_t maxStates, bool onlyCounts) {
  AllOrders all;
  std::unordered_set<uint64_t> seen;
  std::vector<State> open{*this};
  while (!open.empty() && !all.isCut) {
    State &now = *this;
    now = std::move(open.back());
    open.pop_back();
    ++all.states;
    std::vector<Event> movable = ready();
    all.canRace = all.canRace || isAnyRace(movable);
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
      if (!advance(movable[m])) {
        all.canBreak = true;
        continue;
      }
      if (seen.insert(digest(onlyCounts)).second)
        open.push_back(now);
    }
    all.isCut = seen.size() > maxStates;
  }
  all.canReadNothing = hasReadNothing;
  all.canBeWrong |= isWrong;
  return all;
}

std::set<DirectMessages> coll::test::directMessages(const ProgramSet &programs,
                                                    uint32_t member) {
  std::set<DirectMessages> result;
  const auto &ranks = programs.members[member].outOfPlace;
  for (Rank rank = 0; rank < ranks.size(); ++rank)
    for (const Port &port : ranks[rank].ports)
      if (port.kind == Port::Send && port.direct != Port::None) {
        const ChannelEnd &end = ranks[rank].sendEnds[port.end];
        result.insert({rank, end.peer, end.tag, port.direct});
      }
  return result;
}

std::set<DirectMessages> coll::test::someOf(const std::set<DirectMessages> &all,
                                            std::mt19937_64 &random) {
  std::set<DirectMessages> result;
  for (const DirectMessages &messages : all)
    if (random() % 2)
      result.insert(messages);
  return result;
}

ExecutorResult coll::test::execute(const ProgramSet &programs,
                                   const ChunkGraph &graph,
                                   const Setting &setting,
                                   std::mt19937_64 &random) {
  Execution execution(programs, graph, setting);
  execution.run(random);
  return execution.result;
}

AllOrders coll::test::executeAll(const ProgramSet &programs,
                                 const ChunkGraph &graph,
                                 const Setting &setting, uint64_t maxStates) {
  return Execution(programs, graph, setting).explore(maxStates, false);
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
  Setting setting{.shape = shape};
  return execute(copy, nothing, setting, random).isStuck;
}

AllOrders coll::test::executeAllOnly(const ProgramSet &programs,
                                     const FifoShape &shape,
                                     uint64_t maxStates) {
  ChunkGraph nothing;
  ProgramSet copy = messagesOnly(programs, nothing);
  Setting setting{.shape = shape};
  return Execution(copy, nothing, setting).explore(maxStates, true);
}
