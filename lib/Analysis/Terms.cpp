//===- Terms.cpp - The hash-consed terms of a chunk graph -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/Terms.h"

#include "llvm/ADT/STLExtras.h"
#include <cassert>

using namespace coll;

bool coll::isExact(ElemType from, ElemType to) {
  // Also blocks of mxe4m3: they begin at the same elements of a part, whoever
  // cuts it, and the largest of one stays in its power of two.
  if (from == to)
    return true;
  switch (from) {
  case ElemType::T:
    return to == ElemType::Accum;
  case ElemType::E4M3:
  case ElemType::E5M2:
    return to == ElemType::F16 || to == ElemType::BF16 || to == ElemType::F32 ||
           to == ElemType::F64;
  case ElemType::F16:
  case ElemType::BF16:
    return to == ElemType::F32 || to == ElemType::F64;
  case ElemType::F32:
    return to == ElemType::F64;
  case ElemType::Accum:
  case ElemType::F64:
  case ElemType::MXE4M3:
    return false;
  }
  return false;
}

ElemType coll::leafTypeOf(Buffer::Kind kind, bool reduces) {
  bool isScaled = kind == Buffer::In && reduces;
  return isScaled || kind == Buffer::Scalar ? ElemType::Accum : ElemType::T;
}

std::vector<ElemType> coll::leafTypesOf(const ChunkGraph &graph) {
  std::vector<ElemType> types;
  for (const Buffer &buffer : graph.buffers)
    types.push_back(leafTypeOf(buffer.kind, graph.reduces));
  return types;
}

constexpr uint64_t freeBucket = ~uint64_t(0);
/// Buffers with more leaves are hashed.
constexpr uint64_t maxLeafIndex = 1u << 25;

TermTable::TermTable(std::vector<ElemType> leafTypes)
    : leafTypes(std::move(leafTypes)) {
  buckets.assign(1024, freeBucket);
}

TermTable::TermTable(BigVector<Term> terms, BigVector<uint32_t> operands,
                     std::vector<ElemType> leafTypes)
    : terms(std::move(terms)), operands(std::move(operands)),
      leafTypes(std::move(leafTypes)) {
  roundings.assign(this->terms.size(), kNone);
  for (auto [id, term] : llvm::enumerate(this->terms)) {
    numHashed += isHashed(term);
    if (term.kind == Term::Round && term.type == ElemType::T)
      roundings[this->operands[term.first]] = id;
  }
  size_t wanted = 1024;
  while (wanted < 2 * numHashed)
    wanted *= 2;
  rehash(wanted);
}

void TermTable::setShape(uint32_t buffer, uint32_t parts, uint32_t chunks,
                         uint32_t ranks) {
  uint64_t size = uint64_t(parts) * chunks * ranks;
  if (size > maxLeafIndex)
    return;
  leaves.resize(std::max<size_t>(leaves.size(), buffer + 1));
  leaves[buffer].parts = parts;
  leaves[buffer].chunks = chunks;
  leaves[buffer].ids.assign(size, kNone);
}

bool TermTable::isHashed(const Term &term) const {
  if (term.kind == Term::Round)
    return term.type != ElemType::T;
  if (term.kind != Term::Leaf)
    return true;
  uint32_t buffer = operands[term.first];
  return buffer >= leaves.size() || leaves[buffer].ids.empty();
}

