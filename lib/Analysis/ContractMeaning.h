//===- ContractMeaning.h - What a term means to a contract ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contract ignores rounding and takes the launch's op and + for associative
// and commutative, though not for each other. So the meaning of a fold is a
// multiset: of leaves, of sums and of function applications; that of a sum
// likewise; and a function is known only by its name and the meaning of its
// arguments. Meanings are compared by fingerprint: a leaf is a random residue
// modulo the prime 2^61 - 1, a multiset the sum of its elements', all else a
// hash. Two independent residues are kept, and how many elements there are, all
// counted. Two multisets that differ, because something is missing or there
// twice, differ by a linear form in the residues of leaves. It is not zero: a
// count that is wrong by a multiple of the prime, after 61 doublings, say,
// shows in the number of elements. So they pass for equal with a probability of
// 2^-122.
//
// Residues are SipHash-2-4 of the leaf's name, under a key that is the SHA-256
// of the code that is executed and its parameters (BytecodeDigest.h). Whoever
// wants two multisets to collide would have to know the key before there is a
// schedule.
//
// The value of a part of constant size 0 is a token, and a fold of tokens means
// a set: adding one twice changes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_CONTRACTMEANING_H
#define COLL_LIB_ANALYSIS_CONTRACTMEANING_H

#include "lib/Analysis/BytecodeDigest.h"
#include "lib/Analysis/ElaborateState.h"

#include <map>

namespace coll::elab {

struct Fingerprint {
  uint64_t x = 0, y = 0;
  uint64_t size = 0; ///< of the multiset, at most 2^64 - 1
  friend bool operator==(const Fingerprint &, const Fingerprint &) = default;
  friend auto operator<=>(const Fingerprint &, const Fingerprint &) = default;
};

/// The fingerprints of all terms of a table, also of those that are added
/// later.
class Meanings {
public:
  /// `key` is of all that decides about the terms. `plusIsFold`: take + for
  /// the launch's op, as it is for sum.
  Meanings(const ChunkGraph &graph, TermTable &terms, const Digest &key,
           Sink &sink, bool plusIsFold = false);

  Fingerprint operator()(TermId term) {
    update();
    return prints[term];
  }
  /// The term without the roundings around it.
  TermId strip(TermId term) const;
  /// The leaf itself, or that of rank 0 if all are the same.
  TermId canonicalLeaf(TermId leaf);
  /// What a fold or sum consists of, with multiplicity, by meaning: leaves, and
  /// terms of another kind. Anything else consists of itself, once.
  struct Part {
    TermId term;
    uint64_t count;
  };
  std::map<Fingerprint, Part> partsOf(TermId term);
  /// How often `part` counts in each term, as far as folds and sums of `kind`
  /// go.
  std::vector<uint32_t> countsOf(Fingerprint part, Term::Kind kind);

private:
  void update() {
    while (prints.size() < terms.size())
      add(prints.size());
  }
  void add(TermId term);
  void push(Fingerprint print, Term::Kind kind) {
    prints.push_back(print);
    kinds.push_back(kind);
  }
  Fingerprint foldOf(TermId term);
  Fingerprint tokenFoldOf(TermId term);
  bool isToken(TermId leaf) const;
  bool tokensOf(TermId term, std::vector<TermId> &tokens) const;
  Fingerprint hash(uint64_t tag, Fingerprint a) const;

  const ChunkGraph &graph;
  TermTable &terms;
  Sink &sink;
  bool plusIsFold;
  uint8_t key[16];
  BigVector<Fingerprint> prints;
  BigVector<uint8_t>
      kinds; ///< Term::Kind, Fold also for FoldAny; of what is rounded
  bool hasTokens;
  /// Of sums that are no folds: the sum of the addends, before it is hashed.
  llvm::DenseMap<TermId, Fingerprint> addends;
  /// Of folds of tokens: the leaves, sorted.
  llvm::DenseMap<TermId, std::vector<TermId>> tokenSets;
  uint64_t numTokens = 0;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_CONTRACTMEANING_H
