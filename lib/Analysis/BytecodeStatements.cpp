//===- BytecodeStatements.cpp - The ops of the dialect --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/BytecodeEmitter.h"
#include "lib/Analysis/FunctionFromIR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace coll;
using namespace coll::bytecode;
namespace arith = mlir::arith;

static ElemType elemTypeOf(DataType type) { return ElemType(uint32_t(type)); }
static Buffer::Kind bufferKindOf(BufferKind kind) {
  return Buffer::Kind(uint32_t(kind));
}

//===----------------------------------------------------------------------===//
// Lists, views and values
//===----------------------------------------------------------------------===//

Reg Emitter::emitList(mlir::Region &region, SiteId at) {
  emit(Opcode::ListBegin, at);
  emitBlock(region.front());
  emit(Opcode::ListEnd, at).dst = code.numLists;
  return code.numLists++;
}

void Emitter::emitSlice(SliceOp op) {
  llvm::SmallVector<Reg> triples;
  unsigned kept = 0;
  for (auto [offset, drop] : llvm::zip_equal(op.getOffsets(), op.getDrop())) {
    triples.push_back(reg(offset));
    triples.push_back(drop ? kNone : reg(op.getSizes()[kept]));
    triples.push_back(drop || op.getSteps().empty() ? kNone
                                                    : reg(op.getSteps()[kept]));
    kept += !drop;
  }
  Reg array = reg(op.getArray()), dst = reg(op.getResult());
  Instr &in = emit(Opcode::Slice, site(op.getLoc()));
  in.dst = dst, in.a = array;
  in.b = code.pool.size();
  in.count = op.getDrop().size();
  code.pool.insert(code.pool.end(), triples.begin(), triples.end());
}

void Emitter::emitFold(FoldOp op) {
  SiteId at = site(op.getLoc());
  emit(Opcode::FoldBegin, at);
  emitBlock(op.getBody().front());
  Reg dst = reg(op.getResult());
  Instr &in = emit(Opcode::FoldEnd, at);
  in.dst = dst;
  in.flag = op.getAny();
}

/// A statement in the same block that alone uses the read names it itself.
bool Emitter::isReadInPlace(ReadOp read) {
  if (!read.getResult().hasOneUse())
    return false;
  mlir::Operation *user = *read.getResult().user_begin();
  return mlir::isa<CopyOp, ReduceOp, SendOp>(user) &&
         user->getBlock() == read->getBlock();
}

void Emitter::setValue(mlir::Value value, Reg &to, ReadCode &code) {
  auto read = value.getDefiningOp<ReadOp>();
  if (!read || !isReadInPlace(read)) {
    to = reg(value);
    return;
  }
  code.view = reg(read.getArray());
  code.at = regList(read.getAt());
  code.site = site(read.getLoc());
}

