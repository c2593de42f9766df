//===- Streams.cpp - Standard output that may not be writable -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Streams.h"

#include "lib/Support/Slugs.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace coll;

static std::error_code flushOutput() {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  return error;
}

static bool reportUnwritten(DiagnosticEngine &diags) {
  std::error_code error = flushOutput();
  if (error)
    diags
        .error(Slug::UnwritableFile, {},
               "'<stdout>' cannot be written: " + error.message())
        .emit();
  return !error;
}

static void atExit() {
  SourceManager sources;
  DiagnosticEngine diags(sources);
  bool isWritten = reportUnwritten(diags);
  render(diags, DiagnosticFormat::Text, llvm::errs());
  llvm::errs().clear_error();
  if (!isWritten)
    _exit(2);
}

/// A closed standard output becomes one that cannot be written to, and a closed
/// standard error one that swallows everything.
StandardStreams::StandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      // The lowest that is free: this one.
      (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  // What is made before this is destroyed after it has run.
  llvm::outs();
  llvm::errs();
  atexit(atExit);
}

bool StandardStreams::flush(DiagnosticEngine &diags) {
  return reportUnwritten(diags);
}
