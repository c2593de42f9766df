//===- Presburger.cpp - Deciding with MLIR's Presburger library -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file that names the library. Symbols such as N are ordinary
// dimensions here: all questions are about all of their values.
//
// Differences of sets get no existential variables to see: the library takes
// the two bounds of such a variable for the definition of a quotient even where
// they say more, and forgets that part in the complement (seen in LLVM 22: all
// N minus the odd N is nothing). A quotient is determined and always exists, so
// where it is one here, it becomes a dimension, its definition is added to the
// minuend, and the subtrahend is complemented for that quotient. A variable
// that is no quotient cannot be complemented; the answer then is "not a
// subset".
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Affine.h"

#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll::prove;
using namespace mlir::presburger;
using llvm::DynamicAPInt;

static thread_local uint64_t questions = 0;
void coll::prove::resetQuestions() { questions = 0; }
uint64_t coll::prove::questionCount() { return questions; }
bool coll::prove::isExhausted() { return questions > maxQuestions; }

/// Dimensions first, then the existential variables of the system.
static IntegerPolyhedron toPolyhedron(const Conj &conj,
                                      llvm::ArrayRef<Var> dims) {
  llvm::DenseMap<Var, unsigned> column;
  for (auto [i, var] : llvm::enumerate(dims))
    column[var] = i;
  std::vector<Var> vars;
  conj.collectVars(vars);
  unsigned numLocals = 0;
  for (Var var : vars)
    if (column.try_emplace(var, dims.size() + numLocals).second)
      ++numLocals;
  IntegerPolyhedron poly(
      PresburgerSpace::getSetSpace(dims.size(), 0, numLocals));
  llvm::SmallVector<int64_t> row;
  auto rowOf = [&](const Lin &form) -> llvm::ArrayRef<int64_t> {
    row.assign(dims.size() + numLocals + 1, 0);
    for (auto [var, c] : form.getTerms())
      row[column[var]] = c;
    row.back() = form.getConstant();
    return row;
  };
  for (const Lin &form : conj.eqs)
    poly.addEquality(rowOf(form));
  for (const Lin &form : conj.ges)
    poly.addInequality(rowOf(form));
  if (conj.isFalse)
    poly.addInequality(rowOf(Lin(-1)));
  return poly;
}

/// Equalities make most systems small, or false, without the simplex.
static Conj shrunk(Conj conj) {
  std::vector<Var> vars;
  conj.collectVars(vars);
  conj.shrink(vars);
  return conj;
}

bool coll::prove::isEmpty(const Conj &conj) {
  if (conj.isFalse)
    return true;
  Conj small = shrunk(conj);
  if (small.isFalse)
    return true;
  if (small.eqs.empty() && small.ges.empty())
    return false;
  ++questions;
  return !isExhausted() && toPolyhedron(small, {}).isIntegerEmpty();
}

std::optional<std::vector<int64_t>>
coll::prove::sampleOf(const Conj &conj, llvm::ArrayRef<Var> vars) {
  // Equalities first, so that the simplex has little to do.
  Conj small = conj;
  std::vector<Var> all;
  small.collectVars(all);
  Substitution solved;
  llvm::SmallVector<Var> left = small.solve(all, solved);
  if (small.isFalse)
    return std::nullopt;
  ++questions;
  for (Var var : vars)
    if (!llvm::is_contained(all, var))
      left.push_back(var);
  auto sample = toPolyhedron(small, left).findIntegerSample();
  if (!sample)
    return std::nullopt;
  Substitution values;
  for (auto [i, var] : llvm::enumerate(left))
    values.push_back({var, Lin(int64_t((*sample)[i]))});
  for (const auto &[var, form] : solved)
    values.push_back({var, substitute(form, values)});
  std::vector<int64_t> result;
  for (Var var : vars)
    result.push_back(substitute(Lin::of(var), values).getConstant());
  return result;
}

