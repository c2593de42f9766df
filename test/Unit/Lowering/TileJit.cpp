//===- TileJit.cpp - Inner loops as functions of this process -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileJit.h"

#include "lib/Lowering/KernelBuilder.h"
#include "lib/Lowering/Primitives.h"
#include "lib/Target/HostCode.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace coll::lowering {

StepShape convertShape(ElemType from, ElemType to) {
  StepShape shape;
  shape.sources.resize(1);
  shape.sinks.resize(1);
  shape.sources[0].type = from;
  shape.type = shape.sinks[0].type = to;
  shape.expr = {ExprNode{ExprNode::Operand, ElemType::T, 0, 0}};
  return shape;
}

StepShape foldShape(unsigned sources) {
  StepShape shape;
  shape.sinks.resize(1);
  if (sources > kMaxUnrolledSources) {
    shape.sources.resize(1);
    shape.loopSources = true;
    if (sources <= kMaxCountedSources)
      shape.numSources = sources;
    return shape;
  }
  shape.sources.resize(sources);
  for (unsigned i = 0; i < sources; ++i)
    shape.expr.push_back(ExprNode{ExprNode::Operand, ElemType::T, 0, i});
  shape.expr.push_back(ExprNode{ExprNode::Fold, ElemType::T, 0, sources});
  return shape;
}

std::vector<Isa> nativeIsas() {
#if defined(__x86_64__)
  std::vector<Isa> isas{Isa::V2};
  if (__builtin_cpu_supports("x86-64-v3"))
    isas.push_back(Isa::V3);
  if (__builtin_cpu_supports("x86-64-v4"))
    isas.push_back(Isa::V4);
  return isas;
#else
  return {Isa::AArch64};
#endif
}

/// (sources, sinks, elements, ranks, factor): the arrays hold pointers.
static void buildFunction(mlir::ModuleOp module, const StepShape &shape,
                          const Variant &variant,
                          const std::vector<Function> &functions) {
  Builder b(module.getContext());
  mlir::func::FuncOp fn =
      beginFunction(b, module, "tile",
                    {b.ptr(), b.ptr(), b.i64(), b.i64(), b.getF64Type()}, {});
  fn.setPublic();
  fn->removeAttr("llvm.linkage");
  fn->setAttr("coll.isa", b.getStringAttr(nameOf(variant.isa)));
  TileOperands operands;
  operands.sourceArray = fn.getArgument(0);
  operands.sinkArray = fn.getArgument(1);
  operands.elements = fn.getArgument(2);
  operands.numRanks = fn.getArgument(3);
  operands.factor = fn.getArgument(4);
  for (unsigned i = 0;
       i < std::max<unsigned>(shape.sources.size(), shape.numSources); ++i)
    operands.sources.push_back(
        b.load(b.ptr(), b.at(operands.sourceArray, uint64_t(8) * i), 8));
  for (unsigned i = 0; i < shape.sinks.size(); ++i)
    operands.sinks.push_back(
        b.load(b.ptr(), b.at(operands.sinkArray, uint64_t(8) * i), 8));
  // A looped side ends with a null pointer in the tests: its length is the
  // number of ranks.
  operands.numSources = operands.numSinks = operands.numRanks;
  emitTileLoops(b, shape, variant, functions, operands);
  mlir::func::ReturnOp::create(b);
}

TileJit::TileJit(const StepShape &shape, const Variant &variant,
                 const std::vector<Function> &functions) {
  mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  loadKernelDialects(&mlirContext);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&mlirContext));
  buildFunction(*module, shape, variant, functions);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto machine = llvm::cantFail(createHostMachine(nativeArch()));
  auto llvmModule =
      llvm::cantFail(translateKernels(*module, *context, *machine));
  optimize(*llvmModule, *machine);
  jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addIRModule(
      llvm::orc::ThreadSafeModule(std::move(llvmModule), std::move(context))));
  function = llvm::cantFail(jit->lookup("tile")).toPtr<decltype(function)>();
}

TileJit::~TileJit() = default;

void TileJit::run(const std::vector<const void *> &sources,
                  const std::vector<void *> &sinks, uint64_t elements,
                  uint64_t ranks, double factor) {
  function(sources.data(), sinks.data(), elements, ranks, factor);
}

} // namespace coll::lowering
