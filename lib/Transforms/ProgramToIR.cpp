//===- ProgramToIR.cpp - Programs as ops ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through a ProgramSet once, from the outside in. Structured bindings name
// every field of what is written, so that a new field does not compile until it
// has a place in the IR.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/ProgramToIR.h"
#include "lib/Transforms/SourceWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

using namespace coll;
using mlir::SmallVector;

// Enums of the dialect and of the analyses have the same numbers.
static_assert(unsigned(DataType::MXE4M3) == unsigned(ElemType::MXE4M3) &&
              unsigned(DataType::F32) == unsigned(ElemType::F32));
static_assert(unsigned(BufferKind::Elem) == unsigned(Buffer::ElemArg) &&
              unsigned(BufferKind::Scalar) == unsigned(Buffer::Scalar));
static_assert(unsigned(SizeKind::Launch) == unsigned(SizeSymbol::Launch) &&
              unsigned(SizeKind::Const) == unsigned(SizeSymbol::Const));

namespace {
class Writer {
public:
  Writer(const ProgramSet &programs, const SourceManager &sources,
         mlir::MLIRContext &context)
      : programs(programs), sources(sources), b(&context) {}

  mlir::OwningOpRef<mlir::ModuleOp> write();

private:
  ProgramOp writeFrame();
  MapAttr mapAttr();
  void writeMember(const ProgramMember &member);
  mlir::Value writeMemory(const Buffer &buffer);
  void writeRank(const RankProgram &program, Rank rank, bool inPlace);
  void writeStep(const RankProgram &program, const Step &step);
  mlir::Value writeSource(const Port &port);
  mlir::Value writeExpr(const Step &step, mlir::ValueRange sources);
  void writeSink(const Port &port, mlir::Value result);
  /// Of a message that may go direct: its region; none of others.
  std::pair<mlir::Value, mlir::DenseI64ArrayAttr> region(const Port &port);
  std::pair<mlir::Value, SmallVector<int64_t>>
  place(const Location &where) const;
  mlir::Location locOf(SiteId site);

  /// Makes the one block of `op`'s region and goes into it.
  template <typename Op> void enter(Op op) { b.createBlock(&op.getBody()); }
  DataTypeAttr type(ElemType type) {
    return DataTypeAttr::get(b.getContext(), DataType(unsigned(type)));
  }
  /// For attributes that go without saying if they are T.
  DataTypeAttr typeOrNull(ElemType elemType) {
    return elemType == ElemType::T ? DataTypeAttr() : type(elemType);
  }
  template <typename T>
  SmallVector<int64_t> widen(const std::vector<T> &values) {
    return SmallVector<int64_t>(values.begin(), values.end());
  }

  const ProgramSet &programs;
  const SourceManager &sources;
  mlir::OpBuilder b;
  mlir::Location loc = b.getUnknownLoc();
  llvm::DenseMap<SiteId, mlir::Location> siteLocs;
  // Of the member and the rank being written.
  SmallVector<mlir::Value> memories, sendEnds, recvEnds;
  mlir::Value scratch;
};
} // namespace

/// Sites form chains of callers, whose length the front end bounds.
mlir::Location Writer::locOf(SiteId id) {
  if (id == kNone)
    return b.getUnknownLoc();
  if (auto known = siteLocs.find(id); known != siteLocs.end())
    return known->second;
  const auto &[range, caller] = programs.sites[id];
  mlir::Location result = locationOf(range, sources, b.getUnknownLoc());
  if (caller != kNone)
    result = mlir::CallSiteLoc::get(result, locOf(caller));
  siteLocs.insert({id, result});
  return result;
}

MapAttr Writer::mapAttr() {
  const auto &[protocol, instances, channels, blocks, threads, slots,
               roundBytes, slotBytes, sizesLow, sizesHigh, scratchBytes,
               sourceOrder, byRow, pull, push, staged] = programs.map;
  return MapAttr::get(b.getContext(), protocol, instances, channels, blocks,
                      threads, slots, roundBytes, slotBytes, sizesLow,
                      sizesHigh, scratchBytes, sourceOrder, byRow, pull, push,
                      staged);
}

