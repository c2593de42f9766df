//===- ContractCheck.h - Outputs against what is promised -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration; after a schedule has run.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_CONTRACTCHECK_H
#define COLL_LIB_ANALYSIS_CONTRACTCHECK_H

#include "lib/Analysis/ContractMeaning.h"
#include "lib/Analysis/ElaborateMachine.h"

namespace coll::elab {

class ContractCheck {
public:
  ContractCheck(Machine &machine)
      : m(machine), key(digestOf(m.code, m.params)),
        meanings(m.graph, m.builder.terms, key, m.sink) {}

  /// Compares every promise; false if any is broken, or after a failure.
  bool run();

  uint64_t numWrong = 0;
  size_t firstWrong = 0; ///< the first promise that is broken

  /// What is promised; kNone: it is that of an `out` that nobody wrote.
  TermId expected(const Promise &promise);
  ValueId held(const Promise &promise) {
    return m.state.peek(promise.array, promise.rank, promise.cell);
  }

  struct Comparison {
    Agreement agreement = Agreement::Yes;
    size_t promise = 0, other = 0; ///< that are the same, with other bits
  };
  /// Do locations that are promised the same have the same bits?
  Comparison compareBits();
  /// Marks values where avg divides.
  void markComplete();

  Machine &m;
  Digest key;
  Meanings meanings;

private:
  TermId expand(uint32_t expectation, size_t element);
  TermId termAt(uint32_t array, Rank rank, uint32_t cell);
  std::vector<uint64_t> hardwareSums();

  /// By expectation and element, once it is needed.
  std::vector<std::vector<TermId>> expansions;
};

/// What `map` cannot be blamed for: transfers and arrays that nobody reads.
struct DeadTransfers {
  struct Site {
    SiteId site = kNone;
    uint64_t dead = 0, total = 0; ///< messages that it makes
    Rank from = kNone,
         to = kNone; ///< the first that is dead, and its statement
    uint32_t statement = 0;
  };
  std::vector<Site> sites;      ///< by site
  std::vector<uint32_t> arrays; ///< tmps that are written and never read
};
class DeadFinder {
public:
  /// A machine that ran well, with its outputs; several, if each executed a
  /// part.
  void add(const Machine &machine);
  /// In the arrays of one of them.
  DeadTransfers finish(const Machine &machine);

private:
  std::map<SiteId, bool> isTmpRead; ///< by declaration
  std::map<SiteId, DeadTransfers::Site> sites;
};

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_CONTRACTCHECK_H
