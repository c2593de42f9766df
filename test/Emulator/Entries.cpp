//===- Entries.cpp - How the host gets at kernels and variables -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Instrument.h"

#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace coll::emu {

/// A kernel's entry takes its parameters as the driver gets them.
void makeEntry(Function &kernel, Instrumented &result) {
  LLVMContext &context = kernel.getContext();
  auto *pointer = PointerType::get(context, 0);
  InstrumentedKernel made;
  made.name = kernel.getName().str();
  made.entry = "emuEntry." + made.name;
  auto *entry = Function::Create(
      FunctionType::get(Type::getVoidTy(context), {pointer}, false),
      GlobalValue::ExternalLinkage, made.entry, kernel.getParent());
  IRBuilder<> b(BasicBlock::Create(context, "", entry));
  const DataLayout &layout = kernel.getDataLayout();
  SmallVector<Value *> operands;
  for (Argument &argument : kernel.args()) {
    Value *slot =
        b.CreateConstGEP1_64(pointer, entry->getArg(0), argument.getArgNo());
    Value *address = b.CreateLoad(pointer, slot);
    if (Type *byVal = argument.getParamByValType()) {
      made.paramBytes.push_back(layout.getTypeAllocSize(byVal));
      operands.push_back(b.CreateAddrSpaceCast(address, argument.getType()));
    } else {
      made.paramBytes.push_back(layout.getTypeAllocSize(argument.getType()));
      operands.push_back(b.CreateLoad(argument.getType(), address));
    }
  }
  b.CreateCall(&kernel, operands);
  b.CreateRetVoid();
  result.kernels.push_back(std::move(made));
}

/// What only the GPU's backend understands.
void clearAttributes(Function &function) {
  function.setCallingConv(CallingConv::C);
  function.setAttributes(AttributeList());
  for (Instruction &inst : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&inst))
      if (Function *callee = call->getCalledFunction();
          callee && !callee->isIntrinsic()) {
        call->setCallingConv(CallingConv::C);
        call->setAttributes(AttributeList());
      }
}

void nameGlobals(llvm::Module &module, Instrumented &result) {
  const DataLayout &layout = module.getDataLayout();
  for (GlobalVariable &global : module.globals()) {
    if (global.isDeclaration() || global.getName().starts_with("llvm."))
      continue;
    if (!global.hasName())
      global.setName("emuGlobal");
    global.setLinkage(GlobalValue::ExternalLinkage);
    global.setSection("");
    auto &list = global.isConstant() ? result.constants : result.globals;
    list.emplace_back(global.getName().str(),
                      layout.getTypeAllocSize(global.getValueType()));
  }
}

} // namespace coll::emu
