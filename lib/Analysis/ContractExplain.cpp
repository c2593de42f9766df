//===- ContractExplain.cpp - Why a promise is broken ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ContractExplain.h"

#include <deque>
#include <set>

using namespace coll;
using namespace coll::elab;

/// Longer chains tell nobody anything.
constexpr size_t maxLinks = 6;
/// Missing parts for which a copy is looked for that overwrites them.
constexpr size_t maxPartsTried = 8;
/// Statements named that write other locations than the one without a value.
constexpr size_t maxWritersNamed = 3;

namespace {
class Explainer {
public:
  Explainer(ContractCheck &check, const std::vector<Write> &trace);
  ContractFault explain();

private:
  using Link = ContractFault::Link;
  Term::Kind kindOf(TermId term) const;
  void compare(TermId promised, TermId held);
  bool compareParts(TermId promised, TermId held);
  bool hasPlus(TermId root) const;
  void markContains(TermId part);
  bool contains(ValueId value) const {
    return value != kNone && inTerm[m.graph.values[value].term];
  }
  size_t lastWriteTo(const Place &place) const;
  size_t writeOf(ValueId value, size_t before) const;
  size_t firstWriteOf(ValueId value) const;
  void nameWriters();
  void blameMissing(size_t outputWrite);
  bool findOverwrite(size_t outputWrite);
  void blameDouble(size_t outputWrite);
  void blameForeign(size_t outputWrite);
  void blamePlus(size_t outputWrite);
  void blameComputation(size_t outputWrite);
  void blame(ValueId value);

  ContractCheck &check;
  Machine &m;
  Meanings &meanings;
  const std::vector<Write> &trace;
  /// The writes of each value, in order.
  std::vector<std::pair<ValueId, uint32_t>> writesOf;
  std::vector<bool> inTerm;
  ContractFault fault;
};
constexpr size_t noWrite = ~size_t(0);
} // namespace

Explainer::Explainer(ContractCheck &check, const std::vector<Write> &trace)
    : check(check), m(check.m), meanings(check.meanings), trace(trace) {
  writesOf.reserve(trace.size());
  for (auto [i, write] : llvm::enumerate(trace))
    writesOf.push_back({write.after, uint32_t(i)});
  llvm::sort(writesOf);
}

//===----------------------------------------------------------------------===//
// What differs
//===----------------------------------------------------------------------===//

Term::Kind Explainer::kindOf(TermId term) const {
  Term::Kind kind = m.builder.terms[meanings.strip(term)].kind;
  return kind == Term::FoldAny ? Term::Fold : kind;
}

/// Compares two multisets; false if that says nothing.
bool Explainer::compareParts(TermId promised, TermId held) {
  std::map<Fingerprint, Meanings::Part> want = meanings.partsOf(promised),
                                        have = meanings.partsOf(held);
  std::vector<Meanings::Part> missing, twice, foreign;
  for (auto &[print, part] : want) {
    auto it = have.find(print);
    if (it == have.end() || it->second.count < part.count)
      missing.push_back(part);
  }
  for (auto &[print, part] : have) {
    auto it = want.find(print);
    if (it == want.end())
      foreign.push_back(part);
    else if (part.count > it->second.count)
      twice.push_back(part);
  }
  auto isLess = [](const Meanings::Part &a, const Meanings::Part &b) {
    return a.term < b.term;
  };
  for (auto *parts : {&missing, &twice, &foreign})
    llvm::sort(*parts, isLess);
  bool isNested = missing.size() == 1 && foreign.size() == 1 && twice.empty() &&
                  kindOf(missing[0].term) != Term::Leaf &&
                  kindOf(foreign[0].term) != Term::Leaf;
  if (isNested && missing[0].term != promised) {
    compare(missing[0].term, foreign[0].term);
    return true;
  }
  auto choose = [&](ContractFault::Kind kind,
                    const std::vector<Meanings::Part> &parts) {
    fault.kind = kind;
    auto countIn = [&](const std::map<Fingerprint, Meanings::Part> &all) {
      auto it = all.find(meanings(parts[0].term));
      return it == all.end() ? 0 : it->second.count;
    };
    fault.part = parts[0].term;
    fault.count = countIn(have);
    fault.promisedCount = countIn(want);
    for (const Meanings::Part &part : parts)
      fault.parts.push_back(part.term);
    return true;
  };
  if (!foreign.empty())
    return choose(ContractFault::Wrong, foreign);
  if (!missing.empty())
    return choose(ContractFault::Missing, missing);
  return !twice.empty() && choose(ContractFault::Double, twice);
}

