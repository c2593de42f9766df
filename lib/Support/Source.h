//===- Source.h - Source files, offsets and ranges --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program is a handful of .coll files. Every token, node and diagnostic names
// a piece of one of them by a SourceRange: three integers, copied freely, and
// turned into line and column only when somebody reads them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_SOURCE_H
#define COLL_LIB_SUPPORT_SOURCE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coll {

using FileId = uint32_t;
inline constexpr FileId noFile = ~FileId(0);

/// The bytes [begin, end) of a file. Default constructed it names nothing.
struct SourceRange {
  FileId file = noFile;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool isValid() const { return file != noFile; }
  uint32_t size() const { return end - begin; }
  /// From the start of this range to the end of `last`, in the same file.
  SourceRange to(SourceRange last) const { return {file, begin, last.end}; }
  /// The empty range just after this one: where something is missing.
  SourceRange after() const { return {file, end, end}; }
  friend bool operator==(const SourceRange &, const SourceRange &) = default;
};

/// Both count from 1. Columns count bytes, as compilers do.
struct LineColumn {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One file: its name as the user wrote it, its text, and where lines start.
class SourceFile {
public:
  SourceFile(std::string name, std::string text, bool isLibrary);

  llvm::StringRef name() const { return fileName; }
  llvm::StringRef text() const { return contents; }
  /// Embedded in the compiler (prelude and library), not read from a disk.
  bool isLibrary() const { return library; }
  uint32_t lineCount() const { return lineStarts.size(); }
  LineColumn position(uint32_t offset) const;
  /// The offset of the first byte of line `line` (from 1).
  uint32_t lineStart(uint32_t line) const { return lineStarts[line - 1]; }
  /// Line `line` (from 1) without its end (LF or CR LF).
  llvm::StringRef lineText(uint32_t line) const;

private:
  std::string fileName;
  std::string contents;
  std::vector<uint32_t> lineStarts;
  bool library;
};

/// The longest file that is read. Larger ones are an error, not a slow run.
inline constexpr uint64_t maxFileBytes = 4u << 20;

/// Owns the files of a run. Text stays where it is for the manager's life, so
/// that a StringRef into it is a good name.
class SourceManager {
public:
  /// Adds text that is already in memory.
  FileId add(std::string name, std::string text, bool isLibrary = false);

  enum class OpenError { Unreadable, TooLarge };
  struct OpenResult {
    FileId file = noFile;
    std::optional<OpenError> error;
    std::string message; ///< the system's words, if there is an error
  };
  /// Reads `path`; "-" is the standard input. A path read before gives the same
  /// id again. `name` is what messages call it (`path` if it is empty).
  OpenResult open(llvm::StringRef path, llvm::StringRef name = {});
  /// From now on `path` is taken to hold `text`. False: there is no such path.
  bool pretend(llvm::StringRef path, std::string text);

  uint32_t size() const { return files.size(); }
  const SourceFile &file(FileId id) const { return *files[id]; }
  llvm::StringRef text(SourceRange range) const;
  LineColumn start(SourceRange range) const;
  /// The position just after the last byte.
  LineColumn end(SourceRange range) const;

private:
  std::vector<std::unique_ptr<SourceFile>> files;
  llvm::StringMap<FileId> byRealPath;
};

} // namespace coll

#endif // COLL_LIB_SUPPORT_SOURCE_H
