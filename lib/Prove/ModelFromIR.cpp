//===- ModelFromIR.cpp - The frame of a schedule, symbolically ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank space, parameters, buffers and the contract.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

void Builder::stop(mlir::Operation *op, const std::string &why) {
  if (!model.obstacle)
    model.obstacle = Obstacle{why, op};
}

Var Builder::varOf(mlir::Operation *op, unsigned index,
                   const std::string &name) {
  auto [it, isNew] = vars.try_emplace({op, index}, 0);
  if (isNew)
    it->second = model.makeVar(name);
  return it->second;
}

void Builder::require(const Context &context, const Union &condition,
                      const std::string &what, mlir::Operation *op) {
  if (failed())
    return;
  std::vector<Var> dims;
  context.domain.collectVars(dims);
  for (const Conj &conj : condition)
    conj.collectVars(dims);
  Conj witness;
  if (!isSubset(context.domain, condition, dims, &witness))
    model.violations.push_back({std::move(witness), what, op});
}

void Builder::requireLess(const Context &context, const Lin &a, const Lin &b,
                          const std::string &what, mlir::Operation *op) {
  addCase(
      context, [&](Conj &c) { c.lessEqual(b, a); },
      [&](const Context &c) {
        model.violations.push_back({c.domain, what, op});
      });
}

void Builder::withLoop(mlir::Operation *op, const Context &context,
                       llvm::function_ref<void(const Context &, Var)> then) {
  auto loop = llvm::cast<mlir::scf::ForOp>(op);
  withInts({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
           context, [&](const Context &c, llvm::ArrayRef<Lin> bounds) {
             if (!bounds[2].isConstant() || bounds[2].getConstant() <= 0)
               return stop(op, "a loop whose step is a variable");
             int64_t step = bounds[2].getConstant();
             static const char *const names = "ijklmnuvwxyz";
             std::string name(1, names[model.varNames.size() % 12]);
             Var var = varOf(op, 0, name + std::to_string(vars.size()));
             Lin value = bounds[0] + step * Lin::of(var);
             if (step == 1 && bounds[0].isConstant() &&
                 bounds[0].getConstant() == 0)
               value = Lin::of(var);
             // With another step or start, the variable counts iterations.
             addCase(
                 c,
                 [&](Conj &conj) {
                   conj.lessEqual(Lin(0), Lin::of(var));
                   conj.less(value, bounds[1]);
                 },
                 [&](const Context &d) {
                   Context next = d;
                   next.ints[loop.getInductionVar()] = value;
                   then(next, var);
                 });
           });
}

/// Loops and conditions around the ops that list something.
void Builder::walkList(
    mlir::Block &block, const Context &context, llvm::SmallVector<Var> around,
    bool isFold,
    llvm::function_ref<void(const Context &, mlir::Operation *,
                            llvm::ArrayRef<Var>)>
        then) {
  for (mlir::Operation &op : block) {
    if (failed())
      return;
    if (llvm::isa<mlir::scf::ForOp>(op)) {
      withLoop(&op, context, [&](const Context &c, Var var) {
        llvm::SmallVector<Var> next = around;
        next.push_back(var);
        walkList(op.getRegion(0).front(), c, next, isFold, then);
      });
    } else if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op)) {
      withBool(branch.getCondition(), context,
               [&](const Context &c, bool isTrue) {
                 mlir::Region &region =
                     isTrue ? branch.getThenRegion() : branch.getElseRegion();
                 if (!region.empty())
                   walkList(region.front(), c, around, isFold, then);
               });
    } else if (isFold ? llvm::isa<OperandOp>(op) : llvm::isa<MemberOp>(op)) {
      then(context, &op, around);
    }
  }
}

