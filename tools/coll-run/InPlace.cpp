//===- InPlace.cpp - Buffers that share memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each `inplace` of a rank says how far one buffer starts behind another. Those
// that it binds together are one area; its distances are followed from buffer
// to buffer, as parts cannot be moved in their buffer. That may be impossible:
// where in[0] is out[1], in[1] cannot be out[0]. It is no call in place either
// if other parts come to lie on each other, as 'in[1]' and 'out[2]' do here.
//
//===----------------------------------------------------------------------===//

#include "tools/coll-run/Buffers.h"

#include <algorithm>
#include <set>

using namespace coll;

std::shared_ptr<const InplaceByRank>
coll::inplaceByRank(const ChunkGraph &graph) {
  auto result = std::make_shared<InplaceByRank>(graph.numRanks());
  for (const InplacePair &pair : graph.inplace)
    (*result)[pair.rank].push_back(pair);
  return result;
}

namespace {
/// A part that has elements.
struct PlacedPart {
  uint32_t area, buffer, part;
  uint64_t begin, end; // bytes of the area
};

class InPlacePlacer {
public:
  InPlacePlacer(const Row &row, Rank rank,
                const std::vector<BufferLayout> &layout)
      : row(row), pairs((*row.inplace)[rank]), layout(layout),
        start(layout.size()) {
    for (uint32_t b = 0; b < layout.size(); ++b)
      area.push_back(b);
  }
  InPlaceLayout run();

private:
  bool bind(const InplacePair &pair);
  bool isDeclared(const PlacedPart &a, const PlacedPart &b) const;
  bool overlapsElsewhere();
  uint64_t firstByte(uint32_t buffer, uint32_t part) const {
    return layout[buffer].firstElement[part] * bytesOf(row.call.dtype);
  }
  uint64_t endByte(uint32_t buffer, uint32_t part) const {
    bool isLast = part + 1 == layout[buffer].firstElement.size();
    return isLast ? layout[buffer].bytes : firstByte(buffer, part + 1);
  }
  std::string name(uint32_t buffer, uint32_t part) const {
    return row.graph->buffers[buffer].name + "[" + std::to_string(part) + "]";
  }

  const Row &row;
  const std::vector<InplacePair> &pairs;
  const std::vector<BufferLayout> &layout;
  std::vector<uint32_t> area;
  std::vector<int64_t> start; // in its area, from where its first buffer starts
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> declared;
  InPlaceLayout result;
};
} // namespace

/// False: `result` says what contradicts the pairs before. The output's area is
/// taken, as that is what ranks that are not in place have, too.
bool InPlacePlacer::bind(const InplacePair &pair) {
  uint32_t a = pair.bufferB, b = pair.bufferA;
  uint32_t partOfA = pair.partB, partOfB = pair.partA;
  if (firstByte(a, partOfA) == endByte(a, partOfA))
    return true;
  declared.insert({a, partOfA, b, partOfB});
  declared.insert({b, partOfB, a, partOfA});
  int64_t distance = start[a] + int64_t(firstByte(a, partOfA)) - start[b] -
                     int64_t(firstByte(b, partOfB));
  if (area[a] == area[b] && distance != 0)
    result.impossible = name(b, partOfB) + " cannot be " + name(a, partOfA) +
                        " where other parts are";
  uint32_t from = area[b], to = area[a];
  for (uint32_t other = 0; from != to && other < area.size(); ++other)
    if (area[other] == from) {
      area[other] = to;
      start[other] += distance;
    }
  return result.impossible.empty();
}

bool InPlacePlacer::isDeclared(const PlacedPart &a, const PlacedPart &b) const {
  return a.begin == b.begin && a.end == b.end &&
         declared.count({a.buffer, a.part, b.buffer, b.part});
}

/// Parts of other buffers that share memory though no pair says so.
bool InPlacePlacer::overlapsElsewhere() {
  std::vector<PlacedPart> parts;
  for (uint32_t b = 0; b < layout.size(); ++b)
    for (uint32_t p = 0; p < layout[b].firstElement.size(); ++p) {
      uint64_t offset = result.places[b].offset;
      if (firstByte(b, p) != endByte(b, p))
        parts.push_back(
            {area[b], b, p, offset + firstByte(b, p), offset + endByte(b, p)});
    }
  std::sort(parts.begin(), parts.end(),
            [](const PlacedPart &a, const PlacedPart &b) {
              return std::tuple(a.area, a.begin, a.end) <
                     std::tuple(b.area, b.begin, b.end);
            });
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = i + 1; j < parts.size() && parts[j].area == parts[i].area &&
                           parts[j].begin < parts[i].end;
         ++j)
      if (!isDeclared(parts[i], parts[j])) {
        result.impossible = name(parts[i].buffer, parts[i].part) +
                            " would lie on " +
                            name(parts[j].buffer, parts[j].part);
        return true;
      }
  return false;
}

InPlaceLayout InPlacePlacer::run() {
  for (const InplacePair &pair : pairs)
    if (!bind(pair))
      return result;
  std::vector<int64_t> first(layout.size());
  for (uint32_t b = 0; b < layout.size(); ++b)
    first[area[b]] = std::min(first[area[b]], start[b]);
  result.areaBytes.resize(layout.size());
  for (uint32_t b = 0; b < layout.size(); ++b) {
    uint64_t offset = start[b] - first[area[b]];
    result.places.push_back({area[b], offset});
    uint64_t &bytes = result.areaBytes[area[b]];
    bytes = std::max(bytes, offset + layout[b].bytes);
  }
  overlapsElsewhere();
  return result;
}

InPlaceLayout coll::layoutInPlace(const Row &row, Rank rank,
                                  const std::vector<BufferLayout> &layout) {
  return InPlacePlacer(row, rank, layout).run();
}
