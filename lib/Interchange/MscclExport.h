//===- MscclExport.h - Programs as MSCCL XML --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_INTERCHANGE_MSCCLEXPORT_H
#define COLL_LIB_INTERCHANGE_MSCCLEXPORT_H

#include "lib/Analysis/Program.h"
#include "lib/Interchange/Msccl.h"

namespace coll::msccl {

/// The out-of-place programs of a schedule with one launch member. What comes
/// back is judged right; in place, too, if `inPlace` says so. Empty: the format
/// cannot hold it, and `diags` says why.
std::optional<Algorithm> exportPrograms(const ProgramSet &programs,
                                        DiagnosticEngine &diags);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLEXPORT_H
