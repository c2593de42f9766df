//===- Lane.cpp - Channels with one order of launches ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Lane.h"
#include "runtime/core/Isa.h"
#include "runtime/core/StreamProbe.h"

#include <algorithm>

namespace coll {

Status createLane(Communicator &comm, std::unique_ptr<LaneBase> &lane) {
  return Lane::create(comm, lane);
}

Status Lane::create(Communicator &comm, std::unique_ptr<LaneBase> &result) {
  uint32_t isa = 0;
  COLL_TRY(chooseIsa(comm.environment().isa, isa));
  std::unique_ptr<Lane> lane(new Lane(comm, isa));
  DeviceMark mark = {.kind = DeviceMark::Host};
  if (comm.environment().device) {
    COLL_TRY(createDeviceLane(*lane, lane->deviceLane));
    lane->links.setTransport(lane->deviceLane->createTransport());
    mark = lane->deviceLane->mark();
  }
  comm.board().publishDevice(mark);
  comm.info("channels over %s, kernels for %s", lane->links.transport().name(),
            isaName(isa));
  result = std::move(lane);
  return Status::ok();
}

/// Not for more ranks than cores: every piece may be a change of threads.
static uint32_t pieceBytes(const Communicator &comm) {
  constexpr uint32_t bytes = 16 << 10;
  return uint32_t(comm.size()) <= comm.hostCores() ? bytes : 0;
}

Lane::Lane(Communicator &comm, uint32_t isa)
    : communicator(comm), hostIsa(isa),
      rules{.streams = comm.streams(),
            .outBytes = comm.environment().nonTemporal.value_or(true)
                            ? streamOutBytes(comm.hostRanks())
                            : UINT64_MAX,
            .pieceBytes = pieceBytes(comm)},
      links(comm), countMemory(2 * size_t(comm.size()) - 1) {}

/// What ranks reach of one another is known when lanes have been made.
LaunchRules Lane::launchRules() const {
  LaunchRules own = rules;
  own.byKernel = communicator.offersProcess();
  return own;
}

uint32_t Lane::spinLimit(uint64_t totalBlocks) const {
  // Measured: spinning wins while everyone has a core, and else delays the very
  // rank that one waits for.
  constexpr uint32_t alone = 2000, crowded = 20;
  if (communicator.environment().spin)
    return *communicator.environment().spin;
  return totalBlocks <= communicator.hostCores() ? alone : crowded;
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

Status Lane::Occupancy::overlap(const char *name, const char *what) const {
  return lane.communicator.failWith(Status::error(
      COLL_OVERLAP,
      "'%s' is %s while another call on this communicator is running: launches "
      "at the same time need a communicator each (coll_comm_dup)",
      name, what));
}

Status Lane::find(const coll_plan &plan, LanePlan *&result) {
  std::unique_ptr<LanePlan> &slot = plans[&plan];
  if (!slot)
    COLL_TRY(LanePlan::create(*this, plan, slot));
  result = slot.get();
  return Status::ok();
}

/// Step 1: `last` is the choice for this call.
Status Lane::enter(const coll_plan &plan, const coll_call &call) {
  last = &choices.at(reinterpret_cast<uintptr_t>(&plan) >> 4);
  return last->suits(plan, call) ? Status::ok() : choose(plan, call);
}

Status Lane::choose(const coll_plan &plan, const coll_call &call) {
  *last = {};
  LanePlan *loaded = nullptr;
  COLL_TRY(find(plan, loaded));
  Choice choice = {.plan = &plan, .dtype = call.dtype, .op = call.op};
  if (deviceLane) {
    COLL_TRY(loaded->deviceKernels(call, choice.deviceKernels));
    if (!deviceLane->hasLines())
      choice.deviceKernels.lines = nullptr;
  } else {
    COLL_TRY(loaded->kernel(call, choice.kernel));
  }
  COLL_TRY(loaded->member(*this, call.launch, choice.member));
  std::copy_n(call.launch, plan.nlaunch, choice.launch);
  *last = choice;
  return Status::ok();
}

void Lane::record(Member &member, const coll_call &call) {
  const coll_args &args = member.arguments().args();
  LaunchRecord &record = member.record();
  record.count = args.count;
  record.sig = args.sig;
  record.protocol = member.arguments().protocol();
  record.dtype = uint8_t(call.dtype);
  if (member.plan().plan().reduces)
    record.op = uint8_t(call.op);
  enterBoard(member);
}

void Lane::enterBoard(Member &member) {
  Board &board = communicator.board();
  LaunchRecord &record = member.record();
  record.launch = board.entered() + 1;
  const Member *&before = recorded[record.launch % kBoardRecords];
  if (before == &member) {
    board.enterAgain(record);
    return;
  }
  board.enterLaunch(record);
  before = &member;
}

Status Lane::launch(const coll_plan &plan, const coll_call &call,
                    coll_stream stream) {
  COLL_TRY(checkUsable());
  Occupancy occupancy(*this);
  COLL_TRY(occupancy.check(plan.name, "launched"));
  COLL_TRY(launchHeld(plan, call, stream, /*bulk=*/false));
  return occupancy.checkLeaving(plan.name);
}

Status Lane::launchHeld(const coll_plan &plan, const coll_call &call,
                        coll_stream stream, bool bulk) {
  if (stream && !deviceLane)
    return Status::error(COLL_INVALID,
                         "plan '%s' runs on the host: its stream is NULL",
                         plan.name);
  COLL_TRY(enter(plan, call));
  Member &member = *last->member;
  Arguments &arguments = member.arguments();
  arguments.useBulk(bulk);
  COLL_TRY(arguments.fill(call));
  if (deviceLane)
    COLL_TRY(deviceLane->check(member, last->deviceKernels.of(arguments.args()),
                               arguments, stream));
  if (!member.isConnected())
    COLL_TRY(communicator.failWith(links.offer(member.channels())));
  return communicator.commit([&]() -> Status {
    if (deviceLane)
      deviceLane->noteFinished();
    record(member, call);
    if (!member.isConnected())
      COLL_TRY(awaitChannels(member));
    if (deviceLane) {
      COLL_TRY(deviceLane->launch(member, arguments));
      explainOnDevice(member);
      return Status::ok();
    }
    PlanInstance &inst = member.instance(arguments.isInPlace());
    arguments.args().inst =
        reinterpret_cast<uint64_t>(static_cast<coll_inst *>(&inst));
    COLL_TRY(run(member, last->kernel));
    communicator.board().leaveLaunch();
    return Status::ok();
  });
}

/// Steps 4 and 6 alone.
Status Lane::relaunch(const Repeat &repeat) noexcept {
  return communicator.commit([&]() -> Status {
    Member &member = *repeat.member;
    enterBoard(member);
    COLL_TRY(run(member, repeat.kernel));
    communicator.board().leaveLaunch();
    return Status::ok();
  });
}

Status Lane::drain() {
  if (!deviceLane)
    return Status::ok();
  COLL_TRY(deviceLane->drain(communicator.deadline()));
  if (communicator.environment().debug != DebugLevel::Info)
    return Status::ok();
  MessageCounts counts;
  COLL_TRY(deviceLane->countMessages(counts));
  communicator.info(
      "messages sent on the device: %llu in bulk slots or as "
      "lines, %llu as packets, %llu put; %llu channels were last "
      "got from",
      (unsigned long long)counts.bulk, (unsigned long long)counts.packets,
      (unsigned long long)counts.puts, (unsigned long long)counts.gets);
  return Status::ok();
}

Status Lane::meet() { return deviceLane ? deviceLane->meet() : Status::ok(); }

WindowSink *Lane::windowSink() {
  return deviceLane ? &deviceLane->windows() : nullptr;
}

void Lane::close() noexcept {
  workers.stop();
  if (deviceLane)
    deviceLane->close();
}

Status Lane::prepare(const coll_plan &plan, const coll_call &call) {
  COLL_TRY(checkUsable());
  Occupancy occupancy(*this);
  COLL_TRY(occupancy.check(plan.name, "prepared"));
  COLL_TRY(enter(plan, call));
  Member &member = *last->member;
  // Not all calls have the same protocol.
  const DeviceKernels &kernels = last->deviceKernels;
  for (const coll_device_kernel *kernel :
       {kernels.slots, kernels.packets, kernels.lines})
    if (kernel)
      COLL_TRY(deviceLane->prepare(member, *kernel));
  if (member.isConnected())
    return Status::ok();
  COLL_TRY(communicator.failWith(links.offer(member.channels())));
  return communicator.commit([&] { return awaitChannels(member); });
}

Status Lane::awaitChannels(Member &member) {
  const char *name = member.plan().plan().name;
  Position position;
  position.launch = communicator.board().entered();
  position.sinceNs = monotonicNs();
  position.state = COLL_STATE_WAIT_DATA;
  copyText(position.what, sizeof position.what,
           format("connecting the channels of plan '%s'", name));
  auto check = [&](int peer) {
    position.peer = peer;
    communicator.board().publishPosition(0, position);
    return checkPeer(peer);
  };
  Status status =
      links.await(member.channels(), communicator.deadline(), check);
  if (status.code() == COLL_TIMEOUT)
    status = Status::error(COLL_TIMEOUT,
                           "%s for plan '%s': it has neither launched nor "
                           "prepared it\n%s",
                           status.text().c_str(), name,
                           communicator.hangReport().c_str())
                 .withPeer(status.peer());
  communicator.board().publishPosition(0, Position());
  COLL_TRY(std::move(status));
  member.connect(links);
  if (deviceLane)
    COLL_TRY(deviceLane->connect(member));
  describe(member);
  return Status::ok();
}

/// What a plan runs with, when it has been connected.
void Lane::describe(const Member &member) const {
  const coll_plan &plan = member.plan().plan();
  const coll_class &cls = member.rankClass();
  bool hasEnd = plan.sizes_hi != 0 && plan.sizes_hi != UINT64_MAX;
  communicator.info(
      "plan '%s' (%s) for %llu%s bytes: %u channels out, %u in, %u blocks; all "
      "plans so far have %llu KiB of rings on this rank and %llu KiB of "
      "scratch",
      plan.name, plan.contract, (unsigned long long)plan.sizes_lo,
      hasEnd ? format(" to %llu", (unsigned long long)plan.sizes_hi).c_str()
             : " and more",
      cls.nsend * member.plan().ranks().instances,
      cls.nrecv * member.plan().ranks().instances, member.blocks(),
      (unsigned long long)(links.transport().ownBytes() >> 10),
      (unsigned long long)(memory.bytes() >> 10));
}

/// Does a peer wait for all in a split that this rank was to call before
/// `launch`, which it has entered?
Status Lane::checkSplits(int peer, uint64_t launch) const {
  // This rank's after `launch` was read: a split before it is there by now.
  SplitRecord theirs, mine;
  if (communicator.board(peer).readSplit(theirs) != Board::Read::Ok ||
      communicator.board().readSplit(mine) == Board::Read::Torn ||
      theirs.number <= mine.number || theirs.launches >= launch)
    return Status::ok();
  return Status::error(COLL_MISMATCH, "rank %d has called %s, and rank %d %s",
                       peer, theirs.text().c_str(), communicator.rank(),
                       communicator.describeLaunch(launch).c_str())
      .withPeer(peer);
}

Status Lane::checkPeer(int peer) {
  uint64_t launch = communicator.board().entered();
  // Both from the boards: a device's watch looks while this rank's thread may
  // be writing the next launch down.
  LaunchRecord mine, theirs;
  if (communicator.board().readLaunch(launch, mine) == Board::Read::Ok &&
      communicator.board(peer).readLaunch(launch, theirs) == Board::Read::Ok &&
      mine.sig != theirs.sig)
    return Status::error(COLL_MISMATCH, "%s",
                         communicator.describeLaunches(launch, peer).c_str())
        .withPeer(peer);
  COLL_TRY(checkSplits(peer, launch));
  // A peer that has returned from another launch may have left since.
  if (communicator.control().peerState(peer) == Control::PeerState::Left)
    return Status::error(COLL_PEER_LOST,
                         "rank %d has destroyed its communicator, but rank %d "
                         "waits for it",
                         peer, communicator.rank())
        .withPeer(peer);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
struct BlockJob {
  coll_block *blocks;
  coll_kernel_fn kernel;
  const coll_args *args;
  uint64_t launch;
};
} // namespace

static constexpr uint64_t progressOf(uint64_t state) { return state << 60; }

/// Peers read these fields at any time: each store is atomic.
static void runBlock(void *context, uint32_t block) {
  const BlockJob &job = *static_cast<BlockJob *>(context);
  coll_block &line = job.blocks[block];
  __atomic_store_n(&line.result, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&line.launch, job.launch, __ATOMIC_RELAXED);
  __atomic_store_n(&line.entered, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&line.progress, progressOf(COLL_STATE_RUN),
                   __ATOMIC_RELAXED);
  job.kernel(job.args, block);
  __atomic_store_n(&line.progress, progressOf(COLL_STATE_DONE),
                   __ATOMIC_RELAXED);
  __atomic_store_n(&line.entered, 0, __ATOMIC_RELAXED);
}

WayRules Lane::wayRules(const coll_plan &plan) const {
  WayRules ways = {.first = {rules.streams, communicator.offersProcess()}};
  if (deviceLane || communicator.size() == 1)
    return ways;
#if defined(__x86_64__) // no other kernels have such stores
  ways.triesStreams = !communicator.environment().nonTemporal;
#endif
  if (communicator.triesProcess() && !plan.reduces)
    ways.leastByKernel = communicator.memory().leastInProcess();
  return ways;
}

Status Lane::run(Member &member, coll_kernel_fn kernel) {
  coll_args &args = member.arguments().args();
  PlanInstance &inst = member.instance(member.arguments().isInPlace());
  if (inst.nblocks == 0)
    return Status::ok();
  WayTrials *trials =
      args.flags & COLL_ARGS_SMALL ? nullptr : member.wayTrials();
  if (trials)
    member.arguments().take(trials->begin(member.arguments().largestMessage()));
  // Blocks count their steps from the start of the launch.
  auto *signals = reinterpret_cast<BlockSignal *>(inst.signals);
  BlockJob job = {reinterpret_cast<coll_block *>(inst.blocks), kernel, &args,
                  communicator.board().entered()};
  signals[0].steps = 0;
  if (inst.nblocks == 1) {
    runBlock(&job, 0);
  } else {
    for (uint32_t b = 1; b != inst.nblocks; ++b)
      signals[b].steps = 0;
    workers.run({runBlock, &job}, inst.nblocks, inst.dev.spin_limit);
  }
  // Not the abort word: it may have been set after all was done.
  bool failed = false;
  for (uint32_t b = 0; b != inst.nblocks; ++b)
    failed |= __atomic_load_n(&job.blocks[b].result, __ATOMIC_RELAXED) != 0;
  if (trials)
    trials->end();
  return failed ? communicator.status() : Status::ok();
}

//===----------------------------------------------------------------------===//
// Registered plans
//===----------------------------------------------------------------------===//

Status Lane::use(const coll_plan &plan) {
  COLL_TRY(checkUsable());
  Occupancy occupancy(*this);
  COLL_TRY(occupancy.check(plan.name, "put to use"));
  LanePlan *loaded = nullptr;
  COLL_TRY(find(plan, loaded));
  if (std::find(used.begin(), used.end(), loaded) != used.end())
    return Status::ok();
  if (used.size() == kMaxUsedPlans)
    return Status::error(COLL_INVALID,
                         "plan '%s' would be one more than %zu in use on this "
                         "communicator",
                         plan.name, kMaxUsedPlans);
  used.push_back(loaded);
  founds.clear();
  repeats.clear();
  return Status::ok();
}

} // namespace coll
