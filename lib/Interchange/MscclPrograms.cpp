//===- MscclPrograms.cpp - From MSCCL XML to programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread blocks become blocks, channels tags. A step of n chunks becomes n
// steps (a step of a program handles one), or one where only messages are
// counted. A nop becomes the waits of the step after it, and whoever waits for
// a nop waits for what came before it and for what it waits for.
//
// The memory of both sides of `inplace` is one buffer, in which the names i and
// o start at different chunks. Scratch is a buffer, too: the format has a place
// in it for every iteration of its loop. A program may not load what holds
// nothing, but XML may, so all memory starts with a content of its own: it
// shares memory with a buffer of inputs that nothing names.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclPrograms.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::msccl;

Shape msccl::shapeOf(const Algorithm &algo) {
  uint32_t n = algo.chunks, ranks = algo.gpus.size();
  Shape shape{n, n};
  llvm::StringRef coll = algo.coll;
  if (coll == "allgather")
    shape.in = n / ranks;
  else if (coll == "reduce_scatter")
    shape.out = n / ranks;
  else if (coll != "allreduce" && coll != "broadcast" && coll != "reduce" &&
           coll != "alltoall")
    shape.isKnown = false;
  if (coll == "allgather" || coll == "reduce_scatter" || coll == "alltoall")
    shape.divides = n % ranks == 0;
  return shape;
}

PhysicalPlace msccl::placeOf(const Algorithm &algo, bool inPlace, Rank rank,
                             Place place) {
  uint32_t offset = place.offset;
  if (place.space == Space::Scratch)
    return {ScratchBuffer, offset};
  if (!inPlace)
    return {place.space == Space::Input ? InBuffer : OutBuffer, offset};
  Shape shape = shapeOf(algo);
  if (place.space == Space::Input && algo.coll == "allgather")
    offset += rank * shape.in;
  if (place.space == Space::Output && algo.coll == "reduce_scatter")
    offset += rank * shape.out;
  return {OutBuffer, offset};
}

std::optional<uint32_t> msccl::flaggedStep(const Gpu &gpu, uint32_t block,
                                           uint32_t step) {
  const auto &steps = gpu.blocks[block].steps;
  for (; step < steps.size(); ++step)
    if (steps[step].hasDep)
      return step;
  return std::nullopt;
}

namespace {
enum : ExprId { copyExpr, foldExpr };

class Importer {
public:
  Importer(const Algorithm &algo, const ImportOptions &options)
      : algo(algo), options(options) {}
  ProgramSet run();

private:
  void makeBuffers();
  void addBuffer(const char *name, Buffer::Kind kind, uint32_t parts);
  void addRank(Rank rank);
  void addPreloads();
  void addStep(const coll::msccl::Step &step, uint32_t chunk, bool isFirst);
  void addSource(const coll::msccl::Step &step, uint32_t chunk);
  void addSinks(const coll::msccl::Step &step, uint32_t chunk);
  void addWaits(const coll::msccl::Step &step);
  void waitFor(uint32_t block, uint32_t step);
  Port memory(Port::Kind kind, Place place, uint32_t chunk) const;
  Port channel(Port::Kind kind);

  const Algorithm &algo;
  const ImportOptions &options;
  ProgramSet result;
  // Of the rank at hand.
  Rank rank = 0;
  const Gpu *gpu = nullptr;
  RankProgram program;
  uint32_t blockId = 0;
  llvm::DenseMap<uint64_t, uint32_t> sendEnds, recvEnds;
  std::vector<std::vector<uint32_t>>
      lastStep; // by block and XML step: of the program's steps up to there,
                // the number
  llvm::SmallVector<BlockWait, 4> waits; // of the next step
  llvm::DenseSet<std::pair<uint32_t, uint32_t>> seen;
};
} // namespace

void Importer::addBuffer(const char *name, Buffer::Kind kind, uint32_t parts) {
  Buffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.parts = parts;
  buffer.present.assign(algo.gpus.size(), true);
  buffer.partSize.assign(parts, 0);
  result.members[0].buffers.push_back(std::move(buffer));
}

