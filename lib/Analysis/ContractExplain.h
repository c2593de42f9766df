//===- ContractExplain.h - Why a promise is broken --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the elaboration. The schedule has run again with every write
// recorded. Of the first promise that is broken, the difference between what is
// held and what is promised is one contribution: missing, there twice, or one
// that does not belong there. Then the statement to blame is
//
// * for a missing one: the copy that overwrites a value with it, as near to the
//   output as there is one; else whoever wrote the output;
// * for a double one: the first computation, in order, in which two operands
//   have it;
// * for a foreign one: the first computation that mixes it with others, else
//   whoever wrote the output.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_CONTRACTEXPLAIN_H
#define COLL_LIB_ANALYSIS_CONTRACTEXPLAIN_H

#include "lib/Analysis/ContractCheck.h"

namespace coll::elab {

struct ContractFault {
  enum Kind : uint8_t {
    Unwritten,
    Missing,
    Double,
    Wrong,
    PlusIsNotReduce
  } kind = Wrong;
  Promise promise;
  Place place; ///< the location of `out`
  uint64_t numWrong = 0, numPromises = 0;
  bool isPlainReduce = false;  ///< it is promised reduce(in@all), as all are
  bool isPlusPromised = false; ///< PlusIsNotReduce: and reduced is what is held
  TermId promised = kNone;     ///< the whole of it
  /// Where both differ: within the arguments below.
  TermId heldThere = kNone, promisedThere = kNone;

  TermId part = kNone; ///< the contribution; kNone: the terms differ otherwise
  uint64_t count = 0;  ///< how often it is there
  uint64_t promisedCount = 0; ///< how often it should be
  std::vector<TermId>
      parts; ///< all that are missing, double or foreign like it
  /// Which argument of which function differs, from the outside in.
  std::vector<std::pair<uint16_t, uint32_t>> arguments;

  SiteId culprit = kNone;
  Place culpritPlace;         ///< that it writes
  bool doesOverwrite = false; ///< a value with the part (Missing)
  TermId overwritten = kNone;

  struct Link {
    enum Kind : uint8_t {
      HeldSince, ///< place has the part since this statement
      Added,     ///< what is added, at place, has it since this statement
      Reached,   ///< the last place that the part gets to
      CameFrom,  ///< place got what is wrong here
      Output,    ///< and this statement takes it to the output
      Elsewhere, ///< writes place, of the array that lacks a value
      Others     ///< still more statements write it; the last link
    } kind;
    SiteId site;
    Place place;
    bool isOneOfMany = false; ///< places that it writes (Elsewhere)
  };
  std::vector<Link> chain;
  /// Executed as a group, this loop would keep the contract; kNone: none.
  uint32_t groupLoop = kNone;
};

ContractFault explainContract(ContractCheck &check,
                              const std::vector<Write> &trace);

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_CONTRACTEXPLAIN_H
