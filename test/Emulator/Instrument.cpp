//===- Instrument.cpp - From NVPTX's input to code of the host ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders and scopes are those of the PTX that the backend emits for an
// instruction, not those that LLVM promises: atomicrmw becomes `atom` without a
// semantics, which is relaxed, of gpu scope. A volatile access is relaxed, of
// system scope.
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"
#include "State.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coll::emu {

static std::string textOf(const Instruction &inst, ModuleSlotTracker &slots) {
  std::string text;
  raw_string_ostream stream(text);
  inst.print(stream, slots);
  return StringRef(text).trim().str();
}

static uint32_t makeSite(Instruction &inst, ModuleSlotTracker &slots) {
  Site site;
  site.function = inst.getFunction()->getName().str();
  site.text = textOf(inst, slots);
  if (size_t at = site.text.find(", !dbg"); at != std::string::npos)
    site.text.resize(at);
  if (const DebugLoc &loc = inst.getDebugLoc())
    site.location = loc->getFilename().str() + ":" +
                    std::to_string(loc.getLine()) + ":" +
                    std::to_string(loc.getCol());
  return addSite(std::move(site));
}

static bool isOwnOrConstant(const Value *pointer, bool isWrite) {
  const Value *object = getUnderlyingObject(pointer, 0);
  if (isa<AllocaInst>(object))
    return true;
  auto *global = dyn_cast<GlobalVariable>(object);
  return global && global->isConstant() && !isWrite;
}

static Scope scopeOf(LLVMContext &context, SyncScope::ID id) {
  SmallVector<StringRef> names;
  context.getSyncScopeNames(names);
  StringRef name = id < names.size() ? names[id] : "";
  return name == "device"         ? Scope::Gpu
         : name == "block"        ? Scope::Cta
         : name == "singlethread" ? Scope::Cta
                                  : Scope::Sys;
}

static Order orderOf(AtomicOrdering order) {
  switch (order) {
  case AtomicOrdering::Acquire:
    return Order::Acquire;
  case AtomicOrdering::Release:
    return Order::Release;
  case AtomicOrdering::AcquireRelease:
    return Order::AcqRel;
  case AtomicOrdering::SequentiallyConsistent:
    return Order::SeqCst;
  default:
    return Order::Relaxed;
  }
}

/// Loads that the backend may turn into ld.global.nc.
static bool isNonCoherent(const LoadInst &load) {
  if (load.hasMetadata(LLVMContext::MD_invariant_load))
    return true;
  auto *argument =
      dyn_cast<Argument>(getUnderlyingObject(load.getPointerOperand(), 0));
  return argument && argument->hasNoAliasAttr() &&
         argument->onlyReadsMemory() && !argument->hasByValAttr() &&
         argument->getParent()->getCallingConv() == CallingConv::PTX_Kernel;
}

