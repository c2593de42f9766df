//===- DirectModel.h - Every interleaving of direct messages ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model checker of the direct state machines of docs/Runtime.md: both ends of
// one channel, their users, and the memory between them, in all interleavings
// and every order in which stores may become visible (a release store after all
// before it, others whenever they like), over several launches, in each of
// which either end may have a window or not.
//
//   sender    user fills `in`; avail; messages; ack?; user fills `in` again
//   receiver  user fills `out`; rtr; messages; ack; dtail?; user reads `out`
//
// Messages are put or got; where their owner has no window they are in the
// ring, here a queue. Checked: every user and receiver reads what was sent in
// this launch, no window is taken for that of another launch, nothing is stored
// in `out` or loaded from `in` while their users have them, never do both wait,
// and an abort ends every wait.
//
//===----------------------------------------------------------------------===//

#ifndef COLL_TEST_UNIT_RUNTIME_DIRECTMODEL_H
#define COLL_TEST_UNIT_RUNTIME_DIRECTMODEL_H

#include <cstddef>
#include <string>
#include <vector>

namespace coll::test {

/// What is left out, for the checker to see.
enum class DirectMutant {
  None,
  NoRtrWait,      ///< puts without the receiver's word
  AnyRtr,         ///< ... with that of whatever launch
  NoAvailWait,    ///< gets without the sender's word
  NoAckWait,      ///< the sender leaves before all is got
  WindowAlone,    ///< says whether there is one, not the word beside it
  AckEarly,       ///< before the last load
  DtailNoRelease, ///< may be seen before the data
  RtrNoRelease,   ///< may be seen before the window, or what the user stored
  AvailNoRelease, ///< the same
  AckNoAcquire,   ///< the sender's user stores before the wait is over
  NoDtailWait,    ///< the receiver leaves before all is put
  DtailNoAcquire, ///< `out` is read before the poll
  AvailNoAcquire, ///< the window, or `in`, is read before the poll
  DeafToAbort,    ///< waits do not look at the abort word
};

/// Of a launch: 'p' or 'g' for each message, and who has a window.
struct ModelLaunch {
  std::string messages;
  bool hasIn = true, hasOut = true;
};

struct DirectModel {
  std::vector<ModelLaunch> launches;
  DirectMutant mutant = DirectMutant::None;
  bool mayAbort = false;
};

struct Checked {
  std::string error; ///< "" or what went wrong
  size_t numStates = 0;
};
Checked check(const DirectModel &model);

} // namespace coll::test

#endif // COLL_TEST_UNIT_RUNTIME_DIRECTMODEL_H
