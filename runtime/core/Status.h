//===- Status.h - Errors as values ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Status is what a function of the runtime returns: a code and, unless it is
// COLL_OK, one sentence that says what is and names the values involved.
// A Status does not end a communicator; Communicator::fail does.
//
// Texts are lower case, without a full stop, and may be formed with printf's
// formats.  Building a Status allocates only when it is an error, and never
// throws: without memory for its text an error still has its code.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_STATUS_H
#define COLL_RUNTIME_CORE_STATUS_H

#include "coll/coll.h"

#include <memory>
#include <new>
#include <string>

namespace coll {

/// Everything that is known about an error that ends a communicator.
struct Error {
  coll_status status = COLL_SYSTEM;
  int rank = -1;     ///< the rank on which it was found; -1: this one
  int peer = -1;     ///< the rank it is about, -1: none
  std::string where; ///< "ring.coll:14:5" or ""
  std::string text;  ///< one sentence; a hang report has several lines
};

class [[nodiscard]] Status {
public:
  Status() = default; ///< COLL_OK

  static Status ok() { return {}; }
  static Status error(coll_status code, const char *format, ...) noexcept
      __attribute__((format(printf, 2, 3)));
  /// COLL_SYSTEM (or COLL_NO_MEMORY for ENOMEM and ENOSPC) with the text of
  /// `errnoValue` behind the formatted text: "cannot map ring: Out of memory".
  static Status system(int errnoValue, const char *format, ...) noexcept
      __attribute__((format(printf, 2, 3)));

  bool isOk() const { return !body; }
  explicit operator bool() const = delete; // which way round is it? say isOk()
  coll_status code() const { return body ? body->status : COLL_OK; }
  const std::string &text() const;
  int peer() const { return body ? body->peer : -1; }
  const std::string &where() const;

  /// The same error, about this peer or place; no-ops on COLL_OK, and on an
  /// error for whose text there was no memory.
  Status withPeer(int peer) && noexcept;
  Status withWhere(std::string where) && noexcept;
  /// The same error with "PREFIX: " before its text.
  Status withContext(const char *format, ...) && noexcept
      __attribute__((format(printf, 2, 3)));
  /// The same error under another code.
  Status withCode(coll_status code) && noexcept;

  /// The record to hand to Communicator::fail.  Not for COLL_OK.
  Error toError() && noexcept;
  static Status fromError(const Error &error) noexcept;

private:
  /// Errors that were made when there was no memory share constants.
  struct Release {
    void operator()(const Error *error) const noexcept;
  };
  static const Error *spare(coll_status code) noexcept;
  explicit Status(const Error *error) noexcept : body(error) {}
  Error *own() const noexcept;

  std::unique_ptr<const Error, Release> body; // null: COLL_OK
};

/// printf into a std::string.
std::string format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/// Leaves the text for coll_last_error() of this thread and returns the code.
/// Every extern "C" function that can fail ends in this.
coll_status report(const Status &status) noexcept;

/// Runs a body, and makes lack of memory a Status like its other errors.  No
/// other exception can come from this library.
template <typename Body> Status catchNoMemory(Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return Status::error(COLL_NO_MEMORY, "out of memory");
  }
}

} // namespace coll

/// Returns from the enclosing function if `expr` is an error.
#define COLL_TRY(expr)                                                         \
  do {                                                                         \
    if (::coll::Status collTryStatus = (expr); !collTryStatus.isOk())          \
      return collTryStatus;                                                    \
  } while (false)

#endif // COLL_RUNTIME_CORE_STATUS_H
