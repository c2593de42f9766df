//===- ElaborateGraph.cpp - Makes the values of a chunk graph -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::elab;

GraphBuilder::GraphBuilder(const Limits &limits, Sink &sink, bool reduces)
    : limits(limits), sink(sink) {
  graph.reduces = reduces;
  graph.mappings.emplace_back();
  sizeSymbol(SizeSymbol::Count, 0, 1);
  expr({ExprNode{ExprNode::Operand}});
  expr({ExprNode{ExprNode::Operand}, ExprNode{ExprNode::Operand, {}, 0, 1},
        ExprNode{ExprNode::Fold, {}, 0, 2}});
}

uint32_t GraphBuilder::sizeSymbol(SizeSymbol::Kind kind, uint64_t value,
                                  uint32_t chunks) {
  auto [it, isNew] =
      sizeIndex.try_emplace(value << 2 | kind, graph.sizes.size());
  if (isNew)
    graph.sizes.push_back({kind, value, chunks});
  return it->second;
}

ExtentId GraphBuilder::extent(uint32_t size, uint32_t chunk) {
  size_t index = size_t(size) * graph.chunks + chunk;
  if (index >= extentIndex.size())
    extentIndex.resize(size_t(size + 1) * graph.chunks, kNone);
  ExtentId &id = extentIndex[index];
  if (id == kNone) {
    id = graph.extents.size();
    graph.extents.push_back({size, chunk});
  }
  return id;
}

ExprId GraphBuilder::expr(llvm::ArrayRef<ExprNode> nodes) {
  uint64_t hash = nodes.size();
  for (const ExprNode &node : nodes) {
    hash ^= uint64_t(node.kind) | uint64_t(node.type) << 8 |
            uint64_t(node.function) << 16 | uint64_t(node.arg) << 32;
    hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;
  }
  std::vector<ExprId> &alike = exprIndex[hash];
  for (ExprId id : alike)
    if (nodes == llvm::ArrayRef(graph.exprs[id].nodes))
      return id;
  alike.push_back(graph.exprs.size());
  graph.exprs.push_back({nodes.vec()});
  return alike.back();
}

MappingId GraphBuilder::mapping(const Mapping &mapping) {
  // There are as many as there are labels, times few channels.
  for (MappingId id = graph.mappings.size(); id-- > 0;)
    if (graph.mappings[id] == mapping)
      return id;
  graph.mappings.push_back(mapping);
  return graph.mappings.size() - 1;
}

bool GraphBuilder::isBroadcast(ValueId id) const {
  const Value &value = graph.values[id];
  if (value.kind != Value::Input)
    return false;
  Buffer::Kind kind = graph.buffers[value.cell.buffer].kind;
  return kind == Buffer::RowArg || kind == Buffer::Scalar;
}

ValueId GraphBuilder::push(Value value, SiteId site) {
  if (graph.values.size() >= limits.values) {
    sink.fail({Fault::TooManyValues, site});
    return kNone;
  }
  graph.values.push_back(value);
  return graph.values.size() - 1;
}

ValueId GraphBuilder::input(Rank rank, Cell cell, ExtentId extent) {
  Value value{};
  value.kind = Value::Input;
  value.rank = rank;
  value.cell = cell;
  value.extent = extent;
  value.term = terms.leaf(cell.buffer, cell.part, cell.chunk, rank);
  return push(value, kNone);
}

TermId GraphBuilder::travelling(ValueId id, const Statement &statement) {
  TermId term = graph.values[id].term;
  return statement.hasVia ? terms.round(term, statement.via) : term;
}

static Value valueOf(const Statement &statement, Rank rank, ElemType type) {
  Value value{};
  value.kind = Value::Op;
  value.type = type;
  value.rank = rank;
  value.site = statement.site;
  value.mapping = statement.mapping;
  value.statement = statement.number;
  return value;
}

ValueId GraphBuilder::copy(const Statement &statement, ValueId sourceId,
                           Rank rank, ElemType type) {
  const Value &source = graph.values[sourceId];
  bool isPlain =
      source.rank == rank && !statement.hasVia && source.type == type;
  bool isLeaf = isScaledLeaf(source);
  if (isPlain && !isLeaf)
    return sourceId;
  if (!checkGiven(source.extent, rank, statement.site))
    return kNone;
  Value value = valueOf(statement, rank, type);
  value.leafCopy = isPlain;
  value.extent = source.extent;
  value.expr = identity;
  value.term = terms.round(travelling(sourceId, statement), type);
  value.firstOperand = graph.operands.size();
  value.numOperands = 1;
  ElemType via = statement.hasVia ? statement.via : source.type;
  graph.operands.push_back({sourceId, via, statement.hasVia});
  return push(value, statement.site);
}

