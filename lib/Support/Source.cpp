//===- Source.cpp - Source files, offsets and ranges ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The starts of all lines are found once, when a file is added; a position is
// then a binary search.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Source.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace coll;

SourceFile::SourceFile(std::string name, std::string text, bool isLibrary)
    : fileName(std::move(name)), contents(std::move(text)), library(isLibrary) {
  lineStarts.push_back(0);
  for (size_t at = contents.find('\n'); at != std::string::npos;
       at = contents.find('\n', at + 1))
    lineStarts.push_back(at + 1);
}

LineColumn SourceFile::position(uint32_t offset) const {
  auto next = llvm::upper_bound(lineStarts, offset);
  uint32_t line = next - lineStarts.begin();
  return {line, offset - lineStarts[line - 1] + 1};
}

llvm::StringRef SourceFile::lineText(uint32_t line) const {
  llvm::StringRef rest = text().substr(lineStarts[line - 1]);
  return rest.take_until([](char c) { return c == '\n'; }).rtrim('\r');
}

FileId SourceManager::add(std::string name, std::string text, bool isLibrary) {
  files.push_back(std::make_unique<SourceFile>(std::move(name), std::move(text),
                                               isLibrary));
  return files.size() - 1;
}

SourceManager::OpenResult SourceManager::open(llvm::StringRef path,
                                              llvm::StringRef name) {
  // The same file under two spellings must not be read twice: its names would
  // then be defined twice.
  llvm::SmallString<256> real;
  bool isStdin = path == "-";
  if (isStdin)
    real = "-";
  else if (std::error_code error = llvm::sys::fs::real_path(path, real))
    return {noFile, OpenError::Unreadable, error.message()};
  if (auto known = byRealPath.find(real); known != byRealPath.end())
    return {known->second, std::nullopt, {}};

  llvm::sys::fs::file_status status;
  if (!isStdin) {
    if (std::error_code error = llvm::sys::fs::status(real, status))
      return {noFile, OpenError::Unreadable, error.message()};
    if (llvm::sys::fs::is_directory(status))
      return {noFile, OpenError::Unreadable, "Is a directory"};
    if (llvm::sys::fs::is_regular_file(status) &&
        status.getSize() > maxFileBytes)
      return {noFile, OpenError::TooLarge, {}};
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(
      real, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return {noFile, OpenError::Unreadable, buffer.getError().message()};
  if ((*buffer)->getBufferSize() > maxFileBytes)
    return {noFile, OpenError::TooLarge, {}};
  llvm::StringRef shown = name.empty() ? (isStdin ? "<stdin>" : path) : name;
  FileId id = add(shown.str(), (*buffer)->getBuffer().str());
  byRealPath[real] = id;
  return {id, std::nullopt, {}};
}

llvm::StringRef SourceManager::text(SourceRange range) const {
  return file(range.file).text().slice(range.begin, range.end);
}

LineColumn SourceManager::start(SourceRange range) const {
  return file(range.file).position(range.begin);
}

LineColumn SourceManager::end(SourceRange range) const {
  return file(range.file).position(range.end);
}
