//===- Lane.h - Channels with one order of launches -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lane owns what launches need: channels, loaded plans, scratch and worker
// threads.  One launch runs at a time; all ranks launch the same plans in the
// same order, and number their launches alike, also those ranks that have
// nothing to do in a plan.
//
// A launch goes through these steps:
//
//   1. find the plan's member for the launch values, loading it if need be
//   2. check the call, fill the arguments, choose the entry      (Arguments)
//   3. first launch of a member: make and offer this rank's channels
//   4. write the record on the board: from here on peers can see it
//   5. first launch of a member: wait for the peers' channels
//   6. run the blocks
//
// Errors of steps 1 to 3 leave the communicator as it was, but for an offer
// that is made and does not reach its peer.  Later ones end it, also lack of
// memory, since peers have begun to rely on this rank.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_LANE_H
#define COLL_RUNTIME_CORE_LANE_H

#include "runtime/core/DeviceLane.h"
#include "runtime/core/Repeats.h"
#include "runtime/core/Workers.h"

#include <set>
#include <unordered_map>

namespace coll {

/// Plans that a lane chooses from for the standard contracts.
inline constexpr size_t kMaxUsedPlans = 256;

class Lane final : public LaneBase {
public:
  static Status create(Communicator &comm, std::unique_ptr<LaneBase> &result);
  static Lane &of(coll_comm &comm) { return static_cast<Lane &>(comm.lane()); }

  Status launch(const coll_plan &plan, const coll_call &call,
                coll_stream stream);
  Status prepare(const coll_plan &plan, const coll_call &call);

  /// Registers a plan for the standard contracts; again is as good as once.
  Status use(const coll_plan &plan);
  /// Launches the registered plan of this contract whose `sizes` suit `bytes`
  /// best among those that have kernels for the call on all ranks.
  Status launchBest(const StandardContract &contract, uint64_t bytes,
                    const coll_call &call, coll_stream stream);
  /// The same for a call whose count is one number; `stream` may be null.
  [[gnu::always_inline]] Status launchStandard(const StandardCall &call,
                                               coll_stream stream) noexcept;
  /// Room for the counts that a call of an alltoallv is given.
  std::span<size_t> countSpace() { return countMemory; }

  //===-- For plans being loaded --------------------------------------------//
  Communicator &comm() { return communicator; }
  uint32_t isa() const { return hostIsa; }
  LaunchRules launchRules() const;
  /// What launches of a plan find out about how they are best run.
  WayRules wayRules(const coll_plan &plan) const;
  Scratch &scratch() { return memory; }
  Stopovers &stopovers() { return stops; }
  Channels &channels() { return links; }
  DeviceLane *device() { return deviceLane.get(); } ///< null: on the host
  Status reserveWorkers(uint32_t blocks) { return workers.reserve(blocks); }
  /// Pauses before a wait yields, for a plan of so many blocks on all ranks.
  uint32_t spinLimit(uint64_t totalBlocks) const;

  //===-- For waits ---------------------------------------------------------//
  /// How long a block spins before it yields; its own to write.
  uint32_t &spins(uint32_t block) { return spinning[block].pauses; }
  /// What can be said of a peer that lets us wait: that it has left, or that
  /// its launch of this number is another one.
  Status checkPeer(int peer);

  void abort() noexcept override { links.transport().abort(); }
  void close() noexcept override;
  Status drain() override;
  /// COLL_PROTOCOL_* of the last launch.
  uint32_t lastProtocol() const { return last->member->arguments().protocol(); }
  Status meet() override;
  WindowSink *windowSink() override;

private:
  Lane(Communicator &comm, uint32_t isa);
  class Occupancy;
  Status checkSplits(int peer, uint64_t launch) const;
  Status checkUsable() {
    return communicator.isAborted() ? communicator.status() : Status::ok();
  }
  Status launchHeld(const coll_plan &plan, const coll_call &call,
                    coll_stream stream, bool bulk);
  Status relaunch(const Repeat &repeat) noexcept;
  Status launchNew(const StandardCall &call, coll_stream stream) noexcept;
  Status launchFound(const StandardContract &contract, uint64_t bytes,
                     const coll_call &call, coll_stream stream);
  static uint64_t hashOf(const StandardCall &call) {
    return reinterpret_cast<uintptr_t>(call.contract) ^
           reinterpret_cast<uintptr_t>(call.out) >> 4 ^ call.count;
  }
  Status notInUse(const SelectionRule &rule,
                  const StandardContract &contract) const;
  Status best(const StandardContract &contract, const coll_call &call,
              Found &result) const;
  void explain(Found &found);
  void explainOnDevice(Member &member);
  Status enter(const coll_plan &plan, const coll_call &call);
  Status choose(const coll_plan &plan, const coll_call &call);
  Status find(const coll_plan &plan, LanePlan *&result);
  void record(Member &member, const coll_call &call);
  void enterBoard(Member &member);
  Status awaitChannels(Member &member);
  void describe(const Member &member) const;
  Status run(Member &member, coll_kernel_fn kernel);

