//===- ProgramCheckTerms.cpp - What programs are compared by --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/ProgramCheckRun.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::check;

static std::vector<ElemType> leafTypes(const ProgramSet &programs,
                                       uint32_t member, uint32_t rounds) {
  std::vector<ElemType> types;
  for (uint32_t round = 0; round < rounds; ++round)
    for (bool isRaw : {false, true})
      for (const Buffer &buffer : programs.members[member].buffers) {
        bool isWide = buffer.kind == Buffer::Scalar ||
                      (!isRaw && programs.reduces && buffer.kind == Buffer::In);
        types.push_back(isWide ? ElemType::Accum : ElemType::T);
      }
  return types;
}

CheckTerms::CheckTerms(const ProgramSet &programs, uint32_t member,
                       const ChunkGraph *graph, uint32_t rounds)
    : table(graph ? TermTable(graph->terms, graph->termOperands,
                              leafTypes(programs, member, rounds))
                  : TermTable(leafTypes(programs, member, rounds))),
      numBuffers(programs.members[member].buffers.size()),
      numRanks(programs.numRanks()) {
  for (const Buffer &buffer : programs.members[member].buffers)
    scaled.push_back(programs.reduces && buffer.kind == Buffer::In);
}

TermId CheckTerms::rawLeaf(Rank rank, const Cell &cell, uint32_t round) {
  uint32_t buffer = cell.buffer + 2 * numBuffers * round +
                    (scaled[cell.buffer] ? numBuffers : 0);
  return table.leaf(buffer, cell.part, cell.chunk, rank);
}

TermId CheckTerms::scaledLeaf(TermId term) {
  if (table[term].kind != Term::Leaf)
    return kNone;
  llvm::ArrayRef<uint32_t> leaf = table.operandsOf(term);
  if (leaf[0] / numBuffers % 2 == 0)
    return kNone;
  return table.leaf(leaf[0] - numBuffers, leaf[1], leaf[2], leaf[3]);
}

TermId CheckTerms::result(const ValueExpr &expr,
                          llvm::ArrayRef<TermId> operands, bool complete,
                          ElemType type) {
  if (!complete || numRanks == 1) // division by 1
    return table.evaluate(expr, operands, type);
  TermId sum = table.evaluate(expr, operands, ElemType::Accum);
  return table.round(table.apply(averageFunction, sum), type);
}

std::vector<TermId> CheckTerms::evaluate(const ChunkGraph &graph,
                                         uint32_t round, bool withAverage) {
  std::vector<TermId> result(graph.values.size());
  llvm::SmallVector<TermId, 8> operands;
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    const Value &value = graph.values[v];
    if (value.kind == Value::Input) {
      result[v] = table.leaf(value.cell.buffer + 2 * numBuffers * round,
                             value.cell.part, value.cell.chunk, value.rank);
      continue;
    }
    operands.clear();
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const Operand &operand = graph.operandsOf(value)[i];
      TermId term = result[operand.value];
      operands.push_back(operand.hasVia ? table.round(term, operand.via)
                                        : term);
    }
    result[v] = this->result(graph.exprs[value.expr], operands,
                             withAverage && value.complete, value.type);
  }
  return result;
}

std::vector<TermId> CheckTerms::leavesOf(TermId term) const {
  std::vector<TermId> stack{term}, leaves;
  llvm::DenseSet<TermId> seen;
  while (!stack.empty()) {
    TermId at = stack.back();
    stack.pop_back();
    if (!seen.insert(at).second)
      continue;
    if (table[at].kind == Term::Leaf)
      leaves.push_back(at);
    else
      stack.insert(stack.end(), table.operandsOf(at).begin(),
                   table.operandsOf(at).end());
  }
  llvm::sort(leaves);
  return leaves;
}

bool CheckTerms::haveSameLeaves(TermId a, TermId b) const {
  return a == b || leavesOf(a) == leavesOf(b);
}
