//===- Mutations.cpp - Schedules that are nearly right --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Mutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace coll;
using namespace coll::test;
namespace arith = mlir::arith;
using mlir::scf::ForOp;

/// The ops of the statements, in the order of a walk.
static std::vector<mlir::Operation *> opsOf(ScheduleOp schedule) {
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : schedule.getBody().front()) {
    if (llvm::isa<PromiseOp, BufferOp, ParamOp, LaunchOp, WhereOp, ChunksOp,
                  DirectiveOp>(op))
      continue;
    op.walk<mlir::WalkOrder::PreOrder>(
        [&](mlir::Operation *inner) { ops.push_back(inner); });
  }
  return ops;
}

static bool isTransfer(mlir::Operation *op) {
  return llvm::isa<CopyOp, ReduceOp, InitOp, SendOp, RecvOp>(op);
}
static bool isStatement(mlir::Operation *op) {
  return isTransfer(op) || llvm::isa<ForOp, GroupOp, OnOp>(op);
}

/// Operands whose value matters to the meaning.
static bool isInteresting(mlir::Operation *op, unsigned operand) {
  if (!op->getOperand(operand).getType().isIndex())
    return false;
  if (llvm::isa<ForOp>(op))
    return operand < 2;
  if (llvm::isa<ModOp>(op))
    return operand == 0;
  return llvm::isa<SliceOp, ReadOp, CopyOp, ReduceOp, SendOp, RecvOp, MemberOp>(
      op);
}

static std::vector<ForOp> loopsAround(mlir::Operation *op) {
  std::vector<ForOp> loops;
  for (mlir::Operation *up = op->getParentOp(); up; up = up->getParentOp())
    if (auto loop = llvm::dyn_cast<ForOp>(up))
      loops.push_back(loop);
  return loops;
}

std::vector<Mutation> coll::test::mutationsOf(ScheduleOp schedule) {
  std::vector<Mutation> all;
  for (auto [i, op] : llvm::enumerate(opsOf(schedule))) {
    unsigned at = i;
    auto add = [&](Mutation::Kind kind, unsigned operand = 0,
                   unsigned loop = 0) {
      all.push_back({kind, at, operand, loop});
    };
    if (isStatement(op)) {
      add(Mutation::Drop);
      if (op->getNextNode() && isStatement(op->getNextNode()))
        add(Mutation::Swap);
    }
    if (isTransfer(op))
      add(Mutation::Twice);
    if (llvm::isa<CopyOp, ReduceOp, RecvOp>(op))
      add(Mutation::OtherKind);
    if (llvm::isa<GroupOp>(op))
      add(Mutation::Ungroup);
    if (llvm::isa<ModOp>(op))
      add(Mutation::NoMod);
    if (llvm::isa<arith::SubIOp>(op))
      add(Mutation::Exchanged);
    if (llvm::isa<ForOp>(op)) {
      add(Mutation::Group);
      add(Mutation::Reversed);
      for (Mutation::Kind kind :
           {Mutation::UpToFive, Mutation::OnlyEven, Mutation::ButOne})
        add(kind);
    }
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
      if (!isInteresting(op, operand))
        continue;
      add(Mutation::Plus, operand);
      add(Mutation::Minus, operand);
      for (unsigned l = 0; l < loopsAround(op).size() && l < 3; ++l)
        add(Mutation::OfLoop, operand, l);
    }
  }
  return all;
}

static mlir::Value constant(mlir::OpBuilder &b, mlir::Location loc,
                            int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

/// Copy for reduce, and the other way round.
static bool otherKind(mlir::Operation *op) {
  if (auto recv = llvm::dyn_cast<RecvOp>(op)) {
    recv.setReduce(!recv.getReduce());
    return true;
  }
  mlir::OpBuilder b(op);
  mlir::OperationState state(op->getLoc(), llvm::isa<CopyOp>(op)
                                               ? ReduceOp::getOperationName()
                                               : CopyOp::getOperationName());
  state.addOperands(op->getOperands());
  state.addAttributes(op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  state.addRegion()->takeBody(op->getRegion(0));
  b.create(state);
  op->erase();
  return true;
}

static bool swapWithNext(mlir::Operation *op) {
  op->moveAfter(op->getNextNode());
  return true;
}

static bool ungroup(mlir::Operation *op) {
  mlir::Block &body = llvm::cast<GroupOp>(op).getBody().front();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         body.getOperations());
  op->erase();
  return true;
}

static bool group(mlir::Operation *op) {
  bool isFit = true;
  op->walk([&](mlir::Operation *inner) {
    isFit &=
        !llvm::isa<GroupOp, OnOp, TmpOp, InitOp, OperandOp, MemberOp>(inner);
  });
  for (mlir::Operation *up = op; up; up = up->getParentOp())
    isFit &= !llvm::isa<GroupOp, FoldOp>(up);
  if (!isFit)
    return false;
  mlir::OpBuilder b(op);
  auto outer = GroupOp::create(b, op->getLoc());
  outer.getBody().emplaceBlock();
  op->moveBefore(&outer.getBody().front(), outer.getBody().front().end());
  return true;
}

static bool reverse(ForOp loop) {
  mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(loop.getBody());
  mlir::Location loc = loop.getLoc();
  mlir::Value iv = loop.getInductionVar();
  auto sum =
      arith::AddIOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound());
  auto less = arith::SubIOp::create(b, loc, sum, constant(b, loc, 1));
  auto back = arith::SubIOp::create(b, loc, less, iv);
  iv.replaceAllUsesExcept(back, back);
  return true;
}

