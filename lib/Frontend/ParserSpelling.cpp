//===- ParserSpelling.cpp - What other languages write --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language has one spelling for each thing. Those of C, Python and MSCCLang
// are recognised where their meaning is plain, reported with the repair, and
// then read as if they had been written right, so that one habit gives one
// error per place and hides no other.
//
// A word such as `mod` is also a name that a program may use. It is an operator
// if it follows an operand and is followed by neither ':' nor anything else
// that makes it a label; and, before '(', if it stands on the operand's line
// and this file has no procedure of that name.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/ParserImpl.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace coll;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static std::optional<BinaryOp> bitsOp(Token token) {
  switch (token) {
  case Token::Pipe:
    return BinaryOp::BitOr;
  case Token::Caret:
    return BinaryOp::BitXor;
  case Token::Ampersand:
    return BinaryOp::BitAnd;
  case Token::ShiftLeft:
    return BinaryOp::Shl;
  case Token::ShiftRight:
    return BinaryOp::Shr;
  case Token::Plus:
    return BinaryOp::Add;
  case Token::Minus:
    return BinaryOp::Sub;
  case Token::Star:
    return BinaryOp::Mul;
  case Token::Slash:
    return BinaryOp::Div;
  case Token::Percent:
    return BinaryOp::Mod;
  default:
    return std::nullopt;
  }
}

static std::optional<BinaryOp> foreignBitsOp(StringRef word) {
  return llvm::StringSwitch<std::optional<BinaryOp>>(word)
      .Cases({"mod", "MOD", "rem"}, BinaryOp::Mod)
      .Cases({"div", "DIV"}, BinaryOp::Div)
      .Cases({"xor", "XOR"}, BinaryOp::BitXor)
      .Cases({"shl", "SHL"}, BinaryOp::Shl)
      .Cases({"shr", "SHR"}, BinaryOp::Shr)
      .Default(std::nullopt);
}

static std::optional<BinaryOp> foreignLogicOp(StringRef word) {
  return llvm::StringSwitch<std::optional<BinaryOp>>(word)
      .Cases({"And", "AND"}, BinaryOp::And)
      .Cases({"Or", "OR"}, BinaryOp::Or)
      .Default(std::nullopt);
}

bool Parser::definesProcedure(StringRef name) const {
  StringRef rest = lexer.text();
  for (size_t found = rest.find("def "); found != StringRef::npos;
       found = rest.find("def ")) {
    rest = rest.drop_front(found + 4).ltrim();
    if (rest.starts_with(name) &&
        rest.drop_front(name.size()).ltrim().starts_with("("))
      return true;
  }
  return false;
}

/// The current token, an operand behind it, is `word` and not a name.
bool Parser::isForeignWord(StringRef word) const {
  if (!atWord(word))
    return false;
  switch (peek().kind) {
  case Token::Colon:
  case Token::LBrace:
  case Token::Dot:
    return false;
  case Token::LParen:
    return !tok().startsLine && !definesProcedure(word);
  default:
    return true;
  }
}

std::optional<Parser::Operator> Parser::bitsOperator() const {
  using Source = Operator::Source;
  if (previous.divisionComment)
    return Operator{BinaryOp::Div, Source::Comment};
  if (auto op = bitsOp(tok().kind))
    return Operator{*op, Source::Token};
  if (at(Token::StarStar))
    return Operator{BinaryOp::Mul, Source::Foreign};
  if (at(Token::Identifier))
    if (auto op = foreignBitsOp(text(tok())); op && isForeignWord(text(tok())))
      return Operator{*op, Source::Foreign};
  return std::nullopt;
}

