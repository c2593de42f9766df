//===- FenceCheck.cpp - Stores past the caches have a fence ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forward data flow with one bit per block: may there be a store that no fence
// has followed yet? Words that publish something are scalars and payload is
// stored in vectors there, so the rule needs to know nothing of which store
// publishes what.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/FenceCheck.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

static bool isStream(const Instruction &instruction) {
  return isa<StoreInst>(instruction) &&
         instruction.hasMetadata(LLVMContext::MD_nontemporal);
}

static bool isFence(const Instruction &instruction) {
  const auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::x86_sse_sfence;
}

static bool isPlainVectorStore(const Instruction &instruction) {
  const auto *store = dyn_cast<StoreInst>(&instruction);
  return store && store->isSimple() &&
         store->getValueOperand()->getType()->isVectorTy();
}

/// Walks a block. False: something that must not happens while a store is
/// unfenced.
static bool walk(const BasicBlock &block, bool &isOpen) {
  for (const Instruction &instruction : block) {
    if (isStream(instruction))
      isOpen = true;
    else if (isFence(instruction))
      isOpen = false;
    else if (isOpen && !isPlainVectorStore(instruction) &&
             (instruction.mayWriteToMemory() || isa<ReturnInst>(instruction)))
      return false;
  }
  return true;
}

static bool isFenced(const Function &function) {
  SmallVector<const BasicBlock *> work;
  DenseSet<const BasicBlock *> open; // a store may be unfenced at its start
  for (const BasicBlock &block : function)
    work.push_back(&block);
  while (!work.empty()) {
    const BasicBlock *block = work.pop_back_val();
    bool isOpen = open.contains(block);
    if (!walk(*block, isOpen))
      return false;
    for (const BasicBlock *next : successors(block))
      if (isOpen && open.insert(next).second)
        work.push_back(next);
  }
  return true;
}

Error coll::checkFences(const Module &module) {
  for (const Function &function : module)
    if (!isFenced(function))
      return createStringError(
          "internal error: in '" + function.getName().str() +
          "' a store past the caches can be published before its fence");
  return Error::success();
}
