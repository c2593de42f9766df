//===- ParserExpr.cpp - Parsing expressions -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per level of precedence where levels differ in kind, and
// precedence climbing where they only differ in rank (or/and; the operators on
// bits and numbers). None of them returns null: what fails to parse becomes an
// ErrorExpr.
//
// An operand in parentheses has its own range without them, so a range that
// starts with an operand is counted from the first token, not from the operand.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/ParserImpl.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace coll;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// expr = or [ "?" expr ":" expr ]
Expr *Parser::parseExpr() {
  Nest nest(*this);
  if (!nest)
    return errorExpr();
  uint32_t begin = tok().begin;
  Expr *condition = parseLogic(PrecOr);
  if (panic || !consume(Token::Question))
    return condition;
  Expr *thenValue = parseExpr();
  if (panic || !expect(Token::Colon))
    return errorExpr();
  Expr *elseValue = parseExpr();
  return finish(
      make<ConditionalExpr>(since(begin), condition, thenValue, elseValue),
      {condition, thenValue, elseValue});
}

Expr *Parser::makeBinary(uint32_t begin, BinaryOp op, SourceRange opRange,
                         Expr *lhs, Expr *rhs) {
  return finish(make<BinaryExpr>(since(begin), op, opRange, lhs, rhs),
                {lhs, rhs});
}

/// or = and { "or" and },  and = not { "and" not }
Expr *Parser::parseLogic(unsigned minPrecedence) {
  uint32_t begin = tok().begin;
  Expr *lhs = parseNot();
  while (!panic) {
    std::optional<Operator> op = logicOperator();
    if (!op || precedenceOf(op->op) < minPrecedence)
      break;
    SourceRange opRange = consumeOperator(*op);
    Expr *rhs = parseLogic(precedenceOf(op->op) + 1);
    lhs = makeBinary(begin, op->op, opRange, lhs, rhs);
  }
  return lhs;
}

/// not = "not" not | range [ comparison range ]
Expr *Parser::parseNot() {
  uint32_t begin = tok().begin;
  if (!at(Token::KwNot))
    return parseComparison();
  Nest nest(*this);
  if (!nest)
    return errorExpr();
  advance();
  Expr *operand = parseNot();
  return finish(make<UnaryExpr>(since(begin), UnaryOp::Not, operand),
                {operand});
}

Expr *Parser::parseComparison() {
  uint32_t begin = tok().begin;
  Expr *lhs = parseRange();
  std::optional<Operator> op;
  if (panic || !(op = comparisonOperator()))
    return lhs;
  SourceRange opRange = consumeOperator(*op);
  Expr *rhs = parseRange();
  Expr *result = makeBinary(begin, op->op, opRange, lhs, rhs);
  bool reported = false;
  while (!panic && (op = comparisonOperator())) {
    if (!std::exchange(reported, true))
      report(Slug::ChainedComparison, here(),
             "'" + text(tok()) + "' compares the result of a comparison")
          .note(result->range, "the comparison")
          .help(here(), "join two comparisons with 'and'");
    consumeOperator(*op);
    parseRange();
  }
  return reported ? make<ErrorExpr>(since(begin)) : result;
}

/// range = ".." | bits [ ".." bits [ "step" bits ] ]
Expr *Parser::parseRange() {
  uint32_t begin = tok().begin;
  if (consume(Token::DotDot))
    return make<RangeExpr>(since(begin), nullptr, nullptr, nullptr);
  Expr *lo = parseBits(PrecBitOr);
  if (panic || !(at(Token::DotDot) || at(Token::Ellipsis)))
    return lo;
  if (at(Token::Ellipsis))
    report(Slug::WrongSpelling, here(), "'...' is no operator of coll")
        .fix(here(), "..", "a range is written '..', half open");
  bool adjacent = tok().end == peek().begin;
  advance();
  if (adjacent && at(Token::Equal)) {
    report(Slug::WrongSpelling, lexer.range(previous.begin, tok().end),
           "'..=' is no operator of coll: ranges are half open")
        .emit();
    advance();
  }
  if (at(Token::RBracket) || at(Token::LBrace) || at(Token::Comma))
    fail(Slug::SyntaxError, lexer.range(previous),
         "a range without its upper end")
        .help(lexer.range(previous),
              "'..' alone is the whole extent; otherwise both ends are named");
  Expr *hi = parseBits(PrecBitOr);
  Expr *step = nullptr;
  if (!panic && consume(Token::KwStep))
    step = parseBits(PrecBitOr);
  return finish(make<RangeExpr>(since(begin), lo, hi, step), {lo, hi, step});
}

