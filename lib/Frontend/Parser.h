//===- Parser.h - From .coll text to syntax trees ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_FRONTEND_PARSER_H
#define COLL_LIB_FRONTEND_PARSER_H

#include "lib/Frontend/AST.h"
#include "lib/Support/Diagnostics.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace coll {

/// Parses one file. Never null: after errors, which `diags` has, the tree has
/// what could be saved and `hasErrors` is set. Imports are not followed.
std::unique_ptr<File> parseFile(const SourceManager &sources, FileId file,
                                DiagnosticEngine &diags);

/// A file and all that it imports.
struct Program {
  /// Every file once, each after those it imports; the prelude is the first,
  /// the file that was asked for the last. Files in a cycle of imports stand in
  /// the order in which they were met.
  std::vector<std::unique_ptr<File>> files;
  /// The files that a file imports itself. All see the prelude.
  std::map<FileId, std::vector<FileId>> imports;
  /// The file that was asked for, or null if it could not be read.
  const File *main = nullptr;
  /// A file could not be read (a matter for exit status 2, not 1).
  bool unreadable = false;
  /// Anything at all went wrong; then `diags` says what.
  bool hasErrors = false;
};

struct LoadOptions {
  /// Where imports are looked for after the importing file's own directory and
  /// before the library that is part of the compiler.
  std::vector<std::string> libraryDirs;
};

/// Files of one program; a bound against imports that never end.
inline constexpr unsigned maxFiles = 1024;

/// Loads `path` ("-": standard input), the prelude and all imports.
Program loadProgram(SourceManager &sources, llvm::StringRef path,
                    DiagnosticEngine &diags, const LoadOptions &options = {});
/// The same for a file that `sources` already has.
Program loadProgram(SourceManager &sources, FileId main,
                    DiagnosticEngine &diags, const LoadOptions &options = {});

} // namespace coll

#endif // COLL_LIB_FRONTEND_PARSER_H
