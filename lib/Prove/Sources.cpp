//===- Sources.cpp - Which write a read sees ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A write is a candidate where it goes to the location that is read and comes
// earlier. The equations of the location, with their unit coefficients, make
// its point a function of the reader's point; a loop that the location does not
// determine is taken at its last iteration before the read. Of several
// candidates the latest is seen: from the domain of each, that of later ones is
// subtracted. A read outside of all domains would find nothing.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Prover.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

Union Prover::before(const Statement &a, const Substitution &pointA,
                     const Statement &b, const Substitution &pointB,
                     unsigned limit) const {
  Union result;
  Conj prefix;
  size_t n = std::min({size_t(limit), a.path.size(), b.path.size()});
  for (size_t i = 0; i < n; ++i) {
    if (a.path[i].pos != b.path[i].pos) {
      if (a.path[i].pos < b.path[i].pos)
        result.push_back(prefix);
      return result;
    }
    for (Var var : a.path[i].vars) {
      Lin y = substitute(Lin::of(var), pointA),
          x = substitute(Lin::of(var), pointB);
      if (!a.path[i].isProcess) {
        Conj earlier = prefix;
        earlier.less(y, x);
        if (!earlier.isFalse)
          result.push_back(earlier);
      }
      prefix.equal(y, x);
    }
    if (prefix.isFalse)
      return result;
  }
  return result;
}

/// Whether a variable has one value at most: 0 <= e - m var <= c < m.
static bool isQuotient(const Conj &conj, Var var) {
  return llvm::any_of(conj.ges, [&](const Lin &low) {
    int64_t m = -low.coefficient(var);
    return m > 0 && llvm::any_of(conj.ges, [&](const Lin &high) {
             Lin sum = low + high;
             return sum.isConstant() && sum.getConstant() >= 0 &&
                    sum.getConstant() < m;
           });
  });
}

/// What is left is not determined by the location: its last value that is
/// possible. Exact if each variable has bounds of its own only.
void Prover::latest(Conj domain, llvm::SmallVector<Var> left,
                    llvm::ArrayRef<Var> foreign, Candidate candidate,
                    std::vector<Candidate> &found) {
  if (failed() || isEmpty(domain))
    return;
  const Statement &writer = model.statements[candidate.source];
  if (left.empty()) {
    candidate.domain = std::move(domain);
    found.push_back(std::move(candidate));
    return;
  }
  Var var = left.front();
  auto mentionsOther = [&](const Lin &form) {
    return llvm::any_of(foreign, [&](Var other) {
      return other != var && form.coefficient(other) != 0;
    });
  };
  for (const auto &[own, form] : candidate.point)
    if (form.coefficient(var) != 0 && !(form == Lin::of(var)))
      return stop(writer.op, "a location that many iterations may write");
  std::vector<Lin> bounds;
  for (const Lin &form : domain.eqs)
    if (form.coefficient(var) != 0)
      return stop(writer.op, "a location that many iterations may write");
  for (const Lin &form : domain.ges) {
    int64_t c = form.coefficient(var);
    if (c != 0 && mentionsOther(form))
      return stop(writer.op, "a location that many iterations may write");
    if (c < -1)
      return stop(writer.op, "a location that many iterations may write");
    if (c == -1)
      bounds.push_back(form + Lin::of(var)); // var <= bound
  }
  if (bounds.empty())
    return stop(writer.op, "a loop without an end");
  for (size_t k = 0; k < bounds.size(); ++k) {
    Conj here = domain;
    for (size_t j = 0; j < bounds.size(); ++j)
      if (j != k)
        here.lessEqual(bounds[k], bounds[j]);
    Substitution by{{var, bounds[k]}};
    here = here.substituted(by);
    Candidate next = candidate;
    for (auto &entry : next.point)
      entry.second = substitute(entry.second, by);
    latest(here, llvm::SmallVector<Var>(llvm::drop_begin(left)), foreign, next,
           found);
  }
}

void Prover::addCandidates(unsigned index, const Access &read, unsigned writer,
                           const Access &write, std::vector<Candidate> &found) {
  const Statement &st = model.statements[index],
                  &source = model.statements[writer];
  Substitution renamed = renaming(write.domain, {}, source.vars);
  Conj both = read.domain;
  both.add(write.domain.substituted(renamed));
  for (auto [a, b] : llvm::zip_equal(read.at.index, write.at.index))
    both.equal(a, substitute(b, renamed));
  for (auto [a, b] : llvm::zip_equal(read.at.rank, write.at.rank))
    both.equal(a, substitute(b, renamed));
  if (both.isFalse)
    return;
  llvm::SmallVector<Var> foreign; // the writer's, whatever they are
  for (const auto &[var, form] : renamed)
    foreign.push_back(form.getTerms()[0].first);
  unsigned limit = read.isOld ? st.path.size() : st.snapshot;
  for (const Conj &order :
       before(source, renamed, st, identity(st.vars), limit)) {
    Conj domain = both;
    domain.add(order);
    if (domain.isFalse)
      continue;
    llvm::SmallVector<Var> unknown;
    Candidate candidate{writer, {}, {}};
    for (Var var : source.vars) {
      Lin form = substitute(Lin::of(var), renamed);
      candidate.point.push_back({var, form});
      unknown.push_back(form.getTerms()[0].first);
    }
    Substitution solved;
    llvm::SmallVector<Var> left = domain.solve(unknown, solved);
    for (auto &entry : candidate.point)
      entry.second = substitute(entry.second, solved);
    if (isEmpty(domain))
      continue;
    llvm::erase_if(left, [&](Var var) { return isQuotient(domain, var); });
    for (Var var : left)
      if (!llvm::is_contained(
              llvm::ArrayRef(unknown).take_front(source.numPathVars), var))
        return stop(source.op, "a location that is written twice at once");
    latest(std::move(domain), left, foreign, candidate, found);
  }
}

