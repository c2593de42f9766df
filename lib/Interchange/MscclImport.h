//===- MscclImport.h - MSCCL XML as programs that can run -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_INTERCHANGE_MSCCLIMPORT_H
#define COLL_LIB_INTERCHANGE_MSCCLIMPORT_H

#include "lib/Analysis/Schedule.h"
#include "lib/Interchange/MscclJudge.h"

namespace coll::msccl {

/// What colc makes of a schedule in coll, from a file of another system.
struct ImportedSchedule {
  ChunkGraph graph;
  ScheduleResult scheduled; ///< nothing is refused
  /// The file is for calls out of place (its `outofplace`), too. The programs
  /// are in any case: they copy the input first.
  bool outOfPlace = true;
};

/// Of a file that was judged; every variant that it allows is right. Empty:
/// `diags` says why not.
std::optional<ImportedSchedule> importSchedule(const JudgedXml &judged,
                                               llvm::StringRef path,
                                               DiagnosticEngine &diags);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLIMPORT_H
