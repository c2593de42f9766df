//===- Schedules.h - Files, and executing what is in them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_PROVE_SCHEDULES_H
#define COLL_TEST_UNIT_PROVE_SCHEDULES_H

#include "dialect/CollDialect.h"
#include "lib/Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <optional>
#include <string>
#include <vector>

namespace coll::test {

/// The files of lib/Library, and test/Prove/class.coll.
std::vector<std::string> subjectFiles();

/// A file at the algorithm level; `module` is null if it is wrong.
struct ScheduleFile {
  explicit ScheduleFile(const std::string &path);
  SourceManager sources;
  DiagnosticEngine diags;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Values of parameters without a default: 0, 1, ...
  std::vector<std::pair<std::string, int64_t>> defines;
};

ScheduleOp find(mlir::ModuleOp module, llvm::StringRef schedule);

/// The first rank space of 2 to `last` ranks at which the schedule is wrong for
/// some launch member; none if it is right, or excluded, at all of them.
std::optional<std::string> firstWrong(ScheduleOp schedule,
                                      const ScheduleFile &file, uint32_t last);

} // namespace coll::test
#endif // COLL_TEST_UNIT_PROVE_SCHEDULES_H