/// bits, xor, band, shift, sum and product of the grammar.
Expr *Parser::parseBits(unsigned minPrecedence) {
  uint32_t begin = tok().begin;
  Expr *lhs = parseUnary();
  return parseBitsTail(begin, lhs, minPrecedence);
}

Expr *Parser::parseBitsTail(uint32_t begin, Expr *lhs, unsigned minPrecedence) {
  while (!panic) {
    std::optional<Operator> op = bitsOperator();
    if (!op || precedenceOf(op->op) < minPrecedence)
      break;
    SourceRange opRange = consumeOperator(*op);
    Expr *rhs = parseBits(precedenceOf(op->op) + 1);
    lhs = makeBinary(begin, op->op, opRange, lhs, rhs);
  }
  return lhs;
}

/// unary = "-" unary | place
Expr *Parser::parseUnary() {
  uint32_t begin = tok().begin;
  UnaryOp op = UnaryOp::Neg;
  switch (tok().kind) {
  case Token::Minus:
    break;
  case Token::Plus:
    report(Slug::WrongSpelling, here(), "a '+' in front of its operand")
        .fix(here(), "", "remove it");
    break;
  case Token::Bang:
    report(Slug::WrongSpelling, here(), "'!' is no operator of coll")
        .fix(here(), "not ", "write 'not'");
    op = UnaryOp::Not;
    break;
  case Token::KwNot:
    report(Slug::SyntaxError, here(), "'not' inside an operand")
        .help(here(), "put 'not' and what it negates in parentheses");
    op = UnaryOp::Not;
    break;
  default:
    return parsePlace();
  }
  bool isPlus = at(Token::Plus);
  Nest nest(*this);
  if (!nest)
    return errorExpr();
  advance();
  Expr *operand = parseUnary();
  if (isPlus)
    return operand;
  return finish(make<UnaryExpr>(since(begin), op, operand), {operand});
}

/// place = atom { "[" args "]" | "as" "[" args "]" } [ "@" rank ]
Expr *Parser::parsePlace() {
  uint32_t begin = tok().begin;
  Expr *place = parseAtom();
  while (!panic && (at(Token::LBracket) || at(Token::KwAs))) {
    if (at(Token::LBracket)) {
      place = parseIndexing(place, begin);
      continue;
    }
    advance();
    if (!at(Token::LBracket)) {
      expected("the shape of the view, '[',").emit();
      return errorExpr();
    }
    ArrayRef<Expr *> shape = parseBracketed();
    auto *view = make<ViewExpr>(since(begin), place, shape);
    setDepth(view, shape);
    place = finish(view, {place});
  }
  if (!panic && at(Token::Dot))
    fail(Slug::SyntaxError, here(), "'.' behind a value, which has no members")
        .emit();
  if (panic || !consume(Token::At))
    return place;
  Expr *rank = parseRank();
  return finish(make<AtExpr>(since(begin), place, rank), {place, rank});
}

/// rank = atom { "[" args "]" }
Expr *Parser::parseRank() {
  uint32_t begin = tok().begin;
  if (at(Token::Minus))
    fail(Slug::RankParentheses, here(),
         "a computed rank without parentheses around it")
        .help(here(), "write @(...)");
  Expr *rank = parseAtom();
  while (!panic && at(Token::LBracket))
    rank = parseIndexing(rank, begin);
  lastRankBegin = begin; // ranks stand in ranks
  return rank;
}

