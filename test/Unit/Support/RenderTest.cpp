//===- RenderTest.cpp - How diagnostics look ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Slugs.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace coll;
using llvm::StringRef;

namespace {

class Render : public testing::Test {
protected:
  void setText(StringRef text) { id = sources.add("a.coll", text.str()); }

  /// The range of the first occurrence of `text`.
  SourceRange find(StringRef text) const {
    uint32_t begin = sources.file(id).text().find(text);
    return {id, begin, uint32_t(begin + text.size())};
  }

  InFlight error(SourceRange range, StringRef message = "wrong") {
    return diags.error(Slug::SyntaxError, range, message);
  }

  std::string rendered(DiagnosticFormat format = DiagnosticFormat::Text) {
    std::string text;
    llvm::raw_string_ostream os(text);
    render(diags, format, os);
    return text;
  }

  SourceManager sources;
  DiagnosticEngine diags{sources};
  FileId id = noFile;
};

TEST_F(Render, NothingIsNothing) { EXPECT_EQ(rendered(), ""); }

TEST_F(Render, UnderlinesTheRange) {
  setText("    recv acc[c] from prev\n    send acc[c] to next\n");
  SourceRange recv = find("recv acc[c] from prev");
  error(recv, "schedule 'ring' deadlocks")
      .note(recv, "every rank waits here")
      .note(find("send acc[c] to next"), "the send each waits for")
      .help(recv, "post both together");
  EXPECT_EQ(rendered(),
            "a.coll:1:5: error: schedule 'ring' deadlocks [syntax-error]\n"
            "    recv acc[c] from prev\n"
            "    ^~~~~~~~~~~~~~~~~~~~~\n"
            "a.coll:1:5: note: every rank waits here\n"
            "a.coll:2:5: note: the send each waits for\n"
            "    send acc[c] to next\n"
            "    ^~~~~~~~~~~~~~~~~~~\n"
            "a.coll:1:5: help: post both together\n");
}

TEST_F(Render, SeveralLinesAreUnderlinedOnTheFirst) {
  setText("for r in all {  \n  copy a -> b\n}\n");
  error(find("for r in all {  \n  copy a -> b\n}")).emit();
  EXPECT_EQ(rendered(), "a.coll:1:1: error: wrong [syntax-error]\n"
                        "for r in all {\n"
                        "^~~~~~~~~~~~~~\n");
}

TEST_F(Render, AnEmptyRangeIsACaret) {
  setText("copy in");
  error(find("in").after()).emit();
  EXPECT_EQ(rendered(), "a.coll:1:8: error: wrong [syntax-error]\n"
                        "copy in\n"
                        "       ^\n");
}

TEST_F(Render, WithoutARangeThereIsNoPlace) {
  error({}, "no file").note({}, "really");
  EXPECT_EQ(rendered(), "error: no file [syntax-error]\nnote: really\n");
}

TEST_F(Render, TabsAndWideCharactersKeepTheUnderlineInPlace) {
  setText("\tlet x\t= \"\xE4\xB8\xAD\xC3\xA4\" foo\x1b\xff\n");
  error(find("foo")).emit();
  EXPECT_EQ(rendered(), "a.coll:1:18: error: wrong [syntax-error]\n"
                        "        let x   = \"\xE4\xB8\xAD\xC3\xA4\" foo??\n"
                        "                        ^~~\n");
}

TEST_F(Render, OfALongLineThePartAroundTheRangeIsShown) {
  setText(std::string(5000, 'a') + " foo " + std::string(5000, 'b'));
  error(find("foo")).emit();
  std::string expected = "..." + std::string(59, 'a') + " foo " +
                         std::string(116, 'b') + "...\n" +
                         std::string(63, ' ') + "^~~\n";
  EXPECT_EQ(rendered(),
            "a.coll:1:5002: error: wrong [syntax-error]\n" + expected);
}

TEST_F(Render, RepairsShowTheLineAsItShouldBe) {
  setText("let c = a mod b\n");
  error(find("mod")).fix(find("mod"), "%", "write '%'");
  error(find("mod")).fix(find("mod "), "", "remove it");
  error(find("a")).fix(find("b\n").after(), "x\ny\n", "add");
  EXPECT_EQ(rendered(), "a.coll:1:11: error: wrong [syntax-error]\n"
                        "let c = a mod b\n"
                        "          ^~~\n"
                        "a.coll:1:11: help: write '%'\n"
                        "let c = a % b\n"
                        "          ^\n"
                        "a.coll:1:11: error: wrong [syntax-error]\n"
                        "let c = a mod b\n"
                        "          ^~~\n"
                        "a.coll:1:11: help: remove it\n"
                        "let c = a b\n"
                        "a.coll:1:9: error: wrong [syntax-error]\n"
                        "let c = a mod b\n"
                        "        ^\n"
                        "a.coll:2:1: help: add\n"
                        "x\n"
                        "^\n");
}

TEST_F(Render, EightNotesThenTheirNumber) {
  setText("x\n");
  {
    InFlight wrong = error({});
    for (unsigned i = 1; i <= 10; ++i)
      wrong.note({}, llvm::Twine(i));
  }
  EXPECT_EQ(rendered(), "error: wrong [syntax-error]\n"
                        "note: 1\nnote: 2\nnote: 3\nnote: 4\n"
                        "note: 5\nnote: 6\nnote: 7\nnote: 8\n"
                        "note: and 2 more\n");
}

TEST_F(Render, JsonIsWholeAndValid) {
  setText("a \xff b\n");
  error(find("b"), "not \"\xff\" UTF-8").note({}, "n").fix(find("a"), "c", "f");
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse(rendered(DiagnosticFormat::Json));
  ASSERT_TRUE(bool(json));
  const auto *first =
      json->getAsObject()->getArray("diagnostics")->front().getAsObject();
  EXPECT_EQ(first->getString("slug"), "syntax-error");
  EXPECT_EQ(first->getString("message"), "not \"\xEF\xBF\xBD\" UTF-8");
  const auto *begin = first->getObject("location")->getObject("begin");
  EXPECT_EQ(begin->getInteger("line"), 1);
  EXPECT_EQ(begin->getInteger("column"), 5);
  EXPECT_EQ(begin->getInteger("offset"), 4);
  EXPECT_EQ(first->getArray("notes")->size(), 1u);
  EXPECT_EQ(first->getArray("fixits")->size(), 1u);
}

TEST_F(Render, SarifIsWholeAndValid) {
  llvm::Expected<llvm::json::Value> none =
      llvm::json::parse(rendered(DiagnosticFormat::Sarif));
  ASSERT_TRUE(bool(none));
  setText("\xC3\xA4 b\n");
  error(find("b")).note(find("b"), "n").fix(find("b"), "c", "f");
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse(rendered(DiagnosticFormat::Sarif));
  ASSERT_TRUE(bool(json));
  EXPECT_EQ(json->getAsObject()->getString("version"), "2.1.0");
  const auto *run =
      json->getAsObject()->getArray("runs")->front().getAsObject();
  const auto *result = run->getArray("results")->front().getAsObject();
  const auto *region = result->getArray("locations")
                           ->front()
                           .getAsObject()
                           ->getObject("physicalLocation")
                           ->getObject("region");
  // SARIF counts characters.
  EXPECT_EQ(region->getInteger("startColumn"), 3);
  EXPECT_EQ(region->getInteger("endColumn"), 4);
}

} // namespace
