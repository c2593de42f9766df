//===- ProgramCheck.h - The second verification -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translation validation of scheduling: the programs of all ranks are run on
// terms instead of numbers and must leave the term of the chunk graph in every
// location of `out`: the same bits, not only the same sums. FIFOs carry terms
// with what they travel as; memory is cells and scratch slots, and cells that
// `inplace` lets share memory are one. It knows programs and the chunk graph,
// and nothing of how the one was made of the other.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_PROGRAMCHECK_H
#define COLL_LIB_ANALYSIS_PROGRAMCHECK_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <span>

namespace coll {

/// One thing that is wrong with a program.
struct ProgramError {
  enum Kind : uint8_t {
    Malformed, ///< an index out of range, or a program that breaks a rule of
               ///< Program.h (`detail` says which)
    ChannelMismatch, ///< one rank sends on a channel whose other end does not
                     ///< exist, or two blocks use one end
    MessageMismatch, ///< a receive meets a message of another size or wire type
    Stuck,    ///< waits for a message or a block that never comes, whatever the
              ///< buffering
    LeftOver, ///< a message that nobody receives
    Uninitialised, ///< loads scratch, or a location of out, that holds nothing
    TypeMismatch,  ///< loads as another type or extent than was stored
    WritesInput, ///< stores to a location of `in` that is not also one of `out`
    Overflow,    ///< a location that this rank does not have
    Race,        ///< two blocks touch one location and nothing orders them
    WrongTerm,   ///< a location of out does not hold the value of the source
    Unwritten,   ///< a location of out holds nothing at the end
    Unpromised,  ///< a location of out is written that the source leaves alone
    VariantsDiffer, ///< in place and out of place disagree on the messages
    GraphTerm,      ///< the chunk graph's own term does not belong to its value
  } kind;
  uint32_t member = 0;
  Variant variant = Variant::OutOfPlace;
  Rank rank = 0;
  uint32_t block = 0, step = 0; ///< where it was noticed
  SiteId site = kNone;          ///< in ProgramSet::sites
  Rank peer = 0;                ///< channel and message errors: the other rank
  uint32_t tag = 0;
  uint32_t otherBlock = 0,
           otherStep = 0; ///< Race, MessageMismatch: the other access
  SiteId otherSite = kNone;
  Location location = {}; ///< memory errors
  const char *detail = "";
};

struct ProgramCheckOptions {
  bool checkTerms =
      true; ///< false: no chunk graph is given (a foreign program)
  uint32_t maxErrors = 8;
  uint32_t maxRaceSearch =
      1000; ///< conflicting pairs that are looked up through other ranks
};

struct ProgramCheckResult {
  std::vector<ProgramError>
      errors; ///< the first of each rank, at most maxErrors
  uint64_t steps = 0, messages = 0; ///< that were run
  bool isRight() const { return errors.empty(); }
};

/// `graphs[m]` is what member m was made of. Buffering plays no part here, see
/// findDeadlock; both must agree before an object is written.
ProgramCheckResult checkPrograms(const ProgramSet &programs,
                                 std::span<const ChunkGraph> graphs,
                                 const ProgramCheckOptions &options = {});

/// One line that says what is wrong, without its place.
std::string describe(const ProgramError &error, const ProgramSet &programs);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_PROGRAMCHECK_H
