//===- SourceLocation.h - MLIR's places as ours -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_SOURCELOCATION_H
#define COLL_LIB_ANALYSIS_SOURCELOCATION_H

#include "lib/Support/Source.h"

#include "mlir/IR/Location.h"

namespace coll {

/// `location` in the text of `file`, which is the file it names. Invalid if the
/// text has no such place: IR may be older than the file, or made by hand.
SourceRange rangeIn(const SourceManager &sources, FileId file,
                    mlir::FileLineColRange location);

/// Of an op: its own place, in whichever of the files that were read it is.
/// Invalid: in none.
SourceRange rangeOf(const SourceManager &sources, mlir::Location location);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_SOURCELOCATION_H