ProgramOp Writer::writeFrame() {
  const auto &[schedule, contract, sourcePath, rankDims, launchNames,
               launchDomains, reduces, isAvgLegal, globalCounts, launchCounts,
               launchCountDims, sizes, exprs, functions, sites, map, numTags,
               instances, roundBytes, members] = programs;
  mlir::MLIRContext *context = b.getContext();
  SmallVector<mlir::Attribute> sizeAttrs, domainAttrs;
  for (const auto &[kind, value, chunks] : sizes)
    sizeAttrs.push_back(
        SizeSymbolAttr::get(context, SizeKind(unsigned(kind)), value, chunks));
  for (const auto &[name, domain] : llvm::zip_equal(launchNames, launchDomains))
    domainAttrs.push_back(DomainAttr::get(context, name, domain));
  CountsAttr counts;
  if (!launchCounts.empty())
    counts =
        CountsAttr::get(context, launchCounts, launchCountDims, globalCounts);
  return ProgramOp::create(
      b, loc, schedule, contract, sourcePath, widen(rankDims), numTags,
      instances, roundBytes, b.getArrayAttr(sizeAttrs),
      domainAttrs.empty() ? mlir::ArrayAttr() : b.getArrayAttr(domainAttrs),
      counts, mapAttr(), reduces, isAvgLegal);
}

mlir::OwningOpRef<mlir::ModuleOp> Writer::write() {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  for (const Function &function : programs.functions)
    functionToIR(function, b);
  enter(writeFrame());
  for (const ProgramMember &member : programs.members) {
    mlir::OpBuilder::InsertionGuard guard(b);
    writeMember(member);
  }
  return module;
}

mlir::Value Writer::writeMemory(const Buffer &buffer) {
  const auto &[kind, name, parts, present, partSize] = buffer;
  mlir::DenseI64ArrayAttr presentAttr;
  if (!llvm::all_of(present, [](bool has) { return has; })) {
    SmallVector<int64_t> ranks;
    for (size_t rank = 0; rank < present.size(); ++rank)
      if (present[rank])
        ranks.push_back(rank);
    presentAttr = b.getDenseI64ArrayAttr(ranks);
  }
  return MemoryOp::create(
      b, loc, BufferKindAttr::get(b.getContext(), BufferKind(unsigned(kind))),
      b.getStringAttr(name), b.getI32IntegerAttr(parts),
      b.getDenseI64ArrayAttr(widen(partSize)), presentAttr);
}

void Writer::writeMember(const ProgramMember &member) {
  const auto &[launchValues, outOfPlace, inPlace, inplacePairs, buffers] =
      member;
  enter(FamilyMemberOp::create(b, loc, widen(launchValues)));
  memories.clear();
  for (const Buffer &buffer : buffers)
    memories.push_back(writeMemory(buffer));
  for (const auto &[rank, bufferA, partA, bufferB, partB] : inplacePairs)
    AliasOp::create(b, loc, rank, memories[bufferA], partA, memories[bufferB],
                    partB);
  for (bool isInPlace : {false, true})
    for (const auto &[rank, program] :
         llvm::enumerate(isInPlace ? inPlace : outOfPlace)) {
      mlir::OpBuilder::InsertionGuard guard(b);
      writeRank(program, rank, isInPlace);
    }
}

void Writer::writeRank(const RankProgram &program, Rank rank, bool inPlace) {
  const auto &[blocks, ports, waits, sends, recvs, scratchSlots] = program;
  enter(RankOp::create(b, loc, rank, inPlace));
  auto inScratch = [](const Port &port) {
    bool isMemory = port.kind == Port::Load || port.kind == Port::Store;
    return isMemory && port.loc.space == Location::Scratch;
  };
  scratch = {};
  if (scratchSlots != 0 || llvm::any_of(ports, inScratch))
    scratch = ScratchOp::create(b, loc, scratchSlots);
  recvEnds.clear();
  for (const auto &[peer, tag] : recvs)
    recvEnds.push_back(ChannelOp::create(b, loc, Direction::From, peer, tag));
  sendEnds.clear();
  for (const auto &[peer, tag] : sends)
    sendEnds.push_back(ChannelOp::create(b, loc, Direction::To, peer, tag));
  for (const BlockProgram &block : blocks) {
    mlir::OpBuilder::InsertionGuard guard(b);
    enter(BlockOp::create(b, loc));
    for (const Step &step : block.steps) {
      mlir::OpBuilder::InsertionGuard guard(b);
      writeStep(program, step);
    }
  }
}

