//===- Affine.cpp - Linear forms, conjunctions and unions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Prove/Affine.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace coll::prove;

/// A proof runs in one thread; whatever overflowed is undecided.
static thread_local bool overflowed = false;

bool coll::prove::hasOverflowed() { return std::exchange(overflowed, false); }

static int64_t checked(int64_t value) {
  if (value > maxCoefficient || value < -maxCoefficient)
    overflowed = true;
  // Products of two such values stay within 64 bits times a few: clamp.
  return std::clamp(value, -maxCoefficient, maxCoefficient);
}

static int64_t product(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) {
    overflowed = true;
    return 0;
  }
  return checked(result);
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

int64_t Lin::coefficient(Var var) const {
  for (auto [v, c] : terms)
    if (v == var)
      return c;
  return 0;
}

bool Lin::operator<(const Lin &other) const {
  return std::tie(terms, constant) < std::tie(other.terms, other.constant);
}

Lin &Lin::addScaled(const Lin &other, int64_t factor) {
  llvm::SmallVector<std::pair<Var, int64_t>, 4> sum;
  const auto *a = terms.begin(), *b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) {
      sum.push_back(*a++);
      continue;
    }
    int64_t c = product(b->second, factor);
    Var var = b++->first;
    if (a != terms.end() && a->first == var)
      c = checked(c + a++->second);
    if (c != 0)
      sum.push_back({var, c});
  }
  terms = std::move(sum);
  constant = checked(constant + product(other.constant, factor));
  return *this;
}

Lin Lin::substituted(Var var, const Lin &by) const {
  int64_t c = coefficient(var);
  if (c == 0)
    return *this;
  Lin result = *this;
  result.addScaled(Lin::of(var), -c);
  return result.addScaled(by, c);
}

bool Lin::tighten(bool isEquality) {
  int64_t gcd = 0;
  for (auto [v, c] : terms)
    gcd = std::gcd(gcd, c);
  if (gcd <= 1)
    return true;
  if (isEquality && constant % gcd != 0)
    return false;
  for (auto &[v, c] : terms)
    c /= gcd;
  int64_t quotient = constant / gcd;
  if (constant % gcd < 0)
    --quotient;
  constant = quotient;
  return true;
}

