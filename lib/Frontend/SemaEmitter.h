//===- SemaEmitter.h - Expressions of the language, as ops ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What statements, contracts and maps have in common: the names in scope, the
// evaluation of expressions, errors and locations with the calls that led
// there, and regions. An expression is evaluated where the builder stands;
// nothing is kept but what the caller keeps.
//
// After an error the value is of Kind::Error, which every user accepts
// silently: one cause, one message. The same message about the same place,
// which inlining meets again and again, is given once.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAEMITTER_H
#define COLL_LIB_FRONTEND_SEMAEMITTER_H

#include "lib/Frontend/SemaGlobals.h"
#include "lib/Frontend/SemaInts.h"
#include "lib/Frontend/SemaLists.h"
#include "lib/Frontend/SemaReport.h"
#include "lib/Support/Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <deque>
#include <memory>
#include <set>

namespace coll::sema {

class FunctionEmitter;

using Coords = llvm::SmallVector<mlir::Value, 3>;

class Emitter {
public:
  Emitter(const Globals &globals, mlir::MLIRContext &context,
          DiagnosticEngine &diags);
  ~Emitter();

  //===--- What is being written ------------------------------------------===//
  const Globals &globals;
  DiagnosticEngine &diags;
  mlir::OpBuilder builder;
  Ints ints;
  Environment env;
  std::unique_ptr<FunctionEmitter> functions;

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

  //===--- Errors, places, regions (SemaEmitter.cpp) ----------------------===//
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
  void defineLet(const LetDecl *let);
  void checkLetFunction(const LetDecl *let);
  /// Looks for what is wrong with a let of a file that nothing uses.
  void checkGlobalLet(const LetDecl *let);

  //===--- Expressions (SemaExprs.cpp, SemaCalls.cpp) ---------------------===//
  Val eval(const Expr *expr);
  /// These return null, or nothing, after an error.
  mlir::Value evalInt(const Expr *expr);
  mlir::Value evalCondition(const Expr *expr);
  std::optional<Coords> evalRank(const Expr *expr);
  mlir::Value toInt(const Val &val);
  std::optional<Coords> toRank(const Val &val);
  mlir::Value evalLetFunction(const LetDecl *let);
  /// An index for each dimension: `all` stands for those of the rank space.
  bool evalShape(llvm::ArrayRef<Expr *> exprs,
                 llvm::SmallVectorImpl<mlir::Value> &dims);

  //===--- Lists (SemaLists.cpp) ------------------------------------------===//
  /// A list or range as a list; null after an error.
  const List *toList(const Val &val);
  /// What `for` runs over.
  const List *evalDomain(const Expr *expr);
  template <typename T, typename... Args> T *makeList(Args &&...args) {
    auto list = std::make_unique<T>(std::forward<Args>(args)...);
    T *result = list.get();
    lists.push_back(std::move(list));
    return result;
  }
  /// `list`, or a stored copy if it has no closed form.
  const List *store(const List *list);
  mlir::Value sizeOf(const List *list);
  /// An element, with a check of the index.
  Val elementAt(const List *list, mlir::Value index, SourceRange range);
  /// Runs `body` for every combination, the last iterator fastest. `domains`
  /// may have some of the lists already.
  void forIterators(const Iterators &iters, Walk walk,
                    llvm::function_ref<void()> body,
                    llvm::ArrayRef<const List *> domains = {});

  //===--- Views (SemaViews.cpp) and values (SemaValues.cpp) --------------===//
  Val evalIndex(const IndexExpr *expr);
  Val evalView(const ViewExpr *expr);
  Val evalAt(const AtExpr *expr);
  const ArrayView *keep(ArrayView view);
  const ArrayDecl *keep(ArrayDecl decl) {
    return &arrayDecls.emplace_back(decl);
  }
  /// A value that `locations` hold, at one rank; null after an error.
  const Computed *read(const Val &locations);
  const Computed *toComputed(const Val &val);
  const Computed *keep(Computed value);
  /// Whether both have the same shape, as far as one can know.
  bool checkShapes(const Shape &a, const Shape &b, SourceRange range,
                   llvm::StringRef what);
  Shape shapeOf(const ArrayView &view) const;
  void checkOwnRank(mlir::ValueRange coords, SourceRange range);

private:
  Val evalName(const NameExpr *expr);
  Val evalGlobal(const Decl *decl, SourceRange range);
  Val evalTuple(const TupleExpr *expr);
  Val evalListLiteral(const ListExpr *expr);
  Val evalUnary(const UnaryExpr *expr);
  Val evalBinary(const BinaryExpr *expr);
  Val evalLogic(const BinaryExpr *expr);
  Val evalComparison(const BinaryExpr *expr, const Val &a, const Val &b);
  Val evalArithmetic(const BinaryExpr *expr, const Val &a, const Val &b);
  Val evalConditional(const ConditionalExpr *expr);
  Val evalRange(const RangeExpr *expr);
  Val evalCall(const CallExpr *expr);
  Val evalBuiltin(const CallExpr *expr, const Builtin &builtin);
  Val evalIntBuiltin(const CallExpr *expr, llvm::StringRef name);
  Val callLet(const LetDecl *let, const Binding *closure, const CallExpr *expr);
  Val evalFold(const CallExpr *expr);
  Val evalSum(const BinaryExpr *expr, const Val &a, const Val &b);
  Val evalApply(const FunctionDecl *fn, const CallExpr *expr);

  DiagnosticEngine sink; ///< takes what is not to be said
  std::set<std::tuple<Slug, FileId, uint32_t>> said;
  std::deque<Frame> frames;
  std::deque<Binding> bindings;
  std::deque<ArrayDecl> arrayDecls;
  std::deque<ArrayView> arrays;
  std::deque<Computed> values;
  std::vector<std::unique_ptr<List>> lists;
  mutable unsigned evaluations = 0;
  unsigned calls = 0, depth = 0, regionDepth = 0;
  bool isExhausted = false;
};

/// Puts the names and the frame back at the end of a scope.
class Restore {
public:
  explicit Restore(Emitter &e) : e(e), saved(e.env) {}
  ~Restore() { e.env = saved; }

private:
  Emitter &e;
  Environment saved;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAEMITTER_H
