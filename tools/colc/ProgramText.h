//===- ProgramText.h - colc FILE.mlir --check -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_PROGRAMTEXT_H
#define COLL_TOOLS_COLC_PROGRAMTEXT_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Whether a file is programs as text.
bool isProgramText(llvm::StringRef path);

/// Verifies every `coll.program` of a file, as `coll-opt -coll-verify-program`
/// does: no race, no deadlock, every message met. One line each on standard
/// output; `diags` has what is wrong.
void checkProgramText(Session &session, const Options &options);

} // namespace coll
#endif // COLL_TOOLS_COLC_PROGRAMTEXT_H
