//===- Tables.cpp - Branches on a plan's tables alone ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels hold code for what their plan has no use for: waits for other blocks
// in plans of one block, puts where nothing is put. Which of it runs is asked
// of the plan's words and counts (coll_inst), which nobody writes. A branch is
// such a question if its condition, or a term of it without which it is not
// taken, is made of nothing else; then runs that do every step, to its end, see
// all answers that there are. Whether a call is such that every step has
// elements is the layout's to say (PlanLayout::doesAll).
//
// Values are followed to a fixed point from what they are at best: a number of
// the plan, or a pointer to arguments, instance or words. Which of several
// values a phi takes must not be decided by anything else: it is a loop's, with
// one value from before and one from the round before, or all branches since
// the block that they have in common are on the plan, too. How often a loop
// goes round must be the plan's as well. Where a wait that is given up leaves
// it, that is a branch of its own; runs in which nothing goes wrong must not
// leave there.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "coll/abi.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace coll::emu {

namespace {
enum class Origin : uint8_t { Any, Number, Args, Inst, Words, Other };

class PlanValues {
public:
  explicit PlanValues(Function &function)
      : dominators(function), loops(dominators) {
    bool hasChanged = true;
    while (hasChanged) {
      hasChanged = false;
      for (Instruction &inst : instructions(function)) {
        Origin before = of(&inst), now = meet(before, compute(inst));
        hasChanged |= now != before;
        known[&inst] = now;
      }
    }
  }
  bool isOfPlan(const Value *value) const {
    return of(value) == Origin::Number && !isa<Constant>(value);
  }
  const DominatorTree &tree() const { return dominators; }
  /// The other ways out of loops that go on as often as the plan says.
  std::vector<Break> breaks() const;

private:
  static Origin meet(Origin a, Origin b) {
    if (a == Origin::Any || b == Origin::Any)
      return a == Origin::Any ? b : a;
    return a == b ? a : Origin::Other;
  }
  Origin of(const Value *value) const;
  Origin compute(const Instruction &inst) const;
  Origin ofLoad(const LoadInst &load) const;
  Origin ofPhi(const PHINode &phi) const;
  bool isChosenByPlan(const PHINode &phi) const;
  bool isOnPlan(const BasicBlock *exiting) const;
  bool goesOnByPlan(const Loop &loop) const;
  Origin ofOperands(const User &user) const;

  DominatorTree dominators;
  LoopInfo loops;
  std::map<const Value *, Origin> known;
};
} // namespace

Origin PlanValues::of(const Value *value) const {
  if (isa<Constant>(value))
    return value->getType()->isPointerTy() ? Origin::Other : Origin::Number;
  if (auto *argument = dyn_cast<Argument>(value))
    return argument->hasByValAttr() ? Origin::Args : Origin::Other;
  auto it = known.find(value);
  return it == known.end() ? Origin::Any : it->second;
}

/// All of them numbers.
Origin PlanValues::ofOperands(const User &user) const {
  Origin result = Origin::Number;
  for (const Use &operand : user.operands()) {
    Origin one = of(operand.get());
    if (one == Origin::Any)
      result = result == Origin::Number ? Origin::Any : result;
    else if (one != Origin::Number)
      return Origin::Other;
  }
  return result;
}

Origin PlanValues::ofLoad(const LoadInst &load) const {
  if (!load.isSimple())
    return Origin::Other;
  const DataLayout &layout = load.getDataLayout();
  const Value *pointer = load.getPointerOperand();
  APInt bytes(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const Value *root = pointer->stripAndAccumulateConstantOffsets(
      layout, bytes, /*AllowNonInbounds=*/true);
  auto at = [&](uint64_t offset) { return bytes == offset; };
  switch (of(root)) {
  case Origin::Args:
    return at(offsetof(coll_args, inst)) ? Origin::Inst : Origin::Other;
  case Origin::Inst:
    if (at(offsetof(coll_inst, consts)) || at(offsetof(coll_inst, steps)))
      return Origin::Words;
    // How large scratch is depends on the size of slots.
    return load.getType()->isIntegerTy(32) &&
                   bytes.uge(offsetof(coll_inst, nblocks)) &&
                   bytes.ult(offsetof(coll_inst, scratch_slot_bytes))
               ? Origin::Number
               : Origin::Other;
  case Origin::Words:
    return Origin::Number;
  case Origin::Any:
    return Origin::Any;
  default:
    return Origin::Other;
  }
}

bool PlanValues::isOnPlan(const BasicBlock *exiting) const {
  auto *branch = dyn_cast<BranchInst>(exiting->getTerminator());
  return branch && branch->isConditional() &&
         of(branch->getCondition()) != Origin::Other;
}

bool PlanValues::goesOnByPlan(const Loop &loop) const {
  SmallVector<BasicBlock *> exiting;
  loop.getExitingBlocks(exiting);
  return any_of(exiting, [&](auto *block) { return isOnPlan(block); });
}

std::vector<Break> PlanValues::breaks() const {
  std::vector<Break> result;
  for (const Loop *loop : loops.getLoopsInPreorder()) {
    SmallVector<BasicBlock *> exiting;
    loop->getExitingBlocks(exiting);
    for (BasicBlock *block : exiting)
      if (auto *branch = dyn_cast<BranchInst>(block->getTerminator());
          branch && goesOnByPlan(*loop) && !isOnPlan(block))
        result.push_back({branch, !loop->contains(branch->getSuccessor(0))});
  }
  return result;
}

bool PlanValues::isChosenByPlan(const PHINode &phi) const {
  const BasicBlock *block = phi.getParent();
  const Value *entry = nullptr, *round = nullptr;
  bool isLoop = false, isOne = true;
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    bool isBack = dominators.dominates(block, phi.getIncomingBlock(i));
    isLoop |= isBack;
    const Value *&seen = isBack ? round : entry;
    isOne &= !seen || seen == phi.getIncomingValue(i);
    seen = phi.getIncomingValue(i);
  }
  if (isLoop) {
    const Loop *loop = loops.getLoopFor(block);
    return isOne && loop && loop->getHeader() == block && goesOnByPlan(*loop);
  }
  if (isOne)
    return true;
  const auto *node = dominators.getNode(block);
  if (!node || !node->getIDom())
    return false;
  const BasicBlock *common = node->getIDom()->getBlock();
  SmallPtrSet<const BasicBlock *, 16> seen{common};
  SmallVector<const BasicBlock *> list(predecessors(block));
  list.push_back(common);
  for (size_t i = 0; i < list.size(); ++i) {
    const BasicBlock *before = list[i];
    if (before != common && !seen.insert(before).second)
      continue;
    auto *branch = dyn_cast<BranchInst>(before->getTerminator());
    if (!branch || (branch->isConditional() &&
                    of(branch->getCondition()) == Origin::Other))
      return false;
    if (before != common)
      append_range(list, predecessors(before));
  }
  return true;
}

