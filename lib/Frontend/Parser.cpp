//===- Parser.cpp - Tokens, errors and recovery of the parser -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all rules of the grammar share (ParserImpl.h describes the whole): the
// window of tokens, the wording of errors, and where to go on after one.
//
// To go on after an error in a statement, tokens are skipped to one that starts
// a statement or ends the block. A keyword at the start of a line is believed
// even inside brackets, since the closing bracket may be what is missing;
// `for`, `if` and `reduce`, which also stand in expressions, only outside of
// them.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/ParserImpl.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

std::unique_ptr<File> coll::parseFile(const SourceManager &sources, FileId file,
                                      DiagnosticEngine &diags) {
  return Parser(sources, file, diags).parse();
}

Parser::Parser(const SourceManager &sources, FileId id, DiagnosticEngine &diags)
    : sources(sources), diags(diags), lexer(sources, id),
      file(std::make_unique<File>(id)) {}

std::unique_ptr<File> Parser::parse() {
  unsigned errorsBefore = diags.errorCount();
  fillWindow();
  while (!at(Token::EndOfFile)) {
    if (consume(Token::Semicolon))
      continue;
    parseDeclaration();
  }
  file->decls = save(decls);
  file->imports = save(imports);
  file->hasErrors = diags.errorCount() != errorsBefore;
  return std::move(file);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void Parser::fillWindow() {
  for (Lexeme &token : window)
    token = lexer.next();
  reportLexical();
}

/// Tells what is wrong with the text up to the end of the current token.
void Parser::reportLexical() {
  if (lexer.hasErrors())
    for (Diagnostic &error : lexer.takeErrors(tok().end + 1))
      diags.emit(std::move(error));
}

void Parser::advance() {
  previous = window[0];
  std::rotate(window.begin(), window.begin() + 1, window.end());
  window.back() = lexer.next();
  reportLexical();
  if (diags.isFull()) {
    // Nobody will see what else is wrong.
    panic = true;
    Lexeme end;
    end.begin = end.end = lexer.text().size();
    window.fill(end);
    lexer.restartAt(end.begin);
  }
}

bool Parser::atWord(StringRef word) const {
  return at(Token::Identifier) && text(tok()) == word;
}

bool Parser::consume(Token kind) {
  if (!at(kind))
    return false;
  if (kind == Token::LParen || kind == Token::LBracket)
    ++openBrackets;
  else if ((kind == Token::RParen || kind == Token::RBracket) && openBrackets)
    --openBrackets;
  advance();
  return true;
}

bool Parser::consumeWord(StringRef word) {
  if (!atWord(word))
    return false;
  advance();
  return true;
}

StringRef Parser::text(SourceRange range) const { return sources.text(range); }

SourceRange Parser::afterPrevious() const {
  return lexer.range(previous.end, previous.end);
}

SourceRange Parser::since(uint32_t begin) const {
  return lexer.range(begin, std::max(begin, previous.end));
}

StringRef Parser::doc(const Lexeme &token) {
  return token.hasDoc ? StringRef(lexer.doc(token)).copy(file->arena) : "";
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string Parser::describe(const Lexeme &token) const {
  constexpr size_t shown = 40;
  StringRef words = text(token);
  switch (token.kind) {
  case Token::EndOfFile:
    return "the end of the file";
  case Token::String:
    return "a string";
  default:
    if (words.size() > shown)
      return ("'" + words.take_front(shown) + "...'").str();
    return ("'" + words + "'").str();
  }
}

InFlight Parser::report(Slug slug, SourceRange range, const Twine &message) {
  if (panic)
    return {};
  return diags.error(slug, range, message);
}

InFlight Parser::fail(Slug slug, SourceRange range, const Twine &message) {
  if (panic)
    return {};
  panic = true;
  return diags.error(slug, range, message);
}

/// Fails, since the current token is not `what`.
InFlight Parser::expected(const Twine &what) {
  if (misusedWords.contains(text(tok()))) {
    panic = true;
    return {};
  }
  // What starts on the next line is rarely to blame for what this one lacks.
  bool lineEnds =
      tok().startsLine && previous.end > 0 &&
      (startsStatement() || startsDeclaration() || at(Token::LBrace) ||
       at(Token::RBrace) || at(Token::EndOfFile));
  if (lineEnds)
    return fail(Slug::SyntaxError, afterPrevious(),
                "the line ends where " + what + " should be");
  return fail(Slug::SyntaxError, here(),
              describe(tok()) + " where " + what + " should be");
}

bool Parser::expect(Token kind) {
  if (consume(kind))
    return true;
  expected("'" + spelling(kind) + "'").emit();
  return false;
}

/// Expects the bracket that closes `open`, behind an element of a list.
bool Parser::expectClosing(Token kind, const Lexeme &open) {
  if (consume(kind))
    return true;
  // What follows could not stand inside of brackets.
  bool ends = at(Token::EndOfFile) || startsDeclaration() ||
              (tok().startsLine && startsStatement()) || at(Token::LBrace) ||
              at(Token::RBrace) || at(Token::Arrow) || at(Token::KwVia) ||
              at(Token::KwTo) || at(Token::KwFrom);
  if (ends)
    fail(Slug::Unclosed, lexer.range(open), describe(open) + " is not closed")
        .note(afterPrevious(),
              "'" + spelling(kind) + "' should be here, or before");
  else
    expected("',' or '" + spelling(kind) + "'")
        .note(lexer.range(open), "the list that starts here");
  return false;
}

/// A word of the language in a name's place is reported, and taken for one.
Ident Parser::expectName(const Twine &what) {
  Ident name;
  bool isWord = isReservedWord(tok().kind);
  // A word that starts a line or what should follow the name is no name.
  if (at(Token::Identifier) || (isWord && !tok().startsLine)) {
    name = {text(tok()), here()};
    if (isWord) {
      report(Slug::ReservedWord, here(),
             describe(tok()) + " is a word of the language, where " + what +
                 " should be")
          .emit();
      misusedWords.insert(name.text);
    }
    advance();
    return name;
  }
  expected(what).emit();
  return name;
}

bool Parser::fits(size_t length, SourceRange range) {
  if (length <= maxListLength)
    return true;
  fail(Slug::ListTooLong, range,
       "a list of more than " + Twine(maxListLength) + " elements")
      .emit();
  return false;
}

Parser::Nest::Nest(Parser &parser)
    : parser(parser), fits(++parser.nesting <= maxNesting) {
  if (fits)
    return;
  parser
      .fail(Slug::NestingTooDeep, parser.here(),
            "this is nested more than " + Twine(maxNesting) + " deep")
      .emit();
  // What comes next is as deep, or ends blocks that have not been read.
  parser.givenUp = true;
}

void Parser::setDepth(Expr *expr, ArrayRef<Expr *> children) {
  for (Expr *child : children)
    if (child)
      expr->depth = std::max(expr->depth, child->depth + 1);
  if (expr->depth > maxExprDepth)
    fail(Slug::NestingTooDeep, expr->range,
         "an expression of more than " + Twine(maxExprDepth) +
             " operators, one inside the other")
        .emit();
}

//===----------------------------------------------------------------------===//
// Going on after an error
//===----------------------------------------------------------------------===//

/// `let` is left out: it starts a statement too.
bool Parser::startsDeclaration() const {
  switch (tok().kind) {
  case Token::KwImport:
  case Token::KwSchedule:
  case Token::KwContract:
  case Token::KwDef:
  case Token::KwFn:
    return true;
  default:
    return false;
  }
}

bool Parser::startsStatement() const {
  switch (tok().kind) {
  case Token::KwCopy:
  case Token::KwReduce:
  case Token::KwTmp:
  case Token::KwLet:
  case Token::KwIf:
  case Token::KwFor:
  case Token::KwGroup:
  case Token::KwOn:
  case Token::KwSend:
  case Token::KwRecv:
  case Token::KwMap:
    return true;
  case Token::Identifier:
    return peek().kind == Token::LParen || peek().kind == Token::Colon;
  default:
    return false;
  }
}

void Parser::skipToStatement() {
  if (givenUp)
    return;
  int brackets = openBrackets;
  unsigned braces = 0;
  for (; !at(Token::EndOfFile) && !startsDeclaration(); advance()) {
    if (braces == 0) {
      if (at(Token::RBrace) || (at(Token::Semicolon) && brackets <= 0) ||
          (at(Token::LBrace) && tok().startsLine))
        break;
      bool alsoInExpressions = at(Token::KwFor) || at(Token::KwIf) ||
                               at(Token::KwReduce) || at(Token::Identifier);
      bool startsPiece = startsStatement() || at(Token::Identifier);
      if (startsPiece &&
          (alsoInExpressions ? tok().startsLine && brackets <= 0
                             : tok().startsLine || brackets <= 0))
        break;
    }
    braces += at(Token::LBrace);
    braces -= at(Token::RBrace);
    brackets += at(Token::LParen) || at(Token::LBracket);
    brackets -= at(Token::RParen) || at(Token::RBracket);
  }
  panic = diags.isFull();
}

void Parser::skipToDeclaration() {
  unsigned braces = 0;
  for (; !at(Token::EndOfFile) && !startsDeclaration(); advance()) {
    if (braces == 0 && at(Token::KwLet) && !givenUp)
      break;
    braces += at(Token::LBrace);
    braces -= at(Token::RBrace) && braces > 0;
  }
  panic = diags.isFull();
}

/// Skips to the end of the block, or to what starts another piece of it.
void Parser::skipToClause(llvm::function_ref<bool()> startsClause) {
  if (givenUp)
    return;
  unsigned braces = 0;
  for (; !at(Token::EndOfFile) && !startsDeclaration(); advance()) {
    if (braces == 0 &&
        (at(Token::RBrace) || at(Token::Semicolon) || startsClause()))
      break;
    braces += at(Token::LBrace);
    braces -= at(Token::RBrace);
  }
  panic = diags.isFull();
}

/// After an error in the head of a loop, a schedule and the like: skips to the
/// block, if it is found before something else starts. Its errors are others.
bool Parser::skipToBlock() {
  if (!panic || givenUp)
    return !panic && at(Token::LBrace);
  while (!at(Token::LBrace)) {
    if (at(Token::EndOfFile) || at(Token::RBrace) || startsDeclaration() ||
        (tok().startsLine && startsStatement()))
      return false;
    advance();
  }
  panic = diags.isFull();
  openBrackets = 0;
  return !panic;
}
