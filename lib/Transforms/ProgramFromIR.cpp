//===- ProgramFromIR.cpp - Programs from ops ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a verified coll.program. Expressions become postfix code, each value
// with the code of its operands before its own node; equal ones share an entry.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/FunctionFromIR.h"
#include "lib/Analysis/SourceLocation.h"
#include "lib/Transforms/ProgramToIR.h"

#include <map>

using namespace coll;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {
class Reader {
public:
  Reader(ProgramOp op, const SourceManager &sources)
      : op(op), sources(sources) {
    for (FileId id = 0; id < sources.size(); ++id)
      files.try_emplace(sources.file(id).name(), id);
  }

  mlir::FailureOr<ImportedProgram> read();

private:
  using Nodes = std::vector<ExprNode>;

  void readFrame();
  LogicalResult readFunctions();
  LogicalResult checkLocations(FamilyMemberOp memberOp,
                               const ProgramMember &member);
  LogicalResult readMember(FamilyMemberOp member);
  Buffer readMemory(MemoryOp memory);
  LogicalResult readRank(RankOp rank, RankProgram &program);
  LogicalResult readStep(StepOp step, RankProgram &program,
                         BlockProgram &block);
  std::optional<Port> readPort(mlir::Operation &op);
  template <typename Op> void readRegion(Op op, Port &port);
  Location readPlace(mlir::Value memory, llvm::ArrayRef<int64_t> indices);
  LogicalResult readExpr(StepOp step, uint32_t numSources, ExprId &expr);
  LogicalResult appendNode(mlir::Operation &op, Nodes &nodes);
  SiteId siteOf(mlir::Location loc);
  SourceRange rangeOf(mlir::FileLineColRange loc);

  ProgramOp op;
  const SourceManager &sources;
  ImportedProgram result;
  ProgramSet &programs = result.programs;
  llvm::StringMap<FileId> files;
  llvm::StringMap<uint16_t> functions;
  llvm::DenseMap<mlir::Location, SiteId> siteIds;
  /// Expressions by their nodes, written out as numbers.
  std::map<std::vector<uint32_t>, ExprId> exprIds;
  /// Index of a memory in its member, of a channel among its rank's of one
  /// direction.
  llvm::DenseMap<mlir::Value, uint32_t> indexOf;
};
} // namespace

static ElemType elemType(DataType type) { return ElemType(unsigned(type)); }

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

SourceRange Reader::rangeOf(mlir::FileLineColRange loc) {
  auto file = files.find(loc.getFilename().getValue());
  return file == files.end() ? SourceRange()
                             : rangeIn(sources, file->second, loc);
}

/// A chain of callers is read from the outside in, without recursion: its
/// length is the text's.
SiteId Reader::siteOf(mlir::Location loc) {
  llvm::SmallVector<mlir::Location> chain{loc};
  while (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(chain.back()))
    chain.push_back(call.getCaller());
  SiteId caller = kNone;
  for (mlir::Location link : llvm::reverse(chain)) {
    auto [known, isNew] = siteIds.try_emplace(link, kNone);
    mlir::Location callee = link;
    if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(link))
      callee = call.getCallee();
    bool isKnownToBeNone = mlir::isa<mlir::UnknownLoc>(link);
    if (isNew && !isKnownToBeNone) {
      Site site{{}, caller};
      if (auto range = callee->findInstanceOf<mlir::FileLineColRange>())
        site.range = rangeOf(range);
      known->second = programs.sites.size();
      programs.sites.push_back(site);
      result.siteLocs.push_back(link);
    }
    caller = known->second;
  }
  return caller;
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

static MapDirectives readMap(MapAttr map) {
  MapDirectives result;
  auto &[protocol, instances, channels, blocks, threads, slots, roundBytes,
         slotBytes, sizesLow, sizesHigh, scratchBytes, sourceOrder, byRow, pull,
         push, staged] = result;
  protocol = map.getProtocol().str();
  instances = map.getInstances();
  channels = map.getChannels();
  blocks = map.getBlocks();
  threads = map.getThreads();
  slots = map.getSlots();
  roundBytes = map.getRoundBytes();
  slotBytes = map.getSlotBytes();
  sizesLow = map.getSizesLow();
  sizesHigh = map.getSizesHigh();
  scratchBytes = map.getScratchBytes();
  sourceOrder = map.getSourceOrder();
  byRow = map.getByRow();
  pull = map.getPull();
  push = map.getPush();
  staged = map.getStaged();
  return result;
}

