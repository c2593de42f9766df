//===- TestGraph.h - Chunk graphs without a front end -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes statements as docs/Language.md, "Semantics", says and records the
// values, as elaboration does. Every chunk of every array of every rank is a
// location.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_TEST_UNIT_SCHEDULE_TESTGRAPH_H
#define COLL_TEST_UNIT_SCHEDULE_TESTGRAPH_H

#include "lib/Analysis/Terms.h"

#include <functional>
#include <map>
#include <optional>

namespace coll::test {

struct Array {
  uint32_t id, parts;
};
struct Place {
  Array array;
  Rank rank;
  uint32_t part, chunk;
};

class TestGraph {
public:
  TestGraph(std::vector<uint32_t> rankDims, bool reduces, uint32_t chunks,
            std::string name = "test");

  Array in(uint32_t parts = 1, std::optional<Rank> only = {});
  Array out(uint32_t parts = 1, std::optional<Rank> only = {});
  /// Buffers come first.
  Array tmp(uint32_t parts = 1, ElemType type = ElemType::T);
  void inplace(Rank rank, uint32_t inPart, uint32_t outPart);

  void copy(Place from, Place to, std::optional<ElemType> via = {});
  void reduce(Place from, Place to, std::optional<ElemType> via = {});
  /// reduce(froms...) -> to
  void fold(const std::vector<Place> &froms, Place to, bool any = false);
  void group(const std::function<void()> &body);
  /// Statements that follow stand under this.
  void mapping(const Mapping &mapping);
  /// Values that hold a contribution of every rank are where avg divides.
  void markComplete();

  ChunkGraph finish();
  uint32_t numRanks() const { return graph.numRanks(); }
  uint32_t chunks() const { return graph.chunks; }
  MapDirectives &map() { return graph.map; }
  /// Tokens instead of `count` elements.
  void useTokens();

private:
  Array addBuffer(Buffer::Kind kind, uint32_t parts, std::optional<Rank> only);
  ValueId &at(Place place);
  ValueId read(Place place);
  ValueId push(Place to, ExprId expr, const std::vector<ValueId> &operands,
               std::optional<ElemType> via, bool firstIsOld);
  void write(Place place, ValueId value);

  ChunkGraph graph;
  TermTable terms;
  std::vector<ElemType> types;             // of arrays
  std::vector<std::vector<ValueId>> state; // by array: rank, part, chunk
  std::map<std::tuple<uint32_t, Rank, uint32_t, uint32_t>, SiteId> writers;
  bool inGroup = false;
  std::map<std::tuple<uint32_t, Rank, uint32_t, uint32_t>, ValueId> pending;
  uint32_t statement = 0;
  SiteId site = 0;
  MappingId currentMapping = 0;
};

} // namespace coll::test

#endif // COLL_TEST_UNIT_SCHEDULE_TESTGRAPH_H
