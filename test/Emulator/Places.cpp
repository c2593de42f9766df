//===- Places.cpp - What can be said of places for faults -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the code as the backend gets it, by which some faults are known
// to change nothing (whyEquivalent).
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace coll::emu {

static bool isBarrier(const Instruction &inst) {
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  return call &&
         call->getCalledFunction()->getName().contains(".barrier.cta.") &&
         call->getCalledFunction()->getName().ends_with(".all");
}

static bool mayWrite(const Instruction &inst) {
  auto *call = dyn_cast<CallInst>(&inst);
  return isa<StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(inst) ||
         (call && (!isa<IntrinsicInst>(call) || isa<MemIntrinsic>(call)));
}

/// Whether a write of the kernel itself, or of a function that it calls, can
/// come before the instruction.
static bool mayFollowWrites(const Instruction &inst) {
  const BasicBlock *own = inst.getParent();
  for (const Instruction &other : *own)
    if (&other == &inst)
      break;
    else if (mayWrite(other))
      return true;
  SmallPtrSet<const BasicBlock *, 16> seen;
  SmallVector<const BasicBlock *> list(predecessors(own));
  while (!list.empty()) {
    const BasicBlock *block = list.pop_back_val();
    if (!seen.insert(block).second)
      continue;
    if (any_of(*block, mayWrite))
      return true;
    append_range(list, predecessors(block));
  }
  return false;
}

/// Whether a load of a function's argument is made again by all callers, with
/// acquire, where they go on after the call.
static bool isLoadedAgain(const LoadInst &load) {
  auto *argument = dyn_cast<Argument>(load.getPointerOperand());
  if (!argument || !load.isAtomic())
    return false;
  for (const User *user : load.getFunction()->users()) {
    auto *call = dyn_cast<CallInst>(user);
    auto *branch =
        call ? dyn_cast<BranchInst>(call->getParent()->getTerminator())
             : nullptr;
    if (!branch || call->getCalledFunction() != load.getFunction())
      return false;
    const Value *word = call->getArgOperand(argument->getArgNo());
    auto loadsAgain = [&](const BasicBlock *next) {
      for (const Instruction &inst : *next)
        if (auto *again = dyn_cast<LoadInst>(&inst))
          return again->getPointerOperand() == word &&
                 isAcquireOrStronger(again->getOrdering());
      return false;
    };
    if (!any_of(branch->successors(), loadsAgain))
      return false;
  }
  return true;
}

static bool releasesFrom(const BasicBlock &block, BasicBlock::const_iterator at,
                         SmallPtrSetImpl<const BasicBlock *> &seen);

static bool isRelease(const Instruction &inst) {
  if (auto *store = dyn_cast<StoreInst>(&inst))
    return isReleaseOrStronger(store->getOrdering());
  auto *call = dyn_cast<CallInst>(&inst);
  const Function *callee = call ? call->getCalledFunction() : nullptr;
  if (!callee || callee->isDeclaration())
    return false;
  SmallPtrSet<const BasicBlock *, 16> seen;
  const BasicBlock &entry = callee->getEntryBlock();
  return releasesFrom(entry, entry.begin(), seen);
}

/// Whether all ways on come to a release before the function's end.
static bool releasesFrom(const BasicBlock &block, BasicBlock::const_iterator at,
                         SmallPtrSetImpl<const BasicBlock *> &seen) {
  if (std::any_of(at, block.end(), isRelease))
    return true;
  if (succ_empty(&block))
    return false;
  return all_of(successors(&block), [&](const BasicBlock *next) {
    return !seen.insert(next).second ||
           releasesFrom(*next, next->begin(), seen);
  });
}

/// Of a relaxed load by a function that kernels call.
static bool isReleasedBehind(const LoadInst &load) {
  SmallPtrSet<const BasicBlock *, 16> seen;
  return load.isAtomic() &&
         load.getFunction()->getCallingConv() != CallingConv::PTX_Kernel &&
         load.getOrdering() == AtomicOrdering::Monotonic &&
         releasesFrom(*load.getParent(), std::next(load.getIterator()), seen);
}

/// A branch on what was loaded from a word, of which one way does no more than
/// wait for that word, and stand for it: the fault by which it always does so.
static FaultKind asksAgain(const BranchInst &branch) {
  if (!branch.isConditional())
    return FaultKind::None;
  for (unsigned way = 0; way < 2; ++way) {
    const BasicBlock *waits = branch.getSuccessor(way),
                     *next = branch.getSuccessor(1 - way);
    auto *call = dyn_cast<CallInst>(&waits->front());
    if (!call || isa<IntrinsicInst>(call) ||
        waits->getSingleSuccessor() != next ||
        call->getNextNode() != waits->getTerminator() ||
        waits->getSinglePredecessor() != branch.getParent())
      continue;
    for (const PHINode &phi : next->phis()) {
      auto *load =
          dyn_cast<LoadInst>(phi.getIncomingValueForBlock(branch.getParent()));
      if (load && phi.getIncomingValueForBlock(waits) == call &&
          is_contained(call->args(), load->getPointerOperand()))
        return way == 0 ? FaultKind::Always : FaultKind::Never;
    }
  }
  return FaultKind::None;
}

/// Of `a >= b || c` or `a >= b`: the comparison.
static const ICmpInst *boundOf(const BranchInst &branch) {
  const Value *condition = branch.getCondition();
  if (auto *either = dyn_cast<BinaryOperator>(condition);
      either && either->getOpcode() == Instruction::Or)
    condition = either->getOperand(0);
  auto *bound = dyn_cast<ICmpInst>(condition);
  return bound && bound->getPredicate() == CmpInst::ICMP_UGE ? bound : nullptr;
}

/// Whether a loop is left towards another one that counts on from where it has
/// come to, up to the same bound: first several at a time, then one.
static bool goesOnBehind(const BranchInst &branch) {
  if (!branch.isConditional())
    return false;
  const BasicBlock *own = branch.getParent(), *next = branch.getSuccessor(0);
  auto *other = dyn_cast<BranchInst>(next->getTerminator());
  const ICmpInst *first = boundOf(branch);
  if (!first || !other || !other->isConditional())
    return false;
  const ICmpInst *second = boundOf(*other);
  auto *last = dyn_cast<BinaryOperator>(first->getOperand(0));
  if (!second || second->getOperand(1) != first->getOperand(1) || !last ||
      last->getOpcode() != Instruction::Add)
    return false;
  auto *counter = dyn_cast<PHINode>(second->getOperand(0));
  auto *before = dyn_cast<PHINode>(last->getOperand(0));
  return counter && before && counter->getParent() == next &&
         before->getParent() == own &&
         counter->getIncomingValueForBlock(own) == before;
}

/// Blocks that thread 0 alone runs.
static bool isOfFirstThread(const BasicBlock &block,
                            const DominatorTree &dominators) {
  for (const BasicBlock &other : *block.getParent()) {
    auto *branch = dyn_cast<BranchInst>(other.getTerminator());
    auto *compare = branch && branch->isConditional()
                        ? dyn_cast<ICmpInst>(branch->getCondition())
                        : nullptr;
    auto *index =
        compare ? dyn_cast<IntrinsicInst>(compare->getOperand(0)) : nullptr;
    if (index && compare->getPredicate() == CmpInst::ICMP_EQ &&
        match(compare->getOperand(1), PatternMatch::m_Zero()) &&
        index->getIntrinsicID() == Intrinsic::nvvm_read_ptx_sreg_tid_x &&
        dominators.dominates(BasicBlockEdge(&other, branch->getSuccessor(0)),
                             &block))
      return true;
  }
  return false;
}

/// Whether on every way to a barrier there is another one, and between the two
/// only thread 0 touches what is written in a launch. Words and arguments are
/// loaded from generic pointers, and nobody writes them.
static bool isBehindBarrier(const Instruction &barrier,
                            const DominatorTree &dominators) {
  SmallPtrSet<const BasicBlock *, 16> seen;
  SmallVector<const BasicBlock *> list{barrier.getParent()};
  while (!list.empty()) {
    const BasicBlock *block = list.pop_back_val();
    bool isFirst = block == barrier.getParent() && seen.empty();
    if (!isFirst && !seen.insert(block).second)
      continue;
    bool isAlone = isOfFirstThread(*block, dominators), meets = false;
    auto it =
        isFirst ? std::next(barrier.getReverseIterator()) : block->rbegin();
    for (; it != block->rend() && !meets; ++it) {
      meets = isBarrier(*it);
      auto *load = dyn_cast<LoadInst>(&*it);
      bool isPayload =
          load && (load->getPointerAddressSpace() != 0 || load->isAtomic());
      if (!meets && !isAlone && (isPayload || mayWrite(*it)))
        return false;
    }
    if (meets)
      continue;
    if (pred_empty(block))
      return false; // the kernel's begin
    append_range(list, predecessors(block));
  }
  return true;
}

/// The kernels that call a function, also by others; a kernel: itself.
static std::vector<std::string> kernelsOf(const Function &function) {
  SmallVector<const Function *> list{&function};
  SmallPtrSet<const Function *, 16> seen{&function};
  std::vector<std::string> kernels;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i]->getCallingConv() == CallingConv::PTX_Kernel)
      kernels.push_back(list[i]->getName().str());
    for (const User *user : list[i]->users())
      if (auto *call = dyn_cast<CallInst>(user))
        if (seen.insert(call->getFunction()).second)
          list.push_back(call->getFunction());
  }
  return kernels;
}

