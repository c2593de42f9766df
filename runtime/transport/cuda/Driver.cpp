//===- Driver.cpp - CUDA's driver, opened at run time ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/Driver.h"

#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>

namespace coll::cuda {

static constexpr const char *driverLibrary = "libcuda.so.1";
/// Of CUDA 12.0, which is without multicast: no call is of a newer version.
static constexpr int oldestVersion = 12000;

Status Driver::load(const char *library, Driver &result) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status::error(
        COLL_SYSTEM, "there is no CUDA driver on this machine: %s", dlerror());
  Driver driver;
  auto find = [&](auto *&function, const char *symbol) -> Status {
    void *address = dlsym(handle, symbol);
    if (!address)
      return Status::error(COLL_SYSTEM,
                           "the CUDA driver is too old: %s has no %s", library,
                           symbol);
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    return Status::ok();
  };
#define X(name, symbol, parameters) COLL_TRY(find(driver.name, #symbol));
  COLL_CUDA_CALLS(X)
#undef X
#define X(name, symbol, parameters) (void)find(driver.name, #symbol);
  COLL_CUDA_MULTICAST_CALLS(X)
#undef X
  COLL_TRY(driver.check(driver.init(0), "cannot start the CUDA driver"));
  int version = 0;
  COLL_TRY(driver.check(driver.driverGetVersion(&version),
                        "cannot read the version of the CUDA driver"));
  if (version < oldestVersion)
    return Status::error(COLL_SYSTEM,
                         "the CUDA driver is for CUDA %d.%d, and %d.%d is the "
                         "oldest that serves",
                         version / 1000, version % 1000 / 10,
                         oldestVersion / 1000, oldestVersion % 1000 / 10);
  result = driver;
  return Status::ok();
}

bool Driver::hasMulticast() const {
  bool has = true;
#define X(name, symbol, parameters) has &= name != nullptr;
  COLL_CUDA_MULTICAST_CALLS(X)
#undef X
  return has;
}

Status Driver::open(const Driver *&result) {
  static std::mutex mutex;
  static Driver driver;
  static bool isOpen = false;
  std::lock_guard lock(mutex);
  if (!isOpen)
    COLL_TRY(load(driverLibrary, driver));
  isOpen = true;
  result = &driver;
  return Status::ok();
}

Status Driver::check(Result result, const char *what, ...) const {
  if (result == success)
    return Status::ok();
  char text[256];
  va_list arguments;
  va_start(arguments, what);
  vsnprintf(text, sizeof text, what, arguments);
  va_end(arguments);
  const char *name = nullptr, *meaning = nullptr;
  if (getErrorName(result, &name) != success || !name)
    name = "unknown error";
  if (getErrorString(result, &meaning) != success || !meaning)
    meaning = "the CUDA driver gives no text";
  return Status::error(result == outOfMemory ? COLL_NO_MEMORY : COLL_SYSTEM,
                       "%s: %s (%s, %d)", text, meaning, name, result);
}

ContextScope::ContextScope(const Driver &driver, Context context)
    : driver(driver), pushed(driver.ctxPush(context)) {
  if (pushed == success && driver.exchangeCaptureMode(&mode) != success)
    mode = captureRelaxed;
}

ContextScope::~ContextScope() {
  if (pushed != success)
    return;
  // Nothing is to be done about an error here: the next call meets it again.
  Context context = nullptr;
  (void)driver.exchangeCaptureMode(&mode);
  (void)driver.ctxPop(&context);
}

} // namespace coll::cuda