static uint32_t hashTerm(Term::Kind kind, ElemType type, uint16_t function,
                         llvm::ArrayRef<uint32_t> ops) {
  uint64_t hash = uint64_t(kind) << 24 ^ uint64_t(type) << 16 ^ function;
  for (uint32_t op : ops) {
    hash = (hash ^ op) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return (hash * 0xbf58476d1ce4e5b9u) >> 32;
}

static void insert(BigVector<uint64_t> &buckets, uint64_t entry) {
  size_t mask = buckets.size() - 1;
  size_t at = entry >> 32 & mask;
  while (buckets[at] != freeBucket)
    at = (at + 1) & mask;
  buckets[at] = entry;
}

void TermTable::grow() {
  BigVector<uint64_t> old(2 * buckets.size(), freeBucket);
  std::swap(old, buckets);
  for (uint64_t entry : old)
    if (entry != freeBucket)
      insert(buckets, entry);
}

void TermTable::rehash(size_t wanted) {
  buckets.assign(wanted, freeBucket);
  for (TermId id = 0; id < terms.size(); ++id) {
    const Term &term = terms[id];
    if (!isHashed(term))
      continue;
    uint64_t hash =
        hashTerm(term.kind, term.type, term.function, operandsOf(id));
    insert(buckets, hash << 32 | id);
  }
}

TermId TermTable::append(Term::Kind kind, ElemType type, uint16_t function,
                         llvm::ArrayRef<uint32_t> ops) {
  terms.push_back(
      {kind, type, function, uint32_t(operands.size()), uint32_t(ops.size())});
  operands.append(ops.begin(), ops.end());
  roundings.push_back(kNone);
  return terms.size() - 1;
}

TermId TermTable::intern(Term::Kind kind, ElemType type, uint16_t function,
                         llvm::ArrayRef<uint32_t> ops) {
  if (2 * numHashed >= buckets.size())
    grow();
  uint64_t hash = hashTerm(kind, type, function, ops);
  size_t mask = buckets.size() - 1;
  size_t at = hash & mask;
  for (; buckets[at] != freeBucket; at = (at + 1) & mask) {
    if (buckets[at] >> 32 != hash)
      continue;
    TermId id = uint32_t(buckets[at]);
    const Term &term = terms[id];
    if (term.kind == kind && term.type == type && term.function == function &&
        operandsOf(id) == ops)
      return id;
  }
  ++numHashed;
  buckets[at] = hash << 32 | terms.size();
  return append(kind, type, function, ops);
}

ElemType TermTable::typeOf(TermId id) const {
  const Term &term = terms[id];
  if (term.kind == Term::Round)
    return term.type;
  if (term.kind == Term::Leaf)
    return leafTypes[operands[term.first]];
  return ElemType::Accum;
}

TermId TermTable::leaf(uint32_t buffer, uint32_t part, uint32_t chunk,
                       Rank rank) {
  if (buffer >= leaves.size() || leaves[buffer].ids.empty())
    return intern(Term::Leaf, ElemType::T, 0, {buffer, part, chunk, rank});
  LeafIndex &index = leaves[buffer];
  size_t at = (size_t(rank) * index.parts + part) * index.chunks + chunk;
  if (index.ids[at] == kNone)
    index.ids[at] =
        append(Term::Leaf, ElemType::T, 0, {buffer, part, chunk, rank});
  return index.ids[at];
}

TermId TermTable::round(TermId operand, ElemType type) {
  if (isExact(typeOf(operand), type))
    return operand;
  if (type != ElemType::T)
    return intern(Term::Round, type, 0, operand);
  TermId known = roundings[operand];
  return known != kNone
             ? known
             : roundings[operand] = append(Term::Round, type, 0, operand);
}

TermId TermTable::fold(llvm::ArrayRef<TermId> ops, bool any) {
  assert(!ops.empty());
  if (ops.size() == 1)
    return ops[0];
  llvm::SmallVector<TermId, 8> sorted(ops);
  if (any)
    llvm::sort(sorted);
  else if (sorted[0] > sorted[1])
    std::swap(sorted[0], sorted[1]);
  return intern(any ? Term::FoldAny : Term::Fold, ElemType::T, 0, sorted);
}

TermId TermTable::add(TermId lhs, TermId rhs) {
  return intern(Term::Add, ElemType::T, 0,
                {std::min(lhs, rhs), std::max(lhs, rhs)});
}

TermId TermTable::apply(uint16_t function, llvm::ArrayRef<TermId> ops) {
  return intern(Term::Apply, ElemType::T, function, ops);
}

TermId TermTable::evaluate(const ValueExpr &expr, llvm::ArrayRef<TermId> ops,
                           ElemType type) {
  stack.clear();
  for (const ExprNode &node : expr.nodes) {
    TermId result;
    size_t takes = 1;
    switch (node.kind) {
    case ExprNode::Operand:
      takes = 0;
      result = ops[node.arg];
      break;
    case ExprNode::Round:
      result = round(stack.back(), node.type);
      break;
    case ExprNode::Add:
      takes = 2;
      result = add(stack[stack.size() - 2], stack.back());
      break;
    case ExprNode::Fold:
    case ExprNode::FoldAny:
      takes = node.arg;
      result = fold(llvm::ArrayRef(stack).take_back(takes),
                    node.kind == ExprNode::FoldAny);
      break;
    case ExprNode::Apply:
      takes = node.arg;
      result = apply(node.function, llvm::ArrayRef(stack).take_back(takes));
      break;
    }
    stack.truncate(stack.size() - takes);
    stack.push_back(result);
  }
  assert(stack.size() == 1);
  return round(stack[0], type);
}
