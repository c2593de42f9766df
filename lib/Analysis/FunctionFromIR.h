//===- FunctionFromIR.h - The code of a coll.function -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_FUNCTIONFROMIR_H
#define COLL_LIB_ANALYSIS_FUNCTIONFROMIR_H

#include "dialect/CollDialect.h"
#include "lib/Analysis/ChunkGraph.h"

namespace coll {

/// A function is code per element: what is used twice in it is written twice.
inline constexpr size_t maxFunctionNodes = 4096;

/// Reads a verified op. Fails, after an error, beyond maxFunctionNodes.
mlir::FailureOr<Function> functionFromIR(FunctionOp op);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_FUNCTIONFROMIR_H
