//===- Source.cpp - Source files, offsets and ranges ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The starts of all lines are found once, when a file is added; a position is
// then a binary search.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Source.h"
#include "lib/Support/FileText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace coll;
using OpenError = SourceManager::OpenError;

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

/// Reads until the end, or beyond the limit.
static FileText readAll(llvm::sys::fs::file_t file, uint64_t limit) {
  FileText result;
  constexpr size_t piece = 64 << 10;
  for (size_t size = 0;;) {
    result.text.resize(size + piece);
    llvm::Expected<size_t> got = llvm::sys::fs::readNativeFile(
        file, llvm::MutableArrayRef(result.text.data() + size, piece));
    if (!got)
      return {{}, OpenError::Unreadable, llvm::toString(got.takeError())};
    size += *got;
    result.text.resize(size);
    if (*got == 0)
      return result;
    if (size > limit)
      return {{}, OpenError::TooLarge, {}};
  }
}

FileText coll::readFileText(llvm::StringRef path, uint64_t limit) {
  if (path == "-")
    return readAll(llvm::sys::fs::getStdinHandle(), limit);
  auto fail = [](std::error_code error) {
    return FileText{{}, OpenError::Unreadable, error.message()};
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail(error);
  if (llvm::sys::fs::is_directory(status))
    return fail(std::make_error_code(std::errc::is_a_directory));
  if (!llvm::sys::fs::is_regular_file(status))
    return {{}, OpenError::Unreadable, "not a regular file"};
  if (status.getSize() > limit)
    return {{}, OpenError::TooLarge, {}};
  llvm::Expected<llvm::sys::fs::file_t> file =
      llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return fail(llvm::errorToErrorCode(file.takeError()));
  llvm::scope_exit close([&] { (void)llvm::sys::fs::closeFile(*file); });
  return readAll(*file, limit);
}

/// One spelling for each file: were it read twice, its names would be defined
/// twice.
static std::error_code findRealPath(llvm::StringRef path,
                                    llvm::SmallVectorImpl<char> &real) {
  if (path != "-")
    return llvm::sys::fs::real_path(path, real);
  real.assign({'-'});
  return {};
}

static llvm::StringRef shownName(llvm::StringRef path) {
  return path == "-" ? "<stdin>" : path;
}

bool SourceManager::pretend(llvm::StringRef path, std::string text) {
  llvm::SmallString<256> real;
  if (findRealPath(path, real))
    return false;
  byRealPath[real] = add(shownName(path).str(), std::move(text));
  return true;
}

SourceManager::OpenResult SourceManager::open(llvm::StringRef path,
                                              llvm::StringRef name) {
  llvm::SmallString<256> real;
  if (std::error_code error = findRealPath(path, real))
    return {noFile, OpenError::Unreadable, error.message()};
  if (auto known = byRealPath.find(real); known != byRealPath.end())
    return {known->second, std::nullopt, {}};

  FileText file = readFileText(real, maxFileBytes);
  if (file.error)
    return {noFile, file.error, file.message};
  llvm::StringRef shown = name.empty() ? shownName(path) : name;
  FileId id = add(shown.str(), std::move(file.text));
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
