//===- Places.cpp - What can be said of places for faults -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the code as the backend gets it, by which some faults are known
// to change nothing (whyEquivalent).
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "coll/abi.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
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
    CmpPredicate predicate;
    if (!branch || call->getCalledFunction() != load.getFunction() ||
        !branch->isConditional() ||
        !PatternMatch::match(
            branch->getCondition(),
            PatternMatch::m_ICmp(predicate, PatternMatch::m_Specific(call),
                                 PatternMatch::m_Zero())))
      return false;
    // The other way is that of a wait that was given up.
    const BasicBlock *goesOn =
        branch->getSuccessor(predicate == CmpInst::ICMP_EQ ? 0 : 1);
    const Value *word = call->getArgOperand(argument->getArgNo());
    const LoadInst *again = nullptr;
    for (const Instruction &inst : *goesOn)
      again = again ? again : dyn_cast<LoadInst>(&inst);
    if (!ICmpInst::isEquality(predicate) || !again ||
        again->getPointerOperand() != word ||
        !isAcquireOrStronger(again->getOrdering()))
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

/// Of a relaxed load: whether it is another look at coll_credit_line.rtr of an
/// end that the function is given, before that is used to send.
static bool looksAtRtr(const LoadInst &load) {
  const DataLayout &layout = load.getDataLayout();
  auto take = [&](const Value *pointer, uint64_t wanted) {
    APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    const Value *base =
        pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    return offset == wanted ? base : nullptr;
  };
  if (load.getOrdering() != AtomicOrdering::Monotonic)
    return false;
  auto *line = dyn_cast_or_null<LoadInst>(
      take(load.getPointerOperand(), offsetof(coll_credit_line, rtr)));
  const Value *end =
      line ? take(line->getPointerOperand(), offsetof(coll_end, credit))
           : nullptr;
  return end && isa<Argument>(end) &&
         none_of(instructions(load.getFunction()), isRelease);
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
    unsigned found = 0, others = 0;
    for (const PHINode &phi : next->phis()) {
      const Value *usual = phi.getIncomingValueForBlock(branch.getParent()),
                  *waited = phi.getIncomingValueForBlock(waits);
      auto *load = dyn_cast<LoadInst>(usual);
      if (load && waited == call &&
          is_contained(call->args(), load->getPointerOperand()))
        ++found;
      else
        others += waited != usual;
    }
    if (found && !others)
      return way == 0 ? FaultKind::Always : FaultKind::Never;
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

/// Of coll_device_signal.
static bool isOfSignals(const Value *pointer, const DataLayout &layout) {
  auto *base = dyn_cast<LoadInst>(getUnderlyingObject(pointer));
  if (!base)
    return false;
  APInt offset(layout.getIndexTypeSizeInBits(base->getPointerOperandType()), 0);
  base->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset,
                                                               true);
  return offset == offsetof(coll_inst, signals);
}

/// Words and arguments are loaded from generic pointers, and nobody writes them
/// in a launch. Thread 0 writes coll_device_signal.rounds at the end, as plain.
static bool isOfTables(const LoadInst &load, bool isEnd) {
  return !load.isAtomic() && load.getPointerAddressSpace() == 0 &&
         !(isEnd &&
           isOfSignals(load.getPointerOperand(), load.getDataLayout()));
}

namespace {
/// Looks from a barrier for the next ones, one way or the other.
class BarrierWalk {
public:
  BarrierWalk(const DominatorTree &dominators, bool isForward)
      : dominators(dominators), isForward(isForward) {}
  /// Whether only thread 0 touches what is written in a launch, up to the next
  /// barrier on every way, or to the kernel's end.
  bool go(const Instruction &barrier, bool isEnd);
  bool writesRounds = false; // thread 0, on the way

private:
  template <typename Iterator>
  bool walk(const BasicBlock &block, Iterator at, Iterator end);
  const DominatorTree &dominators;
  const bool isForward;
  bool isAtEnd = false;
  SmallVector<const BasicBlock *> list;
};
} // namespace

/// A vote of the block in which all say no.
static bool isAgreed(const Value *vote) {
  auto *call = dyn_cast<IntrinsicInst>(vote);
  return call &&
         call->getCalledFunction()->getName().contains(".barrier.cta.red.or") &&
         match(call->getArgOperand(call->arg_size() - 1),
               PatternMatch::m_Zero());
}

template <typename Iterator>
bool BarrierWalk::walk(const BasicBlock &block, Iterator at, Iterator end) {
  const bool isAlone = isOfFirstThread(block, dominators);
  for (; at != end; ++at) {
    if (isBarrier(*at))
      return true;
    auto *load = dyn_cast<LoadInst>(&*at);
    if (!isAlone && (mayWrite(*at) || (load && !isOfTables(*load, isAtEnd))))
      return false;
    auto *store = dyn_cast<StoreInst>(&*at);
    writesRounds |=
        store && store->isSimple() &&
        isOfSignals(store->getPointerOperand(), store->getDataLayout());
  }
  auto *branch = dyn_cast<BranchInst>(block.getTerminator());
  if (isForward && branch && branch->isConditional() &&
      isAgreed(branch->getCondition()))
    list.push_back(branch->getSuccessor(1)); // nobody says yes
  else if (isForward)
    append_range(list, successors(&block));
  else
    append_range(list, predecessors(&block));
  return isForward || !pred_empty(&block); // else the kernel's begin
}

