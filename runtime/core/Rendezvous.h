//===- Rendezvous.h - How the ranks of a communicator meet ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On one host ranks meet at a unix socket.  Its name is a 16-byte token that
// all of them know, in a directory that only their user can enter; each end
// checks the other's user besides.  Rank 0 listens, the others connect:
//
//   guest -> root  Hello    who I am; my board, a pidfd of my process
//   root -> guest  Welcome  what holds for all: ring sizes, processors
//   root -> guest  Peer     once per other rank: one end of a new socket pair,
//                           that rank's board and pidfd
//   guest -> root  Ready    I can reach everyone, my lane stands
//   root -> guest  Go       so can all; the socket's name is gone by now
//   either         Refuse   why there will be no communicator
//
// So a guest needs one connection, nothing but the root's socket ever has a
// name, and no rank returns from init before every rank is complete.  When one
// cannot go on, all of them get its reason.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_RENDEZVOUS_H
#define COLL_RUNTIME_CORE_RENDEZVOUS_H

#include "runtime/core/Communicator.h"

#include <functional>

namespace coll {

/// The communicator's secret name.
using Token = std::array<std::byte, 16>;

/// What a rank has when all have met.
struct Meeting {
  Membership membership;
  std::vector<Board> boards;   ///< by rank
  std::vector<PeerLink> links; ///< by rank; the own one is empty
};

struct MeetingRequest {
  int rank = 0, nranks = 1;
  Token token = {};
  std::string job; ///< how the job is called in errors
  const Environment *env = nullptr;
  Deadline deadline = Deadline::never();
  /// Called when this rank can reach all others, before it says so.  Its error
  /// becomes everyone's.
  std::function<Status(Meeting &)> build;
};

/// Meets the others.  COLL_TIMEOUT names the ranks that never came, and
/// COLL_INVALID what the ranks disagree about.
Status meet(const MeetingRequest &request);

} // namespace coll

#endif // COLL_RUNTIME_CORE_RENDEZVOUS_H
