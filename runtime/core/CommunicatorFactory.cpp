//===- CommunicatorFactory.cpp - Making communicators ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/CommunicatorFactory.h"
#include "runtime/core/AddressExchange.h"
#include "runtime/core/RemoteMemory.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace coll {

static constexpr uint64_t defaultDeadlineNs = 600'000'000'000;
static constexpr uint64_t defaultInitDeadlineNs = 120'000'000'000;

/// The environment and coll_config, where that says something.
struct CommunicatorFactory::Settings {
  Environment env;
  uint64_t waitNs = 0, initNs = 0;

  Status read(const coll_config *config);
};

Status CommunicatorFactory::Settings::read(const coll_config *config) {
  coll_config given = COLL_CONFIG_INIT;
  if (config) {
    // The least is the first version's; a longer one is a later version's,
    // whose further fields this one does not know.
    if (config->size < sizeof given)
      return Status::error(COLL_INVALID,
                           "coll_config.size is %u: start from "
                           "COLL_CONFIG_INIT",
                           config->size);
    given = *config;
  }
  if (given.device < COLL_DEVICE_BY_RANK)
    return Status::error(COLL_INVALID,
                         "coll_config.device is %d: neither a device's number "
                         "nor -1 (COLL_DEVICE, or the host) or -2 (by rank)",
                         given.device);
  COLL_TRY(readEnvironment(env));
  if (given.device != -1)
    env.device = given.device;
  waitNs = given.deadline_ns ? given.deadline_ns
                             : env.deadlineNs.value_or(defaultDeadlineNs);
  if (given.secret_file)
    COLL_TRY(readSecretFile(given.secret_file, env.secret));
  initNs = given.init_deadline_ns
               ? given.init_deadline_ns
               : env.initDeadlineNs.value_or(defaultInitDeadlineNs);
  return Status::ok();
}

Status CommunicatorFactory::assemble(const Environment &env, uint64_t waitNs,
                                     uint64_t initNs, Meeting &&meeting,
                                     std::unique_ptr<coll_comm> &result) {
  auto comm = std::make_unique<coll_comm>(env, waitNs, initNs);
  coll_comm *self = comm.get();
  COLL_TRY(comm->process.set());
  comm->membership = meeting.membership;
  comm->spareError.rank = comm->rank();
  comm->boards = std::move(meeting.boards);
  ControlEvents events;
  events.onAbort = [self](int peer) { self->adopt(peer); };
  events.onPeerLost = [self](int peer, std::string text) {
    Error error;
    error.status = COLL_PEER_LOST;
    error.peer = peer;
    error.text = std::move(text);
    self->fail(std::move(error));
  };
  events.onWindow = [self](int peer, uint64_t window, bool isOffer,
                           Message message) {
    self->takeWindow(peer, window, isOffer, std::move(message));
  };
  events.onError = [self](Status status) {
    // Short of memory, the monitor cannot do its duty; there is no caller.
    (void)self->endWith(std::move(status));
  };
  comm->peerWindows = std::make_unique<PeerWindows>(comm->size());
  for (int peer = 0; peer != comm->size(); ++peer)
    if (peer == comm->rank() || meeting.links[size_t(peer)].pid == getpid())
      comm->peerWindows->addOwnProcess(peer);
  COLL_TRY(Control::create(comm->rank(), std::move(meeting.links),
                           std::move(events), comm->mesh));
  COLL_TRY(createLane(*comm, comm->laneState));
  COLL_TRY(comm->mesh->start());
  result = std::move(comm);
  return Status::ok();
}

Status CommunicatorFactory::complete(coll_comm &comm) {
  return comm.commit([&] { return comm.laneState->meet(); });
}

/// Before this rank says that it is ready: tells whether it reaches its peers'
/// processes.
void CommunicatorFactory::probePeers(Communicator &comm) {
  if (!comm.env.processMemory.value_or(true))
    return;
  for (int peer = 0; peer != comm.size(); ++peer)
    if (!comm.peerWindows->hasOwnProcess(peer) &&
        !reachesProcess(comm.control().peerPid(peer), comm.board(peer)))
      return;
  comm.board().publishReach();
}

