//===- Mutations.h - Schedules that are nearly right ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of one place of a schedule at the algorithm level, as a slip of the
// pen would make them: a statement dropped, doubled or exchanged with the next;
// copy for reduce; an index, a rank or a bound that is off by one or taken from
// another loop; a remainder or a group forgotten; a bound that is right only up
// to some N or only for even N; a loop run backwards.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_PROVE_MUTATIONS_H
#define COLL_TEST_UNIT_PROVE_MUTATIONS_H

#include "dialect/CollDialect.h"

#include <string>
#include <vector>

namespace coll::test {

struct Mutation {
  enum Kind : uint8_t {
    Drop,
    Twice,
    OtherKind,
    Swap,
    Ungroup,
    Group,
    NoMod,
    Reversed,
    Exchanged, ///< the sides of a transfer, of a subtraction
    Plus,      ///< from here on: of one operand
    Minus,
    OfLoop, ///< the variable of a loop around it
    UpToFive,
    OnlyEven,
    ButOne ///< N - 1 for N
  } kind;
  unsigned op; ///< in the order of a walk
  unsigned operand = 0;
  unsigned loop = 0; ///< of OfLoop, from inside
};

/// All mutations of the statements of a schedule; its contract stays.
std::vector<Mutation> mutationsOf(ScheduleOp schedule);
/// False: it makes no valid schedule. `what` says what it did.
bool mutate(ScheduleOp schedule, const Mutation &mutation, std::string &what);

} // namespace coll::test
#endif // COLL_TEST_UNIT_PROVE_MUTATIONS_H
