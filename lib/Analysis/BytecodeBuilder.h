//===- BytecodeBuilder.h - From coll.schedule to Bytecode -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_BYTECODEBUILDER_H
#define COLL_LIB_ANALYSIS_BYTECODEBUILDER_H

#include "dialect/CollDialect.h"
#include "lib/Analysis/Bytecode.h"

namespace coll {

/// Translates a schedule once; it then runs for every rank count and member.
/// `sources` knows the files that locations name; places in other files are
/// kept as invalid ranges. An op that is no part of the normal form is an error
/// of MLIR's, and the code is then empty.
Bytecode buildBytecode(ScheduleOp schedule, const SourceManager &sources);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_BYTECODEBUILDER_H
