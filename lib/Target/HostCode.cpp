//===- HostCode.cpp - Kernel IR to machine code ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One LLVM module holds all instruction sets of a family: each function carries
// its own target-cpu, so one run of the code generator makes one object, and
// the runtime picks an entry by CPUID. Floating-point contraction stays off: no
// instruction set may give other bits.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/HostCode.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace coll;

HostArch coll::nativeArch() {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  return triple.isAArch64() ? HostArch::AArch64 : HostArch::X86_64;
}

/// A quarter of code generation, and the loops come out the same: each has one
/// index already. LLVM offers no other way to leave the pass out.
static void leaveOutStrengthReduction() {
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("disable-lsr");
  if (found != options.end())
    static_cast<llvm::cl::opt<bool> *>(found->second)->setValue(true);
}

static void initializeTargets() {
  static bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    leaveOutStrengthReduction();
    return true;
  }();
  (void)once;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
coll::createHostMachine(HostArch arch) {
  initializeTargets();
  llvm::Triple triple(arch == HostArch::X86_64 ? "x86_64-unknown-linux-gnu"
                                               : "aarch64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  llvm::StringRef cpu = arch == HostArch::X86_64 ? "x86-64-v2" : "generic";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, "", options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

static llvm::StringRef cpuOf(llvm::StringRef isa) {
  return llvm::StringSwitch<llvm::StringRef>(isa)
      .Case("v3", "x86-64-v3")
      .Case("v4", "x86-64-v4")
      .Case("aarch64", "generic")
      .Default("x86-64-v2");
}

/// Attributes that survive to LLVM IR. `no-builtins` keeps copy loops from
/// becoming calls of memcpy.
static void setFunctionAttributes(mlir::ModuleOp kernels, bool isDevice) {
  mlir::Builder b(kernels.getContext());
  kernels.walk([&](mlir::func::FuncOp fn) {
    if (fn.isExternal())
      return;
    auto isa = fn->getAttrOfType<mlir::StringAttr>("coll.isa");
    fn->removeAttr("coll.isa");
    auto cpu = b.getStrArrayAttr(
        {"target-cpu", isa ? cpuOf(isa.getValue()) : llvm::StringRef()});
    llvm::SmallVector<mlir::Attribute> attributes{
        b.getStringAttr("no-builtins"), b.getStringAttr("nounwind")};
    // Barriers must not be moved into branches, also through calls.
    if (isDevice)
      attributes.push_back(b.getStringAttr("convergent"));
    else if (isa)
      attributes.push_back(cpu);
    // Processors of 64 bits that do not know prefetchw take it for a nop.
    if (!isDevice && isa && isa.getValue() != "aarch64")
      attributes.push_back(b.getStrArrayAttr({"target-features", "+prfchw"}));
    fn->setAttr("passthrough", b.getArrayAttr(attributes));
  });
}

static mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp kernels) {
  mlir::PassManager pm(kernels.getContext());
  pm.enableVerifier(false);
  pm.addPass(mlir::createSCFToControlFlowPass());
  pm.addPass(mlir::createConvertVectorToLLVMPass());
  pm.addPass(mlir::createConvertMathToLLVMPass());
  pm.addPass(mlir::createArithToLLVMConversionPass());
  pm.addPass(mlir::createConvertFuncToLLVMPass());
  pm.addPass(mlir::createConvertControlFlowToLLVMPass());
  pm.addPass(mlir::createReconcileUnrealizedCastsPass());
  return pm.run(kernels);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
coll::translateKernels(mlir::ModuleOp kernels, llvm::LLVMContext &context,
                       llvm::TargetMachine &machine) {
  bool isDevice = machine.getTargetTriple().isNVPTX();
  setFunctionAttributes(kernels, isDevice);
  if (failed(lowerToLLVMDialect(kernels)))
    return llvm::createStringError(
        "internal error: kernel IR does not lower to the LLVM dialect");
  mlir::registerBuiltinDialectTranslation(*kernels.getContext());
  mlir::registerLLVMDialectTranslation(*kernels.getContext());
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(kernels, context, "coll-kernels");
  if (!module)
    return llvm::createStringError(
        "internal error: kernel IR does not translate to LLVM IR");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  if (!isDevice)
    module->setPICLevel(llvm::PICLevel::BigPIC);
  return module;
}

/// What these kernels need of an optimizer, and no more: inline the small
/// functions, fold, hoist out of the inner loops. A fifth of O2's time, for the
/// same inner loops.
static constexpr const char *kPipeline =
    "function(simplifycfg,early-cse),cgscc(inline,function(early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-simplifycfg,licm),instcombine<no-verify-fixpoint>,"
    "simplifycfg)),globaldce";

void coll::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopUnrolling =
      tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, kPipeline));
  passes.run(module, mam);
}

llvm::Error coll::emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                           bool assembly, llvm::raw_pwrite_stream &os) {
  llvm::legacy::PassManager pm;
  auto type = assembly ? llvm::CodeGenFileType::AssemblyFile
                       : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(pm, os, nullptr, type,
                                  /*DisableVerify=*/true))
    return llvm::createStringError(
        "internal error: the target cannot emit this kind of file");
  pm.run(module);
  return llvm::Error::success();
}
