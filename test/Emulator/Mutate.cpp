//===- Mutate.cpp - Device code with one fault ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Left alone, since nothing can show a change: the slow path of waits (its
// caller loads the word again); and what is of gpu scope: `entered`, which
// matters only when two launches overlap, and the steps that a block has
// finished, which only plans of several blocks wait for.
//
// A mutant calls emuReached where it differs, so that one which no run comes to
// is told from one that the checker misses.
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Dominators.h"
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

/// An access to a packet: of what is not global memory by its type, others are
/// relaxed, too (what the host is shown).
static bool isPacket(const Instruction &inst) {
  auto isRelaxed = [](auto *access) {
    return access && access->getOrdering() == AtomicOrdering::Monotonic &&
           access->getPointerAddressSpace() == 1;
  };
  return isRelaxed(dyn_cast<LoadInst>(&inst)) ||
         isRelaxed(dyn_cast<StoreInst>(&inst));
}

static bool weakenPacket(Instruction &inst, bool isDry, const char *scope) {
  if (!isPacket(inst))
    return false;
  if (isDry)
    return true;
  auto weaken = [&](auto *access) {
    if (!access)
      return;
    if (scope)
      access->setSyncScopeID(inst.getContext().getOrInsertSyncScopeID(scope));
    else
      access->setAtomic(AtomicOrdering::NotAtomic);
  };
  weaken(dyn_cast<LoadInst>(&inst));
  weaken(dyn_cast<StoreInst>(&inst));
  return true;
}

static bool dropCall(Instruction &inst, bool isDry, StringRef name) {
  auto *call = dyn_cast<CallInst>(&inst);
  if (!call || !call->getCalledFunction() ||
      call->getCalledFunction()->getName() != name)
    return false;
  if (!isDry)
    call->eraseFromParent();
  return true;
}

static bool callsWait(const BasicBlock &block) {
  for (const Instruction &inst : block)
    if (auto *call = dyn_cast<CallInst>(&inst))
      if (Function *callee = call->getCalledFunction();
          callee && callee->getName() == "coll_kernel_wait")
        return true;
  return false;
}

/// The branch that decides whether to wait for a message, a credit or a block:
/// the successor that waits, or -1.
static int waitingSuccessor(const Instruction &inst) {
  auto *branch = dyn_cast<BranchInst>(&inst);
  if (!branch || !branch->isConditional())
    return -1;
  return callsWait(*branch->getSuccessor(0))   ? 0
         : callsWait(*branch->getSuccessor(1)) ? 1
                                               : -1;
}

/// Goes on as if the condition held.
static bool ignoreCondition(Instruction &inst, bool isDry) {
  int waits = waitingSuccessor(inst);
  if (waits < 0)
    return false;
  if (!isDry)
    cast<BranchInst>(inst).setCondition(
        ConstantInt::getBool(inst.getContext(), waits != 0));
  return true;
}

/// Counts the times that a changed instruction is come to; for a condition,
/// the times that it does not hold.
static void countReached(Instruction &inst) {
  IRBuilder<> b(&inst);
  Value *differs = b.getInt32(1);
  if (int waits = waitingSuccessor(inst); waits >= 0) {
    differs = cast<BranchInst>(inst).getCondition();
    if (waits == 1)
      differs = b.CreateNot(differs);
    differs = b.CreateZExt(differs, b.getInt32Ty());
  }
  FunctionCallee hook = inst.getModule()->getOrInsertFunction(
      "emuReached", b.getVoidTy(), b.getInt32Ty());
  b.CreateCall(hook, {differs});
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
      {"packet -> weak",
       [](Instruction &i, bool d) { return weakenPacket(i, d, nullptr); }},
      {"packet.sys -> gpu",
       [](Instruction &i, bool d) { return weakenPacket(i, d, "device"); }},
      {"cleaning dropped",
       [](Instruction &i, bool d) {
         return dropCall(i, d, "coll_packet_clean");
       }},
      {"barrier dropped", dropBarrier},
      {"barrier with vote dropped", dropVote},
      {"fence dropped", dropFence},
      {"condition ignored", ignoreCondition}};
  return list;
}

static std::unique_ptr<llvm::Module> parse(const std::string &code,
                                           LLVMContext &context) {
  SMDiagnostic diagnostic;
  return parseIR(MemoryBufferRef(code, "kernel"), diagnostic, context);
}

static bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel;
}

/// Without what does not run: compiling it is most of a mutant's time.
static void keepOne(llvm::Module &module, StringRef kernel) {
  for (const char *name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *used = module.getNamedGlobal(name))
      used->eraseFromParent();
  for (Function &function : make_early_inc_range(module))
    if (isKernel(function) && function.getName() != kernel &&
        function.use_empty())
      function.eraseFromParent();
}

/// The instruction of that number among those that the kind changes.
static Instruction *find(llvm::Module &module, const Kind &kind,
                         unsigned wanted) {
  for (Function &function : module)
    if (!function.getName().starts_with("coll_kernel_"))
      for (Instruction &inst : instructions(function))
        if (kind.apply(inst, true) && wanted-- == 0)
          return &inst;
  return nullptr;
}

static Mutant mutate(Instruction &inst, const Kind &kind) {
  Mutant mutant;
  mutant.kind = kind.name;
  Function &function = *inst.getFunction();
  llvm::Module &module = *inst.getModule();
  mutant.function = isKernel(function) ? "kernel" : function.getName().str();
  raw_string_ostream(mutant.text) << inst;
  mutant.text = StringRef(mutant.text).trim().str();
  DominatorTree dominators(function);
  mutant.isInLoop = LoopInfo(dominators).getLoopFor(inst.getParent());
  countReached(inst);
  kind.apply(inst, false);
  raw_string_ostream stream(mutant.code);
  WriteBitcodeToFile(module, stream);
  return mutant;
}

std::string makeMutants(const std::string &code, const std::string &kernel,
                        std::vector<Mutant> &mutants) {
  for (const Kind &kind : kinds())
    for (unsigned wanted = 0;; ++wanted) {
      LLVMContext context;
      auto module = parse(code, context);
      if (!module || !module->getFunction(kernel))
        return "there is no kernel " + kernel;
      keepOne(*module, kernel);
      Instruction *found = find(*module, kind, wanted);
      if (!found)
        break;
      mutants.push_back(mutate(*found, kind));
    }
  return "";
}

std::string whyEquivalent(const Mutant &mutant) {
  // The kernel's own barriers outside its loops are the first and the last.
  if (mutant.function == "kernel" && !mutant.isInLoop) {
    if (mutant.kind == "barrier dropped")
      return "the end's barrier: every step ends with one after its accesses, "
             "and thread 0 alone goes on";
    if (mutant.kind == "barrier with vote dropped")
      return "the beginning's vote: says only that launches of a plan overlap, "
             "and nothing shared is written before it";
  }
  return "";
}

} // namespace coll::emu
