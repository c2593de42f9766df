//===- SourceWords.h - Analyses' diagnostics as MLIR's ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyses speak of ranges in source files, passes of locations of ops. Here a
// pass opens the files that locations name, and says what an analysis has
// found.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_TRANSFORMS_SOURCEWORDS_H
#define COLL_LIB_TRANSFORMS_SOURCEWORDS_H

#include "lib/Support/Diagnostics.h"

#include "mlir/IR/Operation.h"

namespace coll {

/// Opens every file that a location in `op` names and that can be read.
void openSources(mlir::Operation *op, SourceManager &sources);

/// Emits all that `diags` holds, at the ranges' places, or at `fallback` where
/// there is none. Tells whether there was an error.
mlir::LogicalResult emitDiagnostics(const DiagnosticEngine &diags,
                                    mlir::Location fallback);

/// Where a range is; `fallback` if it is invalid.
mlir::Location locationOf(SourceRange range, const SourceManager &sources,
                          mlir::Location fallback);

} // namespace coll

#endif // COLL_LIB_TRANSFORMS_SOURCEWORDS_H
