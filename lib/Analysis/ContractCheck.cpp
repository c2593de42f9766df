//===- ContractCheck.cpp - Outputs against what is promised ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ContractCheck.h"

#include "llvm/ADT/DenseSet.h"

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

void ContractCheck::expand(uint32_t id) {
  expansions.resize(m.expectations.size());
  const ExprRef &expr = m.expectations[id];
  std::vector<llvm::SmallVector<uint32_t>> cells(expr.reads.size());
  size_t size = 1;
  for (auto [i, read] : llvm::enumerate(expr.reads)) {
    if (m.state.arrays[read.view.array].isBroadcast)
      continue;
    m.state.cellsOf(read.view, cells[i]);
    size = cells[i].size();
  }
  ValueExpr nodes{{expr.nodes.begin(), expr.nodes.end()}};
  llvm::SmallVector<TermId> operands;
  for (size_t e = 0; e < size; ++e) {
    operands.clear();
    bool isEmpty = false;
    for (auto [i, read] : llvm::enumerate(expr.reads)) {
      uint32_t cell = cells[i].empty() ? 0 : cells[i][e];
      operands.push_back(termAt(read.view.array, read.rank, cell));
      isEmpty |= operands.back() == kNone;
    }
    expansions[id].push_back(
        isEmpty ? kNone
                : m.builder.terms.evaluate(nodes, operands, ElemType::Accum));
  }
}

/// A leaf, or what an `out` holds.
TermId ContractCheck::termAt(uint32_t id, Rank rank, uint32_t cell) {
  const Array &array = m.state.arrays[id];
  if (m.graph.buffers[array.buffer].kind != Buffer::Out) {
    Cell at = m.state.cellOf(array, cell);
    return m.builder.terms.leaf(at.buffer, at.part, at.chunk, rank);
  }
  ValueId value = m.state.peek(id, rank, cell);
  return value == kNone ? kNone : m.graph.values[value].term;
}

TermId ContractCheck::expected(const Promise &promise) {
  if (promise.isLocation)
    return termAt(promise.what, promise.from, promise.element);
  if (expansions.size() <= promise.what || expansions[promise.what].empty())
    expand(promise.what);
  return expansions[promise.what][promise.element];
}

bool ContractCheck::run() {
  for (auto [i, promise] : llvm::enumerate(m.promises)) {
    ValueId value = held(promise);
    TermId want = expected(promise);
    bool isKept = value != kNone && want != kNone &&
                  meanings(m.graph.values[value].term) == meanings(want);
    if (m.sink.failure)
      return false;
    if (!isKept && numWrong++ == 0)
      firstWrong = i;
  }
  return numWrong == 0;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// Of each value, which computations of reduce_any it comes from; 0: none.
/// Empty if there are none at all. Two of them may give different bits for the
/// same term.
std::vector<uint64_t> ContractCheck::hardwareSums() {
  bool isAny = llvm::any_of(m.graph.exprs, [](const ValueExpr &expr) {
    return llvm::any_of(expr.nodes, [](const ExprNode &node) {
      return node.kind == ExprNode::FoldAny;
    });
  });
  if (!isAny)
    return {};
  std::vector<uint64_t> sums(m.graph.values.size());
  for (auto [id, value] : llvm::enumerate(m.graph.values)) {
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      uint64_t from = sums[m.graph.operandsOf(value)[i].value];
      if (value.numOperands == 1)
        sums[id] = from;
      else if (from != 0)
        sums[id] = (sums[id] ^ from) * 0x9e3779b97f4a7c15u;
    }
    if (value.kind == Value::Op)
      for (const ExprNode &node : m.graph.exprs[value.expr].nodes)
        if (node.kind == ExprNode::FoldAny)
          sums[id] = (id + 1) * 0x9e3779b97f4a7c15u;
  }
  return sums;
}