/// After all have said so.
void CommunicatorFactory::findReach(Communicator &comm) {
  bool allThreads = true, allReach = true;
  for (int peer = 0; peer != comm.size(); ++peer) {
    allThreads &= comm.peerWindows->hasOwnProcess(peer);
    allReach &= comm.board(peer).reachesAll();
  }
  // Nobody moves bytes so from or to a device.
  allReach &= !comm.env.device;
  comm.reachedByThreads = allThreads;
  comm.reached = allReach;
  const char *how =
      !allReach    ? "by slots: not within reach of all ranks, or COLL_CMA=0"
      : allThreads ? "reached by all ranks, threads of a process"
      : !comm.triesProcess() ? "reached by the kernel (COLL_CMA=1)"
      : comm.offersProcess() ? "reached by the kernel, or by slots where "
                               "launches show that to be faster"
                             : "by slots, or reached by the kernel where "
                               "launches show that to be faster";
  comm.info("memory that is not registered: %s", how);
}

Status CommunicatorFactory::initialize(MeetingRequest &request,
                                       const Settings &settings,
                                       std::unique_ptr<coll_comm> &result) {
  std::unique_ptr<coll_comm> comm;
  request.env = &settings.env;
  request.build = [&](Meeting &meeting) {
    COLL_TRY(assemble(settings.env, settings.waitNs, settings.initNs,
                      std::move(meeting), comm));
    probePeers(*comm);
    return Status::ok();
  };
  COLL_TRY(meet(request).withContext("init of rank %d of %d", request.rank,
                                     request.nranks));
  COLL_TRY(complete(*comm).withContext("init of rank %d of %d", request.rank,
                                       request.nranks));
  const RingSizes &rings = comm->rings(), &own = settings.env.rings;
  comm->info("%s, %u processors for all ranks here, rings of %u x %u and %u x "
             "%u bytes, deadline %s",
             request.job.c_str(), comm->hostCores(), rings.slots,
             rings.slotBytes, rings.smallSlots, rings.smallBytes,
             durationText(settings.waitNs).c_str());
  comm->info("bulk slots are written %s the caches (%s)",
             comm->streams() ? "past" : "through",
             settings.env.nonTemporal ? "COLL_NT" : "measured by rank 0");
  findReach(*comm);
  if (!settings.env.tuneFile.empty())
    comm->info("%zu rules of %s", settings.env.selection.numOfFile(),
               settings.env.tuneFile.c_str());
  if (std::memcmp(&rings, &own, sizeof own) != 0)
    comm->info("rank 0's ring sizes hold, not this rank's COLL_* variables");
  result = std::move(comm);
  return Status::ok();
}

Status CommunicatorFactory::fromId(int nranks, const coll_id &id, int rank,
                                   const coll_config *config,
                                   std::unique_ptr<coll_comm> &result) {
  if (nranks < 1 || nranks > kMaxRanks)
    return Status::error(COLL_INVALID, "%d ranks are not from 1 to %d", nranks,
                         kMaxRanks);
  if (rank < 0 || rank >= nranks)
    return Status::error(COLL_INVALID, "rank %d is not from 0 to %d", rank,
                         nranks - 1);
  Settings settings;
  COLL_TRY(settings.read(config));
  MeetingRequest request;
  request.deadline = Deadline::after(settings.initNs);
  request.rank = rank;
  request.nranks = nranks;
  COLL_TRY(readId(id, request.token));
  request.job =
      "id " + hexText(request.token.data(), 4) + "... of coll_make_id";
  return initialize(request, settings, result);
}

Status
CommunicatorFactory::fromEnvironment(const coll_config *config,
                                     std::unique_ptr<coll_comm> &result) {
  Settings settings;
  COLL_TRY(settings.read(config));
  Launcher launcher;
  COLL_TRY(readLauncher(launcher));
  MeetingRequest request;
  request.rank = launcher.rank;
  request.nranks = launcher.nranks;
  request.deadline = Deadline::after(settings.initNs);
  request.job = launcher.title;
  if (launcher.address.empty() || launcher.nranks == 1) {
    request.token = tokenOf(launcher.name, launcher.job);
  } else {
    AddressRequest exchange;
    exchange.rank = launcher.rank;
    exchange.nranks = launcher.nranks;
    exchange.address = launcher.address;
    exchange.secret = settings.env.secret;
    exchange.trustedNetwork = settings.env.trustedNetwork;
    exchange.deadline = request.deadline;
    COLL_TRY(exchangeToken(exchange, request.token)
                 .withContext("init of rank %d of %d", launcher.rank,
                              launcher.nranks));
  }
  return initialize(request, settings, result);
}

} // namespace coll
