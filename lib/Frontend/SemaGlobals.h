//===- SemaGlobals.h - Names at the top of files ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Procedures, functions and lets share one set of names with schedules;
// contracts have their own, since they are named after a colon only and some
// are called as verbs of the language are. All files of a program see all of
// them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAGLOBALS_H
#define COLL_LIB_FRONTEND_SEMAGLOBALS_H

#include "lib/Frontend/Parser.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace coll::sema {

class Globals {
public:
  /// Enters all declarations; names that are defined twice are errors.
  Globals(const Program &program, DiagnosticEngine &diags);

  /// A procedure, function, let or schedule, or null.
  const Decl *find(llvm::StringRef name) const { return names.lookup(name); }
  const ContractDecl *findContract(llvm::StringRef name) const {
    return contracts.lookup(name);
  }
  const llvm::StringMap<const Decl *> &allNames() const { return names; }
  const llvm::StringMap<const ContractDecl *> &allContracts() const {
    return contracts;
  }

private:
  void enter(const Decl *decl, const SourceManager &sources,
             DiagnosticEngine &diags);

  llvm::StringMap<const Decl *> names;
  llvm::StringMap<const ContractDecl *> contracts;
};

/// A built-in function of expressions, and how many arguments it takes.
struct Builtin {
  llvm::StringLiteral name;
  unsigned minArgs, maxArgs; ///< maxArgs 0: any number
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
