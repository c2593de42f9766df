//===- Passes.h - Passes over schedules and programs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_TRANSFORMS_PASSES_H
#define COLL_LIB_TRANSFORMS_PASSES_H

#include "dialect/CollDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace coll {

#define GEN_PASS_DECL
#include "lib/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Passes.h.inc"

} // namespace coll

#endif // COLL_LIB_TRANSFORMS_PASSES_H
