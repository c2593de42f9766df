//===- ElaborateRegisters.h - What registers hold ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration: views are in ElaborateState.h, here are values
// and lists; and what the machine keeps of `ensure`.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATEREGISTERS_H
#define COLL_LIB_ANALYSIS_ELABORATEREGISTERS_H

#include "lib/Analysis/ElaborateState.h"

namespace coll::elab {

inline constexpr size_t maxListMembers = 1u << 22;
inline constexpr size_t maxArrays = 1u << 20;

/// A read that an expression makes. rank == kNone: at the own rank.
struct ReadRef {
  View view;
  Rank rank = kNone;
};

/// An elementwise expression over reads: what a value register holds.
struct ExprRef {
  llvm::SmallVector<ExprNode, 4> nodes;
  std::vector<ReadRef> reads;
  bool isComputed() const { return nodes.size() > 1; }
  void clear() { nodes.clear(), reads.clear(); }
  /// The reads of `other` follow, and its nodes with them.
  void append(const ExprRef &other);
};

struct List {
  uint32_t arity = 0; ///< known with the first member
  std::vector<int64_t> flat;
  size_t size() const { return arity ? flat.size() / arity : 0; }
  llvm::ArrayRef<int64_t> member(size_t i) const {
    return {&flat[i * arity], arity};
  }
};

/// The registers of one thread of control: the schedule's, or that of one
/// process of an `on`.
struct Frame {
  uint32_t pc = 0;
  Rank self = kNone; ///< of the process; kNone: the schedule itself
  uint32_t process = kNone;
  bool isWaiting = false;
  std::vector<int64_t> ints;
  std::vector<View> views;
  std::vector<ExprRef> values;
  std::vector<List> lists;
  std::vector<List> openLists;
  struct Fold {
    ExprRef expr;
    uint32_t count = 0;
  };
  std::vector<Fold> openFolds;
};

/// What `ensure` says of one location of `out`: that it is another location, or
/// an element of an expectation.
struct Promise {
  Rank rank;
  uint32_t array, cell;
  SiteId site;
  bool isLocation;
  uint32_t what;    ///< the array, or an index into Machine::expectations
  uint32_t element; ///< the cell, or an element of it
  Rank from;        ///< isLocation: its rank
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEREGISTERS_H
