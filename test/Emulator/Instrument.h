//===- Instrument.h - From NVPTX's input to code of the host ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_INSTRUMENT_H
#define COLL_TEST_EMULATOR_INSTRUMENT_H

#include "Hooks.h"
#include "Memory.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <map>
#include <set>

namespace llvm {
class DominatorTree;
class LoopInfo;
class ModuleSlotTracker;
} // namespace llvm

namespace coll::emu {

struct InstrumentedKernel {
  std::string name, entry; // entry: void (void **params)
  std::vector<size_t> paramBytes;
};
struct Instrumented {
  std::vector<InstrumentedKernel> kernels;
  std::vector<std::pair<std::string, size_t>> globals; // name, bytes
  std::vector<std::pair<std::string, size_t>> constants;
  std::vector<Place> places;
  size_t sharedBytes = 0;  // of static shared memory
  bool hasDynamic = false; // dynamic shared memory begins behind it
};

/// Makes calls of hooks of what a GPU does otherwise than the host. An error
/// text, empty when all of the module is understood.
std::string instrument(llvm::Module &module, Instrumented &result);

/// Emits calls of hooks, before one instruction.
class HookBuilder {
public:
  HookBuilder(llvm::Instruction *before, uint32_t site)
      : b(before), site(site) {}

  llvm::IRBuilder<> b;
  uint32_t site;

  /// The list that places go to, while a module is instrumented.
  static thread_local std::vector<Place> *places;
  void addPlace(PlaceKind kind, Order order, Scope scope, unsigned bytes);

  llvm::CallInst *call(llvm::StringRef name, llvm::Type *result,
                       llvm::ArrayRef<llvm::Value *> operands);
  llvm::Value *i32(uint32_t value) { return b.getInt32(value); }
  llvm::Value *toHost(llvm::Value *pointer); // address space 0
  llvm::Value *toBits(llvm::Value *value);   // i64
  llvm::Value *fromBits(llvm::Value *bits, llvm::Type *type);
  static unsigned bytesOf(llvm::Type *type);

  void weak(llvm::Value *pointer, llvm::Value *bytes, uint32_t flags,
            uint32_t alignment);
  /// Vectors: element by element.
  llvm::Value *strongLoad(llvm::Value *pointer, llvm::Type *type, Order order,
                          Scope scope);
  void strongStore(llvm::Value *pointer, llvm::Value *value, Order order,
                   Scope scope);
  /// Two words of 64 bits, of a line (Lines.cpp).
  llvm::Value *loadLine(llvm::Value *pointer, llvm::Type *type);
  void storeLine(llvm::Value *pointer, llvm::Value *value);
  llvm::Value *modify(llvm::Value *pointer, llvm::Value *operand,
                      uint32_t operation, Order order, Scope scope);
  llvm::Value *swap(llvm::Value *pointer, llvm::Value *expected,
                    llvm::Value *value, Order order, Scope scope);
  void fence(Order order, Scope scope);
  void fenceAliases();
  llvm::Value *element(llvm::Value *pointer, uint64_t offset);
};

/// What can be said of instructions only before anything is replaced.
std::map<const llvm::Instruction *, Place> describePlaces(llvm::Module &module);

/// Of a strong store: whether it fills a slot, and is ordered against all other
/// accesses to the word (Cleaning.cpp).
bool isCleaning(const llvm::StoreInst &store,
                const llvm::DominatorTree &dominators);

/// A branch on the plan's tables alone, and what it leads to one way only
/// (Tables.cpp).
struct Guard {
  llvm::BranchInst *branch;
  llvm::Value *condition; // of the branch, or a term of it
  bool isTaken;
  Asked asked;
  std::set<const llvm::BasicBlock *> behind;
};
/// A way out of a loop, that only what goes wrong takes.
struct Break {
  llvm::BranchInst *branch;
  bool isTaken;
};
void findGuards(llvm::Function &function, std::vector<Guard> &guards,
                std::vector<Break> &breaks);

/// The branches that lead to a block one way only.
using Behind = std::map<const llvm::BasicBlock *, std::vector<GuardedBy>>;
struct Call {
  const llvm::Function *caller, *callee;
  std::vector<GuardedBy> guards;
};
void addCalls(const llvm::Function &function, const Behind &behind,
              std::vector<Call> &calls);
/// The calls of kernels that lead to a function.
std::vector<CalledBy> callsOf(const llvm::Function *function,
                              const std::vector<Call> &calls);

/// Whether a warp's lanes come to one of its barriers together, from another
/// barrier or a vote.
bool isTogether(const llvm::Instruction &barrier,
                const llvm::DominatorTree &dominators,
                const llvm::LoopInfo &loops);

/// Whether a function that returns a pointer never returns null.
bool isNeverNull(const llvm::Function &function);

/// Of a vote of the block, or a branch on it: where threads come from that say
/// yes, as the branches that lead there, but for those on which a function that
/// never returns null has done so. Of all else: from anywhere.
std::vector<std::vector<GuardedBy>>
waysToYes(const llvm::Instruction &inst, const Behind &behind,
          const std::set<const llvm::Function *> &neverNull);

/// Branches that depend on what other threads do (Branches.cpp).
std::vector<llvm::BranchInst *> findBranches(llvm::Module &module);
void lowerBranch(llvm::BranchInst *branch, uint32_t site);

/// Volatile accesses of 16 bytes, which eight lanes may make as one.
bool isLineAccess(const llvm::Instruction &inst);
/// Tells which way every thread goes, where the module has such accesses.
void markPaths(llvm::Module &module);

/// Of a module that is instrumented (Entries.cpp).
void makeEntry(llvm::Function &kernel, Instrumented &result);
void clearAttributes(llvm::Function &function);
void nameGlobals(llvm::Module &module, Instrumented &result);

/// Inline PTX: the instructions that this knows, by their meaning and not by
/// their text. Replaces the call. An error text for any other.
std::string lowerPtx(llvm::CallInst *call, uint32_t site);

/// One intrinsic of llvm.nvvm; replaces the call.
std::string lowerIntrinsic(llvm::CallInst *call, uint32_t site);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_INSTRUMENT_H
