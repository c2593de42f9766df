//===- ElaborateContract.cpp - The instructions of a contract -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clauses of a contract run twice. Before the statements: sizes, what may
// share memory, what is the same everywhere. After them: `ensure`, which
// records for each location of `out` what it is promised to hold. The right
// sides of most ensures are the same for every rank, so they are interned: a
// ring of 1024 ranks has one, with 1024 operands.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/ElaborateMachine.h"

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// Sizes and memory
//===----------------------------------------------------------------------===//

bool Machine::launchCounts(Frame &frame, const Instr &in) {
  const LaunchCountsCode &from = code.launchCounts[in.a];
  llvm::SmallVector<uint32_t, 4> dims;
  if (!shapeFrom(frame, from.dims, dims, siteOf(frame)))
    return false;
  graph.launchCounts = from.name;
  graph.launchCountDims.assign(dims.begin(), dims.end());
  graph.globalCounts = from.isGlobal;
  return true;
}

bool Machine::count(Frame &frame, const Instr &in) {
  uint64_t flat = 0;
  for (auto [reg, dim] :
       llvm::zip_equal(regs({in.b, in.count}), graph.launchCountDims)) {
    int64_t index = frame.ints[reg];
    if (index < 0 || index >= dim)
      return fail({.fault = Fault::OutOfRange,
                   .site = siteOf(frame),
                   .x = index,
                   .y = dim,
                   .text = graph.launchCounts});
    flat = flat * dim + index;
  }
  frame.ints[in.dst] =
      builder.sizeSymbol(SizeSymbol::Launch, flat, graph.chunks);
  return true;
}

bool Machine::constSize(Frame &frame, const Instr &in) {
  int64_t value = frame.ints[in.a];
  if (value < 0 || uint64_t(value) > params.limits.elements)
    return fail({.fault = Fault::BadExtent, .site = siteOf(frame), .x = value});
  frame.ints[in.dst] =
      builder.sizeSymbol(SizeSymbol::Const, value, graph.chunks);
  return true;
}

/// The parts that a view of a buffer covers, in order.
static llvm::SmallVector<uint32_t>
partsOf(const State &state, const Array &array, const View &view) {
  llvm::SmallVector<uint32_t> cells, parts;
  state.cellsOf(view, cells);
  for (uint32_t cell : cells) {
    Cell at = state.cellOf(array, cell);
    if (at.chunk == 0)
      parts.push_back(at.part);
  }
  return parts;
}

bool Machine::sizeOf(Frame &frame, const Instr &in) {
  const View &view = frame.views[in.a];
  Array &array = state.arrays[view.array];
  Buffer &buffer = graph.buffers[array.buffer];
  llvm::SmallVector<Rank> ranks;
  if (in.count) {
    if (!rankAt(frame, {in.b, in.count}, ranks.emplace_back(), siteOf(frame)) ||
        !checkPlace(frame, view.array, ranks[0], siteOf(frame)))
      return false;
  } else {
    for (Rank r = 0; r < graph.numRanks(); ++r)
      if (buffer.present[r])
        ranks.push_back(r);
  }
  if (buffer.partSize.size() != size_t(buffer.parts) * graph.numRanks())
    buffer.partSize.assign(size_t(buffer.parts) * graph.numRanks(), 0);
  for (Rank r : ranks) {
    for (uint32_t part : partsOf(state, array, view)) {
      uint32_t &size = buffer.partSize[size_t(r) * buffer.parts + part];
      uint32_t given = frame.ints[in.c];
      if (size != 0 && size != given)
        return fail({.fault = Fault::SizeConflict,
                     .site = siteOf(frame),
                     .place = {view.array, uint64_t(part) * graph.chunks, r}});
      size = given;
    }
  }
  return countSteps(ranks.size(), siteOf(frame));
}

/// A part has the memory of one other; of more, these would share it, too.
bool Machine::sharesOnce(uint32_t array, uint32_t part, Rank rank,
                         SiteId site) {
  uint32_t buffer = state.arrays[array].buffer;
  sharing.resize(graph.buffers.size());
  uint64_t number = uint64_t(rank) * graph.buffers[buffer].parts + part;
  if (sharing[buffer].insert(number).second)
    return true;
  return fail({.fault = Fault::InplaceTwice,
               .site = site,
               .place = {array, uint64_t(part) * graph.chunks, rank}});
}

bool Machine::inplace(Frame &frame, const Instr &in) {
  const InplaceCode &pair = code.inplaces[in.a];
  SiteId site = siteOf(frame);
  const View &lhs = frame.views[pair.lhs], &rhs = frame.views[pair.rhs];
  const Array &lhsArray = state.arrays[lhs.array],
              &rhsArray = state.arrays[rhs.array];
  llvm::SmallVector<uint32_t> lhsParts = partsOf(state, lhsArray, lhs),
                              rhsParts = partsOf(state, rhsArray, rhs);
  if (lhsParts.size() != rhsParts.size())
    return fail({.fault = Fault::InplaceShape, .site = site});
  Rank from = 0, to = graph.numRanks();
  Rank lhsRank = 0, rhsRank = 0;
  if (pair.lhsAt.count) {
    if (!rankAt(frame, pair.lhsAt, lhsRank, site) ||
        !rankAt(frame, pair.rhsAt, rhsRank, site))
      return false;
    if (lhsRank != rhsRank)
      return fail({.fault = Fault::InplaceRank, .site = site});
    from = lhsRank;
    to = from + 1;
  }
  for (Rank r = from; r < to; ++r) {
    if (!state.exists(lhsArray, r) || !state.exists(rhsArray, r))
      continue;
    for (auto [a, b] : llvm::zip_equal(lhsParts, rhsParts)) {
      if (!sharesOnce(lhs.array, a, r, site) ||
          !sharesOnce(rhs.array, b, r, site))
        return false;
      graph.inplace.push_back(
          {r, uint16_t(lhsArray.buffer), a, uint16_t(rhsArray.buffer), b});
    }
  }
  return countSteps(lhsParts.size(), site);
}

