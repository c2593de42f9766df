//===- Interpreter.h - The scalar meaning of a chunk graph ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the terms of a chunk graph on given inputs with exactly the
// arithmetic of docs/Language.md, "Semantics": what every element of every
// `out` is, bit by bit, whatever program computes it. Beside that the exact
// result (in arithmetic that is wide enough) with a bound on what rounding may
// change.
//
// Terms are shared by ranks, so each is evaluated once, over blocks of elements
// that stay in the cache.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_INTERPRETER_H
#define COLL_LIB_ANALYSIS_INTERPRETER_H

#include "coll/coll.h"
#include "lib/Analysis/ChunkGraph.h"

#include <functional>
#include <span>

namespace coll {

/// The launch to interpret.
struct InterpreterCall {
  coll_dtype dtype = COLL_F32;
  coll_op op = COLL_SUM;
  double factor = 1;                 ///< premul_sum's
  uint64_t count = 0;                ///< of a contract with one count
  std::vector<uint64_t> counts = {}; ///< v-collectives: the whole launch array
  std::vector<double> scalars = {};  ///< scalar args, in order
  uint64_t row = 0;  ///< elements of a row, where the schedule cuts `by row`
  uint64_t unit = 0; ///< what is cut into, in elements; 0: 16 bytes
};

/// Where elements [0, elements) of a part begin. Parts are contiguous.
using PartAddress =
    std::function<const void *(Rank rank, uint32_t buffer, uint32_t part)>;

struct Mismatch {
  Rank rank = 0;
  Cell cell{};
  uint64_t element = 0; ///< in the part
  double got = 0, expected = 0, exact = 0, bound = 0;
  SiteId site = kNone; ///< the statement that wrote the location
};

struct InterpreterResult {
  std::string error;      ///< not empty: nothing was evaluated, and why
  uint64_t elements = 0;  ///< compared
  uint64_t wrongBits = 0; ///< differ from the scalar meaning
  /// Farther from the exact result than rounding can be.
  uint64_t outOfBound = 0;
  std::vector<Mismatch> first; ///< the first few of either kind
  double maxError = 0;         ///< largest |got - exact| / bound seen
};

/// Bytes of an element, and the elements of a part of size symbol `size`.
uint32_t bytesOf(coll_dtype dtype);
uint64_t elementsOf(const ChunkGraph &graph, uint32_t size,
                    const InterpreterCall &call);
/// Elements [begin, end) of a part that are chunk `chunk`: balanced, cut at
/// 16-byte units, or at units of so many elements.
struct ElementRange {
  uint64_t begin, end;
};
ElementRange chunkRange(uint64_t elements, uint32_t elementBytes,
                        uint32_t chunk, uint32_t chunks, uint64_t unit = 0);

/// Compares every element of every promised location of `out` with its meaning.
/// NaNs are equal to each other. `threads`: how many to use.
InterpreterResult checkOutputs(const ChunkGraph &graph,
                               const InterpreterCall &call,
                               const PartAddress &inputs,
                               const PartAddress &outputs,
                               unsigned threads = 1);

/// Writes the meaning to `outputs` instead: locations that the source leaves
/// alone are not touched.
std::string interpret(const ChunkGraph &graph, const InterpreterCall &call,
                      const PartAddress &inputs,
                      const std::function<void *(Rank rank, uint32_t buffer,
                                                 uint32_t part)> &outputs);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_INTERPRETER_H