void Importer::makeBuffers() {
  Shape shape = shapeOf(algo);
  uint32_t in = shape.in, out = shape.out, scratch = 1;
  for (Rank r = 0; r < algo.gpus.size(); ++r) {
    const Gpu &gpu = algo.gpus[r];
    uint32_t inBase = placeOf(algo, options.inPlace, r, {Space::Input, 0}).part;
    uint32_t outBase =
        placeOf(algo, options.inPlace, r, {Space::Output, 0}).part;
    in = std::max(in, gpu.inChunks);
    out = std::max(
        {out, outBase + std::max(shape.out, gpu.outChunks),
         options.inPlace ? inBase + std::max(shape.in, gpu.inChunks) : 0});
    scratch = std::max(scratch, gpu.scratchChunks);
  }
  addBuffer("in", Buffer::In, std::max(1u, in));
  addBuffer("out", Buffer::Out, std::max(1u, out));
  addBuffer("scratch", Buffer::Out, scratch);
  addBuffer("out_start", Buffer::In, std::max(1u, out));
  addBuffer("scratch_start", Buffer::In, scratch);
  auto &pairs = result.members[0].inplacePairs;
  for (Rank r = 0; r < algo.gpus.size(); ++r) {
    uint32_t base = placeOf(algo, options.inPlace, r, {Space::Input, 0}).part,
             count = 0;
    if (options.inPlace)
      count = std::max(shape.in, algo.gpus[r].inChunks);
    for (uint32_t i = 0; i < count; ++i)
      pairs.push_back({r, OutBuffer, base + i, InBuffer, i});
    for (uint32_t i = 0; i < out; ++i)
      if (i < base || i >= base + count)
        pairs.push_back({r, OutBuffer, i, OutStart, i});
    for (uint32_t i = 0; i < scratch; ++i)
      pairs.push_back({r, ScratchBuffer, i, ScratchStart, i});
  }
}

Port Importer::memory(Port::Kind kind, Place place, uint32_t chunk) const {
  PhysicalPlace at = placeOf(algo, options.inPlace, rank, place);
  Port port{kind};
  port.loc = {Location::Buffer, at.buffer, at.part + chunk, 0};
  return port;
}

Port Importer::channel(Port::Kind kind) {
  const coll::msccl::Block &block = gpu->blocks[blockId];
  bool isSend = kind == Port::Send;
  uint32_t peer = isSend ? block.sendPeer : block.recvPeer;
  auto &ends = isSend ? program.sendEnds : program.recvEnds;
  auto [it, isNew] =
      (isSend ? sendEnds : recvEnds)
          .try_emplace(uint64_t(peer) << 32 | block.channel, ends.size());
  if (isNew)
    ends.push_back({peer, block.channel});
  Port port{kind};
  port.end = it->second;
  return port;
}

/// The reduction takes the rank's own chunk first, then the message.
void Importer::addSource(const coll::msccl::Step &step, uint32_t chunk) {
  bool isReduction = step.kind == StepKind::RecvReduceCopy ||
                     step.kind == StepKind::RecvReduceCopySend;
  if (step.kind == StepKind::Reduce)
    program.ports.push_back(memory(Port::Load, step.target, chunk));
  if (readsSource(step.kind))
    program.ports.push_back(memory(
        Port::Load,
        isReduction && options.targetIsSource ? step.target : step.source,
        chunk));
  if (receives(step.kind))
    program.ports.push_back(channel(Port::Recv));
}

void Importer::addSinks(const coll::msccl::Step &step, uint32_t chunk) {
  if (writesTarget(step.kind))
    program.ports.push_back(memory(Port::Store, step.target, chunk));
  if (sends(step.kind))
    program.ports.push_back(channel(Port::Send));
}

/// A wait for a step without a flag is satisfied by the next one that raises
/// it. What it waits for has waited in turn, unless it is a nop.
void Importer::waitFor(uint32_t block, uint32_t step) {
  std::optional<uint32_t> flagged = flaggedStep(*gpu, block, step);
  if (!flagged || !seen.insert({block, *flagged}).second)
    return;
  if (uint32_t count = lastStep[block][*flagged])
    waits.push_back({block, count - 1});
  const auto &steps = gpu->blocks[block].steps;
  for (uint32_t s = *flagged + 1; s-- > 0 && steps[s].kind == StepKind::Nop;)
    if (steps[s].depBlock >= 0 && uint32_t(steps[s].depBlock) != blockId)
      waitFor(steps[s].depBlock, steps[s].depStep);
}