bool Emitter::emitExpression(mlir::Operation &operation) {
  SiteId at = site(operation.getLoc());
  auto simple = [&](Opcode opcode, mlir::Value dst, mlir::Value a,
                    RegList list = {}) {
    Reg to = dst ? reg(dst) : kNone, from = a ? reg(a) : kNone;
    Instr &in = emit(opcode, at);
    in.dst = to, in.a = from, in.b = list.first, in.count = list.count;
    return true;
  };
  return llvm::TypeSwitch<mlir::Operation &, bool>(operation)
      .Case<ListOp>([&](ListOp op) {
        Reg list = emitList(op.getBody(), at);
        registers[op.getResult()] = list;
        return true;
      })
      .Case<MemberOp>([&](MemberOp op) {
        return simple(Opcode::Member, {}, {}, regList(op.getCoords()));
      })
      .Case<ListSizeOp>([&](ListSizeOp op) {
        return simple(Opcode::ListSize, op.getResult(), op.getList());
      })
      .Case<ListGetOp>([&](ListGetOp op) {
        RegList coords = regList(op.getCoords());
        Reg list = reg(op.getList()), index = reg(op.getIndex());
        Instr &in = emit(Opcode::ListGet, at);
        in.a = list, in.b = index, in.c = coords.first, in.count = coords.count;
        return true;
      })
      .Case<SliceOp>([&](SliceOp op) { return emitSlice(op), true; })
      .Case<ReshapeOp>([&](ReshapeOp op) {
        return simple(Opcode::Reshape, op.getResult(), op.getArray(),
                      regList(op.getDims()));
      })
      .Case<DimOp>([&](DimOp op) {
        simple(Opcode::Dim, op.getResult(), op.getArray());
        code.code.back().b = op.getDim();
        return true;
      })
      .Case<ReadOp>([&](ReadOp op) {
        return isReadInPlace(op) || simple(Opcode::Read, op.getResult(),
                                           op.getArray(), regList(op.getAt()));
      })
      .Case<AddOp>([&](AddOp op) {
        Reg rhs = reg(op.getRhs());
        simple(Opcode::AddValues, op.getResult(), op.getLhs());
        code.code.back().b = rhs;
        return true;
      })
      .Case<FoldOp>([&](FoldOp op) { return emitFold(op), true; })
      .Case<OperandOp>([&](OperandOp op) {
        return simple(Opcode::FoldOperand, {}, op.getValue());
      })
      .Case<ApplyOp>([&](ApplyOp op) {
        simple(Opcode::Apply, op.getResult(), {}, regList(op.getOperands()));
        code.code.back().a = functionIndex(op, op.getCalleeAttr());
        return true;
      })
      .Default([](auto &) { return false; });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

uint16_t Emitter::functionIndex(mlir::Operation *from,
                                mlir::FlatSymbolRefAttr name) {
  auto [it, isNew] =
      functionOf.try_emplace(name.getValue(), code.functions.size());
  if (isNew) {
    mlir::FailureOr<Function> function = functionFromIR(
        mlir::SymbolTable::lookupNearestSymbolFrom<FunctionOp>(from, name));
    failed |= mlir::failed(function);
    code.functions.push_back(mlir::failed(function) ? Function() : *function);
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// The frame of a schedule
//===----------------------------------------------------------------------===//

void Emitter::emitLaunch(LaunchOp op) {
  SiteId at = site(op.getLoc());
  Reg domain = emitList(op.getDomain(), at);
  RegList coords = regList(op.getCoords());
  Instr &in = emit(Opcode::Launch, at);
  in.a = code.launches.size(), in.b = domain;
  in.c = coords.first, in.count = coords.count;
  code.launches.push_back({op.getName().str(), op.getInteger()});
}

void Emitter::emitBuffer(BufferOp op) {
  SiteId at = site(op.getLoc());
  BufferCode buffer;
  buffer.kind = bufferKindOf(op.getKind());
  buffer.name = op.getName().str();
  buffer.parts = regList(op.getParts());
  buffer.at = regList(op.getAt());
  if (!op.getMembers().empty())
    buffer.members = emitList(op.getMembers(), at);
  Reg dst = reg(op.getResult());
  Instr &in = emit(Opcode::Buffer, at);
  in.dst = dst, in.a = code.buffers.size();
  code.buffers.push_back(std::move(buffer));
}

void Emitter::emitMapping(MappingOp op) {
  MappingCode mapping;
  for (mlir::Attribute key : op.getKeys())
    mapping.keys.push_back(mlir::cast<mlir::StringAttr>(key).getValue().str());
  mapping.values = regList(op.getValues());
  mapping.fixed.protocol = op.getProtocol().value_or("").str();
  mapping.fixed.pull = op.getPull();
  mapping.fixed.push = op.getPush();
  mapping.fixed.staged = op.getStaged();
  mapping.fixed.store = op.getStore();
  mapping.fixed.sourceOrder = op.getSourceOrder();
  Reg dst = reg(op.getResult());
  Instr &in = emit(Opcode::Mapping, site(op.getLoc()));
  in.dst = dst, in.a = code.mappings.size();
  code.mappings.push_back(std::move(mapping));
}

bool Emitter::emitFrame(mlir::Operation &operation) {
  SiteId at = site(operation.getLoc());
  return llvm::TypeSwitch<mlir::Operation &, bool>(operation)
      .Case<ParamOp>([&](ParamOp op) {
        Reg dst = reg(op.getResult());
        Reg preset = op.getDefaultValue() ? reg(op.getDefaultValue()) : kNone;
        uint32_t name = string(op.getName());
        Instr &in = emit(Opcode::Param, at);
        in.dst = dst, in.a = name, in.b = preset;
        return true;
      })
      .Case<LaunchOp>([&](LaunchOp op) { return emitLaunch(op), true; })
      .Case<WhereOp>([&](WhereOp op) {
        Reg condition = reg(op.getCondition());
        uint32_t text = string(op.getText());
        Instr &in = emit(Opcode::Where, at);
        in.a = condition, in.b = text;
        return true;
      })
      .Case<AssertOp>([&](AssertOp op) {
        Reg condition = reg(op.getCondition());
        code.asserts.push_back(
            {op.getSlug().str(), op.getMessage().str(), regList(op.getArgs())});
        Instr &in = emit(Opcode::Assert, at);
        in.a = condition, in.b = code.asserts.size() - 1;
        return true;
      })
      .Case<ChunksOp>([&](ChunksOp op) {
        RegList dims = regList(op.getDims());
        Instr &in = emit(Opcode::Chunks, at);
        in.b = dims.first, in.count = dims.count, in.flag = op.getByRow();
        return true;
      })
      .Case<BufferOp>([&](BufferOp op) { return emitBuffer(op), true; })
      .Case<TmpOp>([&](TmpOp op) {
        code.tmps.push_back({op.getName().str(), regList(op.getDims()),
                             elemTypeOf(op.getType())});
        Reg dst = reg(op.getResult());
        Instr &in = emit(Opcode::Tmp, at);
        in.dst = dst, in.a = code.tmps.size() - 1;
        return true;
      })
      .Case<InitOp>([&](InitOp op) {
        Reg array = reg(op.getArray()), source = reg(op.getSource());
        Instr &in = emit(Opcode::Init, at);
        in.a = array, in.b = source;
        return true;
      })
      .Case<MappingOp>([&](MappingOp op) { return emitMapping(op), true; })
      .Case<DirectiveOp>([&](DirectiveOp op) {
        code.directives.push_back({op.getName().str(),
                                   op.getText().value_or("").str(),
                                   regList(op.getValues())});
        emit(Opcode::Directive, at).a = code.directives.size() - 1;
        return true;
      })
      .Default([](auto &) { return false; });
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

template <typename Op> void Emitter::emitTransfer(Op op, bool isReduce) {
  SiteId at = site(op.getLoc());
  TransferCode transfer;
  transfer.reduce = isReduce;
  transfer.hasVia = op.getVia().has_value();
  if (transfer.hasVia)
    transfer.via = elemTypeOf(*op.getVia());
  setValue(op.getValue(), transfer.value, transfer.read);
  transfer.target = reg(op.getTarget());
  transfer.at = regList(op.getAt());
  if (!op.getMembers().empty())
    transfer.members = emitList(op.getMembers(), at);
  if (op.getMapping())
    transfer.mapping = reg(op.getMapping());
  emit(Opcode::Transfer, at).a = code.transfers.size();
  code.transfers.push_back(transfer);
}

void Emitter::emitSend(SendOp op) {
  SendCode send;
  send.hasVia = op.getVia().has_value();
  if (send.hasVia)
    send.via = elemTypeOf(*op.getVia());
  setValue(op.getValue(), send.value, send.read);
  send.peer = regList(op.getPeer());
  if (op.getMapping())
    send.mapping = reg(op.getMapping());
  emit(Opcode::Send, site(op.getLoc())).a = code.sends.size();
  code.sends.push_back(send);
}

void Emitter::emitOn(OnOp op) {
  SiteId at = site(op.getLoc());
  uint32_t index = code.ons.size();
  code.ons.emplace_back();
  Reg members = emitList(op.getMembers(), at);
  code.ons[index].members = members;
  if (op.getCapacity())
    code.ons[index].capacity = reg(op.getCapacity());
  code.ons[index].self = regList(op.getBody().getArguments());
  emit(Opcode::On, at).a = index;
  code.ons[index].body = here();
  emitBlock(op.getBody().front());
  emit(Opcode::ProcessEnd, at);
  code.ons[index].end = here();
}

bool Emitter::emitStatement(mlir::Operation &operation) {
  return llvm::TypeSwitch<mlir::Operation &, bool>(operation)
      .Case<CopyOp>([&](CopyOp op) { return emitTransfer(op, false), true; })
      .Case<ReduceOp>([&](ReduceOp op) { return emitTransfer(op, true), true; })
      .Case<GroupOp>([&](GroupOp op) {
        emit(Opcode::GroupBegin, site(op.getLoc()));
        emitBlock(op.getBody().front());
        emit(Opcode::GroupEnd, site(op.getLoc()));
        return true;
      })
      .Case<OnOp>([&](OnOp op) { return emitOn(op), true; })
      .Case<SendOp>([&](SendOp op) { return emitSend(op), true; })
      .Case<RecvOp>([&](RecvOp op) {
        RecvCode recv;
        recv.reduce = op.getReduce();
        recv.target = reg(op.getTarget());
        recv.peer = regList(op.getPeer());
        if (op.getMapping())
          recv.mapping = reg(op.getMapping());
        emit(Opcode::Recv, site(op.getLoc())).a = code.recvs.size();
        code.recvs.push_back(recv);
        return true;
      })
      .Default([](auto &) { return false; });
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

bool Emitter::emitContract(mlir::Operation &operation) {
  SiteId at = site(operation.getLoc());
  auto located = [&](Opcode opcode, mlir::Value array, mlir::ValueRange coords,
                     mlir::Value what) {
    Reg view = reg(array), value = what ? reg(what) : kNone;
    RegList list = regList(coords);
    Instr &in = emit(opcode, at);
    in.a = view, in.b = list.first, in.count = list.count, in.c = value;
    return true;
  };
  return llvm::TypeSwitch<mlir::Operation &, bool>(operation)
      .Case<PromiseOp>([&](PromiseOp op) {
        promise = op;
        phase = Phase::Declare;
        emitBlock(op.getBody().front());
        phase = Phase::Body;
        return true;
      })
      .Case<EnsureOp>([&](EnsureOp op) {
        return located(Opcode::Ensure, op.getArray(), op.getAt(),
                       op.getValue());
      })
      .Case<SizeOfOp>([&](SizeOfOp op) {
        return located(Opcode::SizeOf, op.getArray(), op.getAt(), op.getSize());
      })
      .Case<SameOp>([&](SameOp op) {
        return located(Opcode::Same, op.getArray(), {}, {});
      })
      .Case<InplaceOp>([&](InplaceOp op) {
        code.inplaces.push_back({reg(op.getLhs()), reg(op.getRhs()),
                                 regList(op.getLhsAt()),
                                 regList(op.getRhsAt())});
        emit(Opcode::Inplace, at).a = code.inplaces.size() - 1;
        return true;
      })
      .Case<LaunchCountsOp>([&](LaunchCountsOp op) {
        code.launchCounts.push_back(
            {op.getName().str(), regList(op.getDims()), op.getGlobal()});
        emit(Opcode::LaunchCounts, at).a = code.launchCounts.size() - 1;
        return true;
      })
      .Case<CountOp>([&](CountOp op) {
        RegList indices = regList(op.getIndices());
        Reg dst = reg(op.getResult());
        Instr &in = emit(Opcode::Count, at);
        in.dst = dst, in.b = indices.first, in.count = indices.count;
        return true;
      })
      .Case<ConstSizeOp>([&](ConstSizeOp op) {
        Reg value = reg(op.getValue()), dst = reg(op.getResult());
        Instr &in = emit(Opcode::ConstSize, at);
        in.dst = dst, in.a = value;
        return true;
      })
      .Default([](auto &) { return false; });
}
