//===- ExecutionStep.cpp - What a step does to one slice ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Execution.h"

#include <algorithm>
#include <span>

using namespace coll;
using namespace coll::test;

//===----------------------------------------------------------------------===//
// What goes direct
//===----------------------------------------------------------------------===//

bool Execution::isDirect(Rank rank, const Port &port) const {
  if ((port.kind != Port::Recv && port.kind != Port::Send) ||
      port.direct == Port::None)
    return false;
  auto [from, to, tag] = channelOf(rank, port);
  const DirectMessages messages{from, to, tag, port.direct};
  return setting.direct.count(messages) && owned.count(messages);
}

bool Execution::isAhead(const Block &b, const Port &port) const {
  return setting.movesAhead && port.ahead && isDirect(b.rank, port);
}

/// The slices of all rounds.
std::vector<Execution::Block> Execution::slicesAhead(const Block &b) const {
  std::vector<Block> result;
  for (uint32_t round = 0; round < setting.shape.rounds; ++round)
    for (uint32_t slice = 0; slice < slicesOf(stepOf(b), round); ++slice) {
      result.push_back(b);
      result.back().round = round;
      result.back().slice = slice;
    }
  return result;
}

/// False: broken.
bool Execution::moveAhead(const Block &b) {
  for (const Block &at : slicesAhead(b)) {
    Number number;
    if (!takeSource(at, sourcesOf(b)[0], number))
      return false;
    const bool isGot = isAhead(b, sourcesOf(b)[0]);
    for (const Port &port : sinksOf(b))
      if ((isGot || isAhead(b, port)) && !storeTo(at, port, number))
        return false;
  }
  return true;
}

State::Address Execution::regionOf(const Block &b, const Port &port) const {
  auto [from, to, tag] = channelOf(b.rank, port);
  return addressOf(port.direct == Port::Put ? to : from, port.loc, b.round,
                   b.slice, false);
}

/// What the peer gets itself, or has put there itself.
bool Execution::isDropped(const Block &b, const Port &sink) const {
  if (sink.kind == Port::Send)
    return sink.direct == Port::Get && isDirect(b.rank, sink);
  const Port &source = programOf(b.rank).ports[stepOf(b).firstPort];
  return source.kind == Port::Recv && source.direct == Port::Put &&
         stepOf(b).numSources == 1 && isDirect(b.rank, source) &&
         source.loc == sink.loc;
}

/// Nothing is left of the step but to wait.
bool Execution::isIdle(const Block &b) const {
  std::span<const Port> sinks = sinksOf(b);
  return !sinks.empty() &&
         std::all_of(sinks.begin(), sinks.end(),
                     [&](const Port &sink) { return isDropped(b, sink); });
}

bool Execution::isDeferred(const Block &b) const {
  return setting.careless == Careless::NeverWaitsHere
             ? isIdle(b)
             : lateReceives.count({b.rank, b.block, b.step});
}

//===----------------------------------------------------------------------===//
// What has to be there
//===----------------------------------------------------------------------===//

bool Execution::areBlocksDone(const Block &b) const {
  const Step &step = stepOf(b);
  for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w) {
    BlockWait wait = programOf(b.rank).waits[w];
    if (wait.previousRound && b.round == 0)
      continue;
    const Block &other = blocks[blockIndex.at({b.rank, wait.block})];
    uint32_t round = b.round - wait.previousRound;
    if (std::pair(other.round, other.step) <= std::pair(round, wait.step))
      return false;
  }
  return true;
}

template <typename Map>
static uint64_t numberIn(const Map &map, const State::Channel &channel) {
  auto it = map.find(channel);
  return it == map.end() ? 0 : it->second;
}

/// A message to receive, or room for one.
bool Execution::canUse(const Block &b, const Port &port) const {
  if (port.kind != Port::Recv && port.kind != Port::Send)
    return true;
  const Channel channel = channelOf(b.rank, port);
  auto [from, to, tag] = channel;
  if (!isDirect(b.rank, port)) {
    if (port.kind == Port::Send)
      return numberIn(sent, channel) - numberIn(given, channel) <
             setting.shape.slots;
    auto it = fifos.find(channel);
    return it != fifos.end() && !it->second.empty();
  }
  if (port.direct == Port::Put)
    return port.kind == Port::Send
               ? launch[to] >= launch[from] ||
                     setting.careless == Careless::PutsAtOnce
               : isDeferred(b) ||
                     numberIn(put, channel) > numberIn(awaited, channel);
  return port.kind == Port::Send || launch[from] >= launch[to] ||
         setting.careless == Careless::GetsAtOnce;
}

bool Execution::canGo(const Block &b) const {
  if (b.slice == 0 && !areBlocksDone(b))
    return false;
  if (b.slice == slicesOf(stepOf(b), b.round))
    return true;
  auto isThere = [&](const Port &port) { return canUse(b, port); };
  return std::ranges::all_of(sourcesOf(b), isThere) &&
         std::ranges::all_of(sinksOf(b), isThere);
}

/// The block has done all its steps: nobody puts or gets here any more.
bool Execution::canLeave(const Block &b) const {
  const uint32_t index = blockIndex.at({b.rank, b.block});
  bool isPut = std::ranges::all_of(puts[index], [&](const Channel &channel) {
    return numberIn(put, channel) >= numberIn(awaited, channel);
  });
  bool isGot = std::ranges::all_of(gets[index], [&](const Channel &channel) {
    auto it = receiver.find(channel);
    if (it == receiver.end())
      return false;
    const Block &by = blocks[it->second];
    return launch[by.rank] > launch[b.rank] ||
           (launch[by.rank] == launch[b.rank] && isOver(by));
  });
  return (isPut || setting.careless == Careless::ReturnsUnput) &&
         (isGot || setting.careless == Careless::LeavesEarly);
}

