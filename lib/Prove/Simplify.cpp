//===- Simplify.cpp - The same union with few systems ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases multiply: what three cases of a write and four of a read give is often
// one interval, in twelve parts. As in the minimization of two-level logic,
// each system is expanded, constraint by constraint, as long as it stays within
// the union, and then takes in those that it covers. Every step is decided, so
// the set stays the same.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Affine.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll::prove;

namespace {
struct Part {
  Conj conj;
  std::vector<int64_t> sample; ///< of `dims`
  bool isOpen = false;         ///< has existential variables
  size_t number = 0;           ///< in the order of the input
};

class Simplifier {
public:
  explicit Simplifier(llvm::ArrayRef<Var> dims) : dims(dims) {}
  Union run(llvm::ArrayRef<Conj> conjs);

private:
  int64_t valueAt(const Lin &form, const std::vector<int64_t> &sample) const;
  bool implies(const Part &part, const Lin &form) const;
  bool contains(const Part &big, const Part &small) const;
  bool isInUnion(const Conj &conj, size_t but) const;
  bool isAt(const Conj &conj, const std::vector<int64_t> &sample) const;
  void expand(size_t index);
  void splitEqualities(size_t index);
  void absorb(size_t index);

  llvm::ArrayRef<Var> dims;
  std::vector<Part> parts;
};
} // namespace

int64_t Simplifier::valueAt(const Lin &form,
                            const std::vector<int64_t> &sample) const {
  int64_t value = form.getConstant();
  for (auto [var, c] : form.getTerms())
    value += c * sample[llvm::find(dims, var) - dims.begin()];
  return value;
}

/// form >= 0 wherever the part is.
bool Simplifier::implies(const Part &part, const Lin &form) const {
  for (const Lin &known : part.conj.ges)
    if (known.getTerms() == form.getTerms() &&
        known.getConstant() <= form.getConstant())
      return true;
  if (valueAt(form, part.sample) < 0)
    return false;
  Conj outside = part.conj;
  outside.less(form, Lin(0));
  return isEmpty(outside);
}

bool Simplifier::contains(const Part &big, const Part &small) const {
  if (big.isOpen)
    return false;
  for (const Lin &form : big.conj.eqs) {
    if (llvm::is_contained(small.conj.eqs, form))
      continue;
    if (valueAt(form, small.sample) != 0 || !implies(small, form) ||
        !implies(small, -1 * form))
      return false;
  }
  return llvm::all_of(big.conj.ges,
                      [&](const Lin &form) { return implies(small, form); });
}

bool Simplifier::isAt(const Conj &conj,
                      const std::vector<int64_t> &sample) const {
  return llvm::all_of(conj.eqs,
                      [&](const Lin &f) { return valueAt(f, sample) == 0; }) &&
         llvm::all_of(conj.ges,
                      [&](const Lin &f) { return valueAt(f, sample) >= 0; });
}

/// `conj` has a point, and all of them are in the union.
bool Simplifier::isInUnion(const Conj &conj, size_t but) const {
  auto sample = sampleOf(conj, dims);
  if (!sample)
    return false;
  // Mostly one point tells that it is not.
  bool isFound = false;
  for (size_t i = 0; i < parts.size() && !isFound; ++i)
    isFound = i != but && (parts[i].isOpen || isAt(parts[i].conj, *sample));
  if (!isFound)
    return false;
  Union others;
  for (size_t i = 0; i < parts.size(); ++i)
    if (i != but)
      others.push_back(parts[i].conj);
  return isSubset(conj, others, dims);
}

static Conj without(const Conj &conj, size_t ge) {
  Conj rest = conj;
  rest.ges.erase(rest.ges.begin() + ge);
  return rest;
}

/// Drops constraints, or moves them by one, while nothing new comes in.
void Simplifier::expand(size_t index) {
  Part &part = parts[index];
  for (size_t i = part.conj.ges.size(); i-- > 0;) {
    Conj rest = without(part.conj, i);
    Lin form = part.conj.ges[i];
    Conj next = rest;
    next.equal(form, Lin(-1));
    // A constraint that is implied, or one that others carry on.
    Conj beyond = rest;
    beyond.less(form, Lin(0));
    if (isEmpty(beyond)) {
      part.conj = rest;
      continue;
    }
    if (!isInUnion(next, index))
      continue;
    if (isInUnion(beyond, index)) {
      part.conj = rest;
      continue;
    }
    rest.lessEqual(Lin(-1), form);
    part.conj = rest;
  }
}

/// An equality is two inequalities, one of which may go.
void Simplifier::splitEqualities(size_t index) {
  Part &part = parts[index];
  for (size_t i = part.conj.eqs.size(); i-- > 0;) {
    Lin form = part.conj.eqs[i];
    for (int64_t sign : {1, -1}) {
      Conj rest = part.conj;
      rest.eqs.erase(rest.eqs.begin() + i);
      Conj next = rest;
      next.equal(sign * form, Lin(1));
      if (!isInUnion(next, index))
        continue;
      rest.lessEqual(Lin(0), sign * form);
      rest.lessEqual(sign * form, Lin(1));
      part.conj = rest;
      break;
    }
  }
}

void Simplifier::absorb(size_t index) {
  Part big = parts[index];
  std::vector<Part> kept;
  for (size_t i = 0; i < parts.size(); ++i)
    if (i == index || !contains(big, parts[i]))
      kept.push_back(std::move(parts[i]));
  parts = std::move(kept);
}

Union Simplifier::run(llvm::ArrayRef<Conj> conjs) {
  for (Conj conj : conjs) {
    std::vector<Var> vars;
    conj.collectVars(vars);
    llvm::erase_if(vars, [&](Var v) { return llvm::is_contained(dims, v); });
    conj.project(vars);
    auto sample = sampleOf(conj, dims);
    if (!sample)
      continue;
    Part part{conj, *sample, false, parts.size()};
    vars.clear();
    conj.collectVars(vars);
    part.isOpen =
        llvm::any_of(vars, [&](Var v) { return !llvm::is_contained(dims, v); });
    if (!llvm::any_of(parts,
                      [&](const Part &old) { return old.conj == part.conj; }))
      parts.push_back(std::move(part));
  }
  // Large ones first.
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return std::pair(a.conj.eqs.size(), a.number) <
           std::pair(b.conj.eqs.size(), b.number);
  });
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].isOpen)
      continue;
    size_t before = parts.size();
    std::vector<int64_t> sample = parts[i].sample;
    splitEqualities(i);
    expand(i);
    absorb(i);
    if (parts.size() != before) // those before it may be gone
      i = llvm::find_if(parts,
                        [&](const Part &p) { return p.sample == sample; }) -
          parts.begin();
  }
  Union result;
  for (Part &part : parts)
    result.push_back(std::move(part.conj));
  return result;
}

Union coll::prove::simplified(llvm::ArrayRef<Conj> conjs,
                              llvm::ArrayRef<Var> dims) {
  return Simplifier(dims).run(conjs);
}