bool BarrierWalk::go(const Instruction &barrier, bool isEnd) {
  isAtEnd = isEnd;
  SmallPtrSet<const BasicBlock *, 16> seen;
  const BasicBlock &own = *barrier.getParent();
  bool isGood =
      isForward
          ? walk(own, std::next(barrier.getIterator()), own.end())
          : walk(own, std::next(barrier.getReverseIterator()), own.rend());
  while (isGood && !list.empty()) {
    const BasicBlock *block = list.pop_back_val();
    if (seen.insert(block).second)
      isGood = isForward ? walk(*block, block->begin(), block->end())
                         : walk(*block, block->rbegin(), block->rend());
  }
  return isGood;
}

/// Whether a barrier orders nothing: there is another one on every way to it,
/// and on from it, and between these thread 0 is alone.
static bool isAmongBarriers(const Instruction &barrier,
                            const DominatorTree &dominators) {
  BarrierWalk on(dominators, /*isForward=*/true);
  return on.go(barrier, false) && BarrierWalk(dominators, /*isForward=*/false)
                                      .go(barrier, on.writesRounds);
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

void addCalls(const Function &function, const Behind &behind,
              std::vector<Call> &calls) {
  for (const Instruction &inst : instructions(function)) {
    auto *call = dyn_cast<CallInst>(&inst);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || callee->isDeclaration())
      continue;
    auto it = behind.find(inst.getParent());
    calls.push_back(
        {&function, callee,
         it == behind.end() ? std::vector<GuardedBy>() : it->second});
  }
}

std::vector<CalledBy> callsOf(const Function *function,
                              const std::vector<Call> &calls) {
  std::vector<CalledBy> result;
  SmallVector<const Function *> list{function};
  SmallPtrSet<const Function *, 16> seen{function};
  for (size_t i = 0; i < list.size(); ++i)
    for (const Call &call : calls)
      if (call.callee != list[i])
        continue;
      else if (call.caller->getCallingConv() == CallingConv::PTX_Kernel)
        result.push_back({call.caller->getName().str(), call.guards});
      else if (seen.insert(call.caller).second)
        list.push_back(call.caller);
  return result;
}

/// Whether a function returns an address within what a word of memory points
/// to, on all its ways: it has none by which to say that it has failed.
bool isNeverNull(const Function &function) {
  bool isFound = false;
  for (const BasicBlock &block : function)
    if (auto *end = dyn_cast<ReturnInst>(block.getTerminator())) {
      auto *address = end->getReturnValue();
      isFound = true;
      if (!address || !isa<GetElementPtrInst>(address) ||
          !isa<LoadInst>(getUnderlyingObject(address)))
        return false;
    }
  return isFound;
}

/// Whether a block is left towards another only where a call has returned null
/// that never does.
static bool isOnFailure(const BasicBlock *from, const BasicBlock *to,
                        const std::set<const Function *> &neverNull) {
  using namespace PatternMatch;
  auto *branch = dyn_cast<BranchInst>(from->getTerminator());
  CmpPredicate predicate;
  Value *value = nullptr;
  if (!branch || !branch->isConditional() ||
      !match(branch->getCondition(),
             m_ICmp(predicate, m_Value(value), m_Zero())) ||
      !ICmpInst::isEquality(predicate))
    return false;
  auto *call = dyn_cast<CallInst>(value);
  unsigned null = predicate == CmpInst::ICMP_EQ ? 0 : 1;
  return call && neverNull.count(call->getCalledFunction()) &&
         branch->getSuccessor(null) == to &&
         branch->getSuccessor(1 - null) != to;
}

std::vector<std::vector<GuardedBy>>
waysToYes(const Instruction &inst, const Behind &behind,
          const std::set<const Function *> &neverNull) {
  auto *branch = dyn_cast<BranchInst>(&inst);
  const Value *value = branch && branch->isConditional()
                           ? branch->getCondition()
                           : static_cast<const Value *>(&inst);
  auto *call = dyn_cast<IntrinsicInst>(value);
  std::vector<std::vector<GuardedBy>> ways;
  if (!call ||
      !call->getCalledFunction()->getName().contains(".barrier.cta.red.or")) {
    ways.emplace_back(); // no vote: nothing is known of it
    return ways;
  }
  const Value *own = call->getArgOperand(call->arg_size() - 1);
  auto *phi = dyn_cast<PHINode>(own);
  if (!phi && !match(own, PatternMatch::m_Zero()))
    ways.emplace_back();
  for (unsigned i = 0; phi && i < phi->getNumIncomingValues(); ++i) {
    const BasicBlock *from = phi->getIncomingBlock(i);
    if (match(phi->getIncomingValue(i), PatternMatch::m_Zero()) ||
        isOnFailure(from, phi->getParent(), neverNull))
      continue;
    auto it = behind.find(from);
    ways.push_back(it == behind.end() ? std::vector<GuardedBy>() : it->second);
  }
  return ways;
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
      if (isBarrier(inst))
        place.isAmongBarriers = isAmongBarriers(inst, dominators);
      if (auto *call = dyn_cast<IntrinsicInst>(&inst);
          call && call->getCalledFunction()->getName().contains(".bar.warp."))
        place.isTogether = isTogether(inst, dominators, loops);
      if (auto *branch = dyn_cast<BranchInst>(&inst)) {
        place.asksAgain = asksAgain(*branch);
        place.goesOnBehind = goesOnBehind(*branch);
      }
      if (auto *store = dyn_cast<StoreInst>(&inst))
        place.isCleaning = isCleaning(*store, dominators);
      if (auto *load = dyn_cast<LoadInst>(&inst)) {
        place.isLoadedAgain = isLoadedAgain(*load);
        place.isReleasedBehind = isReleasedBehind(*load);
        place.looksAtRtr = looksAtRtr(*load);
      }
    }
  }
  return places;
}

} // namespace coll::emu