/// Two constraints, one of each, that no point satisfies.
static bool areObviouslyDisjoint(const Conj &a, const Conj &b) {
  auto isOpposite = [](const Lin &x, const Lin &y) {
    return llvm::equal(x.getTerms(), y.getTerms(),
                       [](const auto &s, const auto &t) {
                         return s.first == t.first && s.second == -t.second;
                       });
  };
  for (const Lin &x : a.eqs)
    for (const Lin &y : b.eqs)
      if (x.getTerms() == y.getTerms() && x.getConstant() != y.getConstant())
        return true;
  for (const Lin &x : a.ges)
    for (const Lin &y : b.ges)
      if (x.getConstant() + y.getConstant() < 0 && isOpposite(x, y))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

namespace {
/// A minuend and subtrahends without existential variables.
struct Difference {
  Difference(const Conj &a, llvm::ArrayRef<Var> dims,
             llvm::function_ref<Var()> makeVar)
      : minuend(a), dims(dims), makeVar(makeVar) {}
  /// False: it cannot be complemented.
  bool add(const Conj &b);
  PresburgerSet run() const;
  Conj fromDisjunct(const IntegerRelation &relation) const;

  Conj minuend;
  llvm::SmallVector<Conj> subtrahends;
  llvm::SmallVector<Var> dims;
  llvm::function_ref<Var()> makeVar;
};
} // namespace

/// The quotient that `var` is: e == m var, or 0 <= e - m var <= c < m. What is
/// added to `definition` has exactly one solution for it, whatever e is.
static bool defineQuotient(const Conj &conj, Var var,
                           llvm::ArrayRef<Var> unknown, Conj &definition) {
  auto isOpen = [&](const Lin &form) {
    return llvm::any_of(unknown, [&](Var other) {
      return other != var && form.coefficient(other) != 0;
    });
  };
  for (const Lin &form : conj.eqs) {
    int64_t c = form.coefficient(var);
    if (c == 0 || isOpen(form))
      continue;
    definition.within(c < 0 ? form : -1 * form, Lin(0), Lin(std::abs(c)));
    return true;
  }
  for (const Lin &low : conj.ges) {
    int64_t m = -low.coefficient(var);
    if (m <= 0 || isOpen(low))
      continue;
    for (const Lin &high : conj.ges) {
      Lin sum = low + high;
      if (!sum.isConstant() || sum.getConstant() < 0 || sum.getConstant() >= m)
        continue;
      definition.within(low, Lin(0), Lin(m));
      return true;
    }
  }
  return false;
}

bool Difference::add(const Conj &b) {
  std::vector<Var> vars;
  b.collectVars(vars);
  Substitution renamed;
  llvm::SmallVector<Var> unknown;
  for (Var var : vars)
    if (!llvm::is_contained(dims, var)) {
      unknown.push_back(makeVar());
      renamed.push_back({var, Lin::of(unknown.back())});
    }
  Conj conj = renamed.empty() ? b : b.substituted(renamed);
  conj.project(unknown);
  vars.clear();
  conj.collectVars(vars);
  llvm::erase_if(unknown, [&](Var v) { return !llvm::is_contained(vars, v); });
  llvm::SmallVector<Var> quotients = unknown;
  Conj definition;
  for (bool hasChanged = true; hasChanged && !unknown.empty();) {
    hasChanged = false;
    for (Var *it = unknown.begin(); it != unknown.end(); ++it)
      if (defineQuotient(conj, *it, unknown, definition)) {
        unknown.erase(it);
        hasChanged = true;
        break;
      }
  }
  if (!unknown.empty())
    return false;
  minuend.add(definition);
  dims.append(quotients.begin(), quotients.end());
  subtrahends.push_back(std::move(conj));
  return true;
}

PresburgerSet Difference::run() const {
  // Existential variables of the minuend may as well be dimensions.
  std::vector<Var> vars;
  minuend.collectVars(vars);
  llvm::SmallVector<Var> all(dims);
  for (Var var : vars)
    if (!llvm::is_contained(all, var))
      all.push_back(var);
  PresburgerSet set(toPolyhedron(minuend, all));
  PresburgerSet others =
      PresburgerSet::getEmpty(PresburgerSpace::getSetSpace(all.size()));
  for (const Conj &conj : subtrahends)
    if (!conj.isFalse)
      others.unionInPlace(PresburgerSet(toPolyhedron(conj, all)));
  return set.subtract(others);
}

Conj Difference::fromDisjunct(const IntegerRelation &relation) const {
  std::vector<Var> vars;
  minuend.collectVars(vars);
  llvm::SmallVector<Var> columns(dims);
  for (Var var : vars)
    if (!llvm::is_contained(columns, var))
      columns.push_back(var);
  for (unsigned i = 0; i < relation.getNumLocalVars(); ++i)
    columns.push_back(makeVar());
  auto formOf = [&](llvm::ArrayRef<DynamicAPInt> row) {
    Lin form(int64_t(row.back()));
    for (auto [var, c] : llvm::zip_equal(columns, row.drop_back()))
      form.addScaled(Lin::of(var), int64_t(c));
    return form;
  };
  Conj conj;
  for (unsigned i = 0; i < relation.getNumEqualities(); ++i)
    conj.addEq(formOf(relation.getEquality(i)));
  for (unsigned i = 0; i < relation.getNumInequalities(); ++i)
    conj.addGe(formOf(relation.getInequality(i)));
  return conj;
}

bool coll::prove::isSubset(llvm::ArrayRef<Conj> a, llvm::ArrayRef<Conj> b,
                           llvm::ArrayRef<Var> dims, Conj *witness) {
  Var next = 1u << 30; // of nobody else
  auto makeVar = [&] { return next++; };
  for (const Conj &part : a) {
    if (part.isFalse || llvm::is_contained(b, part) || isEmpty(part))
      continue;
    Difference difference(part, dims, makeVar);
    // Those that the part does not meet need not be subtracted.
    for (const Conj &other : b) {
      if (other.isFalse || areObviouslyDisjoint(part, other))
        continue;
      std::vector<Var> vars;
      other.collectVars(vars);
      bool isOpen = llvm::any_of(
          vars, [&](Var var) { return !llvm::is_contained(dims, var); });
      Conj both = part;
      both.add(other);
      // What cannot be complemented is left out: the answer is "no" more often.
      if (isOpen || !isEmpty(both))
        difference.add(other);
    }
    questions += 1 + difference.subtrahends.size();
    if (isExhausted())
      return false;
    PresburgerSet rest = difference.run();
    for (const IntegerRelation &disjunct : rest.getAllDisjuncts()) {
      if (disjunct.isIntegerEmpty())
        continue;
      if (witness)
        *witness = difference.fromDisjunct(disjunct);
      return false;
    }
  }
  return true;
}

std::optional<Union> coll::prove::subtract(const Conj &a,
                                           llvm::ArrayRef<Conj> b,
                                           llvm::ArrayRef<Var> dims,
                                           llvm::function_ref<Var()> makeVar) {
  Difference difference(a, dims, makeVar);
  for (const Conj &other : b)
    if (!other.isFalse && !difference.add(other))
      return std::nullopt;
  questions += 1 + b.size();
  PresburgerSet rest = difference.run();
  Union result;
  for (const IntegerRelation &disjunct : rest.getAllDisjuncts())
    if (!disjunct.isIntegerEmpty())
      result.push_back(difference.fromDisjunct(disjunct));
  return result;
}
