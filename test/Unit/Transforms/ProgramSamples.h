//===- ProgramSamples.h - Programs to try things on -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_TRANSFORMS_PROGRAMSAMPLES_H
#define COLL_TEST_UNIT_TRANSFORMS_PROGRAMSAMPLES_H

#include "lib/Analysis/Program.h"

namespace coll {

/// Reduce-scatter and allgather on a ring. `file` needs 100 bytes for the
/// sites.
ProgramSet makeRing(uint32_t n, FileId file);

/// Every field of every structure has a value of its own. `file` needs 600
/// bytes.
ProgramSet makeEveryField(FileId file);

} // namespace coll

#endif // COLL_TEST_UNIT_TRANSFORMS_PROGRAMSAMPLES_H