void Builder::listMembers(mlir::Region &region, const Context &context,
                          WithMember then) {
  walkList(
      region.front(), context, {}, false,
      [&](const Context &c, mlir::Operation *op, llvm::ArrayRef<Var> around) {
        withInts(op->getOperands(), c,
                 [&](const Context &d, llvm::ArrayRef<Lin> coords) {
                   then(d, coords, around);
                 });
      });
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// At least two ranks; each extent of a grid is at least 1.
std::vector<Context> Builder::start() {
  Context context;
  Lin sum;
  mlir::Block &body = schedule.getBody().front();
  size_t numDims = body.getNumArguments();
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    std::string name =
        llvm::cast<mlir::StringAttr>(schedule.getRankNames()[i]).str();
    Var var = model.makeVar(name);
    model.ranks.push_back(var);
    context.ints[argument] = Lin::of(var);
    context.domain.lessEqual(Lin(1), Lin::of(var));
    sum += Lin::of(var);
  }
  context.domain.lessEqual(Lin(int64_t(numDims) + 1), sum);
  for (const auto &[form, divisor] : quotientsOfN) {
    Lin q = Lin::of(model.makeVar("h" + std::to_string(model.varNames.size())));
    context.domain.within(Lin(form).addScaled(q, -divisor), Lin(0),
                          Lin(divisor));
    context.quotients.push_back({{form, Lin(divisor)}, q});
  }
  numStartVars = model.varNames.size();
  return {context};
}

void Builder::param(ParamOp op, std::vector<Context> &contexts) {
  auto it = llvm::find_if(options.defines, [&](const auto &define) {
    return define.first == op.getName();
  });
  std::vector<Context> next;
  for (Context &context : contexts) {
    if (it != options.defines.end()) {
      context.ints[op.getResult()] = Lin(it->second);
      next.push_back(context);
    } else if (op.getDefaultValue()) {
      withInt(op.getDefaultValue(), context,
              [&](const Context &c, const Lin &value) {
                Context known = c;
                known.ints[op.getResult()] = value;
                next.push_back(known);
              });
    } else {
      stop(op, "parameter '" + op.getName().str() + "' has no value");
    }
  }
  contexts = std::move(next);
}

/// One member for each value of the domain; all are proved at once.
void Builder::launch(LaunchOp op, std::vector<Context> &contexts) {
  auto define = llvm::find_if(options.defines, [&](const auto &entry) {
    return entry.first == op.getName();
  });
  std::vector<Context> next;
  for (const Context &context : contexts)
    listMembers(op.getDomain(), context,
                [&](const Context &c, llvm::ArrayRef<Lin> coords,
                    llvm::ArrayRef<Var> around) {
                  if (coords.size() != op.getCoords().size())
                    return stop(op, "a domain of another kind");
                  if (define != options.defines.end() && coords.size() != 1)
                    return stop(op,
                                "a rank of a grid given on the command line");
                  Context member = c;
                  for (auto [i, coord] : llvm::enumerate(coords)) {
                    std::string name = op.getName().str();
                    if (coords.size() > 1)
                      name += std::to_string(i);
                    Lin var = Lin::of(varOf(op, i, name));
                    member.domain.equal(var, coord);
                    if (define != options.defines.end())
                      member.domain.equal(var, Lin(define->second));
                    member.ints[op.getCoords()[i]] = var;
                  }
                  member.domain.project(around);
                  next.push_back(member);
                });
  contexts = std::move(next);
}

