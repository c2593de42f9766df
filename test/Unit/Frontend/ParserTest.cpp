//===- ParserTest.cpp - Ranges, errors and programs of the parser ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Frontend/Parser.h"
#include "lib/Frontend/Lexer.h"

#include "gtest/gtest.h"

using namespace coll;
using llvm::cast;
using llvm::StringRef;

namespace {

class ParserTest : public testing::Test {
protected:
  const File &parse(StringRef text) {
    file = parseFile(sources, sources.add("a.coll", text.str()), diags);
    return *file;
  }
  const Expr &parseLet(StringRef text) {
    return *cast<LetDecl>(parse(text).decls[0])->value;
  }
  StringRef text(SourceRange range) const { return sources.text(range); }

  SourceManager sources;
  DiagnosticEngine diags{sources};
  std::unique_ptr<File> file;
};

TEST_F(ParserTest, RangesAreTheNodesOwnText) {
  const auto &sum =
      cast<BinaryExpr>(parseLet("let x = (a + b) * (c[i] @ (r))"));
  EXPECT_EQ(text(sum.range), "(a + b) * (c[i] @ (r))");
  EXPECT_EQ(text(sum.opRange), "*");
  // Without the parentheses around it.
  EXPECT_EQ(text(sum.lhs->range), "a + b");
  EXPECT_EQ(text(sum.rhs->range), "c[i] @ (r)");
  const auto &at = cast<AtExpr>(*sum.rhs);
  EXPECT_EQ(text(at.base->range), "c[i]");
  EXPECT_EQ(text(at.rank->range), "r");
}

TEST_F(ParserTest, RangesOfStatementsAndDeclarations) {
  const File &file = parse("def f(ranks g[n], k) {\n"
                           "  hop: for i in 0 .. n, j in g if i != j { f(g) }\n"
                           "  tmp x[2] : f32 = in\n"
                           "}");
  const auto &def = cast<ProcedureDecl>(*file.decls[0]);
  EXPECT_TRUE(text(def.range).starts_with("def f("));
  EXPECT_TRUE(text(def.range).ends_with("}"));
  EXPECT_EQ(text(def.name.range), "f");
  EXPECT_EQ(text(def.params[0].range), "ranks g[n]");
  const auto &loop = cast<ForStmt>(*def.body->stmts[0]);
  EXPECT_EQ(text(loop.range), "for i in 0 .. n, j in g if i != j { f(g) }");
  EXPECT_EQ(text(loop.label.range), "hop");
  EXPECT_EQ(text(loop.iters.range), "i in 0 .. n, j in g if i != j");
  const auto &tmp = cast<TmpStmt>(*def.body->stmts[1]);
  EXPECT_EQ(text(tmp.range), "tmp x[2] : f32 = in");
  EXPECT_EQ(text(tmp.type.range), "f32");
}

TEST_F(ParserTest, DepthIsTheLongestPath) {
  EXPECT_EQ(parseLet("let x = 1").depth, 1u);
  EXPECT_EQ(parseLet("let x = a + b + c + d").depth, 4u);
  EXPECT_EQ(parseLet("let x = f(a[i + 1] for i in 0 .. n if i < 2 * n)").depth,
            4u);
}

TEST_F(ParserTest, ATreeAfterErrorsIsWhole) {
  const File &file =
      parse("let a = ]\n"
            "def f() { copy in -> out copy in copy -> 1\n f() }\n"
            "let b = 0x1\n"
            "schedule s(ranks N) : c { copy in -> }\n");
  EXPECT_TRUE(file.hasErrors);
  ASSERT_EQ(file.decls.size(), 4u);
  EXPECT_TRUE(llvm::isa<ErrorExpr>(cast<LetDecl>(file.decls[0])->value));
  EXPECT_EQ(cast<ProcedureDecl>(file.decls[1])->body->stmts.size(), 2u);
  EXPECT_TRUE(llvm::isa<ErrorExpr>(cast<LetDecl>(file.decls[2])->value));
  EXPECT_TRUE(cast<ScheduleDecl>(file.decls[3])->body->stmts.empty());
}

TEST_F(ParserTest, TheLastFileOfAProgramIsTheOneAskedFor) {
  FileId id = sources.add("main.coll", "import \"tree.coll\"");
  Program program = loadProgram(sources, id, diags);
  EXPECT_FALSE(program.hasErrors);
  ASSERT_EQ(program.files.size(), 3u);
  EXPECT_EQ(sources.file(program.files[0]->id).name(),
            "<library>/prelude.coll");
  EXPECT_TRUE(sources.file(program.files[1]->id).isLibrary());
  EXPECT_EQ(program.files[2].get(), program.main);
  EXPECT_EQ(program.main->id, id);
}

TEST_F(ParserTest, TextInMemoryImportsFromTheLibraryOnly) {
  FileId id = sources.add("main.coll", "import \"passwd\"");
  Program program = loadProgram(sources, id, diags);
  EXPECT_TRUE(program.hasErrors);
  EXPECT_TRUE(program.unreadable);
  EXPECT_NE(program.main, nullptr);
}

TEST_F(ParserTest, AProgramWithoutItsMainFileHasNone) {
  Program program = loadProgram(sources, "/no/such/file.coll", diags);
  EXPECT_EQ(program.main, nullptr);
  EXPECT_TRUE(program.unreadable);
  EXPECT_TRUE(program.hasErrors);
  EXPECT_EQ(diags.errorCount(), 1u);
}

TEST_F(ParserTest, TokensMadeAgainAreTheSame) {
  FileId id = sources.add("a.coll", "let x = $ y // 2\n/// Doc.\nlet z = 1");
  Lexer lexer(sources, id);
  for (int i = 0; i < 8; ++i)
    lexer.next();
  lexer.restartAt(0);
  EXPECT_FALSE(lexer.hasErrors());
  std::string kinds;
  Lexeme token;
  do {
    token = lexer.next();
    kinds += lexer.text(token).str() + (token.startsLine ? "^ " : " ");
    if (token.hasDoc)
      EXPECT_EQ(lexer.doc(token), "Doc.");
  } while (token.kind != Token::EndOfFile);
  EXPECT_EQ(kinds, "let^ x = y let^ z = 1  ");
  EXPECT_EQ(lexer.takeErrors(100).size(), 1u);
}

} // namespace
