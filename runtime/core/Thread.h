//===- Thread.h - Threads that the application does not know ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_THREAD_H
#define COLL_RUNTIME_CORE_THREAD_H

#include "runtime/core/Status.h"

#include <functional>
#include <thread>

namespace coll {

/// Starts a thread of this name (15 characters at most), on which no signal of
/// the application is handled.  The body must not throw.  On an error, and when
/// this throws std::bad_alloc, there is no thread.
Status startThread(const char *name, std::function<void()> body,
                   std::thread &result);

} // namespace coll

#endif // COLL_RUNTIME_CORE_THREAD_H
