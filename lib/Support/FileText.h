//===- FileText.h - Reads a whole file, within bounds -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_SUPPORT_FILETEXT_H
#define COLL_LIB_SUPPORT_FILETEXT_H

#include "lib/Support/Source.h"

namespace coll {

struct FileText {
  std::string text;
  std::optional<SourceManager::OpenError> error;
  std::string message; ///< the system's words, if there is an error
};

/// Reads `path`; "-" is the standard input. Anything else that is no regular
/// file is an error: a device may have no end, and a pipe no writer. So is what
/// turns out to be longer than `limit`, of which no more is read than that.
FileText readFileText(llvm::StringRef path, uint64_t limit);

} // namespace coll

#endif // COLL_LIB_SUPPORT_FILETEXT_H
