//===- DirectCheck.cpp - May these messages go direct? --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/DirectCheck.h"
#include "lib/Analysis/DirectOrder.h"
#include "lib/Analysis/DirectWait.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <set>

using namespace coll;
using namespace coll::direct;

namespace {
/// Buffer, part and chunk of a rank; parts that share memory are one.
using CellKey = std::tuple<Rank, uint16_t, uint32_t, uint32_t>;

/// When an access happens; `inRing`: if this message uses the ring.
struct Point {
  End at;
  bool isWrite = false;
  const Message *inRing = nullptr;
};

/// Of a region. Without a message the two points are one.
struct Access {
  End ring, direct;
  bool isWrite = false;
  const Message *message = nullptr;

  std::array<Point, 2> points() const {
    return {Point{ring, isWrite, message}, {direct, isWrite, nullptr}};
  }
};

class Check {
public:
  Check(const ProgramSet &programs, uint32_t member,
        const DirectCheckOptions &options)
      : programs(programs), member(programs.members[member]), options(options) {
  }
  std::vector<DirectError> run();

private:
  bool hasInPlace() const { return !member.inPlace.empty(); }
  bool isFull() const { return errors.size() >= options.maxErrors; }
  void compareEnds(const Run &run, Variant variant);
  void compareVariants(const Run &apart, const Run &inPlace);
  void compareOrder(const Run &apart, const Run &inPlace);
  void checkShapes(const Run &run, Variant variant);
  const char *shapeError(const Run &run, const Message &message) const;
  bool isMove(const Step &step) const;
  bool isRegion(const Message &message, const Port &port) const;
  void checkRaces(const Run &run, Variant variant);
  std::map<CellKey, std::vector<Access>> accesses(const Run &run,
                                                  Variant variant) const;
  void findUnordered(const Run &apart);
  CellKey cellOf(Rank rank, const Location &where, Variant variant) const;
  bool isLaunchBuffer(const Location &where) const {
    return where.space == Location::Buffer &&
           where.buffer < member.buffers.size() &&
           member.buffers[where.buffer].kind <= Buffer::Out;
  }
  void report(DirectError::Kind kind, const Run &run, const Message &message,
              Variant variant, const char *detail = "");
  void reportRace(const Run &run, Variant variant, const Access &a,
                  const Access &b);

  const ProgramSet &programs;
  const ProgramMember &member;
  const DirectCheckOptions &options;
  std::map<std::tuple<Rank, uint16_t, uint32_t>, std::pair<uint16_t, uint32_t>>
      alias;
  std::vector<DirectError> errors;
  std::set<MessageId> unordered; // in either variant
};
} // namespace

static bool mayGoDirect(const RankProgram &program) {
  return llvm::any_of(program.ports, [](const Port &port) {
    return port.direct != Port::None;
  });
}

bool coll::hasDirect(const ProgramMember &member) {
  return llvm::any_of(member.outOfPlace, mayGoDirect) ||
         llvm::any_of(member.inPlace, mayGoDirect);
}

/// Which step accesses the region where: the one that goes direct.
static DirectError::Place placeOf(const Run &run, End end, bool isStore) {
  return {run.blocks[end.block].rank, run.blocks[end.block].block, end.step,
          isStore};
}

void Check::report(DirectError::Kind kind, const Run &run,
                   const Message &message, Variant variant,
                   const char *detail) {
  if (isFull())
    return;
  DirectError error{kind, variant, message.id};
  const Port &send = run.portAt(message.send);
  const bool isGet = message.direct == Port::Get;
  error.direct = message.direct;
  error.region = send.loc;
  error.detail = detail;
  error.at = placeOf(run, isGet ? message.recv : message.send, !isGet);
  error.otherAt = placeOf(run, isGet ? message.send : message.recv, !isGet);
  errors.push_back(error);
}

//===----------------------------------------------------------------------===//
// What the ends say
//===----------------------------------------------------------------------===//

static bool isSame(const Port &a, const Port &b) {
  return a.direct == b.direct && (a.direct == Port::None || a.loc == b.loc);
}

/// The owner of the region has a slot for it, whatever the peer might do.
static bool isDeclined(const Port &send, const Port &recv) {
  return (send.direct == Port::Put && recv.direct == Port::None) ||
         (recv.direct == Port::Get && send.direct == Port::None);
}

