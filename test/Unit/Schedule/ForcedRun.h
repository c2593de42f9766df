//===- ForcedRun.h - Programs on the runtime, unchecked ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs programs on the real runtime, with its channels, waits, deadlines and
// reports, whatever the checker says of them. The kernels are those written by
// hand for the runtime's tests, so nothing of the compiler is between the
// program and the FIFOs; they hold a slot they have received until all of the
// step is done, as generated kernels do.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCHEDULE_FORCEDRUN_H
#define COLL_TEST_UNIT_SCHEDULE_FORCEDRUN_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <string>

namespace coll::test {

struct ForcedResult {
  bool hasEnded = false; ///< all ranks: COLL_OK
  bool hasTimedOut = false;
  bool isRight = false; ///< every out is the sum of all ins
  std::string report;   ///< of the first rank that did not end
};

/// An all-reduce of one block per rank, without rotated sources: `slices` slots
/// a message, on rings of `slots` that are given back `batch` at a time, for
/// `rounds` launches.
ForcedResult runForced(const ProgramSet &programs, const FifoShape &shape,
                       uint64_t deadlineMs);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_FORCEDRUN_H
