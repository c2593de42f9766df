//===- TileJit.h - Inner loops as functions of this process -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_LOWERING_TILEJIT_H
#define COLL_TEST_UNIT_LOWERING_TILEJIT_H

#include "lib/Lowering/TileLoop.h"

#include <memory>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace coll::lowering {

/// The inner loop of a shape, compiled for one variant.
class TileJit {
public:
  TileJit(const StepShape &shape, const Variant &variant,
          const std::vector<Function> &functions = {});
  ~TileJit();
  /// Runs it on `elements` elements; `ranks` is what avg divides by, `factor`
  /// what premul_sum multiplies with.
  void run(const std::vector<const void *> &sources,
           const std::vector<void *> &sinks, uint64_t elements,
           uint64_t ranks = 1, double factor = 1);

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*function)(const void *const *, void *const *, uint64_t, uint64_t,
                   double) = nullptr;
};

/// The instruction sets that this processor runs.
std::vector<Isa> nativeIsas();

/// A shape that converts: one source, one sink.
StepShape convertShape(ElemType from, ElemType to);
/// A shape that folds `sources` values of T into one sink of T.
StepShape foldShape(unsigned sources);

} // namespace coll::lowering
#endif // COLL_TEST_UNIT_LOWERING_TILEJIT_H
