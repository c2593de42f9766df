//===- Library.cpp - The .coll files that are part of the compiler --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Library/Library.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;

std::optional<llvm::StringRef> coll::libraryFile(llvm::StringRef name) {
  llvm::ArrayRef<EmbeddedText> files = libraryFiles();
  const auto *found = llvm::find_if(
      files, [&](const EmbeddedText &file) { return file.name == name; });
  if (found == files.end())
    return std::nullopt;
  return found->text;
}
