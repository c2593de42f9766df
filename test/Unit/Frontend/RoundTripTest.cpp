//===- RoundTripTest.cpp - Printed trees parse to the same tree -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SyntaxGenerator.h"
#include "lib/Frontend/Parser.h"

#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coll;

namespace {

std::string print(const File &file, bool allParentheses) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printFile(file, os, allParentheses);
  return text;
}

/// What `text` prints to; an empty string and a failure if it does not parse.
struct Printed {
  explicit Printed(const std::string &text) {
    SourceManager sources;
    DiagnosticEngine diags(sources);
    auto file = parseFile(sources, sources.add("a.coll", text), diags);
    std::string errors;
    llvm::raw_string_ostream os(errors);
    render(diags, DiagnosticFormat::Text, os);
    EXPECT_FALSE(file->hasErrors) << errors << "in\n" << text;
    canonical = print(*file, /*allParentheses=*/false);
    explicitly = print(*file, /*allParentheses=*/true);
  }

  std::string canonical;
  std::string explicitly;
};

TEST(RoundTrip, RandomProgramsOfTheGrammarParse) {
  constexpr unsigned seeds = 2000;
  for (unsigned seed = 0; seed < seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Printed once(SyntaxGenerator(seed).file());
    // Parentheses everywhere show the whole structure, so equal prints of that
    // kind are equal trees.
    Printed again(once.canonical);
    EXPECT_EQ(again.canonical, once.canonical);
    EXPECT_EQ(again.explicitly, once.explicitly);
  }
}

TEST(RoundTrip, ParenthesesAreKeptOnlyWhereTheyMatter) {
  EXPECT_EQ(Printed("let x = ((a) + (b * c)) - ((d - e))").canonical,
            "let x = a + b * c - (d - e)\n");
  EXPECT_EQ(
      Printed("let x = (a ? b : c) ? (d ? e : f) : (g ? h : i)").canonical,
      "let x = (a ? b : c) ? d ? e : f : g ? h : i\n");
  EXPECT_EQ(Printed("let x = (a == b) == (not c)").canonical,
            "let x = (a == b) == (not c)\n");
  EXPECT_EQ(Printed("let x = (a .. b)[(-c)] @ (d[0]) + (-e)").canonical,
            "let x = (a .. b)[-c]@d[0] + -e\n");
  EXPECT_EQ(Printed("let x = (a@b)[0] as [1]@(c@d)").canonical,
            "let x = (a@b)[0] as [1]@(c@d)\n");
}

} // namespace
