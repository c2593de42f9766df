//===- ContractMeaning.cpp - What a term means to a contract --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ContractMeaning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SipHash.h"

#include <cstring>

using namespace coll;
using namespace coll::elab;

constexpr uint64_t prime = (uint64_t(1) << 61) - 1;
/// Leaves in all sets of tokens together.
constexpr uint64_t maxTokens = 1u << 26;

/// Adds without wrapping: doubling chains count to 2^64 soon.
static uint64_t addCounts(uint64_t a, uint64_t b) {
  return a + b < a ? ~uint64_t(0) : a + b;
}

static Fingerprint plus(Fingerprint a, Fingerprint b) {
  auto add = [](uint64_t x, uint64_t y) {
    return x + y >= prime ? x + y - prime : x + y;
  };
  return {add(a.x, b.x), add(a.y, b.y), addCounts(a.size, b.size)};
}

Fingerprint Meanings::hash(uint64_t tag, Fingerprint a) const {
  uint64_t words[] = {tag, a.x, a.y, a.size}, out[2];
  uint8_t bytes[sizeof out];
  llvm::getSipHash_2_4_128(
      {reinterpret_cast<const uint8_t *>(words), sizeof words}, key, bytes);
  std::memcpy(out, bytes, sizeof out);
  return {out[0] % prime, out[1] % prime, 1};
}

Meanings::Meanings(const ChunkGraph &graph, TermTable &terms, const Digest &key,
                   Sink &sink, bool plusIsFold)
    : graph(graph), terms(terms), sink(sink), plusIsFold(plusIsFold) {
  std::copy_n(key.begin(), sizeof this->key, this->key);
  hasTokens = llvm::any_of(graph.sizes,
                           [](const SizeSymbol &s) { return s.isToken(); });
  prints.reserve(terms.size());
  kinds.reserve(terms.size());
}

TermId Meanings::strip(TermId term) const {
  while (terms[term].kind == Term::Round)
    term = terms.operandsOf(term)[0];
  return term;
}

TermId Meanings::canonicalLeaf(TermId leaf) {
  llvm::ArrayRef<uint32_t> at = terms.operandsOf(leaf);
  if (!graph.isSame(at[0]) || at[3] == 0)
    return leaf;
  return terms.leaf(at[0], at[1], at[2], 0);
}

bool Meanings::isToken(TermId leaf) const {
  llvm::ArrayRef<uint32_t> at = terms.operandsOf(leaf);
  return graph.sizes[graph.buffers[at[0]].sizeOf(at[3], at[1])].isToken();
}

/// False: not a fold of tokens, nor one.
bool Meanings::tokensOf(TermId term, std::vector<TermId> &tokens) const {
  term = strip(term);
  if (terms[term].kind == Term::Leaf) {
    if (isToken(term))
      tokens.push_back(term);
    return isToken(term);
  }
  auto it = tokenSets.find(term);
  if (it == tokenSets.end())
    return false;
  tokens.insert(tokens.end(), it->second.begin(), it->second.end());
  return true;
}

/// A fold of tokens only is the sum over the set of them.
Fingerprint Meanings::tokenFoldOf(TermId term) {
  std::vector<TermId> tokens;
  for (TermId op : terms.operandsOf(term))
    if (!tokensOf(op, tokens))
      return foldOf(term);
  llvm::sort(tokens);
  tokens.erase(llvm::unique(tokens), tokens.end());
  numTokens += tokens.size();
  if (numTokens > maxTokens) {
    sink.fail({.fault = Fault::TooManyValues});
    return {};
  }
  Fingerprint sum;
  for (TermId leaf : tokens)
    sum = plus(sum, prints[leaf]);
  tokenSets[term] = std::move(tokens);
  return sum;
}

Fingerprint Meanings::foldOf(TermId term) {
  Fingerprint sum;
  for (TermId op : terms.operandsOf(term))
    sum = plus(sum, prints[op]);
  return sum;
}

void Meanings::add(TermId id) {
  const Term term = terms[id];
  llvm::ArrayRef<uint32_t> ops = terms.operandsOf(id);
  switch (term.kind) {
  case Term::Leaf: {
    uint64_t rank = graph.isSame(ops[0]) ? 0 : ops[3];
    Fingerprint name{uint64_t(ops[0]) << 32 | ops[1],
                     uint64_t(ops[2]) << 32 | rank, 0};
    return push(hash(Term::Leaf, name), Term::Leaf);
  }
  case Term::Round:
    return push(prints[ops[0]], Term::Kind(kinds[ops[0]]));
  case Term::Fold:
  case Term::FoldAny:
    return push(hasTokens ? tokenFoldOf(id) : foldOf(id), Term::Fold);
  case Term::Add: {
    if (plusIsFold)
      return push(foldOf(id), Term::Fold);
    Fingerprint sum;
    for (TermId op : ops) {
      // A fold is an element of its own: its print is the sum of other ones.
      Fingerprint addend = prints[op];
      if (kinds[op] == Term::Add)
        addend = addends.lookup(strip(op));
      else if (kinds[op] == Term::Fold)
        addend = hash(Term::Fold, addend);
      sum = plus(sum, addend);
    }
    addends[id] = sum;
    return push(hash(Term::Add, sum), Term::Add);
  }
  case Term::Apply: {
    Fingerprint print{term.function, ops.size(), 0};
    for (TermId op : ops)
      print = hash(
          Term::Apply + kinds[op] * 8,
          {print.x ^ prints[op].x, print.y + prints[op].y, prints[op].size});
    return push(hash(Term::Apply, print), Term::Apply);
  }
  }
}

//===----------------------------------------------------------------------===//
// Exactly
//===----------------------------------------------------------------------===//

std::map<Fingerprint, Meanings::Part> Meanings::partsOf(TermId term) {
  update();
  term = strip(term);
  Term::Kind kind = Term::Kind(kinds[term]);
  std::map<Fingerprint, Part> parts;
  if (kind != Term::Fold && kind != Term::Add) {
    parts[prints[term]] = {term, 1};
    return parts;
  }
  bool isTokens = tokenSets.contains(term);
  // Operands have lower numbers, so each term is met with its full count.
  std::map<TermId, uint64_t, std::greater<>> todo{{term, 1}};
  while (!todo.empty()) {
    auto [id, count] = *todo.begin();
    todo.erase(todo.begin());
    for (TermId op : terms.operandsOf(id)) {
      op = strip(op);
      if (kinds[op] == kind) {
        uint64_t &n = todo[op];
        n = addCounts(n, count);
        continue;
      }
      Part &part = parts.try_emplace(prints[op], Part{op, 0}).first->second;
      part.count = isTokens ? 1 : addCounts(part.count, count);
    }
  }
  return parts;
}

std::vector<uint32_t> Meanings::countsOf(Fingerprint part, Term::Kind kind) {
  update();
  std::vector<uint32_t> counts(prints.size());
  for (TermId id = 0; id < prints.size(); ++id) {
    if (prints[id] == part) {
      counts[id] = 1;
    } else if (kinds[id] == kind) {
      uint64_t sum = 0;
      for (TermId op : terms.operandsOf(id))
        sum += counts[op];
      counts[id] = std::min<uint64_t>(sum, UINT32_MAX);
    }
  }
  return counts;
}
