//===- Rows.h - What a run launches -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLL_RUN_ROWS_H
#define COLL_TOOLS_COLL_RUN_ROWS_H

#include "lib/Driver/Session.h"
#include "tools/coll-run/Buffers.h"
#include "tools/coll-run/Options.h"
#include "llvm/Support/Error.h"

namespace coll {

struct RowSet {
  std::vector<Row> rows;  // at least one
  std::string notInPlace; // why one of them is not run in place; empty: all are
};

/// One row for every dtype, op, launch value and size that was asked for, in
/// this order. An error if that is nothing, or too much.
llvm::Expected<RowSet> rowsOf(const Instance &instance,
                              const RunOptions &options);

} // namespace coll
#endif // COLL_TOOLS_COLL_RUN_ROWS_H
