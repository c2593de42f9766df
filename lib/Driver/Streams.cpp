//===- Streams.cpp - Standard output that may not be writable -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Streams.h"

#include "lib/Support/Slugs.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace coll;

/// A closed standard output becomes one that cannot be written to, and a closed
/// standard error one that swallows everything.
StandardStreams::StandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      // The lowest that is free: this one.
      (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

StandardStreams::~StandardStreams() {
  llvm::outs().flush();
  llvm::outs().clear_error();
  llvm::errs().clear_error();
}

bool StandardStreams::flush(DiagnosticEngine &diags) {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  if (!error)
    return true;
  diags
      .error(Slug::UnwritableFile, {},
             "'<stdout>' cannot be written: " + error.message())
      .emit();
  return false;
}
