//===- Lexer.cpp - From .coll text to tokens ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text is checked to be UTF-8 once, at the start; after that a byte above
// 0x7F can only stand in a comment or a string, and all else is ASCII.
//
// Division is the one foreign spelling that cannot be seen in the tokens: in
// `let h = n // 2` the rest of the line is a comment, and a right one. So a
// comment behind a token is looked at: if all of it reads as the right-hand
// side of a division, of numbers and of names used just before, the token says
// so, and a parser that stands behind a complete operand may complain.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Lexer.h"

#include "lib/Frontend/AST.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"

using namespace coll;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

StringRef coll::spelling(Token token) {
  switch (token) {
  case Token::EndOfFile:
  case Token::Identifier:
  case Token::Integer:
  case Token::Float:
  case Token::String:
    return "";
#define COLL_WORD(NAME, TEXT)                                                  \
  case Token::NAME:                                                            \
    return TEXT;
#define COLL_PUNCTUATION(NAME, TEXT) COLL_WORD(NAME, TEXT)
#define COLL_FOREIGN(NAME, TEXT) COLL_WORD(NAME, TEXT)
#include "lib/Frontend/Tokens.def"
  }
  llvm_unreachable("no such token");
}

static Token wordToken(StringRef text) {
  return llvm::StringSwitch<Token>(text)
#define COLL_WORD(NAME, TEXT) .Case(TEXT, Token::NAME)
#include "lib/Frontend/Tokens.def"
      .Default(Token::Identifier);
}

bool coll::isReservedWord(Token token) {
  switch (token) {
#define COLL_WORD(NAME, TEXT) case Token::NAME:
#include "lib/Frontend/Tokens.def"
    return true;
  default:
    return false;
  }
}

static bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool isNameByte(char c) { return llvm::isAlnum(c) || c == '_'; }
static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

//===----------------------------------------------------------------------===//
// The text as a whole, comments and documentation
//===----------------------------------------------------------------------===//

Lexer::Lexer(const SourceManager &sources, FileId file)
    : sources(sources), fileId(file), source(sources.file(file).text()) {
  checkText();
}

Diagnostic &Lexer::error(Slug slug, SourceRange range, const Twine &message) {
  // More than anybody will be shown: do not even look for the rest.
  if (found.size() > maxErrors)
    at = source.size();
  Diagnostic &error = found.emplace_back();
  error.slug = slug;
  error.range = range;
  error.message = message.str();
  return error;
}

std::vector<Diagnostic> Lexer::takeErrors(uint32_t end) {
  auto later = llvm::find_if(
      found, [&](const Diagnostic &error) { return error.range.begin >= end; });
  std::vector<Diagnostic> errors(std::make_move_iterator(found.begin()),
                                 std::make_move_iterator(later));
  found.erase(found.begin(), later);
  return errors;
}

void Lexer::checkText() {
  static constexpr StringRef byteOrderMark = "\xEF\xBB\xBF";
  if (source.starts_with(byteOrderMark)) {
    error(Slug::ByteOrderMark, range(0, byteOrderMark.size()),
          "a byte order mark starts the file")
        .fix(range(0, byteOrderMark.size()), "", "remove it");
    at = byteOrderMark.size();
  }
  const auto *bytes = source.bytes_begin();
  const auto *end = source.bytes_end();
  for (const auto *byte = bytes; byte != end;) {
    if (*byte < 0x80) {
      ++byte;
      continue;
    }
    unsigned length = llvm::getNumBytesForUTF8(*byte);
    if (length <= end - byte &&
        llvm::isLegalUTF8Sequence(byte, byte + length)) {
      byte += length;
      continue;
    }
    badByte = byte - bytes;
    source = source.take_front(*badByte);
    return;
  }
}

void Lexer::encodingError(uint32_t offset) {
  const auto byte = uint8_t(sources.file(fileId).text()[offset]);
  error(Slug::BadEncoding, range(offset, offset + 1),
        "byte 0x" + llvm::utohexstr(byte) +
            " is not UTF-8; the file is read up to here");
}

void Lexer::restartAt(uint32_t offset) {
  at = offset;
  while (!found.empty() && found.back().range.begin >= offset)
    found.pop_back();
  while (!docLines.empty() && docLines.back().range.begin >= offset)
    docLines.pop_back();
}

std::string Lexer::doc(const Lexeme &token) const {
  std::string text;
  if (!token.hasDoc)
    return text;
  const auto *line = llvm::partition_point(
      docLines, [&](const DocLine &doc) { return doc.owner < token.begin; });
  for (; line != docLines.end() && line->owner == token.begin; ++line) {
    if (!text.empty())
      text += '\n';
    StringRef words = source.slice(line->range.begin, line->range.end).rtrim();
    words.consume_front("///");
    words.consume_front(" ");
    text += words;
  }
  return text;
}

void Lexer::lineComment(bool isDoc) {
  uint32_t begin = at;
  size_t end = source.find('\n', at);
  at = end == StringRef::npos ? source.size() : end;
  if (isDoc)
    docLines.push_back({range(begin, at), /*owner=*/~0u});
}

