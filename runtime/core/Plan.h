//===- Plan.h - Reading a plan as it lies in the object ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain functions on the constant tables of coll/abi.h.  Whatever they find out
// is the same on all ranks, unless a rank is an argument.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_PLAN_H
#define COLL_RUNTIME_CORE_PLAN_H

#include "coll/abi.h"
#include "runtime/core/Status.h"

#include <span>
#include <string>
#include <vector>

namespace coll {

inline constexpr uint32_t kNumDtypes = COLL_E5M2 + 1;
inline constexpr uint32_t kNumOps = COLL_PREMUL_SUM + 1;

uint32_t dtypeBytes(uint32_t dtype);
/// Bytes of the type that sums of this dtype are formed in.
uint32_t accumBytes(uint32_t dtype);

/// The table for a communicator of this size, or null.
const coll_plan_ranks *findRanks(const coll_plan &plan, int nranks);
/// "2, 4, 8": the sizes that the object has this plan for.
std::string describeSizes(const coll_plan &plan);
/// Everything that a later index or shift relies on, so that an object of
/// another compiler is an error and not a crash.
Status checkPlan(const coll_plan &plan, const coll_plan_ranks &ranks);

/// Which member of the family these launch values name.  COLL_INVALID names
/// the value and its domain.  `launch` may be null when there are none.
Status findMember(const coll_plan &plan, const coll_plan_ranks &ranks,
                  const int *launch, uint32_t &member);

/// The class of a rank in a member whose first launch value is `root`.
const coll_class &classOf(const coll_plan_ranks &ranks, uint32_t member,
                          int rank, int root);

/// Replaces the words of a class that differ from rank to rank.
void relocate(const coll_class &cls, const coll_plan_ranks &ranks, int rank,
              int root, std::span<uint32_t> words);

/// Blocks of all ranks of a member together.
uint64_t totalBlocks(const coll_plan_ranks &ranks, uint32_t member, int root);

/// What a program has been found to run with, so that it cannot deadlock.
struct VerifiedRings {
  uint32_t slots, smallSlots; ///< rings have at least so many
  uint32_t slices;            ///< of a message per round, at most
};
VerifiedRings verifiedRings(const coll_plan_ranks &ranks);

/// Slots and scratch hold this many times the bytes of the launch's dtype.
uint32_t storageScale(const coll_plan_ranks &ranks, uint32_t dtype);
/// The greatest of these over the dtypes that the plan has kernels for.
uint32_t maxStorageScale(const coll_plan &plan, const coll_plan_ranks &ranks);

/// By size symbol: most chunks that one step of any rank handles.
std::vector<uint32_t> maxStepChunks(const coll_plan_ranks &ranks);

/// Whether the plan's object has these variants at all: "f16, f32".
std::string describeDtypes(const coll_plan &plan);
std::string describeOps(const coll_plan &plan);

/// "ring.coll:14:5" and "recv acc[c] from prev, chunk 3" of a step.
struct StepText {
  std::string where, what;
};
StepText describeStep(const coll_plan &plan, const coll_class &cls,
                      std::span<const uint32_t> words, uint32_t step);
/// `text` in at most `length` bytes; its end is kept, since the line number of
/// a place stands there: "...rc/ring.coll:14:5".
std::string lastPart(const std::string &text, size_t length);

} // namespace coll

#endif // COLL_RUNTIME_CORE_PLAN_H