void Reader::readFrame() {
  programs.schedule = op.getSymName().str();
  programs.contract = op.getContract().str();
  programs.sourcePath = op.getSource().str();
  programs.rankDims.assign(op.getRanks().begin(), op.getRanks().end());
  if (mlir::ArrayAttr launch = op.getLaunchAttr())
    for (auto domain : launch.getAsRange<DomainAttr>()) {
      programs.launchNames.push_back(domain.getName().str());
      programs.launchDomains.emplace_back(domain.getValues().begin(),
                                          domain.getValues().end());
    }
  programs.reduces = op.getReduces();
  programs.isAvgLegal = op.getAvgLegal();
  if (CountsAttr counts = op.getCountsAttr()) {
    programs.launchCounts = counts.getName().str();
    programs.launchCountDims.assign(counts.getDims().begin(),
                                    counts.getDims().end());
    programs.globalCounts = counts.getGlobal();
  }
  for (auto size : op.getSizes().getAsRange<SizeSymbolAttr>())
    programs.sizes.push_back({SizeSymbol::Kind(unsigned(size.getKind())),
                              size.getValue(), size.getChunks()});
  programs.map = readMap(op.getMap());
  programs.numTags = op.getTags();
  programs.instances = op.getInstances();
  programs.roundBytes = op.getRound();
}

LogicalResult Reader::readFunctions() {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  if (!module)
    return success();
  for (auto functionOp : module.getOps<FunctionOp>()) {
    if (functions.size() > std::numeric_limits<uint16_t>::max())
      return functionOp.emitError("there are too many functions");
    mlir::FailureOr<Function> function = functionFromIR(functionOp);
    if (failed(function))
      return failure();
    functions[function->name] = functions.size();
    programs.functions.push_back(std::move(*function));
  }
  return success();
}

mlir::FailureOr<ImportedProgram> Reader::read() {
  readFrame();
  if (failed(readFunctions()))
    return failure();
  for (auto member : op.getOps<FamilyMemberOp>())
    if (failed(readMember(member)))
      return failure();
  return std::move(result);
}

Buffer Reader::readMemory(MemoryOp memory) {
  Buffer buffer;
  buffer.kind = Buffer::Kind(unsigned(memory.getKind()));
  buffer.name = memory.getName().str();
  buffer.parts = memory.getParts();
  buffer.partSize.assign(memory.getSizes().begin(), memory.getSizes().end());
  std::optional<llvm::ArrayRef<int64_t>> present = memory.getPresent();
  buffer.present.assign(op.getNumRanks(), !present);
  if (present)
    for (int64_t rank : *present)
      buffer.present[rank] = true;
  return buffer;
}

LogicalResult Reader::readMember(FamilyMemberOp memberOp) {
  ProgramMember &member = programs.members.emplace_back();
  member.launchValues.assign(memberOp.getValues().begin(),
                             memberOp.getValues().end());
  for (mlir::Operation &inner : memberOp.getBody().front()) {
    if (auto memory = mlir::dyn_cast<MemoryOp>(inner)) {
      if (member.buffers.size() > std::numeric_limits<uint16_t>::max())
        return memory.emitError("there are too many buffers");
      indexOf[memory] = member.buffers.size();
      member.buffers.push_back(readMemory(memory));
    }
    if (auto alias = mlir::dyn_cast<AliasOp>(inner))
      member.inplacePairs.push_back(
          {alias.getRank(), uint16_t(indexOf.lookup(alias.getLhs())),
           alias.getLhsPart(), uint16_t(indexOf.lookup(alias.getRhs())),
           alias.getRhsPart()});
    if (auto rank = mlir::dyn_cast<RankOp>(inner)) {
      auto &variant = rank.getInPlace() ? member.inPlace : member.outOfPlace;
      if (failed(readRank(rank, variant.emplace_back())))
        return failure();
    }
  }
  return checkLocations(memberOp, member);
}