Expr *Parser::parseIndexing(Expr *base, uint32_t begin) {
  ArrayRef<Expr *> indices = parseBracketed();
  auto *index = make<IndexExpr>(since(begin), base, indices);
  setDepth(index, indices);
  return finish(index, {base});
}

Expr *Parser::parseAtom() {
  switch (tok().kind) {
  case Token::Integer:
    return parseInteger();
  case Token::Float:
    return parseFloat();
  case Token::Identifier:
  case Token::KwIn:
  case Token::KwOut:
  case Token::KwAll:
  case Token::KwSize:
  case Token::KwReduce:
    return parseName();
  case Token::LParen:
    return parseParenthesis();
  case Token::LBracket:
    return parseList();
  default:
    expected("an expression").emit();
    return errorExpr();
  }
}

/// array | "all" | ID [ call ] | ( "size" | "reduce" ) call
Expr *Parser::parseName() {
  using Word = NameExpr::Word;
  Token kind = tok().kind;
  if (kind == Token::Identifier || kind == Token::KwSize ||
      kind == Token::KwReduce) {
    if (peek().kind == Token::LParen)
      return isForeignWord("range") ? parseForeignRange() : parseCall();
    if (kind != Token::Identifier) {
      std::string word = describe(tok());
      if (misusedWords.contains(text(tok())))
        panic = true;
      fail(Slug::ReservedWord, here(),
           word + " is a word of the language, without the '(' it needs here")
          .emit();
      return errorExpr();
    }
  }
  Word word = kind == Token::KwIn    ? Word::In
              : kind == Token::KwOut ? Word::Out
              : kind == Token::KwAll ? Word::All
                                     : Word::Name;
  auto *name = make<NameExpr>(here(), text(tok()), word);
  advance();
  return name;
}

/// "(" [ carg { "," carg } ] ")",  carg = expr [ "for" iters ]
Expr *Parser::parseCall() {
  uint32_t begin = tok().begin;
  Ident callee = {text(tok()), here()};
  bool mayBeEmpty = at(Token::Identifier);
  advance();
  Lexeme open = tok();
  consume(Token::LParen);
  List<CallArg> args;
  List<Expr *> children;
  if (!at(Token::RParen) || !mayBeEmpty) {
    do {
      CallArg arg{parseExpr(), {}};
      if (!panic && consume(Token::KwFor))
        arg.iters = parseIterators();
      children.push_back(arg.value);
      for (const Iterator &iterator : arg.iters.list)
        children.push_back(iterator.domain);
      children.push_back(arg.iters.filter);
      args.push_back(arg);
    } while (!panic && fits(args.size(), since(begin)) &&
             consume(Token::Comma));
  }
  if (!panic)
    expectClosing(Token::RParen, open);
  return finish(make<CallExpr>(since(begin), callee, save(args)), children);
}

/// "(" expr { "," expr } ")"
Expr *Parser::parseParenthesis() {
  Lexeme open = tok();
  consume(Token::LParen);
  List<Expr *> elements;
  do
    elements.push_back(parseExpr());
  while (!panic && fits(elements.size(), since(open.begin)) &&
         consume(Token::Comma));
  if (panic || !expectClosing(Token::RParen, open))
    return errorExpr();
  if (elements.size() == 1)
    return elements.front();
  return finish(make<TupleExpr>(since(open.begin), save(elements)), elements);
}

/// "[" [ expr ( "for" iters | { "," expr } ) ] "]"
Expr *Parser::parseList() {
  Lexeme open = tok();
  consume(Token::LBracket);
  if (consume(Token::RBracket))
    return make<ListExpr>(since(open.begin), ArrayRef<Expr *>());
  List<Expr *> elements = {parseExpr()};
  Iterators iters;
  if (!panic && consume(Token::KwFor)) {
    iters = parseIterators();
    for (const Iterator &iterator : iters.list)
      elements.push_back(iterator.domain);
    elements.push_back(iters.filter);
  } else {
    while (!panic && fits(elements.size(), since(open.begin)) &&
           consume(Token::Comma))
      elements.push_back(parseExpr());
  }
  if (panic || !expectClosing(Token::RBracket, open))
    return errorExpr();
  if (iters)
    return finish(
        make<ComprehensionExpr>(since(open.begin), elements[0], iters),
        elements);
  return finish(make<ListExpr>(since(open.begin), save(elements)), elements);
}

