//===- ContractCheck.cpp - Outputs against what is promised ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ContractCheck.h"

#include "llvm/ADT/DenseSet.h"

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

/// The cell that is element `element` of a view.
static uint32_t cellAt(const State &state, const View &view, size_t element) {
  uint32_t cell = view.offset;
  for (uint32_t d = view.numDims; d-- > 0; element /= view.dims[d])
    cell += element % view.dims[d] * view.strides[d];
  return view.table == kNone ? cell : state.tables[view.table][cell];
}

/// Elements are many, and of a part few are asked for.
TermId ContractCheck::expand(uint32_t id, size_t element) {
  const ExprRef &expr = m.expectations[id];
  ValueExpr nodes{{expr.nodes.begin(), expr.nodes.end()}};
  llvm::SmallVector<TermId> operands;
  for (const ReadRef &read : expr.reads) {
    bool isBroadcast = m.state.arrays[read.view.array].isBroadcast;
    uint32_t cell = isBroadcast ? 0 : cellAt(m.state, read.view, element);
    operands.push_back(termAt(read.view.array, read.rank, cell));
    if (operands.back() == kNone)
      return kNone;
  }
  return m.builder.terms.evaluate(nodes, operands, ElemType::Accum);
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
  constexpr TermId notYet = kNone - 1;
  if (expansions.size() <= promise.what)
    expansions.resize(m.expectations.size());
  std::vector<TermId> &terms = expansions[promise.what];
  if (terms.size() <= promise.element)
    terms.resize(std::max<size_t>(promise.element + 1, 2 * terms.size()),
                 notYet);
  TermId &term = terms[promise.element];
  if (term == notYet)
    term = expand(promise.what, promise.element);
  return term;
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

/// Where a message comes from; kNone: there is none.
static Rank senderOf(const ChunkGraph &graph, const Value &value) {
  for (uint32_t i = 0; i < value.numOperands; ++i) {
    Rank from = graph.values[graph.operandsOf(value)[i].value].rank;
    if (from != value.rank)
      return from;
  }
  return kNone;
}

void DeadFinder::add(const Machine &m) {
  const ChunkGraph &graph = m.graph;
  for (const Array &array : m.state.arrays)
    if (array.buffer == kNone && array.isWritten)
      isTmpRead[array.site] |= array.isRead;
  std::vector<bool> isLive(graph.values.size());
  for (const Output &output : graph.outputs)
    isLive[output.value] = true;
  for (size_t id = graph.values.size(); id-- > 0;) {
    const Value &value = graph.values[id];
    for (uint32_t i = 0; isLive[id] && i < value.numOperands; ++i)
      isLive[graph.operandsOf(value)[i].value] = true;
  }
  // Statements make values in runs.
  DeadTransfers::Site *site = nullptr;
  for (auto [id, value] : llvm::enumerate(graph.values)) {
    Rank from = value.kind == Value::Input ? kNone : senderOf(graph, value);
    if (from == kNone)
      continue;
    if (!site || site->site != value.site) {
      site = &sites[value.site];
      site->site = value.site;
    }
    ++site->total;
    if (isLive[id])
      continue;
    if (site->dead++ == 0 || value.statement < site->statement) {
      site->from = from;
      site->to = value.rank;
      site->statement = value.statement;
    }
  }
}

DeadTransfers DeadFinder::finish(const Machine &m) {
  DeadTransfers result;
  for (auto [id, array] : llvm::enumerate(m.state.arrays)) {
    auto it = isTmpRead.find(array.site);
    if (array.buffer != kNone || it == isTmpRead.end() || it->second)
      continue;
    result.arrays.push_back(id);
    isTmpRead.erase(it); // a tmp may be declared many times
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
