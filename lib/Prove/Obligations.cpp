//===- Obligations.cpp - What a right schedule must satisfy ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Prove/Prover.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

/// A sum of sets is a set if they are disjoint: operand by operand, and for one
/// operand of a fold iteration by iteration.
void Prover::checkDisjoint(unsigned index) {
  const Statement &st = model.statements[index];
  llvm::SmallVector<Var> dims = dimsOf(st, leafVars);
  llvm::SmallVector<unsigned> operands;
  bool isEnsure = st.kind == Statement::Ensure;
  for (const Piece &piece : pieces[index])
    if (!(isEnsure && piece.isOld) &&
        !llvm::is_contained(operands, piece.operand))
      operands.push_back(piece.operand);
  std::vector<Union> sets;
  for (unsigned operand : operands) {
    if (operands.size() < 2)
      break;
    sets.push_back(contributionOf(
        index, [&](const Piece &p) { return p.operand == operand; }));
    for (size_t i = 0; i + 1 < sets.size(); ++i)
      for (const Conj &a : sets[i])
        for (const Conj &b : sets.back()) {
          Conj both = a;
          llvm::SmallVector<Var> kept(leafVars);
          kept.append(st.vars.begin(), st.vars.end());
          both.add(b.substituted(renaming(b, kept)));
          mustBeEmpty(both, "a contribution that may be counted twice", st.op);
          if (failed())
            return;
        }
  }
  for (const Piece &a : pieces[index])
    for (const Piece &b : pieces[index]) {
      if (failed() || a.inner.empty() || a.operand != b.operand)
        continue;
      llvm::SmallVector<Var> kept(leafVars);
      kept.append(st.vars.begin(), st.vars.end());
      Union as = contribution(a, true), bs = contribution(b, true);
      for (const Conj &x : as)
        for (const Conj &y : bs) {
          Substitution by = renaming(y, kept, b.inner);
          Conj both = x;
          both.add(y.substituted(by));
          // Ordered one way: the other way is the pair (b, a).
          for (Var var : a.inner) {
            Conj differ = both;
            differ.less(Lin::of(var), substitute(Lin::of(var), by));
            mustBeEmpty(differ, "a contribution that may be counted twice",
                        st.op);
          }
        }
    }
}

/// A fold of nothing has no value.
void Prover::checkFolds(unsigned index) {
  const Statement &st = model.statements[index];
  Union reads, points;
  bool isFold = false;
  for (const Access &read : st.reads) {
    if (read.isOld)
      continue;
    isFold |= !read.inner.empty();
    reads.push_back(read.domain);
  }
  for (const Access &write : st.writes)
    points.push_back(write.domain);
  for (const Access &read : st.reads)
    if (st.kind == Statement::Ensure && read.isOld)
      points.push_back(read.domain);
  Conj witness;
  if (!failed() && isFold && !isSubset(points, reads, dimsOf(st), &witness))
    stop(st.op, "a reduce that may be of nothing", &witness);
  if (!failed() && reads.empty() && !points.empty())
    stop(st.op, "a statement that reads nothing");
}

/// Chunks of one value have one number, and so has the location of `out`.
void Prover::checkExtents(unsigned index) {
  const Statement &st = model.statements[index];
  if (failed() || numChunkDims == 0 || st.kind == Statement::Ensure ||
      !values[index])
    return;
  size_t firstChunk = leafIndex.size() - numChunkDims;
  for (const ArrayInfo &array : model.arrays)
    if (array.kind == ArrayInfo::In && array.dims.size() != leafIndex.size())
      return stop(st.op, "inputs with different dimensions");
  bool isSum = st.isReduce;
  for (const Access &read : st.reads)
    isSum |= !read.inner.empty();
  for (const Access &write : st.writes) {
    const ArrayInfo &array = model.arrays[write.at.array];
    if (!isSum && array.kind != ArrayInfo::Out)
      continue;
    // The simple case: the location's last indexes are the leaf's chunk.
    llvm::ArrayRef<Lin> ordinal = write.at.index;
    bool isPlain = ordinal.size() >= numChunkDims;
    for (size_t d = 0; d < numChunkDims && isPlain; ++d) {
      Lin want = ordinal[ordinal.size() - numChunkDims + d];
      Lin has = Lin::of(leafIndex[firstChunk + d]);
      for (const Conj &value : *values[index])
        for (bool isLess : {true, false}) {
          Conj differ = value;
          llvm::SmallVector<Var> kept(leafVars);
          kept.append(st.vars.begin(), st.vars.end());
          differ = differ.substituted(renaming(differ, kept));
          differ.add(write.domain);
          isLess ? differ.less(has, want) : differ.less(want, has);
          isPlain &= isEmpty(differ);
        }
    }
    if (isPlain)
      continue;
    if (array.kind == ArrayInfo::Out)
      return stop(st.op, "an output that may get a chunk of another size",
                  nullptr);
    for (const Conj &a : *values[index])
      for (const Conj &b : *values[index]) {
        Conj both = a;
        Substitution by = renaming(b, st.vars, leafVars);
        both.add(b.substituted(by));
        for (size_t d = 0; d < numChunkDims; ++d) {
          Lin has = Lin::of(leafIndex[firstChunk + d]);
          Conj differ = both;
          differ.less(has, substitute(has, by));
          mustBeEmpty(differ, "a sum of chunks that may differ in size", st.op);
        }
        if (failed())
          return;
      }
  }
}