void Explainer::compare(TermId promised, TermId held) {
  fault.promisedThere = promised = meanings.strip(promised);
  fault.heldThere = held = meanings.strip(held);
  fault.kind = ContractFault::Wrong;
  const TermTable &terms = m.builder.terms;
  Term::Kind want = kindOf(promised), have = kindOf(held);
  bool isCall = want == Term::Apply && have == Term::Apply &&
                terms[promised].function == terms[held].function;
  if (isCall) {
    for (size_t i = 0; i < terms.operandsOf(promised).size(); ++i) {
      TermId a = terms.operandsOf(promised)[i], b = terms.operandsOf(held)[i];
      if (meanings(a) == meanings(b))
        continue;
      fault.arguments.push_back({terms[promised].function, uint32_t(i)});
      return compare(a, b);
    }
  }
  bool isAlike = want == have || have == Term::Leaf || want == Term::Leaf;
  if (isAlike && want != Term::Apply && have != Term::Apply &&
      compareParts(promised, held))
    return;
}

/// Whether `root` has a '+' anywhere in it.
bool Explainer::hasPlus(TermId root) const {
  const TermTable &terms = m.builder.terms;
  std::set<TermId, std::greater<>> todo{root};
  while (!todo.empty()) {
    TermId id = *todo.begin();
    todo.erase(todo.begin());
    if (terms[id].kind == Term::Add)
      return true;
    if (terms[id].kind != Term::Leaf)
      todo.insert(terms.operandsOf(id).begin(), terms.operandsOf(id).end());
  }
  return false;
}

/// Which terms have `part` anywhere in them.
void Explainer::markContains(TermId part) {
  Fingerprint print = meanings(part);
  inTerm.assign(m.builder.terms.size(), false);
  for (TermId id = 0; id < inTerm.size(); ++id) {
    bool isIn = meanings(id) == print;
    if (m.builder.terms[id].kind != Term::Leaf)
      for (TermId op : m.builder.terms.operandsOf(id))
        isIn |= inTerm[op];
    inTerm[id] = isIn;
  }
}

//===----------------------------------------------------------------------===//
// Who is to blame
//===----------------------------------------------------------------------===//

size_t Explainer::lastWriteTo(const Place &place) const {
  for (size_t i = trace.size(); i-- > 0;)
    if (trace[i].place.array == place.array &&
        trace[i].place.cell == place.cell && trace[i].place.rank == place.rank)
      return i;
  return noWrite;
}

/// The last write of a value before another write.
size_t Explainer::writeOf(ValueId value, size_t before) const {
  auto end = llvm::lower_bound(writesOf, std::pair(value, uint32_t(before)));
  if (end == writesOf.begin() || std::prev(end)->first != value)
    return noWrite;
  return std::prev(end)->second;
}

size_t Explainer::firstWriteOf(ValueId value) const {
  auto it = llvm::lower_bound(writesOf, std::pair(value, uint32_t(0)));
  return it == writesOf.end() || it->first != value ? noWrite : it->second;
}

/// The statement that made a value, and the first place that got it.
void Explainer::blame(ValueId value) {
  fault.culprit = m.graph.values[value].site;
  size_t first = firstWriteOf(value);
  if (first != noWrite)
    fault.culpritPlace = trace[first].place;
}

/// Who writes the array at all: usually one of them was to write this, too.
void Explainer::nameWriters() {
  std::map<SiteId, size_t> linkOf;
  for (const Write &write : trace) {
    if (write.place.array != fault.place.array || write.site == kNone)
      continue;
    auto [it, isNew] = linkOf.insert({write.site, fault.chain.size()});
    if (!isNew) {
      const Place &first = fault.chain[it->second].place;
      fault.chain[it->second].isOneOfMany |=
          first.cell != write.place.cell || first.rank != write.place.rank;
    } else if (linkOf.size() <= maxWritersNamed) {
      fault.chain.push_back({Link::Elsewhere, write.site, write.place});
    } else {
      fault.chain.push_back({Link::Others, write.site, write.place});
      return;
    }
  }
}

