//===- Builder.h - Symbolic execution of a schedule -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes a schedule once with every loop at a symbolic iteration. Integers
// are linear forms in a context, which knows what holds of the variables there.
// An operation without a linear result forks the context: `a mod N` into one
// for each quotient that is possible, a minimum into two. So evaluation is in
// continuation-passing style: the rest runs once per context.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_PROVE_BUILDER_H
#define COLL_LIB_PROVE_BUILDER_H

#include "lib/Prove/Model.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace coll::prove {

struct Context {
  Conj domain;
  llvm::SmallDenseMap<mlir::Value, Lin, 16> ints;
  /// Quotients that are known: (dividend, divisor) -> quotient.
  std::vector<std::pair<std::pair<Lin, Lin>, Lin>> quotients;
};

struct ViewDim {
  Lin offset;
  int viewDim = -1; ///< none: one index
  int64_t step = 1;
};
struct ViewRef {
  unsigned array = 0;
  llvm::SmallVector<ViewDim, 4> dims;
  llvm::SmallVector<Lin, 4> extents;
};

template <typename... T>
using Then = llvm::function_ref<void(const Context &, T...)>;

class Builder {
public:
  Builder(ScheduleOp schedule, const ModelOptions &options)
      : schedule(schedule), options(options) {}
  Model build();

private:
  void buildOnce();

  // What forks (Evaluate.cpp).
  using WithInt = Then<const Lin &>;
  using WithInts = Then<llvm::ArrayRef<Lin>>;
  void withInt(mlir::Value value, const Context &context, WithInt then);
  void withInts(mlir::ValueRange values, const Context &context, WithInts then);
  void withBool(mlir::Value value, const Context &context, Then<bool> then);
  void withView(mlir::Value value, const Context &context,
                Then<const ViewRef &> then);
  void withSlice(SliceOp slice, const ViewRef &view, const Context &context,
                 Then<const ViewRef &> then);
  void intOf(mlir::Operation *op, const Context &context, WithInt then);
  void intOfTwo(mlir::Operation *op, const Lin &a, const Lin &b,
                const Context &c, WithInt then);
  void binary(mlir::Operation *op, const Context &context,
              Then<const Lin &, const Lin &> then);
  void divide(mlir::Operation *op, const Lin &a, const Lin &b,
              const Context &context, Then<const Lin &, const Lin &> then);
  void divideBySymbol(mlir::Operation *op, const Lin &a, const Lin &b,
                      const Context &context,
                      Then<const Lin &, const Lin &> then);
  void flipBits(mlir::Operation *op, const Lin &a, int64_t bits,
                const Context &context, WithInt then);
  void compare(mlir::Operation *op, const Context &context, Then<bool> then);
  /// Both orders of two forms, where they are possible.
  void fork(const Lin &a, const Lin &b, const Context &context,
            Then<bool> isLess);
  void addCase(const Context &context, llvm::function_ref<void(Conj &)> what,
               llvm::function_ref<void(const Context &)> then);
  void logarithm(mlir::Operation *op, const Context &context, WithInt then);
  void shift(mlir::Operation *op, const Context &context, WithInt then);

  // Regions that list things: members, folds.
  using WithMember = Then<llvm::ArrayRef<Lin>, llvm::ArrayRef<Var>>;
  void listMembers(mlir::Region &region, const Context &context,
                   WithMember then);
  void walkList(mlir::Block &block, const Context &context,
                llvm::SmallVector<Var> vars, bool isFold,
                llvm::function_ref<void(const Context &, mlir::Operation *,
                                        llvm::ArrayRef<Var>)>
                    then);

