//===- Api.h - The edge of the C interface ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_API_H
#define COLL_RUNTIME_CORE_API_H

#include "runtime/core/Communicator.h"

#include <new>

namespace coll {

/// Runs the body of an extern "C" function: its Status becomes the code and
/// coll_last_error's text, and std::bad_alloc becomes COLL_NO_MEMORY.  No other
/// exception can come from this library.
template <typename Body> coll_status guarded(Body &&body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc &) {
    return reportNoMemory();
  }
}

/// COLL_INVALID for a null communicator and in a forked child.
Status checkHandle(const coll_comm *comm);

} // namespace coll

#endif // COLL_RUNTIME_CORE_API_H