static bool bound(ForOp loop, Mutation::Kind kind, ScheduleOp schedule) {
  mlir::OpBuilder b(loop);
  mlir::Location loc = loop.getLoc();
  mlir::Value upper = loop.getUpperBound(), next;
  if (kind == Mutation::UpToFive) {
    next = arith::MinSIOp::create(b, loc, upper, constant(b, loc, 5));
  } else if (kind == Mutation::OnlyEven) {
    mlir::Value odd =
        ModOp::create(b, loc, b.getIndexType(), upper, constant(b, loc, 2));
    next = arith::SubIOp::create(b, loc, upper, odd);
  } else {
    next = arith::SubIOp::create(
        b, loc, schedule.getBody().front().getArgument(0), constant(b, loc, 1));
  }
  loop.getUpperBoundMutable().assign(next);
  return true;
}

static bool change(mlir::Operation *op, const Mutation &mutation) {
  mlir::OpBuilder b(op);
  mlir::Value old = op->getOperand(mutation.operand), next;
  if (mutation.kind == Mutation::OfLoop) {
    next = loopsAround(op)[mutation.loop].getInductionVar();
  } else {
    next = arith::AddIOp::create(
        b, op->getLoc(), old,
        constant(b, op->getLoc(), mutation.kind == Mutation::Plus ? 1 : -1));
  }
  if (next == old)
    return false;
  op->setOperand(mutation.operand, next);
  return true;
}

static bool apply(ScheduleOp schedule, mlir::Operation *op,
                  const Mutation &mutation) {
  switch (mutation.kind) {
  case Mutation::Drop:
    op->erase();
    return true;
  case Mutation::Twice:
    mlir::OpBuilder(op).clone(*op);
    return true;
  case Mutation::OtherKind:
    return otherKind(op);
  case Mutation::Swap:
    return swapWithNext(op);
  case Mutation::Ungroup:
    return ungroup(op);
  case Mutation::Group:
    return group(op);
  case Mutation::NoMod:
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
    return true;
  case Mutation::Reversed:
    return reverse(llvm::cast<ForOp>(op));
  case Mutation::Exchanged: {
    mlir::Value first = op->getOperand(0);
    op->setOperand(0, op->getOperand(1));
    op->setOperand(1, first);
    return true;
  }
  case Mutation::UpToFive:
  case Mutation::OnlyEven:
  case Mutation::ButOne:
    return bound(llvm::cast<ForOp>(op), mutation.kind, schedule);
  case Mutation::Plus:
  case Mutation::Minus:
  case Mutation::OfLoop:
    return change(op, mutation);
  }
  return false;
}

bool coll::test::mutate(ScheduleOp schedule, const Mutation &mutation,
                        std::string &what) {
  static const char *const names[] = {
      "drop",    "twice",     "other kind", "swap with next", "ungroup",
      "group",   "no mod",    "reversed",   "exchanged",      "plus 1",
      "minus 1", "of a loop", "up to 5",    "only even",      "N - 1"};
  mlir::Operation *op = opsOf(schedule)[mutation.op];
  llvm::raw_string_ostream os(what);
  os << names[mutation.kind] << " " << mutation.operand << " of "
     << op->getName() << " at " << op->getLoc();
  mlir::ScopedDiagnosticHandler quiet(
      schedule.getContext(),
      [](mlir::Diagnostic &) { return mlir::success(); });
  return apply(schedule, op, mutation) &&
         mlir::succeeded(mlir::verify(schedule));
}
