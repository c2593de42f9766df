//===- RankClass.h - Ranks that run the same program ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks whose programs differ only in peers, parts, chunks, tags and the like
// share one class: the program of one of them, its representative, and for
// every number that varies a sum of terms ((base + sign * coordinate) mod size)
// * stride that gives it for each rank of the class. These are coll_class and
// coll_reloc_term of coll/abi.h; lowering walks the representative, writes a
// word for each number, and a reloc where `termsOf` has one.
//
// Classes are shared by the members of a launch family. A coordinate is the
// rank's, or the one of the first launch value (`ofRoot`).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_RANKCLASS_H
#define COLL_LIB_ANALYSIS_RANKCLASS_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <unordered_map>

namespace coll {

/// Arithmetic is modulo 2^32, so that a stride of ~0u is -1.
struct RelocTerm {
  int32_t base = 0;
  uint32_t size = 1, stride = 0;
  uint8_t dim = 0;
  int8_t sign = 0; ///< 0: constant
  bool ofRoot = false;
  bool operator==(const RelocTerm &) const = default;
};
using RelocTerms = std::vector<RelocTerm>;

/// A number of a RankProgram (or of its member's buffers) that may vary.
struct FieldRef {
  enum Kind : uint8_t {
    PortPart,  ///< ports[index].loc.part of a location in a buffer
    PortChunk, ///< ports[index].loc.chunk of the same
    SendPeer,  ///< sendEnds[index].peer
    SendTag,
    RecvPeer,
    RecvTag,
    StepChunk, ///< of step `index`, counted over the blocks in order
    StepSize,
    StepShift,
    // Of both variants; `variant` is OutOfPlace.
    PartSize,  ///< of part `index`, counted over the buffers in order
    AliasPart, ///< 4 * i + 0 or 2: partA, partB of the rank's i-th InplacePair
  } kind;
  Variant variant = Variant::OutOfPlace;
  uint32_t index = 0;
  uint64_t key() const {
    return uint64_t(kind) << 40 | uint64_t(variant) << 32 | index;
  }
};

struct RankClass {
  uint32_t member = 0; ///< the representative's
  Rank rank = 0;
  std::unordered_map<uint64_t, RelocTerms> relocs; ///< by FieldRef::key

  /// Null: the representative's number is everybody's.
  const RelocTerms *termsOf(FieldRef field) const {
    auto it = relocs.find(field.key());
    return it == relocs.end() ? nullptr : &it->second;
  }
};

struct ClassSet {
  std::vector<RankClass> classes;
  /// [member][rank]. With `rotates` all members' are the same, and are looked
  /// up by coords(rank) - coords(launch[0]) mod dims.
  std::vector<std::vector<uint32_t>> classOf;
  bool rotates = false;
};

ClassSet classifyRanks(const ProgramSet &programs);

/// What a runtime computes: for tests, and for reports.
uint32_t evaluate(const RelocTerms &terms, const ProgramSet &programs,
                  Rank rank, Rank root);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_RANKCLASS_H
