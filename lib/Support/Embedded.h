//===- Embedded.h - Text files that are part of the compiler ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CMake function coll_embed_text (Embed.cmake) turns text files into a
// source that defines one function of this kind.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_EMBEDDED_H
#define COLL_LIB_SUPPORT_EMBEDDED_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace coll {

struct EmbeddedText {
  llvm::StringRef name; ///< the file's name, without directories
  llvm::StringRef text;
};

/// docs/Diagnostics.md, one element.
llvm::ArrayRef<EmbeddedText> embeddedDiagnosticsPage();

} // namespace coll

#endif // COLL_LIB_SUPPORT_EMBEDDED_H
