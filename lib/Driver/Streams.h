//===- Streams.h - Standard output that may not be writable -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_STREAMS_H
#define COLL_LIB_DRIVER_STREAMS_H

#include "lib/Support/Diagnostics.h"

namespace coll {

/// What `main` of a tool has first. Results that nobody can read are an error
/// of the tool's own, not LLVM's: its streams abort where errors are left.
class StandardStreams {
public:
  /// Descriptors that are closed are not given to other files.
  StandardStreams();
  /// False: what was printed could not be written, which `diags` has now. What
  /// is printed later, or before an exit as of --help, is looked at, too.
  bool flush(DiagnosticEngine &diags);
};

} // namespace coll
#endif // COLL_LIB_DRIVER_STREAMS_H
