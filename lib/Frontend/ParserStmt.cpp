//===- ParserStmt.cpp - Parsing statements and blocks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements return null if they could not be saved. A loop or condition whose
// head is wrong still has its block parsed, for the sake of the errors in it.
//
// A block that is never closed is noticed far from where a brace is missing, at
// the next declaration or the end. The likely culprit is an inner block whose
// closing brace stands at another indentation than its opening line: it took
// the brace that was meant for a block around it.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/ParserImpl.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringSwitch.h"

using namespace coll;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Blanks before the first token of the line on which `token` stands.
static unsigned indentation(const SourceFile &file, const Lexeme &token) {
  StringRef line = file.lineText(file.position(token.begin).line);
  return line.size() - line.ltrim(" \t").size();
}

/// Ends the block that `open` began; says so if it does not end.
void Parser::closeBlock(const Lexeme &open) {
  const SourceFile &source = sources.file(file->id);
  if (at(Token::RBrace)) {
    if (tok().startsLine && suspect.kind == Token::EndOfFile &&
        indentation(source, tok()) != indentation(source, open))
      suspect = open;
    advance();
    return;
  }
  if (reportedUnclosed)
    return;
  reportedUnclosed = true;
  auto error = report(Slug::Unclosed, lexer.range(open),
                      "the block that starts here is not closed");
  error.note(here(), at(Token::EndOfFile) ? "the file ends here"
                                          : "a declaration starts here");
  if (suspect.kind != Token::EndOfFile && suspect.begin != open.begin)
    error.note(lexer.range(suspect), "the block that starts here is closed at "
                                     "another indentation");
}

/// block = "{" { stmt } "}"
BlockStmt *Parser::parseBlock() {
  Lexeme open = tok();
  if (!at(Token::LBrace)) {
    expected("a block, '{',").emit();
    return nullptr;
  }
  Nest nest(*this);
  if (!nest)
    return nullptr;
  advance();
  List<Stmt *> stmts;
  parseStmts(stmts);
  closeBlock(open);
  return make<BlockStmt>(since(open.begin), save(stmts));
}

/// The block behind a head that may have failed.
BlockStmt *Parser::parseHeadedBlock() {
  if (panic && !skipToBlock())
    return nullptr;
  return parseBlock();
}

/// Statements up to what ends a block or cannot stand in one.
void Parser::parseStmts(List<Stmt *> &stmts) {
  while (!panic && !at(Token::RBrace) && !at(Token::EndOfFile) &&
         !startsDeclaration()) {
    if (at(Token::KwMap)) {
      // The map of a schedule is parsed by the schedule, at nesting 0.
      if (nesting == 0)
        return;
      parseMisplaced();
      continue;
    }
    if (consume(Token::Semicolon))
      continue;
    if (at(Token::Comma)) {
      report(Slug::SyntaxError, here(), "',' between statements")
          .fix(here(), "", "remove it");
      advance();
      continue;
    }
    uint32_t begin = tok().begin;
    openBrackets = 0;
    if (Stmt *stmt = parseStmt())
      stmts.push_back(stmt);
    if (panic) {
      if (tok().begin == begin)
        advance();
      skipToStatement();
    }
  }
}

