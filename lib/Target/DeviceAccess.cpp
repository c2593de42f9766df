//===- DeviceAccess.cpp - How device code accesses shared words -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each access must be one that the memory-order table of docs/Cuda.md has for
// the word that it comes to (DeviceWords.h), and each address must be known: an
// access that cannot be judged is refused.
//
// In kernels for packets or lines a cell of shared memory may hold, in turn,
// the address of memory and of packets, or lines. As built, each step is a
// function of its own: there a port is either, or its step's words say which,
// and then a weak access must stand behind the tag that says memory. Behind the
// optimizer steps are one function, so of those accesses nothing more is asked
// then.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Cuda.h"
#include "lib/Target/DeviceFlow.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace coll;

namespace {
/// An access, as the rules look at it.
struct WordUse {
  const Instruction *instruction = nullptr;
  const llvm::Value *pointer = nullptr;
  bool isStore = false, isExchange = false, isVolatile = false;
  AtomicOrdering order = AtomicOrdering::NotAtomic;
  StringRef scope; // "" is the system
  uint64_t bytes = 0;
  bool isWeak() const {
    return order == AtomicOrdering::NotAtomic && !isVolatile;
  }
  /// A load acquire, a store release.
  bool isOrdered() const {
    return !isExchange && order == (isStore ? AtomicOrdering::Release
                                            : AtomicOrdering::Acquire);
  }
  bool isRelaxed() const {
    return !isExchange && order == AtomicOrdering::Monotonic;
  }
};

class AccessCheck {
public:
  AccessCheck(const Module &module, const SharedCells &cells, bool isBuilt)
      : module(module), flow(module, cells), isBuilt(isBuilt) {
    module.getContext().getSyncScopeNames(scopes);
  }
  Error run();

private:
  std::optional<WordUse> useOf(const Instruction &instruction) const;
  std::string wrongWith(const WordUse &use);
  bool isAllowed(const WordUse &use, const Address &address,
                 const SharedWord *word);
  bool isBehindTag(const WordUse &use);
  const DominatorTree &treeOf(const WordUse &use);
  bool isInLoop(const WordUse &use);
  std::string describe(const WordUse &use, const SharedWord *word,
                       const Address &address) const;

  const Module &module;
  DeviceFlow flow;
  const bool isBuilt; // not optimized yet
  SmallVector<StringRef> scopes;
  std::map<const llvm::Function *, std::unique_ptr<DominatorTree>> trees;
};
} // namespace

std::optional<WordUse>
AccessCheck::useOf(const Instruction &instruction) const {
  WordUse use;
  use.instruction = &instruction;
  const DataLayout &layout = module.getDataLayout();
  if (const auto *load = dyn_cast<LoadInst>(&instruction)) {
    use.pointer = load->getPointerOperand();
    use.isVolatile = load->isVolatile();
    use.order = load->getOrdering();
    use.scope = scopes[load->getSyncScopeID()];
    use.bytes = layout.getTypeStoreSize(load->getType());
    return use;
  }
  if (const auto *store = dyn_cast<StoreInst>(&instruction)) {
    use.pointer = store->getPointerOperand();
    use.isStore = true;
    use.isVolatile = store->isVolatile();
    use.order = store->getOrdering();
    use.scope = scopes[store->getSyncScopeID()];
    use.bytes = layout.getTypeStoreSize(store->getValueOperand()->getType());
    return use;
  }
  if (const auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    use.pointer = exchange->getPointerOperand();
    use.isExchange = true;
    use.order = exchange->getSuccessOrdering();
    use.scope = scopes[exchange->getSyncScopeID()];
    use.bytes =
        layout.getTypeStoreSize(exchange->getNewValOperand()->getType());
    return use;
  }
  const auto *call = dyn_cast<CallBase>(&instruction);
  if (call && call->isInlineAsm() && call->arg_size() > 0) {
    use.pointer = call->getArgOperand(0); // multimem: weak
    use.isStore = call->getType()->isVoidTy();
    return use;
  }
  if (call && call->getCalledFunction() &&
      isPartAccess(*call->getCalledFunction())) {
    use.pointer = call->getArgOperand(0);
    use.isStore = call->getType()->isVoidTy();
    return use;
  }
  if (const auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
    use.pointer = memory->getDest();
    use.isStore = true;
    return use;
  }
  return std::nullopt;
}

static bool isAllowedWord(const WordUse &use, const SharedWord &word) {
  const bool isSystem = use.scope.empty(), isDevice = use.scope == "device";
  if (use.bytes != word.bytes)
    return false;
  switch (word.access) {
  case Access::Constant:
    return use.isWeak() && !use.isStore;
  case Access::Weak:
    return use.isWeak();
  case Access::Flag:
    return isSystem && use.isOrdered();
  case Access::Posted:
    return isSystem && (use.isOrdered() || (use.isRelaxed() && !use.isStore));
  case Access::Progress:
    return (isSystem || isDevice) && use.isOrdered();
  case Access::Entered:
    return isDevice &&
           (use.isExchange ? use.order == AtomicOrdering::AcquireRelease
                           : use.isStore && use.isOrdered());
  case Access::Report:
    return isSystem && use.isStore && use.isRelaxed();
  case Access::Abort:
    return isSystem && !use.isStore && use.isRelaxed();
  default:
    return false;
  }
}

/// Steps are in the kernels themselves then.
static bool isOfSteps(const WordUse &use) {
  return use.instruction->getFunction()->getCallingConv() ==
         CallingConv::PTX_Kernel;
}

