//===- GraphPrinter.h - Chunk graphs as text --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_TOOLS_COLL_ELAB_GRAPHPRINTER_H
#define COLL_TEST_TOOLS_COLL_ELAB_GRAPHPRINTER_H

#include "lib/Analysis/ChunkGraph.h"

#include "llvm/Support/raw_ostream.h"

namespace coll {

/// One line per buffer, value and output. Values are %0, %1, ..., in order.
void printGraph(const ChunkGraph &graph, llvm::raw_ostream &os);
/// A line of figures.
void printSummary(const ChunkGraph &graph, llvm::raw_ostream &os);

} // namespace coll

#endif // COLL_TEST_TOOLS_COLL_ELAB_GRAPHPRINTER_H