bool Explainer::findOverwrite(size_t outputWrite) {
  std::deque<size_t> queue{outputWrite};
  std::set<size_t> seen{outputWrite};
  auto visit = [&](size_t write) {
    if (write != noWrite && seen.insert(write).second)
      queue.push_back(write);
  };
  while (!queue.empty()) {
    size_t at = queue.front();
    queue.pop_front();
    const Write &write = trace[at];
    if (!write.reduce && contains(write.before)) {
      fault.culprit = write.site;
      fault.culpritPlace = write.place;
      fault.doesOverwrite = true;
      fault.overwritten = m.graph.values[write.before].term;
      size_t since = writeOf(write.before, at);
      if (since != noWrite)
        fault.chain.push_back(
            {Link::HeldSince, trace[since].site, trace[since].place});
      if (at != outputWrite)
        fault.chain.push_back(
            {Link::Output, trace[outputWrite].site, trace[outputWrite].place});
      return true;
    }
    visit(writeOf(write.after, at)); // it has been somewhere else before
    const Value &value = m.graph.values[write.after];
    for (uint32_t i = 0; i < value.numOperands; ++i)
      visit(writeOf(m.graph.operandsOf(value)[i].value, at));
  }
  return false;
}

void Explainer::blameMissing(size_t outputWrite) {
  fault.culprit = trace[outputWrite].site;
  fault.culpritPlace = trace[outputWrite].place;
  if (fault.count != 0)
    return; // it gets there, less often
  std::vector<TermId> missing = fault.parts;
  for (TermId part : llvm::ArrayRef(missing).take_front(maxPartsTried)) {
    markContains(part);
    if (contains(trace[outputWrite].after) || !findOverwrite(outputWrite))
      continue;
    // It may lose others, too.
    fault.part = part;
    fault.parts.clear();
    auto lost = meanings.partsOf(fault.overwritten);
    for (TermId other : missing)
      if (lost.contains(meanings(other)))
        fault.parts.push_back(other);
    if (fault.parts.empty()) // it is in an argument of what is lost
      fault.parts.push_back(part);
    return;
  }
  markContains(fault.part);
  for (size_t i = trace.size(); i-- > 0;)
    if (contains(trace[i].after)) {
      fault.chain.push_back({Link::Reached, trace[i].site, trace[i].place});
      return;
    }
}

void Explainer::blameDouble(size_t outputWrite) {
  std::vector<uint32_t> counts =
      meanings.countsOf(meanings(fault.part), kindOf(fault.promisedThere));
  auto countOf = [&](ValueId value) {
    return counts[m.graph.values[value].term];
  };
  ValueId value = trace[outputWrite].after;
  fault.culprit = trace[outputWrite].site;
  fault.culpritPlace = trace[outputWrite].place;
  if (countOf(value) < 2)
    return; // not in this sum, but in an argument
  for (bool isDeeper = true; isDeeper;) {
    isDeeper = false;
    const Value &v = m.graph.values[value];
    for (uint32_t i = 0; i < v.numOperands && !isDeeper; ++i) {
      ValueId operand = m.graph.operandsOf(v)[i].value;
      if (countOf(operand) >= 2) {
        value = operand;
        isDeeper = true;
      }
    }
  }
  blame(value);
  size_t at = firstWriteOf(value);
  const Value &v = m.graph.values[value];
  for (uint32_t i = 0; i < v.numOperands && fault.chain.size() < maxLinks;
       ++i) {
    ValueId operand = m.graph.operandsOf(v)[i].value;
    size_t write = countOf(operand) == 0 ? noWrite : writeOf(operand, at);
    if (write == noWrite)
      continue;
    bool isOld = at != noWrite && trace[at].before == operand;
    fault.chain.push_back({isOld ? Link::HeldSince : Link::Added,
                           trace[write].site, trace[write].place});
  }
  if (at != outputWrite && trace[outputWrite].site != fault.culprit)
    fault.chain.push_back(
        {Link::Output, trace[outputWrite].site, trace[outputWrite].place});
}