std::optional<Parser::Operator> Parser::logicOperator() const {
  using Source = Operator::Source;
  switch (tok().kind) {
  case Token::KwAnd:
    return Operator{BinaryOp::And, Source::Token};
  case Token::KwOr:
    return Operator{BinaryOp::Or, Source::Token};
  case Token::AmpAmp:
    return Operator{BinaryOp::And, Source::Foreign};
  case Token::PipePipe:
    return Operator{BinaryOp::Or, Source::Foreign};
  case Token::Identifier:
    if (auto op = foreignLogicOp(text(tok())); op && isForeignWord(text(tok())))
      return Operator{*op, Source::Foreign};
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<Parser::Operator> Parser::comparisonOperator() const {
  using Source = Operator::Source;
  switch (tok().kind) {
  case Token::EqualEqual:
    return Operator{BinaryOp::Eq, Source::Token};
  case Token::NotEqual:
    return Operator{BinaryOp::Ne, Source::Token};
  case Token::Less:
    return Operator{BinaryOp::Lt, Source::Token};
  case Token::LessEqual:
    return Operator{BinaryOp::Le, Source::Token};
  case Token::Greater:
    return Operator{BinaryOp::Gt, Source::Token};
  case Token::GreaterEqual:
    return Operator{BinaryOp::Ge, Source::Token};
  case Token::Equal:
    return Operator{BinaryOp::Eq, Source::Foreign};
  default:
    return std::nullopt;
  }
}

/// Consumes what one of the three functions above has found; reports a foreign
/// one.
SourceRange Parser::consumeOperator(Operator op) {
  StringRef ours = spelling(op.op);
  if (op.source == Operator::Source::Comment) {
    uint32_t slashes = previous.divisionComment;
    SourceRange range = lexer.range(slashes, slashes + 2);
    report(Slug::WrongSpelling, range,
           "'//' starts a comment, and this one reads as a division")
        .fix(range, ours, "write '/', which rounds down");
    // What stands in the comment is then no comment.
    previous.divisionComment = 0;
    lexer.restartAt(slashes + 2);
    fillWindow();
    return range;
  }
  SourceRange range = here();
  if (op.source == Operator::Source::Foreign) {
    auto error = report(Slug::WrongSpelling, range,
                        describe(tok()) + " is no operator of coll");
    if (at(Token::StarStar))
      error.help(range, "a square is x * x; of integers, 1 << n is 2 to the n");
    else
      error.fix(range, ours, "write '" + ours + "'");
  }
  advance();
  return range;
}

//===----------------------------------------------------------------------===//
// Numbers, ranges, arrows
//===----------------------------------------------------------------------===//

void Parser::badIntegerSuffix(SourceRange range, StringRef digits,
                              StringRef suffix) {
  auto error = report(Slug::BadNumber, range,
                      "'" + text(range) + "' is no number of coll");
  uint64_t value = 0;
  std::string written = text(range).str();
  std::string plain;
  for (char c : written)
    if (c != '_')
      plain += c;
  StringRef unit = llvm::StringSwitch<StringRef>(suffix.lower())
                       .Cases({"k", "kb", "ki", "kib"}, "KiB")
                       .Cases({"m", "mb", "mi", "mib"}, "MiB")
                       .Cases({"g", "gb", "gi", "gib"}, "GiB")
                       .Default("");
  if (!unit.empty())
    error.fix(range, (digits + unit).str(),
              "powers of 1024 are written KiB, MiB and GiB");
  else if (llvm::all_of(plain, llvm::isDigit))
    error.fix(range, plain, "digits stand together");
  else if (digits == "0" && !StringRef(plain).getAsInteger(0, value))
    error.fix(range, std::to_string(value), "numbers are decimal");
}

/// `range(n)`, `range(a, b)`, `range(a, b, s)`.
Expr *Parser::parseForeignRange() {
  uint32_t begin = tok().begin;
  Token before = previous.kind;
  SourceRange word = here();
  advance();
  llvm::ArrayRef<Expr *> args = parseParenthesized();
  if (panic)
    return errorExpr();
  SourceRange range = since(begin);
  auto error = report(Slug::WrongSpelling, word, "coll has no 'range'");
  if (args.empty() || args.size() > 3)
    return errorExpr();
  Expr *lo = args.size() > 1 ? args[0] : nullptr;
  Expr *hi = args.size() > 1 ? args[1] : args[0];
  Expr *step = args.size() > 2 ? args[2] : nullptr;
  auto bound = [&](const Expr *expr) {
    bool binds = llvm::isa<BinaryExpr>(expr) &&
                 precedenceOf(llvm::cast<BinaryExpr>(expr)->op) > PrecRange;
    bool isOperand =
        binds || llvm::isa<IntExpr, NameExpr, CallExpr, IndexExpr>(expr);
    StringRef words = text(expr->range);
    return isOperand ? words.str() : ("(" + words + ")").str();
  };
  std::string ours = (lo ? bound(lo) : "0") + " .. " + bound(hi);
  if (step)
    ours += " step " + bound(step);
  // A range binds loosely; here it may stand without parentheses.
  bool opens = before == Token::KwIn || before == Token::LBracket ||
               before == Token::Comma || before == Token::Equal ||
               before == Token::LParen;
  bool bare = opens && !bitsOperator() && !at(Token::LBracket) &&
              !at(Token::KwAs) && !at(Token::At);
  error.fix(range, bare ? ours : "(" + ours + ")", "a range is written '..'");
  if (!lo)
    lo = make<IntExpr>(word, 0);
  return finish(make<RangeExpr>(range, lo, hi, step), {lo, hi, step});
}

/// An argument or index: expr, or a foreign slice `lo:hi`.
Expr *Parser::parseIndex() {
  uint32_t begin = tok().begin;
  Expr *lo = at(Token::Colon) ? nullptr : parseExpr();
  if (panic || !at(Token::Colon))
    return lo;
  auto error = report(Slug::WrongSpelling, here(), "':' inside of a slice");
  SourceRange colon = here();
  advance();
  bool ends = at(Token::RBracket) || at(Token::Comma);
  if (!lo && ends) {
    error.fix(colon, "..", "the whole extent is written '..'");
    return make<RangeExpr>(colon, nullptr, nullptr, nullptr);
  }
  error.fix(colon, " .. ", "a range is written '..', half open");
  if (!lo)
    lo = make<IntExpr>(colon, 0);
  Expr *hi = ends ? errorExpr() : parseExpr();
  return finish(make<RangeExpr>(since(begin), lo, hi, nullptr), {lo, hi});
}

/// The arrow of a transfer.
bool Parser::expectArrow() {
  if (consume(Token::Arrow))
    return true;
  switch (tok().kind) {
  case Token::FatArrow:
  case Token::KwTo:
  case Token::Comma:
  case Token::Equal:
    report(Slug::WrongSpelling, here(),
           describe(tok()) + " between what is moved and its place")
        .fix(here(), "->", "write '->'");
    advance();
    return true;
  case Token::KwIn:
  case Token::KwOut:
  case Token::Identifier:
    // A place on the same line; a call or a label would be another statement.
    if (tok().startsLine || peek().kind == Token::LParen ||
        peek().kind == Token::Colon)
      break;
    report(Slug::SyntaxError, afterPrevious(),
           "no '->' between what is moved and its place")
        .fix(afterPrevious(), " ->", "write '->'");
    return true;
  default:
    break;
  }
  expected("'->' and a place").emit();
  return false;
}

/// The `to` of a send or the `from` of a receive.
bool Parser::expectLink(Token word) {
  if (consume(word))
    return true;
  bool isArrow = at(Token::Arrow) || at(Token::FatArrow) || at(Token::Comma) ||
                 at(Token::KwTo) || at(Token::KwFrom);
  bool isBackArrow = at(Token::Less) && peek().kind == Token::Minus &&
                     tok().end == peek().begin;
  if (!isArrow && !isBackArrow) {
    expected("'" + spelling(word) + "' and a rank").emit();
    return false;
  }
  SourceRange range = here();
  if (isBackArrow)
    range = range.to(lexer.range(peek()));
  report(Slug::WrongSpelling, range,
         "'" + text(range) + "' between a message and its rank")
      .fix(range, spelling(word), "write '" + spelling(word) + "'");
  if (isBackArrow)
    advance();
  advance();
  return true;
}

/// Behind a place that is written to no operator can stand: `x@r + 1` is meant
/// to be `x@(r + 1)`.
void Parser::checkPlaceEnds(Expr *place) {
  if (panic || !atOperator())
    return;
  bool isRank = llvm::isa<AtExpr>(place);
  uint32_t begin = isRank ? lastRankBegin : place->range.begin;
  parseBitsTail(begin, place, PrecBitOr);
  SourceRange computed = since(begin);
  if (!isRank)
    fail(Slug::SyntaxError, computed,
         "a computed value where a place should be")
        .emit();
  else
    report(Slug::RankParentheses, computed,
           "a computed rank without parentheses around it")
        .fix(computed, ("(" + text(computed) + ")").str(),
             "put it in parentheses");
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// Why there is no statement that starts with `word`, or "".
static StringRef hintFor(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Cases({"while", "until", "loop", "foreach", "do", "repeat"},
             "loops are 'for i in lo .. hi'")
      .Case("return", "a def has no result; it writes its 'chunks' parameters")
      .Cases({"barrier", "sync", "wait", "fence", "flush", "signal"},
             "only values order the work; nothing has to be waited for")
      .Cases({"var", "int", "const", "auto", "val", "mut"},
             "names for integers, ranks and lists are given by 'let'")
      .Cases({"else", "elif", "elseif", "elsif"}, "there is no 'if' before it")
      .Default("");
}

/// The word that `word` most likely is meant to be, or "".
static StringRef nearestKeyword(StringRef word) {
  static constexpr StringRef keywords[] = {
      "copy", "reduce", "tmp", "let", "for", "group", "send", "recv", "chunks"};
  if (word.size() < 3)
    return "";
  for (StringRef keyword : keywords)
    if (word.edit_distance(keyword, /*AllowReplacements=*/true,
                           /*MaxEditDistance=*/2) <=
        (keyword.size() > 3 ? 2u : 1u))
      return keyword;
  return "";
}

/// A statement that starts with no word of ours: an assignment, or nothing.
Stmt *Parser::parseForeignStmt() {
  uint32_t begin = tok().begin;
  StringRef word = text(tok());
  if (at(Token::KwMap) || at(Token::KwChunks))
    return parseMisplaced();
  bool isPlace = at(Token::Identifier) || at(Token::KwIn) || at(Token::KwOut);
  if (StringRef hint = hintFor(word); !hint.empty()) {
    fail(Slug::SyntaxError, here(),
         describe(tok()) + " where a statement should be")
        .help(here(), hint);
    return nullptr;
  }
  if (!isPlace) {
    fail(Slug::SyntaxError, here(),
         describe(tok()) + " where a statement should be")
        .emit();
    return nullptr;
  }
  SourceRange range = here();
  bool nextIsOperand = peek().kind == Token::Identifier ||
                       peek().kind == Token::KwIn ||
                       peek().kind == Token::KwOut;
  if (StringRef keyword = nearestKeyword(word);
      !keyword.empty() && nextIsOperand) {
    fail(Slug::SyntaxError, range,
         describe(tok()) + " where a statement should be")
        .fix(range, keyword, "did you mean '" + keyword + "'?");
    return nullptr;
  }
  Expr *place = parsePlace();
  return panic ? nullptr : parseAssignment(begin, place);
}

/// `x = v`, `x += v`, `x <- v`, `v -> x`; the place has been read.
Stmt *Parser::parseAssignment(uint32_t begin, Expr *place) {
  SourceRange op = here();
  SourceRange left = since(begin);
  bool isArrow = at(Token::Arrow);
  bool isBack = at(Token::Less) && peek().kind == Token::Minus;
  bool isAdd = at(Token::OpEqual) && text(tok()) == "+=";
  if (!isArrow && !isBack && !isAdd && !at(Token::Equal)) {
    bool isOther = at(Token::OpEqual) || at(Token::EqualEqual);
    fail(Slug::SyntaxError, isOther ? op : left,
         "'" + text(isOther ? op : left) + "' where a statement should be")
        .emit();
    return nullptr;
  }
  bool isLet = at(Token::Equal) && llvm::isa<NameExpr>(place);
  if (isBack)
    advance();
  advance();
  uint32_t rightBegin = tok().begin;
  Expr *other = parseExpr();
  if (panic)
    return nullptr;
  StringRef leftText = text(left);
  StringRef rightText = text(since(rightBegin));
  SourceRange range = since(begin);
  if (isLet) {
    report(Slug::WrongSpelling, op, "'=' without 'let'")
        .fix(range, ("let " + leftText + " = " + rightText).str(),
             "a name is given by 'let'");
    auto *let = make<LetDecl>(range, Ident{leftText, left}, false,
                              llvm::ArrayRef<Ident>(), other);
    return make<LetStmt>(range, let);
  }
  if (isArrow) {
    report(Slug::WrongSpelling, range, "'->' without 'copy' or 'reduce'")
        .help(range, "to copy, write 'copy' before it; to add, 'reduce'");
    return make<TransferStmt>(range, false, place, other, TypeRef());
  }
  StringRef verb = isAdd ? "reduce" : "copy";
  report(Slug::WrongSpelling, op, "coll has no assignment")
      .fix(range, (verb + " " + rightText + " -> " + leftText).str(),
           "write '" + verb + "' and where to");
  return make<TransferStmt>(range, isAdd, other, place, TypeRef());
}
