//===- NaiveTerms.cpp - Terms as trees, for comparison --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NaiveTerms.h"

#include <algorithm>
#include <map>

using namespace coll;
using namespace coll::naive;

Tree naive::leaf(int part, int rank) {
  return std::make_shared<Node>(Node{Node::Leaf, ElemType::T, part, rank, {}});
}
Tree naive::fold(std::vector<Tree> operands) {
  if (operands.size() == 1)
    return operands[0];
  return std::make_shared<Node>(
      Node{Node::Fold, ElemType::T, 0, 0, std::move(operands)});
}
Tree naive::add(Tree a, Tree b) {
  return std::make_shared<Node>(Node{Node::Add, ElemType::T, 0, 0, {a, b}});
}
Tree naive::round(Tree operand, ElemType type) {
  return std::make_shared<Node>(Node{Node::Round, type, 0, 0, {operand}});
}

static std::string leafText(int part, int rank) {
  return "in[" + std::to_string(part) + "]@" + std::to_string(rank);
}
static std::string typeText(ElemType type) { return std::to_string(int(type)); }

/// Sums of formats are commutative, not associative.
static std::string foldText(const char *name, std::vector<std::string> parts,
                            size_t numCommuting) {
  std::sort(parts.begin(),
            parts.begin() + std::min(numCommuting, parts.size()));
  std::string text = std::string(name) + "(";
  for (const std::string &part : parts)
    text += part + ",";
  return text + ")";
}

/// The roundings that the random schedules use, and what they hold exactly.
static bool holdsExactly(ElemType inner, ElemType outer) {
  using E = ElemType;
  if (inner == outer)
    return true;
  if (inner == E::E4M3)
    return outer == E::BF16 || outer == E::F32;
  return inner == E::BF16 && outer == E::F32;
}

std::string naive::bits(const Tree &tree, bool reduces) {
  std::vector<std::string> parts;
  for (const Tree &operand : tree->operands)
    parts.push_back(bits(operand, reduces));
  switch (tree->kind) {
  case Node::Leaf:
    return leafText(tree->part, tree->rank);
  case Node::Fold:
    return foldText("fold", parts, 2);
  case Node::Add:
    return foldText("add", parts, 2);
  case Node::Round:
    break;
  }
  // Rounding what the type holds already changes nothing.
  const std::string &inner = parts[0];
  bool isLeaf = inner.rfind("in", 0) == 0;
  if (isLeaf && !reduces && tree->type == ElemType::T)
    return inner;
  if (inner.rfind("round", 0) == 0) {
    auto type = ElemType(std::stoi(inner.substr(5)));
    if (holdsExactly(type, tree->type))
      return inner;
  }
  return "round" + typeText(tree->type) + "(" + inner + ")";
}

/// The operands of folds in folds, or of sums in sums.
static void flatten(const Tree &tree, Node::Kind kind,
                    std::vector<std::string> &parts) {
  if (tree->kind == Node::Round)
    return flatten(tree->operands[0], kind, parts);
  if (tree->kind != kind) {
    parts.push_back(meaning(tree));
    return;
  }
  for (const Tree &operand : tree->operands)
    flatten(operand, kind, parts);
}

std::string naive::meaning(const Tree &tree) {
  if (tree->kind == Node::Round)
    return meaning(tree->operands[0]);
  if (tree->kind == Node::Leaf)
    return leafText(tree->part, tree->rank);
  std::vector<std::string> parts;
  flatten(tree, tree->kind, parts);
  return foldText(tree->kind == Node::Fold ? "fold" : "add", parts,
                  parts.size());
}

std::string naive::expression(const Tree &tree) {
  if (tree->kind == Node::Round)
    return expression(tree->operands[0]);
  if (tree->kind == Node::Leaf)
    return leafText(tree->part, tree->rank);
  std::string text;
  for (const Tree &operand : tree->operands)
    text += (text.empty()               ? ""
             : tree->kind == Node::Fold ? ", "
                                        : " + ") +
            expression(operand);
  return (tree->kind == Node::Fold ? "reduce(" : "(") + text + ")";
}

std::string naive::bitsOf(const ChunkGraph &graph, TermId id) {
  const Term &term = graph.terms[id];
  const uint32_t *ops = graph.termOperands.data() + term.first;
  if (term.kind == Term::Leaf)
    return leafText(ops[1], ops[3]);
  std::vector<std::string> parts;
  for (uint32_t i = 0; i < term.count; ++i)
    parts.push_back(bitsOf(graph, ops[i]));
  if (term.kind == Term::Round)
    return "round" + typeText(term.type) + "(" + parts[0] + ")";
  return foldText(term.kind == Term::Fold ? "fold" : "add", parts, 2);
}
