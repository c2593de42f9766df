//===- DirectShapes.cpp - What can go direct at all -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/DirectCheckRun.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace coll;
using namespace coll::direct;

/// Which step accesses the region where: the one that goes direct.
DirectError::Place coll::direct::placeOf(const Run &run, End end,
                                         bool isStore) {
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

/// The memory of who moves the message that it is moved from or to.
const Port &Check::movedPort(const Run &run, const Message &message) const {
  const Step &step = run.stepAt(message.mover());
  return run.programOf(message.mover().block)
      .ports[step.firstPort + (message.said == Port::Get)];
}

/// Null: who moves it may do so by one call.
const char *Check::aheadError(const Run &run, const Message &message) const {
  const Step &step = run.stepAt(message.mover());
  const bool isPut = message.said == Port::Put;
  if (run.portAt(message.owner()).ahead || message.said == Port::None)
    return "it is moved ahead by who does not move it";
  if (!isMove(step) || (!isPut && step.numSinks != 1))
    return "it is moved ahead by a step that does more than that";
  const Port &port = movedPort(run, message);
  if (port.kind != (isPut ? Port::Load : Port::Store) || !isPlain(port) ||
      !isLaunchBuffer(port.loc) ||
      member.buffers[port.loc.buffer].kind !=
          (isPut ? Buffer::In : Buffer::Out))
    return isPut ? "it is moved ahead from something else than an input"
                 : "it is moved ahead to something else than an output";
  return nullptr;
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
    if (run.portAt(message.send).ahead || run.portAt(message.recv).ahead)
      if (const char *what = aheadError(run, message))
        report(DirectError::Shape, run, message, variant, what);
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
