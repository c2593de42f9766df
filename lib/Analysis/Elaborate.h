//===- Elaborate.h - Execute a schedule for given parameters --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the code of a schedule for one rank space, one set of parameters and one
// launch member. The result is the chunk graph, compared with the contract:
// every ensured location of `out` must hold what the contract says, where + and
// the launch's op are associative and commutative and rounding is ignored.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_ELABORATE_H
#define COLL_LIB_ANALYSIS_ELABORATE_H

#include "lib/Analysis/Bytecode.h"
#include "lib/Support/Diagnostics.h"

namespace coll {

/// Nothing that a schedule says may take more; each has a message of its own.
struct Limits {
  uint64_t steps = 1u << 27;  ///< loop iterations, list members, chunks moved
  uint32_t values = 1u << 25; ///< of the chunk graph
  uint64_t locations = 1u << 27; ///< that are kept in memory, filled or not
  uint32_t ranks = 1u << 16;
  uint64_t chunks = 1u << 24;            ///< of one array on one rank
  uint64_t elements = uint64_t(1) << 48; ///< of a part of constant size
  uint64_t members = 1u << 16;           ///< of a family of launch values
};

struct Parameters {
  std::vector<uint32_t> rankDims;
  /// -D. One with the name of a launch parameter leaves it that value only.
  std::vector<std::pair<std::string, int64_t>> defines;
  /// A value for each launch parameter (flat rank or integer); missing ones get
  /// the first of their domain.
  std::vector<uint32_t> launch;
  Limits limits;
};

/// Whether ranks that are promised the same have the same bits.
enum class Agreement : uint8_t {
  Yes,
  No,
  Hardware ///< they have, if the order of reduce_any does
};

/// One execution of an `on` statement that went well.
struct RegionReport {
  SiteId site;
  uint32_t processes;
  uint64_t messages;
  uint64_t capacity;      ///< that the source asks for
  uint64_t leastCapacity; ///< that works
};

struct ElaborateResult {
  enum Status : uint8_t {
    Right,
    Excluded, ///< a `where` of the schedule does not hold
    Wrong     ///< an error was emitted
  } status = Wrong;
  std::string excludedBy; ///< the text of the condition
  SiteId excludedAt = kNone;
  ChunkGraph graph;       ///< complete only if the status is Right
  uint64_t numValues = 0; ///< that were made, also if they are not kept
  Agreement agreement = Agreement::Yes;
  /// If not Yes: a location of `out` and two ranks that differ.
  std::string disagreement;
  std::vector<RegionReport> regions;
};

/// Emits at most one error, and warnings only if there is none.
ElaborateResult elaborate(const Bytecode &code, const Parameters &params,
                          DiagnosticEngine &diags);

/// The same verdict in the same words, but perhaps without a graph: a schedule
/// of more values is executed in parts that have nothing to do with each other
/// (ElaborateParts.h), as far as it falls into such.
ElaborateResult checkInParts(const Bytecode &code, const Parameters &params,
                             DiagnosticEngine &diags, uint64_t mostValues);

/// The domains of the launch parameters, in order, each without repetition.
struct LaunchFamily {
  ElaborateResult::Status status = ElaborateResult::Wrong;
  std::string excludedBy;
  std::vector<std::vector<uint32_t>> domains;
  /// The members in the order of the domains, the last one fastest.
  uint64_t size() const {
    uint64_t n = 1;
    for (const std::vector<uint32_t> &domain : domains)
      n *= domain.size();
    return n;
  }
  std::vector<uint32_t> member(uint64_t index) const;
};
LaunchFamily enumerateLaunch(const Bytecode &code, const Parameters &params,
                             DiagnosticEngine &diags);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_ELABORATE_H
