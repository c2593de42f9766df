//===- Executor.h - Programs run on numbers, in any order -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle of the tests, written without a look at lib/Analysis: blocks
// advance by one slice at a time, picked at random; every slice of every
// location has a number. Numbers are 64-bit hashes of what was done, with the
// type they are exact in; so two of them are equal if, and but for collisions
// only if, the bits are, for every input, dtype and op.
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

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H