static bool fits(Type *type) {
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    type = vector->getElementType();
  unsigned bytes = HookBuilder::bytesOf(type);
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static std::string onLoad(LoadInst &load, uint32_t site) {
  if (isOwnOrConstant(load.getPointerOperand(), false))
    return "";
  HookBuilder h(&load, site);
  if (isLineAccess(load)) {
    load.replaceAllUsesWith(
        h.loadLine(load.getPointerOperand(), load.getType()));
    load.eraseFromParent();
    return "";
  }
  if (load.isAtomic() || load.isVolatile()) {
    if (!fits(load.getType()))
      return "a strong load of a type that is not known here";
    Order order =
        load.isAtomic() ? orderOf(load.getOrdering()) : Order::Relaxed;
    Scope scope = load.isAtomic()
                      ? scopeOf(load.getContext(), load.getSyncScopeID())
                      : Scope::Sys;
    if (order == Order::SeqCst)
      h.fence(Order::SeqCst, scope); // as PTX maps it: fence.sc; ld.acquire
    load.replaceAllUsesWith(
        h.strongLoad(load.getPointerOperand(), load.getType(), order, scope));
    load.eraseFromParent();
    return "";
  }
  uint64_t bytes = load.getDataLayout().getTypeStoreSize(load.getType());
  h.weak(load.getPointerOperand(), h.b.getInt64(bytes),
         isNonCoherent(load) ? uint32_t(kNonCoherent) : 0,
         load.getAlign().value());
  return "";
}

static std::string onStore(StoreInst &store, uint32_t site) {
  if (isOwnOrConstant(store.getPointerOperand(), true))
    return "";
  HookBuilder h(&store, site);
  Value *value = store.getValueOperand();
  if (isLineAccess(store)) {
    h.storeLine(store.getPointerOperand(), value);
    store.eraseFromParent();
    return "";
  }
  if (store.isAtomic() || store.isVolatile()) {
    if (!fits(value->getType()))
      return "a strong store of a type that is not known here";
    Order order =
        store.isAtomic() ? orderOf(store.getOrdering()) : Order::Relaxed;
    Scope scope = store.isAtomic()
                      ? scopeOf(store.getContext(), store.getSyncScopeID())
                      : Scope::Sys;
    if (order == Order::SeqCst)
      h.fence(Order::SeqCst, scope);
    h.strongStore(store.getPointerOperand(), value, order, scope);
    store.eraseFromParent();
    return "";
  }
  uint64_t bytes = store.getDataLayout().getTypeStoreSize(value->getType());
  h.weak(store.getPointerOperand(), h.b.getInt64(bytes), kWrite,
         store.getAlign().value());
  return "";
}

static std::string onModify(AtomicRMWInst &rmw, uint32_t site) {
  static const std::pair<AtomicRMWInst::BinOp, uint32_t> operations[] = {
      {AtomicRMWInst::Xchg, kExchange}, {AtomicRMWInst::Add, kAdd},
      {AtomicRMWInst::Sub, kSub},       {AtomicRMWInst::And, kAnd},
      {AtomicRMWInst::Or, kOr},         {AtomicRMWInst::Xor, kXor},
      {AtomicRMWInst::Min, kMin},       {AtomicRMWInst::Max, kMax},
      {AtomicRMWInst::UMin, kUMin},     {AtomicRMWInst::UMax, kUMax}};
  uint32_t operation = ~0u;
  for (auto &[op, number] : operations)
    if (op == rmw.getOperation())
      operation = number;
  if (rmw.getOperation() == AtomicRMWInst::FAdd)
    operation = rmw.getType()->isDoubleTy() ? kFAdd64 : kFAdd32;
  if (operation == ~0u || !fits(rmw.getType()) || rmw.getType()->isHalfTy() ||
      rmw.getType()->isBFloatTy())
    return "a read-modify-write that is not known here";
  HookBuilder h(&rmw, site);
  rmw.replaceAllUsesWith(h.modify(rmw.getPointerOperand(), rmw.getValOperand(),
                                  operation, Order::Relaxed, Scope::Gpu));
  rmw.eraseFromParent();
  return "";
}

static std::string onSwap(AtomicCmpXchgInst &swap, uint32_t site) {
  HookBuilder h(&swap, site);
  if (!fits(swap.getNewValOperand()->getType()))
    return "a compare-exchange of a type that is not known here";
  Value *old =
      h.swap(swap.getPointerOperand(), swap.getCompareOperand(),
             swap.getNewValOperand(), orderOf(swap.getMergedOrdering()),
             scopeOf(swap.getContext(), swap.getSyncScopeID()));
  Value *result =
      h.b.CreateInsertValue(PoisonValue::get(swap.getType()), old, 0);
  result = h.b.CreateInsertValue(
      result, h.b.CreateICmpEQ(old, swap.getCompareOperand()), 1);
  swap.replaceAllUsesWith(result);
  swap.eraseFromParent();
  return "";
}

/// What a chip computes in another way than a host, so that bits would differ:
/// approximations, and operations that may be fused or not.
static std::string notExact(const Instruction &inst) {
  if (auto *math = dyn_cast<FPMathOperator>(&inst)) {
    FastMathFlags flags = math->getFastMathFlags();
    if (flags.allowContract() || flags.approxFunc() || flags.allowReassoc() ||
        flags.allowReciprocal())
      return "an operation that a chip may round otherwise than a host";
  }
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  if (!call)
    return "";
  switch (call->getIntrinsicID()) {
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::exp10:
  case Intrinsic::log:
  case Intrinsic::log2:
  case Intrinsic::log10:
  case Intrinsic::pow:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::tan:
  case Intrinsic::tanh:
    return "a function that chips approximate";
  default:
    return "";
  }
}

static std::string onCall(CallInst &call, uint32_t site) {
  if (call.isInlineAsm())
    return lowerPtx(&call, site);
  if (auto *memory = dyn_cast<MemIntrinsic>(&call)) {
    HookBuilder h(&call, site);
    if (auto *transfer = dyn_cast<MemTransferInst>(memory))
      if (!isOwnOrConstant(transfer->getRawSource(), false))
        h.weak(transfer->getRawSource(), memory->getLength(), 0,
               transfer->getSourceAlign().valueOrOne().value());
    if (!isOwnOrConstant(memory->getRawDest(), true))
      h.weak(memory->getRawDest(), memory->getLength(), kWrite,
             memory->getDestAlign().valueOrOne().value());
    return "";
  }
  Function *callee = call.getCalledFunction();
  if (!callee)
    return "a call through a pointer";
  StringRef name = callee->getName();
  if (name.starts_with("llvm.nvvm.") || name == "llvm.trap")
    return lowerIntrinsic(&call, site);
  if (name.starts_with("llvm.masked."))
    return "masked accesses are not known here";
  if (callee->isDeclaration() && !callee->isIntrinsic() &&
      !name.starts_with("emu"))
    return "a call of a function that the module does not define";
  return "";
}

static std::string onInstruction(Instruction &inst, ModuleSlotTracker &slots) {
  if (std::string error = notExact(inst); !error.empty())
    return error + ": " + textOf(inst, slots);
  if (!isa<LoadInst, StoreInst, FenceInst, AtomicRMWInst, AtomicCmpXchgInst,
           CallInst, BranchInst>(inst))
    return "";
  uint32_t site = makeSite(inst, slots);
  std::string text = siteOf(site).text, error;
  if (auto *branch = dyn_cast<BranchInst>(&inst))
    lowerBranch(branch, site);
  else if (auto *load = dyn_cast<LoadInst>(&inst))
    error = onLoad(*load, site);
  else if (auto *store = dyn_cast<StoreInst>(&inst))
    error = onStore(*store, site);
  else if (auto *rmw = dyn_cast<AtomicRMWInst>(&inst))
    error = onModify(*rmw, site);
  else if (auto *swap = dyn_cast<AtomicCmpXchgInst>(&inst))
    error = onSwap(*swap, site);
  else if (auto *call = dyn_cast<CallInst>(&inst))
    error = onCall(*call, site);
  else if (auto *fence = dyn_cast<FenceInst>(&inst)) {
    // PTX has one fence below sc: acq_rel.
    Order order = fence->getOrdering() == AtomicOrdering::SequentiallyConsistent
                      ? Order::SeqCst
                      : Order::AcqRel;
    HookBuilder(fence, site)
        .fence(order, scopeOf(fence->getContext(), fence->getSyncScopeID()));
    fence->eraseFromParent();
  }
  return error.empty() ? "" : error + ": " + text;
}

/// Shared memory: offsets into the arena of the block.
static void placeShared(llvm::Module &module, Instrumented &result) {
  SmallVector<GlobalVariable *> shared, dynamic;
  SmallVector<Constant *> all;
  for (GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == 3) {
      (global.isDeclaration() ? dynamic : shared).push_back(&global);
      all.push_back(&global);
    }
  if (all.empty())
    return;
  convertUsersOfConstantsToInstructions(all);
  auto place = [&](GlobalVariable *global, uint64_t offset) {
    SmallVector<Use *> uses;
    for (Use &use : global->uses())
      uses.push_back(&use);
    for (Use *use : uses) {
      auto *user = cast<Instruction>(use->getUser());
      if (auto *phi = dyn_cast<PHINode>(user))
        user = phi->getIncomingBlock(*use)->getTerminator();
      HookBuilder h(user, 0);
      Value *address =
          h.call("emuShared", h.b.getPtrTy(), {h.b.getInt64(offset)});
      use->set(h.b.CreateAddrSpaceCast(address, global->getType()));
    }
    global->eraseFromParent();
  };
  uint64_t offset = 0;
  for (GlobalVariable *global : shared) {
    uint64_t align =
        std::max<uint64_t>(16, global->getAlign().valueOrOne().value());
    offset = alignTo(offset, align);
    uint64_t bytes =
        module.getDataLayout().getTypeAllocSize(global->getValueType());
    place(global, offset);
    offset += bytes;
  }
  offset = alignTo(offset, 128);
  for (GlobalVariable *global : dynamic)
    place(global, offset);
  result.hasDynamic = !dynamic.empty();
  result.sharedBytes = offset;
}

namespace {
/// What is known of a module's code before anything in it is replaced.
struct Known {
  std::set<BranchInst *> branches; // on what other threads do
  std::map<const Instruction *, Place> places;
  Behind behind;
  std::vector<Call> calls;
  std::set<const Function *> neverNull;
};
} // namespace

/// Branches on the plan's tables tell which way they go.
static void lowerGuards(Function &function, ModuleSlotTracker &slots,
                        Known &known) {
  std::vector<Guard> guards;
  std::vector<Break> breaks;
  findGuards(function, guards, breaks);
  auto tell = [&](BranchInst *branch, Value *condition) {
    uint32_t site = makeSite(*branch, slots);
    HookBuilder h(branch, site);
    h.call("emuGuard", h.b.getVoidTy(),
           {h.b.CreateZExt(condition, h.b.getInt32Ty()), h.i32(site)});
    return site;
  };
  std::vector<GuardedBy> ends;
  for (const Break &end : breaks)
    ends.push_back({tell(end.branch, end.branch->getCondition()), end.isTaken,
                    Asked::Break});
  std::map<std::pair<BranchInst *, Value *>, uint32_t> sites;
  std::set<std::vector<GuardedBy> *> lists;
  for (const Guard &guard : guards) {
    uint32_t &site = sites[{guard.branch, guard.condition}];
    if (!site)
      site = tell(guard.branch, guard.condition);
    GuardedBy by{site, guard.isTaken, guard.asked};
    lists.insert(&known.places[guard.branch].asks);
    known.places[guard.branch].asks.push_back(by);
    for (const BasicBlock *block : guard.behind) {
      lists.insert(&known.behind[block]);
      known.behind[block].push_back(by);
    }
  }
  for (std::vector<GuardedBy> *list : lists)
    list->insert(list->end(), ends.begin(), ends.end());
}

/// Replaces what a function does otherwise than on a GPU, and lists its places.
static std::string onFunction(Function &function, Known &known,
                              ModuleSlotTracker &slots, Instrumented &result) {
  slots.incorporateFunction(function);
  lowerGuards(function, slots, known);
  addCalls(function, known.behind, known.calls);
  SmallVector<std::pair<Instruction *, const BasicBlock *>> list;
  for (Instruction &inst : instructions(function)) {
    auto *branch = dyn_cast<BranchInst>(&inst);
    auto it = known.places.find(&inst);
    if (it == known.places.end() || (branch && !known.branches.count(branch)))
      continue;
    it->second.yes = waysToYes(inst, known.behind, known.neverNull);
    list.emplace_back(&inst, inst.getParent());
  }
  for (auto &[inst, parent] : list) {
    const Place &place = known.places.at(inst);
    size_t before = result.places.size();
    if (std::string error = onInstruction(*inst, slots); !error.empty())
      return "function '" + function.getName().str() + "': " + error;
    for (size_t i = before; i < result.places.size(); ++i) {
      Place &made = result.places[i];
      Place described = place;
      described.site = made.site;
      described.kind = made.kind;
      described.order = made.order;
      described.scope = made.scope;
      described.bytes = made.bytes;
      described.guards = known.behind[parent];
      described.function = siteOf(made.site).function;
      described.text = siteOf(made.site).text;
      made = std::move(described);
    }
  }
  return "";
}

std::string instrument(llvm::Module &module, Instrumented &result) {
  for (const char *name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *used = module.getNamedGlobal(name))
      used->eraseFromParent();
  placeShared(module, result);
  ModuleSlotTracker slots(&module);
  Known known;
  for (BranchInst *branch : findBranches(module))
    known.branches.insert(branch);
  known.places = describePlaces(module);
  for (const Function &function : module)
    if (!function.isDeclaration() && isNeverNull(function))
      known.neverNull.insert(&function);
  markPaths(module);
  SmallVector<Function *> kernels;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (function.getCallingConv() == CallingConv::PTX_Kernel)
      kernels.push_back(&function);
    HookBuilder::places = &result.places;
    std::string error = onFunction(function, known, slots, result);
    HookBuilder::places = nullptr;
    if (!error.empty())
      return error;
  }
  for (Place &place : result.places)
    if (const Function *function = module.getFunction(place.function);
        function && !place.isInKernel)
      place.calls = callsOf(function, known.calls);
  for (Function *kernel : kernels)
    makeEntry(*kernel, result);
  for (Function &function : module)
    if (!function.isIntrinsic())
      clearAttributes(function);
  nameGlobals(module, result);
  std::string broken;
  raw_string_ostream stream(broken);
  if (verifyModule(module, &stream))
    return "the instrumented module is broken: " + broken;
  return "";
}

} // namespace coll::emu
