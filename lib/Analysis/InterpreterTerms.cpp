//===- InterpreterTerms.cpp - What the interpreter evaluates --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/InterpreterTerms.h"

#include "lib/Support/BlockScale.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace coll;
using namespace coll::interpreter;

bool interpreter::isFloat(coll_dtype dtype) { return dtype >= COLL_F16; }

namespace {
constexpr uint16_t averageFunction = UINT16_MAX;

class Grouper {
public:
  Grouper(const ChunkGraph &graph, const InterpreterCall &call)
      : graph(graph), call(call) {}
  TermGroups run();

private:
  void markAverages();
  void addGroup(uint32_t size, uint32_t chunk,
                const std::vector<uint32_t> &outputs);
  TermStep stepOf(TermId term,
                  const llvm::DenseMap<TermId, uint32_t> &stepOfTerm,
                  const TermGroup &group);
  void giveRegisters(
      TermGroup &group,
      const std::vector<llvm::SmallVector<uint32_t, 3>> &operandSteps) const;
  void checkRound(ElemType type);

  const ChunkGraph &graph;
  const InterpreterCall &call;
  BigVector<Term> ownTerms; // with averages
  BigVector<uint32_t> ownOperands;
  llvm::ArrayRef<Term> terms; // the graph's, or these
  llvm::ArrayRef<uint32_t> operands;
  std::vector<TermId> termOf; // by output
  TermGroups result;
};
} // namespace

/// Where avg divides is said by values, not by terms: evaluates the values
/// again, with the division as a function.
void Grouper::markAverages() {
  TermTable table(leafTypesOf(graph));
  std::vector<TermId> of(graph.values.size());
  llvm::SmallVector<TermId, 8> ops;
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    const Value &value = graph.values[v];
    if (value.kind == Value::Input) {
      of[v] = table.leaf(value.cell.buffer, value.cell.part, value.cell.chunk,
                         value.rank);
      continue;
    }
    ops.clear();
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const Operand &operand = graph.operandsOf(value)[i];
      ops.push_back(operand.hasVia ? table.round(of[operand.value], operand.via)
                                   : of[operand.value]);
    }
    const ValueExpr &expr = graph.exprs[value.expr];
    of[v] = value.complete
                ? table.round(
                      table.apply(averageFunction,
                                  table.evaluate(expr, ops, ElemType::Accum)),
                      value.type)
                : table.evaluate(expr, ops, value.type);
  }
  for (const Output &output : graph.outputs)
    termOf.push_back(of[output.value]);
  ownTerms = table.takeTerms();
  ownOperands = table.takeOperands();
  terms = ownTerms;
  operands = ownOperands;
}

void Grouper::checkRound(ElemType type) {
  if (type == ElemType::MXE4M3 && call.unit % blockElements != 0)
    result.error = "mxe4m3 has blocks, and nothing says where they are";
  else if (type != ElemType::T && type != ElemType::Accum &&
           !isFloat(call.dtype))
    result.error = "the schedule rounds to a floating-point type, which "
                   "integers cannot be rounded to";
}

TermStep Grouper::stepOf(TermId id,
                         const llvm::DenseMap<TermId, uint32_t> &stepOfTerm,
                         const TermGroup &group) {
  const Term &term = terms[id];
  const uint32_t *ops = operands.data() + term.first;
  TermStep step{
      .kind = term.kind, .type = term.type, .function = term.function};
  if (term.kind == Term::Leaf) {
    step.cell = {uint16_t(ops[0]), ops[1], ops[2]};
    step.rank = ops[3];
    Buffer::Kind kind = graph.buffers[ops[0]].kind;
    step.isScaled =
        kind == Buffer::In && graph.reduces && call.op == COLL_PREMUL_SUM;
    return step;
  }
  step.isAverage = term.kind == Term::Apply && term.function == averageFunction;
  if (term.kind == Term::Apply && !step.isAverage && !isFloat(call.dtype))
    result.error = "functions are defined on floating-point types only";
  if (term.kind == Term::Round)
    checkRound(term.type);
  step.isUnordered = term.kind == Term::FoldAny && term.count > 2;
  for (uint32_t i = 0; i < term.count; ++i)
    step.isUnordered |= group.steps[stepOfTerm.lookup(ops[i])].isUnordered;
  return step;
}

