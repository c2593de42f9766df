//===- Communicator.cpp - Ranks that launch together ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Communicator.h"
#include "runtime/core/Text.h"

#include <cstdarg>
#include <cstdio>
#include <new>

namespace coll {

Communicator::Communicator(const Environment &env, uint64_t waitNs,
                           uint64_t initNs)
    : env(env), waitNs(waitNs), initNs(initNs),
      spareError{COLL_SYSTEM, -1, -1, "", "out of memory"} {}

/// Everyone tears down only its own: threads first, then what they use.
Communicator::~Communicator() {
  if (laneState)
    laneState->close();
  if (mesh)
    mesh->stop(); // its events use all that follows
  laneState.reset();
  mesh.reset();
  boards.clear();
  if (const Error *error = firstError.load(); error != &spareError)
    delete error;
}

const Error *Communicator::error() noexcept {
  const Error *first = firstError.load(std::memory_order_acquire);
  if (first)
    return first;
  uint32_t word = abortWord().load(std::memory_order_acquire);
  if (word == 0)
    return nullptr;
  adopt(int(word) - 1);
  return firstError.load(std::memory_order_acquire);
}

Status Communicator::status() noexcept {
  const Error *first = error();
  return first ? Status::fromError(*first) : Status::ok();
}

void Communicator::fail(Error error) noexcept {
  // A peer that fails closes its connections soon: its error, which the abort
  // word tells of by then, is the story, and not that it is gone.
  if (this->error())
    return;
  if (error.rank < 0)
    error.rank = rank();
  record(std::move(error), rank());
}

void Communicator::adopt(int origin) noexcept {
  Error error;
  Status read = catchNoMemory([&] {
    bool isKnown = origin >= 0 && origin < size() && origin != rank() &&
                   board(origin).readError(error);
    if (!isKnown) { // the word or the board is broken
      error.status = COLL_ABORTED;
      error.rank = origin;
      error.text = "a peer has failed and left no reason";
    }
    return Status::ok();
  });
  if (!read.isOk()) // what needs no memory has been read
    error.text = read.text();
  record(std::move(error), origin);
}

/// The order matters: whoever sees an abort word must find its error.
void Communicator::record(Error error, int origin) noexcept {
  const Error *mine = new (std::nothrow) Error(std::move(error));
  if (!mine)
    mine = &spareError;
  const Error *none = nullptr;
  if (!firstError.compare_exchange_strong(none, mine,
                                          std::memory_order_acq_rel)) {
    if (mine != &spareError)
      delete mine;
    return;
  }
  bool isOwn = origin == rank();
  if (isOwn)
    board().publishError(*mine);
  board().abort(origin);
  // For an adopted error too: its origin may have died half way.
  for (const Board &peer : boards)
    peer.abort(origin);
  if (laneState)
    laneState->abort();
  mesh->interrupt(mine);
  if (isOwn)
    mesh->sendAbort();
  if (env.debug >= DebugLevel::Warn)
    fprintf(stderr, "coll: rank %d: %s: %s\n", rank(),
            coll_status_string(mine->status), mine->text.c_str());
}

Status Communicator::failWith(Status status) noexcept {
  switch (status.code()) {
  case COLL_OK:
  case COLL_INVALID:
  case COLL_NO_PLAN:
  case COLL_NO_MEMORY:
    return status;
  default:
    fail(std::move(status).toError());
    return this->status();
  }
}

Status Communicator::endWith(Status status) noexcept {
  switch (status.code()) {
  case COLL_INVALID:
  case COLL_NO_PLAN:
  case COLL_NO_MEMORY:
    return failWith(std::move(status).withCode(COLL_SYSTEM));
  default:
    return failWith(std::move(status));
  }
}

/// On the monitor's thread: peers register without this rank's doing anything.
void Communicator::takeWindow(int peer, uint64_t window, bool isOffer,
                              Message message) noexcept {
  WindowSink *sink = laneState->windowSink();
  if (!isOffer) {
    // After a failure kernels may still be at it until they see the abort word.
    if (isAborted())
      return;
    sink ? sink->dropWindow(peer, window) : peerWindows->drop(peer, window);
    return;
  }
  Status status = catchNoMemory([&] {
    return sink ? sink->addWindow(peer, window, std::move(message))
                : peerWindows->add(peer, window, std::move(message));
  });
  if (!status.isOk())
    info("rank %d's window %llu is not mapped here: %s", peer,
         (unsigned long long)window, status.text().c_str());
  std::byte answer{status.isOk()};
  constexpr uint64_t patienceNs = 10'000'000'000;
  Status sent = mesh->send(peer, kWindowAnswerKind, window, {&answer, 1}, {},
                           Deadline::after(patienceNs));
  if (!sent.isOk() && sent.code() != COLL_PEER_LOST)
    (void)endWith(std::move(sent));
}

Status Communicator::close() {
  Status result = status();
  if (!result.isOk())
    return result;
  return commit([&]() -> Status {
    COLL_TRY(laneState->drain());
    return mesh->exchangeGoodbyes(deadline()).withContext("coll_comm_destroy");
  });
}

void Communicator::info(const char *format, ...) const {
  if (env.debug < DebugLevel::Info)
    return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "coll: rank %d of %d: %s\n", rank(), size(), text);
}

bool Communicator::offersProcess() const {
  return reached && (reachedByThreads ||
                     env.processMemory.value_or(membership.remotePays));
}

bool Communicator::triesProcess() const {
  return reached && !reachedByThreads && !env.processMemory;
}

} // namespace coll
