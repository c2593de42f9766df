//===- DirectMarks.h - Messages that a test lets go direct ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_DIRECTMARKS_H
#define COLL_TEST_UNIT_SCHEDULE_DIRECTMARKS_H

#include "lib/Analysis/DirectCheck.h"

#include <random>

namespace coll::test {

/// A message of out of place programs, and where its ends stand.
struct MarkedMessage {
  MessageId id;
  Port send;
  std::vector<Location> puts; ///< where the receiving step stores it
  std::vector<Location> gets; ///< where the sending step loads it from
};
std::vector<MarkedMessage> messagesOf(const ProgramSet &programs);

/// The marks of one message, at both ends and in both variants.
void mark(ProgramSet &programs, const MessageId &id, Port::Direct direct,
          const Location &region);

/// Some owners of regions have slots in place, whatever is put there or got.
void declineAtRandom(ProgramSet &programs, std::mt19937_64 &random);

/// All messages anew: most that could be put or got from what their steps do,
/// whatever comes of it, a few as nothing says. Seldom what chooseDirect says.
void markAtRandom(ProgramSet &programs, std::mt19937_64 &random);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_DIRECTMARKS_H
