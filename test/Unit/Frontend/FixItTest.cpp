//===- FixItTest.cpp - Repairs repair -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fix-it is given only where we are sure. So: applied to the text, it leaves
// no error, and the program that was meant.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Parser.h"

#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coll;

namespace {

/// Parses `text`, applies the first fix-it of the first error, and so on until
/// there is nothing to repair. Returns the tree, printed.
std::string repaired(std::string text) {
  constexpr unsigned mostRepairs = 20;
  for (unsigned i = 0; i < mostRepairs; ++i) {
    SourceManager sources;
    DiagnosticEngine diags(sources);
    auto file = parseFile(sources, sources.add("a.coll", text), diags);
    if (!diags.hasErrors()) {
      std::string printed;
      llvm::raw_string_ostream os(printed);
      printFile(*file, os);
      return printed;
    }
    const Diagnostic &first = diags.diagnostics()[0];
    if (first.fixits.empty())
      return "no repair for: " + first.message + "\n" + text;
    const FixIt &fixit = first.fixits[0];
    text.replace(fixit.range.begin, fixit.range.size(), fixit.replacement);
  }
  return "no end of repairs: " + text;
}

std::string repairedStatement(const std::string &text) {
  std::string printed = repaired("def f() { " + text + " }");
  std::string before = "def f() {\n  ", after = "\n}\n";
  if (printed.size() < before.size() + after.size())
    return printed;
  return printed.substr(before.size(),
                        printed.size() - before.size() - after.size());
}

TEST(FixIt, Operators) {
  EXPECT_EQ(repaired("let x = (a - b mod 2) div c xor d"),
            "let x = (a - b % 2) / c ^ d\n");
  EXPECT_EQ(repaired("let x = a shl 2 SHR b"), "let x = a << 2 >> b\n");
  EXPECT_EQ(repaired("let x = a && !b || !(c) AND d"),
            "let x = a and not b or not c and d\n");
  EXPECT_EQ(repaired("let x = a = b ? 1 : 2"), "let x = a == b ? 1 : 2\n");
  EXPECT_EQ(repaired("let x == 1"), "let x = 1\n");
  EXPECT_EQ(repaired("let x = +1 * + 2"), "let x = 1 * 2\n");
  EXPECT_EQ(repaired("let x = 1 ≤ 2 × 3 − 4"), "let x = 1 <= 2 * 3 - 4\n");
}

TEST(FixIt, Division) {
  EXPECT_EQ(repaired("let x = a // 2\nlet y = 1"),
            "let x = a / 2\n\nlet y = 1\n");
  EXPECT_EQ(repaired("let n = (a // (a + 1)) * 2\n"),
            "let n = a / (a + 1) * 2\n");
}

TEST(FixIt, Ranges) {
  EXPECT_EQ(repaired("let x = range(n)"), "let x = 0 .. n\n");
  EXPECT_EQ(repaired("let x = size(range(a, b)[range(1, (2), 3)])"),
            "let x = size((a .. b)[1 .. 2 step 3])\n");
  EXPECT_EQ(repaired("let x = range(a ? b : c) == range(2 - 1)"),
            "let x = 0 .. (a ? b : c) == 0 .. 2 - 1\n");
  EXPECT_EQ(repaired("let x = a[1:n, :]"), "let x = a[1 .. n, ..]\n");
  EXPECT_EQ(repaired("let x = a ... b"), "let x = a .. b\n");
}

TEST(FixIt, Numbers) {
  EXPECT_EQ(repaired("let x = [0x1F, 0b11, 0o17, 1_000, 2K, 3MB, 1gib]"),
            "let x = [31, 3, 15, 1000, 2048, 3145728, 1073741824]\n");
}

TEST(FixIt, Statements) {
  EXPECT_EQ(repairedStatement("x = 1 + 2"), "let x = 1 + 2");
  EXPECT_EQ(repairedStatement("x[0]@(r + 1) = in + (y)"),
            "copy in + y -> x[0]@(r + 1)");
  EXPECT_EQ(repairedStatement("x += in@r"), "reduce in@r -> x");
  EXPECT_EQ(repairedStatement("x <- in"), "copy in -> x");
  EXPECT_EQ(repairedStatement("copy x <- in via f16"), "copy in -> x via f16");
  EXPECT_EQ(repairedStatement("copy in => x"), "copy in -> x");
  EXPECT_EQ(repairedStatement("copy in to x"), "copy in -> x");
  EXPECT_EQ(repairedStatement("reduce in x@r"), "reduce in -> x@r");
  EXPECT_EQ(repairedStatement("reduce in -> x@r + 1"),
            "reduce in -> x@(r + 1)");
  EXPECT_EQ(repairedStatement("recv x@(r) - 1 <- q"), "recv x@(r - 1) from q");
  EXPECT_EQ(repairedStatement("send in -> q via half"), "send in to q via f16");
  EXPECT_EQ(repairedStatement("cpoy in -> out"), "copy in -> out");
  EXPECT_EQ(repairedStatement("for i = 0 .. 2 { }"), "for i in 0 .. 2 { }");
  EXPECT_EQ(repairedStatement("if a then { } elif b { }"),
            "if a { } else if b { }");
  EXPECT_EQ(repairedStatement("f(), g()"), "f()\n  g()");
}

TEST(FixIt, Declarations) {
  EXPECT_EQ(repaired("import ring"), "import \"ring.coll\"\n");
  EXPECT_EQ(repaired("import 'ring.coll'"), "import \"ring.coll\"\n");
  EXPECT_EQ(repaired("\xEF\xBB\xBFlet x = 1"), "let x = 1\n");
  EXPECT_EQ(repaired("# words\nlet x = 1"), "let x = 1\n");
  EXPECT_EQ(repaired("contarct c { in }"), "contract c {\n  in\n}\n");
  EXPECT_EQ(repaired("procedure f() { }"), "def f() { }\n");
  EXPECT_EQ(repaired("schedule s(ranks N) : c { map { pull, slots 2, push } }"),
            "schedule s(ranks N) : c {\n  map {\n    pull\n    slots 2\n"
            "    push\n  }\n}\n");
}

} // namespace
