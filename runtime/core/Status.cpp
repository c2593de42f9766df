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

//===----------------------------------------------------------------------===//
// Status
//===----------------------------------------------------------------------===//

/// The error of a code when there is no memory for one.  Its text is so short
/// that it lies in the string itself.
const Error *Status::spare(coll_status code) noexcept {
  struct Table {
    Error errors[COLL_OVERLAP + 1];
    Table() noexcept {
      for (int code = COLL_OK; code <= COLL_OVERLAP; ++code) {
        errors[code].status = coll_status(code);
        errors[code].text = "out of memory";
      }
    }
  };
  static const Table table;
  return &table.errors[code];
}

void Status::Release::operator()(const Error *error) const noexcept {
  if (error != spare(error->status))
    delete error;
}

/// The error if it may be changed, else null.
Error *Status::own() const noexcept {
  bool isShared = !body || body.get() == spare(body->status);
  return isShared ? nullptr : const_cast<Error *>(body.get());
}

// All of the following begin with an error that needs no memory and put a
// better one in its place, if they can.

Status Status::error(coll_status code, const char *format, ...) noexcept {
  assert(code != COLL_OK && "an error needs a code");
  Status status(spare(code));
  va_list arguments;
  va_start(arguments, format);
  try {
    status.body.reset(
        new Error{code, -1, -1, "", formatList(format, arguments)});
  } catch (const std::bad_alloc &) {
  }
  va_end(arguments);
  return status;
}

Status Status::system(int errnoValue, const char *format, ...) noexcept {
  coll_status code = errnoValue == ENOMEM || errnoValue == ENOSPC
                         ? COLL_NO_MEMORY
                         : COLL_SYSTEM;
  Status status(spare(code));
  char buffer[128] = "";
  const char *reason =
      errnoText(strerror_r(errnoValue, buffer, sizeof buffer), buffer);
  va_list arguments;
  va_start(arguments, format);
  try {
    std::string text = formatList(format, arguments) + ": " + reason;
    if (errnoValue == EMFILE)
      text += " (raise the limit: ulimit -n)";
    status.body.reset(new Error{code, -1, -1, "", std::move(text)});
  } catch (const std::bad_alloc &) {
  }
  va_end(arguments);
  return status;
}

Status Status::fromError(const Error &error) noexcept {
  Status status(spare(error.status));
  try {
    status.body.reset(new Error(error));
  } catch (const std::bad_alloc &) {
  }
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

Status Status::withPeer(int peer) && noexcept {
  if (Error *error = own())
    error->peer = peer;
  return std::move(*this);
}

Status Status::withWhere(std::string where) && noexcept {
  if (Error *error = own())
    error->where = std::move(where);
  return std::move(*this);
}

Status Status::withContext(const char *format, ...) && noexcept {
  if (Error *error = own()) {
    va_list arguments;
    va_start(arguments, format);
    try {
      error->text = formatList(format, arguments) + ": " + error->text;
    } catch (const std::bad_alloc &) {
    }
    va_end(arguments);
  }
  return std::move(*this);
}

Status Status::withCode(coll_status code) && noexcept {
  if (Error *error = own())
    error->status = code;
  else if (body)
    body.reset(spare(code));
  return std::move(*this);
}

Error Status::toError() && noexcept {
  assert(body && "COLL_OK is no error");
  if (Error *error = own())
    return std::move(*error);
  return *body; // a short text is copied without memory
}

coll_status report(const Status &status) noexcept {
  if (status.isOk())
    return COLL_OK;
  lastError.constant = nullptr;
  try {
    lastError.text = status.text();
  } catch (const std::bad_alloc &) {
    lastError.constant = coll_status_string(status.code());
  }
  return status.code();
}

} // namespace coll

const char *coll_last_error(void) {
  return coll::lastError.constant ? coll::lastError.constant
                                  : coll::lastError.text.c_str();
}
