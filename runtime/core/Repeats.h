//===- Repeats.h - Calls that have been made before -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An application calls the same few collectives again and again.  What is known
// of a call is kept in small tables, by hash, where a later call replaces an
// earlier one:
//
//   Choice   a plan and its launch values, dtype, op: the member and the kernel
//   Found    a standard function, bytes, dtype, op: the plan of the rules
//   Repeat   a standard function and all that it is called with: nothing is
//            left to choose, check or fill, unless the member's arguments have
//            been filled for another call since
//
// Each entry is checked against all that it depends on, so a table may be as
// small as one likes.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_REPEATS_H
#define COLL_RUNTIME_CORE_REPEATS_H

#include "runtime/core/DeviceLane.h"
#include "runtime/core/LanePlan.h"
#include "runtime/core/Selection.h"

namespace coll {

/// What a plan must look like to stand behind a function of coll.h: one buffer
/// in and one out, and this.
struct StandardContract {
  const char *name = "";
  uint32_t nlaunch = 0;
  bool reduces = false;
  bool vectorCounts = false;
  bool anyType = false; ///< no data, so any kernel does
  /// The largest buffer of any rank has a part of so many elements per rank.
  bool partPerRank = false;
};

/// A standard call whose count is one number.
struct StandardCall {
  const StandardContract *contract = nullptr; ///< by address
  const void *in = nullptr;
  void *out = nullptr;
  uint64_t count = 0;
  coll_dtype dtype = COLL_U8;
  coll_op op = COLL_SUM;
  int launch[2] = {0, 0};
  bool operator==(const StandardCall &) const = default;
};

/// A table of so many entries, a power of two.
template <typename T, size_t Size> class HashedTable {
  static_assert((Size & (Size - 1)) == 0);

public:
  T &at(uint64_t key) {
    return entries[key * 0x9e37'79b9'7f4a'7c15 >> 32 & (Size - 1)];
  }
  void clear() { entries = {}; }

private:
  std::array<T, Size> entries = {};
};

struct Choice {
  const coll_plan *plan = nullptr;
  int launch[COLL_MAX_LAUNCH] = {};
  coll_dtype dtype = COLL_I8;
  coll_op op = COLL_SUM;
  Member *member = nullptr;
  coll_kernel_fn kernel = nullptr;
  DeviceKernels deviceKernels = {};

  bool suits(const coll_plan &wanted, const coll_call &call) const {
    if (plan != &wanted || dtype != call.dtype || op != call.op)
      return false;
    if (plan->nlaunch != 0 && !call.launch)
      return false;
    for (uint32_t p = 0; p != plan->nlaunch; ++p)
      if (launch[p] != call.launch[p])
        return false;
    return true;
  }
};

struct Found {
  const StandardContract *contract = nullptr; ///< by address
  uint64_t bytes = 0;
  coll_dtype dtype = COLL_I8;
  coll_op op = COLL_SUM;
  LanePlan *plan = nullptr;
  const SelectionRule *rule = nullptr; ///< null: the plan's `sizes`
  bool isBulk = false;
  bool isExplained = true; ///< at COLL_DEBUG=INFO

  bool isFor(const StandardContract &wanted, uint64_t ofBytes,
             const coll_call &call) const {
    return contract == &wanted && bytes == ofBytes && dtype == call.dtype &&
           op == call.op;
  }
};

struct Repeat {
  StandardCall call;
  Member *member = nullptr; ///< null: no call
  coll_kernel_fn kernel = nullptr;
  uint64_t fills = 0; ///< of the member's arguments, for this call

  bool isFor(const StandardCall &wanted) const {
    return call == wanted && member && member->arguments().isFilled(fills);
  }
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_REPEATS_H