void Writer::writeStep(const RankProgram &program, const Step &step) {
  const auto &[firstPort, numSources, numSinks, shift, expr, elemType, complete,
               size, chunk, site, firstWait, numWaits, value] = step;
  loc = locOf(site);
  auto op = StepOp::create(b, loc, size, chunk, DataType(unsigned(elemType)),
                           complete, shift, mlir::IntegerAttr());
  if (value != kNone)
    op.setValue(value);
  enter(op);
  for (uint32_t i = 0; i < numWaits; ++i) {
    const auto &[block, waitStep, previousRound] = program.waits[firstWait + i];
    WaitOp::create(b, loc, block, waitStep, previousRound);
  }
  const Port *ports = program.ports.data() + firstPort;
  SmallVector<mlir::Value> values;
  for (uint32_t i = 0; i < numSources; ++i)
    values.push_back(writeSource(ports[i]));
  mlir::Value result = writeExpr(step, values);
  for (uint32_t i = 0; i < numSinks; ++i)
    writeSink(ports[numSources + i], result);
  loc = b.getUnknownLoc();
}

std::pair<mlir::Value, SmallVector<int64_t>>
Writer::place(const Location &where) const {
  if (where.space == Location::Scratch)
    return {scratch, {where.part}};
  return {memories[where.buffer], {where.part, where.chunk}};
}

std::pair<mlir::Value, mlir::DenseI64ArrayAttr>
Writer::region(const Port &port) {
  if (port.direct == Port::None)
    return {};
  auto [memory, indices] = place(port.loc);
  return {memory, b.getDenseI64ArrayAttr(indices)};
}

mlir::Value Writer::writeSource(const Port &port) {
  const auto &[kind, elemType, scaled, rounded, receivedScaled, end, where,
               direct, ahead, wish] = port; // wish: what came of it is written
  DataType dataType = DataType(unsigned(elemType));
  if (kind == Port::Recv) {
    assert(!scaled && "a received leaf is scaled by receivedScaled");
    auto [memory, indices] = region(port);
    return PopOp::create(b, loc, recvEnds[end], dataType, receivedScaled,
                         rounded, memory, indices, direct == Port::Get, ahead);
  }
  assert(kind == Port::Load && !receivedScaled && direct == Port::None &&
         "not a source");
  auto [memory, indices] = place(where);
  return LoadOp::create(b, loc, memory, indices, dataType, scaled, rounded);
}

void Writer::writeSink(const Port &port, mlir::Value result) {
  const auto &[kind, elemType, scaled, rounded, receivedScaled, end, where,
               direct, ahead, wish] = port; // wish: what came of it is written
  assert(!scaled && !rounded && !receivedScaled && "sinks do not scale");
  DataType dataType = DataType(unsigned(elemType));
  if (kind == Port::Send) {
    auto [memory, indices] = region(port);
    PushOp::create(b, loc, result, sendEnds[end], dataType, memory, indices,
                   direct == Port::Get, ahead);
    return;
  }
  assert(kind == Port::Store && direct == Port::None && "not a sink");
  auto [memory, indices] = place(where);
  StoreOp::create(b, loc, result, memory, indices, dataType);
}

mlir::Value Writer::writeExpr(const Step &step, mlir::ValueRange values) {
  SmallVector<mlir::Value> stack;
  for (const auto &[kind, elemType, function, arg] :
       programs.exprs[step.expr].nodes) {
    uint32_t taken = kind == ExprNode::Operand ? 0
                     : kind == ExprNode::Add   ? 2
                     : kind == ExprNode::Round ? 1
                                               : arg;
    SmallVector<mlir::Value> operands(stack.end() - taken, stack.end());
    stack.truncate(stack.size() - taken);
    switch (kind) {
    case ExprNode::Operand:
      stack.push_back(values[(arg + step.shift) % step.numSources]);
      break;
    case ExprNode::Fold:
    case ExprNode::FoldAny:
      stack.push_back(
          CombineOp::create(b, loc, kind == ExprNode::FoldAny, operands));
      break;
    case ExprNode::Add:
      stack.push_back(AddOp::create(b, loc, operands[0], operands[1]));
      break;
    case ExprNode::Round:
      stack.push_back(
          RoundOp::create(b, loc, operands[0], DataType(unsigned(elemType))));
      break;
    case ExprNode::Apply:
      stack.push_back(
          ApplyOp::create(b, loc, programs.functions[function].name, operands));
      break;
    }
  }
  assert(stack.size() == 1 && "bad postfix code");
  return stack.back();
}

mlir::OwningOpRef<mlir::ModuleOp>
coll::programToIR(const ProgramSet &programs, const SourceManager &sources,
                  mlir::MLIRContext &context) {
  context.loadDialect<CollDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect>();
  size_t steps = 0;
  for (const ProgramMember &member : programs.members)
    for (const auto *variant : {&member.outOfPlace, &member.inPlace})
      for (const RankProgram &program : *variant)
        for (const BlockProgram &block : program.blocks)
          steps += block.steps.size();
  if (steps > maxStepsInIR)
    return nullptr;
  return Writer(programs, sources, context).write();
}
