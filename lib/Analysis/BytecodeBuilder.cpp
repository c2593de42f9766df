//===- BytecodeBuilder.cpp - Control and integers -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/BytecodeBuilder.h"

#include "lib/Analysis/BytecodeEmitter.h"
#include "lib/Analysis/SourceLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace coll;
using namespace coll::bytecode;
namespace arith = mlir::arith;
namespace scf = mlir::scf;

Emitter::Emitter(ScheduleOp schedule, const SourceManager &sources)
    : schedule(schedule), sources(sources) {
  for (FileId id = 0; id < sources.size(); ++id)
    fileOf.try_emplace(sources.file(id).name(), id);
}

//===----------------------------------------------------------------------===//
// Registers, places, instructions
//===----------------------------------------------------------------------===//

Reg Emitter::reg(mlir::Value value) {
  auto [it, isNew] = registers.try_emplace(value);
  if (!isNew)
    return it->second;
  mlir::Type type = value.getType();
  if (mlir::isa<ArrayType>(type))
    return it->second = code.numViews++;
  if (mlir::isa<ValueType>(type))
    return it->second = code.numValues++;
  if (mlir::isa<ListType>(type))
    return it->second = code.numLists++;
  code.ints.push_back(0); // index, i1, !coll.size and !coll.mapping
  return it->second = code.ints.size() - 1;
}

RegList Emitter::regList(mlir::ValueRange values) {
  llvm::SmallVector<Reg> regs;
  for (mlir::Value value : values)
    regs.push_back(reg(value));
  RegList list{uint32_t(code.pool.size()), uint32_t(regs.size())};
  code.pool.insert(code.pool.end(), regs.begin(), regs.end());
  return list;
}

uint32_t Emitter::string(llvm::StringRef text) {
  auto [it, isNew] = stringOf.try_emplace(text, code.strings.size());
  if (isNew)
    code.strings.push_back(text.str());
  return it->second;
}

SourceRange Emitter::rangeOf(mlir::FileLineColRange location) {
  auto it = fileOf.find(location.getFilename());
  return it == fileOf.end() ? SourceRange()
                            : rangeIn(sources, it->second, location);
}

SiteId Emitter::site(mlir::Location location) {
  auto it = siteOf.find(location);
  if (it != siteOf.end())
    return it->second;
  Site result;
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    result.range = code.siteTable[site(call.getCallee())].range;
    result.caller = site(call.getCaller());
  } else if (auto range = mlir::dyn_cast<mlir::FileLineColRange>(location)) {
    result.range = rangeOf(range);
  } else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    return siteOf[location] = site(fused.getLocations().front());
  } else if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
    return siteOf[location] = site(name.getChildLoc());
  }
  code.siteTable.push_back(result);
  return siteOf[location] = code.siteTable.size() - 1;
}

Instr &Emitter::emit(Opcode op, SiteId at) {
  code.sites.push_back(at);
  return code.code.emplace_back(Instr{op});
}

void Emitter::unsupported(mlir::Operation &op, llvm::StringRef why) {
  op.emitOpError("cannot be executed: ") << why;
  failed = true;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

bool Emitter::emitConstant(arith::ConstantOp op) {
  auto value = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue());
  if (!value)
    return false;
  // Registers start with their constants; no instruction is needed.
  bool isBit = value.getType().isInteger(1);
  code.ints[reg(op.getResult())] =
      isBit ? value.getValue().getZExtValue() : value.getValue().getSExtValue();
  return true;
}

bool Emitter::emitCompare(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  Opcode code;
  switch (op.getPredicate()) {
  case P::eq:
    code = Opcode::Eq;
    break;
  case P::ne:
    code = Opcode::Ne;
    break;
  case P::slt:
    code = Opcode::Lt;
    break;
  case P::sle:
    code = Opcode::Le;
    break;
  case P::sgt:
    code = Opcode::Gt;
    break;
  case P::sge:
    code = Opcode::Ge;
    break;
  default:
    return false;
  }
  Reg lhs = reg(op.getLhs()), rhs = reg(op.getRhs()), dst = reg(op.getResult());
  Instr &in = emit(code, site(op.getLoc()));
  in.dst = dst, in.a = lhs, in.b = rhs;
  return true;
}

