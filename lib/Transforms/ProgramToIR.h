//===- ProgramToIR.h - Programs as ops, and back ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ProgramSet and a `coll.program` are the same thing; taken to IR and back, a
// program is unchanged but for the order of the tables `exprs` and `sites`,
// which come out in the order of first use, and the places of ports and waits.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_TRANSFORMS_PROGRAMTOIR_H
#define COLL_LIB_TRANSFORMS_PROGRAMTOIR_H

#include "lib/Analysis/Program.h"

#include "dialect/CollDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace coll {

/// A step is about ten ops of 370 bytes, so programs with more steps than this
/// are not shown as IR.
inline constexpr size_t maxStepsInIR = size_t(1) << 20;

/// A module of the functions of `programs` and one coll.program. Sites become
/// locations; `sources` has their files. Null: more than maxStepsInIR steps.
mlir::OwningOpRef<mlir::ModuleOp> programToIR(const ProgramSet &programs,
                                              const SourceManager &sources,
                                              mlir::MLIRContext &context);

struct ImportedProgram {
  ProgramSet programs;
  /// The location of each site, whether `sources` has its file or not.
  std::vector<mlir::Location> siteLocs;
};

/// The expression of a step with more nodes than this is an error.
inline constexpr size_t maxExprNodes = size_t(1) << 16;

/// Reads a verified op, with the functions of its module. Ranges of sites are
/// those of the files in `sources`; of other files they are invalid. Fails,
/// after an error, only beyond a bound.
mlir::FailureOr<ImportedProgram> programFromIR(ProgramOp op,
                                               const SourceManager &sources);

/// Writes a coll.function; lib/Analysis/FunctionFromIR.h reads it.
void functionToIR(const Function &function, mlir::OpBuilder &builder);

} // namespace coll

#endif // COLL_LIB_TRANSFORMS_PROGRAMTOIR_H
