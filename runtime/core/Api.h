//===- Api.h - The edge of the C interface ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_API_H
#define COLL_RUNTIME_CORE_API_H

#include "runtime/core/Communicator.h"

namespace coll {

/// Runs the body of an extern "C" function: its Status becomes the code and
/// coll_last_error's text.  Lack of memory becomes COLL_NO_MEMORY, which leaves
/// a communicator as it was: what peers rely on runs in Communicator::commit.
template <typename Body> coll_status guarded(Body &&body) noexcept {
  Status status = catchNoMemory(body);
  return status.isOk() ? COLL_OK : report(status);
}

Status badHandle(const coll_comm *comm);
/// COLL_INVALID for a null communicator and in a forked child.  On the path of
/// every launch.
inline Status checkHandle(const coll_comm *comm) {
  return comm && comm->isOwnProcess() ? Status::ok() : badHandle(comm);
}

} // namespace coll

#endif // COLL_RUNTIME_CORE_API_H
