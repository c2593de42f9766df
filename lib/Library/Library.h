//===- Library.h - The .coll files that are part of the compiler *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_LIBRARY_LIBRARY_H
#define COLL_LIB_LIBRARY_LIBRARY_H

#include "lib/Support/Embedded.h"

#include <optional>

namespace coll {

/// All files of this directory, by name.
llvm::ArrayRef<EmbeddedText> libraryFiles();

/// The text of the file that `import "name"` finds in the library.
std::optional<llvm::StringRef> libraryFile(llvm::StringRef name);

} // namespace coll

#endif // COLL_LIB_LIBRARY_LIBRARY_H
