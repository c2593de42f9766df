//===- Ranks.cpp - What --ranks says --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Ranks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

using namespace coll;

/// No communicator has more ranks.
static constexpr uint32_t maxRanks = 1u << 16;

static llvm::Error bad(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError("--ranks " + text + ": " + why);
}

static llvm::Expected<uint32_t> parseCount(llvm::StringRef whole,
                                           llvm::StringRef text) {
  uint32_t value;
  if (text.trim().getAsInteger(10, value) || value == 0)
    return bad(whole,
               "'" + text + "' is not a number of ranks (N, M,G or A..B)");
  if (value > maxRanks)
    return bad(whole, "more than " + llvm::Twine(maxRanks) + " ranks");
  return value;
}

static llvm::Expected<RankSpec> parseRange(llvm::StringRef text) {
  auto [lowText, highText] = text.split("..");
  llvm::Expected<uint32_t> low = parseCount(text, lowText);
  if (!low)
    return low.takeError();
  llvm::Expected<uint32_t> high = parseCount(text, highText);
  if (!high)
    return high.takeError();
  if (*low >= *high)
    return bad(text, "the range is empty: its end is not part of it");
  RankSpec spec;
  spec.low = *low;
  spec.high = *high;
  return spec;
}

llvm::Expected<RankSpec> coll::parseRankSpec(llvm::StringRef text) {
  if (text.contains(".."))
    return parseRange(text);
  RankSpec spec;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  uint64_t total = 1;
  for (llvm::StringRef part : parts) {
    llvm::Expected<uint32_t> count = parseCount(text, part);
    if (!count)
      return count.takeError();
    total *= *count;
    if (total > maxRanks)
      return bad(text, "more than " + llvm::Twine(maxRanks) + " ranks");
    spec.dims.push_back(*count);
  }
  return spec;
}

using Spaces = std::vector<std::vector<uint32_t>>;

/// Every way to write `size` as a product of `numDims` factors.
static void addShapes(uint32_t size, unsigned numDims,
                      std::vector<uint32_t> &prefix, Spaces &spaces) {
  if (numDims == 1) {
    spaces.push_back(prefix);
    spaces.back().push_back(size);
    return;
  }
  for (uint32_t d = 1; d <= size; ++d) {
    if (size % d != 0)
      continue;
    prefix.push_back(d);
    addShapes(size / d, numDims - 1, prefix, spaces);
    prefix.pop_back();
  }
}

llvm::Expected<Spaces> coll::rankSpaces(llvm::ArrayRef<RankSpec> specs,
                                        unsigned numDims) {
  Spaces spaces;
  std::vector<uint32_t> prefix;
  for (const RankSpec &spec : specs) {
    if (spec.isRange()) {
      for (uint32_t n = spec.low; n < spec.high; ++n)
        addShapes(n, numDims, prefix, spaces);
    } else if (spec.dims.size() == numDims) {
      spaces.push_back(spec.dims);
    } else if (spec.dims.size() == 1) {
      addShapes(spec.dims[0], numDims, prefix, spaces);
    } else {
      return llvm::createStringError(
          "the ranks of this schedule have " + llvm::Twine(numDims) +
          (numDims == 1 ? " dimension" : " dimensions") + ", --ranks names " +
          llvm::Twine(spec.dims.size()));
    }
  }
  Spaces unique;
  for (std::vector<uint32_t> &space : spaces)
    if (!llvm::is_contained(unique, space))
      unique.push_back(std::move(space));
  return unique;
}