ValueId GraphBuilder::combine(const Statement &statement, ExprId expr,
                              llvm::ArrayRef<ValueId> operands, bool firstIsOld,
                              Rank rank, ElemType type) {
  Value value = valueOf(statement, rank, type);
  value.extent = kNone;
  value.expr = expr;
  value.firstOperand = graph.operands.size();
  value.numOperands = operands.size();
  operandTerms.clear();
  for (auto [i, id] : llvm::enumerate(operands)) {
    const Value &operand = graph.values[id];
    bool isOld = i == 0 && firstIsOld;
    bool hasVia = statement.hasVia && !isOld;
    operandTerms.push_back(isOld ? operand.term : travelling(id, statement));
    graph.operands.push_back(
        {id, hasVia ? statement.via : operand.type, hasVia});
    if (isBroadcast(id))
      continue;
    if (value.extent == kNone)
      value.extent = operand.extent;
    if (value.extent != operand.extent) {
      sink.fail({.fault = Fault::OperandExtent,
                 .site = statement.site,
                 .x = value.extent,
                 .y = operand.extent});
      return kNone;
    }
  }
  if (value.extent == kNone)
    value.extent = graph.values[operands[0]].extent;
  if (!checkGiven(value.extent, rank, statement.site))
    return kNone;
  if (expr == foldOfTwo)
    value.term = terms.round(terms.fold(operandTerms), type);
  else
    value.term = terms.evaluate(graph.exprs[expr], operandTerms, type);
  return push(value, statement.site);
}

//===----------------------------------------------------------------------===//
// Who is given which count
//===----------------------------------------------------------------------===//

bool GraphBuilder::checkGiven(ExtentId extent, Rank rank, SiteId site) {
  uint32_t size = graph.extents[extent].size;
  if (graph.sizes[size].kind != SizeSymbol::Launch || graph.globalCounts)
    return true;
  if (!givenIsKnown) {
    givenIsKnown = true;
    for (const Buffer &buffer : graph.buffers)
      for (Rank r = 0; r < graph.numRanks(); ++r)
        for (uint32_t part = 0; buffer.present[r] && part < buffer.parts;
             ++part)
          given.push_back(uint64_t(buffer.sizeOf(r, part)) << 32 | r);
    llvm::sort(given);
  }
  if (std::binary_search(given.begin(), given.end(),
                         uint64_t(size) << 32 | rank))
    return true;
  return sink.fail(
      {.fault = Fault::UnknownCount, .site = site, .other = rank, .x = size});
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// A contract that sizes every part itself has no use for `count`.
void GraphBuilder::dropUnusedCount() {
  if (graph.sizes.size() < 2)
    return;
  for (const Buffer &buffer : graph.buffers)
    for (Rank r = 0; r < graph.numRanks(); ++r)
      for (uint32_t part = 0; buffer.present[r] && part < buffer.parts; ++part)
        if (buffer.sizeOf(r, part) == 0)
          return;
  for (const Extent &extent : graph.extents)
    if (extent.size == 0)
      return;
  graph.sizes.erase(graph.sizes.begin());
  for (Buffer &buffer : graph.buffers)
    for (uint32_t &size : buffer.partSize)
      size -= size != 0; // 0: of a rank without the buffer
  for (Extent &extent : graph.extents)
    --extent.size;
}

/// Keeps one size per part if all ranks have the same.
static void compressSizes(Buffer &buffer) {
  if (buffer.partSize.size() == buffer.parts)
    return;
  auto first = buffer.partSize.begin();
  size_t home = kNone;
  for (size_t r = 0; r < buffer.present.size(); ++r) {
    if (!buffer.present[r])
      continue;
    if (home == kNone)
      home = r;
    if (!std::equal(first + home * buffer.parts,
                    first + (home + 1) * buffer.parts,
                    first + r * buffer.parts))
      return;
  }
  if (home != kNone)
    buffer.partSize = {first + home * buffer.parts,
                       first + (home + 1) * buffer.parts};
}

void GraphBuilder::finish() {
  for (Buffer &buffer : graph.buffers)
    compressSizes(buffer);
  dropUnusedCount();
  graph.terms = terms.takeTerms();
  graph.termOperands = terms.takeOperands();
}
