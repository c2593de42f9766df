//===- CudaCode.cpp - Kernel IR to PTX ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of lib/Lowering take (args, block), as on a host. A device kernel
// is a wrapper around one: the arguments come by value, the block is blockIdx.
// Functions of steps are inlined into it. Thread 0's state machines stay
// functions: inlined at every port they took ptxas two to seven times as long.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Cuda.h"

#include "coll/abi.h"
#include "lib/Lowering/Multimem.h"
#include "lib/Lowering/StepWords.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace coll;
using namespace coll::lowering;

llvm::ArrayRef<unsigned> coll::knownChips() {
  static constexpr unsigned chips[] = {80, 86, 89, 90, 100, 120};
  return chips;
}

/// The oldest version that has the chip and all that is used.
static std::string ptxFeature(unsigned chip, bool hasMultimem) {
  unsigned version = chip >= 120 ? 87 : chip >= 100 ? 86 : chip >= 89 ? 81 : 78;
  return "+ptx" +
         std::to_string(std::max(version, hasMultimem ? kMultimemPtx : 0));
}

static bool hasMultimem(const llvm::Module &module) {
  for (const llvm::Function &fn : module)
    for (const llvm::Instruction &instruction : llvm::instructions(fn))
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          call && call->isInlineAsm())
        return true;
  return false;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createCudaMachine(unsigned chip, bool hasMultimem = false) {
  static bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, "sm_" + std::to_string(chip), ptxFeature(chip, hasMultimem),
      options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// The most sources and sinks of a step, which shared memory has cells for, and
/// where the sizes are.
static DeviceShape deviceShapeOf(const Plan &plan, uint32_t &paramBytes) {
  DeviceShape shape;
  size_t numSizes = 0, numBuffers = 0;
  for (const PlanRanks &ranks : plan.ranks) {
    numSizes = std::max(numSizes, ranks.programs->sizes.size());
    for (const ClassTable &table : ranks.tables)
      for (uint32_t step : table.steps) {
        const uint32_t *words = &table.words[step];
        shape.sources = std::max(shape.sources, words[kStepNumSources]);
        shape.sinks = std::max(shape.sinks, words[kStepNumSinks]);
      }
  }
  const ProgramSet &programs = plan.any();
  for (const Buffer &buffer : programs.members[0].buffers)
    numBuffers += buffer.kind != Buffer::Scalar;
  if (programs.map.threads)
    shape.threads =
        std::min<uint64_t>(programs.map.threads, kMostDeviceThreads);
  for (const StepShape &step : plan.shapes.all())
    shape.rowCells = std::max(
        shape.rowCells, rowCells(step, programs.functions, shape.threads));
  uint64_t head = sizeof(coll_args) + numBuffers * sizeof(coll_buf);
  uint64_t all = head + numSizes * sizeof(coll_size);
  bool fits = all <= COLL_MAX_PARAM_BYTES;
  shape.sizesOffset = fits ? head : 0;
  paramBytes = fits ? all : head;
  return shape;
}

static llvm::Error checkShape(const Plan &plan, const DeviceShape &shape) {
  constexpr unsigned mostPorts = 3000; // of 48 KiB of static shared memory
  if (shape.sources + shape.sinks > mostPorts)
    return llvm::createStringError(
        "'" + plan.name + "' has a step with " +
        std::to_string(shape.sources + shape.sinks) +
        " sources and sinks, a device kernel has at most " +
        std::to_string(mostPorts));
  const uint64_t asked = plan.any().map.threads;
  if (asked % 32 != 0 || asked > 1024)
    return llvm::createStringError(
        "'" + plan.name + "' asks for " + std::to_string(asked) +
        " threads a block; a device has multiples of 32 up to 1024");
  return llvm::Error::success();
}

/// `__global__ void symbol(const __grid_constant__ coll_args)` around `symbol`.
static void wrap(llvm::Module &module, llvm::StringRef symbol,
                 unsigned paramBytes, unsigned threads) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Function *body = module.getFunction(symbol);
  body->setName(symbol + "_body");
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto *kernel = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalLinkage, symbol, module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->addFnAttr(llvm::Attribute::Convergent);
  kernel->addFnAttr(llvm::Attribute::NoUnwind);
  kernel->addFnAttr("nvvm.reqntid", std::to_string(threads));
  // One block on a multiprocessor is enough. Unless told, ptxas spills to make
  // room for a second.
  kernel->addFnAttr("nvvm.minctasm", "1");
  kernel->addFnAttr("no-builtins");
  auto *bytes =
      llvm::ArrayType::get(llvm::Type::getInt8Ty(context), paramBytes);
  kernel->addParamAttr(0, llvm::Attribute::getWithByValType(context, bytes));
  kernel->addParamAttr(
      0, llvm::Attribute::getWithAlignment(context, llvm::Align(16)));
  kernel->addParamAttr(0, llvm::Attribute::get(context, "nvvm.grid_constant"));
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", kernel));
  llvm::Value *block =
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  b.CreateCall(body, {kernel->getArg(0), block});
  b.CreateRetVoid();
}

