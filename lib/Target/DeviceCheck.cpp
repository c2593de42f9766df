//===- DeviceCheck.cpp - What device code must not have -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's NVPTX backend keeps order and scope of atomic loads, stores, fences
// and compare-exchanges, and drops both, without a word, of other
// read-modify-writes. Loads through the non-coherent path do not see what a
// peer writes. So neither may be in device code; the optimizer might bring them
// in, so what is checked is the module that the backend gets, and the PTX that
// comes out.
//
// A volatile access is relaxed, which order of its own would say better. There
// is one use for it: a lane's 16 bytes of a line of 128
// (lib/Lowering/LineTileLoop.cpp). Other widths, and addresses that are not
// known to be global, are no lines.
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/Multimem.h"
#include "lib/Target/Cuda.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

/// The instructions that LLVM has no intrinsic for.
static bool isMultimem(const CallBase &call) {
  const auto *assembly = cast<InlineAsm>(call.getCalledOperand());
  return is_contained(coll::lowering::kMultimem, assembly->getAsmString());
}

/// A lane's part of a line.
static bool isOfLine(const Instruction &instruction) {
  auto fits = [](Type *type, Align align, unsigned space, bool isAtomic) {
    auto *vector = dyn_cast<FixedVectorType>(type);
    return vector && vector->getNumElements() == 2 &&
           vector->getElementType()->isIntegerTy(64) && align.value() == 16 &&
           space == 1 && !isAtomic;
  };
  if (const auto *load = dyn_cast<LoadInst>(&instruction))
    return fits(load->getType(), load->getAlign(),
                load->getPointerAddressSpace(), load->isAtomic());
  if (const auto *store = dyn_cast<StoreInst>(&instruction))
    return fits(store->getValueOperand()->getType(), store->getAlign(),
                store->getPointerAddressSpace(), store->isAtomic());
  return false;
}

/// What is wrong with one instruction; empty: nothing.
static StringRef wrongWith(const Instruction &instruction) {
  if (isa<AtomicRMWInst>(instruction))
    return "an atomicrmw, whose order and scope are lost";
  if (instruction.hasMetadata(LLVMContext::MD_invariant_load))
    return "an invariant load, which becomes non-coherent";
  if (instruction.isVolatile() && !isOfLine(instruction))
    return "a volatile access, which orders nothing";
  const auto *call = dyn_cast<CallBase>(&instruction);
  if (!call)
    return {};
  if (call->isInlineAsm())
    return isMultimem(*call) ? StringRef() : "inline assembly";
  const Function *callee = call->getCalledFunction();
  if (!callee || (callee->isDeclaration() && !callee->isIntrinsic()))
    return "a call of what is not in the module";
  return {};
}

/// `noalias readonly` pointers of kernels are loaded from non-coherently.
static bool isReadOnlyParameter(const Argument &argument) {
  return argument.getType()->isPointerTy() && !argument.hasByValAttr() &&
         argument.hasNoAliasAttr() && argument.onlyReadsMemory();
}

Error coll::checkDeviceModule(const Module &module) {
  auto fail = [](const llvm::Function &function, StringRef what) {
    return createStringError("internal error: '" + function.getName() +
                             "' has " + what);
  };
  for (const llvm::Function &function : module) {
    for (const Argument &argument : function.args())
      if (isReadOnlyParameter(argument))
        return fail(function, "a pointer that is loaded from non-coherently");
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block)
        if (StringRef what = wrongWith(instruction); !what.empty())
          return fail(function, what);
  }
  return Error::success();
}

Error coll::checkPtx(StringRef ptx) {
  // Compare-exchange is the one read-modify-write.
  static constexpr StringRef refused[] = {".nc.", "\tred."};
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  for (StringRef line : lines) {
    bool isAtomic = line.contains("\tatom.") && !line.contains(".cas.");
    bool isVolatile =
        line.contains(".volatile") && !line.contains(".volatile.global.v2.b64");
    if (isAtomic || isVolatile ||
        any_of(refused, [&](StringRef word) { return line.contains(word); }))
      return createStringError("internal error: PTX has '" + line.trim().str() +
                               "'");
  }
  return Error::success();
}
