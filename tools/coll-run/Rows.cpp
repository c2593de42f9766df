//===- Rows.cpp - What a run launches -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Rows.h"

#include "lib/Support/BlockScale.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace coll;

/// More is a slip of the hand: `-i 1`, or `-r all` of a million launch values.
static constexpr uint64_t maxRows = uint64_t(1) << 18;

/// What a buffer may have; nobody's memory is larger, and sums of so many
/// bytes fit 64 bits.
static constexpr uint64_t maxBufferBytes = uint64_t(1) << 44;

/// `smallest`: what has one element in each part. Stops beyond maxRows.
static std::vector<uint64_t> sizesOf(const RunOptions &options,
                                     uint64_t smallest) {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = options.minBytes;
       bytes <= options.maxBytes && sizes.size() <= maxRows;) {
    sizes.push_back(bytes);
    uint64_t next = options.stepBytes ? bytes + options.stepBytes
                    : bytes ? llvm::SaturatingMultiply(bytes, options.factor)
                            : smallest;
    // The largest size is always a row, also where the factor steps over it.
    bool stepsOver = !options.stepBytes && next > options.maxBytes &&
                     bytes < options.maxBytes;
    bytes = stepsOver ? options.maxBytes : next;
  }
  return sizes;
}

/// What the rows of the table are: elements of a part.
static std::vector<uint64_t> elementCounts(const ChunkGraph &graph,
                                           const RunOptions &options,
                                           uint32_t elementBytes) {
  if (!hasCounts(graph))
    return {0};
  if (!options.counts.empty())
    return options.counts;
  std::vector<uint64_t> counts;
  for (uint64_t bytes : sizesOf(options, mostParts(graph) * elementBytes))
    counts.push_back(elementsFor(graph, bytes, elementBytes));
  return counts;
}

static llvm::Error tooManyRows() {
  return llvm::createStringError("more than " + llvm::Twine(maxRows) +
                                 " rows: say fewer sizes (-f, -i), types (-d), "
                                 "operations (-o) or launch values (-r)");
}

/// "launch values 0 to 3", "launch value 1" or the first few of them.
static std::string valuesOf(const std::vector<ChunkGraph> &members) {
  constexpr size_t most = 8;
  std::set<uint32_t> values;
  for (const ChunkGraph &member : members)
    values.insert(member.launchValues.begin(), member.launchValues.end());
  std::string text = values.size() == 1 ? "launch value " : "launch values ";
  bool isRange = values.size() > 2 &&
                 *values.rbegin() - *values.begin() + 1 == values.size();
  if (isRange)
    return text + std::to_string(*values.begin()) + " to " +
           std::to_string(*values.rbegin());
  size_t listed = 0;
  for (uint32_t value : values) {
    if (listed == most)
      return text + ", ...";
    text += (listed++ ? ", " : "") + std::to_string(value);
  }
  return text;
}

/// The launch values to run: one for each root that was asked for.
static llvm::Expected<std::vector<uint32_t>>
membersToRun(const Instance &instance, const RunOptions &options) {
  const std::vector<ChunkGraph> &all = instance.members;
  std::vector<uint32_t> members;
  if (all[0].launchValues.empty()) {
    if (!options.rootsAreNamed || options.allRoots)
      return std::vector<uint32_t>{0};
    return llvm::createStringError("-r: schedule '" + all[0].schedule +
                                   "' has no launch value");
  }
  if (options.allRoots) {
    for (uint32_t m = 0; m < all.size(); ++m)
      members.push_back(m);
    return members;
  }
  for (int root : options.roots) {
    size_t before = members.size();
    for (uint32_t m = 0; m < all.size(); ++m)
      if (llvm::all_of(all[m].launchValues,
                       [&](uint32_t v) { return static_cast<int>(v) == root; }))
        members.push_back(m);
    if (members.size() != before)
      continue;
    if (!options.rootsAreNamed) // -D leaves others than 0
      return std::vector<uint32_t>{0};
    return llvm::createStringError("-r " + llvm::Twine(root) + ": schedule '" +
                                   all[0].schedule + "' has " + valuesOf(all));
  }
  // In the order of the schedule, each once.
  llvm::sort(members);
  members.erase(llvm::unique(members), members.end());
  return members;
}

