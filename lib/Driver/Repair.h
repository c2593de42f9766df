//===- Repair.h - The change that makes a schedule right --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_REPAIR_H
#define COLL_LIB_DRIVER_REPAIR_H

#include "lib/Driver/Session.h"

namespace coll {

/// One change of a source text.
struct Edit {
  SourceRange range;
  std::string text; ///< instead of what stands there
};

/// The slips that people make, undone: every way to move one end of a range,
/// one index or rank by one, to turn a sign, to write `copy` for `reduce` or
/// the other way round, or to leave a statement out, in a schedule and the
/// procedures of its file that it calls. The most likely ones come first.
std::vector<Edit> likelyEdits(const SourceManager &sources, const File &file,
                              llvm::StringRef schedule);

/// A schedule is wrong, and `session.diags` says so last. If one of those edits
/// makes it right, at these ranks and at others, the diagnostic gets it as its
/// repair.
void suggestRepair(Session &session, const Bytecode &code, const RankDims &dims,
                   const InstanceOptions &options);

} // namespace coll
#endif // COLL_LIB_DRIVER_REPAIR_H