Origin PlanValues::ofPhi(const PHINode &phi) const {
  if (!isChosenByPlan(phi))
    return Origin::Other;
  Origin result = Origin::Any;
  for (const Value *value : phi.incoming_values())
    result = meet(result, of(value));
  return result;
}

Origin PlanValues::compute(const Instruction &inst) const {
  if (auto *load = dyn_cast<LoadInst>(&inst))
    return ofLoad(*load);
  if (auto *phi = dyn_cast<PHINode>(&inst))
    return ofPhi(*phi);
  if (auto *address = dyn_cast<GetElementPtrInst>(&inst)) {
    for (const Use &index : address->indices())
      if (of(index.get()) == Origin::Other)
        return Origin::Other;
    // What lies in arguments and instance is asked for by a constant offset.
    Origin base = of(address->getPointerOperand());
    return base == Origin::Words || base == Origin::Any ? base : Origin::Other;
  }
  if (isa<AddrSpaceCastInst>(inst))
    return of(inst.getOperand(0));
  if (auto *select = dyn_cast<SelectInst>(&inst)) {
    if (of(select->getCondition()) == Origin::Other)
      return Origin::Other;
    return meet(of(select->getTrueValue()), of(select->getFalseValue()));
  }
  if (isa<BinaryOperator, CastInst, CmpInst, FreezeInst>(inst))
    return ofOperands(inst);
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  if (!call || call->mayReadOrWriteMemory())
    return Origin::Other;
  for (const Use &operand : call->args())
    if (of(operand.get()) == Origin::Other)
      return Origin::Other;
  return Origin::Number;
}

/// Of `x % 4 == 0`, or `!= 0`.
static bool isOnWords(const Value *condition) {
  using namespace PatternMatch;
  CmpPredicate predicate;
  return match(condition, m_ICmp(predicate, m_And(m_Value(), m_SpecificInt(3)),
                                 m_Zero())) &&
         ICmpInst::isEquality(predicate);
}

/// What must hold, or must not, for a branch to be taken, or not: its terms
/// that are on the plan alone, or on words.
static void addTerms(Value *condition, bool isTaken, const PlanValues &values,
                     SmallVectorImpl<std::pair<Value *, Asked>> &terms) {
  using namespace PatternMatch;
  Value *left = nullptr, *right = nullptr;
  if (isTaken ? match(condition, m_LogicalAnd(m_Value(left), m_Value(right)))
              : match(condition, m_LogicalOr(m_Value(left), m_Value(right)))) {
    addTerms(left, isTaken, values, terms);
    addTerms(right, isTaken, values, terms);
  } else if (values.isOfPlan(condition)) {
    terms.emplace_back(condition, Asked::Plan);
  } else if (isOnWords(condition)) {
    terms.emplace_back(condition, Asked::Words);
  }
}

void findGuards(Function &function, std::vector<Guard> &guards,
                std::vector<Break> &breaks) {
  if (function.getCallingConv() != CallingConv::PTX_Kernel)
    return;
  PlanValues values(function);
  breaks = values.breaks();
  for (BasicBlock &block : function) {
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional() ||
        branch->getSuccessor(0) == branch->getSuccessor(1))
      continue;
    for (unsigned way = 0; way < 2; ++way) {
      SmallVector<std::pair<Value *, Asked>> terms;
      addTerms(branch->getCondition(), way == 0, values, terms);
      if (terms.empty())
        continue;
      BasicBlockEdge edge(&block, branch->getSuccessor(way));
      Guard guard{branch, nullptr, way == 0, Asked::Plan, {}};
      for (BasicBlock &behind : function)
        if (values.tree().dominates(edge, &behind))
          guard.behind.insert(&behind);
      for (auto &[term, asked] : terms) {
        guard.condition = term;
        guard.asked = asked;
        guards.push_back(guard);
      }
    }
  }
}

} // namespace coll::emu
