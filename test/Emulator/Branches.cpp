//===- Branches.cpp - Branches on what other threads write ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A branch is a place for faults where its condition depends on a strong load,
// a compare-exchange, a vote, the clock, or on what a function with any of
// these returns: there a kernel decides to wait, to go on or to leave. The
// dependence is followed through values and not through memory.
//
// Where a module accesses lines, all branches tell which way a thread goes: so
// Lines.cpp knows whether lanes have stayed together.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace coll::emu {

static bool isSource(const Instruction &inst,
                     const SmallPtrSetImpl<const Function *> &waiting) {
  if (auto *load = dyn_cast<LoadInst>(&inst))
    return load->isAtomic() || load->isVolatile();
  if (isa<AtomicCmpXchgInst, AtomicRMWInst>(inst))
    return true;
  auto *call = dyn_cast<CallInst>(&inst);
  if (!call)
    return false;
  if (auto *assembly = dyn_cast<InlineAsm>(call->getCalledOperand())) {
    StringRef text = assembly->getAsmString();
    return text.contains("ld.relaxed") || text.contains("ld.acquire") ||
           text.contains("ld.volatile") || text.contains("atom.");
  }
  const Function *callee = call->getCalledFunction();
  if (!callee)
    return false;
  StringRef name = callee->getName();
  return waiting.contains(callee) || name.contains(".barrier.cta.red.") ||
         name.contains(".globaltimer") || name.contains(".vote.");
}

/// The values of a function that depend on a source.
static SetVector<Instruction *>
dependent(Function &function,
          const SmallPtrSetImpl<const Function *> &waiting) {
  SetVector<Instruction *> found;
  for (Instruction &inst : instructions(function))
    if (isSource(inst, waiting))
      found.insert(&inst);
  for (size_t i = 0; i < found.size(); ++i)
    for (User *user : found[i]->users())
      if (auto *inst = dyn_cast<Instruction>(user))
        if (!isa<LoadInst, StoreInst, CallBase>(inst))
          found.insert(inst);
  return found;
}

std::vector<BranchInst *> findBranches(llvm::Module &module) {
  SmallPtrSet<const Function *, 16> waiting;
  bool hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (Function &function : module)
      for (Instruction &inst : instructions(function))
        if (isSource(inst, waiting) && waiting.insert(&function).second)
          hasChanged = true;
  }
  std::vector<BranchInst *> branches;
  for (Function &function : module)
    for (Instruction *inst : dependent(function, waiting))
      if (auto *branch = dyn_cast<BranchInst>(inst);
          branch && branch->isConditional() &&
          branch->getSuccessor(0) != branch->getSuccessor(1))
        branches.push_back(branch);
  return branches;
}

void lowerBranch(BranchInst *branch, uint32_t site) {
  HookBuilder h(branch, site);
  h.addPlace(PlaceKind::Branch, Order::Relaxed, Scope::Sys, 0);
  Value *taken = h.call(
      "emuBranch", h.b.getInt32Ty(),
      {h.b.CreateZExt(branch->getCondition(), h.b.getInt32Ty()), h.i32(site)});
  branch->setCondition(h.b.CreateIsNotNull(taken));
}

bool isLineAccess(const Instruction &inst) {
  auto is = [](Type *type, Align align, bool isVolatile) {
    auto *vector = dyn_cast<FixedVectorType>(type);
    return isVolatile && align.value() >= 16 && vector &&
           vector->getNumElements() == 2 &&
           vector->getElementType()->isIntegerTy(64);
  };
  if (auto *load = dyn_cast<LoadInst>(&inst))
    return is(load->getType(), load->getAlign(), load->isVolatile());
  auto *store = dyn_cast<StoreInst>(&inst);
  return store && is(store->getValueOperand()->getType(), store->getAlign(),
                     store->isVolatile());
}

void markPaths(llvm::Module &module) {
  auto hasLines = [](const Function &function) {
    return any_of(instructions(function), isLineAccess);
  };
  if (none_of(module, hasLines))
    return;
  uint32_t place = 1;
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (any_of(predecessors(&block), [](const BasicBlock *before) {
            return before->getTerminator()->getNumSuccessors() > 1;
          })) {
        HookBuilder h(&*block.getFirstInsertionPt(), 0);
        h.call("emuPath", h.b.getVoidTy(), {h.i32(place++)});
      }
}

} // namespace coll::emu
