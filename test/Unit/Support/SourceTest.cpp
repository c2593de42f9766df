//===- SourceTest.cpp - Files, lines and positions ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Support/Source.h"

#include "gtest/gtest.h"

using namespace coll;

namespace {

TEST(Source, PositionsCountLinesAndBytesFromOne) {
  SourceManager sources;
  FileId id = sources.add("a.coll", "ab\n\ncd");
  const SourceFile &file = sources.file(id);
  EXPECT_EQ(file.lineCount(), 3u);
  EXPECT_EQ(file.position(0).line, 1u);
  EXPECT_EQ(file.position(0).column, 1u);
  // The end of a line belongs to it.
  EXPECT_EQ(file.position(2).line, 1u);
  EXPECT_EQ(file.position(2).column, 3u);
  EXPECT_EQ(file.position(3).line, 2u);
  EXPECT_EQ(file.position(5).line, 3u);
  EXPECT_EQ(file.position(5).column, 2u);
  EXPECT_EQ(file.position(6).column, 3u);
}

TEST(Source, LinesEndWithEitherKindOfEnd) {
  SourceManager sources;
  const SourceFile &file = sources.file(sources.add("a", "ab\r\n\r\ncd\n"));
  EXPECT_EQ(file.lineText(1), "ab");
  EXPECT_EQ(file.lineText(2), "");
  EXPECT_EQ(file.lineText(3), "cd");
  EXPECT_EQ(file.lineText(4), "");
}

TEST(Source, RangesNameText) {
  SourceManager sources;
  FileId id = sources.add("a.coll", "let x = 1\nlet y = 2\n");
  SourceRange x{id, 4, 5}, two{id, 18, 19};
  EXPECT_EQ(sources.text(x), "x");
  EXPECT_EQ(sources.text(x.to(two)), "x = 1\nlet y = 2");
  EXPECT_EQ(sources.text(x.after()), "");
  EXPECT_EQ(sources.start(two).line, 2u);
  EXPECT_EQ(sources.end(two).column, 10u);
  EXPECT_FALSE(SourceRange().isValid());
}

} // namespace
