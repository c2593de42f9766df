//===- Values.cpp - Which leaves a value has ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// values[S] is a set of pairs (point of S, leaf). By its reads it is the union
// of leaves and of values of earlier executions. Statements that do not lead
// back to themselves are computed. One that does, as in a ring, gets a guess:
// if all ways back are one step d, up to a wrap-around by a symbol, then after
// k steps back the point is x + k d, k is eliminated, and what is left is an
// interval, for a ring one of the circle. The guess is then put into the
// equation; if both sides are equal it is proved, by induction on the order of
// execution, since every source is executed before its reader.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Prover.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

/// How often a value may go round a ring before it arrives.
static constexpr int64_t maxWraps = 1;
/// Systems of a value. What is right has a few dozen.
static constexpr size_t maxSystems = 64, maxRawSystems = 256;

/// What a piece gives its reader, over the reader's variables and the leaf's.
Union Prover::contribution(const Piece &piece, bool keepInner) {
  Union result;
  std::vector<Var> kept(leafVars.begin(), leafVars.end());
  auto add = [&](Conj conj) {
    if (conj.isFalse)
      return;
    if (!keepInner)
      conj.project(piece.inner);
    if (!isEmpty(conj))
      result.push_back(std::move(conj));
  };
  if (piece.source == Piece::leaf) {
    Conj conj = piece.domain;
    setLeaf(conj, piece.at);
    add(conj);
    return result;
  }
  const Statement &source = model.statements[piece.source];
  for (const Conj &value : *values[piece.source]) {
    kept.assign(leafVars.begin(), leafVars.end());
    kept.insert(kept.end(), source.vars.begin(), source.vars.end());
    Substitution by = renaming(value, kept);
    by.append(piece.point.begin(), piece.point.end());
    Conj conj = value.substituted(by);
    conj.add(piece.domain);
    add(conj);
  }
  return result;
}

Union Prover::contributionOf(unsigned index,
                             llvm::function_ref<bool(const Piece &)> isOne) {
  Union all;
  for (const Piece &piece : pieces[index])
    if (isOne(piece))
      llvm::append_range(all, contribution(piece, false));
  return simplified(all, dimsOf(model.statements[index], leafVars));
}

//===----------------------------------------------------------------------===//
// Recurrences
//===----------------------------------------------------------------------===//

namespace {
/// One step back: by a constant, and once in a while around by `modulus`.
struct Shift {
  int64_t step = 0;
  Lin modulus;
  bool hasStep = false, wraps = false;
};
} // namespace

/// Whether the differences between two points of one variable are one step.
static bool fit(Shift &shift, const std::vector<Lin> &differences) {
  for (const Lin &d : differences)
    if (d.isConstant()) {
      if (shift.hasStep && d.getConstant() != shift.step)
        return false;
      shift.hasStep = true;
      shift.step = d.getConstant();
    }
  if (!shift.hasStep)
    return false;
  for (const Lin &d : differences) {
    if (d.isConstant())
      continue;
    Lin modulus = d - Lin(shift.step);
    if (shift.wraps && !(modulus == shift.modulus) &&
        !(modulus == -1 * shift.modulus))
      return false;
    shift.modulus = modulus;
    shift.wraps = true;
  }
  return true;
}

bool Prover::accelerate(unsigned index, const std::vector<Piece> &selves,
                        const Union &base, Union &guess) {
  const Statement &st = model.statements[index];
  llvm::SmallVector<Shift> shifts;
  for (Var var : st.vars) {
    std::vector<Lin> differences;
    for (const Piece &piece : selves) {
      Lin d = substitute(Lin::of(var), piece.point) - Lin::of(var);
      for (auto [v, c] : d.getTerms())
        if (!isSymbol(v))
          return false;
      differences.push_back(d);
    }
    if (!fit(shifts.emplace_back(), differences))
      return false;
  }
  Union starts;
  for (const Piece &piece : selves) {
    Conj domain = piece.domain;
    domain.project(piece.inner);
    starts.push_back(domain);
  }
  starts = simplified(starts, dimsOf(st));
  Union all = base;
  Var steps = fresh("k");
  // Each variable that wraps has done so some times, or not.
  llvm::SmallVector<int64_t> wraps(st.vars.size(), 0);
  auto tryWraps = [&](auto &&self, size_t i) -> void {
    if (i < st.vars.size()) {
      int64_t most = shifts[i].wraps ? maxWraps : 0;
      for (int64_t w = 0; w <= most; ++w) {
        wraps[i] = w;
        self(self, i + 1);
      }
      return;
    }
    Substitution by;
    for (auto [var, shift, w] : llvm::zip_equal(st.vars, shifts, wraps)) {
      Lin form = Lin::of(var) + shift.step * Lin::of(steps);
      by.push_back({var, form.addScaled(shift.modulus, w)});
    }
    for (const Conj &end : base) {
      std::vector<Var> kept(leafVars.begin(), leafVars.end());
      kept.insert(kept.end(), st.vars.begin(), st.vars.end());
      Substitution full = renaming(end, kept);
      full.append(by.begin(), by.end());
      for (const Conj &start : starts) {
        Conj conj = start.substituted(renaming(start, st.vars));
        conj.lessEqual(Lin(1), Lin::of(steps));
        conj.add(end.substituted(full));
        if (conj.isFalse)
          continue;
        conj.project(steps);
        if (!isEmpty(conj) && all.size() < maxRawSystems)
          all.push_back(conj);
      }
    }
  };
  tryWraps(tryWraps, 0);
  guess = simplified(all, dimsOf(st, leafVars));
  return true;
}

