//===- TestGraph.cpp - Chunk graphs without a front end -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestGraph.h"

#include <algorithm>
#include <cassert>
#include <set>

using namespace coll;
using namespace coll::test;

TestGraph::TestGraph(std::vector<uint32_t> rankDims, bool reduces,
                     uint32_t chunks, std::string name) {
  graph.rankDims = std::move(rankDims);
  graph.reduces = graph.isAvgLegal = reduces;
  graph.chunks = chunks;
  graph.schedule = graph.contract = std::move(name);
  graph.sizes.push_back({SizeSymbol::Count, 0, chunks});
  for (uint32_t c = 0; c < chunks; ++c)
    graph.extents.push_back({0, c});
  graph.mappings.emplace_back();
  graph.exprs.push_back({{ExprNode{ExprNode::Operand}}});
  // One line for copies, one for reductions: a loop's statement is one place.
  for (uint32_t line = 0; line < 3; ++line)
    graph.sites.push_back({SourceRange{0, 10 * line, 10 * line + 5}});
}

void TestGraph::useTokens() {
  graph.sizes[0] = {SizeSymbol::Const, 0, graph.chunks};
}

Array TestGraph::addBuffer(Buffer::Kind kind, uint32_t parts,
                           std::optional<Rank> only) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.name = kind == Buffer::In ? "in" : "out";
  buffer.parts = parts;
  for (Rank r = 0; r < numRanks(); ++r)
    buffer.present.push_back(!only || *only == r);
  buffer.partSize.assign(parts, 0);
  graph.buffers.push_back(buffer);
  terms.addLeafType(kind == Buffer::In && graph.reduces ? ElemType::Accum
                                                        : ElemType::T);
  types.push_back(ElemType::T);
  state.emplace_back(size_t(numRanks()) * parts * graph.chunks, kNone);
  return {uint32_t(state.size() - 1), parts};
}

Array TestGraph::in(uint32_t parts, std::optional<Rank> only) {
  Array array = addBuffer(Buffer::In, parts, only);
  for (Rank r = 0; r < numRanks(); ++r)
    for (uint32_t p = 0; p < parts; ++p)
      for (uint32_t c = 0; c < graph.chunks; ++c) {
        if (only && *only != r)
          continue;
        Value value{};
        value.kind = Value::Input;
        value.rank = r;
        value.cell = {uint16_t(array.id), p, c};
        value.extent = c;
        value.term = terms.leaf(array.id, p, c, r);
        at({array, r, p, c}) = graph.values.size();
        graph.values.push_back(value);
      }
  return array;
}

Array TestGraph::out(uint32_t parts, std::optional<Rank> only) {
  return addBuffer(Buffer::Out, parts, only);
}

Array TestGraph::tmp(uint32_t parts, ElemType type) {
  types.push_back(type);
  state.emplace_back(size_t(numRanks()) * parts * graph.chunks, kNone);
  return {uint32_t(state.size() - 1), parts};
}

void TestGraph::inplace(Rank rank, uint32_t inPart, uint32_t outPart) {
  graph.inplace.push_back({rank, 0, inPart, 1, outPart});
}

ValueId &TestGraph::at(Place place) {
  return state[place.array.id]
              [(size_t(place.rank) * place.array.parts + place.part) *
                   graph.chunks +
               place.chunk];
}

ValueId TestGraph::read(Place place) {
  ValueId value = at(place);
  assert(value != kNone && "reads a location that holds nothing");
  return value;
}

void TestGraph::write(Place place, ValueId value) {
  std::tuple key{place.array.id, place.rank, place.part, place.chunk};
  writers[key] = site;
  if (inGroup)
    pending[key] = value;
  else
    at(place) = value;
}

ValueId TestGraph::push(Place to, ExprId expr,
                        const std::vector<ValueId> &operands,
                        std::optional<ElemType> via, bool firstIsOld) {
  Value value{};
  value.kind = Value::Op;
  value.type = types[to.array.id];
  value.rank = to.rank;
  value.extent = graph.values[operands[0]].extent;
  value.expr = expr;
  value.site = site;
  value.statement = statement;
  value.mapping = currentMapping;
  value.firstOperand = graph.operands.size();
  value.numOperands = operands.size();
  std::vector<TermId> operandTerms;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value &operand = graph.values[operands[i]];
    bool hasVia = via && !(i == 0 && firstIsOld);
    graph.operands.push_back(
        {operands[i], hasVia ? *via : operand.type, hasVia});
    operandTerms.push_back(hasVia ? terms.round(operand.term, *via)
                                  : operand.term);
  }
  value.term = terms.evaluate(graph.exprs[expr], operandTerms, value.type);
  graph.values.push_back(value);
  return graph.values.size() - 1;
}

