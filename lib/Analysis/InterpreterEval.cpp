//===- InterpreterEval.cpp - Evaluating a group of terms ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/InterpreterEval.h"
#include "lib/Support/BlockScale.h"
#include "lib/Support/ElementMath.h"
#include "lib/Support/RowOrder.h"

#include <algorithm>

namespace coll::interpreter {

template <class C>
void Evaluator<C>::resize(const TermGroup &group, uint64_t elements) {
  constexpr size_t cacheBytes = 1 << 19, mostElements = 4096,
                   leastElements = 64;
  size_t perElement =
      group.numRegisters *
      (sizeof(C) + (hasBounds ? sizeof(X) + sizeof(double) : 0));
  stride = std::clamp<size_t>(cacheBytes / perElement / leastElements *
                                  leastElements,
                              leastElements, mostElements);
  stride = std::min<size_t>(stride, (elements + leastElements - 1) /
                                        leastElements * leastElements);
  if (call.row)
    stride = std::max<size_t>(stride / call.row, 1) * call.row;
  values.resize(std::max(values.size(), stride * group.numRegisters));
  if (hasBounds) {
    exacts.resize(std::max(exacts.size(), stride * group.numRegisters));
    bounds.resize(std::max(bounds.size(), stride * group.numRegisters));
  }
  encoded.resize(std::max(encoded.size(), stride * sizeof(C)));
  actuals.resize(std::max(actuals.size(), stride));
}

template <class C>
void Evaluator<C>::run(const TermGroup &group, uint64_t begin, uint64_t end) {
  resize(group, end - begin);
  for (; begin < end; begin += stride) {
    size_t n = std::min<uint64_t>(stride, end - begin);
    for (const TermStep &step : group.steps) {
      evaluate(step, begin, n);
      if (!step.outputs.empty())
        deliver(step, begin, n);
    }
  }
}

template <class C>
void Evaluator<C>::evaluate(const TermStep &step, uint64_t begin, size_t n) {
  switch (step.kind) {
  case Term::Leaf:
    return evaluateLeaf(step, begin, n);
  case Term::Round: {
    if (step.type == ElemType::MXE4M3)
      return evaluateBlocks(step, n);
    coll_dtype storage = resolve(step.type, call.dtype);
    roundBlock(numbers(step.operands[0]), numbers(step.target), n, storage);
    if constexpr (hasBounds) {
      BoundedBlock<C> from = wide(step.operands[0]), to = wide(step.target);
      std::copy_n(from.exact, n, to.exact);
      std::copy_n(from.bound, n, to.bound);
      // What is as wide as the compute type rounds nothing.
      if (storage != accum && !(accum == COLL_F32 && storage == COLL_F64))
        roundBound<C>(to, n, storage);
    }
    return;
  }
  case Term::Fold:
  case Term::FoldAny:
    return evaluateFold(step, n, call.op);
  case Term::Add:
    return evaluateFold(step, n, COLL_SUM);
  case Term::Apply:
    return step.isAverage ? evaluateAverage(step, n)
                          : evaluateFunction(step, n);
  }
}

/// Blocks begin where registers do: both are cut at multiples of 32 elements.
template <class C>
void Evaluator<C>::evaluateBlocks(const TermStep &step, size_t n) {
  if constexpr (hasBounds) {
    const C *from = numbers(step.operands[0]);
    C *to = numbers(step.target);
    BoundedBlock<C> of = wide(step.operands[0]), result = wide(step.target);
    for (size_t i = 0; i < n; i += blockElements) {
      size_t count = std::min<size_t>(blockElements, n - i);
      float in[blockElements], out[blockElements];
      std::copy_n(from + i, count, in);
      roundOneBlock(in, out, count);
      std::copy_n(out, count, to + i);
      // The largest saturates at 7/8 of the next power of two; half a place of
      // the others is less.
      double largest = 0;
      for (size_t k = i; k < i + count; ++k)
        largest =
            std::max(largest, std::abs(double(of.exact[k])) + of.bound[k]);
      for (size_t k = i; k < i + count; ++k) {
        result.exact[k] = of.exact[k];
        result.bound[k] = of.bound[k] + largest / 8 + 0x1p-130;
      }
    }
  }
}

template <class C>
void Evaluator<C>::evaluateLeaf(const TermStep &step, uint64_t begin,
                                size_t n) {
  C *to = numbers(step.target);
  const Buffer &buffer = graph.buffers[step.cell.buffer];
  if (buffer.kind == Buffer::Scalar) {
    size_t index = 0;
    for (uint32_t b = 0; b < step.cell.buffer; ++b)
      index += graph.buffers[b].kind == Buffer::Scalar;
    std::fill_n(
        to, n,
        factorOf<C>(index < call.scalars.size() ? call.scalars[index] : 0));
  } else if (buffer.kind == Buffer::RowArg) {
    const void *row = (*places.inputs)(step.rank, step.cell.buffer, 0);
    for (size_t i = 0; i < n; i += call.row)
      loadBlock(row, to + i, call.row, call.dtype);
  } else {
    const char *part = static_cast<const char *>(
        (*places.inputs)(step.rank, step.cell.buffer, step.cell.part));
    loadBlock(part + begin * bytesOf(call.dtype), to, n, call.dtype);
  }
  const C factor = factorOf<C>(call.factor);
  if constexpr (hasBounds) {
    BoundedBlock<C> exact = wide(step.target);
    for (size_t i = 0; i < n; ++i)
      exact.exact[i] = step.isScaled ? X(to[i]) * X(factor) : X(to[i]);
    std::fill_n(exact.bound, n, 0.0);
    if (step.isScaled)
      roundBound<C>(exact, n, accum);
  }
  if (step.isScaled)
    for (size_t i = 0; i < n; ++i)
      to[i] = mulOne(to[i], factor);
}

template <class C>
void Evaluator<C>::evaluateFold(const TermStep &step, size_t n, coll_op op) {
  C *to = numbers(step.target);
  std::copy_n(numbers(step.operands[0]), n, to);
  for (size_t k = 1; k < step.operands.size(); ++k)
    combineBlock(to, numbers(step.operands[k]), n, op);
  if constexpr (hasBounds) {
    BoundedBlock<C> all = wide(step.target), first = wide(step.operands[0]);
    std::copy_n(first.exact, n, all.exact);
    std::copy_n(first.bound, n, all.bound);
    for (size_t k = 1; k < step.operands.size(); ++k)
      combineBound<C>(all, wide(step.operands[k]), n, op, accum);
    if (step.kind != Term::FoldAny || op == COLL_MIN || op == COLL_MAX ||
        op == COLL_PROD)
      return;
    std::vector<double> magnitudes(n), bounds(n);
    for (uint32_t operand : step.operands) {
      BoundedBlock<C> of = wide(operand);
      for (size_t i = 0; i < n; ++i) {
        magnitudes[i] += std::abs(double(of.exact[i])) + of.bound[i];
        bounds[i] += of.bound[i];
      }
    }
    boundAnyOrder<C>(all, magnitudes.data(), bounds.data(), n,
                     step.operands.size(), accum);
  }
}

/// Integers toward zero.
template <class C>
void Evaluator<C>::evaluateAverage(const TermStep &step, size_t n) {
  const C *from = numbers(step.operands[0]);
  C *to = numbers(step.target);
  const uint32_t ranks = graph.numRanks();
  if constexpr (std::is_integral_v<C>) {
    // The number of ranks need not fit a small type.
    using Wide = std::conditional_t<
        (sizeof(C) < 4),
        std::conditional_t<std::is_signed_v<C>, int32_t, uint32_t>, C>;
    for (size_t i = 0; i < n; ++i)
      to[i] = C(Wide(from[i]) / Wide(ranks));
  } else {
    for (size_t i = 0; i < n; ++i)
      to[i] = from[i] / C(ranks);
    BoundedBlock<C> of = wide(step.operands[0]), result = wide(step.target);
    for (size_t i = 0; i < n; ++i) {
      result.exact[i] = of.exact[i] / X(ranks);
      result.bound[i] = of.bound[i] / ranks;
    }
    roundBound<C>(result, n, accum);
  }
}

namespace {
/// ElementMath's policy on plain numbers.
template <class C> struct ScalarPolicy {
  using V = C;
  static constexpr bool wide = std::is_same_v<C, double>;
  C c(double value) { return C(value); }
  C add(C x, C y) { return x + y; }
  C sub(C x, C y) { return x - y; }
  C mul(C x, C y) { return x * y; }
  C div(C x, C y) { return x / y; }
  C min(C x, C y) { return minOne(x, y); }
  C max(C x, C y) { return maxOne(x, y); }
  C sqrt(C x) { return std::sqrt(x); }
  C abs(C x) { return std::abs(x); }
  C copysign(C magnitude, C sign) { return std::copysign(magnitude, sign); }
  C roundEven(C x) { return std::nearbyint(x); }
  C selectLess(C x, C y, C less, C notLess) { return x < y ? less : notLess; }
  C pow2(C n) {
    using Bits = std::conditional_t<wide, uint64_t, uint32_t>;
    Bits exponent = Bits(int64_t(n != n ? C(0) : n) + (wide ? 1023 : 127));
    return std::bit_cast<C>(Bits(exponent << (wide ? 52 : 23)));
  }
};
} // namespace

template <class C>
static C applyOne(const Function &function, const C *arguments) {
  if constexpr (std::is_floating_point_v<C>) {
    ScalarPolicy<C> p;
    llvm::SmallVector<C, 16> stack;
    auto binary = [&](auto operation) {
      C y = stack.pop_back_val();
      stack.back() = operation(stack.back(), y);
    };
    for (const Function::Node &node : function.code)
      switch (node.op) {
      case Function::Param:
        stack.push_back(arguments[node.param]);
        break;
      case Function::Const:
        stack.push_back(C(node.value));
        break;
      case Function::Neg:
        stack.back() = -stack.back();
        break;
      case Function::Add:
        binary([&](C x, C y) { return p.add(x, y); });
        break;
      case Function::Sub:
        binary([&](C x, C y) { return p.sub(x, y); });
        break;
      case Function::Mul:
        binary([&](C x, C y) { return p.mul(x, y); });
        break;
      case Function::Div:
        binary([&](C x, C y) { return p.div(x, y); });
        break;
      case Function::Min:
        binary([&](C x, C y) { return p.min(x, y); });
        break;
      case Function::Max:
        binary([&](C x, C y) { return p.max(x, y); });
        break;
      case Function::Exp:
        stack.back() = elementmath::exp(p, stack.back());
        break;
      case Function::Tanh:
        stack.back() = elementmath::tanh(p, stack.back());
        break;
      case Function::Rsqrt:
        stack.back() = elementmath::rsqrt(p, stack.back());
        break;
      case Function::Sqrt:
        stack.back() = p.sqrt(stack.back());
        break;
      case Function::Abs:
        stack.back() = p.abs(stack.back());
        break;
      case Function::RowSum:
      case Function::RowMean:
      case Function::RowMax:
        break; // applyToRow's
      }
    return stack.back();
  }
  return C(0); // refused by groupTerms
}

/// One node of a function on whole rows; `stack` holds them.
template <class C>
static void applyNode(const Function &function, const Function::Node &node,
                      llvm::ArrayRef<const C *> arguments, size_t length,
                      std::vector<std::vector<C>> &stack) {
  bool isBinary = node.op == Function::Add || node.op == Function::Sub ||
                  node.op == Function::Mul || node.op == Function::Div ||
                  node.op == Function::Min || node.op == Function::Max;
  if (node.op == Function::Param) {
    const C *from = arguments[node.param];
    stack.emplace_back(from, from + length);
  } else if (node.op == Function::Const) {
    stack.emplace_back(length, C(node.value));
  } else if (node.op >= Function::RowSum) {
    std::vector<C> &row = stack.back();
    C result = node.op == Function::RowMax
                   ? foldRow(row.data(), length,
                             -std::numeric_limits<C>::infinity(), maxOne<C>)
                   : foldRow(row.data(), length, C(0), addOne<C>);
    if (node.op == Function::RowMean)
      result /= C(length);
    row.assign(length, result);
  } else {
    // The same node as a function of its operands.
    Function single = function;
    single.code = {{Function::Param, 0, 0}};
    if (isBinary)
      single.code.push_back({Function::Param, 1, 0});
    single.code.push_back(node);
    std::vector<C> second;
    if (isBinary) {
      second = std::move(stack.back());
      stack.pop_back();
    }
    for (size_t i = 0; i < length; ++i) {
      C operands[] = {stack.back()[i], isBinary ? second[i] : C(0)};
      stack.back()[i] = applyOne<C>(single, operands);
    }
  }
}

template <class C>
static void applyToRow(const Function &function,
                       llvm::ArrayRef<const C *> arguments, size_t length,
                       C *result) {
  if constexpr (std::is_floating_point_v<C>) {
    std::vector<std::vector<C>> stack;
    for (const Function::Node &node : function.code)
      applyNode<C>(function, node, arguments, length, stack);
    std::copy_n(stack.back().data(), length, result);
  }
}

/// No bound is known: functions are compared by their bits alone.
template <class C>
void Evaluator<C>::evaluateFunction(const TermStep &step, size_t n) {
  const Function &function = graph.functions[step.function];
  C *to = numbers(step.target);
  llvm::SmallVector<C, 8> arguments(step.operands.size());
  for (size_t i = 0; function.usesRows && i < n; i += call.row) {
    llvm::SmallVector<const C *> rows;
    for (uint32_t operand : step.operands)
      rows.push_back(numbers(operand) + i);
    applyToRow<C>(function, rows, call.row, to + i);
  }
  for (size_t i = 0; !function.usesRows && i < n; ++i) {
    for (size_t k = 0; k < arguments.size(); ++k)
      arguments[k] = numbers(step.operands[k])[i];
    to[i] = applyOne<C>(function, arguments.data());
  }
  if constexpr (hasBounds) {
    BoundedBlock<C> result = wide(step.target);
    std::copy_n(to, n, result.exact);
    std::fill_n(result.bound, n, unboundedError);
  }
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// Are the numbers that the schedule means themselves within the bound?
template <class C>
void Evaluator<C>::checkBounds(const TermStep &step, size_t n) {
  strayed = 0;
  if constexpr (hasBounds) {
    const C *got = numbers(step.target);
    BoundedBlock<C> exact = wide(step.target);
    double worst = 0;
    for (size_t i = 0; i < n; ++i) {
      double error = std::abs(double(X(got[i]) - exact.exact[i]));
      bool isIn = error <= exact.bound[i] || got[i] != got[i] ||
                  exact.bound[i] == unboundedError;
      strayed += !isIn;
      double share = exact.bound[i] > 0 && isIn && got[i] == got[i] &&
                             exact.bound[i] != unboundedError
                         ? error / exact.bound[i]
                         : 0;
      worst = std::max(worst, share);
    }
    result.maxError = std::max(result.maxError, worst);
  }
}

template <class C>
void Evaluator<C>::report(const TermStep &step, const Output &output,
                          uint64_t element, size_t i, C got) {
  if (result.first.size() >= 8)
    return;
  Mismatch mismatch{output.rank,
                    output.cell,
                    element,
                    double(got),
                    double(numbers(step.target)[i]),
                    0,
                    0,
                    output.site};
  mismatch.exact = mismatch.expected;
  if constexpr (hasBounds) {
    mismatch.exact = double(wide(step.target).exact[i]);
    mismatch.bound = wide(step.target).bound[i];
  }
  result.first.push_back(mismatch);
}

template <class C>
void Evaluator<C>::compare(const TermStep &step, const Output &output,
                           uint64_t begin, size_t n, const void *actual) {
  result.elements += n;
  result.outOfBound += strayed;
  if (std::memcmp(encoded.data(), actual, n * bytesOf(call.dtype)) == 0)
    return;
  loadBlock(actual, actuals.data(), n, call.dtype);
  const C *want = numbers(step.target);
  const uint32_t bytes = bytesOf(call.dtype);
  for (size_t i = 0; i < n; ++i) {
    C got = actuals[i];
    bool isSame =
        std::memcmp(encoded.data() + i * bytes,
                    static_cast<const char *>(actual) + i * bytes, bytes) == 0;
    if (isSame || (got != got && want[i] != want[i]))
      continue;
    bool isOut = false;
    if constexpr (hasBounds) {
      BoundedBlock<C> exact = wide(step.target);
      double error = std::abs(double(X(got) - exact.exact[i]));
      isOut = exact.bound[i] != unboundedError && !(error <= exact.bound[i]) &&
              exact.exact[i] == exact.exact[i];
    }
    if (step.isUnordered && hasBounds && !isOut)
      continue;
    result.wrongBits += !(step.isUnordered && hasBounds);
    result.outOfBound += isOut;
    report(step, output, begin + i, i, got);
  }
}

template <class C>
void Evaluator<C>::deliver(const TermStep &step, uint64_t begin, size_t n) {
  const uint32_t bytes = bytesOf(call.dtype);
  if (places.write) {
    for (uint32_t index : step.outputs) {
      const Output &output = graph.outputs[index];
      char *part = static_cast<char *>(
          (*places.write)(output.rank, output.cell.buffer, output.cell.part));
      storeBlock(numbers(step.target), part + begin * bytes, n, call.dtype);
    }
    return;
  }
  storeBlock(numbers(step.target), encoded.data(), n, call.dtype);
  checkBounds(step, n);
  for (uint32_t index : step.outputs) {
    const Output &output = graph.outputs[index];
    const char *part = static_cast<const char *>(
        (*places.compare)(output.rank, output.cell.buffer, output.cell.part));
    compare(step, output, begin, n, part + begin * bytes);
  }
}

template class Evaluator<float>;
template class Evaluator<double>;
template class Evaluator<int8_t>;
template class Evaluator<uint8_t>;
template class Evaluator<int32_t>;
template class Evaluator<uint32_t>;
template class Evaluator<int64_t>;
template class Evaluator<uint64_t>;

} // namespace coll::interpreter
