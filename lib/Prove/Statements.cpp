//===- Statements.cpp - Statements of a schedule, symbolically ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each statement becomes the set of its executions: a point has the variables
// of the loops around it, then those of what happens at once: elements of
// slices, ranks written to, ranks that do it by themselves.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

/// A schedule with more cases than this would take too long.
static constexpr size_t maxCases = 3000;
/// Variables of a statement by what they are; ops have few of them.
enum VarIndex : unsigned { ElementVar = 100, RankVar = 200, MemberVar = 300 };

void Builder::execute(mlir::Block &block, const Context &context,
                      const Scope &scope) {
  int pos = 0;
  for (mlir::Operation &op : block) {
    if (failed())
      return;
    Scope next = scope;
    next.path.push_back({pos++, {}, false});
    executeOp(&op, context, next);
  }
}

void Builder::executeOp(mlir::Operation *op, const Context &context,
                        Scope scope) {
  if (failed())
    return;
  if (llvm::isa<mlir::scf::ForOp>(op))
    return loop(op, context, scope);
  if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op))
    return withBool(branch.getCondition(), context,
                    [&](const Context &c, bool isTrue) {
                      mlir::Region &region = isTrue ? branch.getThenRegion()
                                                    : branch.getElseRegion();
                      if (!region.empty())
                        execute(region.front(), c, scope);
                    });
  if (auto group = llvm::dyn_cast<GroupOp>(op)) {
    scope.snapshot = scope.path.size();
    return execute(group.getBody().front(), context, scope);
  }
  if (auto it = llvm::dyn_cast<OnOp>(op))
    return on(it, context, scope);
  if (auto it = llvm::dyn_cast<TmpOp>(op))
    return tmp(it, context);
  if (auto it = llvm::dyn_cast<InitOp>(op))
    return init(it, context, scope);
  if (llvm::isa<CopyOp, ReduceOp>(op))
    return transfer(op, context, scope);
  if (auto it = llvm::dyn_cast<SendOp>(op))
    return send(it, context, scope);
  if (auto it = llvm::dyn_cast<RecvOp>(op))
    return recv(it, context, scope);
  if (auto it = llvm::dyn_cast<EnsureOp>(op))
    return ensure(it, context, scope);
  if (auto it = llvm::dyn_cast<SizeOfOp>(op))
    return sizeOf(it, context);
  if (auto it = llvm::dyn_cast<LaunchCountsOp>(op)) {
    model.hasCounts = true;
    model.globalCounts |= it.getGlobal();
    return;
  }
  if (auto it = llvm::dyn_cast<AssertOp>(op))
    return withBool(
        it.getCondition(), context, [&](const Context &c, bool isTrue) {
          if (!isTrue)
            model.violations.push_back({c.domain, it.getMessage().str(), op});
        });
  if (llvm::isa<InplaceOp, SameOp, CountOp, ConstSizeOp, MappingOp, ReadOp,
                FoldOp, AddOp, ApplyOp, mlir::scf::YieldOp>(op))
    return; // evaluated where they are used, or no part of the meaning
  if (!op->use_empty() && llvm::isa<SliceOp, ReshapeOp>(op))
    return;
  if (llvm::isa<SliceOp>(op)) // it may be out of range though nobody uses it
    return withView(op->getResult(0), context,
                    [](const Context &, const ViewRef &) {});
  if (llvm::isa<ModOp, DivOp>(op) && op->use_empty())
    return withInt(op->getResult(0), context,
                   [](const Context &, const Lin &) {});
  if (op->getNumResults() == 0 || op->getNumRegions() != 0)
    stop(op, "'" + op->getName().getStringRef().str() + "'");
}

void Builder::loop(mlir::Operation *op, const Context &context, Scope scope) {
  withLoop(op, context, [&](const Context &c, Var var) {
    Scope next = scope;
    next.path.back().vars.push_back(var);
    execute(op->getRegion(0).front(), c, next);
  });
}