/// iters = ID "in" expr { "," ID "in" expr } [ "if" expr ]
Iterators Parser::parseIterators() {
  uint32_t begin = tok().begin;
  List<Iterator> list;
  do {
    Ident name = expectName("the name of an iterator");
    if (panic)
      return {};
    if (at(Token::Equal) || at(Token::KwFrom)) {
      report(Slug::WrongSpelling, here(),
             describe(tok()) + " between an iterator and its range")
          .fix(here(), "in", "write 'in'");
      advance();
    } else if (!expect(Token::KwIn)) {
      return {};
    }
    list.push_back({name, parseExpr()});
    // Behind an argument with iterators may stand another argument.
  } while (!panic && fits(list.size(), since(begin)) && at(Token::Comma) &&
           peek().kind == Token::Identifier && peek(2).kind == Token::KwIn &&
           consume(Token::Comma));
  Expr *filter = nullptr;
  if (!panic && consume(Token::KwIf))
    filter = parseExpr();
  return {save(list), filter, since(begin)};
}

/// args = expr { "," expr }
ArrayRef<Expr *> Parser::parseArgs() {
  uint32_t begin = tok().begin;
  List<Expr *> args;
  do
    args.push_back(parseIndex());
  while (!panic && fits(args.size(), since(begin)) && consume(Token::Comma));
  return save(args);
}

/// "[" args "]"
ArrayRef<Expr *> Parser::parseBracketed() {
  Lexeme open = tok();
  consume(Token::LBracket);
  ArrayRef<Expr *> args = parseArgs();
  if (!panic)
    expectClosing(Token::RBracket, open);
  return args;
}

/// "(" [ args ] ")"
ArrayRef<Expr *> Parser::parseParenthesized() {
  Lexeme open = tok();
  if (!expect(Token::LParen))
    return {};
  if (consume(Token::RParen))
    return {};
  ArrayRef<Expr *> args = parseArgs();
  if (!panic)
    expectClosing(Token::RParen, open);
  return args;
}

Expr *Parser::parseInteger() {
  SourceRange range = here();
  StringRef suffix = text(tok());
  StringRef digits = suffix.take_while(llvm::isDigit);
  suffix = suffix.drop_front(digits.size());
  advance();
  unsigned shift = suffix == "KiB"   ? 10
                   : suffix == "MiB" ? 20
                   : suffix == "GiB" ? 30
                                     : 0;
  if (shift == 0 && !suffix.empty()) {
    badIntegerSuffix(range, digits, suffix);
    return make<ErrorExpr>(range);
  }
  uint64_t value = 0;
  if (digits.getAsInteger(10, value) ||
      value > (uint64_t(INT64_MAX) >> shift)) {
    report(Slug::IntegerOverflow, range,
           text(range) + " does not fit into a 64-bit integer")
        .emit();
    return make<ErrorExpr>(range);
  }
  return make<IntExpr>(range, int64_t(value << shift));
}

Expr *Parser::parseFloat() {
  SourceRange range = here();
  StringRef digits = text(tok());
  advance();
  if (!inFunction) {
    report(Slug::FloatOutsideFn, range,
           digits + " outside the body of an fn, where all numbers are "
                    "integers")
        .emit();
    return make<ErrorExpr>(range);
  }
  double value = 0;
  if (digits.getAsDouble(value) || !std::isfinite(value)) {
    report(Slug::BadNumber, range, "'" + digits + "' is no number").emit();
    return make<ErrorExpr>(range);
  }
  return make<FloatExpr>(range, value, digits);
}
