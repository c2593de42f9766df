//===- Faults.h - One instruction that does less than it says ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mutant of device code is a switch in the instrumented code: whatever calls
// a hook, and whatever branches on what another thread may have written, is a
// place, and a machine runs with a fault in one of them. So nothing is compiled
// for a mutant, and code that comes later has mutants without a word about it.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_EMULATOR_FAULTS_H
#define COLL_TEST_EMULATOR_FAULTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace coll::emu {

/// How far an operation's effect is promised to reach. Weak: not at all.
enum class Scope : uint8_t { Weak, Cta, Gpu, Sys };
enum class Order : uint8_t { Relaxed, Acquire, Release, AcqRel, SeqCst };

enum class PlaceKind : uint8_t {
  Load, // strong ones; weak accesses promise nothing
  Store,
  Modify,
  Fence,
  Barrier,
  Vote,
  WarpBarrier,
  Branch
};

enum class FaultKind : uint8_t {
  None,
  Relaxed,   // no order
  NoAcquire, // of both, the release alone
  NoRelease,
  Weak,
  Gpu, // a narrower scope
  Cta,
  Split,   // two halves, as in a vector of smaller elements; lane by lane
  Dropped, // nothing at all
  Alone,   // a vote that nobody else hears of
  Always,  // a branch
  Never
};

/// What a branch asks for that all runs answer alike (Tables.cpp).
enum class Asked : uint8_t {
  Plan,  // its tables
  Words, // whether addresses or bytes are multiples of 4
  Break  // whether a loop ends before its time
};
struct GuardedBy {
  uint32_t site;
  bool isTaken;
  Asked asked;
};

/// A call by a kernel, and the branches that it lies behind.
struct CalledBy {
  std::string kernel;
  std::vector<GuardedBy> guards;
};

struct Place {
  uint32_t site = 0; // 0: none
  PlaceKind kind = PlaceKind::Load;
  Order order = Order::Relaxed;
  Scope scope = Scope::Sys;
  uint8_t bytes = 0;
  bool isInKernel = false; // not in a function that kernels call
  bool isInLoop = false;
  bool mayFollowWrites = true;  // some write of the kernel can come before it
  bool isAmongBarriers = false; // thread 0 alone does anything beside it
  bool isTogether = false; // lanes come to this barrier of their warp together
  bool isLoadedAgain =
      false; // by all callers of its function, before they go on
  bool isReleasedBehind = false; // a load, on all ways to the function's end
  bool looksAtRtr = false;       // again, before a message is sent
  bool isCleaning = false; // a store that all other accesses are ordered to
  FaultKind asksAgain = FaultKind::None; // by which fault it only does so
  bool goesOnBehind = false; // of a loop: the one behind does the rest
  /// The place lies behind branches whose answers do not depend on the order of
  /// things.
  std::vector<GuardedBy> guards;
  /// Of a function that kernels call: all calls that lead to it.
  std::vector<CalledBy> calls;
  /// Of a branch: what must be answered so that it is taken, or is not.
  std::vector<GuardedBy> asks;
  /// Of a vote, or a branch on one: what leads to its threads that say yes.
  std::vector<std::vector<GuardedBy>> yes;
  std::vector<std::string> kernels; // that come to the place, by calls
  std::string function, text;
};

const char *nameOf(FaultKind kind);

struct Fault {
  uint32_t site = 0; // 0: none
  PlaceKind place = PlaceKind::Load;
  FaultKind kind = FaultKind::None;
};

/// All that can go wrong with what the place does.
std::vector<FaultKind> faultsOf(const Place &place);

/// Why no run can tell the faulty code from the right one; empty: some can.
std::string whyEquivalent(const Place &place, FaultKind kind);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_FAULTS_H
