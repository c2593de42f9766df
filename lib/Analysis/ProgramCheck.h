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

#include "lib/Analysis/DirectCheck.h"
#include "lib/Analysis/ProgramDeadlock.h"

#include <span>

namespace coll {

/// One thing that is wrong with a program.
struct ProgramError {
  enum Kind : uint8_t {
    /// An index out of range, or a rule of Program.h that is broken; `detail`.
    Malformed,
    /// The members, buffers or sizes are not those of the chunk graph;
    /// `detail`.
    FrameDiffers,
    /// A channel has one end only, or two blocks use one end.
    ChannelMismatch,
    /// A receive meets a message of another size or type.
    MessageMismatch,
    /// Waits for a message or a block that never comes, whatever the buffering.
    Stuck,
    /// Gets stuck on one of the FIFOs that it has to run on: `fifo`.
    Deadlock,
    /// A message that nobody receives.
    LeftOver,
    /// Loads scratch, or a location of out, that holds nothing.
    Uninitialised,
    /// Loads or stores as another type or extent than the location has;
    /// `detail`.
    TypeMismatch,
    /// Stores to a location of `in` that is not also one of `out`.
    WritesInput,
    /// A location that this rank does not have.
    Overflow,
    /// Two blocks touch one location and nothing orders them.
    Race,
    /// A location of out does not hold the value of the source ...
    WrongTerm,
    /// ... or holds nothing at the end ...
    Unwritten,
    /// ... or is written, though the source leaves it alone.
    Unpromised,
    /// A message that cannot go direct is said to; `detail`.
    NotDirect,
    /// Where a message goes direct, nothing orders it and another access to its
    /// region.
    DirectRace,
    /// In place and out of place do not send the same messages.
    VariantsDiffer,
    /// The chunk graph's own term does not belong to its value.
    GraphTerm,
  } kind;
  uint32_t member = 0;
  Variant variant = Variant::OutOfPlace;
  Rank rank = 0;
  uint32_t block = 0, step = 0; ///< where it was noticed
  SiteId site = kNone;          ///< in ProgramSet::sites
  Rank peer = 0;                ///< channel and message errors: the other rank
  uint32_t tag = 0;
  /// Race, MessageMismatch: the other access.
  uint32_t otherBlock = 0, otherStep = 0;
  SiteId otherSite = kNone;
  Rank otherRank = 0; ///< NotDirect, DirectRace: of the other access
  /// Race: which of the two stores, and how many rounds before this access the
  /// other one was.
  bool isStore = false, isOtherStore = false;
  /// Deadlock, Race: in some mixture of messages that go direct and others.
  bool isDirect = false, isOtherDirect = false;
  bool isAhead = false; ///< DirectRace: the first is moved ahead of its round
  uint32_t roundsBefore = 0;
  Location location = {}; ///< memory errors
  FifoShape fifo = {};
  const char *detail = "";
};

struct ProgramCheckOptions {
  /// False: there is no chunk graph (a foreign program).
  bool checkTerms = true;
  /// What the programs have to run on. None: whatever the buffering.
  std::vector<FifoShape> fifos = {};
  uint32_t maxErrors = 8;
  /// Conflicting accesses whose order is looked for through other ranks.
  uint32_t maxRaceSearch = 1000;
};

struct ProgramCheckResult {
  /// The first of each rank, at most maxErrors.
  std::vector<ProgramError> errors;
  /// What was run.
  uint64_t steps = 0, messages = 0;
  bool isRight() const { return errors.empty(); }
};

/// `graphs[m]` is what member m was made of.
ProgramCheckResult checkPrograms(const ProgramSet &programs,
                                 std::span<const ChunkGraph> graphs,
                                 const ProgramCheckOptions &options = {});

/// One line that says what is wrong, without its place.
std::string describe(const ProgramError &error, const ProgramSet &programs);
/// Of a race: what the other access is, and what this one is; with the wait
/// that would order them.
std::string describeOther(const ProgramError &race);
std::string describeMissingOrder(const ProgramError &race);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_PROGRAMCHECK_H
