//===- ElaborateGraph.h - Makes the values of a chunk graph -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration: interns what a ChunkGraph shares, and makes
// values from operands. Whatever finds something wrong tells the Sink and
// returns false or kNone.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATEGRAPH_H
#define COLL_LIB_ANALYSIS_ELABORATEGRAPH_H

#include "lib/Analysis/Elaborate.h"
#include "lib/Analysis/ElaborateFacts.h"
#include "lib/Analysis/Terms.h"

#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <unordered_map>

namespace coll::elab {

/// Keeps the first thing that went wrong.
struct Sink {
  std::optional<Failure> failure;
  bool fail(Failure f) {
    if (!failure)
      failure = std::move(f);
    return false;
  }
};

/// What a statement says of the values that it makes.
struct Statement {
  SiteId site = kNone;
  uint32_t number = 0;
  MappingId mapping = 0;
  bool reduce = false, hasVia = false;
  ElemType via = ElemType::T;
};

class GraphBuilder {
public:
  GraphBuilder(const Limits &limits, Sink &sink, bool reduces);

  ChunkGraph graph;
  TermTable terms;

  uint32_t sizeSymbol(SizeSymbol::Kind kind, uint64_t value, uint32_t chunks);
  ExtentId extent(uint32_t size, uint32_t chunk);
  ExprId expr(llvm::ArrayRef<ExprNode> nodes);
  MappingId mapping(const Mapping &mapping);

  ValueId input(Rank rank, Cell cell, ExtentId extent);
  /// The value itself if it is at `rank` already and need not change.
  ValueId copy(const Statement &statement, ValueId source, Rank rank,
               ElemType type);
  /// `expr` over `operands`; all but the first, if that is the value to reduce
  /// into, travel as the statement says.
  ValueId combine(const Statement &statement, ExprId expr,
                  llvm::ArrayRef<ValueId> operands, bool firstIsOld, Rank rank,
                  ElemType type);
  ValueId reduce(const Statement &statement, ValueId old, ValueId source,
                 Rank rank, ElemType type) {
    return combine(statement, foldOfTwo, {old, source}, true, rank, type);
  }

  bool isScaledLeaf(const Value &value) const {
    return value.kind == Value::Input && graph.reduces &&
           graph.buffers[value.cell.buffer].kind == Buffer::In;
  }
  /// Rows and scalars have no extent of their own: they go with any.
  bool isBroadcast(ValueId value) const;

  static constexpr ExprId identity = 0, foldOfTwo = 1;

  /// Call once, at the end.
  void finish();

private:
  ValueId push(Value value, SiteId site);
  bool checkGiven(ExtentId extent, Rank rank, SiteId site);
  TermId travelling(ValueId value, const Statement &statement);
  void dropUnusedCount();

  const Limits &limits;
  Sink &sink;
  std::vector<ExtentId> extentIndex; // size * chunks + chunk
  llvm::DenseMap<uint64_t, uint32_t> sizeIndex;
  std::unordered_map<uint64_t, std::vector<ExprId>> exprIndex;
  /// Launch sizes that ranks are given: rank and size, sorted.
  std::vector<uint64_t> given;
  bool givenIsKnown = false;
  llvm::SmallVector<TermId, 16> operandTerms;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEGRAPH_H
