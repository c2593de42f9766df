//===- Control.cpp - Messages between the ranks of a communicator ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three parties share State: threads that send (sockets only; a packet is sent
// whole or not at all, so no lock), threads that receive (the mailbox, under
// `mutex`), and the monitor, the only one that reads sockets and that changes a
// peer's state.
//
// A peer is Present until its goodbye (Left) or its end (Lost).  After a
// goodbye, an end of file means nothing.  A pidfd that fires means that the
// process is dead, but what it sent before may still lie in the socket: the
// socket is emptied first.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Control.h"
#include "runtime/core/Frame.h"
#include "runtime/core/Text.h"
#include "runtime/core/Thread.h"

#include <cassert>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <tuple>
#include <unistd.h>

namespace coll {

namespace {
enum ControlKind : uint16_t { AbortKind = 1, GoodbyeKind = 2 };
enum Source : uint64_t { SocketSource, PidfdSource, WakeSource };
} // namespace

struct Control::State {
  struct Peer {
    PeerLink link;
    std::atomic<PeerState> state{PeerState::Present};
    size_t pending = 0; ///< messages in the mailbox; under mutex
  };
  using Slot = std::tuple<int, uint16_t, uint64_t>; // peer, kind, key

  int rank = 0;
  std::vector<Peer> peers;
  size_t numPresent = 0; ///< of the peers; under mutex once the monitor runs
  size_t receivers = 0;  ///< threads that wait for a message; under mutex
  ControlEvents events;
  UniqueFd epoll, wake;
  std::atomic<bool> stopping{false};
  std::thread monitor;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Slot, std::deque<Message>> mailbox;
  std::atomic<const Error *> interruption{nullptr}; ///< written under mutex

  /// Sleeps until something may have changed, or the deadline passes.
  void waitUntil(std::unique_lock<std::mutex> &lock, Deadline deadline);

  Status watch(int fd, int peer, Source source);
  void run();
  void handle(int peer, Source source);
  void readSocket(int peer);
  void deliver(int peer, Frame frame);
  void forget(int peer);
  void lose(int peer, const char *how);
  void setState(int peer, PeerState newState);
};

//===----------------------------------------------------------------------===//
// Monitor
//===----------------------------------------------------------------------===//

Status Control::State::watch(int fd, int peer, Source source) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = uint64_t(peer) << 2 | source;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return Status::system(errno, "cannot watch rank %d", peer);
  return Status::ok();
}

/// Who waits for goodbyes is woken by the last one: with many ranks the others
/// would cost more than all else at the end.
void Control::State::setState(int peer, PeerState newState) {
  bool isAwaited = false;
  {
    std::lock_guard lock(mutex);
    numPresent -=
        peers[size_t(peer)].state.exchange(
            newState, std::memory_order_acq_rel) == PeerState::Present;
    isAwaited =
        newState == PeerState::Lost || numPresent == 0 || receivers != 0;
  }
  if (isAwaited)
    changed.notify_all();
}

/// Stops watching a peer.  Its descriptors stay open: others may be sending.
void Control::State::forget(int peer) {
  const PeerLink &link = peers[size_t(peer)].link;
  epoll_ctl(epoll.get(), EPOLL_CTL_DEL, link.socket.get(), nullptr);
  if (link.pidfd.isValid())
    epoll_ctl(epoll.get(), EPOLL_CTL_DEL, link.pidfd.get(), nullptr);
}

void Control::State::lose(int peer, const char *how) {
  forget(peer);
  if (peers[size_t(peer)].state.load(std::memory_order_relaxed) !=
      PeerState::Present)
    return;
  setState(peer, PeerState::Lost);
  int pid = peers[size_t(peer)].link.pid;
  std::string process = pid > 0 ? format(" (pid %d)", pid) : "";
  events.onPeerLost(
      peer, format("rank %d%s is gone: %s", peer, process.c_str(), how));
}

