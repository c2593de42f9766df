//===- InterpreterEval.h - Evaluating a group of terms ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_INTERPRETEREVAL_H
#define COLL_LIB_ANALYSIS_INTERPRETEREVAL_H

#include "lib/Analysis/InterpreterBound.h"
#include "lib/Analysis/InterpreterTerms.h"

namespace coll::interpreter {

/// Where inputs come from; outputs are compared, or written.
struct Places {
  const PartAddress *inputs;
  const PartAddress *compare;
  const std::function<void *(Rank rank, uint32_t buffer, uint32_t part)> *write;
};

/// One per thread. C: the compute type.
template <class C> class Evaluator {
public:
  Evaluator(const ChunkGraph &graph, const InterpreterCall &call,
            const Places &places)
      : graph(graph), call(call), places(places),
        accum(resolve(ElemType::Accum, call.dtype)) {}
  void run(const TermGroup &group, uint64_t begin, uint64_t end);

  InterpreterResult result;

private:
  using X = typename WideOf<C>::Type;
  static constexpr bool hasBounds = std::is_floating_point_v<C>;

  void resize(const TermGroup &group, uint64_t elements);
  C *numbers(uint32_t target) { return values.data() + target * stride; }
  BoundedBlock<C> wide(uint32_t target) {
    return {exacts.data() + target * stride, bounds.data() + target * stride};
  }
  void evaluate(const TermStep &step, uint64_t begin, size_t n);
  void evaluateLeaf(const TermStep &step, uint64_t begin, size_t n);
  void evaluateFold(const TermStep &step, size_t n, coll_op op);
  void evaluateBlocks(const TermStep &step, size_t n);
  void evaluateAverage(const TermStep &step, size_t n);
  void evaluateFunction(const TermStep &step, size_t n);
  void deliver(const TermStep &step, uint64_t begin, size_t n);
  void checkBounds(const TermStep &step, size_t n);
  void compare(const TermStep &step, const Output &output, uint64_t begin,
               size_t n, const void *actual);
  void report(const TermStep &step, const Output &output, uint64_t element,
              size_t i, C got);

  const ChunkGraph &graph;
  const InterpreterCall &call;
  const Places &places;
  coll_dtype accum;
  size_t stride = 0; // elements of a register
  std::vector<C> values;
  std::vector<X> exacts;
  std::vector<double> bounds;
  std::vector<char> encoded;
  std::vector<C> actuals;
  uint64_t strayed = 0; // elements of this block that are out of bound
};

extern template class Evaluator<float>;
extern template class Evaluator<double>;
extern template class Evaluator<int8_t>;
extern template class Evaluator<uint8_t>;
extern template class Evaluator<int32_t>;
extern template class Evaluator<uint32_t>;
extern template class Evaluator<int64_t>;
extern template class Evaluator<uint64_t>;

} // namespace coll::interpreter

#endif // COLL_LIB_ANALYSIS_INTERPRETEREVAL_H
