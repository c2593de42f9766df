//===- Mutants.h - Programs with one thing broken ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operator changes one thing of one rank's program, where the change is
// likely to matter: a step is repeated only if that is more than to store the
// same again, and only steps that share something change places. A mutant is
// caught if the second verification refuses it; if it passes, it must run right
// by the executor, in every interleaving if it is small, in random ones if not.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCHEDULE_MUTANTS_H
#define COLL_TEST_UNIT_SCHEDULE_MUTANTS_H

#include "lib/Analysis/ProgramCheck.h"

#include <map>
#include <random>
#include <string>

namespace coll::test {

enum class Mutation : uint8_t {
  DropStep,
  DuplicateStep,
  SwapSteps,
  DropSink,
  RedirectSend,
  RedirectReceive,
  OtherChunkLoaded,
  OtherChunkStored,
  OtherPartStored,
  OtherSlot,
  SwapSources,
  ToggleComplete,
  ToggleScaled,
  ToggleRounded,
  OtherType,
  OtherChunk,
  OtherShift,
  DropWait,
  WaitEarlier,
  OtherBlock,
  Count
};

/// False: there is nothing to change.
bool mutate(RankProgram &program, const ProgramSet &programs, Mutation mutation,
            std::mt19937_64 &random);
/// Of one member, one variant and one rank, picked at random.
struct Mutated {
  bool isChanged = false;
  uint32_t member = 0;
  Rank rank = 0;
  Variant variant = Variant::OutOfPlace;
};
Mutated mutate(ProgramSet &programs, Mutation mutation,
               std::mt19937_64 &random);
const char *nameOf(Mutation mutation);
/// Why a mutant may still be the same program.
const char *whyEquivalent(Mutation mutation);

struct Score {
  uint64_t mutants = 0, caught = 0, equivalent = 0, missed = 0;
  uint64_t strict = 0;    ///< caught, though they would run right
  uint64_t allOrders = 0; ///< passed, and were run in every interleaving
};

class ScoreBoard {
public:
  explicit ScoreBoard(uint64_t seed) : seed(seed), random(seed) {}
  /// Mutates `original`, which must be right and run on `fifos`, `times` times
  /// with each operator. What is missed is a failure of the test.
  void judge(const std::string &name, const ProgramSet &original,
             std::span<const ChunkGraph> graphs,
             const std::vector<FifoShape> &fifos, uint32_t times);
  /// The table, and the score in one line under `name`.
  void report(const std::string &name) const;
  Score total() const;
  std::mt19937_64 &generator() { return random; }

private:
  bool passes(const ProgramSet &programs, std::span<const ChunkGraph> graphs,
              const std::vector<FifoShape> &fifos) const;
  bool runsRight(const ProgramSet &programs, uint32_t member,
                 const ChunkGraph &graph, FifoShape shape,
                 bool *ranAllOrders = nullptr);

  uint64_t seed;
  std::mt19937_64 random;
  std::map<Mutation, Score> scores;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_MUTANTS_H
