//===- HandPrograms.h - Programs written by hand ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_HANDPROGRAMS_H
#define COLL_TEST_UNIT_SCHEDULE_HANDPROGRAMS_H

#include "lib/Analysis/Program.h"

namespace coll::test {

/// A step that receives and sends on channels to and from these ranks. It loads
/// a chunk of `in` if it receives nothing, and stores one of `out` if it sends
/// nothing.
struct HandStep {
  std::vector<Rank> from, to;
};
/// For each rank steps of one block. All messages are of one size, and nothing
/// is said of their meaning.
ProgramSet byHand(const std::vector<std::vector<HandStep>> &ranks);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_HANDPROGRAMS_H
