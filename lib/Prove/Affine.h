//===- Affine.h - Linear forms, conjunctions and unions ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements about integers for all N: linear forms over variables, systems of
// them, and unions of systems. What is decided is decided by MLIR's Presburger
// library; here systems are only put together, and variables are eliminated
// where that is exact.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_PROVE_AFFINE_H
#define COLL_LIB_PROVE_AFFINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coll::prove {

using Var = uint32_t;

/// A linear form with integer coefficients.
class Lin {
public:
  Lin(int64_t constant = 0) : constant(constant) {}
  static Lin of(Var var) {
    Lin lin;
    lin.terms.push_back({var, 1});
    return lin;
  }

  int64_t coefficient(Var var) const;
  bool isConstant() const { return terms.empty(); }
  int64_t getConstant() const { return constant; }
  llvm::ArrayRef<std::pair<Var, int64_t>> getTerms() const { return terms; }
  bool operator==(const Lin &other) const {
    return constant == other.constant && terms == other.terms;
  }
  bool operator<(const Lin &other) const;

  Lin &operator+=(const Lin &other) { return addScaled(other, 1); }
  Lin &operator-=(const Lin &other) { return addScaled(other, -1); }
  Lin &addScaled(const Lin &other, int64_t factor);
  friend Lin operator+(Lin a, const Lin &b) { return a += b; }
  friend Lin operator-(Lin a, const Lin &b) { return a -= b; }
  friend Lin operator*(int64_t factor, const Lin &a) {
    return Lin().addScaled(a, factor);
  }

  Lin substituted(Var var, const Lin &by) const;
  /// Divides by the gcd of the coefficients. An inequality's constant is
  /// rounded down; false: an equality without a solution.
  bool tighten(bool isEquality);

private:
  llvm::SmallVector<std::pair<Var, int64_t>, 4> terms; ///< by variable
  int64_t constant;
};

/// Simultaneous substitution; variables that are not named stay.
using Substitution = llvm::SmallVector<std::pair<Var, Lin>, 6>;
Lin substitute(const Lin &lin, const Substitution &by);

/// A conjunction of `form == 0` and `form >= 0`.
struct Conj {
  std::vector<Lin> eqs, ges;
  bool isFalse = false;

  void equal(const Lin &a, const Lin &b) { addEq(a - b); }
  void lessEqual(const Lin &a, const Lin &b) { addGe(b - a); }
  void less(const Lin &a, const Lin &b) { addGe(b - a - Lin(1)); }
  /// low <= a < high.
  void within(const Lin &a, const Lin &low, const Lin &high) {
    lessEqual(low, a);
    less(a, high);
  }
  void addEq(Lin form);
  void addGe(Lin form);
  void add(const Conj &other);
  Conj substituted(const Substitution &by) const;
  /// By equalities with a coefficient of 1 or -1; what each of `vars` is in
  /// terms of the others goes to `solved`. Returns those that are left.
  llvm::SmallVector<Var> solve(llvm::ArrayRef<Var> vars, Substitution &solved);
  /// As `solve`, then by Fourier-Motzkin where that is exact for integers.
  /// What is left is existential.
  void project(llvm::ArrayRef<Var> vars) { project(vars, maxPairs); }
  /// The same, where that makes the system no larger.
  void shrink(llvm::ArrayRef<Var> vars) { project(vars, 0); }
  void collectVars(std::vector<Var> &vars) const;
  bool operator==(const Conj &other) const {
    return isFalse == other.isFalse && eqs == other.eqs && ges == other.ges;
  }

private:
  void replace(Var var, const Lin &by);
  /// Pairs of bounds that Fourier-Motzkin makes one of.
  static constexpr size_t maxPairs = 64;
  void project(llvm::ArrayRef<Var> vars, size_t limit);
  bool eliminateBounds(Var var, size_t limit);
};

using Union = std::vector<Conj>;

/// No integer point. Exact.
bool isEmpty(const Conj &conj);
/// A point of it: values of the variables asked for.
std::optional<std::vector<int64_t>> sampleOf(const Conj &conj,
                                             llvm::ArrayRef<Var> vars);
/// Whether all of `a` is in `b`, both over `dims`; other variables are
/// existential. "Yes" is exact; "no" also where that cannot be decided. Then
/// `witness` is a part of `a` that was not found in `b`.
bool isSubset(llvm::ArrayRef<Conj> a, llvm::ArrayRef<Conj> b,
              llvm::ArrayRef<Var> dims, Conj *witness = nullptr);
/// a \ b as a union; `makeVar` names existential variables of the result. None
/// if it cannot be computed.
std::optional<Union> subtract(const Conj &a, llvm::ArrayRef<Conj> b,
                              llvm::ArrayRef<Var> dims,
                              llvm::function_ref<Var()> makeVar);
/// The same set in fewer systems: none is empty, none covers another.
Union simplified(llvm::ArrayRef<Conj> conjs, llvm::ArrayRef<Var> dims);

std::string print(const Lin &lin, llvm::function_ref<std::string(Var)> name);
std::string print(const Conj &conj, llvm::function_ref<std::string(Var)> name);

/// Coefficients beyond this end a proof as undecided, before they could wrap.
constexpr int64_t maxCoefficient = int64_t(1) << 40;
/// Whether one was met since the last call.
bool hasOverflowed();

/// Questions to the library that one proof may ask. Beyond them every system
/// counts as satisfiable, so nothing is proved.
constexpr uint64_t maxQuestions = 30'000;
void resetQuestions();
bool isExhausted();
uint64_t questionCount();

} // namespace coll::prove
#endif // COLL_LIB_PROVE_AFFINE_H