static Row makeRow(const ChunkGraph &graph, const RunOptions &options,
                   uint64_t elements, coll_dtype dtype, coll_op op) {
  Row row;
  row.graph = &graph;
  if (graph.map.byRow) { // whole rows; shorter ones where there is less
    row.call.row = std::max<uint64_t>(std::min(options.row, elements), 1);
    elements -= elements % row.call.row;
  }
  row.call.unit = options.inBlocks ? blockElements : 0;
  row.elements = elements;
  row.bytes = elements * bytesOf(dtype) * mostParts(graph);
  row.launch.assign(graph.launchValues.begin(), graph.launchValues.end());
  row.call.dtype = dtype;
  row.call.op = op;
  bool isFloat = lowering::isFloat(static_cast<lowering::Format>(dtype));
  row.call.factor = isFloat ? options.factorOfPremul : 3;
  row.call.count = row.elements;
  if (!graph.launchCounts.empty())
    row.call.counts =
        unevenCounts(graph, row.elements, options.seed + elements);
  for (const Buffer &buffer : graph.buffers)
    if (buffer.kind == Buffer::Scalar)
      row.call.scalars.push_back(0.125);
  return row;
}

/// Says how large the row is, and whether it can be run in place.
static llvm::Error measure(Row &row, std::string &notInPlace) {
  const ChunkGraph &graph = *row.graph;
  row.canBeInPlace = !graph.inplace.empty();
  for (Rank r = 0; r < graph.numRanks(); ++r) {
    std::vector<BufferLayout> layout = layoutOf(row, r);
    for (auto [buffer, place] : llvm::zip(graph.buffers, layout)) {
      if (place.bytes > maxBufferBytes)
        return llvm::createStringError(
            "buffer '" + buffer.name + "' of rank " + llvm::Twine(r) +
            " would have more than " + llvm::Twine(maxBufferBytes) + " bytes");
      if (!hasCounts(graph))
        row.bytes = std::max(row.bytes, place.bytes);
    }
    if (!row.canBeInPlace)
      continue;
    std::string why = layoutInPlace(row, r, layout).impossible;
    row.canBeInPlace = why.empty();
    if (notInPlace.empty() && !why.empty())
      notInPlace = "on rank " + std::to_string(r) + ", " + why;
  }
  return llvm::Error::success();
}

static std::vector<lowering::ReduceOp> opsOf(const ChunkGraph &graph,
                                             const RunOptions &options) {
  std::vector<lowering::ReduceOp> ops = options.ops;
  if (!graph.reduces || !hasElements(graph))
    ops.assign(1, lowering::ReduceOp::Sum);
  return ops;
}

llvm::Expected<RowSet> coll::rowsOf(const Instance &instance,
                                    const RunOptions &options) {
  const ChunkGraph &any = instance.members[0];
  std::vector<lowering::Format> dtypes = options.dtypes;
  std::vector<lowering::ReduceOp> ops = opsOf(any, options);
  if (!hasElements(any))
    dtypes.assign(1, lowering::Format::U8);
  llvm::Expected<std::vector<uint32_t>> members =
      membersToRun(instance, options);
  if (!members)
    return members.takeError();
  std::vector<std::shared_ptr<const InplaceByRank>> inplace;
  for (uint32_t member : *members)
    inplace.push_back(inplaceByRank(instance.members[member]));
  RowSet result;
  for (lowering::Format dtype : dtypes) {
    std::vector<uint64_t> counts =
        elementCounts(any, options, lowering::bytesOf(dtype));
    uint64_t more = counts.size() * members->size() * ops.size();
    if (result.rows.size() + more > maxRows)
      return tooManyRows();
    for (lowering::ReduceOp op : ops)
      for (auto [member, pairs] : llvm::zip(*members, inplace))
        for (uint64_t elements : counts) {
          Row row =
              makeRow(instance.members[member], options, elements,
                      static_cast<coll_dtype>(dtype), static_cast<coll_op>(op));
          row.inplace = pairs;
          if (llvm::Error error = measure(row, result.notInPlace))
            return std::move(error);
          result.rows.push_back(std::move(row));
        }
  }
  return result;
}
