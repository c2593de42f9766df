//===- ParserImpl.h - The parser's inside -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive-descent parser with three tokens in view. One function per rule
// of the grammar, named after it.
//
// Errors. `report` says what is wrong and goes on as if it were right: for
// foreign spellings, whose meaning is plain. `fail` starts a panic: nothing
// more is reported, loops end, all functions return, until somebody who knows
// where to go on (the list of statements, of clauses, of declarations) skips to
// a token that starts the next piece and ends the panic.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_FRONTEND_PARSERIMPL_H
#define COLL_LIB_FRONTEND_PARSERIMPL_H

#include "lib/Frontend/Lexer.h"
#include "lib/Frontend/Parser.h"
#include "lib/Frontend/Precedence.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

#include <array>

namespace coll {

class Parser {
public:
  Parser(const SourceManager &sources, FileId id, DiagnosticEngine &diags);
  std::unique_ptr<File> parse();

private:
  class Nest;
  template <typename T> using List = llvm::SmallVector<T, 8>;

  // Tokens (Parser.cpp).
  const Lexeme &tok() const { return window[0]; }
  const Lexeme &peek(unsigned ahead = 1) const { return window[ahead]; }
  bool at(Token kind) const { return tok().kind == kind; }
  bool atWord(llvm::StringRef word) const;
  void advance();
  void fillWindow();
  void reportLexical();
  bool consume(Token kind);
  bool consumeWord(llvm::StringRef word);
  llvm::StringRef text(const Lexeme &token) const { return lexer.text(token); }
  llvm::StringRef text(SourceRange range) const;
  SourceRange here() const { return lexer.range(tok()); }
  SourceRange afterPrevious() const;
  /// From offset `begin` to the end of the token before this one.
  SourceRange since(uint32_t begin) const;
  llvm::StringRef doc(const Lexeme &token);
  std::string describe(const Lexeme &token) const;

  // Errors and recovery (Parser.cpp).
  InFlight report(Slug slug, SourceRange range, const llvm::Twine &message);
  InFlight fail(Slug slug, SourceRange range, const llvm::Twine &message);
  InFlight expected(const llvm::Twine &what);
  bool expect(Token kind);
  bool expectClosing(Token kind, const Lexeme &open);
  Ident expectName(const llvm::Twine &what);
  bool startsDeclaration() const;
  bool startsStatement() const;
  void skipToStatement();
  void skipToDeclaration();
  void skipToClause(llvm::function_ref<bool()> startsClause);
  bool skipToBlock();

  // Nodes.
  template <typename T, typename... Args> T *make(Args &&...args) {
    return new (file->arena.Allocate<T>()) T(std::forward<Args>(args)...);
  }
  template <typename T> llvm::ArrayRef<T> save(llvm::ArrayRef<T> list) {
    return list.copy(file->arena);
  }
  template <typename T> llvm::ArrayRef<T> save(const List<T> &list) {
    return save(llvm::ArrayRef<T>(list));
  }
  /// Gives `expr` its depth; `children` may contain null.
  template <typename T> T *finish(T *expr, llvm::ArrayRef<Expr *> children);
  void setDepth(Expr *expr, llvm::ArrayRef<Expr *> children);
  bool fits(size_t length, SourceRange range);

  // Expressions (ParserExpr.cpp).
  struct Operator {
    BinaryOp op;
    enum class Source : uint8_t { Token, Foreign, Comment } source;
  };
  Expr *parseExpr();
  Expr *parseLogic(unsigned minPrecedence);
  Expr *parseNot();
  Expr *parseComparison();
  Expr *parseRange();
  Expr *parseBits(unsigned minPrecedence);
  Expr *parseBitsTail(uint32_t begin, Expr *lhs, unsigned minPrecedence);
  Expr *parseUnary();
  Expr *parsePlace();
  Expr *parseRank();
  Expr *parseIndexing(Expr *base, uint32_t begin);
  Expr *parseAtom();
  Expr *parseName();
  Expr *parseCall();
  Expr *parseParenthesis();
  Expr *parseList();
  Expr *parseIndex();
  Expr *parseInteger();
  Expr *parseFloat();
  Expr *makeBinary(uint32_t begin, BinaryOp op, SourceRange opRange, Expr *lhs,
                   Expr *rhs);
  Expr *errorExpr() { return make<ErrorExpr>(here()); }
  llvm::ArrayRef<Expr *> parseArgs();
  llvm::ArrayRef<Expr *> parseBracketed();
  llvm::ArrayRef<Expr *> parseParenthesized();
  Iterators parseIterators();