//===----------------------------------------------------------------------===//
// Sizes that are given at launch
//===----------------------------------------------------------------------===//

/// `result` is the index of the count that a part has.
Union Prover::sizesAt(unsigned array, llvm::ArrayRef<Lin> parts,
                      llvm::ArrayRef<Lin> rank, llvm::ArrayRef<Var> result,
                      const Conj &domain) {
  Union sizes;
  for (const SizeClause &clause : model.sizes) {
    if (clause.array != array || clause.index.size() != result.size())
      continue;
    for (const Conj &conj : clause.domain) {
      Substitution by = renaming(conj, {}, {});
      Conj here = conj.substituted(by);
      here.add(domain);
      auto equal = [&](Var var, const Lin &form) {
        here.equal(substitute(Lin::of(var), by), form);
      };
      for (size_t i = 0; i < clause.partVars.size(); ++i)
        equal(clause.partVars[i], parts[i]);
      for (auto [var, coord] : llvm::zip_equal(clause.rankVars, rank))
        equal(var, coord);
      for (auto [form, var] : llvm::zip_equal(clause.index, result))
        here.equal(substitute(form, by), Lin::of(var));
      if (!isEmpty(here))
        sizes.push_back(here);
    }
  }
  return sizes;
}

/// `sizes` of what comes in are those that the clauses give the output.
void Prover::checkOutputSizes(const Statement &st, const Access &write,
                              const Union &sizes, llvm::ArrayRef<Var> has) {
  llvm::SmallVector<Var> wants;
  for (size_t i = 0; i < has.size(); ++i)
    wants.push_back(fresh("n"));
  Conj witness;
  for (const Conj &size : sizes) {
    Union want =
        sizesAt(write.at.array, write.at.index, write.at.rank, wants, size);
    std::vector<Var> known;
    size.collectVars(known);
    if (!isSubset(size, want, known, &witness))
      return stop(st.op, "an output whose size no clause gives", &witness);
    for (const Conj &both : want)
      for (auto [x, y] : llvm::zip_equal(has, wants))
        for (bool isLess : {true, false}) {
          Conj differ = both;
          isLess ? differ.less(Lin::of(x), Lin::of(y))
                 : differ.less(Lin::of(y), Lin::of(x));
          mustBeEmpty(differ, "an output that may get a part of another size",
                      st.op);
        }
  }
}

/// Of the leaves `moved` by one write, whose sizes are called `has`.
void Prover::checkSizesOf(const Statement &st, const Access &write,
                          const Conj &moved, llvm::ArrayRef<Var> has) {
  auto forms = [](llvm::ArrayRef<Var> vars) {
    llvm::SmallVector<Lin> result;
    for (Var var : vars)
      result.push_back(Lin::of(var));
    return result;
  };
  Conj witness;
  for (unsigned a = 0; a < model.arrays.size(); ++a) {
    if (model.arrays[a].kind != ArrayInfo::In)
      continue;
    Conj ofArray = moved;
    ofArray.equal(Lin::of(leafArray), Lin(a));
    if (isEmpty(ofArray))
      continue;
    std::vector<Var> dims;
    ofArray.collectVars(dims);
    Union sizes = sizesAt(a, forms(leafIndex), forms(leafRank), has, ofArray);
    if (!isSubset(ofArray, sizes, dims, &witness))
      return stop(st.op, "a part without a size beside others with one",
                  &witness);
    Union given;
    for (unsigned b = 0; b < model.arrays.size(); ++b) {
      llvm::SmallVector<Lin> anyPart;
      for (size_t i = 0; i < model.arrays[b].numPartDims; ++i)
        anyPart.push_back(Lin::of(fresh("p")));
      llvm::append_range(given,
                         sizesAt(b, anyPart, write.at.rank, has, write.domain));
    }
    dims.insert(dims.end(), has.begin(), has.end());
    if (model.hasCounts && !model.globalCounts &&
        !isSubset(sizes, given, dims, &witness))
      return stop(st.op, "a rank that may not be given the count it moves",
                  &witness);
    if (model.arrays[write.at.array].kind == ArrayInfo::Out)
      checkOutputSizes(st, write, sizes, has);
    if (failed())
      return;
  }
}

