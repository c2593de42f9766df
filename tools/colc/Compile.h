//===- Compile.h - colc without --check -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_COMPILE_H
#define COLL_TOOLS_COLC_COMPILE_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Programs, kernels or an object of every schedule that was loaded.
Verdict compile(Session &session, const Options &options);

/// Opens the output of --emit: -o or standard output. Null: said on standard error.
std::unique_ptr<llvm::raw_pwrite_stream> openOutput(llvm::StringRef path);

} // namespace coll
#endif // COLL_TOOLS_COLC_COMPILE_H
