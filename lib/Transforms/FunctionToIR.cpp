//===- FunctionToIR.cpp - Functions as ops --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Postfix code to a tree of SSA values: a stack of values.
//
//===----------------------------------------------------------------------===//

#include "lib/Transforms/ProgramToIR.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

using namespace coll;

static BufferKind kindOf(Buffer::Kind kind) {
  switch (kind) {
  case Buffer::In:
  case Buffer::ElemArg:
    return BufferKind::Elem;
  case Buffer::RowArg:
    return BufferKind::Row;
  case Buffer::Scalar:
    return BufferKind::Scalar;
  case Buffer::Out:
    break;
  }
  llvm_unreachable("no function has such a parameter");
}

static mlir::Value makeNode(mlir::OpBuilder &b, const Function::Node &node,
                            mlir::Block &body,
                            llvm::SmallVectorImpl<mlir::Value> &stack) {
  mlir::Location loc = b.getUnknownLoc();
  auto pop = [&] { return stack.pop_back_val(); };
  auto binary = [&](auto op) -> mlir::Value {
    mlir::Value rhs = pop(), lhs = pop();
    return decltype(op)::create(b, loc, lhs, rhs);
  };
  auto unary = [&](auto op) -> mlir::Value {
    return decltype(op)::create(b, loc, pop());
  };
  auto row = [&](RowReduction reduction) -> mlir::Value {
    return RowOp::create(b, loc, reduction, pop());
  };
  switch (node.op) {
  case Function::Param:
    return body.getArgument(node.param);
  case Function::Const:
    return mlir::arith::ConstantOp::create(b, loc,
                                           b.getF64FloatAttr(node.value));
  case Function::Neg:
    return unary(mlir::arith::NegFOp());
  case Function::Add:
    return binary(mlir::arith::AddFOp());
  case Function::Sub:
    return binary(mlir::arith::SubFOp());
  case Function::Mul:
    return binary(mlir::arith::MulFOp());
  case Function::Div:
    return binary(mlir::arith::DivFOp());
  case Function::Exp:
    return unary(mlir::math::ExpOp());
  case Function::Sqrt:
    return unary(mlir::math::SqrtOp());
  case Function::Rsqrt:
    return unary(mlir::math::RsqrtOp());
  case Function::Tanh:
    return unary(mlir::math::TanhOp());
  case Function::Abs:
    return unary(mlir::math::AbsFOp());
  case Function::Min:
    return binary(mlir::arith::MinimumFOp());
  case Function::Max:
    return binary(mlir::arith::MaximumFOp());
  case Function::RowSum:
    return row(RowReduction::Sum);
  case Function::RowMean:
    return row(RowReduction::Mean);
  case Function::RowMax:
    return row(RowReduction::Max);
  }
  llvm_unreachable("unknown node");
}

void coll::functionToIR(const Function &function, mlir::OpBuilder &b) {
  mlir::SmallVector<mlir::Attribute> kinds;
  for (Buffer::Kind kind : function.params)
    kinds.push_back(BufferKindAttr::get(b.getContext(), kindOf(kind)));
  auto op = FunctionOp::create(b, b.getUnknownLoc(), function.name,
                               b.getArrayAttr(kinds));
  mlir::OpBuilder::InsertionGuard guard(b);
  mlir::Block *body = b.createBlock(&op.getBody());
  for (size_t i = 0; i < kinds.size(); ++i)
    body->addArgument(b.getF64Type(), b.getUnknownLoc());
  mlir::SmallVector<mlir::Value> stack;
  for (const Function::Node &node : function.code)
    stack.push_back(makeNode(b, node, *body, stack));
  assert(stack.size() == 1 && "bad postfix code");
  YieldOp::create(b, b.getUnknownLoc(), stack.back());
}