  // Foreign spellings (ParserSpelling.cpp).
  std::optional<Operator> bitsOperator() const;
  std::optional<Operator> logicOperator() const;
  std::optional<Operator> comparisonOperator() const;
  /// At an operator that is surely none behind a place: no comment.
  bool atOperator() const {
    return !previous.divisionComment && bitsOperator();
  }
  SourceRange consumeOperator(Operator op);
  bool isForeignWord(llvm::StringRef word) const;
  bool definesProcedure(llvm::StringRef name) const;
  Expr *parseForeignRange();
  Stmt *parseForeignStmt();
  Stmt *parseAssignment(uint32_t begin, Expr *place);
  bool expectArrow();
  bool expectLink(Token word);
  void checkPlaceEnds(Expr *place);
  void badIntegerSuffix(SourceRange range, llvm::StringRef digits,
                        llvm::StringRef suffix);

  // Statements (ParserStmt.cpp).
  Stmt *parseStmt();
  Stmt *parseUnlabelled();
  Stmt *parseTransfer();
  Stmt *parseTmp();
  LetDecl *parseLet();
  Stmt *parseIf();
  Stmt *parseElse();
  Stmt *parseFor();
  Stmt *parseGroup();
  Stmt *parseOn();
  Stmt *parseSend();
  Stmt *parseRecv();
  Stmt *parseCallStmt();
  BlockStmt *parseBlock();
  BlockStmt *parseHeadedBlock();
  void parseStmts(List<Stmt *> &stmts);
  void closeBlock(const Lexeme &open);
  TypeRef parseVia();
  TypeRef parseType();
  Stmt *parseMisplaced();

  // Declarations (ParserDecl.cpp, ParserSchedule.cpp).
  void parseDeclaration();
  void parseImport();
  Decl *parseContract();
  Clause *parseClause();
  Clause *parseParts();
  Clause *parseEquation();
  Clause *parseArgClause();
  Clause *parseLaunchClause();
  Clause *parseRequire();
  Decl *parseProcedure();
  ProcedureParam parseProcedureParam();
  Decl *parseFunction();
  ArgKind parseArgKind();
  Ident parseContractName();
  llvm::ArrayRef<Ident> parseNames(const llvm::Twine &what);
  llvm::ArrayRef<Expr *> parseWhere();
  Decl *parseSchedule();
  void parseScheduleBody(ScheduleDecl *schedule);
  void parseChunks(ScheduleDecl *schedule);
  ScheduleParam parseScheduleParam();
  const MapBlock *parseMap();
  const MapBlock *parseMapBlock();
  bool parseMapItem(MapItem &item);
  llvm::ArrayRef<Expr *> parseDirectiveArgs();

  const SourceManager &sources;
  DiagnosticEngine &diags;
  Lexer lexer;
  std::unique_ptr<File> file;

  std::array<Lexeme, 3> window;
  Lexeme previous;
  bool panic = false;
  bool givenUp = false;    ///< a panic that lasts to the next declaration
  bool inFunction = false; ///< where fractions are right
  unsigned nesting = 0;
  /// Brackets and parentheses that are open where a panic began.
  unsigned openBrackets = 0;
  /// Where the rank of the place that was parsed last begins.
  uint32_t lastRankBegin = 0;
  /// Reserved words that were used as names, for which one error is enough.
  llvm::StringSet<> misusedWords;
  /// In this declaration: an opening brace whose closing one stands at another
  /// indentation (its begin is what counts; EndOfFile: none), and whether the
  /// end of the declaration was found missing.
  Lexeme suspect;
  bool reportedUnclosed = false;

  List<Decl *> decls;
  List<ImportDecl *> imports;
};

/// Counts the nesting of what is being parsed; false: too deep, and said so.
class Parser::Nest {
public:
  explicit Nest(Parser &parser);
  ~Nest() { --parser.nesting; }
  Nest(const Nest &) = delete;
  explicit operator bool() const { return fits; }

private:
  Parser &parser;
  bool fits;
};

template <typename T>
T *Parser::finish(T *expr, llvm::ArrayRef<Expr *> children) {
  setDepth(expr, children);
  return expr;
}

} // namespace coll

#endif // COLL_LIB_FRONTEND_PARSERIMPL_H
