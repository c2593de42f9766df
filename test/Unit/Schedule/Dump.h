//===- Dump.h - Programs as text, for failing tests -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_SCHEDULE_DUMP_H
#define COLL_TEST_UNIT_SCHEDULE_DUMP_H

#include "lib/Analysis/ProgramDeadlock.h"

namespace coll::test {

/// One line a step: "recv 3.0, load in[0].2 -> store out[0].2, send 1.0".
std::string dump(const ProgramSet &programs, uint32_t member, Rank rank,
                 Variant variant = Variant::OutOfPlace);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_DUMP_H