void TestGraph::copy(Place from, Place to, std::optional<ElemType> via) {
  ++statement;
  site = 0;
  ValueId source = read(from);
  const Value &value = graph.values[source];
  bool isPlain =
      value.rank == to.rank && !via && value.type == types[to.array.id];
  bool isScaledLeaf = value.kind == Value::Input && graph.reduces;
  if (isPlain && !isScaledLeaf)
    return write(to, source);
  ValueId result = push(to, 0, {source}, via, false);
  graph.values[result].leafCopy = isPlain;
  write(to, result);
}

static ExprId foldExpr(ChunkGraph &graph, uint32_t n, bool any) {
  ValueExpr expr;
  for (uint32_t i = 0; i < n; ++i)
    expr.nodes.push_back({ExprNode::Operand, ElemType::T, 0, i});
  expr.nodes.push_back(
      {any ? ExprNode::FoldAny : ExprNode::Fold, ElemType::T, 0, n});
  for (ExprId id = 0; id < graph.exprs.size(); ++id)
    if (graph.exprs[id].nodes == expr.nodes)
      return id;
  graph.exprs.push_back(expr);
  return graph.exprs.size() - 1;
}

void TestGraph::reduce(Place from, Place to, std::optional<ElemType> via) {
  ++statement;
  site = 1;
  std::tuple key{to.array.id, to.rank, to.part, to.chunk};
  ValueId old = inGroup && pending.count(key) ? pending[key] : read(to);
  write(to, push(to, foldExpr(graph, 2, false), {old, read(from)}, via, true));
}

void TestGraph::fold(const std::vector<Place> &froms, Place to, bool any) {
  ++statement;
  site = 2;
  std::vector<ValueId> operands;
  for (const Place &from : froms)
    operands.push_back(read(from));
  write(to,
        push(to, foldExpr(graph, operands.size(), any), operands, {}, false));
}

void TestGraph::group(const std::function<void()> &body) {
  inGroup = true;
  body();
  inGroup = false;
  for (auto &[key, value] : pending) {
    auto [array, rank, part, chunk] = key;
    uint32_t parts = state[array].size() / numRanks() / graph.chunks;
    at({{array, parts}, rank, part, chunk}) = value;
  }
  pending.clear();
}

void TestGraph::mapping(const Mapping &mapping) {
  graph.mappings.push_back(mapping);
  currentMapping = graph.mappings.size() - 1;
}

void TestGraph::markComplete() {
  if (numRanks() > 256)
    return; // sets of ranks are for small graphs
  std::vector<std::set<Rank>> ranks(graph.values.size());
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    Value &value = graph.values[v];
    if (value.kind == Value::Input) {
      ranks[v] = {value.rank};
      continue;
    }
    bool wasComplete = false;
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const std::set<Rank> &of = ranks[graph.operandsOf(value)[i].value];
      wasComplete |= of.size() == numRanks();
      ranks[v].insert(of.begin(), of.end());
    }
    value.complete = ranks[v].size() == numRanks() && !wasComplete;
  }
}

ChunkGraph TestGraph::finish() {
  for (uint32_t b = 0; b < graph.buffers.size(); ++b) {
    if (graph.buffers[b].kind != Buffer::Out)
      continue;
    Array array{b, graph.buffers[b].parts};
    for (Rank r = 0; r < numRanks(); ++r)
      for (uint32_t p = 0; p < array.parts; ++p)
        for (uint32_t c = 0; c < graph.chunks; ++c)
          if (ValueId value = at({array, r, p, c}); value != kNone)
            graph.outputs.push_back(
                {r, {uint16_t(b), p, c}, value, writers[{b, r, p, c}]});
  }
  auto key = [](const Output &o) {
    return std::tuple(o.rank, o.cell.buffer, o.cell.part, o.cell.chunk);
  };
  std::sort(graph.outputs.begin(), graph.outputs.end(),
            [&](auto &a, auto &b) { return key(a) < key(b); });
  graph.terms = terms.takeTerms();
  graph.termOperands = terms.takeOperands();
  return std::move(graph);
}
