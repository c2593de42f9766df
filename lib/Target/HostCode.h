//===- HostCode.h - Kernel IR to machine code -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_TARGET_HOSTCODE_H
#define COLL_LIB_TARGET_HOSTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace coll {

/// The processor family of an object. All instruction sets of a family share
/// one object.
enum class HostArch : uint8_t { X86_64, AArch64 };

/// The family of the machine that runs the compiler.
HostArch nativeArch();

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostMachine(HostArch arch);

/// Lowers kernel IR (lib/Lowering) to LLVM IR. The functions' `coll.isa`
/// becomes the instruction set they are compiled for.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateKernels(mlir::ModuleOp kernels, llvm::LLVMContext &context,
                 llvm::TargetMachine &machine);

/// Optimizes in place. No vectorizer runs: the kernels are written in vectors,
/// and what is left scalar is a short remainder.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

llvm::Error emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                     bool assembly, llvm::raw_pwrite_stream &os);

} // namespace coll
#endif // COLL_LIB_TARGET_HOSTCODE_H
