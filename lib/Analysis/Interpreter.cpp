//===- Interpreter.cpp - The scalar meaning of a chunk graph --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The work is cut into pieces of a group's elements; a piece is evaluated block
// by block, all terms of the group for one block before the next.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Interpreter.h"
#include "lib/Analysis/InterpreterEval.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

using namespace coll;
using namespace coll::interpreter;

uint32_t coll::bytesOf(coll_dtype dtype) {
  switch (dtype) {
  case COLL_I8:
  case COLL_U8:
  case COLL_E4M3:
  case COLL_E5M2:
    return 1;
  case COLL_F16:
  case COLL_BF16:
    return 2;
  case COLL_I32:
  case COLL_U32:
  case COLL_F32:
    return 4;
  case COLL_I64:
  case COLL_U64:
  case COLL_F64:
    return 8;
  }
  return 0;
}

uint64_t coll::elementsOf(const ChunkGraph &graph, uint32_t size,
                          const InterpreterCall &call) {
  const SizeSymbol &symbol = graph.sizes[size];
  switch (symbol.kind) {
  case SizeSymbol::Count:
    return call.count;
  case SizeSymbol::Launch:
    return symbol.value < call.counts.size() ? call.counts[symbol.value] : 0;
  case SizeSymbol::Const:
    return symbol.value;
  }
  return 0;
}

ElementRange coll::chunkRange(uint64_t elements, uint32_t elementBytes,
                              uint32_t chunk, uint32_t chunks, uint64_t unit) {
  const uint64_t perUnit = unit ? unit : 16 / elementBytes,
                 units = (elements + perUnit - 1) / perUnit;
  const uint64_t quotient = units / chunks, longer = units % chunks;
  auto start = [&](uint64_t c) {
    return std::min(elements, (c * quotient + std::min(c, longer)) * perUnit);
  };
  return {start(chunk), start(uint64_t(chunk) + 1)};
}

namespace {
/// Elements [begin, end) of the parts of a group.
struct Piece {
  const TermGroup *group;
  uint64_t begin, end;
};
} // namespace

static std::vector<Piece> cut(const ChunkGraph &graph,
                              const InterpreterCall &call,
                              const std::vector<TermGroup> &groups) {
  uint64_t pieceElements = 1 << 18;
  if (call.row) // whole rows
    pieceElements = std::max(pieceElements / call.row, uint64_t(1)) * call.row;
  std::vector<Piece> pieces;
  for (const TermGroup &group : groups) {
    ElementRange range = chunkRange(
        elementsOf(graph, group.size, call), bytesOf(call.dtype), group.chunk,
        graph.sizes[group.size].chunks, call.row ? call.row : call.unit);
    for (uint64_t begin = range.begin; begin < range.end;
         begin += pieceElements)
      pieces.push_back(
          {&group, begin, std::min(range.end, begin + pieceElements)});
  }
  return pieces;
}

static void merge(InterpreterResult &all, const InterpreterResult &part) {
  constexpr size_t keptMismatches = 8;
  all.elements += part.elements;
  all.wrongBits += part.wrongBits;
  all.outOfBound += part.outOfBound;
  all.maxError = std::max(all.maxError, part.maxError);
  all.first.insert(all.first.end(), part.first.begin(), part.first.end());
  auto place = [](const Mismatch &m) {
    return std::tuple(m.rank, m.cell.buffer, m.cell.part, m.element);
  };
  std::sort(all.first.begin(), all.first.end(),
            [&](const Mismatch &a, const Mismatch &b) {
              return place(a) < place(b);
            });
  if (all.first.size() > keptMismatches)
    all.first.resize(keptMismatches);
}

template <class C>
static InterpreterResult runAll(const ChunkGraph &graph,
                                const InterpreterCall &call,
                                const std::vector<Piece> &pieces,
                                const Places &places, unsigned threads) {
  InterpreterResult all;
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  auto work = [&] {
    Evaluator<C> evaluator(graph, call, places);
    for (size_t i = next++; i < pieces.size(); i = next++)
      evaluator.run(*pieces[i].group, pieces[i].begin, pieces[i].end);
    std::lock_guard lock(mutex);
    merge(all, evaluator.result);
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < std::min<size_t>(threads, pieces.size()); ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  return all;
}

static InterpreterResult run(const ChunkGraph &graph,
                             const InterpreterCall &call, const Places &places,
                             unsigned threads) {
  TermGroups groups = groupTerms(graph, call);
  InterpreterResult result;
  result.error = groups.error;
  if (!result.error.empty())
    return result;
  std::vector<Piece> pieces = cut(graph, call, groups.groups);
  switch (call.dtype) {
  case COLL_I8:
    return runAll<int8_t>(graph, call, pieces, places, threads);
  case COLL_U8:
    return runAll<uint8_t>(graph, call, pieces, places, threads);
  case COLL_I32:
    return runAll<int32_t>(graph, call, pieces, places, threads);
  case COLL_U32:
    return runAll<uint32_t>(graph, call, pieces, places, threads);
  case COLL_I64:
    return runAll<int64_t>(graph, call, pieces, places, threads);
  case COLL_U64:
    return runAll<uint64_t>(graph, call, pieces, places, threads);
  case COLL_F64:
    return runAll<double>(graph, call, pieces, places, threads);
  default:
    return runAll<float>(graph, call, pieces, places, threads);
  }
}

InterpreterResult coll::checkOutputs(const ChunkGraph &graph,
                                     const InterpreterCall &call,
                                     const PartAddress &inputs,
                                     const PartAddress &outputs,
                                     unsigned threads) {
  return run(graph, call, {&inputs, &outputs, nullptr}, threads);
}

std::string coll::interpret(
    const ChunkGraph &graph, const InterpreterCall &call,
    const PartAddress &inputs,
    const std::function<void *(Rank rank, uint32_t buffer, uint32_t part)>
        &outputs) {
  return run(graph, call, {&inputs, nullptr, &outputs}, 1).error;
}