ContractCheck::Comparison ContractCheck::compareBits() {
  std::vector<uint64_t> sums = hardwareSums();
  // Promises of the same are found by the first of them: of an expectation's
  // element, or of a location.
  std::vector<std::vector<uint32_t>> first(m.expectations.size()),
      firstOf(m.state.arrays.size());
  llvm::DenseMap<std::pair<uint32_t, uint64_t>, uint32_t> firstOfFar;
  Comparison result;
  for (auto [i, promise] : llvm::enumerate(m.promises)) {
    size_t at = promise.element;
    if (promise.isLocation)
      at += size_t(promise.from) * m.state.arrays[promise.what].cells;
    std::vector<uint32_t> &known =
        (promise.isLocation ? firstOf : first)[promise.what];
    bool isNear = at <= 4 * m.promises.size();
    if (isNear && known.size() <= at)
      known.resize(std::max(at + 1, 2 * known.size()), kNone);
    uint32_t &before =
        isNear
            ? known[at]
            : firstOfFar.try_emplace({promise.what, at}, kNone).first->second;
    if (before == kNone)
      before = i;
    const Promise &other = m.promises[before];
    if (other.array != promise.array || other.cell != promise.cell)
      continue;
    ValueId a = held(other), b = held(promise);
    uint32_t extent = m.graph.values[b].extent;
    if (m.graph.sizes[m.graph.extents[extent].size].isToken())
      continue; // tokens have no bits
    Agreement agreement = Agreement::Yes;
    if (m.graph.values[a].term != m.graph.values[b].term)
      agreement = Agreement::No;
    else if (!sums.empty() && sums[a] != sums[b])
      agreement = Agreement::Hardware;
    bool isWorse =
        agreement == Agreement::No
            ? result.agreement != Agreement::No
            : agreement != Agreement::Yes && result.agreement == Agreement::Yes;
    if (isWorse)
      result = {agreement, before, i};
  }
  return result;
}

void ContractCheck::markComplete() {
  m.graph.isAvgLegal =
      m.code.reduces && m.isPlainReduceOnly && !m.promises.empty();
  if (!m.graph.isAvgLegal)
    return;
  using Key = std::pair<uint64_t, std::pair<uint64_t, uint64_t>>;
  llvm::DenseSet<Key> whole;
  auto isWhole = [&](TermId term) {
    Fingerprint print = meanings(term);
    return whole.contains({print.x, {print.y, print.size}});
  };
  for (const Promise &promise : m.promises) {
    Fingerprint print = meanings(expected(promise));
    whole.insert({print.x, {print.y, print.size}});
  }
  for (Value &value : m.graph.values) {
    if (value.kind == Value::Input || !isWhole(value.term))
      continue;
    value.complete = true;
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const Value &operand = m.graph.values[m.graph.operandsOf(value)[i].value];
      if (operand.kind == Value::Op && isWhole(operand.term))
        value.complete = false;
    }
  }
}

//===----------------------------------------------------------------------===//
// What nobody reads
//===----------------------------------------------------------------------===//

static bool isMessage(const ChunkGraph &graph, const Value &value) {
  for (uint32_t i = 0; i < value.numOperands; ++i)
    if (graph.values[graph.operandsOf(value)[i].value].rank != value.rank)
      return true;
  return false;
}

DeadTransfers elab::findDeadTransfers(const Machine &m) {
  const ChunkGraph &graph = m.graph;
  DeadTransfers result;
  std::map<SiteId, bool> isTmpRead; // a tmp may be declared many times
  for (const Array &array : m.state.arrays)
    if (array.buffer == kNone && array.isWritten)
      isTmpRead[array.site] |= array.isRead;
  for (auto [id, array] : llvm::enumerate(m.state.arrays)) {
    auto it = isTmpRead.find(array.site);
    if (array.buffer != kNone || it == isTmpRead.end() || it->second)
      continue;
    result.arrays.push_back(id);
    isTmpRead.erase(it);
  }

  std::vector<bool> isLive(graph.values.size());
  for (const Output &output : graph.outputs)
    isLive[output.value] = true;
  for (size_t id = graph.values.size(); id-- > 0;) {
    const Value &value = graph.values[id];
    for (uint32_t i = 0; isLive[id] && i < value.numOperands; ++i)
      isLive[graph.operandsOf(value)[i].value] = true;
  }
  std::map<SiteId, DeadTransfers::Site> sites;
  for (auto [id, value] : llvm::enumerate(graph.values)) {
    if (value.kind == Value::Input || !isMessage(graph, value))
      continue;
    DeadTransfers::Site &site =
        sites
            .try_emplace(value.site,
                         DeadTransfers::Site{value.site, 0, 0, kNone})
            .first->second;
    ++site.total;
    if (!isLive[id] && site.dead++ == 0)
      site.example = id;
  }
  for (auto &[id, site] : sites) {
    uint32_t target = m.targetOfSite[id];
    bool isSaid =
        target != kNone && llvm::any_of(result.arrays, [&](uint32_t array) {
          return m.state.arrays[array].site == m.state.arrays[target].site;
        });
    if (site.dead != 0 && !isSaid)
      result.sites.push_back(site);
  }
  return result;
}