void Lexer::blockComment() {
  uint32_t begin = at;
  size_t end = source.find("*/", at + 2);
  at = end == StringRef::npos ? source.size() : end + 2;
  error(Slug::WrongSpelling, range(begin, begin + 2),
        "'/*' starts no comment; '//' does, to the end of the line");
}

void Lexer::skipBlanks(Lexeme &token) {
  token.startsLine = at == 0;
  while (at < source.size()) {
    char c = source[at];
    if (c == '\n') {
      token.startsLine = true;
      ++at;
    } else if (isBlank(c)) {
      ++at;
    } else if (c == '/' && peek(1) == '/') {
      // "////" is a line drawn across the page, not documentation; and what
      // trails a token is about that token, not about the next.
      lineComment(token.startsLine && peek(2) == '/' && peek(3) != '/');
    } else if (c == '/' && peek(1) == '*') {
      blockComment();
    } else if (c == '#') {
      error(Slug::WrongSpelling, range(at, at + 1),
            "'#' starts no comment; '//' does")
          .fix(range(at, at + 1), "//", "write '//'");
      lineComment(/*isDoc=*/false);
    } else {
      return;
    }
  }
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Lexeme Lexer::next() {
  Lexeme token;
  bool startsLine = false;
  do {
    skipBlanks(token);
    startsLine |= token.startsLine;
    token.begin = at;
    token.kind = at < source.size() ? scan() : Token::EndOfFile;
    // A character that was reported and skipped leaves nothing.
  } while (token.kind == Token::EndOfFile && at < source.size());
  token.startsLine = startsLine;
  if (token.kind == Token::EndOfFile)
    token.begin = at;
  token.end = at;
  if (token.kind == Token::EndOfFile && badByte)
    encodingError(*std::exchange(badByte, std::nullopt));
  for (DocLine &line : llvm::reverse(docLines)) {
    if (line.owner != ~0u)
      break;
    line.owner = token.begin;
    token.hasDoc = true;
  }
  token.divisionComment = divisionCommentAfter(token);
  return token;
}

/// Scans the token at `at`, which is not blank. EndOfFile: there was none.
Token Lexer::scan() {
  char c = peek();
  if (isNameStart(c))
    return word();
  if (llvm::isDigit(c))
    return number();
  if (c == '"' ||
      (c == '\'' && source.slice(at + 1, source.find('\n', at)).contains('\'')))
    return string(c);
  return punctuation();
}

Token Lexer::word() {
  uint32_t begin = at;
  while (isNameByte(peek()))
    ++at;
  if (at - begin > maxNameBytes)
    error(Slug::NameTooLong, range(begin, at),
          "a name of " + Twine(at - begin) + " bytes; the limit is " +
              Twine(maxNameBytes));
  return wordToken(source.slice(begin, at));
}

/// All that looks like one number is one token, so that `0x10` is one mistake;
/// the parser finds its value.
Token Lexer::number() {
  bool isFloat = false;
  while (llvm::isDigit(peek()))
    ++at;
  // "0..n" is a range.
  if (peek() == '.' && llvm::isDigit(peek(1))) {
    isFloat = true;
    ++at;
    while (llvm::isDigit(peek()))
      ++at;
  }
  bool hasExponent =
      llvm::toLower(peek()) == 'e' &&
      (llvm::isDigit(peek(1)) ||
       ((peek(1) == '-' || peek(1) == '+') && llvm::isDigit(peek(2))));
  if (hasExponent) {
    isFloat = true;
    at += 2;
  }
  while (isNameByte(peek()))
    ++at;
  return isFloat ? Token::Float : Token::Integer;
}

Token Lexer::string(char quote) {
  uint32_t begin = at++;
  while (at < source.size() && peek() != quote && peek() != '\n')
    ++at;
  if (peek() != quote) {
    error(Slug::UnterminatedString, range(begin, at),
          "the string is not closed on its line");
    return Token::String;
  }
  ++at;
  StringRef words = source.slice(begin + 1, at - 1);
  if (const auto *bad = llvm::find_if(
          words, [](char c) { return llvm::isASCII(c) && !llvm::isPrint(c); });
      bad != words.end())
    error(Slug::BadCharacter, range(begin, at),
          "the byte 0x" + llvm::utohexstr(uint8_t(*bad)) + " in a string");
  if (quote != '"')
    error(Slug::WrongSpelling, range(begin, at), "a string in single quotes")
        .fix(range(begin, at), ("\"" + words + "\"").str(),
             "strings stand in double quotes");
  if (words.size() > maxNameBytes)
    error(Slug::NameTooLong, range(begin, at),
          "a string of " + Twine(words.size()) + " bytes; the limit is " +
              Twine(maxNameBytes));
  return Token::String;
}

/// The longest spelling wins. `<-` and `--` are no tokens: `a <-1` and `a --b`
/// are expressions.
static std::pair<Token, unsigned> matchPunctuation(StringRef text) {
  static constexpr StringRef compound[] = {
      "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "^=", "|=", "&="};
  if (text.substr(1, 2).contains('='))
    for (StringRef candidate : compound)
      if (text.starts_with(candidate))
        return {Token::OpEqual, candidate.size()};
  std::pair<Token, unsigned> best = {Token::EndOfFile, 0};
#define COLL_PUNCTUATION(NAME, TEXT)                                           \
  if (sizeof(TEXT) - 1 > best.second && text[0] == TEXT[0] &&                  \
      text.starts_with(TEXT))                                                  \
    best = {Token::NAME, sizeof(TEXT) - 1};
#define COLL_FOREIGN(NAME, TEXT) COLL_PUNCTUATION(NAME, TEXT)
#include "lib/Frontend/Tokens.def"
  return best;
}

Token Lexer::punctuation() {
  auto [token, length] = matchPunctuation(source.substr(at));
  if (length == 0)
    return badCharacter();
  at += length;
  return token;
}

/// What word processors and mathematicians write for our operators.
static Token lookalike(StringRef character) {
  return llvm::StringSwitch<Token>(character)
      .Cases({"→", "⟶", "⇒"}, Token::Arrow)
      .Case("≠", Token::NotEqual)
      .Case("≤", Token::LessEqual)
      .Case("≥", Token::GreaterEqual)
      .Cases({"−", "–"}, Token::Minus)
      .Cases({"×", "·"}, Token::Star)
      .Case("÷", Token::Slash)
      .Cases({"…", "‥"}, Token::DotDot)
      .Default(Token::EndOfFile);
}

/// Reports the character at `at` and skips it; returns the token it stands for.
Token Lexer::badCharacter() {
  uint32_t length = llvm::getNumBytesForUTF8(uint8_t(peek()));
  StringRef character = source.substr(at, length);
  SourceRange where = range(at, at + length);
  at += length;
  bool printable = length > 1 || llvm::isPrint(character[0]);
  std::string shown =
      printable ? ("'" + character + "'").str()
                : "the byte 0x" + llvm::utohexstr(uint8_t(character[0]));
  Diagnostic &error = this->error(Slug::BadCharacter, where,
                                  shown + " is no character of the language");
  Token token = lookalike(character);
  if (token != Token::EndOfFile)
    error.fix(where, spelling(token), "write '" + spelling(token) + "'");
  else if (character == "“" || character == "”" || character == "„")
    error.fix(where, "\"", "write '\"'");
  return token;
}

//===----------------------------------------------------------------------===//
// Comments that are divisions
//===----------------------------------------------------------------------===//

/// The offset of a `//` behind `token` that reads as a division, or 0.
uint32_t Lexer::divisionCommentAfter(const Lexeme &token) const {
  switch (token.kind) {
  case Token::Identifier:
  case Token::Integer:
  case Token::RParen:
  case Token::RBracket:
    break;
  default:
    return 0;
  }
  uint32_t slashes = token.end;
  while (slashes < source.size() && isBlank(source[slashes]))
    ++slashes;
  StringRef rest = source.substr(slashes);
  if (!rest.consume_front("//") || rest.starts_with("/"))
    return 0;
  StringRef comment = rest.take_until([](char c) { return c == '\n'; });
  return looksLikeOperand(comment.trim()) ? slashes : 0;
}

/// Does `comment` read as an operand and what may follow it: names and numbers
/// with an operator between each two, and brackets? Prose does not.
bool Lexer::looksLikeOperand(StringRef comment) const {
  if (comment.empty() || comment.size() > 80)
    return false;
  bool wantOperand = true;
  while (!comment.empty()) {
    char c = comment[0];
    if (isNameByte(c)) {
      StringRef name = comment.take_while(isNameByte);
      if (!wantOperand || !(llvm::isDigit(c) || isKnownName(name)))
        return false;
      wantOperand = false;
      comment = comment.drop_front(name.size());
    } else if (StringRef("([").contains(c)) {
      wantOperand = true;
      comment = comment.drop_front();
    } else if (StringRef(")]").contains(c) && !wantOperand) {
      comment = comment.drop_front();
    } else if (StringRef("+-*/%<>=,@").contains(c) && !wantOperand) {
      comment = comment.ltrim("+-*/%<>=,@");
      wantOperand = true;
    } else if (StringRef("{}").contains(c) && !wantOperand) {
      return true;
    } else {
      return false;
    }
    comment = comment.ltrim();
  }
  return !wantOperand;
}

/// Was `name` a word of the text just before? Looks back a bounded way, since
/// it is asked for every comment.
bool Lexer::isKnownName(StringRef name) const {
  constexpr size_t lookBack = 4096;
  StringRef before = source.take_front(at).take_back(lookBack);
  for (size_t found = before.rfind(name); found != StringRef::npos;
       found = before.take_front(found).rfind(name)) {
    bool startsHere = found == 0 || !isNameByte(before[found - 1]);
    size_t end = found + name.size();
    if (startsHere && (end == before.size() || !isNameByte(before[end])))
      return wordToken(name) == Token::Identifier;
  }
  return false;
}
