//===- MscclContract.cpp - What a run of an XML leaves behind -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second verification's machine runs the programs without a chunk graph.
// What each output holds is a term; the contract of a file says only which
// contributions there are, not in which order, so terms become bags of leaves
// and bags are compared. A file names no root: it is the rank for which most is
// right.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclContract.h"

#include "lib/Analysis/ProgramCheckRun.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::msccl;

static constexpr uint64_t maxBagEntries = 1u << 26;
static constexpr size_t maxWrongKept = 4;

namespace {
/// Bags of the terms that some output holds.
class Bags {
public:
  explicit Bags(TermTable &table)
      : table(table), bags(table.size()), needed(table.size()) {}
  void need(TermId term) { needed[term] = true; }
  /// False: too many.
  bool compute();
  const Bag &operator[](TermId term) const { return bags[term]; }

private:
  Bag make(TermId term) const;
  TermTable &table;
  std::vector<Bag> bags;
  std::vector<bool> needed;
};

class Run {
public:
  Run(const Algorithm &algo, const ImportOptions &options)
      : algo(algo), options(options), shape(shapeOf(algo)) {}
  RunResult run();

private:
  void compare(check::Machine &machine, check::CheckTerms &terms);
  TermId contentOf(check::Machine &machine, Rank rank, uint32_t chunk);
  Bag expected(Rank rank, uint32_t chunk) const;
  bool isPromised(Rank rank) const {
    return algo.coll != "reduce" || rank == *result.root;
  }
  void chooseRoot(const Bags &bags);
  void addWrong(check::Machine &machine, Rank rank, uint32_t chunk,
                const Bag &want, const Bag &got);

  const Algorithm &algo;
  const ImportOptions &options;
  Shape shape;
  RunResult result;
  std::vector<std::vector<TermId>> contents; // by rank and output chunk
};
} // namespace

Bag Bags::make(TermId term) const {
  llvm::ArrayRef<uint32_t> operands = table.operandsOf(term);
  if (table[term].kind == Term::Leaf)
    return {{{uint16_t(operands[0]), operands[3], operands[1]}, 1}};
  Bag bag;
  for (uint32_t operand : operands) {
    const Bag &more = bags[operand];
    Bag sum;
    auto a = bag.begin();
    for (const auto &[leaf, count] : more) {
      while (a != bag.end() && a->first < leaf)
        sum.push_back(*a++);
      bool isSame = a != bag.end() && a->first == leaf;
      uint64_t total = uint64_t(count) + (isSame ? a++->second : 0);
      sum.push_back({leaf, uint32_t(std::min<uint64_t>(total, UINT32_MAX))});
    }
    sum.insert(sum.end(), a, bag.end());
    bag = std::move(sum);
  }
  return bag;
}

/// Operands have smaller ids than the terms they are in.
bool Bags::compute() {
  for (TermId term = table.size(); term-- > 0;)
    if (needed[term] && table[term].kind != Term::Leaf)
      for (uint32_t operand : table.operandsOf(term))
        needed[operand] = true;
  uint64_t entries = 0;
  for (TermId term = 0; term < table.size(); ++term)
    if (needed[term]) {
      bags[term] = make(term);
      entries += bags[term].size();
      if (entries > maxBagEntries)
        return false;
    }
  return true;
}

TermId Run::contentOf(check::Machine &machine, Rank rank, uint32_t chunk) {
  PhysicalPlace at =
      placeOf(algo, options.inPlace, rank, {Space::Output, int32_t(chunk)});
  return machine.contentOf(rank, {at.buffer, at.part, 0}, 0).term;
}

Bag Run::expected(Rank rank, uint32_t chunk) const {
  llvm::StringRef coll = algo.coll;
  uint32_t ranks = algo.gpus.size();
  if (coll == "allgather")
    return {{{InBuffer, chunk / shape.in, chunk % shape.in}, 1}};
  if (coll == "broadcast")
    return {{{InBuffer, *result.root, chunk}, 1}};
  if (coll == "alltoall") {
    uint32_t each = shape.out / ranks;
    return {{{InBuffer, chunk / each, rank * each + chunk % each}, 1}};
  }
  uint32_t from = coll == "reduce_scatter" ? rank * shape.out + chunk : chunk;
  Bag bag;
  for (Rank r = 0; r < ranks; ++r)
    bag.push_back({{InBuffer, r, from}, 1});
  return bag;
}

