//===- MscclExport.cpp - Programs as MSCCL XML ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread block has one peer to send to, one to receive from, and one channel
// for both, and nobody shares its connection. So each block of a program
// becomes as many thread blocks as it has connections, where those that one
// step joins are one; steps without messages stay with the step before them.
// The order of a block's steps is kept: a step depends on the step before it if
// that went to another thread block. More than one dependency becomes nops.
//
// Scratch needs no second look: in XML every iteration has scratch of its own,
// so waits for the round before fall away. The result is judged like any
// foreign file, so what is written is right.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclExport.h"
#include "lib/Interchange/MscclJudge.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::msccl;

namespace {
struct Made { // where a step of a program went
  uint32_t block = 0, step = 0;
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
  bool splitBlock(uint32_t block);
  bool joinEnds(const coll::Step &step);
  bool placeBlocks();
  bool exportStep(uint32_t block, uint32_t step);
  bool readPorts(const coll::Step &step, coll::msccl::Step &made);
  bool setKind(const coll::Step &step, coll::msccl::Step &made);
  bool placeOf(const Port &port, SiteId site, Place &place);
  void addWaits(uint32_t block, uint32_t step, Made own,
                coll::msccl::Step made);
  uint32_t find(uint32_t node);
  uint32_t nodeOf(const Port &port) const {
    return port.kind == Port::Send ? port.end
                                   : uint32_t(rank->sendEnds.size()) + port.end;
  }

