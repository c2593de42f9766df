//===- ElaborateWords.h - Findings of the elaboration in words --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_ELABORATEWORDS_H
#define COLL_LIB_ANALYSIS_ELABORATEWORDS_H

#include "lib/Analysis/ContractExplain.h"

namespace coll::elab {

class Words {
public:
  Words(const Machine &machine, DiagnosticEngine &diags)
      : m(machine), diags(diags) {}

  void report(const Failure &failure);
  void report(const RegionFault &fault);
  void report(const ContractFault &fault);
  void report(const DeadTransfers &dead);

  /// out[2, 1]@(0, 3)
  std::string place(const Place &place) const;
  /// acc[2, 1]
  std::string location(uint32_t array, uint64_t cell) const;
  std::string rank(Rank rank) const;
  std::string term(TermId term) const;

private:
  struct Message {
    Slug slug;
    std::string text;
  };
  Message integerMessage(const Failure &f) const;
  Message arrayMessage(const Failure &f) const;
  Message statementMessage(const Failure &f) const;
  Message otherMessage(const Failure &f) const;
  std::string extent(ExtentId extent, bool withSize) const;
  std::string ranks(std::vector<Rank> ranks) const;
  /// "s = 0, r = 3"; empty: in no loop whose iterator has a name.
  std::string iterations(const Iterations &iterations) const;
  std::string size(uint32_t size) const;
  std::string termText(TermId term, unsigned &budget) const;

  void reportDeadlock(const RegionFault &fault);
  void addWaits(Diagnostic &d, const RegionFault &fault);
  void addRepairs(Diagnostic &d, const RegionFault &fault);
  std::string contribution(const ContractFault &fault) const;
  Message contractMessage(const ContractFault &fault) const;
  void addChain(Diagnostic &d, const ContractFault &fault);
  void addGroup(Diagnostic &d, const ContractFault &fault);
  /// The iterator of a loop, from the range of its domain: `for NAME in
  /// DOMAIN`.
  struct IteratorText {
    llvm::StringRef name;
    std::optional<uint32_t>
        forBegin; ///< of the `for`, if it is the first iterator
  };
  IteratorText iteratorOf(SourceRange domain) const;

  SourceRange range(SiteId site) const {
    return site == kNone ? SourceRange() : m.code.siteTable[site].range;
  }
  /// The range, cut at the first brace: a name and its parameters.
  SourceRange head(SiteId site) const;
  /// The calls that led to the site.
  void addCalls(Diagnostic &d, SiteId site) const;
  std::string instance() const;
  void emit(Diagnostic d, SiteId site);
  llvm::StringRef text(SourceRange range) const {
    return range.isValid() ? diags.sources().text(range) : llvm::StringRef();
  }

  const Machine &m;
  DiagnosticEngine &diags;
};

/// A location of `out` and two ranks that differ.
std::string describeDisagreement(const ContractCheck &check, const Words &words,
                                 const ContractCheck::Comparison &comparison);

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEWORDS_H