/// A map or chunks clause among statements: reads it, to go on behind it.
Stmt *Parser::parseMisplaced() {
  bool isMap = at(Token::KwMap);
  report(Slug::Misplaced, here(),
         isMap ? "'map' inside of a block" : "'chunks' behind a statement")
      .help(here(), isMap ? "'map' is the last clause of a schedule"
                          : "'chunks' is the first clause of a schedule");
  advance();
  if (isMap)
    parseMapBlock();
  else
    (void)parseArgs();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// stmt = [ ID ":" ] ( ... )
Stmt *Parser::parseStmt() {
  StringRef documentation = doc(tok());
  Ident label;
  while (peek().kind == Token::Colon && !panic) {
    if (label)
      fail(Slug::SyntaxError, here(), "a second label for one statement")
          .note(label.range, "the first");
    label = expectName("a label");
    expect(Token::Colon);
  }
  Stmt *stmt = panic ? nullptr : parseUnlabelled();
  if (stmt) {
    stmt->label = label;
    stmt->doc = documentation;
  }
  return stmt;
}

Stmt *Parser::parseUnlabelled() {
  uint32_t begin = tok().begin;
  switch (tok().kind) {
  case Token::KwCopy:
  case Token::KwReduce:
    return parseTransfer();
  case Token::KwTmp:
    return parseTmp();
  case Token::KwLet: {
    LetDecl *let = parseLet();
    return let ? make<LetStmt>(since(begin), let) : nullptr;
  }
  case Token::KwIf:
    return parseIf();
  case Token::LBrace:
    return parseBlock();
  case Token::KwFor:
    return parseFor();
  case Token::KwGroup:
    return parseGroup();
  case Token::KwOn:
    return parseOn();
  case Token::KwSend:
    return parseSend();
  case Token::KwRecv:
    return parseRecv();
  case Token::Identifier:
    if (peek().kind == Token::LParen)
      return parseCallStmt();
    return parseForeignStmt();
  default:
    return parseForeignStmt();
  }
}

/// transfer = ( "copy" | "reduce" ) expr "->" place [ "via" type ]
Stmt *Parser::parseTransfer() {
  uint32_t begin = tok().begin;
  bool isReduce = consume(Token::KwReduce);
  if (!isReduce)
    advance();
  uint32_t valueBegin = tok().begin;
  Expr *value = parseExpr();
  // `copy x <- v` has been read as the comparison x < -v.
  auto *less = llvm::dyn_cast<BinaryExpr>(value);
  auto *minus = less && less->op == BinaryOp::Lt
                    ? llvm::dyn_cast<UnaryExpr>(less->rhs)
                    : nullptr;
  if (!panic && minus && !at(Token::Arrow) &&
      minus->range.begin == less->opRange.end) {
    StringRef place = text(less->lhs->range);
    StringRef moved = text(minus->operand->range);
    report(Slug::WrongSpelling,
           lexer.range(less->opRange.begin, minus->range.begin + 1),
           "'<-' is no operator of coll")
        .fix(since(valueBegin), (moved + " -> " + place).str(),
             "what is moved stands first");
    return make<TransferStmt>(since(begin), isReduce, minus->operand, less->lhs,
                              parseVia());
  }
  if (panic || !expectArrow())
    return nullptr;
  Expr *place = parsePlace();
  checkPlaceEnds(place);
  TypeRef via = parseVia();
  return panic ? nullptr
               : make<TransferStmt>(since(begin), isReduce, value, place, via);
}

/// [ "via" type ]
TypeRef Parser::parseVia() {
  if (panic || !consume(Token::KwVia))
    return {};
  return parseType();
}

TypeRef Parser::parseType() {
  using Type = std::optional<ElementType>;
  SourceRange range = here();
  StringRef word = text(tok());
  if (!at(Token::Identifier)) {
    expected("an element type").emit();
    return {};
  }
  advance();
  Type type = llvm::StringSwitch<Type>(word)
                  .Case("T", ElementType::T)
                  .Case("accum", ElementType::Accum)
                  .Case("f16", ElementType::F16)
                  .Case("bf16", ElementType::BF16)
                  .Case("f32", ElementType::F32)
                  .Case("f64", ElementType::F64)
                  .Case("e4m3", ElementType::E4M3)
                  .Case("e5m2", ElementType::E5M2)
                  .Case("mxe4m3", ElementType::MXE4M3)
                  .Default(std::nullopt);
  if (type)
    return {*type, range};
  Type meant =
      llvm::StringSwitch<Type>(word.lower())
          .Case("t", ElementType::T)
          .Cases({"fp16", "half", "float16"}, ElementType::F16)
          .Cases({"bfloat16", "bfloat"}, ElementType::BF16)
          .Cases({"fp32", "float", "float32", "single"}, ElementType::F32)
          .Cases({"fp64", "double", "float64"}, ElementType::F64)
          .Cases({"fp8_e4m3", "f8e4m3", "f8e4m3fn"}, ElementType::E4M3)
          .Cases({"fp8_e5m2", "f8e5m2"}, ElementType::E5M2)
          .Cases({"mxfp8", "mxfp8_e4m3"}, ElementType::MXE4M3)
          .Default(std::nullopt);
  auto error =
      report(Slug::UnknownType, range, "'" + word + "' is no element type");
  if (meant)
    error.fix(range, spelling(*meant), "write '" + spelling(*meant) + "'");
  return {meant.value_or(ElementType::T), range};
}

/// tmp = "tmp" ID [ "[" args "]" ] [ ":" type ] [ "=" place ]
Stmt *Parser::parseTmp() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = expectName("the name of a tmp");
  llvm::ArrayRef<Expr *> shape;
  if (!panic && at(Token::LBracket))
    shape = parseBracketed();
  TypeRef type;
  if (!panic && consume(Token::Colon))
    type = parseType();
  Expr *init = nullptr;
  if (!panic && consume(Token::Equal)) {
    init = parsePlace();
    if (!panic && atOperator())
      fail(Slug::SyntaxError, here(),
           describe(tok()) + " behind the place that a tmp is copied from")
          .help(here(), "declare the tmp without '=', then copy the value");
  }
  if (!panic && at(Token::Colon)) {
    report(Slug::Misplaced, here(), "the type of a tmp behind its value")
        .help(name.range, "it stands before the '='");
    advance();
    type = parseType();
  }
  if (!panic && at(Token::Comma))
    fail(Slug::SyntaxError, here(), "',' behind a tmp, which declares one name")
        .emit();
  return panic ? nullptr : make<TmpStmt>(since(begin), name, shape, type, init);
}