bool Machine::same(Frame &frame, const Instr &in) {
  graph.sameBuffers.push_back(state.arrays[frame.views[in.a].array].buffer);
  return true;
}

//===----------------------------------------------------------------------===//
// Ensure
//===----------------------------------------------------------------------===//

/// reduce(in@all): a fold of one buffer's locations on every rank, once each.
static bool isPlainReduce(const ExprRef &expr, const State &state,
                          const ChunkGraph &graph) {
  size_t n = graph.numRanks();
  if (expr.reads.size() != n)
    return false;
  std::vector<bool> seen(n);
  for (const ReadRef &read : expr.reads) {
    if (read.rank == kNone)
      return n == 1;
    const Array &array = state.arrays[read.view.array];
    const View &first = expr.reads[0].view;
    if (array.buffer == kNone ||
        graph.buffers[array.buffer].kind != Buffer::In ||
        read.view.array != first.array || read.view.offset != first.offset ||
        seen[read.rank])
      return false;
    seen[read.rank] = true;
  }
  if (n == 1)
    return expr.nodes.size() == 1;
  return expr.nodes.size() == n + 1 &&
         (expr.nodes.back().kind == ExprNode::Fold ||
          expr.nodes.back().kind == ExprNode::FoldAny);
}

/// Equal expressions have equal keys.
static std::string keyOf(const ExprRef &expr) {
  std::string key;
  auto add = [&](uint32_t word) {
    key.append(reinterpret_cast<const char *>(&word), sizeof word);
  };
  add(expr.nodes.size());
  for (const ExprNode &node : expr.nodes) {
    add(uint32_t(node.kind) | uint32_t(node.function) << 8);
    add(node.arg);
  }
  for (const ReadRef &read : expr.reads) {
    add(read.view.array);
    add(read.view.offset);
    add(read.view.table);
    add(read.rank);
    add(read.view.numDims);
    for (uint32_t d = 0; d < read.view.numDims; ++d) {
      add(read.view.dims[d]);
      add(read.view.strides[d]);
    }
  }
  return key;
}

uint32_t Machine::expectationOf(ExprRef expr) {
  auto [it, isNew] =
      expectationIndex.try_emplace(keyOf(expr), expectations.size());
  if (isNew)
    expectations.push_back(std::move(expr));
  return it->second;
}

bool Machine::ensure(Frame &frame, const Instr &in) {
  SiteId site = siteOf(frame);
  const View &view = frame.views[in.a];
  ExprRef expr = frame.values[in.c];
  for (const ReadRef &read : expr.reads)
    if (read.rank != kNone &&
        !checkPlace(frame, read.view.array, read.rank, site))
      return false;
  if (!checkShape(expr, view, site))
    return false;
  llvm::SmallVector<Rank> ranks;
  if (in.count) {
    if (!rankAt(frame, {in.b, in.count}, ranks.emplace_back(), site) ||
        !checkPlace(frame, view.array, ranks[0], site))
      return false;
  } else {
    for (Rank r = 0; r < graph.numRanks(); ++r)
      if (state.exists(state.arrays[view.array], r))
        ranks.push_back(r);
  }
  state.cellsOf(view, targetCells);
  isPlainReduceOnly &= isPlainReduce(expr, state, graph);
  if (!countSteps(targetCells.size() * ranks.size(), site))
    return false;
  bool isLocation =
      !expr.isComputed() && !state.arrays[expr.reads[0].view.array].isBroadcast;
  return isLocation ? promiseLocations(expr.reads[0], view.array, ranks, site)
                    : promiseValues(expr, view.array, ranks, site);
}

bool Machine::addPromise(const Promise &promise) {
  uint64_t number = numPromises++;
  if (isLeftOut(promise.array, promise.cell))
    return true;
  promises.push_back(promise);
  if (groups)
    promiseNumbers.push_back(number);
  return true;
}

bool Machine::promiseLocations(const ReadRef &read, uint32_t array,
                               llvm::ArrayRef<Rank> ranks, SiteId site) {
  llvm::SmallVector<uint32_t> cells;
  state.cellsOf(read.view, cells);
  for (Rank r : ranks)
    for (auto [to, from] : llvm::zip_equal(targetCells, cells))
      addPromise({r, array, to, site, true, read.view.array, from,
                  read.rank == kNone ? r : read.rank});
  return true;
}

bool Machine::promiseValues(const ExprRef &expr, uint32_t array,
                            llvm::ArrayRef<Rank> ranks, SiteId site) {
  bool isAnyOwn = llvm::any_of(
      expr.reads, [](const ReadRef &r) { return r.rank == kNone; });
  uint32_t expectation = kNone;
  for (Rank r : ranks) {
    if (isAnyOwn || expectation == kNone) {
      ExprRef filled = expr;
      fillRanks(filled, r);
      expectation = expectationOf(std::move(filled));
    }
    for (auto [element, cell] : llvm::enumerate(targetCells))
      addPromise(
          {r, array, cell, site, false, expectation, uint32_t(element), kNone});
  }
  return true;
}
