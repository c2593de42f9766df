//===- FunctionFromIR.cpp - The code of a coll.function -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SSA values to postfix code: each value has the code of its operands, one
// after the other, then its own node. In the order of the ops, without
// recursion.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/FunctionFromIR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace coll;

static Function::Node nodeOf(mlir::Operation &op) {
  Function::Node node{};
  node.op = llvm::TypeSwitch<mlir::Operation *, Function::Op>(&op)
                .Case([](mlir::arith::NegFOp) { return Function::Neg; })
                .Case([](mlir::arith::AddFOp) { return Function::Add; })
                .Case([](mlir::arith::SubFOp) { return Function::Sub; })
                .Case([](mlir::arith::MulFOp) { return Function::Mul; })
                .Case([](mlir::arith::DivFOp) { return Function::Div; })
                .Case([](mlir::arith::MinimumFOp) { return Function::Min; })
                .Case([](mlir::arith::MaximumFOp) { return Function::Max; })
                .Case([](mlir::math::ExpOp) { return Function::Exp; })
                .Case([](mlir::math::SqrtOp) { return Function::Sqrt; })
                .Case([](mlir::math::RsqrtOp) { return Function::Rsqrt; })
                .Case([](mlir::math::TanhOp) { return Function::Tanh; })
                .Case([](mlir::math::AbsFOp) { return Function::Abs; })
                .Case([](RowOp row) {
                  return row.getReduction() == RowReduction::Sum
                             ? Function::RowSum
                         : row.getReduction() == RowReduction::Mean
                             ? Function::RowMean
                             : Function::RowMax;
                })
                .Case([&](mlir::arith::ConstantOp constant) {
                  node.value = mlir::cast<mlir::FloatAttr>(constant.getValue())
                                   .getValueAsDouble();
                  return Function::Const;
                });
  return node;
}

mlir::FailureOr<Function> coll::functionFromIR(FunctionOp op) {
  Function function;
  function.name = op.getSymName().str();
  for (auto kind : op.getKinds().getAsRange<BufferKindAttr>())
    function.params.push_back(kind.getValue() == BufferKind::Elem ? Buffer::In
                              : kind.getValue() == BufferKind::Row
                                  ? Buffer::RowArg
                                  : Buffer::Scalar);
  llvm::DenseMap<mlir::Value, std::vector<Function::Node>> codeOf;
  mlir::Block &body = op.getBody().front();
  for (mlir::BlockArgument arg : body.getArguments())
    codeOf[arg] = {{Function::Param, arg.getArgNumber(), 0}};
  for (mlir::Operation &inner : body) {
    std::vector<Function::Node> code;
    for (mlir::Value operand : inner.getOperands()) {
      const std::vector<Function::Node> &part = codeOf[operand];
      code.insert(code.end(), part.begin(), part.end());
    }
    if (code.size() >= maxFunctionNodes)
      return inner.emitError("function has more than ")
             << maxFunctionNodes << " nodes";
    if (mlir::isa<YieldOp>(inner)) {
      function.code = std::move(code);
      return function;
    }
    function.usesRows |= mlir::isa<RowOp>(inner);
    code.push_back(nodeOf(inner));
    codeOf[inner.getResult(0)] = std::move(code);
  }
  llvm_unreachable("no terminator");
}
