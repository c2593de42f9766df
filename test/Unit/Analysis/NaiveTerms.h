//===- NaiveTerms.h - Terms as trees, for comparison ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What values are according to docs/Language.md, written as plainly as can be:
// trees, and strings to compare them. Shares no code with the elaboration.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_ANALYSIS_NAIVETERMS_H
#define COLL_TEST_UNIT_ANALYSIS_NAIVETERMS_H

#include "lib/Analysis/ChunkGraph.h"

#include <memory>

namespace coll::naive {

struct Node;
using Tree = std::shared_ptr<const Node>;
struct Node {
  enum Kind { Leaf, Round, Fold, Add } kind;
  ElemType type = ElemType::T; // Round
  int part = 0, rank = 0;      // Leaf: in[part]@rank
  std::vector<Tree> operands;
};

Tree leaf(int part, int rank);
Tree fold(std::vector<Tree> operands);
Tree add(Tree a, Tree b);
Tree round(Tree operand, ElemType type);

/// The same for trees that have the same bits. `reduces`: the contract reduces,
/// so that premul_sum may scale leaves.
std::string bits(const Tree &tree, bool reduces);
/// The same for trees that mean the same to a contract.
std::string meaning(const Tree &tree);
/// As an expression of the language; roundings are left out.
std::string expression(const Tree &tree);
/// bits() of a term of a chunk graph over one buffer.
std::string bitsOf(const ChunkGraph &graph, TermId term);

} // namespace coll::naive

#endif // COLL_TEST_UNIT_ANALYSIS_NAIVETERMS_H