/// What a channel has of one kind is declined in place by one word, so all of
/// it or nothing.
void Check::compareEnds(const Run &run, Variant variant) {
  std::map<std::tuple<Rank, Rank, uint32_t, Port::Direct>, bool> declines;
  for (const Message &message : run.messages) {
    const Port &send = run.portAt(message.send),
               &recv = run.portAt(message.recv);
    const bool isDeclinedHere =
        variant == Variant::InPlace && isDeclined(send, recv);
    if (!isDeclinedHere && !isSame(send, recv)) {
      report(DirectError::Differs, run, message, variant,
             "the sender and the receiver do not say the same");
      continue;
    }
    const Port::Direct direct = std::max(send.direct, recv.direct);
    if (direct == Port::None)
      continue;
    const auto &[from, to, tag, index] = message.id;
    if (declines.try_emplace({from, to, tag, direct}, isDeclinedHere)
            .first->second != isDeclinedHere)
      report(DirectError::Differs, run, message, variant,
             "some of its channel use slots in place, and others do not");
  }
}

void Check::compareVariants(const Run &apart, const Run &inPlace) {
  // The same messages, as checkPrograms has found.
  for (const auto &[a, b] : llvm::zip(apart.messages, inPlace.messages)) {
    const Port &send = inPlace.portAt(b.send), &recv = inPlace.portAt(b.recv);
    const Port &said =
        isDeclined(send, recv) && send.direct == Port::None ? recv : send;
    if (!isSame(apart.portAt(a.send), said))
      report(DirectError::Differs, apart, a, Variant::OutOfPlace,
             "in place and out of place do not say the same");
  }
}

/// Of each step with messages: which channels, in which direction.
static std::vector<std::vector<std::tuple<bool, Rank, uint32_t>>>
messagesOf(const RankProgram &program, uint32_t block) {
  std::vector<std::vector<std::tuple<bool, Rank, uint32_t>>> result;
  if (block >= program.blocks.size())
    return result;
  for (const Step &step : program.blocks[block].steps) {
    std::vector<std::tuple<bool, Rank, uint32_t>> ends;
    for (uint32_t p = step.firstPort;
         p < step.firstPort + step.numSources + step.numSinks; ++p) {
      const Port &port = program.ports[p];
      if (port.kind != Port::Recv && port.kind != Port::Send)
        continue;
      bool isSend = port.kind == Port::Send;
      const ChannelEnd &end =
          (isSend ? program.sendEnds : program.recvEnds)[port.end];
      ends.push_back({isSend, end.peer, end.tag});
    }
    llvm::sort(ends);
    if (!ends.empty())
      result.push_back(std::move(ends));
  }
  return result;
}

void Check::compareOrder(const Run &apart, const Run &inPlace) {
  for (Rank rank = 0; rank < member.outOfPlace.size() && !isFull(); ++rank) {
    const RankProgram &a = member.outOfPlace[rank], &b = member.inPlace[rank];
    for (uint32_t block = 0; block < std::max(a.blocks.size(), b.blocks.size());
         ++block)
      if (messagesOf(a, block) != messagesOf(b, block)) {
        DirectError error{DirectError::Order};
        error.variant = Variant::InPlace;
        error.at = {rank, block, 0};
        errors.push_back(error);
        break;
      }
  }
}

//===----------------------------------------------------------------------===//
// What can go direct at all
//===----------------------------------------------------------------------===//

/// Of one source, as it is, whatever the op of the launch.
bool Check::isMove(const Step &step) const {
  return step.numSources == 1 && programs.exprs[step.expr].isIdentity() &&
         step.type == ElemType::T && !step.complete &&
         !programs.sizes[step.size].isToken();
}

static bool isPlain(const Port &port) {
  return port.type == ElemType::T && !port.scaled && !port.scaledRounded &&
         !port.receivedScaled;
}

bool Check::isRegion(const Message &message, const Port &port) const {
  const Rank owner =
      message.direct == Port::Put ? message.id.to : message.id.from;
  const Location &where = port.loc;
  if (!isLaunchBuffer(where))
    return false;
  const Buffer &buffer = member.buffers[where.buffer];
  return buffer.kind ==
             (message.direct == Port::Put ? Buffer::Out : Buffer::In) &&
         buffer.present[owner] && where.part < buffer.parts &&
         buffer.sizeOf(owner, where.part) == message.size &&
         where.chunk == message.chunk;
}

