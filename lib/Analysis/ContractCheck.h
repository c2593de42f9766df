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
        meanings(m.graph, m.builder.terms, key, m.isSame, m.sink) {}

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
  void expand(uint32_t expectation);
  TermId termAt(uint32_t array, Rank rank, uint32_t cell);
  std::vector<uint64_t> hardwareSums();

  /// By expectation, once it is needed: a term per element.
  std::vector<std::vector<TermId>> expansions;
};

/// What `map` cannot be blamed for: transfers and arrays that nobody reads.
struct DeadTransfers {
  struct Site {
    SiteId site;
    uint64_t dead, total; ///< messages that it makes
    ValueId example;
  };
  std::vector<Site> sites;      ///< by site
  std::vector<uint32_t> arrays; ///< tmps that are written and never read
};
DeadTransfers findDeadTransfers(const Machine &machine);

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_CONTRACTCHECK_H