//===----------------------------------------------------------------------===//
// What is done
//===----------------------------------------------------------------------===//

/// False: broken.
bool Execution::takeSource(const Block &b, const Port &port, Number &number) {
  const Step &step = stepOf(b);
  const bool isToken = programs.sizes[step.size].isToken();
  Cell cell{{garbage, ElemType::Accum}, port.type, step.size, step.chunk};
  if (port.kind == Port::Recv && !isDirect(b.rank, port)) {
    const Channel channel = channelOf(b.rank, port);
    if (fifos[channel].empty())
      return broken(); // two messages of it in one step
    cell = fifos[channel].front();
    fifos[channel].pop_front();
    if (++received[channel] - given[channel] >= setting.shape.batch)
      given[channel] = received[channel];
    if (cell.size != step.size || cell.chunk != step.chunk)
      return broken();
  } else {
    const bool isOwn = port.kind != Port::Recv;
    if (isOwn && !exists(b.rank, port.loc, isToken))
      return broken();
    auto it = memory.find(
        isOwn ? addressOf(b.rank, port.loc, b.round, b.slice, isToken)
              : regionOf(b, port));
    if (it == memory.end())
      hasReadNothing = true;
    else
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
  number = cell.number;
  return true;
}

/// False: broken.
bool Execution::giveSink(const Block &b, const Port &port, Number value) {
  if (port.kind == Port::Send) {
    const Channel channel = channelOf(b.rank, port);
    if (!isDirect(b.rank, port)) {
      const Step &step = stepOf(b);
      fifos[channel].push_back(
          {rounded(value, port.type), port.type, step.size, step.chunk});
      ++sent[channel];
      return true;
    }
    ++put[channel];
    if (isAhead(b, port))
      return true;
  }
  return storeTo(b, port, value);
}

/// In memory of this rank's, or the peer's.
bool Execution::storeTo(const Block &b, const Port &port, Number value) {
  const Step &step = stepOf(b);
  const bool isToken = programs.sizes[step.size].isToken();
  Cell cell{rounded(value, port.type), port.type, step.size, step.chunk};
  Rank owner = b.rank;
  Address address;
  if (port.kind == Port::Send) {
    owner = std::get<1>(channelOf(b.rank, port));
    address = regionOf(b, port);
  } else {
    if (!exists(b.rank, port.loc, isToken))
      return broken();
    address = addressOf(b.rank, port.loc, b.round, b.slice, isToken);
  }
  memory[address] = cell;
  if (port.loc.space == Location::Buffer) {
    if (member.buffers[port.loc.buffer].kind != Buffer::Out)
      return broken();
    written[{owner, int(port.loc.buffer), port.loc.part, port.loc.chunk, 0,
             0}] = true;
  }
  return true;
}

bool Execution::doSlice(const Block &b) {
  const Step &step = stepOf(b);
  const bool isIdleHere = isIdle(b);
  std::vector<Number> sources, operands;
  for (const Port &port : sourcesOf(b)) {
    if (port.kind == Port::Recv && port.direct == Port::Put &&
        isDirect(b.rank, port))
      ++awaited[channelOf(b.rank, port)];
    Number number;
    if (!isIdleHere && !takeSource(b, port, number))
      return false;
    sources.push_back(number);
  }
  if (isIdleHere)
    return true;
  const bool isGotAhead = isAhead(b, sourcesOf(b)[0]);
  if ((isGotAhead ||
       std::ranges::any_of(
           sinksOf(b), [&](const Port &port) { return isAhead(b, port); })) &&
      b.round == 0 && b.slice == 0 && !moveAhead(b))
    return false;
  if (isGotAhead)
    return true;
  for (uint32_t i = 0; i < sources.size(); ++i)
    operands.push_back(sources[(i + step.shift) % sources.size()]);
  const ValueExpr &expr = programs.exprs[step.expr];
  if (!expr.isIdentity())
    for (Number &operand : operands)
      if (operand.isRaw)
        operand = {mix(operand.hash, 6), ElemType::T};
  Number value = finished(evaluate(expr, operands), step.complete, step.type);
  for (const Port &port : sinksOf(b))
    if (!isDropped(b, port) && !giveSink(b, port, value))
      return false;
  return true;
}

/// What the next slice loads and stores.
std::vector<Execution::Access> Execution::touched(const Block &b) const {
  std::vector<Access> result;
  if (b.slice == slicesOf(stepOf(b), b.round) || isIdle(b))
    return result;
  const bool isToken = programs.sizes[stepOf(b).size].isToken();
  auto add = [&](const Block &at, const Port &port, bool isWrite) {
    if (port.kind == Port::Load || port.kind == Port::Store)
      result.push_back(
          {addressOf(b.rank, port.loc, at.round, at.slice, isToken), isWrite});
    else if (isDirect(b.rank, port))
      result.push_back({regionOf(at, port), isWrite});
  };
  const bool isGot = isAhead(b, sourcesOf(b)[0]);
  std::vector<Block> here = {b}, ahead;
  if (b.round == 0 && b.slice == 0)
    ahead = slicesAhead(b);
  bool isAny = isGot, isAll = isGot;
  for (const Port &port : sinksOf(b))
    if (!isDropped(b, port)) {
      const bool moved = isGot || isAhead(b, port);
      isAny |= moved;
      for (const Block &at : moved ? ahead : here)
        add(at, port, true);
    }
  for (const Port &port : sourcesOf(b))
    for (const Block &at : isAny && !ahead.empty() ? ahead : here)
      if (!isAll || !ahead.empty())
        add(at, port, false);
  return result;
}