  struct alignas(64) Spinning {
    uint32_t pauses = UINT32_MAX / 2; ///< cut to the limit by the first wait
  };

  Communicator &communicator;
  uint32_t hostIsa;
  const LaunchRules rules;
  std::array<Spinning, kMaxBlocks> spinning;
  std::atomic<uintptr_t> occupied{0};     ///< by the call with this mark
  std::unique_ptr<DeviceLane> deviceLane; ///< outlives all that lies on it
  Channels links;
  Scratch memory; // outlives the members, which give it back
  Stopovers stops;
  std::unordered_map<const coll_plan *, std::unique_ptr<LanePlan>> plans;
  HashedTable<Choice, 8> choices;
  Choice *last = nullptr; ///< of the call that is running
  std::vector<LanePlan *> used;
  HashedTable<Found, 16> founds;
  HashedTable<Repeat, 16> repeats;
  /// What has been said of choices so far.
  std::set<std::string> explained;
  std::vector<size_t> countMemory;
  /// Whose texts the board's records hold, in their order.
  std::array<const Member *, kBoardRecords> recorded = {};
  Workers workers; // ended first
};

/// Holds the lane for one call.  It is taken by a plain store, since an atomic
/// exchange would wait until the last launch's stores have reached its peers: a
/// third of a small message.  Of two calls that come in at the very same
/// moment, and both find the lane free, the one whose mark is overwritten finds
/// out when it leaves, or the other one finds the lane free when it does.
class Lane::Occupancy {
public:
  explicit Occupancy(Lane &lane)
      : lane(lane), isOurs(lane.occupied.load(std::memory_order_acquire) == 0) {
    if (isOurs)
      lane.occupied.store(mark(), std::memory_order_relaxed);
  }
  ~Occupancy() {
    if (isOurs)
      lane.occupied.store(0, std::memory_order_release);
  }
  /// COLL_OVERLAP, which ends the communicator, if another call holds it.
  /// `what` is done with the plan or contract `name`: "launched".
  Status check(const char *name, const char *what) const {
    return isOurs ? Status::ok() : overlap(name, what);
  }

  /// COLL_OVERLAP if another call has come in at the same moment.
  Status checkLeaving(const char *name) const {
    return lane.occupied.load(std::memory_order_relaxed) == mark()
               ? Status::ok()
               : overlap(name, "launched");
  }

private:
  uintptr_t mark() const { return reinterpret_cast<uintptr_t>(this); }
  Status overlap(const char *name, const char *what) const;

  Lane &lane;
  bool isOurs;
};

/// Most calls repeat an earlier one.  Their values are compared in registers,
/// as they come: what is written to memory word by word and read in wider
/// pieces waits until all stores before it are done, those to peers included.
inline Status Lane::launchStandard(const StandardCall &call,
                                   coll_stream stream) noexcept {
  COLL_TRY(checkUsable());
  Occupancy occupancy(*this);
  COLL_TRY(occupancy.check(call.contract->name, "launched"));
  const Repeat &repeat = repeats.at(hashOf(call));
  COLL_TRY(repeat.isFor(call) && !stream ? relaunch(repeat)
                                         : launchNew(call, stream));
  return occupancy.checkLeaving(call.contract->name);
}

} // namespace coll

#endif // COLL_RUNTIME_CORE_LANE_H
