//===- KernelBuilder.h - The kernels of a plan ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel per (dtype, op, instruction set), of devices per (dtype, op,
// protocol): it walks its block's steps, once per round, and calls the function
// of each step's shape, which the optimizer inlines where it pays. Functions of
// shapes that only move bytes are shared by all dtypes and ops.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_KERNELBUILDER_H
#define COLL_LIB_LOWERING_KERNELBUILDER_H

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/StepShape.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace coll::lowering {

struct KernelRequest {
  std::string plan;           // the C name of the plan, prefix of all symbols
  std::vector<Format> dtypes; // empty: the plan only moves data
  std::vector<ReduceOp> ops;  // empty: the plan does not reduce
  std::vector<Isa> isas;
  bool countBytes = false;
  bool vectorCounts = false;         // COLL_PLAN_VCOUNTS
  bool byRow = false;                // COLL_PLAN_ROWS
  bool inBlocks = false;             // COLL_PLAN_BLOCKS
  std::optional<DeviceShape> device; // kernels of a device; isas: Cuda alone

  /// Whether there are kernels for launches with packets. Where counts are each
  /// rank's own no launch is small.
  bool hasPackets(llvm::ArrayRef<StepShape> shapes) const {
    return device && device->packetBits && !vectorCounts &&
           llvm::any_of(shapes,
                        [](const StepShape &s) { return s.hasChannel(); });
  }
  /// The same for lines.
  bool hasLines(llvm::ArrayRef<StepShape> shapes) const {
    return hasPackets(shapes) && device->hasLines;
  }
};

struct KernelInfo {
  uint8_t dtype, op; // coll_dtype, coll_op or COLL_ANY
  Isa isa;
  Protocol protocol;
  std::string symbol;
};

struct KernelModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<KernelInfo> kernels;
};

/// Integer dtypes are left out when a shape needs floating point.
KernelModule buildKernels(mlir::MLIRContext *context,
                          const std::vector<StepShape> &shapes,
                          const std::vector<Function> &functions,
                          const KernelRequest &request);

/// Whether some shape computes, whatever the op. `reduces`: elements, with the
/// launch's op.
bool needsDtype(const std::vector<StepShape> &shapes, bool reduces);

void loadKernelDialects(mlir::MLIRContext *context);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_KERNELBUILDER_H
