//===- RowValues.cpp - What functions reduce over rows --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Lowering/RowValues.h"

#include <map>
#include <tuple>

namespace coll::lowering {
using namespace mlir;
using llvm::SmallVector;

namespace {
/// Evaluates an expression without numbers: equal values have equal names.
class Finder {
public:
  Finder(const std::vector<Function> &functions) : functions(functions) {}
  RowReductions run(const std::vector<ExprNode> &expr);

private:
  struct Named {
    unsigned name = 0, passes = 0; // known after so many passes
  };
  using Key = std::tuple<unsigned, uint64_t, SmallVector<unsigned, 4>>;
  struct Less {
    bool operator()(const Key &a, const Key &b) const {
      if (std::get<0>(a) != std::get<0>(b) || std::get<1>(a) != std::get<1>(b))
        return std::tie(std::get<0>(a), std::get<1>(a)) <
               std::tie(std::get<0>(b), std::get<1>(b));
      return std::lexicographical_compare(
          std::get<2>(a).begin(), std::get<2>(a).end(), std::get<2>(b).begin(),
          std::get<2>(b).end());
    }
  };
  Named make(unsigned kind, uint64_t detail, ArrayRef<Named> operands);
  Named reduce(Function::Op op, Named operand);
  Named call(const Function &function, ArrayRef<Named> arguments);

  const std::vector<Function> &functions;
  std::map<Key, unsigned, Less> names;
  std::map<std::pair<bool, unsigned>, unsigned> numbers; // of reductions
  RowReductions result;
};
} // namespace

// Nodes of functions and of expressions are numbered apart.
constexpr unsigned kExprKinds = 100;

Finder::Named Finder::make(unsigned kind, uint64_t detail,
                           ArrayRef<Named> operands) {
  Key key{kind, detail, {}};
  Named value;
  for (Named operand : operands) {
    std::get<2>(key).push_back(operand.name);
    value.passes = std::max(value.passes, operand.passes);
  }
  value.name = names.try_emplace(key, names.size()).first->second;
  return value;
}

Finder::Named Finder::reduce(Function::Op op, Named operand) {
  bool isMax = op == Function::RowMax;
  auto [at, isNew] =
      numbers.try_emplace(std::pair(isMax, operand.name), result.all.size());
  if (isNew)
    result.all.push_back({isMax, operand.passes});
  result.uses.push_back({at->second, op == Function::RowMean});
  result.passes = std::max(result.passes, operand.passes + 1);
  Named value = make(op, 0, operand);
  value.passes = operand.passes + 1;
  return value;
}

Finder::Named Finder::call(const Function &function,
                           ArrayRef<Named> arguments) {
  SmallVector<Named> stack;
  for (const Function::Node &node : function.code)
    switch (node.op) {
    case Function::Param:
      stack.push_back(arguments[node.param]);
      break;
    case Function::Const:
      stack.push_back(
          make(Function::Const, llvm::bit_cast<uint64_t>(node.value), {}));
      break;
    case Function::RowSum:
    case Function::RowMean:
    case Function::RowMax:
      stack.back() = reduce(node.op, stack.back());
      break;
    case Function::Add:
    case Function::Sub:
    case Function::Mul:
    case Function::Div:
    case Function::Min:
    case Function::Max: {
      Named y = stack.pop_back_val();
      stack.back() = make(node.op, 0, {stack.back(), y});
      break;
    }
    default:
      stack.back() = make(node.op, 0, stack.back());
      break;
    }
  return stack.back();
}

RowReductions Finder::run(const std::vector<ExprNode> &expr) {
  SmallVector<Named> stack;
  for (const ExprNode &node : expr) {
    if (node.kind == ExprNode::Operand) {
      stack.push_back(make(kExprKinds + node.kind, node.arg, {}));
      continue;
    }
    unsigned count = node.kind == ExprNode::Add     ? 2
                     : node.kind == ExprNode::Round ? 1
                                                    : node.arg;
    SmallVector<Named> operands(stack.end() - count, stack.end());
    stack.truncate(stack.size() - count);
    stack.push_back(
        node.kind == ExprNode::Apply
            ? call(functions[node.function], operands)
            : make(kExprKinds + node.kind, uint64_t(node.type), operands));
  }
  return std::move(result);
}

RowReductions findRowReductions(const std::vector<ExprNode> &expr,
                                const std::vector<Function> &functions) {
  return Finder(functions).run(expr);
}

Value RowValues::take(Value operand) {
  const RowReductions::Use &use = plan.uses[next++];
  operands[use.reduction] = operand;
  Value scalar = known[use.reduction];
  if (!scalar)
    return operand;
  if (use.isMean) {
    Value n = arith::UIToFPOp::create(b, scalar.getType(), length);
    scalar = arith::DivFOp::create(b, scalar, n);
  }
  return Arithmetic(b, Isa::V2).splat(scalar, operand.getType());
}

SmallVector<unsigned> RowValues::of(unsigned pass) const {
  SmallVector<unsigned> list;
  for (unsigned i = 0; i < plan.all.size(); ++i)
    if (plan.all[i].pass == pass)
      list.push_back(i);
  return list;
}

Value RowValues::combine(unsigned reduction, Value x, Value y) {
  if (isMax(reduction))
    return arith::MaximumFOp::create(b, x, y);
  return arith::AddFOp::create(b, x, y);
}

TileOperands operandsOfRow(Builder &b, const StepShape &shape,
                           const Variant &variant, const TileOperands &operands,
                           Value row) {
  TileOperands result = operands;
  Value first = b.mul(row, operands.rowElements);
  auto move = [&](ArrayRef<PortShape> ports, SmallVectorImpl<Value> &pointers) {
    for (auto [port, pointer] : llvm::zip_equal(ports, pointers))
      if (port.place != PortShape::Scalar && port.place != PortShape::Row)
        pointer = b.at(
            pointer,
            b.mul(first, b.cst(bytesOf(resolve(port.type, variant.dtype)))));
  };
  move(shape.sources, result.sources);
  if (shape.loopSinks)
    result.sinkShift = first;
  else
    move(shape.sinks, result.sinks);
  result.elements = operands.rowElements;
  return result;
}

} // namespace coll::lowering
