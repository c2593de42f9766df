//===- ProgramEqual.h - Are two programs the same? --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_UNIT_TRANSFORMS_PROGRAMEQUAL_H
#define COLL_TEST_UNIT_TRANSFORMS_PROGRAMEQUAL_H

#include "lib/Analysis/Program.h"

namespace coll {

/// All of a program as text: expressions and sites are written out where they
/// are used, ports and waits with their step. Equal programs have equal text.
std::string describe(const ProgramSet &programs);

} // namespace coll

#endif // COLL_TEST_UNIT_TRANSFORMS_PROGRAMEQUAL_H
