//===- DiagnosticsTest.cpp - Slugs, their page, and the engine ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Embedded.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coll;
using llvm::StringRef;

namespace {

TEST(Slugs, AreLowerCaseWordsAndDistinct) {
  std::set<StringRef> seen;
  for (StringRef slug : allSlugs()) {
    EXPECT_TRUE(llvm::all_of(slug, [](char c) {
      return llvm::isLower(c) || llvm::isDigit(c) || c == '-';
    })) << slug.str();
    EXPECT_TRUE(seen.insert(slug).second) << slug.str();
    std::optional<Slug> found = findSlug(slug);
    ASSERT_TRUE(found);
    EXPECT_EQ(slugText(*found), slug);
    EXPECT_FALSE(slugSummary(*found).empty());
  }
  EXPECT_FALSE(findSlug("no-such-slug"));
}

TEST(Slugs, EachHasASectionOfThePage) {
  for (StringRef slug : allSlugs()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (!explain(slug, os)) {
      ADD_FAILURE() << "docs/Diagnostics.md has no section '### `" << slug.str()
                    << "`'";
      continue;
    }
    // More than the heading, and no other section.
    EXPECT_GT(text.size(), slug.size() + 40) << slug.str();
    EXPECT_EQ(StringRef(text).count("\n### "), 0u) << slug.str();
  }
}

TEST(Slugs, EachSectionOfThePageIsAboutOne) {
  llvm::SmallVector<StringRef> lines;
  embeddedDiagnosticsPage()[0].text.split(lines, '\n');
  for (StringRef line : lines)
    if (line.consume_front("### `") && line.consume_back("`"))
      EXPECT_TRUE(findSlug(line)) << line.str();
}

TEST(Slugs, OthersAreNotExplained) {
  std::string text;
  llvm::raw_string_ostream os(text);
  EXPECT_FALSE(explain("no-such-slug", os));
  EXPECT_FALSE(explain("", os));
  EXPECT_TRUE(text.empty());
}

TEST(Engine, EmitsWhenTheChainEnds) {
  SourceManager sources;
  DiagnosticEngine diags(sources);
  {
    InFlight error = diags.error(Slug::SyntaxError, {}, "one");
    EXPECT_EQ(diags.errorCount(), 0u);
    error.note({}, "why").fix({}, "x", "how");
    InFlight moved = std::move(error);
  }
  ASSERT_EQ(diags.errorCount(), 1u);
  EXPECT_EQ(diags.diagnostics()[0].notes.size(), 1u);
  EXPECT_EQ(diags.diagnostics()[0].fixits.size(), 1u);
  diags.warning(Slug::SyntaxError, {}, "two").emit();
  EXPECT_EQ(diags.errorCount(), 1u);
  EXPECT_EQ(diags.warningCount(), 1u);
  InFlight().note({}, "nobody hears this");
  EXPECT_EQ(diags.diagnostics().size(), 2u);
}

TEST(Engine, KeepsAsManyErrorsAsAreShown) {
  SourceManager sources;
  DiagnosticEngine diags(sources);
  for (unsigned i = 0; i < maxErrors; ++i)
    diags.error(Slug::SyntaxError, {}, "error").emit();
  EXPECT_FALSE(diags.isFull());
  diags.error(Slug::SyntaxError, {}, "error").emit();
  EXPECT_TRUE(diags.isFull());
  EXPECT_EQ(diags.errorCount(), maxErrors + 1);
  EXPECT_EQ(diags.diagnostics().size(), maxErrors);
  // Warnings have a bound of their own.
  for (unsigned i = 0; i < maxWarnings + 5; ++i)
    diags.warning(Slug::SyntaxError, {}, "warning").emit();
  EXPECT_EQ(diags.diagnostics().size(), maxErrors + maxWarnings);
}

} // namespace
