//===- Terms.h - The hash-consed terms of a chunk graph ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A term says which bits a value has: two values with the same id hold the same
// numbers, bit by bit, for every input, dtype and op. So a term is the number,
// not the type that it is stored as, and what cannot change the number is left
// out when a term is made:
//
// * rounding to a type that can hold the operand exactly, as e4m3 in f32;
// * a fold of one operand;
// * the order of the first two operands of a fold, and of both of a sum, since
//   x + y == y + x in every format and op;
// * the order of the operands of a fold whose order is left to the hardware.
//
// An `in` leaf of a contract that reduces is no value of T yet: premul_sum
// reads it as leaf x factor, in accum. Copying one rounds it, so a copy's term
// is Round(T, leaf), and differs from the leaf's.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_TERMS_H
#define COLL_LIB_ANALYSIS_TERMS_H

#include "lib/Analysis/ChunkGraph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace coll {

/// Every number of type `from` is one of type `to`, whatever T is.
bool isExact(ElemType from, ElemType to);

/// Builds terms. The vectors are those of a ChunkGraph, moved in and out.
class TermTable {
public:
  /// `leafTypes[b]`: what a leaf of buffer b is exactly, see leafTypesOf.
  explicit TermTable(std::vector<ElemType> leafTypes = {});
  /// Goes on from the terms of a finished graph: the same term gets the same
  /// id.
  TermTable(BigVector<Term> terms, BigVector<uint32_t> operands,
            std::vector<ElemType> leafTypes);

  /// Of the next buffer.
  void addLeafType(ElemType type) { leafTypes.push_back(type); }
  /// Makes leaves of a buffer faster. Call before the first one.
  void setShape(uint32_t buffer, uint32_t parts, uint32_t chunks,
                uint32_t ranks);
  TermId leaf(uint32_t buffer, uint32_t part, uint32_t chunk, Rank rank);
  TermId round(TermId operand, ElemType type);
  TermId fold(llvm::ArrayRef<TermId> operands, bool any = false);
  TermId add(TermId lhs, TermId rhs);
  TermId apply(uint16_t function, llvm::ArrayRef<TermId> operands);
  /// The number that `expr` makes of its operands (rounded already to what they
  /// travel as), rounded to `type`.
  TermId evaluate(const ValueExpr &expr, llvm::ArrayRef<TermId> operands,
                  ElemType type);

  /// The narrowest type that is known to hold the term exactly.
  ElemType typeOf(TermId term) const;
  const Term &operator[](TermId term) const { return terms[term]; }
  llvm::ArrayRef<uint32_t> operandsOf(TermId term) const {
    return {operands.data() + terms[term].first, terms[term].count};
  }
  size_t size() const { return terms.size(); }

  BigVector<Term> takeTerms() { return std::move(terms); }
  BigVector<uint32_t> takeOperands() { return std::move(operands); }

private:
  /// Where the leaves of a buffer are by rank, part and chunk. Half of all
  /// terms are leaves and the T roundings of others, and none of these is
  /// hashed.
  struct LeafIndex {
    uint32_t parts = 0, chunks = 0;
    BigVector<TermId> ids;
  };
  TermId append(Term::Kind kind, ElemType type, uint16_t function,
                llvm::ArrayRef<uint32_t> ops);
  TermId intern(Term::Kind kind, ElemType type, uint16_t function,
                llvm::ArrayRef<uint32_t> ops);
  bool isHashed(const Term &term) const;
  void rehash(size_t buckets);
  void grow();

  BigVector<Term> terms;
  BigVector<uint32_t> operands;
  BigVector<TermId> roundings; ///< of each term to T, kNone: not made yet
  std::vector<ElemType> leafTypes;
  std::vector<LeafIndex> leaves; ///< by buffer
  /// Open addressing; hash in the upper half, id in the lower, ~0: free.
  BigVector<uint64_t> buckets;
  size_t numHashed = 0;
  llvm::SmallVector<TermId, 16> stack;
};

ElemType leafTypeOf(Buffer::Kind kind, bool reduces);
/// For the constructor of TermTable.
std::vector<ElemType> leafTypesOf(const ChunkGraph &graph);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_TERMS_H