/// Follows the part down to where it enters.
void Explainer::blameForeign(size_t outputWrite) {
  blame(trace[outputWrite].after);
  if (fault.culprit == kNone) { // an input, copied within its rank
    fault.culprit = trace[outputWrite].site;
    fault.culpritPlace = trace[outputWrite].place;
  }
  if (trace[outputWrite].site != fault.culprit)
    fault.chain.push_back(
        {Link::Output, trace[outputWrite].site, trace[outputWrite].place});
  ValueId value = trace[outputWrite].after;
  size_t at = outputWrite;
  Fingerprint print = meanings(fault.part);
  while (at != noWrite && fault.chain.size() < maxLinks) {
    const Value &v = m.graph.values[value];
    ValueId from = kNone;
    for (uint32_t i = 0; i < v.numOperands && from == kNone; ++i)
      if (contains(m.graph.operandsOf(v)[i].value))
        from = m.graph.operandsOf(v)[i].value;
    bool isWhole = meanings(v.term) == print;
    if (from != kNone && !isWhole &&
        meanings(m.graph.values[from].term) == print)
      blame(value); // here it is mixed with others
    size_t earlier = writeOf(value, at);
    if (earlier == noWrite && from != kNone) {
      value = from;
      earlier = writeOf(value, at);
    }
    at = earlier;
    bool isNew =
        at != noWrite && trace[at].site != fault.culprit &&
        (fault.chain.empty() || fault.chain.back().site != trace[at].site);
    if (isNew && meanings(m.graph.values[value].term) == print)
      fault.chain.push_back({Link::CameFrom, trace[at].site, trace[at].place});
  }
}

/// Whoever computed what was only copied since.
void Explainer::blameComputation(size_t outputWrite) {
  ValueId value = trace[outputWrite].after;
  while (m.graph.values[value].kind == Value::Op &&
         m.graph.values[value].expr == GraphBuilder::identity)
    value = m.graph.operandsOf(m.graph.values[value])->value;
  if (m.graph.values[value].kind == Value::Input)
    value = trace[outputWrite].after;
  blame(value);
  if (fault.culprit == kNone)
    fault.culprit = trace[outputWrite].site;
  else if (fault.culprit != trace[outputWrite].site)
    fault.chain.push_back(
        {Link::Output, trace[outputWrite].site, trace[outputWrite].place});
}

void Explainer::blamePlus(size_t outputWrite) {
  fault.culprit = trace[outputWrite].site;
  fault.culpritPlace = trace[outputWrite].place;
  // The last value with such a sum that the output depends on.
  auto isSuch = [&](ExprNode::Kind kind) {
    return fault.isPlusPromised
               ? kind == ExprNode::Fold || kind == ExprNode::FoldAny
               : kind == ExprNode::Add;
  };
  std::set<ValueId, std::greater<>> todo{trace[outputWrite].after};
  while (!todo.empty()) {
    ValueId id = *todo.begin();
    todo.erase(todo.begin());
    const Value &value = m.graph.values[id];
    if (value.kind == Value::Input)
      continue;
    for (const ExprNode &node : m.graph.exprs[value.expr].nodes)
      if (isSuch(node.kind))
        return blame(id);
    for (uint32_t i = 0; i < value.numOperands; ++i)
      todo.insert(m.graph.operandsOf(value)[i].value);
  }
}

ContractFault Explainer::explain() {
  fault.promise = m.promises[check.firstWrong];
  fault.place = {fault.promise.array, fault.promise.cell, fault.promise.rank};
  fault.numWrong = check.numWrong;
  fault.numPromises = m.promises.size();
  fault.isPlainReduce = m.isPlainReduceOnly && m.code.reduces;
  ValueId value = check.held(fault.promise);
  TermId promised = check.expected(fault.promise);
  fault.promised = promised;
  size_t outputWrite = lastWriteTo(fault.place);
  if (value == kNone || promised == kNone || outputWrite == noWrite) {
    fault.kind = ContractFault::Unwritten;
    nameWriters();
    return fault;
  }
  TermId held = m.graph.values[value].term;
  Meanings asSums(m.graph, m.builder.terms, check.key, m.sink,
                  /*plusIsFold=*/true);
  if (asSums(promised) == asSums(held)) {
    fault.kind = ContractFault::PlusIsNotReduce;
    fault.isPlusPromised = !hasPlus(held);
  } else {
    compare(promised, held);
  }
  if (fault.part != kNone)
    markContains(fault.part);
  if (fault.kind == ContractFault::PlusIsNotReduce)
    blamePlus(outputWrite);
  else if (fault.kind == ContractFault::Missing)
    blameMissing(outputWrite);
  else if (fault.kind == ContractFault::Double)
    blameDouble(outputWrite);
  else if (fault.part != kNone)
    blameForeign(outputWrite);
  else
    blameComputation(outputWrite);
  return fault;
}

ContractFault elab::explainContract(ContractCheck &check,
                                    const std::vector<Write> &trace) {
  return Explainer(check, trace).explain();
}
