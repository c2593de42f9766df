//===- Compile.h - colc without --check -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_COMPILE_H
#define COLL_TOOLS_COLC_COMPILE_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Programs, kernels or an object of every schedule that was loaded.
void compile(Session &session, const Options &options);
/// The same of a schedule of another system, whose number of ranks and
/// parameters are part of it.
void compileXml(Session &session, const Options &options);

/// Writes a file, or to standard output if `path` is empty or "-". What cannot
/// be written whole does not stay behind.
bool writeOutput(Session &session, llvm::StringRef path,
                 llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace coll
#endif // COLL_TOOLS_COLC_COMPILE_H