/// Null: it can.
const char *Check::shapeError(const Run &run, const Message &message) const {
  const Port &send = run.portAt(message.send), &recv = run.portAt(message.recv);
  const Step &sender = run.stepAt(message.send),
             &receiver = run.stepAt(message.recv);
  if (!isRegion(message, send))
    return message.direct == Port::Put
               ? "its region is no chunk of an output of the receiver"
               : "its region is no chunk of an input of the sender";
  if (send.type != ElemType::T || recv.type != ElemType::T)
    return "it travels as another type than T";
  if (message.direct == Port::Get) {
    const Port &source =
        run.programOf(message.send.block).ports[sender.firstPort];
    if (!isMove(sender) || !isPlain(source))
      return "the sender does not send its region as it is";
    return source.kind == Port::Load && source.loc == send.loc
               ? nullptr
               : "the sender sends something else than its region";
  }
  if (!isMove(receiver) || !isPlain(recv))
    return "the receiver does not store it as it is";
  const std::vector<Port> &ports = run.programOf(message.recv.block).ports;
  for (uint32_t p = receiver.firstPort + 1;
       p <= receiver.firstPort + receiver.numSinks; ++p)
    if (ports[p].kind == Port::Store && ports[p].loc == send.loc &&
        ports[p].type == ElemType::T)
      return nullptr;
  return "the receiver does not store it in its region";
}

void Check::checkShapes(const Run &run, Variant variant) {
  const Message *first[3] = {}; // of the channel: by what they are
  const Message *before = nullptr;
  for (const Message &message : run.messages) {
    if (before && std::tie(before->id.from, before->id.to, before->id.tag) !=
                      std::tie(message.id.from, message.id.to, message.id.tag))
      first[Port::Put] = first[Port::Get] = nullptr;
    before = &message;
    if (message.direct == Port::None)
      continue;
    if (const char *what = shapeError(run, message))
      report(DirectError::Shape, run, message, variant, what);
    const Message *&same = first[message.direct];
    if (!same)
      same = &message;
    if (run.portAt(same->send).loc.buffer !=
        run.portAt(message.send).loc.buffer)
      report(DirectError::Shape, run, message, variant,
             "its channel has one of another buffer");
  }
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

/// To all cells that a message may be put into or got from.
std::map<CellKey, std::vector<Access>> Check::accesses(const Run &run,
                                                       Variant variant) const {
  std::map<CellKey, std::vector<Access>> result;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, const Message *> putTo;
  for (const Message &message : run.messages) {
    if (message.direct == Port::None)
      continue;
    const bool isPut = message.direct == Port::Put;
    const Port &port = run.portAt(message.send);
    const Rank owner = isPut ? message.id.to : message.id.from;
    result[cellOf(owner, port.loc, variant)].push_back(
        {isPut ? message.recv : message.send,
         isPut ? message.send : message.recv, isPut, &message});
    if (isPut)
      putTo[{message.recv.block, message.recv.step, 0}] = &message;
  }
  for (uint32_t b = 0; b < run.blocks.size(); ++b) {
    const RankProgram &program = run.programOf(b);
    const auto &steps = program.blocks[run.blocks[b].block].steps;
    for (uint32_t s = 0; s < steps.size(); ++s) {
      auto put = putTo.find({b, s, 0});
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
        // That is the message's own, as the ring has it.
        bool isOwn = put != putTo.end() && port.kind == Port::Store &&
                     port.loc == run.portAt(put->second->send).loc;
        End here{b, s, p};
        if (isOwn) // where it is put, it is read here, to be passed on
          it->second.push_back({here, here, false, nullptr});
        else
          it->second.push_back({here, here, port.kind == Port::Store, nullptr});
      }
    }
  }
  return result;
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

void Check::checkRaces(const Run &run, Variant variant) {
  std::map<CellKey, std::vector<Access>> all = accesses(run, variant);
  // By chunk, so that each is entered once.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const CellKey *>> groups;
  for (const auto &[cell, of] : all)
    groups[{of.front().message->size, of.front().message->chunk}].push_back(
        &cell);
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
        if (!of[i].isWrite)
          continue;
        for (size_t j = 0; j < of.size() && !isFull(); ++j) {
          if (i == j || (of[j].isWrite && j < i) ||
              (!of[i].message && !of[j].message))
            continue;
          // What a put's receiver passes on is what was put.
          bool isOwn = of[i].message && !of[j].message && !of[j].isWrite &&
                       of[j].ring.block == of[i].ring.block &&
                       of[j].ring.step == of[i].ring.step;
          if (isOwn || (isOfChunk(of[i], chunk) && isOfChunk(of[j], chunk) &&
                        (isBefore(of[i], of[j], owner) ||
                         isBefore(of[j], of[i], owner))))
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