Lin coll::prove::substitute(const Lin &lin, const Substitution &by) {
  Lin result(lin.getConstant());
  for (auto [var, c] : lin.getTerms()) {
    const auto *it = llvm::find_if(
        by, [v = var](const auto &entry) { return entry.first == v; });
    result.addScaled(it == by.end() ? Lin::of(var) : it->second, c);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Conjunctions
//===----------------------------------------------------------------------===//

void Conj::addEq(Lin form) {
  if (form.isConstant()) {
    isFalse |= form.getConstant() != 0;
    return;
  }
  isFalse |= !form.tighten(true);
  if (form.getTerms()[0].second < 0)
    form = -1 * form;
  if (!llvm::is_contained(eqs, form))
    eqs.push_back(std::move(form));
}

void Conj::addGe(Lin form) {
  if (form.isConstant()) {
    isFalse |= form.getConstant() < 0;
    return;
  }
  form.tighten(false);
  for (Lin &other : ges)
    if (other.getTerms() == form.getTerms()) {
      if (form.getConstant() < other.getConstant())
        other = form;
      return;
    }
  ges.push_back(std::move(form));
}

void Conj::add(const Conj &other) {
  isFalse |= other.isFalse;
  for (const Lin &form : other.eqs)
    addEq(form);
  for (const Lin &form : other.ges)
    addGe(form);
}

Conj Conj::substituted(const Substitution &by) const {
  Conj result;
  result.isFalse = isFalse;
  for (const Lin &form : eqs)
    result.addEq(substitute(form, by));
  for (const Lin &form : ges)
    result.addGe(substitute(form, by));
  return result;
}

void Conj::replace(Var var, const Lin &by) {
  std::vector<Lin> oldEqs = std::move(eqs), oldGes = std::move(ges);
  eqs.clear();
  ges.clear();
  for (const Lin &form : oldEqs)
    addEq(form.substituted(var, by));
  for (const Lin &form : oldGes)
    addGe(form.substituted(var, by));
}

llvm::SmallVector<Var> Conj::solve(llvm::ArrayRef<Var> vars,
                                   Substitution &solved) {
  llvm::SmallVector<Var> left(vars);
  for (bool changed = true; changed;) {
    changed = false;
    for (Var *it = left.begin(); it != left.end(); ++it) {
      Var var = *it;
      auto form = llvm::find_if(
          eqs, [&](const Lin &f) { return std::abs(f.coefficient(var)) == 1; });
      if (form == eqs.end())
        continue;
      int64_t c = form->coefficient(var);
      // c var + rest == 0
      Lin by = -c * (*form - c * Lin::of(var));
      replace(var, by);
      for (auto &entry : solved)
        entry.second = entry.second.substituted(var, by);
      solved.push_back({var, by});
      left.erase(it);
      changed = true;
      break;
    }
  }
  return left;
}

/// Exact if each pair of a lower and an upper bound has a coefficient of 1.
bool Conj::eliminateBounds(Var var, size_t limit) {
  for (const Lin &form : eqs)
    if (form.coefficient(var) != 0)
      return false;
  llvm::SmallVector<const Lin *> lower, upper;
  bool lowerUnit = true, upperUnit = true;
  for (const Lin &form : ges) {
    int64_t c = form.coefficient(var);
    if (c > 0) {
      lower.push_back(&form);
      lowerUnit &= c == 1;
    } else if (c < 0) {
      upper.push_back(&form);
      upperUnit &= c == -1;
    }
  }
  if (!(lowerUnit || upperUnit) ||
      lower.size() * upper.size() >
          std::max(limit, lower.size() + upper.size()))
    return false;
  Conj result;
  result.isFalse = isFalse;
  result.eqs = eqs;
  for (const Lin &form : ges)
    if (form.coefficient(var) == 0)
      result.addGe(form);
  for (const Lin *low : lower)
    for (const Lin *high : upper)
      result.addGe(-high->coefficient(var) * *low +
                   low->coefficient(var) * *high);
  *this = std::move(result);
  return true;
}

void Conj::project(llvm::ArrayRef<Var> vars, size_t limit) {
  Substitution unused;
  llvm::SmallVector<Var> left = solve(vars, unused);
  for (Var var : left)
    eliminateBounds(var, limit);
}

void Conj::collectVars(std::vector<Var> &vars) const {
  for (const std::vector<Lin> *forms : {&eqs, &ges})
    for (const Lin &form : *forms)
      for (auto [var, c] : form.getTerms())
        vars.push_back(var);
  llvm::sort(vars);
  vars.erase(llvm::unique(vars), vars.end());
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string coll::prove::print(const Lin &lin,
                               llvm::function_ref<std::string(Var)> name) {
  std::string text;
  for (auto [var, c] : lin.getTerms()) {
    text += c < 0 ? (text.empty() ? "-" : " - ") : text.empty() ? "" : " + ";
    if (std::abs(c) != 1)
      text += std::to_string(std::abs(c)) + " ";
    text += name(var);
  }
  int64_t k = lin.getConstant();
  if (text.empty())
    return std::to_string(k);
  if (k != 0)
    text += (k < 0 ? " - " : " + ") + std::to_string(std::abs(k));
  return text;
}

/// "a >= b" with positive coefficients on both sides.
static std::string printRelation(const Lin &form, const char *relation,
                                 llvm::function_ref<std::string(Var)> name) {
  Lin left, right;
  for (auto [var, c] : form.getTerms())
    (c > 0 ? left : right).addScaled(Lin::of(var), std::abs(c));
  int64_t k = form.getConstant();
  (k > 0 ? left : right) += Lin(std::abs(k));
  return print(left, name) + relation + print(right, name);
}

std::string coll::prove::print(const Conj &conj,
                               llvm::function_ref<std::string(Var)> name) {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : ", ") + part;
  };
  for (const Lin &form : conj.eqs)
    add(printRelation(form, " == ", name));
  for (const Lin &form : conj.ges)
    add(printRelation(form, " >= ", name));
  return conj.isFalse ? "false" : text.empty() ? "true" : text;
}
