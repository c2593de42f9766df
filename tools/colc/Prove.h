//===- Prove.h - colc --prove -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_PROVE_H
#define COLL_TOOLS_COLC_PROVE_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Tries to prove the schedules for every number of ranks, one line each on
/// standard output. Right: all are proved; Wrong: `diags` has a counterexample;
/// Undecided: neither, for some.
Verdict proveSchedules(Session &session, const Options &options);

} // namespace coll
#endif // COLL_TOOLS_COLC_PROVE_H
