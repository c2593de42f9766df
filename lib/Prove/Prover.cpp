//===- Prover.cpp - The course of a proof ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Prove/Prover.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

void Prover::stop(mlir::Operation *op, const std::string &why,
                  const Conj *witness) {
  if (failed())
    return;
  obstacle = Obstacle{why, op};
  if (witness)
    suspect = sampleOf(*witness, model.ranks);
}

Substitution Prover::renaming(const Conj &conj, llvm::ArrayRef<Var> keep,
                              llvm::ArrayRef<Var> also) {
  std::vector<Var> vars(also.begin(), also.end());
  conj.collectVars(vars);
  Substitution by;
  for (Var var : vars)
    if (!isSymbol(var) && !llvm::is_contained(keep, var))
      by.push_back({var, Lin::of(fresh(nameOf(var) + "'"))});
  return by;
}

Substitution Prover::identity(llvm::ArrayRef<Var> vars) const {
  Substitution by;
  for (Var var : vars)
    by.push_back({var, Lin::of(var)});
  return by;
}

llvm::SmallVector<Var> Prover::dimsOf(const Statement &st,
                                      llvm::ArrayRef<Var> more) const {
  llvm::SmallVector<Var> dims(symbols);
  dims.append(st.vars.begin(), st.vars.end());
  for (Var var : more)
    if (!llvm::is_contained(dims, var))
      dims.push_back(var);
  return dims;
}

void Prover::mustBeEmpty(const Conj &conj, const std::string &why,
                         mlir::Operation *op) {
  if (!failed() && !isEmpty(conj))
    stop(op, why, &conj);
}

void Prover::setLeaf(Conj &conj, const Location &at) const {
  conj.equal(Lin::of(leafArray), Lin(at.array));
  for (auto [i, var] : llvm::enumerate(leafIndex))
    conj.equal(Lin::of(var), i < at.index.size() ? at.index[i] : Lin(0));
  for (auto [var, rank] : llvm::zip_equal(leafRank, at.rank))
    conj.equal(Lin::of(var), rank);
}

bool Prover::run() {
  if (model.obstacle) {
    obstacle = model.obstacle;
    return false;
  }
  std::vector<Var> global(model.ranks.begin(), model.ranks.end());
  for (const Conj &conj : model.domain)
    conj.collectVars(global);
  symbol.resize(model.varNames.size());
  for (Var var : global)
    symbol[var] = true;
  symbols.assign(global.begin(), global.end());
  for (const Violation &violation : model.violations)
    stop(violation.op, violation.what, &violation.domain);

  size_t numIndexes = 0;
  for (const ArrayInfo &array : model.arrays)
    if (array.kind == ArrayInfo::In) {
      numIndexes = std::max(numIndexes, array.dims.size());
      numChunkDims = array.dims.size() - array.numPartDims;
    }
  leafArray = fresh("array");
  leafVars.push_back(leafArray);
  for (size_t i = 0; i < numIndexes; ++i)
    leafVars.push_back(leafIndex.emplace_back(fresh("c" + std::to_string(i))));
  for (size_t i = 0; i < model.ranks.size(); ++i)
    leafVars.push_back(leafRank.emplace_back(fresh("q" + std::to_string(i))));

  size_t n = model.statements.size();
  pieces.resize(n);
  values.resize(n);
  matchMessages();
  for (unsigned i = 0; i < n && !failed(); ++i)
    findSources(i);
  solveValues();
  for (unsigned i = 0; i < n && !failed(); ++i) {
    checkFolds(i);
    checkDisjoint(i);
    checkExtents(i);
    checkSizes(i);
    checkGroup(i);
    checkMembers(i);
    if (model.statements[i].kind == Statement::Ensure)
      checkEnsure(i);
  }
  if (!failed() && hasOverflowed())
    stop(model.statements.empty() ? nullptr : model.statements[0].op,
         "coefficients that are too large");
  if (!failed() && isExhausted())
    stop(model.statements[0].op, "more questions than are asked");
  return !failed();
}

/// "in[c0]@q0", with one variable for each dimension.
std::string Prover::leafText() const {
  auto list = [&](llvm::ArrayRef<Var> vars) {
    std::string text;
    for (Var var : vars)
      text += (text.empty() ? "" : ", ") + nameOf(var);
    return text;
  };
  std::string name;
  for (const ArrayInfo &array : model.arrays)
    if (array.kind == ArrayInfo::In)
      name += (name.empty() ? "" : "|") + array.name;
  if (!leafIndex.empty())
    name += "[" + list(leafIndex) + "]";
  return name + (leafRank.size() == 1 ? "@" + list(leafRank)
                                      : "@(" + list(leafRank) + ")");
}

static unsigned lineOf(mlir::Operation *op) {
  unsigned line = 0;
  op->getLoc()->walk([&](mlir::Location location) {
    if (auto at = llvm::dyn_cast<mlir::FileLineColRange>(location)) {
      line = at.getStartLine();
      return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return line;
}

std::vector<std::string> Prover::invariants() const {
  std::vector<std::string> lines;
  auto name = [&](Var var) { return nameOf(var); };
  for (auto [i, st] : llvm::enumerate(model.statements)) {
    if (values.empty() || st.kind == Statement::Ensure || !values[i] ||
        st.writes.empty())
      continue;
    for (const Conj &value : *values[i]) {
      Conj conj = value; // which array is told by the leaf's name
      llvm::erase_if(conj.eqs, [&](const Lin &form) {
        return form.coefficient(leafArray) != 0;
      });
      lines.push_back("line " + std::to_string(lineOf(st.op)) + ": " +
                      model.arrays[st.writes[0].at.array].name + " has " +
                      leafText() + " where " + print(conj, name));
    }
  }
  return lines;
}