/// A result's register is free after its last user.
void Grouper::giveRegisters(
    TermGroup &group,
    const std::vector<llvm::SmallVector<uint32_t, 3>> &operandSteps) const {
  std::vector<uint32_t> lastUser(group.steps.size(), 0);
  for (uint32_t s = 0; s < group.steps.size(); ++s)
    for (uint32_t operand : operandSteps[s])
      lastUser[operand] = s;
  std::vector<uint32_t> free;
  for (uint32_t s = 0; s < group.steps.size(); ++s) {
    TermStep &step = group.steps[s];
    if (free.empty())
      free.push_back(group.numRegisters++);
    step.target = free.back();
    free.pop_back();
    for (uint32_t operand : operandSteps[s])
      step.operands.push_back(group.steps[operand].target);
    llvm::SmallVector<uint32_t, 3> ended(operandSteps[s]);
    llvm::sort(ended);
    ended.erase(std::unique(ended.begin(), ended.end()), ended.end());
    for (uint32_t operand : ended)
      if (lastUser[operand] == s)
        free.push_back(group.steps[operand].target);
    if (lastUser[s] <= s &&
        llvm::none_of(operandSteps[s], [&](uint32_t o) { return o == s; }))
      free.push_back(step.target); // it goes to its outputs only
  }
}

void Grouper::addGroup(uint32_t size, uint32_t chunk,
                       const std::vector<uint32_t> &outputs) {
  // What is needed, in the order of ids: operands are older than users.
  std::vector<TermId> needed, stack;
  llvm::DenseMap<TermId, uint32_t> stepOfTerm;
  for (uint32_t output : outputs)
    stack.push_back(termOf[output]);
  while (!stack.empty()) {
    TermId id = stack.back();
    stack.pop_back();
    if (!stepOfTerm.try_emplace(id, 0).second)
      continue;
    needed.push_back(id);
    if (terms[id].kind != Term::Leaf)
      stack.insert(stack.end(), operands.begin() + terms[id].first,
                   operands.begin() + terms[id].first + terms[id].count);
  }
  llvm::sort(needed);
  TermGroup &group = result.groups.emplace_back(TermGroup{size, chunk, {}});
  std::vector<llvm::SmallVector<uint32_t, 3>> operandSteps;
  for (TermId id : needed) {
    auto &ofStep = operandSteps.emplace_back();
    if (terms[id].kind != Term::Leaf)
      for (uint32_t i = 0; i < terms[id].count; ++i)
        ofStep.push_back(stepOfTerm[operands[terms[id].first + i]]);
    stepOfTerm[id] = group.steps.size();
    group.steps.push_back(stepOf(id, stepOfTerm, group));
  }
  for (uint32_t output : outputs)
    group.steps[stepOfTerm[termOf[output]]].outputs.push_back(output);
  giveRegisters(group, operandSteps);
}

TermGroups Grouper::run() {
  if (graph.map.byRow && !call.row) {
    result.error = "nothing says how many elements a row has";
    return std::move(result);
  }
  bool hasAverage = call.op == COLL_AVG && graph.numRanks() > 1;
  if (hasAverage && llvm::any_of(graph.values, [](const Value &value) {
        return value.complete;
      })) {
    markAverages();
  } else {
    terms = graph.terms;
    operands = graph.termOperands;
    for (const Output &output : graph.outputs)
      termOf.push_back(graph.values[output.value].term);
  }
  if (call.op == COLL_AVG && graph.reduces && !graph.isAvgLegal) {
    result.error = "avg is not defined on this contract";
    return std::move(result);
  }
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> byExtent;
  for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
    const Extent &extent =
        graph.extents[graph.values[graph.outputs[i].value].extent];
    byExtent[{extent.size, extent.chunk}].push_back(i);
  }
  for (auto &[extent, outputs] : byExtent)
    addGroup(extent.first, extent.second, outputs);
  return std::move(result);
}

TermGroups interpreter::groupTerms(const ChunkGraph &graph,
                                   const InterpreterCall &call) {
  return Grouper(graph, call).run();
}