/// Chunks of buffers, and slots, on all ranks: each is kept in memory.
static constexpr uint64_t maxLocationsInIR = 1u << 24;

LogicalResult Reader::checkLocations(FamilyMemberOp memberOp,
                                     const ProgramMember &member) {
  uint64_t locations = 0;
  for (const Buffer &buffer : member.buffers) {
    uint64_t chunks = 1;
    for (uint32_t size : buffer.partSize)
      if (size < programs.sizes.size())
        chunks = std::max<uint64_t>(chunks, programs.sizes[size].chunks);
    uint64_t ranks = llvm::count(buffer.present, true);
    locations += buffer.parts * ranks > maxLocationsInIR
                     ? maxLocationsInIR + 1
                     : buffer.parts * ranks * chunks;
  }
  for (const auto *variant : {&member.outOfPlace, &member.inPlace})
    for (const RankProgram &program : *variant)
      locations += program.scratchSlots;
  if (locations > maxLocationsInIR)
    return memberOp.emitError("has more than ")
           << maxLocationsInIR << " locations [too-much-memory]";
  return success();
}

LogicalResult Reader::readRank(RankOp rank, RankProgram &program) {
  for (mlir::Operation &inner : rank.getBody().front()) {
    if (auto scratch = mlir::dyn_cast<ScratchOp>(inner))
      program.scratchSlots = scratch.getSlots();
    if (auto channel = mlir::dyn_cast<ChannelOp>(inner)) {
      auto &ends = channel.getDirection() == Direction::From ? program.recvEnds
                                                             : program.sendEnds;
      indexOf[channel] = ends.size();
      ends.push_back({channel.getPeer(), channel.getTag()});
    }
    if (auto block = mlir::dyn_cast<BlockOp>(inner)) {
      BlockProgram &steps = program.blocks.emplace_back();
      for (auto step : block.getOps<StepOp>())
        if (failed(readStep(step, program, steps)))
          return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Location Reader::readPlace(mlir::Value memory,
                           llvm::ArrayRef<int64_t> indices) {
  Location where;
  where.part = indices[0];
  if (memory.getDefiningOp<ScratchOp>()) {
    where.space = Location::Scratch;
    return where;
  }
  where.buffer = indexOf.lookup(memory);
  where.chunk = indices[1];
  return where;
}

/// A message that may go direct.
template <typename Op> void Reader::readRegion(Op op, Port &port) {
  if (!op.getMemory())
    return;
  port.direct = op.getGet() ? Port::Get : Port::Put;
  port.ahead = op.getAhead();
  port.loc = readPlace(op.getMemory(), *op.getIndices());
}

std::optional<Port> Reader::readPort(mlir::Operation &portOp) {
  Port port{};
  if (auto pop = mlir::dyn_cast<PopOp>(portOp)) {
    port.kind = Port::Recv;
    port.type = elemType(pop.getType());
    port.receivedScaled = pop.getScaled();
    port.scaledRounded = pop.getRounded();
    port.end = indexOf.lookup(pop.getChannel());
    readRegion(pop, port);
  } else if (auto load = mlir::dyn_cast<LoadOp>(portOp)) {
    port.kind = Port::Load;
    port.type = elemType(load.getType());
    port.scaled = load.getScaled();
    port.scaledRounded = load.getRounded();
    port.loc = readPlace(load.getMemory(), load.getIndices());
  } else if (auto push = mlir::dyn_cast<PushOp>(portOp)) {
    port.kind = Port::Send;
    port.type = elemType(push.getType());
    port.end = indexOf.lookup(push.getChannel());
    readRegion(push, port);
  } else if (auto store = mlir::dyn_cast<StoreOp>(portOp)) {
    port.kind = Port::Store;
    port.type = elemType(store.getType());
    port.loc = readPlace(store.getMemory(), store.getIndices());
  } else {
    return std::nullopt;
  }
  return port;
}

LogicalResult Reader::readStep(StepOp stepOp, RankProgram &program,
                               BlockProgram &block) {
  Step step{};
  step.firstPort = program.ports.size();
  step.firstWait = program.waits.size();
  step.shift = stepOp.getShift();
  step.type = elemType(stepOp.getType());
  step.complete = stepOp.getComplete();
  step.size = stepOp.getSize();
  step.chunk = stepOp.getChunk();
  step.site = siteOf(stepOp.getLoc());
  step.value = stepOp.getValue().value_or(kNone);
  uint32_t numSources = 0;
  for (mlir::Operation &inner : stepOp.getBody().front()) {
    if (auto wait = mlir::dyn_cast<WaitOp>(inner))
      program.waits.push_back(
          {wait.getBlock(), wait.getStep(), wait.getPreviousRound()});
    if (std::optional<Port> port = readPort(inner)) {
      program.ports.push_back(*port);
      numSources += port->kind == Port::Recv || port->kind == Port::Load;
    }
  }
  step.numWaits = program.waits.size() - step.firstWait;
  uint32_t numPorts = program.ports.size() - step.firstPort;
  if (numPorts > std::numeric_limits<uint16_t>::max())
    return stepOp.emitError("step has too many sources and sinks");
  step.numSources = numSources;
  step.numSinks = numPorts - numSources;
  if (failed(readExpr(stepOp, numSources, step.expr)))
    return failure();
  block.steps.push_back(step);
  return success();
}

LogicalResult Reader::appendNode(mlir::Operation &exprOp, Nodes &nodes) {
  uint32_t taken = exprOp.getNumOperands();
  if (nodes.size() >= maxExprNodes)
    return exprOp.emitError("expression has more than ")
           << maxExprNodes << " nodes";
  if (auto combine = mlir::dyn_cast<CombineOp>(exprOp))
    nodes.push_back({combine.getAny() ? ExprNode::FoldAny : ExprNode::Fold,
                     ElemType::T, 0, taken});
  else if (mlir::isa<AddOp>(exprOp))
    nodes.push_back({ExprNode::Add});
  else if (auto round = mlir::dyn_cast<RoundOp>(exprOp))
    nodes.push_back({ExprNode::Round, elemType(round.getType())});
  else
    nodes.push_back({ExprNode::Apply, ElemType::T,
                     functions.lookup(mlir::cast<ApplyOp>(exprOp).getCallee()),
                     taken});
  return success();
}

LogicalResult Reader::readExpr(StepOp step, uint32_t numSources, ExprId &expr) {
  llvm::SmallDenseMap<mlir::Value, Nodes> nodesOf;
  mlir::Value root;
  uint32_t source = 0;
  for (mlir::Operation &inner : step.getBody().front()) {
    if (mlir::isa<StoreOp, PushOp>(inner))
      root = inner.getOperand(0);
    if (inner.getNumResults() == 0)
      continue;
    Nodes nodes;
    if (mlir::isa<PopOp, LoadOp>(inner)) {
      uint32_t operand = (source++ + numSources - step.getShift()) % numSources;
      nodes.push_back({ExprNode::Operand, ElemType::T, 0, operand});
    } else {
      for (mlir::Value operand : inner.getOperands()) {
        const Nodes &part = nodesOf[operand];
        nodes.insert(nodes.end(), part.begin(), part.end());
      }
      if (failed(appendNode(inner, nodes)))
        return failure();
    }
    root = inner.getResult(0); // if no sink says otherwise
    nodesOf[root] = std::move(nodes);
  }
  Nodes &nodes = nodesOf[root];
  std::vector<uint32_t> key;
  for (const auto &[kind, type, function, arg] : nodes)
    key.insert(key.end(), {uint32_t(kind), uint32_t(type), function, arg});
  auto [known, isNew] =
      exprIds.try_emplace(std::move(key), programs.exprs.size());
  if (isNew)
    programs.exprs.push_back({std::move(nodes)});
  expr = known->second;
  return success();
}

mlir::FailureOr<ImportedProgram>
coll::programFromIR(ProgramOp op, const SourceManager &sources) {
  return Reader(op, sources).read();
}
