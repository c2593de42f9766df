//===- SemaCore.h - Names, errors and regions -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every part of the walk needs: the names in scope, errors and locations
// with the calls that led there, and regions.
//
// After an error the value is of Kind::Error, which every user accepts
// silently: one cause, one message. The same message about the same place,
// which inlining meets again and again, is given once.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMACORE_H
#define COLL_LIB_FRONTEND_SEMACORE_H

#include "lib/Frontend/SemaGlobals.h"
#include "lib/Frontend/SemaInts.h"
#include "lib/Frontend/SemaReport.h"
#include "lib/Frontend/SemaValue.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

#include <deque>
#include <memory>
#include <set>

namespace coll::sema {

using Coords = llvm::SmallVector<mlir::Value, 3>;

class Core {
public:
  Core(const Globals &globals, mlir::MLIRContext &context,
       DiagnosticEngine &diags);

  //===--- What is being written ------------------------------------------===//
  const Globals &globals;
  DiagnosticEngine &diags;
  mlir::OpBuilder builder;
  Ints ints;
  Environment env;

  llvm::SmallVector<llvm::StringRef, 2> rankNames;
  /// Empty: in a declaration that no schedule uses the rank space is unknown.
  llvm::SmallVector<mlir::Value, 2> rankDims;
  SourceRange chunksRange;
  bool isByRow = false;
  bool isInContract = false;
  /// Inside `on`: the process's own rank, and the name it has.
  std::optional<Coords> ownRank;
  llvm::DenseSet<const Decl *> reached;
  /// Report nothing but unknown names, wrong numbers of arguments and
  /// recursion.
  bool isNamesOnly = false;
  /// Report one error only.
  bool hasErrorLimit = false, isLimitReached = false;

  /// Stands for every integer that is unknown then.
  mlir::Value someInt;

  bool isOpen() const { return rankDims.empty(); }
  unsigned rankWidth() const { return rankDims.size(); }

  //===--- Errors, places, regions (SemaCore.cpp) -------------------------===//
  Report error(Slug slug, SourceRange range, const llvm::Twine &message);
  /// "this is a list, not `needed`"; silent if `val` is an error.
  void wrongKind(const Val &val, const llvm::Twine &needed);
  mlir::Location loc(SourceRange range);
  llvm::StringRef text(SourceRange range) const;
  /// False, with an error, if the walk has taken too long.
  bool spend(SourceRange range);
  /// Runs `body` in the first block of `region`, which is made.
  void inRegion(mlir::Region &region, SourceRange range,
                llvm::function_ref<void()> body);
  /// Runs `body` for its errors and its result; its ops are thrown away.
  void probe(llvm::function_ref<void()> body);
  /// Runs `body` in a block that belongs to nobody yet.
  std::unique_ptr<mlir::Block> detached(llvm::function_ref<void()> body);
  void emitIf(mlir::Value condition, SourceRange range,
              llvm::function_ref<void()> thenBody,
              llvm::function_ref<void()> elseBody = nullptr);
  void emitFor(mlir::Value lo, mlir::Value hi, mlir::Value step,
               SourceRange range, llvm::function_ref<void(mlir::Value)> body);
  /// A value and the code that computes it.
  struct Side {
    Val val;
    std::unique_ptr<mlir::Block> code;
  };
  Side side(llvm::function_ref<Val()> body);
  /// The value of the side whose condition holds; both have the same kind.
  Val choose(mlir::Value condition, SourceRange range, Side a, Side b);
  void emitAssert(mlir::Value condition, Slug slug, SourceRange range,
                  const llvm::Twine &message, mlir::ValueRange args = {});
  /// a == b, now or when it is executed; {0} and {1} of the message.
  void requireEqual(mlir::Value a, mlir::Value b, Slug slug, SourceRange range,
                    llvm::StringRef message);

  //===--- Names (SemaNames.cpp) ------------------------------------------===//
  const Binding *find(llvm::StringRef name) const;
  /// A procedure, fn or let that the declaration being walked sees, or null.
  const Decl *findGlobal(llvm::StringRef name) const;
  FileId currentFile() const { return env.frame->decl->range.file; }
  /// Adds a name to the scope; an error if it is taken.
  Binding *define(const Ident &name);
  void defineValue(const Ident &name, Val value);
  /// A chain of the same names, the first of `chain` the newest.
  const Binding *copyNames(llvm::ArrayRef<const Binding *> chain);
  void unknownName(llvm::StringRef name, SourceRange range,
                   llvm::StringRef what,
                   llvm::function_ref<void(Suggestion &)> offer);
  Frame *enter(const Decl *decl, SourceRange callSite);
  /// Whether `decl` may be called here: not recursively, not too deeply.
  bool mayCall(const Decl *decl, SourceRange callSite);
  bool checkArity(llvm::StringRef name, size_t given, size_t least, size_t most,
                  SourceRange callSite, const Decl *decl = nullptr);

protected:
  DiagnosticEngine sink; ///< takes what is not to be said
  std::set<std::tuple<Slug, FileId, uint32_t>> said;
  std::deque<Frame> frames;
  std::deque<Binding> bindings;
  mutable unsigned evaluations = 0;
  unsigned calls = 0, regionDepth = 0;
  bool isExhausted = false;
};

/// Puts the names and the frame back at the end of a scope.
class Restore {
public:
  explicit Restore(Core &e) : e(e), saved(e.env) {}
  ~Restore() { e.env = saved; }

private:
  Core &e;
  Environment saved;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMACORE_H