void Builder::on(OnOp op, const Context &context, Scope scope) {
  if (!regionOf.contains(op)) {
    regionOf[op] = model.regions.size();
    model.regions.push_back({Lin(0), op});
  }
  scope.region = regionOf[op];
  auto run = [&](const Context &c) {
    listMembers(
        op.getMembers(), c,
        [&](const Context &d, llvm::ArrayRef<Lin> coords,
            llvm::ArrayRef<Var> around) {
          Context next = d;
          Scope inside = scope;
          inside.path.back().isProcess = true;
          inside.process.clear();
          for (auto [i, coord] : llvm::enumerate(coords)) {
            Var var = varOf(op, i, "p" + std::to_string(i));
            requireLess(d, Lin(-1), coord, "a rank may be negative", op);
            requireLess(d, coord, Lin::of(model.ranks[i]),
                        "a rank may be too large", op);
            next.domain.equal(Lin::of(var), coord);
            next.ints[op.getBody().front().getArgument(i)] = Lin::of(var);
            inside.path.back().vars.push_back(var);
            inside.process.push_back(var);
          }
          // A rank that is listed twice is one process.
          next.domain.project(around);
          execute(op.getBody().front(), next, inside);
        });
  };
  if (!op.getCapacity())
    return run(context);
  withInt(op.getCapacity(), context,
          [&](const Context &c, const Lin &capacity) {
            model.regions[scope.region].capacity = capacity;
            requireLess(c, Lin(-1), capacity, "a capacity may be negative", op);
            run(c);
          });
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

Statement &Builder::statementOf(mlir::Operation *op, const Scope &scope,
                                Statement::Kind kind) {
  auto [it, isNew] = statementIndex.try_emplace(op, model.statements.size());
  if (!isNew)
    return model.statements[it->second];
  Statement st;
  st.op = op;
  st.kind = kind;
  st.path = scope.path;
  st.snapshot = scope.snapshot ? scope.snapshot : scope.path.size();
  st.region = scope.region;
  for (const PathItem &item : st.path)
    st.vars.append(item.vars.begin(), item.vars.end());
  st.numPathVars = st.vars.size();
  model.statements.push_back(std::move(st));
  return model.statements.back();
}

void Builder::addVar(Statement &st, Var var) {
  if (!llvm::is_contained(st.vars, var))
    st.vars.push_back(var);
}

void Builder::defineElements(Statement &st, const ViewRef &view,
                             Context &context) {
  for (auto [i, extent] : llvm::enumerate(view.extents)) {
    Var var = varOf(st.op, ElementVar + i, "e" + std::to_string(i));
    addVar(st, var);
    context.domain.within(Lin::of(var), Lin(0), extent);
  }
}

Location Builder::elementOf(mlir::Operation *op, const ViewRef &view,
                            llvm::ArrayRef<Lin> rank, Context &context,
                            const Statement &st) {
  Location at;
  at.array = view.array;
  for (Var var : model.arrays[view.array].hidden)
    at.index.push_back(Lin::of(var));
  for (const ViewDim &dim : view.dims) {
    Lin value = dim.offset;
    if (dim.viewDim >= 0)
      value.addScaled(Lin::of(varOf(st.op, ElementVar + dim.viewDim,
                                    "e" + std::to_string(dim.viewDim))),
                      dim.step);
    at.index.push_back(value);
  }
  at.rank.assign(rank.begin(), rank.end());
  if (++numCases > maxCases)
    stop(op, "more cases than are tried");
  return at;
}

void Builder::checkPlace(const Location &at, const Context &context,
                         mlir::Operation *op) {
  const ArrayInfo &array = model.arrays[at.array];
  if (array.isEverywhere) {
    for (auto [rank, extent] : llvm::zip_equal(at.rank, model.ranks)) {
      requireLess(context, Lin(-1), rank, "a rank may be negative", op);
      requireLess(context, rank, Lin::of(extent), "a rank may be too large",
                  op);
    }
    return;
  }
  Substitution by;
  for (auto [var, rank] : llvm::zip_equal(array.rankVars, at.rank))
    by.push_back({var, rank});
  Union here;
  for (const Conj &conj : array.presence)
    here.push_back(conj.substituted(by));
  require(context, here, "a rank may not have '" + array.name + "'", op);
}

/// The ranks that do a statement by themselves: those that have all arrays.
void Builder::withOwnRank(Statement &st, llvm::ArrayRef<unsigned> arrays,
                          const Context &context, WithInts then) {
  llvm::SmallVector<Lin> rank;
  Context next = context;
  for (auto [i, extent] : llvm::enumerate(model.ranks)) {
    Var var = varOf(st.op, RankVar + i, "r" + std::to_string(i));
    addVar(st, var);
    rank.push_back(Lin::of(var));
    next.domain.within(rank.back(), Lin(0), Lin::of(extent));
  }
  auto step = [&](auto &&self, const Context &c, size_t i) -> void {
    if (i == arrays.size())
      return then(c, rank);
    const ArrayInfo &array = model.arrays[arrays[i]];
    if (array.isEverywhere)
      return self(self, c, i + 1);
    Substitution by;
    for (auto [var, coord] : llvm::zip_equal(array.rankVars, rank))
      by.push_back({var, coord});
    for (const Conj &conj : array.presence)
      addCase(
          c, [&](Conj &domain) { domain.add(conj.substituted(by)); },
          [&](const Context &d) { self(self, d, i + 1); });
  };
  step(step, next, 0);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// The arrays behind every read of a value.
void Builder::arraysRead(mlir::Value value,
                         llvm::SmallVectorImpl<unsigned> &arrays) {
  auto ofRead = [&](ReadOp read) {
    mlir::Operation *op = read.getArray().getDefiningOp();
    while (op && llvm::isa<SliceOp, ReshapeOp>(op))
      op = op->getOperand(0).getDefiningOp();
    auto it = op ? arrayOf.find(op) : arrayOf.end();
    if (it != arrayOf.end() && !llvm::is_contained(arrays, it->second))
      arrays.push_back(it->second);
  };
  mlir::Operation *op = value.getDefiningOp();
  if (auto read = llvm::dyn_cast_or_null<ReadOp>(op))
    ofRead(read);
  else if (op)
    op->walk(ofRead);
}

/// `operand` tells reads apart: one read may be two operands of a fold.
void Builder::addRead(Statement &st, ReadOp read, mlir::Operation *operand,
                      const ViewRef &target, const Context &context,
                      llvm::ArrayRef<Var> inner,
                      const llvm::SmallVectorImpl<Lin> *self, bool ownOnly) {
  withView(
      read.getArray(), context, [&](const Context &c, const ViewRef &view) {
        if (view.extents.size() != target.extents.size())
          return stop(read, "a value of another shape");
        for (auto [a, b] : llvm::zip_equal(view.extents, target.extents))
          if (!(a == b)) {
            requireLess(c, a, b + Lin(1), "the shapes may differ", read);
            requireLess(c, b, a + Lin(1), "the shapes may differ", read);
          }
        auto add = [&](const Context &d, llvm::ArrayRef<Lin> rank) {
          Context here = d;
          Access access;
          access.at = elementOf(read, view, rank, here, st);
          access.inner.assign(inner.begin(), inner.end());
          access.op = read;
          auto key = std::pair(statementIndex[st.op], operand);
          access.operand =
              operandOf.try_emplace(key, operandOf.size()).first->second;
          checkPlace(access.at, here, read);
          access.domain = here.domain;
          st.reads.push_back(std::move(access));
        };
        if (!read.getAt().empty()) {
          if (ownOnly)
            return stop(read,
                        "a statement only one side of which names a rank");
          return withInts(read.getAt(), c, add);
        }
        if (!self)
          return stop(read, "a statement only one side of which names a rank");
        add(c, *self);
      });
}

void Builder::addReads(mlir::Operation *op, Statement &st, mlir::Value value,
                       const ViewRef &target, const Context &context,
                       const llvm::SmallVectorImpl<Lin> *self, bool ownOnly) {
  auto visit = [&](auto &&again, mlir::Value v, mlir::Operation *which,
                   const Context &c, llvm::SmallVector<Var> inner) -> void {
    mlir::Operation *def = v.getDefiningOp();
    if (auto read = llvm::dyn_cast_or_null<ReadOp>(def))
      return addRead(st, read, which, target, c, inner, self, ownOnly);
    auto fold = llvm::dyn_cast_or_null<FoldOp>(def);
    if (fold && v != value)
      return stop(fold, "a reduce in a reduce");
    if (fold)
      return walkList(fold.getBody().front(), c, inner, true,
                      [&](const Context &d, mlir::Operation *operand,
                          llvm::ArrayRef<Var> around) {
                        again(again, operand->getOperand(0), operand, d,
                              llvm::SmallVector<Var>(around));
                      });
    stop(def ? def : op, "'+' and functions of values");
  };
  visit(visit, value, op, context, {});
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void Builder::transfer(mlir::Operation *op, const Context &context,
                       const Scope &scope) {
  auto copy = llvm::dyn_cast<CopyOp>(op);
  auto reduce = llvm::dyn_cast<ReduceOp>(op);
  mlir::Value value = copy ? copy.getValue() : reduce.getValue();
  mlir::Value target = copy ? copy.getTarget() : reduce.getTarget();
  mlir::ValueRange at = copy ? copy.getAt() : reduce.getAt();
  mlir::Region &members = copy ? copy.getMembers() : reduce.getMembers();
  Statement &st = statementOf(op, scope, Statement::Transfer);
  st.isReduce = bool(reduce);
  unsigned index = statementIndex[op];
  withView(target, context, [&](const Context &c, const ViewRef &view) {
    if (model.arrays[view.array].kind == ArrayInfo::In)
      return stop(op, "a write to an input");
    Context withElements = c;
    defineElements(model.statements[index], view, withElements);
    auto write = [&](const Context &d, llvm::ArrayRef<Lin> rank, bool isOwn) {
      Context here = d;
      Statement &self = model.statements[index];
      Access access;
      access.at = elementOf(op, view, rank, here, self);
      access.op = op;
      access.domain = here.domain;
      checkPlace(access.at, here, op);
      self.writes.push_back(access);
      if (self.isReduce) {
        access.isOld = true;
        access.operand = ~0u;
        self.reads.push_back(access);
      }
      llvm::SmallVector<Lin> own(rank.begin(), rank.end());
      addReads(op, self, value, view, here, isOwn ? &own : nullptr,
               isOwn && scope.process.empty());
    };
    auto explicitly = [&](const Context &d, llvm::ArrayRef<Lin> rank) {
      // In a process, a place without a rank is its own.
      write(d, rank, !scope.process.empty());
    };
    if (!scope.process.empty() && (!at.empty() || !members.empty()))
      return stop(op, "a process that names a rank it writes to");
    if (!scope.process.empty()) {
      llvm::SmallVector<Lin> self;
      for (Var var : scope.process)
        self.push_back(Lin::of(var));
      return write(withElements, self, true);
    }
    if (!at.empty())
      return withInts(at, withElements, explicitly);
    if (members.empty()) {
      llvm::SmallVector<unsigned> arrays{view.array};
      arraysRead(value, arrays);
      return withOwnRank(model.statements[index], arrays, withElements,
                         [&](const Context &d, llvm::ArrayRef<Lin> rank) {
                           write(d, rank, true);
                         });
    }
    if (!llvm::isa_and_nonnull<ReadOp>(value.getDefiningOp()))
      return stop(op, "a computed value for a list of ranks");
    // Which of the listed ranks: the loops around it and the op that lists it.
    llvm::DenseMap<mlir::Operation *, int64_t> numbers;
    walkList(members.front(), withElements, {}, false,
             [&](const Context &d, mlir::Operation *member,
                 llvm::ArrayRef<Var> around) {
               Context which = d;
               Var var = varOf(op, MemberVar, "member");
               addVar(model.statements[index], var);
               for (Var loopVar : around)
                 addVar(model.statements[index], loopVar);
               int64_t number =
                   numbers.try_emplace(member, numbers.size()).first->second;
               which.domain.equal(Lin::of(var), Lin(number));
               withInts(member->getOperands(), which, explicitly);
             });
  });
}

void Builder::init(InitOp op, const Context &context, const Scope &scope) {
  statementOf(op, scope, Statement::Init);
  unsigned index = statementIndex[op];
  if (!scope.process.empty())
    return stop(op, "a tmp in a process");
  withView(op.getArray(), context, [&](const Context &c, const ViewRef &view) {
    withView(op.getSource(), c, [&](const Context &d, const ViewRef &source) {
      Context withElements = d;
      defineElements(model.statements[index], view, withElements);
      withOwnRank(model.statements[index], {source.array}, withElements,
                  [&](const Context &e, llvm::ArrayRef<Lin> rank) {
                    Statement &st = model.statements[index];
                    Context here = e;
                    if (view.extents != source.extents)
                      return stop(op, "a source of another shape");
                    Access access;
                    access.op = op;
                    access.at = elementOf(op, view, rank, here, st);
                    access.domain = here.domain;
                    st.writes.push_back(access);
                    access.at = elementOf(op, source, rank, here, st);
                    st.reads.push_back(access);
                  });
    });
  });
}

void Builder::ensure(EnsureOp op, const Context &context, const Scope &scope) {
  Scope last = scope;
  last.path.clear();
  last.path.push_back({1 << 30, {}, false});
  statementOf(op, last, Statement::Ensure);
  unsigned index = statementIndex[op];
  for (mlir::Operation *up = op->getParentOp(); !llvm::isa<PromiseOp>(up);
       up = up->getParentOp())
    if (llvm::isa<mlir::scf::ForOp>(up))
      addVar(model.statements[index], vars.lookup({up, 0}));
  withView(op.getArray(), context, [&](const Context &c, const ViewRef &view) {
    Context withElements = c;
    defineElements(model.statements[index], view, withElements);
    auto add = [&](const Context &d, llvm::ArrayRef<Lin> rank) {
      Statement &st = model.statements[index];
      Context here = d;
      Access access;
      access.op = op;
      access.at = elementOf(op, view, rank, here, st);
      access.domain = here.domain;
      access.isOld = true; // what there is, to be compared with the value
      access.operand = ~0u;
      checkPlace(access.at, here, op);
      st.reads.push_back(access);
      llvm::SmallVector<Lin> self(rank.begin(), rank.end());
      addReads(op, st, op.getValue(), view, here, &self, false);
    };
    if (!op.getAt().empty())
      return withInts(op.getAt(), withElements, add);
    withOwnRank(model.statements[index], {view.array}, withElements, add);
  });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// The view a message has the shape of.
static ReadOp firstRead(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (auto read = llvm::dyn_cast_or_null<ReadOp>(op))
    return read;
  ReadOp found;
  if (op)
    op->walk([&](ReadOp read) {
      if (!found)
        found = read;
    });
  return found;
}

/// A message of nothing is none here, and one to the queues.
void Builder::requireSome(const Context &context, const ViewRef &view,
                          mlir::Operation *op) {
  for (const Lin &extent : view.extents)
    requireLess(context, Lin(0), extent, "a message may be empty", op);
}

void Builder::send(SendOp op, const Context &context, const Scope &scope) {
  statementOf(op, scope, Statement::Send);
  unsigned index = statementIndex[op];
  ReadOp first = firstRead(op.getValue());
  if (!first || llvm::isa<FoldOp>(op.getValue().getDefiningOp()))
    return stop(op, "a message that is computed when it is sent");
  withView(
      first.getArray(), context, [&](const Context &c, const ViewRef &view) {
        requireSome(c, view, op);
        Context withElements = c;
        defineElements(model.statements[index], view, withElements);
        withInts(op.getPeer(), withElements,
                 [&](const Context &d, llvm::ArrayRef<Lin> peer) {
                   Statement &st = model.statements[index];
                   llvm::SmallVector<Lin> self;
                   for (Var var : scope.process)
                     self.push_back(Lin::of(var));
                   Access access;
                   access.op = op;
                   access.peer.assign(peer.begin(), peer.end());
                   access.at.rank.assign(self.begin(), self.end());
                   access.at.index.assign(view.extents.begin(),
                                          view.extents.end());
                   access.domain = d.domain;
                   st.sends.push_back(access);
                   addReads(op, st, op.getValue(), view, d, &self, false);
                   for (Access &read : st.reads)
                     for (auto [a, b] : llvm::zip_equal(read.at.rank, self))
                       if (!(a == b))
                         return stop(op, "a process that names another's rank");
                 });
      });
}

void Builder::recv(RecvOp op, const Context &context, const Scope &scope) {
  statementOf(op, scope, Statement::Recv);
  unsigned index = statementIndex[op];
  withView(op.getTarget(), context, [&](const Context &c, const ViewRef &view) {
    if (model.arrays[view.array].kind == ArrayInfo::In)
      return stop(op, "a write to an input");
    requireSome(c, view, op);
    Context withElements = c;
    defineElements(model.statements[index], view, withElements);
    withInts(op.getPeer(), withElements,
             [&](const Context &d, llvm::ArrayRef<Lin> peer) {
               Statement &st = model.statements[index];
               st.isReduce = op.getReduce();
               llvm::SmallVector<Lin> self;
               for (Var var : scope.process)
                 self.push_back(Lin::of(var));
               Context here = d;
               Access access;
               access.op = op;
               access.at = elementOf(op, view, self, here, st);
               access.domain = here.domain;
               checkPlace(access.at, here, op);
               st.writes.push_back(access);
               if (st.isReduce) {
                 access.isOld = true;
                 access.operand = ~0u;
                 st.reads.push_back(access);
                 access.isOld = false;
               }
               access.isMessage = true;
               access.operand = 0;
               access.peer.assign(peer.begin(), peer.end());
               access.at.index.assign(view.extents.begin(), view.extents.end());
               st.reads.push_back(access);
             });
  });
}