void Control::State::deliver(int peer, Frame frame) {
  switch (frame.kind) {
  case AbortKind:
    events.onAbort(peer);
    return;
  case GoodbyeKind:
    setState(peer, PeerState::Left);
    return;
  case kWindowOfferKind:
  case kWindowDropKind:
    events.onWindow(peer, frame.key, frame.kind == kWindowOfferKind,
                    std::move(frame.message));
    return;
  }
  bool isFull;
  {
    std::lock_guard lock(mutex);
    size_t &pending = peers[size_t(peer)].pending;
    isFull = pending == kMaxPendingMessages;
    if (!isFull) {
      ++pending;
      mailbox[Slot(peer, frame.kind, frame.key)].push_back(
          std::move(frame.message));
    }
  }
  if (isFull)
    events.onError(Status::error(COLL_SYSTEM,
                                 "rank %d sent more than %zu messages that "
                                 "nobody took",
                                 peer, kMaxPendingMessages)
                       .withPeer(peer));
  else
    changed.notify_all();
}

/// Takes all that lies in the socket.  A peer that floods us cannot hold the
/// monitor for ever: the mailbox is bounded, and then the communicator ends.
void Control::State::readSocket(int peer) {
  int socket = peers[size_t(peer)].link.socket.get();
  while (!stopping.load(std::memory_order_relaxed)) {
    Frame frame;
    Status status;
    switch (receiveFrame(socket, frame, status)) {
    case FrameResult::Ok:
      deliver(peer, std::move(frame));
      break;
    case FrameResult::WouldBlock:
      return;
    case FrameResult::Closed:
      lose(peer, "its connection closed without a goodbye");
      return;
    case FrameResult::Failed:
      forget(peer);
      events.onError(
          std::move(status).withPeer(peer).withContext("rank %d", peer));
      return;
    }
  }
}

void Control::State::handle(int peer, Source source) {
  switch (source) {
  case SocketSource:
    readSocket(peer);
    break;
  case PidfdSource:
    readSocket(peer);
    lose(peer, "its process has ended");
    break;
  case WakeSource:
    break; // stopping
  }
}

void Control::State::run() {
  constexpr int maxEvents = 64;
  epoll_event ready[maxEvents];
  while (!stopping.load(std::memory_order_acquire)) {
    int count = epoll_wait(epoll.get(), ready, maxEvents, -1);
    if (count < 0 && errno != EINTR) {
      events.onError(Status::system(errno, "the monitor cannot wait"));
      return;
    }
    for (int i = 0; i < count; ++i) {
      int peer = int(ready[i].data.u64 >> 2);
      Status handled = catchNoMemory([&] {
        handle(peer, Source(ready[i].data.u64 & 3));
        return Status::ok();
      });
      if (handled.isOk())
        continue;
      // A message may be lost, or still lie in the socket for ever.
      forget(peer);
      events.onError(std::move(handled).withContext("the monitor"));
    }
  }
}

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

Control::Control(std::unique_ptr<State> state) : state(std::move(state)) {}

Status Control::create(int rank, std::vector<PeerLink> links,
                       ControlEvents events, std::unique_ptr<Control> &result) {
  auto state = std::make_unique<State>();
  state->rank = rank;
  state->events = std::move(events);
  state->peers = std::vector<State::Peer>(links.size());
  state->numPresent = links.size() - 1;
  for (size_t i = 0; i != links.size(); ++i)
    state->peers[i].link = std::move(links[i]);
  state->epoll.reset(epoll_create1(EPOLL_CLOEXEC));
  state->wake.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->epoll.isValid() || !state->wake.isValid())
    return Status::system(errno, "cannot create the monitor's descriptors");
  COLL_TRY(state->watch(state->wake.get(), 0, WakeSource));
  for (int peer = 0; peer != int(state->peers.size()); ++peer) {
    const PeerLink &link = state->peers[size_t(peer)].link;
    if (peer == rank)
      continue;
    COLL_TRY(state->watch(link.socket.get(), peer, SocketSource));
    // A rank that is a thread of this process cannot outlive it.
    if (link.pidfd.isValid() && link.pid != getpid())
      COLL_TRY(state->watch(link.pidfd.get(), peer, PidfdSource));
  }
  result.reset(new Control(std::move(state)));
  return Status::ok();
}

Status Control::start() {
  return startThread(
      "coll-monitor", [s = state.get()] { s->run(); }, state->monitor);
}

void Control::stop() {
  if (!state->monitor.joinable())
    return;
  state->stopping.store(true, std::memory_order_release);
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written =
      write(state->wake.get(), &one, sizeof one); // cannot fail: starts at 0
  state->monitor.join();
}

Control::~Control() { stop(); }

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void Control::State::waitUntil(std::unique_lock<std::mutex> &lock,
                               Deadline deadline) {
  if (deadline.isNever())
    changed.wait(lock);
  else
    changed.wait_until(lock, std::chrono::steady_clock::time_point(
                                 std::chrono::nanoseconds(deadline.ns())));
}