void Prover::checkSizes(unsigned index) {
  const Statement &st = model.statements[index];
  if (failed() || model.sizes.empty() || st.kind == Statement::Ensure ||
      st.writes.empty())
    return;
  size_t arity = model.sizes[0].index.size();
  for (const SizeClause &clause : model.sizes)
    if (clause.symbol != model.sizes[0].symbol || clause.index.size() != arity)
      return stop(st.op, "sizes of different kinds");
  bool isSum = st.isReduce;
  for (const Access &read : st.reads)
    isSum |= !read.inner.empty();
  if (isSum && model.sizes[0].symbol != "")
    return stop(st.op, "a sum of parts with counts of their own");
  llvm::SmallVector<Var> has;
  for (size_t i = 0; i < arity; ++i)
    has.push_back(fresh("n"));
  llvm::SmallVector<Var> kept(leafVars);
  kept.append(st.vars.begin(), st.vars.end());
  for (const Access &write : st.writes)
    for (const Conj &value : *values[index]) {
      Conj moved = value.substituted(renaming(value, kept));
      moved.add(write.domain);
      if (moved.isFalse || isEmpty(moved))
        continue;
      checkSizesOf(st, write, moved, has);
      if (failed())
        return;
    }
}

//===----------------------------------------------------------------------===//
// Groups and lists of ranks
//===----------------------------------------------------------------------===//

/// In a group a location gets one copy, or reductions.
void Prover::checkGroup(unsigned index) {
  const Statement &st = model.statements[index];
  if (failed() || st.snapshot == st.path.size() || st.writes.empty())
    return;
  bool inRegion = llvm::any_of(
      st.path, [](const PathItem &item) { return item.isProcess; });
  for (unsigned o = 0; o <= index; ++o) {
    const Statement &other = model.statements[o];
    bool isSameGroup = other.snapshot == st.snapshot &&
                       other.path.size() > st.snapshot && !other.writes.empty();
    for (unsigned i = 0; i < st.snapshot && isSameGroup; ++i)
      isSameGroup = st.path[i].pos == other.path[i].pos;
    if (!isSameGroup || (st.isReduce && other.isReduce && !inRegion))
      continue;
    for (const Access &a : st.writes)
      for (const Access &b : other.writes) {
        if (a.at.array != b.at.array)
          continue;
        Substitution by = renaming(b.domain, {}, other.vars);
        Conj both = a.domain;
        both.add(b.domain.substituted(by));
        for (unsigned i = 0; i < st.snapshot; ++i)
          for (Var var : st.path[i].vars)
            both.equal(Lin::of(var), substitute(Lin::of(var), by));
        for (auto [x, y] : llvm::zip_equal(a.at.index, b.at.index))
          both.equal(x, substitute(y, by));
        for (auto [x, y] : llvm::zip_equal(a.at.rank, b.at.rank))
          both.equal(x, substitute(y, by));
        const char *why = "a location that a group may write twice";
        if (o != index) {
          mustBeEmpty(both, why, st.op);
          continue;
        }
        for (Var var : st.vars)
          for (bool isLess : {true, false}) {
            Conj differ = both;
            Lin x = Lin::of(var), y = substitute(x, by);
            isLess ? differ.less(x, y) : differ.less(y, x);
            mustBeEmpty(differ, why, st.op);
          }
      }
  }
}

/// What happens at once goes to different locations.
void Prover::checkMembers(unsigned index) {
  const Statement &st = model.statements[index];
  llvm::ArrayRef<Var> atOnce =
      llvm::ArrayRef(st.vars).drop_front(st.numPathVars);
  if (atOnce.empty())
    return;
  for (const Access &a : st.writes)
    for (const Access &b : st.writes) {
      if (failed() || a.at.array != b.at.array)
        continue;
      Substitution by = renaming(b.domain, {}, st.vars);
      Conj both = a.domain;
      both.add(b.domain.substituted(by));
      for (Var var : llvm::ArrayRef(st.vars).take_front(st.numPathVars))
        both.equal(Lin::of(var), substitute(Lin::of(var), by));
      for (auto [x, y] : llvm::zip_equal(a.at.index, b.at.index))
        both.equal(x, substitute(y, by));
      for (auto [x, y] : llvm::zip_equal(a.at.rank, b.at.rank))
        both.equal(x, substitute(y, by));
      for (Var var : atOnce) {
        Conj differ = both;
        differ.less(Lin::of(var), substitute(Lin::of(var), by));
        mustBeEmpty(differ, "a rank that is written to twice at once", st.op);
      }
    }
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

void Prover::checkEnsure(unsigned index) {
  if (failed())
    return;
  const Statement &st = model.statements[index];
  Union expected =
      contributionOf(index, [](const Piece &p) { return !p.isOld; });
  llvm::SmallVector<Var> dims = dimsOf(st, leafVars);
  Conj witness;
  if (!isSubset(expected, *values[index], dims, &witness))
    return stop(st.op, "an output that may lack a contribution", &witness);
  if (!isSubset(*values[index], expected, dims, &witness))
    return stop(st.op, "an output that may have what is not promised",
                &witness);
}