void Run::chooseRoot(const Bags &bags) {
  std::vector<uint64_t> votes(algo.gpus.size());
  for (Rank rank = 0; rank < contents.size(); ++rank)
    for (uint32_t chunk = 0; chunk < contents[rank].size(); ++chunk) {
      const Bag &bag = bags[contents[rank][chunk]];
      if (algo.coll == "reduce")
        votes[rank] += bag == expected(rank, chunk);
      else if (bag.size() == 1 && bag[0].first.buffer == InBuffer &&
               bag[0].first.part == chunk)
        ++votes[bag[0].first.rank];
    }
  // Nowhere anything right: where most comes together.
  if (algo.coll == "reduce" &&
      llvm::all_of(votes, [](uint64_t n) { return n == 0; }))
    for (Rank rank = 0; rank < contents.size(); ++rank)
      for (TermId term : contents[rank])
        votes[rank] += bags[term].size();
  result.root = std::max_element(votes.begin(), votes.end()) - votes.begin();
}

void Run::addWrong(check::Machine &machine, Rank rank, uint32_t chunk,
                   const Bag &want, const Bag &got) {
  if (result.numWrong++ >= maxWrongKept)
    return;
  WrongChunk wrong{rank, chunk, {}, {}};
  std::map<Leaf, int64_t> difference;
  for (const auto &[leaf, count] : want)
    difference[leaf] += count;
  for (const auto &[leaf, count] : got)
    difference[leaf] -= count;
  for (const auto &[leaf, count] : difference)
    if (count)
      (count > 0 ? wrong.missing : wrong.surplus)
          .push_back({leaf, uint32_t(std::abs(count))});
  PhysicalPlace at =
      placeOf(algo, options.inPlace, rank, {Space::Output, int32_t(chunk)});
  wrong.isUnwritten = true;
  for (const check::Machine::Stored &stored : machine.stored) {
    if (stored.rank != rank || stored.location.buffer != at.buffer ||
        stored.location.part != at.part)
      continue;
    wrong.isUnwritten = false;
    SiteId site = result.programs.members[0]
                      .inPlace[rank]
                      .blocks[stored.block]
                      .steps[stored.step]
                      .site;
    wrong.writer = result.programs.sites[site].range;
  }
  result.wrong.push_back(std::move(wrong));
}

void Run::compare(check::Machine &machine, check::CheckTerms &terms) {
  contents.resize(algo.gpus.size());
  Bags bags(terms.table);
  for (Rank rank = 0; rank < contents.size(); ++rank)
    for (uint32_t chunk = 0; chunk < shape.out; ++chunk) {
      contents[rank].push_back(contentOf(machine, rank, chunk));
      bags.need(contents[rank].back());
    }
  if (!bags.compute()) {
    result.isTooLarge = true;
    return;
  }
  if (algo.coll == "broadcast" || algo.coll == "reduce")
    chooseRoot(bags);
  for (Rank rank = 0; rank < contents.size(); ++rank)
    for (uint32_t chunk = 0; chunk < shape.out && isPromised(rank); ++chunk) {
      Bag want = expected(rank, chunk);
      if (const Bag &got = bags[contents[rank][chunk]]; got != want)
        addWrong(machine, rank, chunk, want, got);
    }
}

RunResult Run::run() {
  result.programs = importPrograms(algo, options);
  check::CheckTerms terms(
      result.programs, 0, nullptr,
      check::roundsToRun(result.programs.members[0].inPlace));
  ProgramCheckOptions checkOptions;
  checkOptions.checkTerms = false;
  checkOptions.maxRaceSearch = 100'000;
  check::Machine machine(result.programs, 0, Variant::InPlace, terms,
                         checkOptions);
  if (!machine.run())
    result.error = machine.errors.at(0);
  else if (shape.isKnown && shape.divides)
    compare(machine, terms);
  return std::move(result);
}

RunResult msccl::runAndCompare(const Algorithm &algo,
                               const ImportOptions &options) {
  return Run(algo, options).run();
}
