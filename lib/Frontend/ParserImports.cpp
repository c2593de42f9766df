//===- ParserImports.cpp - From one file to a whole program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk of the imports, depth first: a file is appended behind those that it
// imports. It is marked when it is met, so cycles end, and files that several
// others import are read once.
//
// An import is looked for in the directory of the file that names it, in the
// given library directories, and in the library that is part of the compiler. A
// file on disk with the name and the text of one of that library is taken to be
// it: importing the library's own source must not define everything twice.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Parser.h"
#include "lib/Library/Library.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace coll;
using llvm::StringRef;
using llvm::Twine;
namespace path = llvm::sys::path;

namespace {

constexpr StringRef preludeName = "prelude.coll";

class Loader {
public:
  Loader(SourceManager &sources, DiagnosticEngine &diags,
         const LoadOptions &options)
      : sources(sources), diags(diags), options(options) {}

  Program load(FileId main, bool hasDirectory);
  /// Opens a file on disk; `where` is the import, or invalid.
  std::optional<FileId> open(StringRef path, SourceRange where);

  Program program;

private:
  void visit(FileId id);
  std::optional<FileId> find(FileId importer, const ImportDecl &import);
  std::optional<FileId> findInLibrary(StringRef name);
  FileId canonical(FileId id);
  void reportMissing(const ImportDecl &import);

  SourceManager &sources;
  DiagnosticEngine &diags;
  const LoadOptions &options;
  std::set<FileId> met;
  /// The files of the compiler's library that are loaded.
  llvm::StringMap<FileId> library;
  /// Files that have a directory, for imports beside them.
  std::set<FileId> onDisk;
  bool tooMany = false;
};

Program Loader::load(FileId main, bool hasDirectory) {
  if (hasDirectory)
    onDisk.insert(main);
  main = canonical(main);
  visit(*findInLibrary(preludeName));
  visit(main);
  for (const std::unique_ptr<File> &file : program.files) {
    program.hasErrors |= file->hasErrors;
    if (file->id == main)
      program.main = file.get();
  }
  return std::move(program);
}

/// The file that `id` is taken to be: the one of the library if it is the same.
FileId Loader::canonical(FileId id) {
  const SourceFile &file = sources.file(id);
  StringRef name = path::filename(file.name());
  std::optional<StringRef> text = libraryFile(name);
  if (!text || *text != file.text())
    return id;
  return library.try_emplace(name, id).first->second;
}

std::optional<FileId> Loader::findInLibrary(StringRef name) {
  if (auto known = library.find(name); known != library.end())
    return known->second;
  std::optional<StringRef> text = libraryFile(name);
  if (!text)
    return std::nullopt;
  FileId id = sources.add(("<library>/" + name).str(), text->str(),
                          /*isLibrary=*/true);
  return library[name] = id;
}

std::optional<FileId> Loader::open(StringRef path, SourceRange where) {
  SourceManager::OpenResult result = sources.open(path);
  if (!result.error) {
    onDisk.insert(result.file);
    return result.file;
  }
  program.hasErrors = true;
  if (*result.error == SourceManager::OpenError::TooLarge) {
    diags
        .error(Slug::FileTooLarge, where,
               "'" + path + "' is larger than " + Twine(maxFileBytes >> 20) +
                   " MiB")
        .emit();
    return std::nullopt;
  }
  program.unreadable = true;
  diags
      .error(Slug::UnreadableFile, where,
             "'" + path + "' cannot be read: " + result.message)
      .emit();
  return std::nullopt;
}

/// Null: not found, which has been reported.
std::optional<FileId> Loader::find(FileId importer, const ImportDecl &import) {
  llvm::SmallVector<StringRef, 4> directories;
  if (onDisk.count(importer))
    directories.push_back(path::parent_path(sources.file(importer).name()));
  directories.append(options.libraryDirs.begin(), options.libraryDirs.end());
  if (path::is_absolute(import.path))
    return open(import.path, import.pathRange);
  for (StringRef directory : directories) {
    llvm::SmallString<256> candidate(directory);
    path::append(candidate, import.path);
    if (!llvm::sys::fs::exists(candidate))
      continue;
    std::optional<FileId> id = open(candidate, import.pathRange);
    return id ? canonical(*id) : id;
  }
  if (std::optional<FileId> id = findInLibrary(import.path))
    return id;
  reportMissing(import);
  return std::nullopt;
}

void Loader::reportMissing(const ImportDecl &import) {
  program.hasErrors = true;
  program.unreadable = true;
  auto error = diags.error(Slug::UnreadableFile, import.pathRange,
                           "no file '" + import.path +
                               "' beside this one or in the library");
  for (const EmbeddedText &file : libraryFiles())
    if (import.path.edit_distance(file.name, true, 2) <= 2 ||
        (import.path + ".coll").str() == file.name)
      error.fix(import.pathRange, ("\"" + file.name + "\"").str(),
                "the library has '" + file.name + "'");
}

void Loader::visit(FileId id) {
  if (!met.insert(id).second)
    return;
  if (sources.file(id).text().size() > maxFileBytes) {
    // Text that did not come from a disk.
    diags
        .error(Slug::FileTooLarge, {},
               "'" + sources.file(id).name() + "' is larger than " +
                   Twine(maxFileBytes >> 20) + " MiB")
        .emit();
    program.hasErrors = true;
    return;
  }
  std::unique_ptr<File> file = parseFile(sources, id, diags);
  for (const ImportDecl *import : file->imports) {
    if (met.size() >= maxFiles) {
      if (!std::exchange(tooMany, true))
        diags
            .error(Slug::TooManyFiles, import->range,
                   "this import is one too many: a program has at most " +
                       Twine(maxFiles) + " files")
            .emit();
      program.hasErrors = true;
      break;
    }
    if (std::optional<FileId> imported = find(id, *import)) {
      program.imports[id].push_back(*imported);
      visit(*imported);
    }
  }
  program.files.push_back(std::move(file));
}

} // namespace

Program coll::loadProgram(SourceManager &sources, StringRef path,
                          DiagnosticEngine &diags, const LoadOptions &options) {
  Loader loader(sources, diags, options);
  std::optional<FileId> main = loader.open(path, {});
  if (!main)
    return std::move(loader.program);
  return loader.load(*main, /*hasDirectory=*/true);
}

Program coll::loadProgram(SourceManager &sources, FileId main,
                          DiagnosticEngine &diags, const LoadOptions &options) {
  return Loader(sources, diags, options).load(main, /*hasDirectory=*/false);
}
