//===- MscclExport.cpp - Programs as MSCCL XML ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of a program becomes one of XML if there is one that does the same, or
// several: a value is made in the first place it is stored to (or in scratch of
// its own), operand by operand, and copied and sent from there. A sum of
// several that is rounded once has no such form, since XML rounds every sum of
// two.
//
// A thread block has one peer to send to, one to receive from, and one channel
// for both, and nobody shares its connection. So each block of a program
// becomes as many thread blocks as it has connections, where a receive and a
// send that one step joins, or that are all it has, are one; steps without
// messages stay with the step before them. The order of a block's steps is
// kept: a step depends on the one before it if that went to another thread
// block. More than one dependency becomes nops.
//
// Scratch needs no second look: in XML every iteration has scratch of its own,
// so waits for the round before fall away. The result is judged like any
// foreign file, so what is written is right.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclExport.h"
#include "lib/Interchange/MscclJudge.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::msccl;

namespace {
/// A step of XML, and the ends of channels that it uses.
struct Micro {
  coll::msccl::Step xml;
  uint32_t send = kNone, recv = kNone;
  uint32_t block = 0, step = 0; // where it goes
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 2>
      waits; // block of the program, its step
};

/// A step of a program, taken apart.
struct Parts {
  llvm::SmallVector<const Port *, 4> sources; // in order of summation
  llvm::SmallVector<Place, 2> stores;
  llvm::SmallVector<uint32_t, 2> sends;
};

class Exporter {
public:
  Exporter(const ProgramSet &programs, DiagnosticEngine &diags)
      : programs(programs), diags(diags), member(programs.members[0]) {}
  std::optional<Algorithm> run();

private:
  bool fail(const llvm::Twine &message, SiteId site = kNone);
  bool checkSchedule();
  bool exportRank(Rank rank);
  bool takeApart(const coll::Step &step, Parts &parts);
  bool orderSources(const coll::Step &step, Parts &parts);
  void joinBlock(uint32_t block);
  void choosePartner(const Parts &parts);
  void expand(const Parts &parts, std::vector<Micro> &out);
  Place accumulator(const Parts &parts);
  void add(std::vector<Micro> &out, StepKind kind, Place source, Place target,
           uint32_t recv = kNone, uint32_t send = kNone);
  void place(uint32_t block);
  uint32_t connect(const Micro &micro);
  void number();
  void emit(uint32_t block, size_t index);
  std::vector<const Micro *> waitsOf(uint32_t block, size_t index) const;
  Place placeOf(const Port &port) const;

  const ProgramSet &programs;
  DiagnosticEngine &diags;
  const ProgramMember &member;
  Algorithm algo;
  // Of the rank at hand.
  const RankProgram *rank = nullptr;
  Gpu *gpu = nullptr;
  std::vector<uint32_t> sendPartner,
      recvPartner; // the end of the other direction that shares its thread
                   // block
  std::vector<uint32_t> sendOwner,
      recvOwner; // the block of the program that uses the end
  std::vector<uint32_t> sendBlock, recvBlock;   // its thread block
  std::vector<std::vector<Micro>> micros;       // by block
  std::vector<std::vector<uint32_t>> lastMicro; // by block and step
};
} // namespace

bool Exporter::fail(const llvm::Twine &message, SiteId site) {
  SourceRange range =
      site == kNone ? SourceRange() : programs.sites[site].range;
  diags
      .error(Slug::NotXml, range,
             "MSCCL XML cannot hold '" + programs.schedule + "': " + message)
      .emit();
  return false;
}

