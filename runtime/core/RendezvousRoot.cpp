//===- RendezvousRoot.cpp - Rank 0 brings all ranks together --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/RendezvousProtocol.h"
#include "runtime/core/StreamProbe.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace coll {

/// Connections that have not yet said who they are: how many, how long.
static constexpr size_t maxPending = 256;
static constexpr uint64_t maxPendingNs = 5'000'000'000;
/// How long a failed init waits for ranks to tell.
static constexpr uint64_t lingerNs = 3'000'000'000;

namespace {

class Root {
public:
  explicit Root(const MeetingRequest &request)
      : request(request), guests(size_t(request.nranks)) {}
  ~Root() { removeSocket(); }

  Status meet();

private:
  struct Guest {
    UniqueFd socket, board, pidfd;
    uint64_t sinceNs = 0;
    bool isIn = false; ///< has said who it is
    Hello hello;
  };

  void removeSocket();
  Status gather();
  Status acceptGuests();
  Status hear(Guest &guest, bool &isSomeoneNew);
  Status hearPending(bool &isSomeoneNew);
  Status hearGuests();
  Status admit(Guest &&guest, Frame frame);
  Status checkHello(const Hello &hello) const;
  Status wentAway(int rank) const;
  Status neverCame() const;
  Status prepare();
  Status introduce();
  Status introducePair(int a, int b);
  Status tell(int rank, uint16_t kind, std::span<const std::byte> bytes,
              std::span<const int> fds = {});
  Status awaitReady();
  void refuseAll(const Status &status);

  const MeetingRequest &request;
  sockaddr_un address = {};
  UniqueFd listener;
  std::vector<Guest> pending;
  std::vector<Guest> guests; ///< by rank; 0 holds the root's own hello
  int numIn = 1;
  Meeting meeting;
};

} // namespace

void Root::removeSocket() {
  if (!listener.isValid())
    return;
  unlink(address.sun_path);
  listener.reset();
}

//===----------------------------------------------------------------------===//
// Guests
//===----------------------------------------------------------------------===//