/// Where the address is of no structure's word.
bool AccessCheck::isAllowed(const WordUse &use, const Address &address,
                            const SharedWord *word) {
  const bool isPacket = use.bytes == 8 && use.scope.empty() &&
                        (use.isOrdered() || use.isRelaxed());
  const bool isOfLine = use.isVolatile && use.bytes == 16;
  switch (address.region) {
  case Region::Words:
  case Region::Displacements:
    return use.isWeak() && !use.isStore;
  case Region::Payload:
  case Region::Rows:
  case Region::Stack:
    return use.isWeak();
  case Region::Packets:
    return isPacket;
  case Region::Lines: // the flag alone, or a lane's part
    return isOfLine || (isPacket && (!use.isStore || use.isOrdered()));
  case Region::Either:
    return isPacket || isOfLine ||
           (use.isWeak() && (isBuilt ? isBehindTag(use) : isOfSteps(use)));
  case Region::Cells:
    return use.isWeak() || use.scope == "block";
  case Region::Flag:
    return use.scope.empty() && use.bytes == 8 && use.isOrdered();
  default:
    if (!word || !isAllowedWord(use, *word))
      return false;
    return word->access != Access::Posted || use.isOrdered() || !isInLoop(use);
  }
}

const DominatorTree &AccessCheck::treeOf(const WordUse &use) {
  const llvm::Function *function = use.instruction->getFunction();
  std::unique_ptr<DominatorTree> &tree = trees[function];
  if (!tree)
    tree = std::make_unique<DominatorTree>(
        const_cast<llvm::Function &>(*function));
  return *tree;
}

/// Who polls acquires; only who looks again need not.
bool AccessCheck::isInLoop(const WordUse &use) {
  LoopInfo loops(treeOf(use));
  return loops.getLoopFor(use.instruction->getParent());
}

/// The load from shared memory that an address is computed from; else null.
static const LoadInst *cellLoadOf(const llvm::Value *pointer) {
  while (true) {
    if (const auto *gep = dyn_cast<GEPOperator>(pointer))
      pointer = gep->getPointerOperand();
    else if (const auto *cast = dyn_cast<CastInst>(pointer))
      pointer = cast->getOperand(0);
    else
      return dyn_cast<LoadInst>(pointer);
  }
}

/// Whether the access is reached only where the tag beside the port's pointer
/// is 0, which stands for memory.
bool AccessCheck::isBehindTag(const WordUse &use) {
  const LoadInst *pointer = cellLoadOf(use.pointer);
  if (!pointer)
    return false;
  const BasicBlock *block = use.instruction->getParent();
  const DominatorTree &tree = treeOf(use);
  Address cell = flow.addressOf(pointer->getPointerOperand());
  for (const auto *node = tree.getNode(block); node; node = node->getIDom()) {
    const auto *branch =
        dyn_cast<BranchInst>(node->getBlock()->getTerminator());
    if (!branch || !branch->isConditional())
      continue;
    const auto *compare = dyn_cast<ICmpInst>(branch->getCondition());
    if (!compare || !compare->isEquality())
      continue;
    const auto *zero = dyn_cast<ConstantInt>(compare->getOperand(1));
    const auto *tag = dyn_cast<LoadInst>(compare->getOperand(0));
    if (!zero || !zero->isZero() || !tag)
      continue;
    Address of = flow.addressOf(tag->getPointerOperand());
    BasicBlockEdge edge(
        node->getBlock(),
        branch->getSuccessor(compare->getPredicate() == CmpInst::ICMP_NE));
    if (flow.isTag(of) && of.offset - cell.offset == flow.tagDistance() &&
        tree.dominates(edge, block))
      return true;
  }
  return false;
}

std::string AccessCheck::describe(const WordUse &use, const SharedWord *word,
                                  const Address &address) const {
  std::string text = use.isWeak()     ? "a weak "
                     : use.isVolatile ? "a volatile "
                                      : "a strong ";
  text += use.isExchange ? "exchange" : use.isStore ? "store" : "load";
  if (!use.isWeak() && !use.isVolatile)
    text += (" (" + Twine(toIRString(use.order)) +
             (use.scope.empty() ? "" : ", " + use.scope) + ")")
                .str();
  text += " of ";
  switch (address.region) {
  case Region::Flag:
    return text + "a flag word";
  case Region::Packets:
    return text + "packets";
  case Region::Lines:
    return text + "lines";
  case Region::Either:
    return text + "what may be packets";
  case Region::Payload:
    return text + "payload";
  case Region::Cells:
  case Region::Rows:
    return text + "shared memory";
  default:
    return text + (word ? word->name : "what no address is known of");
  }
}

std::string AccessCheck::wrongWith(const WordUse &use) {
  Address address = flow.addressOf(use.pointer);
  const SharedWord *word = flow.wordAt(address);
  return isAllowed(use, address, word) ? "" : describe(use, word, address);
}

Error AccessCheck::run() {
  for (const llvm::Function &function : module)
    for (const Instruction &instruction : instructions(function))
      if (!flow.isReached(function))
        break;
      else if (std::optional<WordUse> use = useOf(instruction))
        if (std::string wrong = wrongWith(*use); !wrong.empty()) {
          std::string text;
          raw_string_ostream(text) << instruction;
          return createStringError("internal error: '" + function.getName() +
                                   "' has " + wrong + ":" + text);
        }
  return Error::success();
}

Error coll::checkDeviceAccesses(const Module &module, const SharedCells &cells,
                                bool isBuilt) {
  return AccessCheck(module, cells, isBuilt).run();
}
