//===- Numbers.h - What the executor computes with --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A number is a hash of what was done, with the type it is exact in; so two of
// them are equal if, and but for collisions only if, the bits are, for every
// input, dtype and op.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCHEDULE_NUMBERS_H
#define COLL_TEST_UNIT_SCHEDULE_NUMBERS_H

#include "lib/Analysis/ChunkGraph.h"

#include <algorithm>

namespace coll::test {

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ b * 0x9e3779b97f4a7c15u) + 0x632be59bd9b4e019u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

struct Number {
  uint64_t hash = 0;
  ElemType type = ElemType::Accum; // one that it is exact in
  bool isRaw = false;              // a leaf that premul_sum has not multiplied
  bool operator==(const Number &) const = default;
};

/// Which formats hold which others, by their bits of exponent and mantissa.
inline bool holds(ElemType wide, ElemType narrow) {
  if (wide == narrow)
    return true;
  if (narrow == ElemType::T)
    return wide == ElemType::Accum;
  auto bits = [](ElemType t) {
    switch (t) {
    case ElemType::E4M3:
      return std::pair(4, 3);
    case ElemType::E5M2:
      return std::pair(5, 2);
    case ElemType::F16:
      return std::pair(5, 10);
    case ElemType::BF16:
      return std::pair(8, 7);
    case ElemType::F32:
      return std::pair(8, 23);
    case ElemType::F64:
      return std::pair(11, 52);
    default:
      return std::pair(0, 0);
    }
  };
  auto [we, wm] = bits(wide);
  auto [ne, nm] = bits(narrow);
  return ne && we >= ne && wm >= nm;
}

inline Number rounded(Number x, ElemType type) {
  if (holds(type, x.type))
    return x;
  // To round before premul_sum's factor is something else than after it.
  uint64_t hash = x.isRaw ? mix(x.hash, 6) : x.hash;
  return {mix(hash, 100 + int(type)), type};
}

/// Like +: commutative, not associative.
inline Number combined(Number a, Number b, uint64_t op) {
  return {mix(a.hash + b.hash, mix(a.hash * b.hash, op))};
}

inline Number evaluate(const ValueExpr &expr,
                       const std::vector<Number> &operands) {
  std::vector<Number> stack;
  for (const ExprNode &node : expr.nodes) {
    size_t takes = node.kind == ExprNode::Operand ? 0
                   : node.kind == ExprNode::Round ? 1
                   : node.kind == ExprNode::Add   ? 2
                                                  : node.arg;
    std::vector<Number> args(stack.end() - takes, stack.end());
    stack.resize(stack.size() - takes);
    switch (node.kind) {
    case ExprNode::Operand:
      stack.push_back(operands[node.arg]);
      break;
    case ExprNode::Round:
      stack.push_back(rounded(args[0], node.type));
      break;
    case ExprNode::Add:
      stack.push_back(combined(args[0], args[1], 1));
      break;
    case ExprNode::FoldAny:
      std::sort(args.begin(), args.end(),
                [](auto &a, auto &b) { return a.hash < b.hash; });
      [[fallthrough]];
    case ExprNode::Fold: {
      Number sum = args[0];
      for (size_t i = 1; i < args.size(); ++i)
        sum = combined(sum, args[i], node.kind == ExprNode::Fold ? 2 : 3);
      stack.push_back(sum);
      break;
    }
    case ExprNode::Apply: {
      uint64_t hash = 1000 + node.function;
      for (Number arg : args)
        hash = mix(hash, arg.hash);
      stack.push_back({hash});
      break;
    }
    }
  }
  return stack.back();
}

inline Number finished(Number x, bool complete, ElemType type) {
  if (complete)
    x = {mix(x.hash, 77)};
  return rounded(x, type);
}

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_NUMBERS_H
