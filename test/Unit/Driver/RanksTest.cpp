//===- RanksTest.cpp - What --ranks says ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Ranks.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

using Spaces = std::vector<std::vector<uint32_t>>;

std::string errorOf(llvm::StringRef text) {
  llvm::Expected<RankSpec> spec = parseRankSpec(text);
  return spec ? "" : llvm::toString(spec.takeError());
}

Spaces spacesOf(std::initializer_list<const char *> texts, unsigned numDims) {
  std::vector<RankSpec> specs;
  for (const char *text : texts)
    specs.push_back(llvm::cantFail(parseRankSpec(text)));
  return llvm::cantFail(rankSpaces(specs, numDims));
}

TEST(Ranks, Forms) {
  RankSpec one = llvm::cantFail(parseRankSpec("8"));
  EXPECT_FALSE(one.isRange());
  EXPECT_EQ(one.dims, std::vector<uint32_t>{8});
  RankSpec grid = llvm::cantFail(parseRankSpec("2, 4,1"));
  EXPECT_EQ(grid.dims, (std::vector<uint32_t>{2, 4, 1}));
  RankSpec range = llvm::cantFail(parseRankSpec("2..9"));
  EXPECT_TRUE(range.isRange());
  EXPECT_EQ(range.low, 2u);
  EXPECT_EQ(range.high, 9u);
}

TEST(Ranks, Errors) {
  for (const char *text : {"", "0", "-1", "x", "2,", ",2", "2,0", "2..", "..3",
                           "2..x", "1.5", "4294967296"})
    EXPECT_NE(errorOf(text).find("is not a number of ranks"), std::string::npos)
        << text << ": " << errorOf(text);
  EXPECT_NE(errorOf("3..3").find("empty"), std::string::npos);
  EXPECT_NE(errorOf("4..3").find("empty"), std::string::npos);
}

TEST(Ranks, AreBounded) {
  EXPECT_EQ(errorOf("65536"), "");
  EXPECT_NE(errorOf("65537").find("more than 65536 ranks"), std::string::npos);
  EXPECT_EQ(errorOf("256,256"), "");
  EXPECT_NE(errorOf("256,257").find("more than 65536"), std::string::npos);
  // The product does not wrap around.
  EXPECT_NE(errorOf("65536,65536,65536,65536").find("more than 65536"),
            std::string::npos);
}

TEST(Ranks, RangesAndNumbersStandForEveryShape) {
  EXPECT_EQ(spacesOf({"6"}, 1), (Spaces{{6}}));
  EXPECT_EQ(spacesOf({"6"}, 2), (Spaces{{1, 6}, {2, 3}, {3, 2}, {6, 1}}));
  EXPECT_EQ(spacesOf({"2..4"}, 2), (Spaces{{1, 2}, {2, 1}, {1, 3}, {3, 1}}));
  EXPECT_EQ(
      spacesOf({"4"}, 3),
      (Spaces{
          {1, 1, 4}, {1, 2, 2}, {1, 4, 1}, {2, 1, 2}, {2, 2, 1}, {4, 1, 1}}));
}

TEST(Ranks, EachOnceInOrder) {
  EXPECT_EQ(spacesOf({"5", "3..6", "4"}, 1), (Spaces{{5}, {3}, {4}}));
  EXPECT_EQ(spacesOf({"2,2", "4"}, 2), (Spaces{{2, 2}, {1, 4}, {4, 1}}));
}

TEST(Ranks, AGridNeedsItsDimensions) {
  std::vector<RankSpec> specs = {llvm::cantFail(parseRankSpec("2,2"))};
  EXPECT_EQ(llvm::toString(rankSpaces(specs, 1).takeError()),
            "the ranks of this schedule have 1 dimension, --ranks names 2");
  EXPECT_EQ(llvm::toString(rankSpaces(specs, 3).takeError()),
            "the ranks of this schedule have 3 dimensions, --ranks names 2");
}

} // namespace
