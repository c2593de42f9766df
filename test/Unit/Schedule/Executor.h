//===- Executor.h - Programs run on numbers, in any order -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle of the tests, written without a look at lib/Analysis: blocks
// advance by one slice at a time, picked at random or in every possible order;
// every slice of every location has a number (Numbers.h).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H
#define COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <random>

namespace coll::test {

struct ExecutorResult {
  bool isStuck = false;
  bool isBroken = false; ///< left the arrays it may touch, or a message was not
                         ///< what its receiver takes it for
  bool isRight = false; ///< `out` is what the chunk graph says, nothing else of
                        ///< it was written, no message is left
};

ExecutorResult execute(const ProgramSet &programs, uint32_t member,
                       const std::vector<Variant> &variantOfRank,
                       const ChunkGraph &graph, const FifoShape &shape,
                       std::mt19937_64 &random);

/// Only whether it gets stuck; out of place.
bool executeOnly(const ProgramSet &programs, const FifoShape &shape,
                 std::mt19937_64 &random);

/// What can happen, over all interleavings of slices.
struct AllOrders {
  bool canFinish = false, canStick = false;
  bool canBreak = false;   ///< see ExecutorResult::isBroken
  bool canBeWrong = false; ///< finishes, with something else than the graph
  /// Two blocks of a rank are about to touch one location, and one writes.
  bool canRace = false;
  bool canReadNothing = false; ///< loads where nothing was stored
  bool isCut = false;          ///< more than maxStates: nothing else is known
  uint64_t states = 0;
};
AllOrders executeAll(const ProgramSet &programs, uint32_t member,
                     const std::vector<Variant> &variantOfRank,
                     const ChunkGraph &graph, const FifoShape &shape,
                     uint64_t maxStates = 50000);
AllOrders executeAllOnly(const ProgramSet &programs, const FifoShape &shape,
                         uint64_t maxStates = 50000);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H
