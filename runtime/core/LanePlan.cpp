//===- LanePlan.cpp - A plan loaded on a lane -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/LanePlan.h"
#include "runtime/core/Isa.h"
#include "runtime/core/Lane.h"
#include "runtime/core/Text.h"

#include <cassert>

namespace coll {

//===----------------------------------------------------------------------===//
// LanePlan
//===----------------------------------------------------------------------===//

Status LanePlan::create(Lane &lane, const coll_plan &plan,
                        std::unique_ptr<LanePlan> &result) {
  if (plan.abi != COLL_ABI)
    return Status::error(COLL_INVALID,
                         "the object of plan '%s' was made for ABI %u, this "
                         "library has ABI %u",
                         plan.name, plan.abi, COLL_ABI);
  int nranks = lane.comm().size();
  const coll_plan_ranks *ranks = findRanks(plan, nranks);
  if (!ranks)
    return Status::error(COLL_NO_PLAN,
                         "plan '%s' was not compiled for %d ranks (it is for "
                         "%s): compile it with --ranks %d",
                         plan.name, nranks, describeSizes(plan).c_str(),
                         nranks);
  COLL_TRY(checkPlan(plan, *ranks));
  uint32_t needed = verifiedRings(*ranks).slots;
  if (lane.comm().rings().slots < needed)
    return Status::error(COLL_INVALID,
                         "plan '%s' was verified for rings of %u slots and may "
                         "deadlock in the %u of this communicator (COLL_SLOTS "
                         "of rank 0)",
                         plan.name, needed, lane.comm().rings().slots);
  std::unique_ptr<LanePlan> loaded(
      new LanePlan(plan, *ranks, lane.device() != nullptr));
  loaded->stepChunks = coll::maxStepChunks(*ranks);
  loaded->members.resize(ranks->nmembers);
  loaded->chooseKernels(lane.isa(), loaded->kernels);
  loaded->chooseKernels(lane.comm().commonIsa(), loaded->commonKernels);
  result = std::move(loaded);
  return Status::ok();
}

static bool isForDtype(const coll_kernel &kernel, uint32_t dtype) {
  return kernel.dtype == COLL_ANY || kernel.dtype == dtype;
}

static bool isForOp(const coll_plan &plan, const coll_kernel &kernel,
                    uint32_t op) {
  return !plan.reduces || kernel.op == COLL_ANY || kernel.op == op;
}

/// For every dtype and op the variant of the highest instruction set that runs.
void LanePlan::chooseKernels(uint32_t isa, Kernels &chosen) const {
  int best[kNumDtypes][kNumOps];
  for (auto &row : best)
    for (int &entry : row)
      entry = -1;
  for (const coll_kernel &kernel : std::span(source.kernels, source.nkernels)) {
    if (!canRun(kernel.isa, isa))
      continue;
    for (uint32_t dtype = 0; dtype != kNumDtypes; ++dtype)
      for (uint32_t op = 0; op != kNumOps; ++op)
        if (isForDtype(kernel, dtype) && isForOp(source, kernel, op) &&
            int(kernel.isa) > best[dtype][op]) {
          best[dtype][op] = kernel.isa;
          chosen[dtype][op] = kernel.fn;
        }
  }
}

bool LanePlan::servesAllRanks(uint32_t dtype, uint32_t op) const {
  if (onDevice)
    return DeviceLane::find(source, dtype, op, COLL_PROTOCOL_SIMPLE) != nullptr;
  return dtype < kNumDtypes && op < kNumOps && commonKernels[dtype][op];
}

bool LanePlan::servesAllRanksWith(coll_dtype &dtype, coll_op &op) const {
  for (uint32_t d = 0; d != kNumDtypes; ++d)
    for (uint32_t o = 0; o != kNumOps; ++o)
      if (servesAllRanks(d, o)) {
        dtype = coll_dtype(d);
        op = coll_op(o);
        return true;
      }
  return false;
}

Status LanePlan::kernel(const coll_call &call, coll_kernel_fn &fn) const {
  uint32_t dtype = uint32_t(call.dtype);
  uint32_t op = source.reduces ? uint32_t(call.op) : 0;
  if (dtype >= kNumDtypes || op >= kNumOps)
    return Status::error(COLL_INVALID, "the call has %s %u, which is none",
                         dtype >= kNumDtypes ? "dtype" : "op",
                         dtype >= kNumDtypes ? dtype : op);
  fn = kernels[dtype][op];
  return fn ? Status::ok() : missingKernel(call);
}

const coll_device_kernel *DeviceLane::find(const coll_plan &plan,
                                           uint32_t dtype, uint32_t op,
                                           uint32_t protocol) {
  for (const coll_device_kernel &kernel :
       std::span(plan.device_kernels, plan.ndevice_kernels))
    if ((kernel.protocols & protocol) &&
        (kernel.dtype == COLL_ANY || kernel.dtype == dtype) &&
        (!plan.reduces || kernel.op == COLL_ANY || kernel.op == op))
      return &kernel;
  return nullptr;
}

Status LanePlan::deviceKernels(const coll_call &call,
                               DeviceKernels &kernels) const {
  uint32_t dtype = uint32_t(call.dtype);
  uint32_t op = source.reduces ? uint32_t(call.op) : 0;
  if (dtype >= kNumDtypes || op >= kNumOps)
    return Status::error(COLL_INVALID, "the call has %s %u, which is none",
                         dtype >= kNumDtypes ? "dtype" : "op",
                         dtype >= kNumDtypes ? dtype : op);
  kernels.slots = DeviceLane::find(source, dtype, op, COLL_PROTOCOL_SIMPLE);
  kernels.packets = DeviceLane::find(source, dtype, op, COLL_PROTOCOL_LL);
  kernels.lines = DeviceLane::find(source, dtype, op, COLL_PROTOCOL_LL128);
  if (kernels.slots)
    return Status::ok();
  if (source.ndevice_kernels == 0)
    return Status::error(COLL_INVALID,
                         "plan '%s' was built without --target=cuda:sm_...: it "
                         "has no code for devices",
                         source.name);
  return Status::error(COLL_INVALID,
                       "plan '%s' has no device kernel for %s of %s "
                       "(--dtypes, --ops)",
                       source.name, opText(op).c_str(),
                       dtypeText(dtype).c_str());
}

Status LanePlan::missingKernel(const coll_call &call) const {
  if (source.nkernels == 0 && source.ndevice_kernels != 0)
    return Status::error(COLL_INVALID,
                         "plan '%s' was built for devices alone: compile with "
                         "--target=host,cuda:sm_..., or run on a device "
                         "(COLL_DEVICE)",
                         source.name);
  bool hasDtype = false, hasOp = false, hasBoth = false;
  for (const coll_kernel &k : std::span(source.kernels, source.nkernels)) {
    bool isDtype = isForDtype(k, call.dtype);
    bool isOp = isForOp(source, k, call.op);
    hasDtype |= isDtype;
    hasOp |= isOp;
    hasBoth |= isDtype && isOp;
  }
  if (!hasDtype)
    return Status::error(COLL_INVALID,
                         "plan '%s' was built without --dtypes=%s (it has %s)",
                         source.name, dtypeText(call.dtype).c_str(),
                         describeDtypes(source).c_str());
  if (!hasOp)
    return Status::error(
        COLL_INVALID, "plan '%s' was built without --ops=%s (it has %s)",
        source.name, opText(call.op).c_str(), describeOps(source).c_str());
  if (!hasBoth)
    return Status::error(COLL_INVALID, "plan '%s' has no kernel for %s of %s",
                         source.name, opText(call.op).c_str(),
                         dtypeText(call.dtype).c_str());
  return Status::error(COLL_INVALID,
                       "plan '%s' has no kernel for this processor's "
                       "instruction set, or for COLL_ISA",
                       source.name);
}

Status LanePlan::member(Lane &lane, const int *launch, Member *&result) {
  uint32_t index = 0;
  COLL_TRY(findMember(source, table, launch, index));
  std::unique_ptr<Member> &slot = members[index];
  if (!slot)
    COLL_TRY(Member::create(lane, *this, index, launch, slot));
  result = slot.get();
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Member
//===----------------------------------------------------------------------===//

Status Member::create(Lane &lane, const LanePlan &plan, uint32_t member,
                      const int *launch, std::unique_ptr<Member> &result) {
  const coll_plan_ranks &ranks = plan.ranks();
  int rank = lane.comm().rank();
  int root = plan.plan().nlaunch ? launch[0] : 0;
  const coll_class &cls = classOf(ranks, member, rank, root);
  std::unique_ptr<Member> made(new Member(plan, cls, lane));
  std::copy_n(cls.words, cls.nwords, made->relocated.begin());
  relocate(cls, ranks, rank, root, made->relocated);
  made->numBlocks = cls.program_blocks * ranks.instances;
  if (made->numBlocks > kMaxBlocks)
    return Status::error(COLL_INVALID,
                         "plan '%s' has %u blocks, and a lane runs %u at most",
                         plan.plan().name, made->numBlocks, kMaxBlocks);
  made->listChannels();
  const LaunchRules rules = plan.rulesOf(lane);
  made->fillRecord(launch);
  made->launchRecord.planDigest = digestOf(ranks, rules);
  made->ends.resize(made->channelIds.size());
  if (rules.hasLines && plan.plan().flags & COLL_PLAN_LL128)
    made->listLines();
  made->launchArguments = std::make_unique<Arguments>(
      plan.plan(), ranks, cls, made->relocated, plan.maxStepChunks(),
      lane.comm().rings(), rules);
  made->launchArguments->useWindows(lane.comm().memory());
  const WayRules ways = lane.wayRules(plan.plan());
  if (made->numBlocks != 0 && ways.triesAny())
    made->trials = std::make_unique<WayTrials>(ways);
  if (!lane.device())
    COLL_TRY(lane.stopovers().reserve(made->numBlocks +
                                          size_t(cls.nrecv) * ranks.instances,
                                      lane.comm().rings().slotBytes));

  uint64_t slotBytes = uint64_t(ranks.round_units) * COLL_UNIT_BYTES *
                       maxStorageScale(plan.plan(), ranks);
  if (slotBytes > UINT32_MAX)
    return Status::error(COLL_INVALID,
                         "plan '%s' has rounds of %u units, which are too many",
                         plan.plan().name, ranks.round_units);
  uint64_t total = totalBlocks(ranks, member, root);
  for (bool inPlace : {false, true}) {
    made->fillInstance(lane, inPlace, total);
    PlanInstance &inst = made->instances[inPlace];
    inst.scratch_slot_bytes = uint32_t(slotBytes);
    made->scratchNeed[inPlace] =
        slotBytes * inst.scratch_slots * ranks.instances;
    if (!made->device)
      COLL_TRY(made->scratch.serve(inst, made->scratchNeed[inPlace]));
  }
  if (made->device)
    COLL_TRY(made->device->load(*made));
  else
    COLL_TRY(lane.reserveWorkers(made->numBlocks));
  result = std::move(made);
  return Status::ok();
}

Member::Member(const LanePlan &owner, const coll_class &cls, Lane &lane)
    : owner(owner), cls(cls), scratch(lane.scratch()), device(lane.device()),
      relocated(cls.nwords) {}

/// Devices write no bulk slot past their caches.  Their small slots hold
/// packets and nothing else: another kernel's payload could be taken for flags.
/// Launches have none if there is a dtype and op without a kernel for them; so
/// with lines.
LaunchRules LanePlan::rulesOf(Lane &lane) const {
  LaunchRules rules = lane.launchRules();
  if (!onDevice)
    return rules;
  rules.streams = false;
  rules.pieceBytes = 0;
  rules.hasLines = lane.device()->hasLines();
  for (const coll_device_kernel &kernel :
       std::span(source.device_kernels, source.ndevice_kernels)) {
    auto has = [&](uint32_t protocol) {
      return DeviceLane::find(source, kernel.dtype, kernel.op, protocol) !=
             nullptr;
    };
    rules.hasSmall &= has(COLL_PROTOCOL_LL);
    rules.hasLines &= has(COLL_PROTOCOL_LL128);
  }
  rules.hasPackets = rules.hasSmall;
  return rules;
}

Member::~Member() {
  if (device)
    device->forget(*this);
  for (const PlanInstance &inst : instances)
    scratch.forget(inst);
}

/// Instance i of the program uses the tags from i * nchannels on.
void Member::listChannels() {
  struct End {
    uint32_t peer, tag;
  };
  const coll_plan_ranks &ranks = owner.ranks();
  auto add = [&](uint32_t word, uint32_t count, bool isSender) {
    const auto *list = reinterpret_cast<const End *>(&relocated[word]);
    for (uint32_t i = 0; i != ranks.instances; ++i)
      for (const End &end : std::span(list, count))
        channelIds.push_back(
            {end.peer, end.tag + i * ranks.nchannels, isSender});
  };
  if (cls.nsend)
    add(cls.send_ends, cls.nsend, true);
  if (cls.nrecv)
    add(cls.recv_ends, cls.nrecv, false);
}

/// Of all ends, in their order. Every rank of the plan does.
void Member::listLines() {
  for (size_t i = 0; i != ends.size(); ++i) {
    channelIds.push_back(channelIds[i]);
    channelIds.back().isLines = true;
  }
}

void Member::fillRecord(const int *launch) {
  const coll_plan &plan = owner.plan();
  launchRecord.contractHash = plan.contract_hash;
  launchRecord.hasCount =
      plan.ncounts != 0 && !(plan.flags & COLL_PLAN_VCOUNTS);
  launchRecord.nlaunch = uint8_t(plan.nlaunch);
  for (uint32_t p = 0; p != plan.nlaunch; ++p)
    launchRecord.launchValues[p] = launch[p];
  copyText(launchRecord.plan, sizeof launchRecord.plan, plan.name);
  copyText(launchRecord.contract, sizeof launchRecord.contract, plan.contract);
}

void Member::fillInstance(Lane &lane, bool inPlace, uint64_t totalBlocks) {
  auto address = [](const void *pointer) {
    return reinterpret_cast<uint64_t>(pointer);
  };
  const coll_plan_ranks &ranks = owner.ranks();
  Communicator &comm = lane.comm();
  signals[inPlace].resize(numBlocks);

  PlanInstance &inst = instances[inPlace];
  inst.lane = &lane;
  inst.member = this;
  inst.dev.abort = address(&comm.abortWord());
  inst.dev.spin_limit = lane.spinLimit(totalBlocks);
  inst.dev.deadline_ns = comm.deadlineNs();

  inst.comm = address(&inst.dev);
  inst.send_ends = address(ends.data());
  inst.recv_ends = address(ends.data() + size_t(cls.nsend) * ranks.instances);
  inst.blocks = address(comm.board().blocks());
  inst.consts = address(relocated.data());
  inst.steps = address(relocated.data() + cls.entry[inPlace]);
  inst.wins = address(comm.windows().table());
  inst.signals = address(signals[inPlace].data());
  inst.nblocks = numBlocks;
  inst.nchannels = ranks.nchannels;
  inst.rank = uint32_t(comm.rank());
  inst.nranks = uint32_t(comm.size());
  inst.digest = ranks.digest;
  inst.ninstances = ranks.instances;
  inst.nsend = cls.nsend;
  inst.nrecv = cls.nrecv;
  inst.program_blocks = cls.program_blocks;
  inst.scratch_slots = cls.scratch_slots[inPlace];
}

void Member::connect(Channels &channels) {
  for (size_t i = 0; i != ends.size(); ++i)
    static_cast<coll_end &>(ends[i]) = channels.end(channelIds[i]);
  for (size_t i = ends.size(); i != channelIds.size(); ++i)
    ends[i - ends.size()].lines = channels.end(channelIds[i]).lines;
  connected = true;
}

} // namespace coll