bool Exporter::checkSchedule() {
  static const char *const names[] = {"allreduce",      "allgather",
                                      "reduce_scatter", "broadcast",
                                      "reduce",         "alltoall"};
  if (!llvm::is_contained(names, programs.contract))
    return fail("the format has no collective '" + programs.contract + "'");
  if (programs.members.size() != 1)
    return fail("it has a launch parameter, and a file has one value of it: -D "
                "gives that");
  if (programs.sizes.size() != 1 || programs.sizes[0].kind != SizeSymbol::Count)
    return fail("not all parts have the same size");
  if (programs.instances != 1)
    return fail("it has instances, which would have to be written out");
  uint32_t parts = 1;
  for (const Buffer &buffer : member.buffers) {
    if (buffer.kind != Buffer::In && buffer.kind != Buffer::Out)
      return fail("it has arguments beside in and out");
    parts = std::max(parts, buffer.parts);
  }
  if (uint64_t(parts) * programs.sizes[0].chunks > maxXmlChunks)
    return fail("more than " + llvm::Twine(maxXmlChunks) + " chunks");
  algo.chunks = parts * programs.sizes[0].chunks;
  return true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Place Exporter::placeOf(const Port &port) const {
  const Location &at = port.loc;
  if (at.space == Location::Scratch)
    return {Space::Scratch, int32_t(at.part)};
  Space space = member.buffers[at.buffer].kind == Buffer::In ? Space::Input
                                                             : Space::Output;
  return {space, int32_t(at.part * programs.sizes[0].chunks + at.chunk)};
}

/// XML sums two and rounds: a, or (a + b), or ((a + b) rounded + c), ...
bool Exporter::orderSources(const coll::Step &step, Parts &parts) {
  const auto &nodes = programs.exprs[step.expr].nodes;
  auto isOperand = [&](size_t i) {
    return i < nodes.size() && nodes[i].kind == ExprNode::Operand;
  };
  auto take = [&](size_t i) {
    parts.sources.push_back(
        &rank->ports[step.firstPort +
                     (nodes[i].arg + step.shift) % step.numSources]);
  };
  bool isRight = isOperand(0);
  if (isRight)
    take(0);
  for (size_t i = 1; isRight && i < nodes.size();) {
    bool isSum = isOperand(i) && i + 1 < nodes.size() &&
                 nodes[i + 1].arg == 2 &&
                 (nodes[i + 1].kind == ExprNode::Fold ||
                  nodes[i + 1].kind == ExprNode::FoldAny);
    bool isLast = i + 2 == nodes.size();
    isRight = isSum && (isLast || (nodes[i + 2].kind == ExprNode::Round &&
                                   nodes[i + 2].type == ElemType::T));
    if (isRight)
      take(i);
    i += isLast ? 2 : 3;
  }
  if (!isRight || parts.sources.size() != step.numSources)
    return fail("a step computes something else than sums of two, each rounded",
                step.site);
  return true;
}

bool Exporter::takeApart(const coll::Step &step, Parts &parts) {
  bool isT = step.type == ElemType::T;
  for (uint32_t p = step.firstPort;
       p < step.firstPort + step.numSources + step.numSinks; ++p) {
    const Port &port = rank->ports[p];
    isT &= port.type == ElemType::T;
    if (port.kind == Port::Store)
      parts.stores.push_back(placeOf(port));
    else if (port.kind == Port::Send)
      parts.sends.push_back(port.end);
  }
  if (!isT)
    return fail("a value is kept or sent as another type", step.site);
  return orderSources(step, parts);
}

/// A block that has a thread block's connections stays one.
void Exporter::joinBlock(uint32_t block) {
  uint32_t send = kNone, recv = kNone, count = 0;
  for (uint32_t end = 0; end < sendOwner.size(); ++end)
    if (sendOwner[end] == block) {
      send = end;
      ++count;
    }
  if (count != 1)
    return;
  for (uint32_t end = 0; end < recvOwner.size(); ++end)
    if (recvOwner[end] == block) {
      recv = end;
      ++count;
    }
  if (count != 2 || rank->sendEnds[send].tag != rank->recvEnds[recv].tag)
    return;
  sendPartner[send] = recv;
  recvPartner[recv] = send;
}

/// The last operand's message can go out with the result in one step, if no
/// other step wants another partner for either end.
void Exporter::choosePartner(const Parts &parts) {
  const Port &last = *parts.sources.back();
  if (last.kind != Port::Recv)
    return;
  for (uint32_t send : parts.sends)
    if (rank->sendEnds[send].tag == rank->recvEnds[last.end].tag &&
        sendPartner[send] == kNone && recvPartner[last.end] == kNone &&
        sendOwner[send] == recvOwner[last.end]) {
      sendPartner[send] = last.end;
      recvPartner[last.end] = send;
      return;
    }
}

void Exporter::add(std::vector<Micro> &out, StepKind kind, Place source,
                   Place target, uint32_t recv, uint32_t send) {
  Micro micro;
  micro.xml.kind = kind;
  micro.xml.source = source;
  micro.xml.target = target;
  micro.xml.count = 1;
  micro.recv = recv;
  micro.send = send;
  out.push_back(std::move(micro));
}

/// Where the value is made: not where an operand lies that is needed later.
Place Exporter::accumulator(const Parts &parts) {
  bool isFree = !parts.stores.empty();
  for (size_t i = 2; isFree && i < parts.sources.size(); ++i)
    isFree = parts.sources[i]->kind != Port::Load ||
             !(placeOf(*parts.sources[i]) == parts.stores[0]);
  return isFree ? parts.stores[0]
                : Place{Space::Scratch, int32_t(gpu->scratchChunks++)};
}

void Exporter::expand(const Parts &in, std::vector<Micro> &out) {
  Parts parts = in;
  auto isLoad = [](const Port *port) { return port->kind == Port::Load; };
  bool isPair = parts.sources.size() >= 2;
  bool isPlainSend =
      !isPair && isLoad(parts.sources[0]) && parts.stores.empty();
  if (isPlainSend) {
    for (uint32_t send : parts.sends)
      add(out, StepKind::Send, placeOf(*parts.sources[0]),
          placeOf(*parts.sources[0]), kNone, send);
    return;
  }
  // With a message last, rrs needs no place at all.
  const Port *last = parts.sources.back();
  uint32_t fused = last->kind == Port::Recv ? recvPartner[last->end] : kNone;
  if (!llvm::is_contained(parts.sends, fused))
    fused = kNone;
  llvm::erase(parts.sends, fused);
  if (isPair && !isLoad(parts.sources[0]) && isLoad(parts.sources[1]))
    std::swap(parts.sources[0], parts.sources[1]); // x + y == y + x
  last = parts.sources.back();
  if (last->kind != Port::Recv && fused != kNone) {
    parts.sends.push_back(
        fused); // there were two, the message came first and is taken alone
    fused = kNone;
  }
  if (parts.sources.size() == 2 && isLoad(parts.sources[0]) && fused != kNone &&
      parts.stores.empty() && parts.sends.empty())
    return add(out, StepKind::RecvReduceSend, placeOf(*parts.sources[0]),
               placeOf(*parts.sources[0]), last->end, fused);
  Place made = accumulator(parts);
  if (isPair && isLoad(parts.sources[1]) && isLoad(parts.sources[0]) &&
      placeOf(*parts.sources[1]) == made)
    std::swap(parts.sources[0], parts.sources[1]);
  for (size_t i = 0; i < parts.sources.size(); ++i) {
    const Port &port = *parts.sources[i];
    uint32_t send = i + 1 == parts.sources.size() ? fused : kNone;
    bool joinsNext =
        i == 0 && isPair && isLoad(&port) && !isLoad(parts.sources[1]);
    if (joinsNext)
      continue; // the reduction reads it where it is
    Place own =
        i == 1 && isLoad(parts.sources[0]) ? placeOf(*parts.sources[0]) : made;
    if (isLoad(&port) && i == 0 && placeOf(port) == made)
      continue;
    if (isLoad(&port))
      add(out, i == 0 ? StepKind::Copy : StepKind::Reduce, placeOf(port), made);
    else if (i == 0)
      add(out, send == kNone ? StepKind::Recv : StepKind::RecvCopySend, made,
          made, port.end, send);
    else
      add(out,
          send == kNone ? StepKind::RecvReduceCopy
                        : StepKind::RecvReduceCopySend,
          own, made, port.end, send);
  }
  for (Place store : parts.stores)
    if (!(store == made))
      add(out, StepKind::Copy, made, store);
  for (uint32_t send : parts.sends)
    add(out, StepKind::Send, made, made, kNone, send);
}

//===----------------------------------------------------------------------===//
// Thread blocks
//===----------------------------------------------------------------------===//

/// The thread block of a message, made when first met.
uint32_t Exporter::connect(const Micro &micro) {
  uint32_t send = micro.send, recv = micro.recv;
  if (send != kNone && recv == kNone)
    recv = sendPartner[send];
  else if (recv != kNone && send == kNone)
    send = recvPartner[recv];
  uint32_t &at = send != kNone ? sendBlock[send] : recvBlock[recv];
  if (at == kNone) {
    at = gpu->blocks.size();
    coll::msccl::Block &block = gpu->blocks.emplace_back();
    if (send != kNone) {
      block.sendPeer = rank->sendEnds[send].peer;
      block.channel = rank->sendEnds[send].tag;
    }
    if (recv != kNone) {
      block.recvPeer = rank->recvEnds[recv].peer;
      block.channel = rank->recvEnds[recv].tag;
    }
  }
  return at;
}

/// Steps without messages stay with the step before; at the front, they go with
/// the first message.
void Exporter::place(uint32_t b) {
  uint32_t last = kNone;
  for (const Micro &micro : micros[b])
    if (last == kNone && (micro.send != kNone || micro.recv != kNone))
      last = connect(micro);
  if (last == kNone) {
    last = gpu->blocks.size();
    gpu->blocks.emplace_back();
  }
  for (Micro &micro : micros[b]) {
    if (micro.send != kNone || micro.recv != kNone)
      last = connect(micro);
    micro.block = last;
  }
}

std::vector<const Micro *> Exporter::waitsOf(uint32_t b, size_t index) const {
  const Micro &own = micros[b][index];
  std::vector<const Micro *> result;
  auto wait = [&](const Micro &other) {
    if (other.block != own.block)
      result.push_back(&other);
  };
  if (index > 0)
    wait(micros[b][index - 1]);
  for (auto [block, step] : own.waits)
    if (uint32_t end = lastMicro[block][step])
      wait(micros[block][end - 1]);
  return result;
}

/// The first dependencies are nops before the step.
void Exporter::number() {
  std::vector<uint32_t> next(gpu->blocks.size(), 0);
  for (uint32_t b = 0; b < micros.size(); ++b)
    for (size_t i = 0; i < micros[b].size(); ++i) {
      Micro &micro = micros[b][i];
      size_t waits = waitsOf(b, i).size();
      next[micro.block] += waits > 1 ? waits - 1 : 0;
      micro.step = next[micro.block]++;
    }
}

void Exporter::emit(uint32_t b, size_t index) {
  const Micro &micro = micros[b][index];
  auto &steps = gpu->blocks[micro.block].steps;
  std::vector<const Micro *> waits = waitsOf(b, index);
  coll::msccl::Step xml = micro.xml, nop;
  nop.source.offset = nop.target.offset = -1;
  for (size_t i = 0; i < waits.size(); ++i) {
    coll::msccl::Step &at =
        i + 1 < waits.size() ? steps.emplace_back(nop) : xml;
    at.depBlock = waits[i]->block;
    at.depStep = waits[i]->step;
  }
  steps.push_back(xml);
}

bool Exporter::exportRank(Rank r) {
  rank = &member.outOfPlace[r];
  gpu = &algo.gpus[r];
  gpu->scratchChunks = rank->scratchSlots;
  for (auto *ends : {&sendPartner, &sendOwner, &sendBlock})
    ends->assign(rank->sendEnds.size(), kNone);
  for (auto *ends : {&recvPartner, &recvOwner, &recvBlock})
    ends->assign(rank->recvEnds.size(), kNone);
  std::vector<std::vector<Parts>> parts(rank->blocks.size());
  for (uint32_t b = 0; b < rank->blocks.size(); ++b)
    for (const coll::Step &step : rank->blocks[b].steps) {
      if (!takeApart(step, parts[b].emplace_back()))
        return false;
      for (uint32_t send : parts[b].back().sends)
        sendOwner[send] = b;
      for (const Port *port : parts[b].back().sources)
        if (port->kind == Port::Recv)
          recvOwner[port->end] = b;
    }
  for (uint32_t b = 0; b < parts.size(); ++b)
    joinBlock(b);
  for (const auto &block : parts)
    for (const Parts &step : block)
      choosePartner(step);
  micros.assign(rank->blocks.size(), {});
  lastMicro.assign(rank->blocks.size(), {});
  for (uint32_t b = 0; b < rank->blocks.size(); ++b) {
    llvm::SmallVector<std::pair<uint32_t, uint32_t>, 2> waits;
    for (size_t s = 0; s < parts[b].size(); ++s) {
      const coll::Step &step = rank->blocks[b].steps[s];
      for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
        if (!rank->waits[w].previousRound)
          waits.push_back({rank->waits[w].block, rank->waits[w].step});
      size_t first = micros[b].size();
      expand(parts[b][s], micros[b]);
      if (micros[b].size() > first)
        micros[b][first].waits = std::exchange(waits, {});
      lastMicro[b].push_back(micros[b].size());
    }
  }
  for (uint32_t b = 0; b < rank->blocks.size(); ++b)
    place(b);
  number();
  for (uint32_t b = 0; b < micros.size(); ++b)
    for (size_t i = 0; i < micros[b].size(); ++i)
      emit(b, i);
  for (const coll::msccl::Block &block : gpu->blocks)
    for (const coll::msccl::Step &step : block.steps)
      if (step.depBlock >= 0)
        gpu->blocks[step.depBlock].steps[step.depStep].hasDep = true;
  for (const Buffer &buffer : member.buffers)
    (buffer.kind == Buffer::In ? gpu->inChunks : gpu->outChunks) =
        buffer.parts * programs.sizes[0].chunks;
  return true;
}

std::optional<Algorithm> Exporter::run() {
  if (!checkSchedule())
    return std::nullopt;
  algo.name = programs.schedule;
  algo.coll = programs.contract;
  algo.protocol = "Simple";
  algo.hasOutOfPlace = algo.hasMinBytes = algo.hasMaxBytes = true;
  // 0 is no limit to Azure's loader and no size at all to microsoft's.
  algo.maxBytes = INT32_MAX;
  algo.gpus.resize(programs.numRanks());
  for (Rank r = 0; r < algo.gpus.size(); ++r) {
    if (!exportRank(r))
      return std::nullopt;
    for (const coll::msccl::Block &block : algo.gpus[r].blocks)
      algo.channels = std::max(algo.channels, block.channel + 1);
  }
  LintResult found = lint(diags.sources(), diags, algo);
  if (judge(diags.sources(), diags, algo, found, false).contract != "right" ||
      diags.hasErrors()) {
    fail("what would be written is not right");
    return std::nullopt;
  }
  DiagnosticEngine quiet(diags.sources());
  algo.inPlace =
      judge(diags.sources(), quiet, algo, found, true).contract == "right" &&
      !quiet.hasErrors();
  return std::move(algo);
}

std::optional<Algorithm> msccl::exportPrograms(const ProgramSet &programs,
                                               DiagnosticEngine &diags) {
  return Exporter(programs, diags).run();
}