void Importer::addWaits(const coll::msccl::Step &step) {
  if (step.depBlock >= 0)
    waitFor(step.depBlock, step.depStep);
}

void Importer::addStep(const coll::msccl::Step &step, uint32_t chunk,
                       bool isFirst) {
  coll::Step made;
  made.firstPort = program.ports.size();
  addSource(step, chunk);
  made.numSources = program.ports.size() - made.firstPort;
  addSinks(step, chunk);
  made.numSinks = program.ports.size() - made.firstPort - made.numSources;
  made.expr = made.numSources == 2 ? foldExpr : copyExpr;
  made.site = result.sites.size() - 1;
  made.firstWait = program.waits.size();
  if (isFirst) {
    program.waits.insert(program.waits.end(), waits.begin(), waits.end());
    waits.clear();
    seen.clear();
  }
  made.numWaits = program.waits.size() - made.firstWait;
  program.blocks[blockId].steps.push_back(made);
}

/// In a block of their own, which the first step of every other waits for.
void Importer::addPreloads() {
  if (!options.preloads || gpu->preloads.empty())
    return;
  blockId = program.blocks.size();
  program.blocks.emplace_back();
  for (const Preload &preload : gpu->preloads) {
    coll::msccl::Step step;
    step.kind = StepKind::Copy;
    step.source = {Space::Input, preload.from};
    step.target = {Space::Output, preload.to};
    result.sites.push_back({preload.range, kNone});
    addStep(step, 0, true);
  }
}

void Importer::addRank(Rank r) {
  rank = r;
  gpu = &algo.gpus[r];
  program = {};
  sendEnds.clear();
  recvEnds.clear();
  lastStep.clear();
  program.blocks.resize(gpu->blocks.size());
  for (const coll::msccl::Block &block : gpu->blocks) {
    auto &last = lastStep.emplace_back();
    uint32_t count = 0;
    for (const coll::msccl::Step &step : block.steps) {
      if (step.kind != StepKind::Nop)
        count += options.wholeMessages ? 1 : step.count;
      last.push_back(count);
    }
  }
  waits.clear();
  addPreloads();
  uint32_t preloads = program.blocks.size() > gpu->blocks.size()
                          ? program.blocks.back().steps.size()
                          : 0;
  for (blockId = 0; blockId < gpu->blocks.size(); ++blockId) {
    waits.clear();
    seen.clear();
    if (preloads)
      waits.push_back({uint32_t(gpu->blocks.size()), preloads - 1});
    for (const coll::msccl::Step &step : gpu->blocks[blockId].steps) {
      addWaits(step);
      if (step.kind == StepKind::Nop)
        continue;
      result.sites.push_back({step.range, kNone});
      for (uint32_t chunk = 0; chunk < (options.wholeMessages ? 1 : step.count);
           ++chunk)
        addStep(step, chunk, chunk == 0);
    }
  }
  auto &ranks = options.wholeMessages ? result.members[0].outOfPlace
                                      : result.members[0].inPlace;
  ranks.push_back(std::move(program));
}

ProgramSet Importer::run() {
  result.schedule = algo.name;
  result.contract = algo.coll;
  result.rankDims = {uint32_t(algo.gpus.size())};
  result.sizes.push_back({});
  result.exprs.resize(2);
  ExprNode operand{ExprNode::Operand};
  result.exprs[copyExpr].nodes = {operand};
  ExprNode second = operand, fold{ExprNode::Fold};
  second.arg = 1;
  fold.arg = 2;
  result.exprs[foldExpr].nodes = {operand, second, fold};
  result.members.emplace_back();
  for (const Gpu &gpu : algo.gpus)
    for (const coll::msccl::Block &block : gpu.blocks)
      result.numTags = std::max(result.numTags, block.channel + 1);
  if (!options.wholeMessages)
    makeBuffers();
  for (Rank r = 0; r < algo.gpus.size(); ++r)
    addRank(r);
  return std::move(result);
}

ProgramSet msccl::importPrograms(const Algorithm &algo,
                                 const ImportOptions &options) {
  return Importer(algo, options).run();
}