void Builder::where(WhereOp op, std::vector<Context> &contexts) {
  std::vector<Context> next;
  for (const Context &context : contexts)
    withBool(op.getCondition(), context, [&](const Context &c, bool isTrue) {
      if (isTrue)
        next.push_back(c);
    });
  contexts = std::move(next);
  model.symbolText.push_back(op.getText().str());
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

bool Builder::dimsOf(mlir::Operation *op, mlir::ValueRange values,
                     const Context &context, llvm::SmallVectorImpl<Lin> &dims) {
  unsigned numContexts = 0;
  withInts(values, context, [&](const Context &c, llvm::ArrayRef<Lin> ints) {
    for (const Lin &dim : ints)
      requireLess(c, Lin(0), dim, "an extent may not be positive", op);
    ++numContexts;
    dims.append(ints.begin(), ints.end());
  });
  if (!failed() && numContexts != 1)
    stop(op, "extents that are not affine");
  return !failed();
}

void Builder::buffer(BufferOp op, const std::vector<Context> &contexts) {
  ArrayInfo array;
  array.name = op.getName().str();
  array.op = op;
  if (op.getKind() == BufferKind::In)
    array.kind = ArrayInfo::In;
  else if (op.getKind() == BufferKind::Out)
    array.kind = ArrayInfo::Out;
  else
    return stop(op, "arguments of functions");
  // Every context has the same forms, or the extents fork.
  const Context &context = contexts.front();
  if (!dimsOf(op, op.getParts(), context, array.dims))
    return;
  array.numPartDims = array.dims.size();
  for (ChunksOp chunks : schedule.getBody().front().getOps<ChunksOp>())
    if (!dimsOf(op, chunks.getDims(), context, array.dims))
      return;
  for (size_t i = 0; i < model.ranks.size(); ++i)
    array.rankVars.push_back(model.makeVar("r" + std::to_string(i)));
  auto addPresence = [&](const Context &c, llvm::ArrayRef<Lin> coords,
                         llvm::ArrayRef<Var> around) {
    Conj conj = c.domain;
    for (auto [var, coord] : llvm::zip_equal(array.rankVars, coords))
      conj.equal(Lin::of(var), coord);
    conj.project(around);
    array.presence.push_back(conj);
  };
  for (const Context &c : contexts) {
    if (!op.getAt().empty()) {
      array.isEverywhere = false;
      withInts(op.getAt(), c, [&](const Context &d, llvm::ArrayRef<Lin> at) {
        addPresence(d, at, {});
      });
    } else if (!op.getMembers().empty()) {
      array.isEverywhere = false;
      listMembers(op.getMembers(), c, addPresence);
    } else {
      Conj conj = c.domain;
      for (auto [var, extent] : llvm::zip_equal(array.rankVars, model.ranks))
        conj.within(Lin::of(var), Lin(0), Lin::of(extent));
      array.presence.push_back(conj);
    }
  }
  arrayOf[op] = model.arrays.size();
  model.arrays.push_back(std::move(array));
}

void Builder::tmp(TmpOp op, const Context &context) {
  if (arrayOf.contains(op))
    return; // in another context of the same loops
  ArrayInfo array;
  array.name = op.getName().str();
  array.op = op;
  if (!dimsOf(op, op.getDims(), context, array.dims))
    return;
  for (mlir::Operation *up = op->getParentOp(); up != schedule;
       up = up->getParentOp()) {
    if (llvm::isa<OnOp>(up))
      return stop(op, "a tmp in a process");
    if (llvm::isa<mlir::scf::ForOp>(up))
      array.hidden.push_back(vars.lookup({up, 0}));
  }
  for (const Lin &dim : array.dims)
    for (auto [var, c] : dim.getTerms())
      if (llvm::is_contained(array.hidden, var))
        return stop(op, "a tmp whose extents change in a loop");
  Conj conj;
  for (Var extent : model.ranks) {
    array.rankVars.push_back(model.makeVar("r"));
    conj.within(Lin::of(array.rankVars.back()), Lin(0), Lin::of(extent));
  }
  array.presence.push_back(conj);
  arrayOf[op] = model.arrays.size();
  model.arrays.push_back(std::move(array));
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

void Builder::sizeOf(SizeOfOp op, const Context &context) {
  withView(op.getArray(), context, [&](const Context &c, const ViewRef &view) {
    ArrayInfo &array = model.arrays[view.array];
    SizeClause clause;
    clause.array = view.array;
    mlir::Operation *size = op.getSize().getDefiningOp();
    if (auto count = llvm::dyn_cast_or_null<CountOp>(size))
      clause.symbol = count.getName().str();
    withInts(
        size->getOperands(), c,
        [&](const Context &d, llvm::ArrayRef<Lin> index) {
          withInts(
              op.getAt(), d, [&](const Context &e, llvm::ArrayRef<Lin> at) {
                SizeClause part = clause;
                Conj conj = e.domain;
                std::vector<Var> local;
                conj.collectVars(local);
                for (size_t i = 0; i < array.numPartDims; ++i) {
                  part.partVars.push_back(
                      model.makeVar("p" + std::to_string(i)));
                  const ViewDim &dim = view.dims[i];
                  Lin value = dim.offset;
                  if (dim.viewDim >= 0) {
                    Var element = model.makeVar("e");
                    conj.within(Lin::of(element), Lin(0),
                                view.extents[dim.viewDim]);
                    value.addScaled(Lin::of(element), dim.step);
                  }
                  conj.equal(Lin::of(part.partVars.back()), value);
                }
                for (auto [i, extent] : llvm::enumerate(model.ranks)) {
                  part.rankVars.push_back(
                      model.makeVar("r" + std::to_string(i)));
                  Lin var = Lin::of(part.rankVars.back());
                  if (at.empty())
                    conj.within(var, Lin(0), Lin::of(extent));
                  else
                    conj.equal(var, at[i]);
                }
                for (const Lin &lin : index) {
                  Var var =
                      model.makeVar("n" + std::to_string(part.index.size()));
                  conj.equal(Lin::of(var), lin);
                  part.index.push_back(Lin::of(var));
                }
                part.domain.push_back(conj);
                model.sizes.push_back(std::move(part));
              });
        });
  });
}

void Builder::promise(PromiseOp op, const std::vector<Context> &contexts) {
  Scope scope;
  scope.inPromise = true;
  for (const Context &context : contexts)
    execute(op.getBody().front(), context, scope);
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

bool Builder::frameOp(mlir::Operation *op, std::vector<Context> &contexts) {
  if (auto it = llvm::dyn_cast<ParamOp>(op))
    param(it, contexts);
  else if (auto it = llvm::dyn_cast<LaunchOp>(op))
    launch(it, contexts);
  else if (auto it = llvm::dyn_cast<WhereOp>(op))
    where(it, contexts);
  else if (auto it = llvm::dyn_cast<BufferOp>(op))
    buffer(it, contexts);
  else if (auto it = llvm::dyn_cast<PromiseOp>(op))
    promise(it, contexts);
  else
    return llvm::isa<ChunksOp, DirectiveOp, MappingOp>(op);
  return true;
}

/// Each quotient of N that turns up starts the run anew, with that quotient
/// known in every context.
Model Builder::build() {
  constexpr size_t maxQuotients = 4;
  for (;;) {
    newQuotient.reset();
    buildOnce();
    if (!newQuotient || quotientsOfN.size() == maxQuotients)
      break;
    quotientsOfN.push_back(*newQuotient);
    model = Model();
    vars.clear();
    arrayOf.clear();
    regionOf.clear();
    statementIndex.clear();
    operandOf.clear();
    numCases = 0;
  }
  if (newQuotient)
    model.obstacle->why = "too many quotients of the number of ranks";
  return std::move(model);
}

void Builder::buildOnce() {
  std::vector<Context> contexts = start();
  mlir::Block &body = schedule.getBody().front();
  int pos = 0;
  for (mlir::Operation &op : body) {
    if (failed() || contexts.empty())
      break;
    if (frameOp(&op, contexts)) {
      if (llvm::isa<WhereOp, LaunchOp>(op)) {
        model.domain.clear();
        for (const Context &context : contexts)
          model.domain.push_back(context.domain);
      }
      continue;
    }
    Scope scope;
    scope.path.push_back({pos++, {}, false});
    for (const Context &context : contexts)
      executeOp(&op, context, scope);
  }
  if (contexts.empty())
    stop(schedule, "'where' leaves nothing to prove");
  if (model.domain.empty())
    for (const Context &context : contexts)
      model.domain.push_back(context.domain);
  if (hasOverflowed())
    stop(schedule, "coefficients that are too large");
}

Model coll::prove::modelOf(ScheduleOp schedule, const ModelOptions &options) {
  hasOverflowed();
  return Builder(schedule, options).build();
}
