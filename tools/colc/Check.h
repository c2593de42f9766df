//===- Check.h - colc --check and --emit=report -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_CHECK_H
#define COLL_TOOLS_COLC_CHECK_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Verifies every schedule at every rank space, with a line on each.
void check(Session &session, const Options &options);

/// The reports of every schedule at every rank space, up to the first error.
std::string report(Session &session, const Options &options);

} // namespace coll
#endif // COLL_TOOLS_COLC_CHECK_H
