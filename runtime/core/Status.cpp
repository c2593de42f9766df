//===- Status.cpp - Errors as values --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Status.h"

#include <cassert>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace coll {
namespace {

std::string formatList(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0)
    return format; // a broken multibyte text: better the format than nothing
  std::string text(size_t(length), '\0');
  vsnprintf(text.data(), size_t(length) + 1, format, arguments);
  return text;
}

/// strerror_r's two signatures, told apart by what they return.
[[maybe_unused]] const char *errnoText(int result, const char *buffer) {
  return result == 0 ? buffer : "unknown error";
}
[[maybe_unused]] const char *errnoText(const char *result, const char *) {
  return result;
}

/// The text of coll_last_error: a string, or a constant when there was no
/// memory for one.
struct LastError {
  std::string text;
  const char *constant = nullptr;
};
thread_local LastError lastError;

} // namespace

std::string format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = formatList(format, arguments);
  va_end(arguments);
  return text;
}

Status Status::error(coll_status code, const char *format, ...) {
  assert(code != COLL_OK && "an error needs a code");
  Status status;
  status.body = std::make_unique<Error>();
  status.body->status = code;
  va_list arguments;
  va_start(arguments, format);
  status.body->text = formatList(format, arguments);
  va_end(arguments);
  return status;
}

Status Status::system(int errnoValue, const char *format, ...) {
  Status status;
  status.body = std::make_unique<Error>();
  status.body->status = errnoValue == ENOMEM || errnoValue == ENOSPC
                            ? COLL_NO_MEMORY
                            : COLL_SYSTEM;
  va_list arguments;
  va_start(arguments, format);
  status.body->text = formatList(format, arguments);
  va_end(arguments);
  char buffer[128] = "";
  status.body->text +=
      std::string(": ") +
      errnoText(strerror_r(errnoValue, buffer, sizeof buffer), buffer);
  if (errnoValue == EMFILE)
    status.body->text += " (raise the limit: ulimit -n)";
  return status;
}

const std::string &Status::text() const {
  static const std::string none;
  return body ? body->text : none;
}

const std::string &Status::where() const {
  static const std::string none;
  return body ? body->where : none;
}

Status Status::withPeer(int peer) && {
  if (body)
    body->peer = peer;
  return std::move(*this);
}

Status Status::withWhere(std::string where) && {
  if (body)
    body->where = std::move(where);
  return std::move(*this);
}

Status Status::withContext(const char *format, ...) && {
  if (body) {
    va_list arguments;
    va_start(arguments, format);
    body->text = formatList(format, arguments) + ": " + body->text;
    va_end(arguments);
  }
  return std::move(*this);
}

Error Status::toError() const {
  assert(body && "COLL_OK is no error");
  return *body;
}

Status Status::fromError(const Error &error) {
  Status status;
  status.body = std::make_unique<Error>(error);
  return status;
}

coll_status report(const Status &status) {
  if (status.isOk())
    return COLL_OK;
  lastError.constant = nullptr;
  lastError.text = status.text();
  return status.code();
}

coll_status reportNoMemory() noexcept {
  lastError.constant = "out of memory";
  return COLL_NO_MEMORY;
}

} // namespace coll

const char *coll_last_error(void) {
  return coll::lastError.constant ? coll::lastError.constant
                                  : coll::lastError.text.c_str();
}
