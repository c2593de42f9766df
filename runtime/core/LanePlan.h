//===- LanePlan.h - A plan loaded on a lane ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   LanePlan   a plan, cut to this lane's number of ranks: kernels by dtype and
//              op for this processor, and what is the same for all members
//   Member     one choice of launch values: this rank's class, its words
//              relocated, its channel ends, the arguments of its launches
//   PlanInstance  what a kernel is given: a member, out of place or in place
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_LANEPLAN_H
#define COLL_RUNTIME_CORE_LANEPLAN_H

#include "runtime/core/Arguments.h"
#include "runtime/core/Channel.h"
#include "runtime/core/Scratch.h"
#include "runtime/core/WayTrials.h"

namespace coll {

class DeviceLane;
struct DeviceKernels;
class Lane;
class LanePlan;
class Member;

/// Kernels hand their coll_inst back; what the runtime wants to know of it lies
/// behind.
struct PlanInstance : coll_inst {
  Lane *lane;
  const Member *member;
  coll_comm_dev dev;

  static const PlanInstance &of(const coll_inst *inst) {
    return *static_cast<const PlanInstance *>(inst);
  }
};

/// What coll_inst.signals points to: how many steps a block has finished.
struct alignas(64) BlockSignal {
  uint64_t steps = 0;
};

class Member {
public:
  /// `launch` has been checked.  Allocates everything that launches need but
  /// channels.
  static Status create(Lane &lane, const LanePlan &plan, uint32_t member,
                       const int *launch, std::unique_ptr<Member> &result);
  ~Member();

  const LanePlan &plan() const { return owner; }
  const coll_class &rankClass() const { return cls; }
  std::span<const uint32_t> words() const { return relocated; }
  uint32_t blocks() const { return numBlocks; }

  /// The ends that this rank needs, senders first; those of lines last.
  std::span<const ChannelId> channels() const { return channelIds; }
  bool isConnected() const { return connected; }
  /// Copies the ends of the channels, all complete, to where kernels look.
  void connect(Channels &channels);

  Arguments &arguments() { return *launchArguments; }
  /// Null: how launches run is settled.
  WayTrials *wayTrials() { return trials.get(); }
  /// The record of the last launch; the texts are the same in all.
  LaunchRecord &record() { return launchRecord; }
  PlanInstance &instance(bool inPlace) { return instances[inPlace]; }
  std::span<const coll_end> channelEnds() const {
    return {static_cast<const coll_end *>(ends.data()), ends.size()};
  }
  uint64_t scratchBytes(bool inPlace) const { return scratchNeed[inPlace]; }

private:
  Member(const LanePlan &owner, const coll_class &cls, Lane &lane);
  void listChannels();
  void listLines();
  void fillRecord(const int *launch);
  void fillInstance(Lane &lane, bool inPlace, uint64_t totalBlocks);

  struct alignas(64) End : coll_end {};
  static_assert(sizeof(End) == sizeof(coll_end));

  const LanePlan &owner;
  const coll_class &cls;
  Scratch &scratch;
  DeviceLane *const device;
  uint64_t scratchNeed[2] = {};
  std::vector<uint32_t> relocated;
  uint32_t numBlocks = 0;
  bool connected = false;
  std::vector<ChannelId> channelIds;
  std::vector<End> ends; ///< by instance: senders; then receivers
  std::vector<BlockSignal> signals[2];
  PlanInstance instances[2] = {};
  std::unique_ptr<Arguments> launchArguments;
  std::unique_ptr<WayTrials> trials;
  LaunchRecord launchRecord;
};

class LanePlan {
public:
  /// COLL_NO_PLAN when the object has nothing for this number of ranks.
  static Status create(Lane &lane, const coll_plan &plan,
                       std::unique_ptr<LanePlan> &result);

  const coll_plan &plan() const { return source; }
  const coll_plan_ranks &ranks() const { return table; }
  std::span<const uint32_t> maxStepChunks() const { return stepChunks; }

  /// The kernel for a call.  COLL_INVALID names the flag that was missing.
  Status kernel(const coll_call &call, coll_kernel_fn &fn) const;
  /// The same for a communicator of a device.
  Status deviceKernels(const coll_call &call, DeviceKernels &kernels) const;
  /// Has every rank a kernel for these?  The same answer on all ranks, though
  /// their kernels may be of different instruction sets.
  bool servesAllRanks(uint32_t dtype, uint32_t op) const;
  /// A dtype and an op that this holds for; false: there is none.
  bool servesAllRanksWith(coll_dtype &dtype, coll_op &op) const;

  /// Finds or makes the member for these launch values.
  Status member(Lane &lane, const int *launch, Member *&result);

  LaunchRules rulesOf(Lane &lane) const;

private:
  LanePlan(const coll_plan &source, const coll_plan_ranks &table, bool onDevice)
      : source(source), table(table), onDevice(onDevice) {}
  using Kernels = coll_kernel_fn[kNumDtypes][kNumOps];
  void chooseKernels(uint32_t isa, Kernels &chosen) const;
  Status missingKernel(const coll_call &call) const;

  const coll_plan &source;
  const coll_plan_ranks &table;
  const bool onDevice;
  std::vector<uint32_t> stepChunks;
  /// By dtype and, when the contract reduces, op; null: not in the object.
  Kernels kernels = {};
  /// What this rank would take if it ran only what all ranks run.
  Kernels commonKernels = {};
  std::vector<std::unique_ptr<Member>> members;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_LANEPLAN_H
