//===- Cleaning.cpp - Stores that fill a slot of packets ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Once in many messages the sender fills what its message leaves of a slot
// (lib/Lowering/PacketPrimitives.cpp). These stores are ordered against all
// other accesses to the same words: a later load stands behind an acquire of
// coll_ring_line.cleaned, an earlier one before the slot's credit was returned.
// So they need be neither strong nor whole, where the code says so:
//
// - they are made for messages of some numbers alone, by a branch;
// - by a branch on the same of the number, `cleaned` becomes the number, by a
//   release, and each kernel comes from the filling to that by a barrier alone;
// - whatever function gives out slots takes a credit, or acquires `cleaned` by
//   a branch on the same, and goes on where it is at least the number.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "coll/abi.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace coll::emu {

/// What lies so many bytes before the pointer, where that is what it says.
static const Value *baseOf(const Value *pointer, uint64_t offset,
                           const DataLayout &layout) {
  APInt found(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const Value *base =
      pointer->stripAndAccumulateConstantOffsets(layout, found, true);
  return found == offset ? base : nullptr;
}

/// Whether a value is loaded from that word of a coll_end, which the function
/// is given.
static bool isOfEnd(const Value *value, uint64_t word) {
  auto *load = dyn_cast_or_null<LoadInst>(value);
  const Value *end =
      load ? baseOf(load->getPointerOperand(), word, load->getDataLayout())
           : nullptr;
  return end && isa<Argument>(end);
}
static bool isAt(const Value *pointer, uint64_t endWord, uint64_t offset,
                 const DataLayout &layout) {
  return isOfEnd(baseOf(pointer, offset, layout), endWord);
}
static bool isCleaned(const Value *pointer, const DataLayout &layout) {
  return isAt(pointer, offsetof(coll_end, line),
              offsetof(coll_ring_line, cleaned), layout);
}
static bool isSlot(const Value *value) {
  return isOfEnd(value, offsetof(coll_end, small));
}

/// coll_seq.small_next + 1.
static bool isNumber(const Value *value) {
  const Value *next = nullptr;
  if (!match(value, m_Add(m_Value(next), m_One())))
    return false;
  auto *load = dyn_cast<LoadInst>(next);
  return load && isAt(load->getPointerOperand(), offsetof(coll_end, seq),
                      offsetof(coll_seq, small_next), load->getDataLayout());
}

namespace {
/// What a branch asks of the message's number.
struct Due {
  CmpInst::Predicate predicate;
  APInt mask, bound;
  bool operator==(const Due &) const = default;
};
} // namespace

static std::optional<Due> dueOf(const BasicBlock &block, unsigned way) {
  auto *branch = dyn_cast<BranchInst>(block.getTerminator());
  CmpPredicate predicate;
  const Value *number = nullptr;
  const APInt *mask = nullptr, *bound = nullptr;
  if (!branch || !branch->isConditional() ||
      !match(branch->getCondition(),
             m_ICmp(predicate, m_And(m_Value(number), m_APInt(mask)),
                    m_APInt(bound))) ||
      !isNumber(number))
    return std::nullopt;
  CmpInst::Predicate asked = predicate;
  return Due{way == 0 ? asked : CmpInst::getInversePredicate(asked), *mask,
             *bound};
}

static const BasicBlock *successorFor(const BasicBlock &block, const Due &due) {
  for (unsigned way = 0; way < 2; ++way)
    if (std::optional<Due> its = dueOf(block, way); its && *its == due)
      return block.getTerminator()->getSuccessor(way);
  return nullptr;
}

/// `cleaned` = the number, first thing.
static bool releasesCleaned(const Function &function, const Due &due) {
  const DataLayout &layout = function.getDataLayout();
  return any_of(function, [&](const BasicBlock &block) {
    const BasicBlock *behind = successorFor(block, due);
    return behind && any_of(*behind, [&](const Instruction &inst) {
             auto *store = dyn_cast<StoreInst>(&inst);
             return store && isReleaseOrStronger(store->getOrdering()) &&
                    isNumber(store->getValueOperand()) &&
                    isCleaned(store->getPointerOperand(), layout);
           });
  });
}

static bool givesSlots(const Function &function) {
  for (const BasicBlock &block : function)
    if (auto *ret = dyn_cast<ReturnInst>(block.getTerminator());
        ret && ret->getReturnValue() &&
        ret->getReturnValue()->getType()->isPointerTy()) {
      SmallVector<const Value *> objects;
      getUnderlyingObjects(ret->getReturnValue(), objects);
      if (any_of(objects, isSlot))
        return true;
    }
  return false;
}

static bool takesCredit(const Function &function) {
  return any_of(instructions(function), [&](const Instruction &inst) {
    auto *load = dyn_cast<LoadInst>(&inst);
    return load && load->isAtomic() &&
           isAcquireOrStronger(load->getOrdering()) &&
           isAt(load->getPointerOperand(), offsetof(coll_end, credit),
                offsetof(coll_credit_line, small_head), load->getDataLayout());
  });
}

/// Where a branch goes on `cleaned` that is at least the number; null: it asks
/// for something else.
static const BasicBlock *goesOnWith(const BasicBlock &block) {
  auto *branch = dyn_cast<BranchInst>(block.getTerminator());
  CmpPredicate predicate;
  const Value *word = nullptr, *number = nullptr;
  if (!branch || !branch->isConditional() ||
      !match(branch->getCondition(),
             m_ICmp(predicate, m_Value(word), m_Value(number))) ||
      !isNumber(number))
    return nullptr;
  auto *load = dyn_cast<LoadInst>(word);
  if (!load || !load->isAtomic() || !isAcquireOrStronger(load->getOrdering()) ||
      !isCleaned(load->getPointerOperand(), load->getDataLayout()))
    return nullptr;
  if (predicate == CmpInst::ICMP_ULT)
    return branch->getSuccessor(1);
  return predicate == CmpInst::ICMP_UGE ? branch->getSuccessor(0) : nullptr;
}

/// Whether the slots of such messages are given out behind `cleaned` alone.
static bool acquiresCleaned(const Function &function, const Due &due) {
  SmallVector<const BasicBlock *> list;
  for (const BasicBlock &block : function)
    if (const BasicBlock *behind = successorFor(block, due))
      list.push_back(behind);
  if (list.empty())
    return false;
  SmallPtrSet<const BasicBlock *, 16> seen(list.begin(), list.end());
  while (!list.empty()) {
    const BasicBlock *block = list.pop_back_val();
    if (any_of(*block, [](const Instruction &inst) { return isSlot(&inst); }))
      return false;
    for (const BasicBlock *next : successors(block))
      if (next != goesOnWith(*block) && seen.insert(next).second)
        list.push_back(next);
  }
  return true;
}

static bool isBarrier(const Instruction &inst) {
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  return call && call->getCalledFunction()->getName().contains(".barrier.cta.");
}

/// Whether all ways on from the call come to a barrier before such a function.
static bool comesToBarrier(const CallInst &call,
                           const SmallPtrSetImpl<const Function *> &functions) {
  SmallVector<const Instruction *> list{call.getNextNode()};
  SmallPtrSet<const BasicBlock *, 16> seen;
  while (!list.empty()) {
    const Instruction *at = list.pop_back_val();
    while (!isBarrier(*at) && !at->isTerminator()) {
      auto *other = dyn_cast<CallInst>(at);
      if (other && functions.contains(other->getCalledFunction()))
        return false;
      at = at->getNextNode();
    }
    if (isBarrier(*at))
      continue;
    for (const BasicBlock *next : successors(at->getParent()))
      if (seen.insert(next).second)
        list.push_back(&next->front());
  }
  return true;
}

/// Which messages the block is for.
static std::optional<Due> dueAt(const BasicBlock &block,
                                const DominatorTree &dominators) {
  for (const BasicBlock &other : *block.getParent())
    for (unsigned way = 0; way < 2; ++way)
      if (std::optional<Due> due = dueOf(other, way);
          due &&
          dominators.dominates(
              BasicBlockEdge(&other, other.getTerminator()->getSuccessor(way)),
              &block))
        return due;
  return std::nullopt;
}

bool isCleaning(const StoreInst &store, const DominatorTree &dominators) {
  if (store.getOrdering() != AtomicOrdering::Monotonic ||
      !isSlot(getUnderlyingObject(store.getPointerOperand())))
    return false;
  std::optional<Due> due = dueAt(*store.getParent(), dominators);
  if (!due)
    return false;
  SmallPtrSet<const Function *, 4> releasing;
  unsigned acquiring = 0;
  for (const Function &function : *store.getModule()) {
    if (releasesCleaned(function, *due))
      releasing.insert(&function);
    if (!givesSlots(function) || takesCredit(function))
      continue;
    if (!acquiresCleaned(function, *due))
      return false;
    ++acquiring;
  }
  return !releasing.empty() && acquiring &&
         all_of(store.getFunction()->users(), [&](const User *user) {
           auto *call = dyn_cast<CallInst>(user);
           return call && comesToBarrier(*call, releasing);
         });
}

} // namespace coll::emu
