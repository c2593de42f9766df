//===- Thread.cpp - Threads that the application does not know ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Thread.h"

#include <cassert>
#include <csignal>
#include <pthread.h>
#include <string>
#include <system_error>

namespace coll {

namespace {

/// Blocks all signals on this thread while it lives; threads inherit that.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;
  SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

} // namespace

Status startThread(const char *name, std::function<void()> body,
                   std::thread &result) {
  std::string title = name;
  assert(title.size() <= 15 && "the kernel takes no more");
  SignalsBlocked blocked;
  try {
    result = std::thread([title, body = std::move(body)] {
      pthread_setname_np(pthread_self(), title.c_str());
      body();
    });
  } catch (const std::system_error &error) {
    return Status::system(error.code().value(), "cannot start thread '%s'",
                          name);
  }
  return Status::ok();
}

} // namespace coll
