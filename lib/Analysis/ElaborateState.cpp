//===- ElaborateState.cpp - Which location holds which value --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateState.h"

using namespace coll;
using namespace coll::elab;

/// Arrays with more locations than this, over all ranks, are hash maps.
constexpr uint64_t maxDense = 1u << 25;

ValueId Array::get(uint64_t index) const {
  if (isDense)
    return dense[index];
  auto it = sparse.find(index);
  return it == sparse.end() ? kNone : it->second;
}

void Array::set(uint64_t index, ValueId value) {
  if (isRedeclared)
    touched.push_back(index);
  if (isDense)
    dense[index] = value;
  else
    sparse[index] = value;
}

SiteId Array::writer(uint64_t index) const {
  if (isDense)
    return writers.empty() ? kNone : writers[index];
  auto it = sparseWriters.find(index);
  return it == sparseWriters.end() ? kNone : it->second;
}

void Array::setWriter(uint64_t index, SiteId site) {
  if (!isDense) {
    sparseWriters[index] = site;
    return;
  }
  if (writers.empty())
    writers.assign(dense.size(), kNone);
  writers[index] = site;
}

void Array::clear() {
  sparse.clear();
  if (!isRedeclared || touched.size() > dense.size() / 4)
    std::fill(dense.begin(), dense.end(), kNone);
  else
    for (uint64_t index : touched)
      dense[index] = kNone;
  touched.clear();
  isRedeclared = true;
}

bool State::allocate(Array &array) {
  uint64_t columns = array.onlyRank == kNone ? builder.graph.numRanks() : 1;
  uint64_t total = columns * array.cells;
  array.isDense = total <= maxDense && !isSparse;
  if (!array.isDense)
    return true;
  numLocations += total;
  if (numLocations > limits.locations)
    return sink.fail({.fault = Fault::TooManyLocations, .site = array.site});
  array.dense.assign(total, kNone);
  return true;
}

View State::whole(uint32_t id) const {
  const Array &array = arrays[id];
  View view;
  view.array = id;
  view.numDims = array.dims.size();
  uint32_t stride = 1;
  for (uint32_t d = view.numDims; d-- > 0; stride *= array.dims[d]) {
    view.dims[d] = array.dims[d];
    view.strides[d] = stride;
  }
  return view;
}

void State::cellsOf(const View &view,
                    llvm::SmallVectorImpl<uint32_t> &cells) const {
  cells.clear();
  uint64_t size = view.size();
  if (size == 0)
    return;
  std::array<uint32_t, maxDims> at;
  at.fill(0);
  uint32_t cell = view.offset;
  for (uint64_t i = 0;; ++i) {
    cells.push_back(cell);
    if (i + 1 == size)
      break;
    uint32_t d = view.numDims - 1;
    for (; at[d] + 1 == view.dims[d]; --d) {
      cell -= at[d] * view.strides[d];
      at[d] = 0;
    }
    ++at[d];
    cell += view.strides[d];
  }
  if (view.table != kNone)
    for (uint32_t &c : cells)
      c = tables[view.table][c];
}

ExtentId State::extentOf(const Array &array, Rank rank, uint32_t cell) const {
  Cell at = cellOf(array, cell);
  return builder.extent(builder.graph.buffers[at.buffer].sizeOf(rank, at.part),
                        at.chunk);
}

ValueId State::peek(uint32_t id, Rank rank, uint32_t cell) {
  Array &array = arrays[id];
  array.isRead = true;
  uint64_t index = array.index(rank, cell);
  ValueId value = array.get(index);
  if (value != kNone || array.buffer == kNone ||
      builder.graph.buffers[array.buffer].kind == Buffer::Out)
    return value;
  value = builder.input(rank, cellOf(array, cell), extentOf(array, rank, cell));
  if (value != kNone)
    array.set(index, value);
  return value;
}

ValueId State::load(const Statement &statement, uint32_t array, Rank rank,
                    uint32_t cell) {
  ValueId value = peek(array, rank, cell);
  if (value == kNone)
    sink.fail({.fault = Fault::EmptyRead,
               .site = statement.site,
               .place = {array, cell, rank}});
  return value;
}

ValueId State::loadOld(const Statement &statement, uint32_t array, Rank rank,
                       uint32_t cell) {
  Place place{array, cell, rank};
  if (inGroup) {
    auto it = pendingIndex.find(key(array, arrays[array].index(rank, cell)));
    if (it != pendingIndex.end()) {
      const Pending &before = pending[it->second];
      if (before.reduce)
        return before.value;
      sink.fail({.fault = Fault::WrittenTwice,
                 .site = statement.site,
                 .place = place,
                 .previous = before.site});
      return kNone;
    }
  }
  bool wasRead = arrays[array].isRead; // adding to it is no use of it
  ValueId value = peek(array, rank, cell);
  arrays[array].isRead = wasRead;
  if (value == kNone)
    sink.fail(
        {.fault = Fault::EmptyReduce, .site = statement.site, .place = place});
  return value;
}

void State::set(const Place &place, ValueId value, SiteId site, bool reduce) {
  Array &array = arrays[place.array];
  uint64_t index = array.index(place.rank, place.cell);
  if (trace)
    trace->push_back({place, array.get(index), value, site, reduce});
  array.isWritten = true;
  array.set(index, value);
  if (array.buffer != kNone)
    array.setWriter(index, site);
}

bool State::store(const Statement &statement, uint32_t id, Rank rank,
                  uint32_t cell, ValueId value) {
  const Array &array = arrays[id];
  Place place{id, cell, rank};
  if (array.buffer != kNone) { // an `out`
    ExtentId want = extentOf(array, rank, cell);
    ExtentId have = builder.graph.values[value].extent;
    if (want != have)
      return sink.fail({.fault = Fault::Extent,
                        .site = statement.site,
                        .place = place,
                        .x = have,
                        .y = want});
  }
  if (!array.isDense && ++numLocations > limits.locations)
    return sink.fail(
        {.fault = Fault::TooManyLocations, .site = statement.site});
  if (!inGroup) {
    set(place, value, statement.site, statement.reduce);
    return true;
  }
  auto [it, isNew] = pendingIndex.try_emplace(key(id, array.index(rank, cell)),
                                              pending.size());
  if (isNew) {
    pending.push_back({place, value, statement.site, statement.reduce});
    return true;
  }
  Pending &before = pending[it->second];
  if (!before.reduce || !statement.reduce)
    return sink.fail({.fault = Fault::WrittenTwice,
                      .site = statement.site,
                      .place = place,
                      .previous = before.site});
  before.value = value;
  return true;
}

void State::closeGroup() {
  inGroup = false;
  for (const Pending &write : pending)
    set(write.place, write.value, write.site, write.reduce);
  pending.clear();
  pendingIndex.clear();
}