/// A vote of the block in which every thread says no.
static bool isAgreed(const Instruction &inst) {
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  return call &&
         call->getCalledFunction()->getName().contains(".barrier.cta.red.or") &&
         match(call->getArgOperand(call->arg_size() - 1),
               PatternMatch::m_Zero());
}

/// What can be said of an instruction only before anything is replaced.
std::map<const Instruction *, Place> describePlaces(llvm::Module &module) {
  std::map<const Instruction *, Place> places;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    const std::vector<std::string> kernels = kernelsOf(function);
    for (Instruction &inst : instructions(function)) {
      Place &place = places[&inst];
      place.isInKernel = function.getCallingConv() == CallingConv::PTX_Kernel;
      place.isInLoop = loops.getLoopFor(inst.getParent());
      place.kernels = kernels;
      if (isa<AtomicCmpXchgInst>(inst))
        place.mayFollowWrites = mayFollowWrites(inst);
      place.isAgreed = isAgreed(inst);
      if (place.isInLoop && isBarrier(inst))
        place.isBehindBarrier = isBehindBarrier(inst, dominators);
      if (auto *branch = dyn_cast<BranchInst>(&inst)) {
        place.asksAgain = asksAgain(*branch);
        place.goesOnBehind = goesOnBehind(*branch);
        auto *vote = branch->isConditional()
                         ? dyn_cast<Instruction>(branch->getCondition())
                         : nullptr;
        place.isAgreed = vote && isAgreed(*vote);
      }
      if (auto *load = dyn_cast<LoadInst>(&inst)) {
        place.isLoadedAgain = isLoadedAgain(*load);
        place.isReleasedBehind = isReleasedBehind(*load);
      }
    }
  }
  return places;
}

} // namespace coll::emu