/// let = "let" ID [ "(" ids ")" ] "=" expr
LetDecl *Parser::parseLet() {
  uint32_t begin = tok().begin;
  StringRef documentation = doc(tok());
  advance();
  Ident name = expectName("the name of a let");
  bool isFunction = !panic && at(Token::LParen);
  llvm::ArrayRef<Ident> params;
  if (isFunction)
    params = parseNames("a parameter");
  if (!panic && at(Token::EqualEqual)) {
    report(Slug::WrongSpelling, here(), "'==' compares")
        .fix(here(), "=", "a let has '='");
    advance();
  } else if (!panic) {
    expect(Token::Equal);
  }
  if (panic)
    return nullptr;
  Expr *value = parseExpr();
  auto *let = make<LetDecl>(since(begin), name, isFunction, params, value);
  let->doc = documentation;
  return let;
}

/// if = "if" expr block [ "else" ( if | block ) ]
Stmt *Parser::parseIf() {
  uint32_t begin = tok().begin;
  advance();
  Expr *condition = parseExpr();
  if (!panic && atWord("then")) {
    report(Slug::WrongSpelling, here(), "'then' behind a condition")
        .fix(here(), "", "remove it");
    advance();
  }
  BlockStmt *thenBlock = parseHeadedBlock();
  Stmt *elseStmt = panic ? nullptr : parseElse();
  if (!thenBlock)
    return nullptr;
  return make<IfStmt>(since(begin), condition, thenBlock, elseStmt);
}

Stmt *Parser::parseElse() {
  Nest nest(*this);
  if (!nest)
    return nullptr;
  bool isForeign = atWord("elif") || atWord("elseif") || atWord("elsif");
  if (isForeign &&
      (peek().kind != Token::LParen || !definesProcedure(text(tok())))) {
    report(Slug::WrongSpelling, here(), describe(tok()) + " is no word of coll")
        .fix(here(), "else if", "write 'else if'");
    return parseIf();
  }
  if (!consume(Token::KwElse))
    return nullptr;
  return at(Token::KwIf) ? parseIf() : parseBlock();
}

/// "for" iters block
Stmt *Parser::parseFor() {
  uint32_t begin = tok().begin;
  advance();
  Iterators iters = parseIterators();
  BlockStmt *body = parseHeadedBlock();
  return body ? make<ForStmt>(since(begin), iters, body) : nullptr;
}

/// "group" stmt
Stmt *Parser::parseGroup() {
  uint32_t begin = tok().begin;
  Nest nest(*this);
  if (!nest)
    return nullptr;
  advance();
  Stmt *body = parseStmt();
  return body ? make<GroupStmt>(since(begin), body) : nullptr;
}

/// "on" ID "in" expr [ "buffer" expr ] block
Stmt *Parser::parseOn() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = expectName("the name of a rank");
  Expr *ranks = nullptr;
  if (!panic && expect(Token::KwIn))
    ranks = parseExpr();
  Expr *buffer = nullptr;
  if (!panic && consumeWord("buffer"))
    buffer = parseExpr();
  BlockStmt *body = parseHeadedBlock();
  if (!body || !ranks)
    return nullptr;
  return make<OnStmt>(since(begin), name, ranks, buffer, body);
}

/// "send" expr "to" expr [ "via" type ]
Stmt *Parser::parseSend() {
  uint32_t begin = tok().begin;
  advance();
  Expr *value = parseExpr();
  if (panic || !expectLink(Token::KwTo))
    return nullptr;
  Expr *to = parseExpr();
  TypeRef via = parseVia();
  return panic ? nullptr : make<SendStmt>(since(begin), value, to, via);
}

/// "recv" [ "reduce" ] place "from" expr
Stmt *Parser::parseRecv() {
  uint32_t begin = tok().begin;
  advance();
  bool isReduce = consume(Token::KwReduce);
  Expr *place = parsePlace();
  checkPlaceEnds(place);
  if (panic || !expectLink(Token::KwFrom))
    return nullptr;
  Expr *from = parseExpr();
  if (!panic && at(Token::KwVia)) {
    report(Slug::Misplaced, here(), "'via' on a recv")
        .help(here(), "the send says how its message travels");
    parseVia();
  }
  return panic ? nullptr : make<RecvStmt>(since(begin), isReduce, place, from);
}

/// ID "(" [ args ] ")"
Stmt *Parser::parseCallStmt() {
  uint32_t begin = tok().begin;
  Ident callee = {text(tok()), here()};
  advance();
  llvm::ArrayRef<Expr *> args = parseParenthesized();
  return panic ? nullptr : make<CallStmt>(since(begin), callee, args);
}