bool Emitter::emitInteger(mlir::Operation &op) {
  std::optional<Opcode> opcode =
      llvm::TypeSwitch<mlir::Operation &, std::optional<Opcode>>(op)
          .Case<arith::AddIOp>([](auto) { return Opcode::Add; })
          .Case<arith::SubIOp>([](auto) { return Opcode::Sub; })
          .Case<arith::MulIOp>([](auto) { return Opcode::Mul; })
          .Case<arith::FloorDivSIOp, DivOp>([](auto) { return Opcode::Div; })
          .Case<ModOp>([](auto) { return Opcode::Mod; })
          .Case<ShlOp>([](auto) { return Opcode::Shl; })
          .Case<ShrOp>([](auto) { return Opcode::Shr; })
          .Case<arith::AndIOp>([](auto) { return Opcode::And; })
          .Case<arith::OrIOp>([](auto) { return Opcode::Or; })
          .Case<arith::XOrIOp>([](auto) { return Opcode::Xor; })
          .Case<arith::MinSIOp>([](auto) { return Opcode::Min; })
          .Case<arith::MaxSIOp>([](auto) { return Opcode::Max; })
          .Case<AbsOp>([](auto) { return Opcode::Abs; })
          .Case<Log2Op>([](auto) { return Opcode::Log2; })
          .Case<CeilLog2Op>([](auto) { return Opcode::CeilLog2; })
          .Case<LsbOp>([](auto) { return Opcode::Lsb; })
          .Case<PopcountOp>([](auto) { return Opcode::Popcount; })
          .Case<Pow2Op>([](auto) { return Opcode::Pow2; })
          .Default([](auto &) { return std::nullopt; });
  if (!opcode)
    return false;
  mlir::Type type = op.getResult(0).getType();
  if (!type.isIndex() && !type.isInteger(1))
    return false;
  Reg a = reg(op.getOperand(0)), dst = reg(op.getResult(0));
  Reg b = op.getNumOperands() > 1 ? reg(op.getOperand(1)) : kNone;
  Instr &in = emit(*opcode, site(op.getLoc()));
  in.dst = dst, in.a = a, in.b = b;
  return true;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

static Opcode moveFor(mlir::Type type) {
  if (mlir::isa<ArrayType>(type))
    return Opcode::MoveView;
  if (mlir::isa<ValueType>(type))
    return Opcode::MoveValue;
  return mlir::isa<ListType>(type) ? Opcode::MoveList : Opcode::Move;
}

/// As if all at once: with several, by way of fresh registers.
void Emitter::emitMoves(mlir::ValueRange from, mlir::ValueRange to, SiteId at) {
  llvm::SmallVector<Reg> sources;
  for (mlir::Value value : from)
    sources.push_back(reg(value));
  if (sources.size() > 1)
    for (auto [source, value] : llvm::zip_equal(sources, from)) {
      registers.erase(value);
      Reg fresh = reg(value);
      registers[value] = source;
      Instr &in = emit(moveFor(value.getType()), at);
      in.dst = fresh, in.a = source;
      source = fresh;
    }
  for (auto [source, value] : llvm::zip_equal(sources, to)) {
    Reg dst = reg(value);
    Instr &in = emit(moveFor(value.getType()), at);
    in.dst = dst, in.a = source;
  }
}

void Emitter::emitSelect(arith::SelectOp op) {
  SiteId at = site(op.getLoc());
  uint32_t branch = here();
  Reg condition = reg(op.getCondition());
  emit(Opcode::JumpUnless, at).b = condition;
  emitMoves(op.getTrueValue(), op.getResult(), at);
  uint32_t skip = here();
  emit(Opcode::Jump, at);
  code.code[branch].a = here();
  emitMoves(op.getFalseValue(), op.getResult(), at);
  code.code[skip].a = here();
}

void Emitter::emitIf(scf::IfOp op) {
  SiteId at = site(op.getLoc());
  uint32_t branch = here();
  Reg condition = reg(op.getCondition());
  emit(Opcode::JumpUnless, at).b = condition;
  emitBlock(*op.thenBlock());
  if (op.getNumResults())
    emitMoves(op.thenYield().getOperands(), op.getResults(), at);
  if (op.elseBlock()) {
    uint32_t skip = here();
    emit(Opcode::Jump, at);
    code.code[branch].a = here();
    emitBlock(*op.elseBlock());
    if (op.getNumResults())
      emitMoves(op.elseYield().getOperands(), op.getResults(), at);
    code.code[skip].a = here();
  } else {
    code.code[branch].a = here();
  }
}

void Emitter::emitFor(scf::ForOp op) {
  SiteId at = site(op.getLoc());
  emitMoves(op.getInitArgs(), op.getRegionIterArgs(), at);
  uint32_t index = code.loops.size();
  LoopCode loop{reg(op.getInductionVar()), reg(op.getLowerBound()),
                reg(op.getUpperBound()), reg(op.getStep())};
  loop.site = at;
  code.loops.push_back(loop);
  emit(Opcode::LoopEnter, at).a = index;
  code.loops[index].body = here();
  emitBlock(*op.getBody());
  if (op.getNumResults())
    emitMoves(op.getYieldedValues(), op.getRegionIterArgs(), at);
  emit(Opcode::LoopNext, at).a = index;
  code.loops[index].end = here();
  emitMoves(op.getRegionIterArgs(), op.getResults(), at);
}

bool Emitter::emitStructure(mlir::Operation &op) {
  return llvm::TypeSwitch<mlir::Operation &, bool>(op)
      .Case<arith::ConstantOp>([&](auto o) { return emitConstant(o); })
      .Case<arith::CmpIOp>([&](auto o) { return emitCompare(o); })
      .Case<arith::SelectOp>([&](auto o) { return emitSelect(o), true; })
      .Case<scf::ForOp>([&](auto o) { return emitFor(o), true; })
      .Case<scf::IfOp>([&](auto o) { return emitIf(o), true; })
      .Case<scf::YieldOp>([](auto) { return true; }) // of whom it belongs to
      .Default([](auto &) { return false; });
}

/// Of a promise: whether the op has a part in this phase.
bool Emitter::isWanted(mlir::Operation &op) {
  if (phase == Phase::Body)
    return true;
  auto isDeclaration = [](mlir::Operation *o) {
    return mlir::isa<LaunchCountsOp, CountOp, ConstSizeOp, SizeOfOp, InplaceOp,
                     SameOp>(o);
  };
  auto isValue = [](mlir::Operation *o) {
    return mlir::isa<EnsureOp, ReadOp, FoldOp, AddOp, ApplyOp>(o);
  };
  bool isDeclare = phase == Phase::Declare;
  if (isDeclare ? isValue(&op) : isDeclaration(&op))
    return false;
  if (!mlir::isa<scf::ForOp, scf::IfOp>(op) || op.getNumResults())
    return true;
  bool isPart = false;
  op.walk([&](mlir::Operation *o) {
    isPart |= mlir::isa<MemberOp>(o);
    isPart |= isDeclare ? isDeclaration(o) || mlir::isa<AssertOp>(o)
                        : mlir::isa<EnsureOp, OperandOp>(o);
  });
  return isPart;
}

void Emitter::emitOp(mlir::Operation &op) {
  if (!isWanted(op))
    return;
  if (!emitInteger(op) && !emitStructure(op) && !emitExpression(op) &&
      !emitFrame(op) && !emitStatement(op) && !emitContract(op))
    unsupported(op, "it is no part of the normal form");
}

void Emitter::emitBlock(mlir::Block &block) {
  for (mlir::Operation &op : block)
    emitOp(op);
}

Bytecode Emitter::run() {
  code.site = site(schedule.getLoc());
  code.schedule = schedule.getSymName().str();
  code.contract = schedule.getContract().str();
  SourceRange range = code.siteTable[code.site].range;
  if (range.isValid())
    code.sourcePath = sources.file(range.file).name().str();
  for (auto [name, arg] : llvm::zip_equal(schedule.getRankNames(),
                                          schedule.getBody().getArguments())) {
    code.rankNames.push_back(
        mlir::cast<mlir::StringAttr>(name).getValue().str());
    code.rankDims.push_back(reg(arg));
  }
  schedule.walk(
      [&](PromiseOp op) { op.walk([&](FoldOp) { code.reduces = true; }); });
  emitBlock(schedule.getBody().front());
  emit(Opcode::Halt, code.site);
  code.ensures = here();
  if (promise) {
    phase = Phase::Ensure;
    emitBlock(promise.getBody().front());
  }
  emit(Opcode::Halt, code.site);
  return failed ? Bytecode() : std::move(code);
}

Bytecode coll::buildBytecode(ScheduleOp schedule,
                             const SourceManager &sources) {
  return Emitter(schedule, sources).run();
}