/// Two writes at the same time to one location: what is there is not defined.
void Prover::checkTies(const Statement &reader,
                       const std::vector<Candidate> &found) {
  for (size_t j = 0; j < found.size(); ++j)
    for (size_t k = 0; k < j; ++k) {
      const Statement &a = model.statements[found[j].source],
                      &b = model.statements[found[k].source];
      bool isSamePlace =
          a.path.size() == b.path.size() &&
          llvm::equal(a.path, b.path, [](const PathItem &x, const PathItem &y) {
            return x.pos == y.pos;
          });
      if (!isSamePlace)
        continue;
      Conj both = found[j].domain;
      both.add(found[k].domain);
      for (size_t i = 0; i < a.path.size(); ++i)
        for (Var var : a.path[i].vars)
          both.equal(substitute(Lin::of(var), found[j].point),
                     substitute(Lin::of(var), found[k].point));
      if (both.isFalse || isEmpty(both))
        continue;
      if (found[j].source != found[k].source)
        return stop(a.op, "two statements that write at once", &both);
      for (Var var : a.vars) {
        Lin x = substitute(Lin::of(var), found[j].point),
            y = substitute(Lin::of(var), found[k].point);
        for (bool isLess : {true, false}) {
          Conj differ = both;
          isLess ? differ.less(x, y) : differ.less(y, x);
          mustBeEmpty(differ, "a location that is written twice at once", a.op);
        }
      }
    }
}

void Prover::resolve(unsigned index, const Access &read,
                     const std::vector<Candidate> &found) {
  const Statement &st = model.statements[index];
  llvm::SmallVector<Var> dims = dimsOf(st, read.inner);
  for (const Candidate &candidate : found)
    for (const auto &[own, form] : candidate.point)
      for (auto [var, c] : form.getTerms())
        if (!llvm::is_contained(dims, var))
          dims.push_back(var);
  for (size_t k = 0; k < found.size() && !failed(); ++k) {
    const Statement &mine = model.statements[found[k].source];
    Union later;
    for (size_t j = 0; j < found.size(); ++j) {
      const Statement &other = model.statements[found[j].source];
      if (j == k)
        continue;
      for (const Conj &order :
           before(mine, found[k].point, other, found[j].point, ~0u)) {
        Conj domain = found[j].domain;
        domain.add(order);
        Conj both = domain;
        both.add(found[k].domain);
        if (!isEmpty(both))
          later.push_back(domain);
      }
    }
    Piece piece;
    piece.source = found[k].source;
    piece.point = found[k].point;
    piece.inner = read.inner;
    piece.operand = read.operand;
    piece.isOld = read.isOld;
    if (later.empty()) {
      piece.domain = found[k].domain;
      pieces[index].push_back(std::move(piece));
      continue;
    }
    std::optional<Union> rest =
        subtract(found[k].domain, later, dims, [&] { return fresh(); });
    if (!rest)
      return stop(read.op, "a read whose last write cannot be told");
    for (Conj &domain : *rest) {
      Piece part = piece;
      part.domain = std::move(domain);
      pieces[index].push_back(std::move(part));
    }
  }
}

void Prover::findSourcesOf(unsigned index, const Access &read) {
  const Statement &st = model.statements[index];
  if (model.arrays[read.at.array].kind == ArrayInfo::In) {
    Piece piece;
    piece.domain = read.domain;
    piece.at = read.at;
    piece.inner = read.inner;
    piece.operand = read.operand;
    piece.isOld = read.isOld;
    pieces[index].push_back(std::move(piece));
    return;
  }
  std::vector<Candidate> found;
  for (unsigned w = 0; w < model.statements.size() && !failed(); ++w)
    for (const Access &write : model.statements[w].writes)
      if (write.at.array == read.at.array)
        addCandidates(index, read, w, write, found);
  if (failed())
    return;
  Union covered;
  for (const Candidate &candidate : found)
    covered.push_back(candidate.domain);
  Conj witness;
  if (!isSubset(read.domain, covered, dimsOf(st, read.inner), &witness))
    return stop(read.op,
                (st.kind == Statement::Ensure ? "an output that may never be "
                                                "written: '"
                                              : "a read of '") +
                    model.arrays[read.at.array].name +
                    (st.kind == Statement::Ensure
                         ? "'"
                         : "' that may find nothing there"),
                &witness);
  checkTies(st, found);
  resolve(index, read, found);
}

void Prover::findSources(unsigned index) {
  for (const Access &read : model.statements[index].reads)
    if (!read.isMessage && !failed())
      findSourcesOf(index, read);
}
