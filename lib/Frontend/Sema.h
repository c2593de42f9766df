//===- Sema.h - From syntax trees to the normal form ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over the syntax tree resolves names, finds out what kind of thing
// every expression is and of how many dimensions, and writes the algorithm
// level of the dialect while it goes: procedures, let functions, views and
// contracts are inlined, loops and sizes stay symbolic. What no schedule
// reaches is walked too, into ops that are thrown away, so that every mistake
// that does not depend on concrete sizes is reported. What depends on them
// becomes coll.assert, or is left to elaboration.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMA_H
#define COLL_LIB_FRONTEND_SEMA_H

#include "lib/Frontend/Parser.h"
#include "lib/Support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace coll {

/// Procedures and let functions that call one another, from the schedule down.
inline constexpr unsigned maxCallDepth = 256;
/// Regions in regions: loops, conditions and groups, calls inlined.
inline constexpr unsigned maxRegionDepth = 400;
/// Of one `for`.
inline constexpr unsigned maxIterators = 256;
/// Steps of the walk, and calls that are inlined.
inline constexpr unsigned maxEvaluations = 1u << 22;
inline constexpr unsigned maxInlinedCalls = 1u << 18;

struct SemaOptions {
  /// Emit this schedule of the main file only; empty: all of them. In the
  /// others then only names, the number of arguments and recursion are checked.
  std::string schedule;
};

/// Writes the schedules of the main file of `program`, one coll.schedule each,
/// and the functions they use. Null if `diags` got an error, or if `program`
/// has none to write. Every op has a location: the range in the source (the end
/// is the position after the last character) and, around it, the calls that led
/// there.
mlir::OwningOpRef<mlir::ModuleOp> emitModule(const Program &program,
                                             mlir::MLIRContext &context,
                                             DiagnosticEngine &diags,
                                             const SemaOptions &options = {});

/// The dialects that emitModule needs.
void loadSemaDialects(mlir::MLIRContext &context);

} // namespace coll

#endif // COLL_LIB_FRONTEND_SEMA_H