  // The frame of a schedule (ModelFromIR.cpp).
  std::vector<Context> start();
  bool frameOp(mlir::Operation *op, std::vector<Context> &contexts);
  void param(ParamOp op, std::vector<Context> &contexts);
  void launch(LaunchOp op, std::vector<Context> &contexts);
  void where(WhereOp op, std::vector<Context> &contexts);
  void buffer(BufferOp op, const std::vector<Context> &contexts);
  void tmp(TmpOp op, const Context &context);
  void promise(PromiseOp op, const std::vector<Context> &contexts);
  void sizeOf(SizeOfOp op, const Context &context);
  bool dimsOf(mlir::Operation *op, mlir::ValueRange values,
              const Context &context, llvm::SmallVectorImpl<Lin> &dims);

  // Statements (Statements.cpp).
  struct Scope {
    Path path;
    unsigned snapshot = 0; ///< items up to the group; 0: none
    llvm::SmallVector<Var, 2> process;
    unsigned region = 0;
    bool inPromise = false;
  };
  void execute(mlir::Block &block, const Context &context, const Scope &scope);
  void executeOp(mlir::Operation *op, const Context &context, Scope scope);
  void loop(mlir::Operation *op, const Context &context, Scope scope);
  void on(OnOp op, const Context &context, Scope scope);
  void transfer(mlir::Operation *op, const Context &context,
                const Scope &scope);
  void init(InitOp op, const Context &context, const Scope &scope);
  void requireSome(const Context &context, const ViewRef &view,
                   mlir::Operation *op);
  void send(SendOp op, const Context &context, const Scope &scope);
  void recv(RecvOp op, const Context &context, const Scope &scope);
  void ensure(EnsureOp op, const Context &context, const Scope &scope);
  Statement &statementOf(mlir::Operation *op, const Scope &scope,
                         Statement::Kind kind);
  void addVar(Statement &st, Var var);
  /// The elements of a view, and what they are in the array.
  Location elementOf(mlir::Operation *op, const ViewRef &view,
                     llvm::ArrayRef<Lin> rank, Context &context,
                     const Statement &st);
  void defineElements(Statement &st, const ViewRef &view, Context &context);
  void checkPlace(const Location &at, const Context &context,
                  mlir::Operation *op);
  /// Every read of a value, for a statement at `self`; null: no own rank.
  void addReads(mlir::Operation *op, Statement &st, mlir::Value value,
                const ViewRef &target, const Context &context,
                const llvm::SmallVectorImpl<Lin> *self, bool ownOnly);
  void addRead(Statement &st, ReadOp read, mlir::Operation *operand,
               const ViewRef &target, const Context &context,
               llvm::ArrayRef<Var> inner,
               const llvm::SmallVectorImpl<Lin> *self, bool ownOnly);
  void withOwnRank(Statement &st, llvm::ArrayRef<unsigned> arrays,
                   const Context &context, WithInts then);
  void arraysRead(mlir::Value value, llvm::SmallVectorImpl<unsigned> &arrays);

  // Bookkeeping.
  void stop(mlir::Operation *op, const std::string &why);
  bool failed() const { return model.obstacle.has_value(); }
  Var varOf(mlir::Operation *op, unsigned index, const std::string &name);
  /// `condition` must hold of every point of the context.
  void require(const Context &context, const Union &condition,
               const std::string &what, mlir::Operation *op);
  void requireLess(const Context &context, const Lin &a, const Lin &b,
                   const std::string &what, mlir::Operation *op);
  void withLoop(mlir::Operation *op, const Context &context,
                llvm::function_ref<void(const Context &, Var)> then);

  ScheduleOp schedule;
  const ModelOptions &options;
  Model model;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, Var> vars;
  llvm::DenseMap<mlir::Operation *, unsigned> arrayOf, regionOf;
  llvm::DenseMap<mlir::Operation *, unsigned> statementIndex;
  llvm::DenseMap<std::pair<unsigned, mlir::Operation *>, unsigned> operandOf;
  size_t numCases = 0;
  /// Quotients of N by numbers; variables from the start, as N is.
  std::vector<std::pair<Lin, int64_t>> quotientsOfN;
  std::optional<std::pair<Lin, int64_t>> newQuotient;
  Var numStartVars = 0;
};

} // namespace coll::prove
#endif // COLL_LIB_PROVE_BUILDER_H
