//===- Executor.h - Programs run on numbers, in any order -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle of the tests, written without a look at how lib/Analysis checks:
// blocks advance by one slice at a time, picked at random or in every possible
// order; every slice of every location has a number (Numbers.h).
//
// A message that goes direct has no slot. A put is stored where its receiver
// wants it as soon as the sender gets there, if the receiver has entered the
// launch; a get is loaded from the sender's buffer when the receiver gets
// there. Between launches a rank's buffers are its user's, who reads what is in
// them and puts in something else.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H
#define COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H

#include "lib/Analysis/ProgramDeadlock.h"

#include <random>
#include <set>

namespace coll::test {

/// The messages of a channel, from one rank to another, that are marked so.
using DirectMessages = std::tuple<Rank, Rank, uint32_t, Port::Direct>;

/// What the ends of direct messages may leave out, to see that it is missed.
enum class Careless : uint8_t {
  Not,
  PutsAtOnce,     ///< without the receiver's word that it is in the launch
  GetsAtOnce,     ///< without the sender's
  LeavesEarly,    ///< without word that all have got what they get here
  ReturnsUnput,   ///< without waiting for what is put here
  NeverWaitsHere, ///< all puts are awaited at the end, whatever needs them
};

/// What a launch depends on, but for the order of events.
struct Setting {
  uint32_t member = 0;
  std::vector<Variant> variants = {}; ///< by rank; empty: out of place
  FifoShape shape = {};
  std::set<DirectMessages> direct = {}; ///< go direct; the others use the ring
  /// What is marked so is moved in the first round for all rounds.
  bool movesAhead = false;
  /// Chunks without elements, by size and chunk: their messages do not exist.
  std::set<std::pair<uint32_t, uint32_t>> empty = {};
  uint32_t launches = 1; ///< one after the other, of other inputs
  Careless careless = Careless::Not;
  /// What is right is what the ring leaves, not what the graph says.
  bool asInRing = false;
};

/// All that a member's programs mark.
std::set<DirectMessages> directMessages(const ProgramSet &programs,
                                        uint32_t member);
/// Each of them or not.
std::set<DirectMessages> someOf(const std::set<DirectMessages> &all,
                                std::mt19937_64 &random);

struct ExecutorResult {
  bool isStuck = false;
  bool isBroken = false; ///< left the arrays it may touch, or a message was not
                         ///< what its receiver takes it for
  bool isRight = false; ///< `out` is what the chunk graph says, nothing else of
                        ///< it was written, no message is left
  bool hasRaced = false; ///< as AllOrders::canRace, on the way
};
ExecutorResult execute(const ProgramSet &programs, const ChunkGraph &graph,
                       const Setting &setting, std::mt19937_64 &random);

/// Only whether it gets stuck; out of place, and nothing goes direct.
bool executeOnly(const ProgramSet &programs, const FifoShape &shape,
                 std::mt19937_64 &random);

/// What can happen, over all interleavings of slices.
struct AllOrders {
  bool canFinish = false, canStick = false;
  bool canBreak = false;   ///< see ExecutorResult::isBroken
  bool canBeWrong = false; ///< finishes, with something else than the graph
  /// Two blocks, or a block and a user, are about to touch one location, and
  /// one writes.
  bool canRace = false;
  bool canReadNothing = false; ///< loads where nothing was stored
  bool isCut = false;          ///< more than maxStates: nothing else is known
  uint64_t states = 0;
};
AllOrders executeAll(const ProgramSet &programs, const ChunkGraph &graph,
                     const Setting &setting, uint64_t maxStates = 50000);
AllOrders executeAllOnly(const ProgramSet &programs, const FifoShape &shape,
                         uint64_t maxStates = 50000);

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_EXECUTOR_H
