//===- RendezvousGuest.cpp - Ranks 1 and up meet rank 0 -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/RendezvousProtocol.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace coll {

/// The root knows better who is missing, so it gets a little longer to say so.
static constexpr uint64_t graceNs = 2'000'000'000;

/// Connects to the root, which may not have come yet.
static Status connectToRoot(const MeetingRequest &request, UniqueFd &result) {
  sockaddr_un address;
  COLL_TRY(socketAddress(request, address));
  unsigned pauseUs = 500;
  constexpr unsigned maxPauseUs = 20'000;
  while (true) {
    UniqueFd socket(
        ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.isValid())
      return Status::system(errno, "cannot create a unix socket");
    if (connect(socket.get(), reinterpret_cast<sockaddr *>(&address),
                sizeof address) == 0) {
      result = std::move(socket);
      break;
    }
    // Not there yet, a dead root's, or too many guests at the door at once.
    bool mayCome = errno == ENOENT || errno == ECONNREFUSED ||
                   errno == EAGAIN || errno == EINTR;
    if (!mayCome)
      return Status::system(errno, "cannot connect to rank 0 at %s",
                            address.sun_path);
    if (request.deadline.hasPassed())
      return Status::error(COLL_TIMEOUT,
                           "rank 0 of %s never came: nothing listens at %s",
                           request.job.c_str(), address.sun_path)
          .withPeer(0);
    usleep(pauseUs);
    pauseUs = std::min(2 * pauseUs, maxPauseUs);
  }
  unsigned uid;
  int pid;
  COLL_TRY(peerCredentials(result.get(), uid, pid));
  if (uid != geteuid())
    return Status::error(COLL_SYSTEM,
                         "user %u, not %u, listens at %s: remove it or set "
                         "COLL_DIR",
                         uid, unsigned(geteuid()), address.sun_path);
  return Status::ok();
}

static Status unexpected(const Frame &frame) {
  return Status::error(COLL_SYSTEM,
                       "rank 0 sent a malformed message (kind %u, %zu bytes, "
                       "%zu descriptors)",
                       unsigned(frame.kind), frame.message.bytes.size(),
                       frame.message.fds.size());
}

/// Takes the root's next frame; a refusal is the error that it holds.
static Status takeFromRoot(int socket, Deadline deadline, Frame &frame) {
  Status taken = takeFrame(socket, deadline, frame);
  if (taken.code() == COLL_PEER_LOST)
    return Status::error(COLL_PEER_LOST, "rank 0 went away during init")
        .withPeer(0);
  if (taken.code() == COLL_TIMEOUT)
    return Status::error(COLL_TIMEOUT, "rank 0 does not answer during init")
        .withPeer(0);
  COLL_TRY(std::move(taken));
  return frame.kind == RefuseKind ? decodeRefusal(frame.message.bytes)
                                  : Status::ok();
}

/// Takes in one Peer frame.
static Status admitPeer(Frame frame, Meeting &meeting) {
  PeerNote note;
  std::vector<UniqueFd> &fds = frame.message.fds;
  const Membership &membership = meeting.membership;
  if (frame.kind != PeerKind || !PeerNote::decode(frame.message.bytes, note) ||
      fds.size() < 2 || fds.size() > 3 || note.rank < 0 ||
      note.rank >= membership.nranks || note.rank == membership.rank ||
      meeting.links[size_t(note.rank)].socket.isValid())
    return unexpected(frame);
  PeerLink &link = meeting.links[size_t(note.rank)];
  link.socket = std::move(fds[0]);
  COLL_TRY(Board::open(fds[1], note.rank, membership.nranks,
                       meeting.boards[size_t(note.rank)]));
  if (fds.size() == 3)
    link.pidfd = std::move(fds[2]);
  link.pid = note.process.visiblePid();
  return Status::ok();
}

/// From Welcome to the lane.
static Status assemble(const MeetingRequest &request, int socket,
                       Meeting &meeting) {
  Deadline deadline = request.deadline.later(graceNs);
  Frame frame;
  COLL_TRY(takeFromRoot(socket, deadline, frame));
  Welcome welcome;
  if (frame.kind != WelcomeKind ||
      !Welcome::decode(frame.message.bytes, welcome))
    return unexpected(frame);
  meeting.membership.rings = welcome.rings;
  meeting.membership.hostCores = welcome.hostCores;
  meeting.membership.commonIsa = welcome.commonIsa;
  meeting.membership.streams = welcome.streams;
  meeting.membership.remotePays = welcome.remotePays;
  meeting.membership.id = welcome.id;
  for (int peer = 1; peer != request.nranks; ++peer) {
    COLL_TRY(takeFromRoot(socket, deadline, frame));
    COLL_TRY(admitPeer(std::move(frame), meeting));
  }
  return request.build(meeting);
}

Status meetAsGuest(const MeetingRequest &request) {
  Meeting meeting;
  meeting.membership.rank = request.rank;
  meeting.membership.nranks = request.nranks;
  meeting.boards = std::vector<Board>(size_t(request.nranks));
  meeting.links = std::vector<PeerLink>(size_t(request.nranks));
  UniqueFd boardFd;
  COLL_TRY(Board::create(request.rank, request.nranks, boardFd,
                         meeting.boards[size_t(request.rank)]));
  UniqueFd socket, pidfd = openOwnPidfd();
  COLL_TRY(connectToRoot(request, socket));

  const int fds[2] = {boardFd.get(), pidfd.get()};
  Status told =
      putFrame(socket.get(), HelloKind, Hello::own(request).encode(),
               std::span(fds).first(pidfd.isValid() ? 2 : 1), request.deadline);
  // A root that has closed already may have said why.
  if (!told.isOk() && told.code() != COLL_PEER_LOST)
    return std::move(told).withContext("rank 0");
  Status assembled =
      catchNoMemory([&] { return assemble(request, socket.get(), meeting); });
  if (!assembled.isOk()) {
    // For the others; the root may be what failed, so nobody waits for it.
    Status ignored;
    Status reason = Status::error(assembled.code(), "rank %d: %s", request.rank,
                                  assembled.text().c_str());
    (void)sendFrame(socket.get(), RefuseKind, 0, encodeRefusal(reason), {},
                    ignored);
    return assembled;
  }
  Deadline deadline = request.deadline.later(graceNs);
  told = putFrame(socket.get(), ReadyKind, {}, {}, deadline);
  if (!told.isOk() && told.code() != COLL_PEER_LOST)
    return std::move(told).withContext("rank 0");
  Frame frame;
  COLL_TRY(takeFromRoot(socket.get(), deadline, frame));
  return frame.kind == GoKind ? Status::ok() : unexpected(frame);
}

} // namespace coll
