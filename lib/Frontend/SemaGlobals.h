//===- SemaGlobals.h - Names at the top of files ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Procedures, functions and lets share one set of names with schedules;
// contracts have their own, since they are named after a colon only and some
// are called as verbs of the language are. A file sees its own names and those
// of the files that it imports, directly or not.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAGLOBALS_H
#define COLL_LIB_FRONTEND_SEMAGLOBALS_H

#include "lib/Frontend/Parser.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <tuple>

namespace coll::sema {

class Globals {
public:
  /// Enters all declarations; names that are defined twice are errors.
  Globals(const Program &program, DiagnosticEngine &diags);

  /// A procedure, fn or let that `from` sees, or null. (Schedules have no
  /// uses.)
  const Decl *find(llvm::StringRef name, FileId from) const;
  const ContractDecl *findContract(llvm::StringRef name, FileId from) const;
  void forEach(FileId from, llvm::function_ref<void(const Decl *)> visit) const;
  void forEachContract(FileId from,
                       llvm::function_ref<void(const Decl *)> visit) const;

private:
  bool isVisible(const Decl *decl, FileId from) const {
    return visible.contains({from, decl->range.file});
  }
  void enter(const Decl *decl, const SourceManager &sources,
             DiagnosticEngine &diags);

  llvm::StringMap<const Decl *> names;
  llvm::StringMap<const ContractDecl *> contracts;
  /// Definitions that are the same as one in another file, by kind and file.
  std::map<std::tuple<bool, FileId, llvm::StringRef>, const Decl *> copies;
  /// (file, a file whose names it sees)
  llvm::DenseSet<std::pair<FileId, FileId>> visible;
};

/// Of arguments.
inline constexpr size_t anyNumber = ~size_t(0);

/// A built-in function of expressions, and how many arguments it takes.
struct Builtin {
  llvm::StringLiteral name;
  size_t minArgs, maxArgs;
};
const Builtin *findBuiltin(llvm::StringRef name);
llvm::ArrayRef<Builtin> allBuiltins();
/// The same for the bodies of fn.
const Builtin *findFnBuiltin(llvm::StringRef name);
llvm::ArrayRef<Builtin> allFnBuiltins();

/// Remembers the name that is most like `wanted`.
class Suggestion {
public:
  explicit Suggestion(llvm::StringRef wanted);
  void offer(llvm::StringRef candidate);
  /// Empty: none is similar enough to be what was meant.
  llvm::StringRef best() const { return found; }

private:
  llvm::StringRef wanted, found;
  unsigned distance;
};

/// "a procedure", "a schedule".
llvm::StringRef describe(Decl::Kind kind);

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAGLOBALS_H
