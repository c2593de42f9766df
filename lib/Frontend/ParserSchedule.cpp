//===- ParserSchedule.cpp - Parsing schedules and map blocks --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Frontend/ParserImpl.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using llvm::ArrayRef;
using llvm::StringRef;

/// schedule = "schedule" ID "(" sparam { "," sparam } ")" ":" cname
///            [ "(" args ")" ] [ where ] body
Decl *Parser::parseSchedule() {
  uint32_t begin = tok().begin;
  advance();
  auto *schedule =
      make<ScheduleDecl>(SourceRange(), expectName("the name of a schedule"));
  Lexeme open = tok();
  List<ScheduleParam> params;
  if (!panic && expect(Token::LParen)) {
    do
      params.push_back(parseScheduleParam());
    while (!panic && fits(params.size(), since(begin)) &&
           consume(Token::Comma));
    if (!panic)
      expectClosing(Token::RParen, open);
  }
  schedule->params = save(params);
  if (!panic && !consume(Token::Colon))
    expected("':' and a contract").emit();
  if (!panic)
    schedule->contract = parseContractName();
  if (!panic && at(Token::LParen))
    schedule->contractArgs = parseParenthesized();
  schedule->where = parseWhere();
  if (!skipToBlock()) {
    expected("a block, '{',").emit();
    return nullptr;
  }
  parseScheduleBody(schedule);
  schedule->range = since(begin);
  return schedule;
}

/// sparam = "ranks" ( ID | "(" ID { "," ID } ")" ) | "launch" ID "in" expr
///        | ID [ "=" expr ]
ScheduleParam Parser::parseScheduleParam() {
  using Kind = ScheduleParam::Kind;
  ScheduleParam param{};
  uint32_t begin = tok().begin;
  if (consume(Token::KwRanks)) {
    param.kind = Kind::Ranks;
    param.isGrid = at(Token::LParen);
    if (param.isGrid)
      param.dims = parseNames("the size of a dimension");
    else
      param.dims = save(List<Ident>{expectName("the number of ranks")});
  } else if (consume(Token::KwLaunch)) {
    param.kind = Kind::Launch;
    param.name = expectName("the name of a launch value");
    if (!panic && expect(Token::KwIn))
      param.value = parseExpr();
  } else {
    param.kind = Kind::Int;
    param.name = expectName("the name of a parameter");
    if (!panic && consume(Token::Equal))
      param.value = parseExpr();
  }
  param.range = since(begin);
  return param;
}

/// "{" [ "chunks" args [ "by" "row" ] ] { stmt } [ "map" mapblock ] "}"
void Parser::parseScheduleBody(ScheduleDecl *schedule) {
  Lexeme open = tok();
  advance();
  while (consume(Token::Semicolon))
    ;
  if (at(Token::KwChunks))
    parseChunks(schedule);
  if (panic)
    skipToStatement();
  List<Stmt *> stmts;
  parseStmts(stmts);
  while (at(Token::KwMap) && !panic) {
    Lexeme word = tok();
    const MapBlock *map = parseMap();
    if (schedule->map)
      report(Slug::Misplaced, lexer.range(word), "a second 'map'")
          .note(schedule->map->range, "the first");
    else
      schedule->map = map;
    if (panic)
      skipToStatement();
    while (consume(Token::Semicolon))
      ;
    if (!at(Token::RBrace) && !at(Token::EndOfFile) && !startsDeclaration() &&
        !at(Token::KwMap)) {
      report(Slug::Misplaced, here(), "a statement behind 'map'")
          .help(lexer.range(word), "'map' is the last clause of a schedule");
      parseStmts(stmts);
    }
  }
  closeBlock(open);
  schedule->body = make<BlockStmt>(since(open.begin), save(stmts));
}

void Parser::parseChunks(ScheduleDecl *schedule) {
  uint32_t begin = tok().begin;
  advance();
  openBrackets = 0;
  schedule->chunks = parseArgs();
  if (!panic && atWord("by") && peek().kind == Token::Identifier) {
    advance();
    if (!consumeWord("row"))
      expected("'row'").emit();
    schedule->byRow = true;
  }
  schedule->chunksRange = since(begin);
}

//===----------------------------------------------------------------------===//
// Map blocks
//===----------------------------------------------------------------------===//

const MapBlock *Parser::parseMap() {
  advance();
  openBrackets = 0;
  return parseMapBlock();
}

/// mapblock = "{" { directive | ID { "." ID } mapblock } "}"
const MapBlock *Parser::parseMapBlock() {
  Lexeme open = tok();
  if (!at(Token::LBrace)) {
    expected("a block, '{',").emit();
    return nullptr;
  }
  Nest nest(*this);
  if (!nest)
    return nullptr;
  advance();
  List<MapItem> items;
  while (!panic && !at(Token::RBrace) && !at(Token::EndOfFile) &&
         !startsDeclaration()) {
    if (consume(Token::Semicolon))
      continue;
    if (at(Token::Comma)) {
      report(Slug::SyntaxError, here(), "',' between directives")
          .fix(here(), "", "remove it");
      advance();
      continue;
    }
    uint32_t begin = tok().begin;
    MapItem item{};
    if (parseMapItem(item))
      items.push_back(item);
    if (panic) {
      if (tok().begin == begin)
        advance();
      skipToClause([&] { return at(Token::Identifier) && tok().startsLine; });
    }
  }
  closeBlock(open);
  auto *block = make<MapBlock>();
  block->range = since(open.begin);
  block->items = save(items);
  return block;
}

/// Does `word` name a directive? Only to tell what a comma is about: which ones
/// there are is no matter of syntax.
static bool isDirective(StringRef word) {
  static constexpr StringRef words[] = {
      "sizes", "protocol",   "instances", "channels", "blocks",  "threads",
      "round", "slots",      "slot",      "channel",  "block",   "store",
      "pull",  "recv_block", "push",      "staged",   "scratch", "order"};
  return llvm::is_contained(words, word);
}

/// args, up to a comma that somebody has put between two directives.
ArrayRef<Expr *> Parser::parseDirectiveArgs() {
  uint32_t begin = tok().begin;
  auto startsDirective = [&] { return isDirective(text(peek())); };
  List<Expr *> args;
  do
    args.push_back(parseExpr());
  while (!panic && fits(args.size(), since(begin)) && !startsDirective() &&
         consume(Token::Comma));
  return save(args);
}

/// directive = "pull" | "push" | "staged" | ID args
bool Parser::parseMapItem(MapItem &item) {
  uint32_t begin = tok().begin;
  bool isLabel = peek().kind == Token::LBrace || peek().kind == Token::Dot;
  Ident name = expectName(isLabel ? "a label" : "a directive or a label");
  if (panic)
    return false;
  if (isLabel) {
    List<Ident> path = {name};
    while (!panic && fits(path.size(), since(begin)) && consume(Token::Dot))
      path.push_back(expectName("a label"));
    item.path = save(path);
    if (!panic)
      item.block = parseMapBlock();
  } else {
    item.name = name;
    bool isBare =
        name.text == "pull" || name.text == "push" || name.text == "staged";
    if (!isBare)
      item.args = parseDirectiveArgs();
  }
  item.range = since(begin);
  return !panic;
}