/// Out of descriptors, the door would stay open and nobody come in.
Status Root::acceptGuests() {
  while (pending.size() < maxPending) {
    UniqueFd socket(accept4(listener.get(), nullptr, nullptr,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.isValid())
      return acceptStatus(errno);
    unsigned uid;
    int pid;
    if (!peerCredentials(socket.get(), uid, pid).isOk())
      continue;
    if (uid != geteuid()) {
      Status ignored;
      Status refusal = Status::error(
          COLL_SYSTEM, "rank 0 belongs to user %u and this process to user %u",
          unsigned(geteuid()), uid);
      (void)sendFrame(socket.get(), RefuseKind, 0, encodeRefusal(refusal), {},
                      ignored);
      continue;
    }
    Guest guest;
    guest.socket = std::move(socket);
    guest.sinceNs = monotonicNs();
    pending.push_back(std::move(guest));
  }
  return Status::ok();
}

Status Root::checkHello(const Hello &hello) const {
  if (hello.version != kProtocolVersion)
    return Status::error(COLL_INVALID,
                         "rank %d runs another version of coll than rank 0 "
                         "(protocol %u, not %u)",
                         hello.rank, hello.version, kProtocolVersion);
  if (hello.nranks != request.nranks)
    return Status::error(COLL_INVALID,
                         "rank %d (pid %d) says that there are %d ranks, rank "
                         "0 says %d",
                         hello.rank, hello.process.pid, hello.nranks,
                         request.nranks);
  if (hello.rank < 1 || hello.rank >= request.nranks)
    return Status::error(COLL_INVALID,
                         "a process (pid %d) says that it is rank %d of %d",
                         hello.process.pid, hello.rank, hello.nranks);
  uint64_t own = guests[0].hello.selection;
  if (hello.selection != own)
    return Status::error(COLL_INVALID,
                         "rank %d chooses schedules by another table than rank "
                         "0: digest %016llx, not %016llx (COLL_TUNE, or "
                         "COLL_ALLREDUCE and the like, are not the same on all "
                         "ranks)",
                         hello.rank, (unsigned long long)hello.selection,
                         (unsigned long long)own);
  const Guest &same = guests[size_t(hello.rank)];
  if (same.isIn)
    return Status::error(COLL_INVALID,
                         "two processes say that they are rank %d: pid %d and "
                         "pid %d",
                         hello.rank, same.hello.process.pid, hello.process.pid);
  if (hello.host != guests[0].hello.host)
    return Status::error(COLL_INVALID,
                         "rank %d runs on another host than rank 0: this is "
                         "not supported yet",
                         hello.rank);
  return Status::ok();
}

Status Root::admit(Guest &&guest, Frame frame) {
  Hello hello;
  std::vector<UniqueFd> &fds = frame.message.fds;
  if (!Hello::decode(frame.message.bytes, hello) ||
      (hello.version == kProtocolVersion && (fds.empty() || fds.size() > 2)))
    return Status::ok(); // no rank of coll; closing it tells it so
  COLL_TRY(checkHello(hello));
  guest.isIn = true;
  guest.hello = hello;
  guest.board = std::move(fds[0]);
  if (fds.size() == 2)
    guest.pidfd = std::move(fds[1]);
  guests[size_t(hello.rank)] = std::move(guest);
  ++numIn;
  return Status::ok();
}

/// Reads what a connection without a name has to say.
Status Root::hear(Guest &guest, bool &isSomeoneNew) {
  Frame frame;
  Status status;
  FrameResult taken = receiveFrame(guest.socket.get(), frame, status);
  if (taken == FrameResult::WouldBlock) {
    if (monotonicNs() - guest.sinceNs < maxPendingNs)
      pending.push_back(std::move(guest));
    return Status::ok();
  }
  if (taken == FrameResult::Failed && status.code() == COLL_NO_MEMORY)
    return std::move(status).withContext("rank 0");
  if (taken != FrameResult::Ok || frame.kind != HelloKind)
    return Status::ok(); // a probe, or no rank of coll
  isSomeoneNew = true;
  return admit(std::move(guest), std::move(frame));
}

Status Root::hearPending(bool &isSomeoneNew) {
  isSomeoneNew = false;
  std::vector<Guest> rest;
  rest.reserve(maxPending); // so that nobody is lost for lack of memory
  std::vector<Guest> heard = std::exchange(pending, std::move(rest));
  Status result;
  for (Guest &guest : heard) {
    if (result.isOk())
      result = catchNoMemory([&] { return hear(guest, isSomeoneNew); });
    if (!result.isOk() && guest.socket.isValid()) // to be told with all others
      pending.push_back(std::move(guest));
  }
  return result;
}

/// A rank that is in has nothing to say before it is welcome, unless it fails.
Status Root::hearGuests() {
  for (int rank = 1; rank != request.nranks; ++rank) {
    const Guest &guest = guests[size_t(rank)];
    if (!guest.isIn)
      continue;
    Frame frame;
    Status status;
    FrameResult result = receiveFrame(guest.socket.get(), frame, status);
    if (result == FrameResult::WouldBlock)
      continue;
    if (result == FrameResult::Ok && frame.kind == RefuseKind)
      return decodeRefusal(frame.message.bytes).withPeer(rank);
    return wentAway(rank);
  }
  return Status::ok();
}

Status Root::wentAway(int rank) const {
  return Status::error(COLL_PEER_LOST, "rank %d (pid %d) went away during init",
                       rank, guests[size_t(rank)].hello.process.pid)
      .withPeer(rank);
}

Status Root::neverCame() const {
  std::vector<int> missing;
  for (int rank = 1; rank != request.nranks; ++rank)
    if (!guests[size_t(rank)].isIn)
      missing.push_back(rank);
  return Status::error(COLL_TIMEOUT, "%s of %d never came to %s at %s",
                       ranksText(missing).c_str(), request.nranks,
                       request.job.c_str(), address.sun_path)
      .withPeer(missing.front());
}

Status Root::gather() {
  constexpr int sliceMs = 1000; // pending connections grow old without events
  pending.reserve(maxPending);
  while (numIn != request.nranks) {
    short open = pending.size() < maxPending ? POLLIN : 0;
    std::vector<pollfd> ready = {{listener.get(), open, 0}};
    for (const std::vector<Guest> *list : {&pending, &guests})
      for (const Guest &guest : *list)
        if (guest.socket.isValid())
          ready.push_back({guest.socket.get(), POLLIN, 0});
    poll(ready.data(), ready.size(), request.deadline.pollMs(sliceMs));
    bool isSomeoneNew = true;
    while (isSomeoneNew && numIn != request.nranks) {
      COLL_TRY(acceptGuests());
      COLL_TRY(hearPending(isSomeoneNew));
    }
    COLL_TRY(hearGuests());
    if (numIn != request.nranks && request.deadline.hasPassed())
      return neverCame();
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Making them known to each other
//===----------------------------------------------------------------------===//

/// The root's own part of the meeting, and what holds for all.
Status Root::prepare() {
  Membership &membership = meeting.membership;
  membership.nranks = request.nranks;
  membership.rings = request.env->rings;
  std::memcpy(&membership.id, request.token.data(), sizeof membership.id);

  // Ranks bound to different processors have them all together; of quotas the
  // least is taken, since ranks mostly share one.
  CpuMask all = {};
  uint32_t quota = UINT32_MAX, cores = 0;
  membership.commonIsa = guests[0].hello.isa;
  for (const Guest &guest : guests) {
    membership.commonIsa = std::min(membership.commonIsa, guest.hello.isa);
    for (size_t i = 0; i != all.size(); ++i)
      all[i] |= guest.hello.cpus[i];
    if (guest.hello.quotaCores != 0)
      quota = std::min(quota, guest.hello.quotaCores);
  }
  for (uint64_t word : all)
    cores += uint32_t(std::popcount(word));
  membership.hostCores = std::max(1u, std::min(cores, quota));
  membership.streams =
      request.nranks > 1 && !request.env->nonTemporal && streamsPay(all);
  membership.remotePays =
      request.nranks > 1 && !request.env->processMemory && remotePays(all);

  meeting.boards = std::vector<Board>(guests.size());
  meeting.links = std::vector<PeerLink>(guests.size());
  COLL_TRY(
      Board::create(0, request.nranks, guests[0].board, meeting.boards[0]));
  for (int rank = 1; rank != request.nranks; ++rank)
    COLL_TRY(Board::open(guests[size_t(rank)].board, rank, request.nranks,
                         meeting.boards[size_t(rank)]));
  return Status::ok();
}

Status Root::tell(int rank, uint16_t kind, std::span<const std::byte> bytes,
                  std::span<const int> fds) {
  int socket = guests[size_t(rank)].socket.get();
  Status told = putFrame(socket, kind, bytes, fds, request.deadline);
  if (told.code() == COLL_PEER_LOST) { // it may have said why
    Frame last;
    Status ignored;
    if (receiveFrame(socket, last, ignored) == FrameResult::Ok &&
        last.kind == RefuseKind)
      return decodeRefusal(last.message.bytes).withPeer(rank);
    told = wentAway(rank);
  }
  return std::move(told).withPeer(rank);
}

/// Makes the connection of ranks a < b and gives each its end.
Status Root::introducePair(int a, int b) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::system(errno, "cannot connect ranks %d and %d", a, b);
  UniqueFd endOf[2] = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  const int ranks[2] = {a, b};
  for (int side = 0; side != 2; ++side) {
    int rank = ranks[side], other = ranks[1 - side];
    Guest &about = guests[size_t(other)];
    if (rank == 0) {
      PeerLink &link = meeting.links[size_t(other)];
      link.socket = std::move(endOf[side]);
      link.pid = about.hello.process.visiblePid();
      continue;
    }
    const int fds[3] = {endOf[side].get(), about.board.get(),
                        about.pidfd.get()};
    PeerNote note = {other, about.hello.process};
    COLL_TRY(tell(rank, PeerKind, note.encode(),
                  std::span(fds).first(about.pidfd.isValid() ? 3 : 2)));
  }
  return Status::ok();
}

Status Root::introduce() {
  guests[0].pidfd = openOwnPidfd();
  const Membership &membership = meeting.membership;
  Welcome welcome = {membership.rings,      membership.hostCores,
                     membership.commonIsa,  membership.streams,
                     membership.remotePays, membership.id};
  for (int rank = 1; rank != request.nranks; ++rank)
    COLL_TRY(tell(rank, WelcomeKind, welcome.encode()));
  for (int b = 1; b != request.nranks; ++b)
    for (int a = 0; a != b; ++a)
      COLL_TRY(introducePair(a, b));
  for (int rank = 1; rank != request.nranks; ++rank)
    meeting.links[size_t(rank)].pidfd = std::move(guests[size_t(rank)].pidfd);
  return Status::ok();
}

Status Root::awaitReady() {
  for (int rank = 1; rank != request.nranks; ++rank) {
    Frame frame;
    Status taken =
        takeFrame(guests[size_t(rank)].socket.get(), request.deadline, frame);
    if (taken.isOk() && frame.kind == RefuseKind)
      taken = decodeRefusal(frame.message.bytes);
    else if (taken.code() == COLL_PEER_LOST)
      taken = wentAway(rank);
    else if (taken.code() == COLL_TIMEOUT)
      taken = Status::error(COLL_TIMEOUT,
                            "rank %d (pid %d) came but did not finish init",
                            rank, guests[size_t(rank)].hello.process.pid);
    else if (taken.isOk() && frame.kind != ReadyKind)
      taken =
          Status::error(COLL_SYSTEM, "rank %d sent a malformed message", rank);
    COLL_TRY(std::move(taken).withPeer(rank));
  }
  return Status::ok();
}

/// Tells everyone who has come, and for a while those who are about to: a rank
/// that came too late for the reason would wait for its whole deadline.
void Root::refuseAll(const Status &status) {
  std::vector<std::byte> refusal = encodeRefusal(status);
  int numTold = 0;
  auto refuse = [&](std::vector<Guest> &list) {
    for (Guest &guest : list) {
      if (!guest.socket.isValid())
        continue;
      Status ignored;
      (void)sendFrame(guest.socket.get(), RefuseKind, 0, refusal, {}, ignored);
      guest.socket.reset();
      ++numTold;
    }
  };
  refuse(guests);
  refuse(pending);
  Deadline end = Deadline::after(lingerNs);
  while (listener.isValid() && numTold < request.nranks - 1 &&
         !end.hasPassed() && !request.deadline.hasPassed()) {
    pollfd someone = {listener.get(), POLLIN, 0};
    poll(&someone, 1,
         std::min(end.pollMs(1000), request.deadline.pollMs(1000)));
    pending.clear();
    (void)acceptGuests();
    refuse(pending);
  }
}

Status Root::meet() {
  guests[0].hello = Hello::own(request);
  auto run = [this]() -> Status {
    if (request.nranks > 1)
      COLL_TRY(openListener(request, address, listener));
    COLL_TRY(gather());
    COLL_TRY(prepare());
    COLL_TRY(introduce());
    COLL_TRY(request.build(meeting));
    return awaitReady();
  };
  if (Status status = catchNoMemory(run); !status.isOk()) {
    refuseAll(status);
    return status;
  }
  // The name goes before anyone may come with the next communicator.
  removeSocket();
  // Who dies from here on is a lost peer of a communicator.
  for (int rank = 1; rank != request.nranks; ++rank)
    (void)tell(rank, GoKind, {});
  return Status::ok();
}

Status meetAsRoot(const MeetingRequest &request) {
  return Root(request).meet();
}

} // namespace coll
