//===- SemaEmitter.h - Expressions of the language, as ops ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluation of expressions, which statements, contracts and maps have in
// common. An expression is evaluated where the builder stands; nothing is kept
// but what the caller keeps.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_SEMAEMITTER_H
#define COLL_LIB_FRONTEND_SEMAEMITTER_H

#include "lib/Frontend/SemaCore.h"
#include "lib/Frontend/SemaLists.h"

#include "llvm/ADT/StringSet.h"

namespace coll::sema {

class FunctionEmitter;

class Emitter : public Core {
public:
  Emitter(const Globals &globals, mlir::MLIRContext &context,
          DiagnosticEngine &diags);
  ~Emitter();

  std::unique_ptr<FunctionEmitter> functions;

  //===--- Expressions (SemaExprs.cpp, SemaCalls.cpp) ---------------------===//
  Val eval(const Expr *expr);
  /// These return null, or nothing, after an error.
  mlir::Value evalInt(const Expr *expr);
  mlir::Value evalCondition(const Expr *expr);
  std::optional<Coords> evalRank(const Expr *expr);
  mlir::Value toInt(const Val &val);
  std::optional<Coords> toRank(const Val &val);
  /// Adds the names of a let to the scope.
  void defineLet(const LetDecl *let);
  void checkLetFunction(const LetDecl *let);
  /// Looks for what is wrong with a let of a file that nothing uses.
  void checkGlobalLet(const LetDecl *let);
  /// An index for each dimension: `all` stands for those of the rank space.
  bool evalShape(llvm::ArrayRef<Expr *> exprs,
                 llvm::SmallVectorImpl<mlir::Value> &dims);

  //===--- Lists (SemaIterators.cpp) --------------------------------------===//
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

  std::deque<ArrayDecl> arrayDecls;
  std::deque<ArrayView> arrays;
  std::deque<Computed> values;
  std::vector<std::unique_ptr<List>> lists;
  unsigned depth = 0;
};

} // namespace coll::sema

#endif // COLL_LIB_FRONTEND_SEMAEMITTER_H
