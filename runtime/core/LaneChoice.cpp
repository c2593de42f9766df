//===- LaneChoice.cpp - Which plan a standard collective runs -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In this order, and by values that all ranks share:
//
//   1. rules of variables and files (Selection.h) whose schedule is in use
//   2. a plan of the application's whose `sizes` hold the bytes
//   3. built-in rules, for the plans of coll_use_standard
//   4. the plan whose `sizes` are nearest
//
// A plan serves only if all ranks have a kernel for the call.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Lane.h"

#include <cstring>

namespace coll {

static bool fits(const coll_plan &plan, const StandardContract &contract) {
  return std::strcmp(plan.contract, contract.name) == 0 && plan.nbufs == 2 &&
         plan.nscalars == 0 && plan.nlaunch == contract.nlaunch &&
         (bool(plan.reduces) == contract.reduces || contract.anyType) &&
         bool(plan.flags & COLL_PLAN_VCOUNTS) == contract.vectorCounts;
}

static bool serves(const LanePlan &loaded, const StandardContract &contract,
                   const coll_call &call) {
  coll_dtype dtype = call.dtype;
  coll_op op = call.op;
  return contract.anyType ? loaded.servesAllRanksWith(dtype, op)
                          : loaded.servesAllRanks(dtype, op);
}

/// How far the bytes are from those that a plan is for.
static uint64_t distanceTo(const coll_plan &plan, uint64_t bytes) {
  uint64_t high = plan.sizes_hi ? plan.sizes_hi : UINT64_MAX;
  return bytes < plan.sizes_lo ? plan.sizes_lo - bytes
         : bytes >= high       ? bytes - high + 1
                               : 0;
}

static bool isStandard(const coll_plan &plan) {
  return std::string_view(plan.name).starts_with(kStandardPrefix);
}

Status Lane::notInUse(const SelectionRule &rule,
                      const StandardContract &contract) const {
  std::string names;
  for (const LanePlan *loaded : used)
    if (fits(loaded->plan(), contract))
      names += (names.empty() ? "" : ", ") + std::string(loaded->plan().name);
  return Status::error(COLL_NO_PLAN,
                       "%s names schedule '%s', which is not in use for this "
                       "call of %s (there are %s)",
                       rule.origin.c_str(), rule.schedule.c_str(),
                       contract.name, names.c_str());
}

Status Lane::best(const StandardContract &contract, const coll_call &call,
                  Found &result) const {
  // Bytes of v-collectives differ from rank to rank.
  uint64_t bytes = contract.vectorCounts ? 0 : result.bytes;
  uint64_t least = UINT64_MAX;
  for (LanePlan *loaded : used) {
    const coll_plan &plan = loaded->plan();
    if (!fits(plan, contract))
      continue;
    // Another plan's lack of a kernel is no reason to fail while there is one
    // that has it.  Of two, the application's own is taken.
    uint64_t distance = contract.vectorCounts ? 0 : distanceTo(plan, bytes);
    if (!serves(*loaded, contract, call))
      distance = UINT64_MAX - 1;
    bool isFirst = distance < least;
    bool isOwn = distance == least && result.plan &&
                 isStandard(result.plan->plan()) && !isStandard(plan);
    if (isFirst || isOwn) {
      least = distance;
      result.plan = loaded;
    }
  }
  if (!result.plan)
    return Status::ok();
  bool hasOwnPlan = least == 0 && !isStandard(result.plan->plan());
  uint32_t ranks = uint32_t(communicator.size());
  bool ownCores = ranks <= communicator.hostCores();
  using Source = SelectionRule::Source;
  for (const SelectionRule &rule :
       communicator.environment().selection.rules()) {
    if (!rule.applies(contract.name, ranks, ownCores, bytes) ||
        (rule.source == Source::BuiltIn && hasOwnPlan))
      continue;
    for (LanePlan *loaded : used)
      if (fits(loaded->plan(), contract) &&
          rule.schedule == loaded->plan().name &&
          serves(*loaded, contract, call)) {
        result.plan = loaded;
        result.rule = &rule;
        result.isBulk = rule.isBulk;
        return Status::ok();
      }
    if (rule.source == Source::Variable)
      return notInUse(rule, contract);
  }
  return Status::ok();
}

/// COLL_PROTOCOL_*
static const char *wayOf(uint32_t protocol) {
  return protocol == COLL_PROTOCOL_LL      ? "packets (LL)"
         : protocol == COLL_PROTOCOL_LL128 ? "lines (LL128)"
         : protocol == COLL_PROTOCOL_SMALL ? "small slots"
                                           : "bulk slots";
}

/// The same of any plan on a device, whose kernels are several. Which messages
/// go direct the kernel finds out from both ends' buffers.
void Lane::explainOnDevice(Member &member) {
  if (communicator.environment().debug != DebugLevel::Info)
    return;
  const coll_args &args = member.arguments().args();
  const uint32_t protocol = member.arguments().protocol();
  uint32_t inWindows = 0;
  for (uint32_t b = 0; b != args.nbufs; ++b)
    inWindows += args.bufs[b].win != 0;
  std::string text =
      format("plan '%s' %s goes by %s", member.plan().plan().name,
             member.arguments().isInPlace() ? "in place" : "out of place",
             wayOf(protocol));
  if (protocol == COLL_PROTOCOL_SIMPLE && inWindows)
    text += format(", or direct: %u of %u buffers are in windows", inWindows,
                   args.nbufs);
  if (explained.insert(text).second)
    communicator.info("from messages of %llu bytes: %s",
                      (unsigned long long)member.arguments().largestMessage(),
                      text.c_str());
}

/// Once for every distinct choice, at COLL_DEBUG=INFO, after a launch.
void Lane::explain(Found &found) {
  found.isExplained = true;
  const StandardContract &contract = *found.contract;
  const Member &member = *last->member;
  const coll_args &args = last->member->arguments().args();
  const char *slots = wayOf(last->member->arguments().protocol());
  bool ownCores = uint32_t(communicator.size()) <= communicator.hostCores();
  std::string text = format(
      "%s by schedule '%s' over %s%s, %u channels out, %u in, %u blocks "
      "(%s; %d ranks, %s)",
      contract.name, found.plan->plan().name, slots,
      args.flags & COLL_ARGS_STREAM_SLOTS ? " past the caches" : "",
      member.rankClass().nsend * member.plan().ranks().instances,
      member.rankClass().nrecv * member.plan().ranks().instances,
      member.blocks(),
      found.rule ? found.rule->origin.c_str() : "by the `sizes` of its mapping",
      communicator.size(), ownCores ? "a core each" : "more ranks than cores");
  if (explained.insert(text).second)
    communicator.info("from %llu bytes: %s", (unsigned long long)found.bytes,
                      text.c_str());
}

Status Lane::launchFound(const StandardContract &contract, uint64_t bytes,
                         const coll_call &call, coll_stream stream) {
  Found &found = founds.at(reinterpret_cast<uintptr_t>(&contract) ^ bytes << 8 ^
                           uint32_t(call.dtype) << 4 ^ uint32_t(call.op));
  if (!found.isFor(contract, bytes, call)) {
    Found next = {&contract, bytes, call.dtype, call.op};
    found = {};
    COLL_TRY(best(contract, call, next));
    next.isExplained = communicator.environment().debug != DebugLevel::Info;
    found = next;
  }
  LanePlan *chosen = found.plan;
  if (!chosen)
    return Status::error(COLL_NO_PLAN,
                         "no plan for %s is in use on this communicator "
                         "(coll_use adds one, coll_use_standard those of the "
                         "library, coll_launch takes any)",
                         contract.name);
  bool isOther =
      contract.anyType && !chosen->servesAllRanks(call.dtype, call.op);
  coll_call served = isOther ? call : coll_call();
  if (isOther)
    (void)chosen->servesAllRanksWith(served.dtype, served.op);
  COLL_TRY(launchHeld(chosen->plan(), isOther ? served : call, stream,
                      found.isBulk));
  if (!found.isExplained)
    explain(found);
  return Status::ok();
}

Status Lane::launchBest(const StandardContract &contract, uint64_t bytes,
                        const coll_call &call, coll_stream stream) {
  COLL_TRY(checkUsable());
  Occupancy occupancy(*this);
  COLL_TRY(occupancy.check(contract.name, "launched"));
  COLL_TRY(launchFound(contract, bytes, call, stream));
  return occupancy.checkLeaving(contract.name);
}

Status Lane::launchNew(const StandardCall &standard,
                       coll_stream stream) noexcept {
  const StandardContract &contract = *standard.contract;
  if (contract.reduces && standard.op == COLL_PREMUL_SUM)
    return Status::error(COLL_INVALID,
                         "premul_sum takes a factor: call coll_launch");
  uint64_t bytes = 0;
  if (uint32_t(standard.dtype) < kNumDtypes)
    bytes = standard.count * dtypeBytes(standard.dtype) *
            (contract.partPerRank ? uint64_t(communicator.size()) : 1);
  const size_t count = standard.count;
  void *out = standard.out;
  coll_call call = {};
  call.in = &standard.in;
  call.out = &out;
  call.count = &count;
  call.launch = standard.launch;
  call.dtype = standard.dtype;
  call.op = standard.op;
  COLL_TRY(catchNoMemory(
      [&] { return launchFound(contract, bytes, call, stream); }));
  if (!deviceLane)
    repeats.at(hashOf(standard)) = {standard, last->member, last->kernel,
                                    last->member->arguments().fills()};
  return Status::ok();
}

} // namespace coll
