//===- DirectCheck.cpp - May these messages go direct? --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/DirectCheck.h"
#include "lib/Analysis/DirectCheckRun.h"
#include "lib/Analysis/DirectWait.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <set>

using namespace coll;
using namespace coll::direct;

static bool mayGoDirect(const RankProgram &program) {
  return llvm::any_of(program.ports, [](const Port &port) {
    return port.direct != Port::None;
  });
}

bool coll::hasDirect(const ProgramMember &member) {
  return llvm::any_of(member.outOfPlace, mayGoDirect) ||
         llvm::any_of(member.inPlace, mayGoDirect);
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

CellKey Check::cellOf(Rank rank, const Location &where, Variant variant) const {
  if (variant == Variant::InPlace)
    if (auto it = alias.find({rank, where.buffer, where.part});
        it != alias.end())
      return {rank, it->second.first, it->second.second, where.chunk};
  return {rank, where.buffer, where.part, where.chunk};
}

static bool isAllGot(const RankProgram &program, const Step &step) {
  const Port *sinks = program.ports.data() + step.firstPort + step.numSources;
  return step.numSinks > 0 &&
         std::all_of(sinks, sinks + step.numSinks, [](const Port &port) {
           return port.kind == Port::Send && port.direct == Port::Get;
         });
}

/// To all cells that a message may be put into or got from, and those that it
/// is moved ahead from or to.
std::map<CellKey, std::vector<Access>> Check::accesses(const Run &run,
                                                       Variant variant) const {
  std::map<CellKey, std::vector<Access>> result;
  for (const Message &message : run.messages) {
    const Rank mover = run.blocks[message.mover().block].rank;
    if (message.ahead)
      (void)result[cellOf(mover, movedPort(run, message).loc, variant)];
    if (message.direct == Port::None)
      continue;
    const bool isPut = message.direct == Port::Put;
    const Rank owner = run.blocks[message.owner().block].rank;
    const CellKey cell = cellOf(owner, run.portAt(message.send).loc, variant);
    result[cell].push_back({message.owner(), message.mover(), isPut, &message,
                            ahead.count(message.id) ? &message : nullptr});
  }
  addOwnAccesses(run, variant, result);
  return result;
}

/// What the ranks' own ports do to these cells.
void Check::addOwnAccesses(
    const Run &run, Variant variant,
    std::map<CellKey, std::vector<Access>> &result) const {
  std::map<std::pair<uint32_t, uint32_t>, const Message *> putTo, movedBy;
  for (const Message &message : run.messages) {
    if (message.direct == Port::Put)
      putTo[{message.recv.block, message.recv.step}] = &message;
    if (message.ahead)
      movedBy[{message.mover().block, message.mover().step}] = &message;
  }
  for (uint32_t b = 0; b < run.blocks.size(); ++b) {
    const RankProgram &program = run.programOf(b);
    const auto &steps = program.blocks[run.blocks[b].block].steps;
    for (uint32_t s = 0; s < steps.size(); ++s) {
      auto put = putTo.find({b, s}), moved = movedBy.find({b, s});
      for (uint32_t p = steps[s].firstPort;
           p < steps[s].firstPort + steps[s].numSources + steps[s].numSinks;
           ++p) {
        const Port &port = program.ports[p];
        if ((port.kind != Port::Load && port.kind != Port::Store) ||
            !isLaunchBuffer(port.loc))
          continue;
        auto it = result.find(cellOf(run.blocks[b].rank, port.loc, variant));
        if (it == result.end())
          continue;
        // Sends that the peers all get load nothing here but in the ring.
        if (port.kind == Port::Load && isAllGot(program, steps[s]))
          continue;
        // That is the message's own, as the ring has it: where it is put, it is
        // read here, to be passed on.
        const bool isOwn = put != putTo.end() && port.kind == Port::Store &&
                           port.loc == run.portAt(put->second->send).loc;
        const bool isMoved =
            moved != movedBy.end() && &port == &movedPort(run, *moved->second);
        const End here{b, s, p};
        it->second.push_back({here, here, !isOwn && port.kind == Port::Store,
                              nullptr, isMoved ? moved->second : nullptr});
      }
    }
  }
}

void Check::findUnordered(const Run &apart) {
  const std::vector<std::vector<bool>> ports =
      unorderedReceives(member, Variant::OutOfPlace);
  for (const Message &message : apart.messages)
    if (ports[message.id.to][message.recv.port])
      unordered.insert(message.id);
}

void Check::reportRace(const Run &run, Variant variant, const Access &a,
                       const Access &b) {
  const bool isFirst = a.message != nullptr;
  const Access &own = isFirst ? a : b, &other = isFirst ? b : a;
  report(DirectError::Race, run, *own.message, variant);
  DirectError &error = errors.back();
  error.otherAt = placeOf(run, other.direct, other.isWrite);
  if (other.message) {
    error.isOtherDirect = true;
    error.other = other.message->id;
  }
}

void Check::reportAhead(const Run &run, Variant variant, const Access &moved,
                        const Access &other) {
  report(DirectError::Ahead, run, *moved.ahead, variant,
         moved.message ? "it is moved ahead, and its region is used before that"
                       : "it is moved ahead, and is not there from the start");
  errors.back().otherAt = placeOf(run, other.direct, other.isWrite);
}

void Check::checkRaces(const Run &run, Variant variant) {
  std::map<CellKey, std::vector<Access>> all = accesses(run, variant);
  // By chunk, so that each is entered once.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const CellKey *>> groups;
  for (const auto &[cell, of] : all)
    if (!of.empty()) {
      const Step &step = run.stepAt(of.front().ring);
      groups[{step.size, step.chunk}].push_back(&cell);
    }
  Order order(run, unordered, hasInPlace(), options.maxWork);
  // Loads of an element come before the stores of the step.
  auto isPointBefore = [&](const Point &a, const Point &b, Rank owner) {
    if (a.at.block == b.at.block && a.at.step == b.at.step)
      return !a.isWrite && b.isWrite;
    return order.isBefore(a.at, b.at, owner, {a.inRing, b.inRing});
  };
  auto isBefore = [&](const Access &a, const Access &b, Rank owner) {
    for (const Point &from : a.points())
      for (const Point &to : b.points())
        if (!isPointBefore(from, to, owner))
          return false;
    return true;
  };
  auto isOfChunk = [&](const Access &access, auto chunk) {
    const Step &step = run.stepAt(access.ring);
    return std::pair(step.size, step.chunk) == chunk;
  };
  for (const auto &[chunk, cells] : groups) {
    order.enter(chunk.first, chunk.second);
    for (const CellKey *cell : cells) {
      const std::vector<Access> &of = all[*cell];
      const Rank owner = std::get<0>(*cell);
      for (size_t i = 0; i < of.size(); ++i) {
        for (size_t j = 0; j < of.size() && !isFull(); ++j) {
          const bool isAhead = of[i].ahead != nullptr;
          if (i == j || (!of[i].isWrite && !(isAhead && of[j].isWrite)) ||
              (!isAhead && ((of[j].isWrite && j < i) ||
                            (!of[i].message && !of[j].message))))
            continue;
          // What a put's receiver passes on is what was put.
          bool isOwn = of[i].message && !of[j].message && !of[j].isWrite &&
                       of[j].ring.block == of[i].ring.block &&
                       of[j].ring.step == of[i].ring.step;
          const bool areOfChunk =
              isOfChunk(of[i], chunk) && isOfChunk(of[j], chunk);
          if (isOwn || (areOfChunk && isBefore(of[i], of[j], owner)))
            continue;
          if (isAhead && !order.isCut) {
            reportAhead(run, variant, of[i], of[j]);
            continue;
          }
          if (areOfChunk && isBefore(of[j], of[i], owner))
            continue;
          if (order.isCut) {
            report(DirectError::Undecided, run, *of.front().message, variant);
            return;
          }
          reportRace(run, variant, of[i], of[j]);
        }
      }
    }
  }
}

std::vector<DirectError> Check::run() {
  Run apart(member, Variant::OutOfPlace);
  std::optional<Run> inPlace;
  for (const InplacePair &pair : member.inplacePairs)
    alias[{pair.rank, pair.bufferB, pair.partB}] = {pair.bufferA, pair.partA};
  compareEnds(apart, Variant::OutOfPlace);
  if (hasInPlace()) {
    inPlace.emplace(member, Variant::InPlace);
    compareEnds(*inPlace, Variant::InPlace);
    compareVariants(apart, *inPlace);
    compareOrder(apart, *inPlace);
  }
  checkShapes(apart, Variant::OutOfPlace);
  if (inPlace)
    checkShapes(*inPlace, Variant::InPlace);
  if (!errors.empty())
    return std::move(errors);
  findUnordered(apart);
  for (const Run *each : {&apart, inPlace ? &*inPlace : nullptr})
    for (size_t m = 0; each && m < each->messages.size(); ++m)
      if (each->messages[m].ahead)
        ahead.insert(each->messages[m].id);
  checkRaces(apart, Variant::OutOfPlace);
  if (inPlace)
    checkRaces(*inPlace, Variant::InPlace);
  return std::move(errors);
}

std::vector<DirectError> coll::checkDirect(const ProgramSet &programs,
                                           uint32_t member,
                                           const DirectCheckOptions &options) {
  if (!hasDirect(programs.members[member]))
    return {};
  return Check(programs, member, options).run();
}