static void setInlining(llvm::Module &module) {
  for (llvm::Function &fn : module) {
    if (fn.isDeclaration() || !fn.hasInternalLinkage())
      continue;
    bool isShared = fn.getName().starts_with("coll_");
    fn.addFnAttr(isShared ? llvm::Attribute::NoInline
                          : llvm::Attribute::AlwaysInline);
  }
}

/// Whether small messages may be packets: their loops know neither rows nor
/// blocks of one scale.
static bool mayHavePackets(const Plan &plan) {
  return !plan.any().map.byRow && !hasBlocks(plan.shapes);
}

/// Whether there are kernels for messages of lines: where `protocol ll128` asks
/// for them, and what is sent is of the launch's type.
static bool hasLines(const Plan &plan) {
  return plan.any().map.protocol == "ll128" && mayHavePackets(plan) &&
         llvm::all_of(plan.ranks, [](const PlanRanks &ranks) {
           return fitsLines(*ranks.programs);
         });
}

static uint32_t protocolOf(Protocol protocol) {
  return protocol == Protocol::Packets ? COLL_PROTOCOL_LL
         : protocol == Protocol::Lines ? COLL_PROTOCOL_LL128
                                       : COLL_PROTOCOL_SIMPLE;
}

llvm::Expected<BuiltDevice>
coll::buildDevice(mlir::MLIRContext *mlirContext, llvm::LLVMContext &context,
                  const Plan &plan, const HostOptions &options, unsigned chip) {
  auto machine = createCudaMachine(chip);
  if (!machine)
    return machine.takeError();
  uint32_t paramBytes = 0;
  DeviceShape shape = deviceShapeOf(plan, paramBytes);
  shape.chip = chip;
  shape.packetBits = mayHavePackets(plan) ? options.packetBits : 0;
  shape.hasLines = hasLines(plan);
  if (llvm::Error error = checkShape(plan, shape))
    return error;
  HostOptions device = options;
  device.isas = {Isa::Cuda};
  device.countBytes = false;
  KernelModule built = makeKernels(mlirContext, plan, device, shape);
  auto module = translateKernels(*built.module, context, **machine);
  if (!module)
    return module.takeError();
  setInlining(**module);
  BuiltDevice result;
  for (const KernelInfo &info : built.kernels) {
    wrap(**module, info.symbol, paramBytes, shape.threads);
    result.kernels.push_back({info.dtype, info.op, info.symbol, shape.threads,
                              paramBytes, (shape.cells() + shape.rowCells) * 8,
                              0, protocolOf(info.protocol)});
  }
  result.module = std::move(*module);
  result.cells = {kSharedCells, shape.sources, shape.sinks,
                  uint32_t(shape.sizesOffset)};
  return result;
}

llvm::Error coll::finishDevice(BuiltDevice &built, unsigned chip) {
  auto machine = createCudaMachine(chip);
  if (!machine)
    return machine.takeError();
  if (llvm::Error error = checkDeviceAccesses(*built.module, built.cells, true))
    return error;
  optimize(*built.module, **machine);
  if (llvm::Error error = checkDeviceModule(*built.module))
    return error;
  return checkDeviceAccesses(*built.module, built.cells, false);
}

llvm::Expected<std::unique_ptr<llvm::Module>>
coll::compileDevice(mlir::MLIRContext *mlirContext, llvm::LLVMContext &context,
                    const Plan &plan, const HostOptions &options, unsigned chip,
                    std::vector<DeviceKernel> &kernels) {
  auto built = buildDevice(mlirContext, context, plan, options, chip);
  if (!built)
    return built.takeError();
  if (llvm::Error error = finishDevice(*built, chip))
    return error;
  kernels = std::move(built->kernels);
  return std::move(built->module);
}

llvm::Expected<std::string> coll::emitPtx(llvm::Module &module, unsigned chip) {
  auto machine = createCudaMachine(chip, hasMultimem(module));
  if (!machine)
    return machine.takeError();
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  if (llvm::Error error = emitCode(module, **machine, /*assembly=*/true, os))
    return error;
  if (llvm::Error error = checkPtx(text))
    return error;
  return std::string(text);
}
