//===- Mutate.cpp - Device code with one fault ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Left alone, since nothing can show a change: the slow path of waits (its
// caller loads the word again); and what is of gpu scope: `entered`, which
// matters only when two launches overlap, and the steps that a block has
// finished, which only plans of several blocks wait for.
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

using namespace llvm;

namespace coll::emu {

namespace {
/// Changes an instruction if it is of this kind; false: it is not. Dry: only
/// says so.
struct Kind {
  const char *name;
  std::function<bool(Instruction &, bool isDry)> apply;
};
} // namespace

static bool isSystem(SyncScope::ID scope) { return scope == SyncScope::System; }

static bool isBarrier(const CallInst &call, StringRef part) {
  Function *callee = call.getCalledFunction();
  return callee && callee->getName().starts_with("llvm.nvvm.barrier.cta.") &&
         callee->getName().contains(part);
}

static bool weakenLoad(Instruction &inst, bool isDry, AtomicOrdering order,
                       const char *scope) {
  auto *load = dyn_cast<LoadInst>(&inst);
  if (!load || load->getOrdering() != AtomicOrdering::Acquire ||
      !isSystem(load->getSyncScopeID()))
    return false;
  if (isDry)
    return true;
  if (scope) {
    load->setSyncScopeID(load->getContext().getOrInsertSyncScopeID(scope));
  } else if (order == AtomicOrdering::NotAtomic) {
    load->setAtomic(order);
    load->setVolatile(false);
  } else {
    load->setOrdering(order);
  }
  return true;
}

static bool weakenStore(Instruction &inst, bool isDry, AtomicOrdering order,
                        const char *scope) {
  auto *store = dyn_cast<StoreInst>(&inst);
  if (!store || store->getOrdering() != AtomicOrdering::Release ||
      !isSystem(store->getSyncScopeID()))
    return false;
  if (isDry)
    return true;
  if (scope) {
    store->setSyncScopeID(store->getContext().getOrInsertSyncScopeID(scope));
  } else {
    store->setAtomic(order);
  }
  return true;
}

static bool dropBarrier(Instruction &inst, bool isDry) {
  auto *call = dyn_cast<CallInst>(&inst);
  if (!call || !isBarrier(*call, ".sync."))
    return false;
  if (isDry)
    return true;
  call->eraseFromParent();
  return true;
}

static bool dropVote(Instruction &inst, bool isDry) {
  auto *call = dyn_cast<CallInst>(&inst);
  if (!call || !isBarrier(*call, ".red."))
    return false;
  if (isDry)
    return true;
  call->replaceAllUsesWith(call->getArgOperand(call->arg_size() - 1));
  call->eraseFromParent();
  return true;
}

static bool dropFence(Instruction &inst, bool isDry) {
  if (!isa<FenceInst>(inst))
    return false;
  if (isDry)
    return true;
  inst.eraseFromParent();
  return true;
}

/// A wait that finds its condition to hold at once.
static bool skipWait(Instruction &inst, bool isDry) {
  auto *call = dyn_cast<CallInst>(&inst);
  if (!call || !call->getCalledFunction() ||
      call->getCalledFunction()->getName() != "coll_kernel_wait")
    return false;
  if (isDry)
    return true;
  call->replaceAllUsesWith(ConstantInt::get(call->getType(), 0));
  call->eraseFromParent();
  return true;
}

static const std::vector<Kind> &kinds() {
  using Ordering = AtomicOrdering;
  static const std::vector<Kind> list = {
      {"acquire -> relaxed",
       [](Instruction &i, bool d) {
         return weakenLoad(i, d, Ordering::Monotonic, nullptr);
       }},
      {"acquire -> weak",
       [](Instruction &i, bool d) {
         return weakenLoad(i, d, Ordering::NotAtomic, nullptr);
       }},
      {"acquire.sys -> gpu",
       [](Instruction &i, bool d) {
         return weakenLoad(i, d, Ordering::Acquire, "device");
       }},
      {"acquire -> cta",
       [](Instruction &i, bool d) {
         return weakenLoad(i, d, Ordering::Acquire, "block");
       }},
      {"release -> relaxed",
       [](Instruction &i, bool d) {
         return weakenStore(i, d, Ordering::Monotonic, nullptr);
       }},
      {"release -> weak",
       [](Instruction &i, bool d) {
         return weakenStore(i, d, Ordering::NotAtomic, nullptr);
       }},
      {"release.sys -> gpu",
       [](Instruction &i, bool d) {
         return weakenStore(i, d, Ordering::Release, "device");
       }},
      {"release -> cta",
       [](Instruction &i, bool d) {
         return weakenStore(i, d, Ordering::Release, "block");
       }},
      {"barrier dropped", dropBarrier},
      {"barrier with vote dropped", dropVote},
      {"fence dropped", dropFence},
      {"wait skipped", skipWait}};
  return list;
}

static std::unique_ptr<llvm::Module> parse(const std::string &code,
                                           LLVMContext &context) {
  SMDiagnostic diagnostic;
  return parseIR(MemoryBufferRef(code, "kernel"), diagnostic, context);
}

std::string makeMutants(const std::string &code, const std::string &kernel,
                        std::vector<Mutant> &mutants) {
  for (const Kind &kind : kinds())
    for (unsigned wanted = 0;; ++wanted) {
      LLVMContext context;
      auto module = parse(code, context);
      if (!module || !module->getFunction(kernel))
        return "there is no kernel " + kernel;
      unsigned number = 0;
      Instruction *found = nullptr;
      for (Function &function : *module)
        if (!function.getName().starts_with("coll_kernel_") &&
            (function.getCallingConv() != CallingConv::PTX_Kernel ||
             function.getName() == kernel))
          for (Instruction &inst : instructions(function))
            if (!found && kind.apply(inst, true) && number++ == wanted)
              found = &inst;
      if (!found)
        break;
      std::string text;
      raw_string_ostream(text) << *found;
      kind.apply(*found, false);
      std::string bitcode;
      raw_string_ostream stream(bitcode);
      WriteBitcodeToFile(*module, stream);
      mutants.push_back({kind.name, StringRef(text).trim().str(), bitcode});
    }
  return "";
}

} // namespace coll::emu