void Prover::prove(unsigned index, const std::vector<Piece> &selves,
                   const Union &base, const Union &guess) {
  const Statement &st = model.statements[index];
  values[index] = guess;
  Union right = base;
  for (const Piece &piece : selves)
    llvm::append_range(right, contribution(piece, false));
  llvm::SmallVector<Var> dims = dimsOf(st, leafVars);
  Conj witness;
  if (!isSubset(right, guess, dims, &witness) ||
      !isSubset(guess, right, dims, &witness))
    stop(st.op, "no invariant was found for this statement's values", &witness);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

/// False: it has to wait for others.
bool Prover::solveValue(unsigned index) {
  std::vector<Piece> selves;
  for (const Piece &piece : work[index]) {
    if (piece.source == index)
      selves.push_back(piece);
    else if (piece.source != Piece::leaf && !values[piece.source])
      return false;
  }
  const Statement &st = model.statements[index];
  Union base;
  for (const Piece &piece : work[index])
    if (piece.source != index &&
        !(st.kind == Statement::Ensure && !piece.isOld))
      llvm::append_range(base, contribution(piece, false));
  base = simplified(base, dimsOf(st, leafVars));
  if (selves.empty()) {
    if (base.size() > maxSystems)
      stop(st.op, "values in more cases than are tried");
    values[index] = base;
    return true;
  }
  Union guess;
  if (base.size() > maxSystems)
    stop(st.op, "values in more cases than are tried");
  else if (!accelerate(index, selves, base, guess))
    stop(st.op, "values that depend on earlier ones of this statement in more "
                "than one way");
  else
    guess.size() > maxSystems
        ? stop(st.op, "values in more cases than are tried")
        : prove(index, selves, base, guess);
  return true;
}

/// Replaces reads of a statement that waits by what that one reads itself, so
/// that a circle of statements becomes one of a single statement.
bool Prover::inlineOne() {
  for (unsigned t = 0; t < work.size(); ++t) {
    if (values[t] || work[t].empty() ||
        llvm::any_of(work[t], [&](const Piece &p) { return p.source == t; }))
      continue;
    bool isUsed = false;
    for (unsigned s = 0; s < work.size(); ++s) {
      if (s == t || values[s])
        continue;
      std::vector<Piece> next;
      for (const Piece &piece : work[s]) {
        if (piece.source != t) {
          next.push_back(piece);
          continue;
        }
        isUsed = true;
        for (const Piece &inside : work[t]) {
          Substitution by =
              renaming(inside.domain, model.statements[t].vars, inside.inner);
          for (const auto &[own, form] : inside.point)
            for (auto [var, c] : form.getTerms())
              if (!isSymbol(var) &&
                  !llvm::is_contained(model.statements[t].vars, var) &&
                  llvm::none_of(by,
                                [v = var](auto &e) { return e.first == v; }))
                by.push_back({var, Lin::of(fresh())});
          by.append(piece.point.begin(), piece.point.end());
          Piece joined = inside;
          joined.domain = inside.domain.substituted(by);
          joined.domain.add(piece.domain);
          if (isEmpty(joined.domain))
            continue;
          for (auto &entry : joined.point)
            entry.second = substitute(entry.second, by);
          for (Lin &form : joined.at.index)
            form = substitute(form, by);
          for (Lin &form : joined.at.rank)
            form = substitute(form, by);
          joined.inner = piece.inner;
          for (Var var : inside.inner)
            joined.inner.push_back(
                substitute(Lin::of(var), by).getTerms()[0].first);
          joined.operand = piece.operand;
          joined.isOld = piece.isOld;
          next.push_back(std::move(joined));
        }
      }
      work[s] = std::move(next);
    }
    if (isUsed)
      return true;
  }
  return false;
}

void Prover::solveValues() {
  if (failed())
    return;
  work = pieces;
  for (unsigned rounds = 0; !failed();) {
    bool isDone = true, hasChanged = false;
    for (unsigned i = 0; i < work.size() && !failed(); ++i) {
      if (values[i])
        continue;
      if (solveValue(i))
        hasChanged = true;
      else
        isDone = false;
    }
    if (isDone || failed())
      return;
    constexpr unsigned maxRounds = 8;
    if (!hasChanged && (++rounds > maxRounds || !inlineOne())) {
      unsigned i = llvm::find(values, std::nullopt) - values.begin();
      return stop(model.statements[i].op,
                  "statements whose values depend on each other");
    }
  }
}