  const ProgramSet &programs;
  DiagnosticEngine &diags;
  const ProgramMember &member;
  Algorithm algo;
  // Of the rank at hand.
  const RankProgram *rank = nullptr;
  Gpu *gpu = nullptr;
  std::vector<uint32_t> parent; // of ends: sends, then receives
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t>
      blockOf; // block of the program, joined ends -> thread block
  std::vector<std::vector<Made>> made; // by block and step
  // Of the step at hand.
  llvm::SmallVector<Place, 2> loads, stores;
  uint32_t numRecvs = 0, numSends = 0;
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

uint32_t Exporter::find(uint32_t node) {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

bool Exporter::joinEnds(const coll::Step &step) {
  uint32_t joined = kNone, sends = 0, receives = 0;
  for (uint32_t p = step.firstPort;
       p < step.firstPort + step.numSources + step.numSinks; ++p) {
    const Port &port = rank->ports[p];
    if (port.kind != Port::Recv && port.kind != Port::Send)
      continue;
    ++(port.kind == Port::Send ? sends : receives);
    uint32_t node = find(nodeOf(port));
    if (joined == kNone)
      joined = node;
    parent[node] = joined;
  }
  if (sends > 1 || receives > 1)
    return fail("a step has several messages in or out", step.site);
  return true;
}

/// A thread block for each set of joined ends.
bool Exporter::placeBlocks() {
  llvm::DenseMap<uint32_t, uint32_t>
      owner; // joined ends -> block of the program
  for (uint32_t b = 0; b < rank->blocks.size(); ++b)
    for (const coll::Step &step : rank->blocks[b].steps)
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p) {
        const Port &port = rank->ports[p];
        if (port.kind != Port::Recv && port.kind != Port::Send)
          continue;
        uint32_t node = find(nodeOf(port));
        if (!owner.try_emplace(node, b).second && owner[node] != b)
          return fail("two blocks use one channel", step.site);
        auto [it, isNew] = blockOf.try_emplace({b, node}, gpu->blocks.size());
        if (isNew)
          gpu->blocks.emplace_back();
        coll::msccl::Block &block = gpu->blocks[it->second];
        bool isSend = port.kind == Port::Send;
        const ChannelEnd &end =
            (isSend ? rank->sendEnds : rank->recvEnds)[port.end];
        int32_t &peer = isSend ? block.sendPeer : block.recvPeer;
        bool isFirst = block.sendPeer < 0 && block.recvPeer < 0;
        if ((peer >= 0 && peer != int32_t(end.peer)) ||
            (!isFirst && block.channel != end.tag))
          return fail("its steps join more channels than a thread block has",
                      step.site);
        peer = end.peer;
        block.channel = end.tag;
      }
  return true;
}

bool Exporter::placeOf(const Port &port, SiteId site, Place &place) {
  if (port.type != ElemType::T)
    return fail("a value is kept or sent as another type", site);
  const Location &at = port.loc;
  uint32_t chunks = programs.sizes[0].chunks;
  if (at.space == Location::Scratch)
    place = {Space::Scratch, int32_t(at.part)};
  else
    place = {member.buffers[at.buffer].kind == Buffer::In ? Space::Input
                                                          : Space::Output,
             int32_t(at.part * chunks + at.chunk)};
  return true;
}

bool Exporter::readPorts(const coll::Step &step, coll::msccl::Step &xml) {
  loads.clear();
  stores.clear();
  numRecvs = numSends = 0;
  for (uint32_t p = step.firstPort;
       p < step.firstPort + step.numSources + step.numSinks; ++p) {
    const Port &port = rank->ports[p];
    Place place;
    if (!placeOf(port, step.site, place))
      return false;
    if (port.kind == Port::Load)
      loads.push_back(place);
    else if (port.kind == Port::Store)
      stores.push_back(place);
    else
      ++(port.kind == Port::Recv ? numRecvs : numSends);
  }
  xml.count = 1;
  return setKind(step, xml);
}

/// The sum of two is the same bits in either order.
bool Exporter::setKind(const coll::Step &step, coll::msccl::Step &xml) {
  const auto &nodes = programs.exprs[step.expr].nodes;
  bool isCopy = step.numSources == 1 && programs.exprs[step.expr].isIdentity();
  bool isSum =
      step.numSources == 2 && nodes.size() == 3 &&
      nodes[0].kind == ExprNode::Operand &&
      nodes[1].kind == ExprNode::Operand && nodes[0].arg != nodes[1].arg &&
      (nodes[2].kind == ExprNode::Fold || nodes[2].kind == ExprNode::FoldAny);
  if (!isCopy && !isSum)
    return fail(
        "a step computes something else than a copy or the reduction of two",
        step.site);
  if (step.type != ElemType::T)
    return fail("a value is kept or sent as another type", step.site);
  if (stores.size() > 1 || numRecvs > 1)
    return fail("a step stores, or receives, more than one value", step.site);
  Place target = stores.empty() ? Place() : stores[0];
  xml.target = stores.empty() && !loads.empty() ? loads[0] : target;
  xml.source = loads.empty() ? xml.target : loads[0];
  bool isStored = !stores.empty(), isSent = numSends > 0;
  if (isCopy && numRecvs)
    xml.kind = !isSent ? StepKind::Recv : StepKind::RecvCopySend;
  else if (isCopy)
    xml.kind = isStored ? StepKind::Copy : StepKind::Send;
  else if (numRecvs)
    xml.kind = !isSent    ? StepKind::RecvReduceCopy
               : isStored ? StepKind::RecvReduceCopySend
                          : StepKind::RecvReduceSend;
  else
    xml.kind = StepKind::Reduce;
  bool isForward =
      isCopy && numRecvs && isSent && !isStored; // rcs stores in any case
  bool isCopyAndSend = !numRecvs && isStored && isSent;
  if (isForward || isCopyAndSend || (xml.kind == StepKind::Reduce && !isStored))
    return fail(
        "a step forwards, or sends, what it does not both receive and store",
        step.site);
  if (xml.kind != StepKind::Reduce)
    return true;
  if (loads[1] == xml.target)
    std::swap(loads[0], loads[1]);
  xml.source = loads[1];
  return loads[0] == xml.target ||
         fail("a local reduction into a third place", step.site);
}

/// The first dependency stays with the step, others go before it on nops.
void Exporter::addWaits(uint32_t b, uint32_t s, Made own,
                        coll::msccl::Step xml) {
  const coll::Step &step = rank->blocks[b].steps[s];
  llvm::SmallVector<Made, 4> waits;
  if (s > 0 && made[b][s - 1].block != own.block)
    waits.push_back(made[b][s - 1]);
  for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w) {
    const BlockWait &wait = rank->waits[w];
    if (!wait.previousRound && made[wait.block][wait.step].block != own.block)
      waits.push_back(made[wait.block][wait.step]);
  }
  auto &steps = gpu->blocks[own.block].steps;
  for (size_t i = 0; i < waits.size(); ++i) {
    coll::msccl::Step nop;
    nop.source.offset = nop.target.offset = -1;
    coll::msccl::Step &at =
        i + 1 < waits.size() ? steps.emplace_back(nop) : xml;
    at.depBlock = waits[i].block;
    at.depStep = waits[i].step; // of the program still, see exportRank
  }
  steps.push_back(xml);
}

bool Exporter::exportStep(uint32_t b, uint32_t s) {
  coll::msccl::Step xml;
  if (!readPorts(rank->blocks[b].steps[s], xml))
    return false;
  addWaits(b, s, made[b][s], xml);
  return true;
}

/// Which thread block each step goes to, and where there it will be, nops and
/// all.
bool Exporter::splitBlock(uint32_t b) {
  const auto &steps = rank->blocks[b].steps;
  uint32_t last = kNone;
  for (const coll::Step &step :
       steps) // local steps at the front go with the first message
    for (uint32_t p = step.firstPort;
         last == kNone && p < step.firstPort + step.numSources + step.numSinks;
         ++p)
      if (rank->ports[p].kind == Port::Recv ||
          rank->ports[p].kind == Port::Send)
        last = blockOf[{b, find(nodeOf(rank->ports[p]))}];
  if (last == kNone) {
    last = gpu->blocks.size();
    gpu->blocks.emplace_back();
  }
  for (const coll::Step &step : steps) {
    for (uint32_t p = step.firstPort;
         p < step.firstPort + step.numSources + step.numSinks; ++p)
      if (rank->ports[p].kind == Port::Recv ||
          rank->ports[p].kind == Port::Send)
        last = blockOf[{b, find(nodeOf(rank->ports[p]))}];
    made[b].push_back({last, 0});
  }
  return true;
}

bool Exporter::exportRank(Rank r) {
  rank = &member.outOfPlace[r];
  gpu = &algo.gpus[r];
  blockOf.clear();
  made.assign(rank->blocks.size(), {});
  parent.resize(rank->sendEnds.size() + rank->recvEnds.size());
  for (uint32_t i = 0; i < parent.size(); ++i)
    parent[i] = i;
  for (const BlockProgram &block : rank->blocks)
    for (const coll::Step &step : block.steps)
      if (!joinEnds(step))
        return false;
  if (!placeBlocks())
    return false;
  for (uint32_t b = 0; b < rank->blocks.size(); ++b)
    splitBlock(b);
  // Steps get their numbers when nops are known: count them per step first.
  std::vector<uint32_t> next(gpu->blocks.size(), 0);
  for (uint32_t b = 0; b < rank->blocks.size(); ++b)
    for (uint32_t s = 0; s < rank->blocks[b].steps.size(); ++s) {
      const coll::Step &step = rank->blocks[b].steps[s];
      uint32_t own = made[b][s].block,
               waits = s > 0 && made[b][s - 1].block != own;
      for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
        waits += !rank->waits[w].previousRound &&
                 made[rank->waits[w].block][rank->waits[w].step].block != own;
      next[own] += waits > 1 ? waits - 1 : 0;
      made[b][s].step = next[own]++;
    }
  for (uint32_t b = 0; b < rank->blocks.size(); ++b)
    for (uint32_t s = 0; s < rank->blocks[b].steps.size(); ++s)
      if (!exportStep(b, s))
        return false;
  for (const coll::msccl::Block &block : gpu->blocks)
    for (const coll::msccl::Step &step : block.steps)
      if (step.depBlock >= 0)
        gpu->blocks[step.depBlock].steps[step.depStep].hasDep = true;
  uint32_t chunks = programs.sizes[0].chunks;
  for (const Buffer &buffer : member.buffers)
    (buffer.kind == Buffer::In ? gpu->inChunks : gpu->outChunks) =
        buffer.parts * chunks;
  gpu->scratchChunks = rank->scratchSlots;
  return true;
}

std::optional<Algorithm> Exporter::run() {
  if (!checkSchedule())
    return std::nullopt;
  algo.name = programs.schedule;
  algo.coll = programs.contract;
  algo.protocol = "Simple";
  algo.hasOutOfPlace = algo.hasMinBytes = algo.hasMaxBytes = true;
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
