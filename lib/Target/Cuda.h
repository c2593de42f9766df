//===- Cuda.h - Kernel IR to device code ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_TARGET_CUDA_H
#define COLL_LIB_TARGET_CUDA_H

#include "lib/Target/DeviceWords.h"
#include "lib/Target/HostObject.h"

namespace coll {

/// Chips that code is made for, as 90 for sm_90, smallest first.
llvm::ArrayRef<unsigned> knownChips();

/// What a plan's device code for a chip has beside slots; a text says why it
/// lacks something, and is empty where it does not.
struct DeviceProtocols {
  bool hasMessages = false;
  std::string noPackets, noLines, noMultimem;
  /// Multimem instructions load, store.
  bool gathers = false, spreads = false;
  /// `map` asks for them for a message for which there is none.
  bool isMultimemMissed = false;
};
DeviceProtocols protocolsOn(const ProgramSet &programs, unsigned chip);

/// A line on what device code for the chip has beside slots, and why it lacks
/// the rest (DeviceReport.cpp).
std::string reportOnDevice(const ProgramSet &programs, unsigned chip);

/// A plan's device code before the optimizer.
struct BuiltDevice {
  std::unique_ptr<llvm::Module> module;
  std::vector<DeviceKernel> kernels; // without registers
  SharedCells cells;
};
llvm::Expected<BuiltDevice>
buildDevice(mlir::MLIRContext *mlirContext, llvm::LLVMContext &context,
            const Plan &plan, const HostOptions &options, unsigned chip);
/// Checks it, optimizes it and checks it again.
llvm::Error finishDevice(BuiltDevice &built, unsigned chip);

/// The LLVM module of a plan's device kernels for one chip: exactly what the
/// NVPTX backend is given. Fills in `kernels` but for registers and shared
/// bytes.
llvm::Expected<std::unique_ptr<llvm::Module>>
compileDevice(mlir::MLIRContext *mlirContext, llvm::LLVMContext &context,
              const Plan &plan, const HostOptions &options, unsigned chip,
              std::vector<DeviceKernel> &kernels);

/// PTX of such a module, which it changes.
llvm::Expected<std::string> emitPtx(llvm::Module &module, unsigned chip);

/// What is wrong with device code: order that the backend drops, coherence that
/// it does not keep (DeviceCheck.cpp).
llvm::Error checkDeviceModule(const llvm::Module &module);
/// Whether shared words are accessed as the memory-order table says, and no
/// others (DeviceAccess.cpp). `isBuilt`: before the optimizer.
llvm::Error checkDeviceAccesses(const llvm::Module &module,
                                const SharedCells &cells, bool isBuilt);
llvm::Error checkPtx(llvm::StringRef ptx);

/// What the assembler says of one kernel.
struct KernelUse {
  std::string symbol;
  uint32_t registers = 0, shared = 0, stack = 0, spillStores = 0,
           spillLoads = 0;
};
struct Cubin {
  std::string code;
  std::vector<KernelUse> uses;
};
/// The assembler that `asked` names, or else the one that is found beside colc,
/// in PATH or where CUDA is installed. Empty: none.
std::string findPtxas(llvm::StringRef asked);
/// Runs it. The error is what it says.
llvm::Expected<Cubin> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                               unsigned chip);
/// Of `ptxas -v`.
std::vector<KernelUse> parseUses(llvm::StringRef text);

} // namespace coll
#endif // COLL_LIB_TARGET_CUDA_H
