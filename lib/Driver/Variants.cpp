//===- Variants.cpp - Types and operations that a plan can have -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Variants.h"

#include "lib/Support/Slugs.h"

using namespace coll;
using namespace coll::lowering;

namespace {
/// A step that integers have no part in.
struct FloatStep {
  SiteId site = kNone;
  std::string why;
};
} // namespace

static std::string whyFloat(const StepShape &shape,
                            const std::vector<Function> &functions) {
  for (const ExprNode &node : shape.expr)
    if (node.kind == ExprNode::Apply)
      return "'" + functions[node.function].name +
             "' computes with floats here";
  auto isFloatType = [](ElemType t) {
    return t != ElemType::T && t != ElemType::Accum;
  };
  ElemType type = shape.type;
  for (const ExprNode &node : shape.expr)
    if (node.kind == ExprNode::Round && isFloatType(node.type))
      type = node.type;
  for (const auto *ports : {&shape.sources, &shape.sinks})
    for (const PortShape &port : *ports)
      if (isFloatType(port.type))
        type = port.type;
  const char *name =
      type == ElemType::MXE4M3 ? "mxe4m3" : nameOf(resolve(type, Format::F32));
  return std::string("elements are ") + name + " here";
}

static FloatStep findFloatStep(const ProgramSet &programs) {
  FloatStep found;
  anyStep(programs, [&](Rank, const RankProgram &, const Step &step,
                        const StepShape &shape) {
    if (shape.needsFloat())
      found = {step.site, whyFloat(shape, programs.functions)};
    return shape.needsFloat();
  });
  return found;
}

bool coll::fitDtypes(Session &session, const Plan &plan, bool mayLeaveOut,
                     std::vector<Format> &dtypes) {
  std::string missing;
  for (Format dtype : dtypes)
    if (!isFloat(dtype))
      missing += (missing.empty() ? "" : ", ") + std::string(nameOf(dtype));
  if (missing.empty() ||
      llvm::none_of(plan.shapes.all(),
                    [](const StepShape &s) { return s.needsFloat(); }))
    return true;
  llvm::erase_if(dtypes, [](Format dtype) { return !isFloat(dtype); });
  const ProgramSet &programs = plan.any();
  FloatStep step = findFloatStep(programs);
  std::string message =
      "schedule '" + plan.name + "' cannot have elements of " + missing;
  bool isLeftOut = mayLeaveOut && !dtypes.empty();
  InFlight said = isLeftOut
                      ? session.diags.warning(Slug::CommandLine, {}, message)
                      : session.usage(message);
  if (step.site != kNone)
    said.note(programs.sites[step.site].range, step.why);
  return isLeftOut;
}

bool coll::fitOps(Session &session, const Plan &plan, bool mayLeaveOut,
                  std::vector<ReduceOp> &ops) {
  const ProgramSet &programs = plan.any();
  if (!programs.reduces || programs.isAvgLegal ||
      !llvm::is_contained(ops, ReduceOp::Avg))
    return true;
  llvm::erase(ops, ReduceOp::Avg);
  std::string message = "schedule '" + plan.name +
                        "' cannot have avg: contract '" + programs.contract +
                        "' has an output that is not of all ranks";
  bool isLeftOut = mayLeaveOut && !ops.empty();
  (isLeftOut ? session.diags.warning(Slug::CommandLine, {}, message)
             : session.usage(message))
      .emit();
  return isLeftOut;
}
