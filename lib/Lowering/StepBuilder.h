//===- StepBuilder.h - One function per shape of step -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_LOWERING_STEPBUILDER_H
#define COLL_LIB_LOWERING_STEPBUILDER_H

#include "lib/Lowering/Machine.h"
#include "lib/Lowering/Primitives.h"

namespace coll::lowering {

/// (args, inst, block: i32, instance: i64, words, round: i64) -> i32: 0, or not
/// 0 when the kernel has to leave. For every slice of the step's chunk in this
/// round: acquires the slots, runs the inner loop, publishes and returns them.
/// With primitives for `small` slots it looks at the launch's flags.
mlir::func::FuncOp buildStepFunction(
    mlir::ModuleOp module, const Machine &machine, const Primitives &primitives,
    const Primitives *small, llvm::StringRef name, const StepShape &shape,
    const Variant &variant, const std::vector<Function> &functions);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_STEPBUILDER_H
