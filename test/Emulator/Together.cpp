//===- Together.cpp - Where a warp's lanes are together anyway ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier of a warp brings lanes together that have gone different ways, so
// that they can access lines (Lines.cpp). Where they cannot have, since all
// ways to it come from a vote, or another barrier, by branches on which all
// lanes of a warp agree, it brings nobody together.
//
// Lanes agree on a value that is made of constants, of arguments, of what lies
// in tables and in shared memory, where thread 0 alone writes, between barriers
// of the block, of votes, and of their warp's number; and on one that a loop
// hands on from round to round, if they agree on what it begins with and on
// what a round makes of it, and go round together: by a vote or barrier in
// every round, or since nothing in the loop can part them.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace coll::emu {

constexpr unsigned kLog2Warp = 5;

/// A barrier or vote of all of a warp, or of the block.
static bool isMeeting(const Instruction &inst) {
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  if (!call)
    return false;
  StringRef name = call->getCalledFunction()->getName();
  const bool isOfWarp = name.contains(".vote.") || name.contains(".bar.warp.");
  return (isOfWarp &&
          match(call->getArgOperand(0), PatternMatch::m_AllOnes())) ||
         (name.contains(".barrier.cta.") && name.ends_with(".all"));
}

namespace {
class Lanes {
public:
  Lanes(const DominatorTree &dominators, const LoopInfo &loops)
      : dominators(dominators), loops(loops) {}
  bool agreeOn(const Value *value);
  bool areTogetherAt(const Instruction &barrier);

private:
  bool agreeOnPhi(const PHINode &phi);
  bool agreeOnCall(const IntrinsicInst &call);
  bool goRoundTogether(const Loop &loop);
  const DominatorTree &dominators;
  const LoopInfo &loops;
  SmallPtrSet<const Value *, 32> assumed; // until something says otherwise
};
} // namespace

/// Bits of a thread's number that say which warp it is in.
static bool isOfWarp(const Value *value) {
  using namespace PatternMatch;
  Value *number = nullptr;
  uint64_t shift = 0;
  const APInt *mask = nullptr;
  bool isShifted =
      match(value, m_LShr(m_Value(number), m_ConstantInt(shift))) ||
      match(value, m_And(m_LShr(m_Value(number), m_ConstantInt(shift)),
                         m_APInt(mask)));
  if (!isShifted || shift + (mask ? mask->countr_zero() : 0) < kLog2Warp)
    return false;
  Value *narrow = nullptr;
  if (match(number, m_ZExt(m_Value(narrow))))
    number = narrow;
  return match(number, m_Intrinsic<Intrinsic::nvvm_read_ptx_sreg_tid_x>());
}

bool Lanes::agreeOnCall(const IntrinsicInst &call) {
  if (call.getIntrinsicID() == Intrinsic::nvvm_read_ptx_sreg_ctaid_x ||
      isMeeting(call))
    return true;
  return !call.getCalledFunction()->getName().starts_with("llvm.nvvm.") &&
         !call.mayReadOrWriteMemory() &&
         all_of(call.args(), [&](const Use &use) { return agreeOn(use); });
}

bool Lanes::goRoundTogether(const Loop &loop) {
  const BasicBlock *latch = loop.getLoopLatch();
  if (!latch)
    return false;
  bool isMet = any_of(loop.blocks(), [&](const BasicBlock *block) {
    return dominators.dominates(block, latch) && any_of(*block, isMeeting);
  });
  return isMet || all_of(loop.blocks(), [&](const BasicBlock *block) {
           auto *branch = dyn_cast<BranchInst>(block->getTerminator());
           return branch && (branch->isUnconditional() ||
                             agreeOn(branch->getCondition()));
         });
}

bool Lanes::agreeOnPhi(const PHINode &phi) {
  const Loop *loop = loops.getLoopFor(phi.getParent());
  if (!loop || loop->getHeader() != phi.getParent() || !goRoundTogether(*loop))
    return false;
  const Value *entry = nullptr; // the same from wherever the loop is entered
  for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
    const Value *value = phi.getIncomingValue(i);
    bool isRound = loop->contains(phi.getIncomingBlock(i));
    if (!agreeOn(value) || (!isRound && entry && entry != value))
      return false;
    entry = isRound ? entry : value;
  }
  return true;
}

bool Lanes::agreeOn(const Value *value) {
  if (isa<Constant, Argument>(value) || isOfWarp(value) ||
      !assumed.insert(value).second)
    return true;
  if (auto *phi = dyn_cast<PHINode>(value))
    return agreeOnPhi(*phi);
  if (auto *call = dyn_cast<IntrinsicInst>(value))
    return agreeOnCall(*call);
  if (auto *load = dyn_cast<LoadInst>(value))
    return load->isSimple() && load->getPointerAddressSpace() != 1 &&
           agreeOn(load->getPointerOperand());
  auto *inst = dyn_cast<Instruction>(value);
  return inst &&
         isa<BinaryOperator, CastInst, CmpInst, SelectInst, FreezeInst,
             GetElementPtrInst>(inst) &&
         all_of(inst->operands(), [&](const Use &use) { return agreeOn(use); });
}

/// Back from the barrier, which is none now, to meetings on all ways.
bool Lanes::areTogetherAt(const Instruction &barrier) {
  SmallPtrSet<const BasicBlock *, 16> seen;
  SmallVector<const BasicBlock *> list;
  auto walk = [&](const BasicBlock &block, auto at) {
    for (; at != block.rend(); ++at)
      if (&*at != &barrier && isMeeting(*at))
        return true;
    append_range(list, predecessors(&block));
    return !pred_empty(&block);
  };
  if (!walk(*barrier.getParent(), std::next(barrier.getReverseIterator())))
    return false;
  while (!list.empty()) {
    const BasicBlock *block = list.pop_back_val();
    auto *branch = dyn_cast<BranchInst>(block->getTerminator());
    if (!branch ||
        (branch->isConditional() && !agreeOn(branch->getCondition())))
      return false;
    if (seen.insert(block).second && !walk(*block, block->rbegin()))
      return false;
  }
  return true;
}

bool isTogether(const Instruction &barrier, const DominatorTree &dominators,
                const LoopInfo &loops) {
  return Lanes(dominators, loops).areTogetherAt(barrier);
}

} // namespace coll::emu
