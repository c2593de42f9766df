//===- Check.h - colc --check and --emit=report -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_CHECK_H
#define COLL_TOOLS_COLC_CHECK_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Verifies every schedule at every rank space, with a line on each.
Verdict check(Session &session, const Options &options);
/// Prints the report of every schedule at every rank space.
Verdict report(Session &session, const Options &options);

/// The rank spaces of one schedule, or an error on standard error and none.
std::vector<RankDims> rankSpacesOf(const Bytecode &code, const Options &options, Verdict &verdict);

} // namespace coll
#endif // COLL_TOOLS_COLC_CHECK_H
