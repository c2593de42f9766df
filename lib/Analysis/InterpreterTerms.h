//===- InterpreterTerms.h - What the interpreter evaluates ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The terms of all locations of `out` that have the same extent, as one list in
// which operands precede users. Results live in registers, blocks of elements
// that are reused when nobody needs them any more.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_INTERPRETERTERMS_H
#define COLL_LIB_ANALYSIS_INTERPRETERTERMS_H

#include "lib/Analysis/Interpreter.h"
#include "lib/Analysis/Terms.h"

#include "llvm/ADT/SmallVector.h"

namespace coll::interpreter {

struct TermStep {
  Term::Kind kind;
  ElemType type = ElemType::T; ///< Round
  uint16_t function = 0;       ///< Apply
  bool isAverage = false;      ///< Apply: division by the number of ranks
  bool isScaled = false;       ///< Leaf: premul_sum multiplies it
  /// It depends on an order that is left to the hardware.
  bool isUnordered = false;
  Rank rank = 0;                                ///< Leaf
  Cell cell{};                                  ///< Leaf
  uint32_t target = 0;                          ///< register
  llvm::SmallVector<uint32_t, 3> operands = {}; ///< registers
  std::vector<uint32_t> outputs = {}; ///< of the graph, which hold this
};

struct TermGroup {
  uint32_t size, chunk; ///< extent
  std::vector<TermStep> steps;
  uint32_t numRegisters = 0;
};

/// All groups of a graph. A non-empty `error`: the graph has no meaning for
/// this call that we know.
struct TermGroups {
  std::vector<TermGroup> groups;
  std::string error;
};
TermGroups groupTerms(const ChunkGraph &graph, const InterpreterCall &call);

bool isFloat(coll_dtype dtype);

} // namespace coll::interpreter

#endif // COLL_LIB_ANALYSIS_INTERPRETERTERMS_H
