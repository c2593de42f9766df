//===- RandomPrograms.h - Small programs, right and wrong -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_RANDOMPROGRAMS_H
#define COLL_TEST_UNIT_SCHEDULE_RANDOMPROGRAMS_H

#include "lib/Analysis/Program.h"

#include <random>

namespace coll::test {

struct RandomProgram {
  ChunkGraph graph;
  ProgramSet programs; ///< of it, but for what was broken
  std::string changes; ///< what that is
};

/// Up to 3 ranks and 12 steps: few enough to try every interleaving.
RandomProgram randomProgram(std::mt19937_64 &random);

/// Steps of several blocks on little scratch, some waiting for others. Messages
/// have their counterparts; nothing is said of what they mean.
ProgramSet randomBlocks(std::mt19937_64 &random);

/// Messages between buffers and scratch, some sent on, some combined, again and
/// again around the same few chunks; in one or two blocks, and in place, too.
ProgramSet randomTransfers(std::mt19937_64 &random);

/// Messages alone, of up to 4 ranks: first in an order that needs no buffer,
/// then some steps change places. The sizes are one, the memory nothing.
ProgramSet randomMessages(std::mt19937_64 &random);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_RANDOMPROGRAMS_H