Status Control::send(int peer, uint16_t kind, uint64_t key,
                     std::span<const std::byte> bytes, std::span<const int> fds,
                     Deadline deadline) {
  assert(peer != state->rank && "a rank does not write to itself");
  int socket = state->peers[size_t(peer)].link.socket.get();
  auto isInterrupted = [this] { return state->interruption.load() != nullptr; };
  Status status;
  switch (sendFrameUntil(socket, kind, key, bytes, fds, deadline, status,
                         isInterrupted)) {
  case FrameResult::Ok:
    return Status::ok();
  case FrameResult::Closed:
    return Status::error(COLL_PEER_LOST, "rank %d is gone", peer)
        .withPeer(peer);
  case FrameResult::Failed:
    return std::move(status).withPeer(peer).withContext("rank %d", peer);
  case FrameResult::WouldBlock:
    break;
  }
  if (const Error *error = state->interruption.load())
    return Status::fromError(*error);
  return Status::error(COLL_TIMEOUT,
                       "rank %d does not read its messages: it is stopped or "
                       "overloaded",
                       peer)
      .withPeer(peer);
}

Status Control::receive(int peer, uint16_t kind, uint64_t key,
                        Deadline deadline, Message &message) {
  assert(peer != state->rank && "a rank does not write to itself");
  State::Peer &from = state->peers[size_t(peer)];
  std::unique_lock lock(state->mutex);
  while (true) {
    if (const Error *error = state->interruption.load())
      return Status::fromError(*error);
    auto slot = state->mailbox.find(State::Slot(peer, kind, key));
    if (slot != state->mailbox.end()) {
      message = std::move(slot->second.front());
      slot->second.pop_front();
      if (slot->second.empty())
        state->mailbox.erase(slot);
      --from.pending;
      return Status::ok();
    }
    // Of a lost peer the interruption tells, which is on its way.
    if (from.state.load(std::memory_order_relaxed) == PeerState::Left)
      return Status::error(COLL_PEER_LOST,
                           "rank %d has left: it destroyed the communicator",
                           peer)
          .withPeer(peer);
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT, "no message from rank %d", peer)
          .withPeer(peer);
    ++state->receivers;
    state->waitUntil(lock, deadline);
    --state->receivers;
  }
}

void Control::sendAbort() noexcept {
  for (size_t peer = 0; peer != state->peers.size(); ++peer) {
    if (int(peer) == state->rank)
      continue;
    // A full connection does no harm: its peer has the abort word as well.
    Status ignored;
    (void)sendFrame(state->peers[peer].link.socket.get(), AbortKind, 0, {}, {},
                    ignored);
  }
}

void Control::interrupt(const Error *error) noexcept {
  {
    std::lock_guard lock(state->mutex);
    state->interruption.store(error);
  }
  state->changed.notify_all();
}

Status Control::exchangeGoodbyes(Deadline deadline) {
  for (int peer = 0; peer != int(state->peers.size()); ++peer)
    if (peer != state->rank)
      COLL_TRY(send(peer, GoodbyeKind, 0, {}, {}, deadline));
  std::unique_lock lock(state->mutex);
  while (true) {
    if (const Error *error = state->interruption.load())
      return Status::fromError(*error);
    // A lost peer is an interruption that is on its way.
    if (state->numPresent != 0 && !deadline.hasPassed()) {
      state->waitUntil(lock, deadline);
      continue;
    }
    std::vector<int> present;
    for (int peer = 0; peer != int(state->peers.size()); ++peer)
      if (peer != state->rank && peerState(peer) != PeerState::Left)
        present.push_back(peer);
    if (present.empty())
      return Status::ok();
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT,
                           "%s did not destroy the communicator in time",
                           ranksText(present).c_str())
          .withPeer(present.front());
    state->waitUntil(lock, deadline);
  }
}

Control::PeerState Control::peerState(int peer) const {
  return state->peers[size_t(peer)].state.load(std::memory_order_acquire);
}

int Control::peerPid(int peer) const {
  return state->peers[size_t(peer)].link.pid;
}

const UniqueFd &Control::peerPidfd(int peer) const {
  return state->peers[size_t(peer)].link.pidfd;
}

} // namespace coll
