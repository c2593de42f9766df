//===- ParserDecl.cpp - Parsing contracts, procedures and functions -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All declarations but schedules, which ParserSchedule.cpp has.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/ParserImpl.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringSwitch.h"

using namespace coll;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// What people write for the word that starts a declaration.
static StringRef declarationFor(StringRef word) {
  if (StringRef known =
          llvm::StringSwitch<StringRef>(word)
              .Cases({"function", "func", "proc", "procedure", "sub", "macro"},
                     "def")
              .Cases({"include", "use", "using"}, "import")
              .Cases({"algorithm", "collective", "program"}, "schedule")
              .Cases({"const", "var"}, "let")
              .Default("");
      !known.empty())
    return known;
  for (StringRef keyword : {"schedule", "contract", "import"})
    if (word.edit_distance(keyword, true, 2) <= 2)
      return keyword;
  return "";
}

void Parser::parseDeclaration() {
  openBrackets = 0;
  reportedUnclosed = givenUp = false;
  suspect = Lexeme();
  StringRef documentation = doc(tok());
  Decl *decl = nullptr;
  switch (tok().kind) {
  case Token::KwImport:
    parseImport();
    break;
  case Token::KwSchedule:
    decl = parseSchedule();
    break;
  case Token::KwContract:
    decl = parseContract();
    break;
  case Token::KwDef:
    decl = parseProcedure();
    break;
  case Token::KwFn:
    decl = parseFunction();
    break;
  case Token::KwLet:
    decl = parseLet();
    break;
  default: {
    if (at(Token::RBrace)) {
      report(Slug::SyntaxError, here(), "'}' without the '{' that it closes")
          .emit();
      advance();
      break;
    }
    SourceRange range = here();
    StringRef meant = declarationFor(text(tok()));
    auto error = fail(Slug::SyntaxError, range,
                      describe(tok()) + " where a declaration should be");
    if (!meant.empty())
      error.fix(range, meant, "did you mean '" + meant + "'?");
    else if (startsStatement())
      error.help(range, "statements stand in a schedule or a def");
    advance();
    break;
  }
  }
  if (decl) {
    decl->doc = documentation;
    decls.push_back(decl);
  }
  if (panic)
    skipToDeclaration();
}

/// "import" STRING
void Parser::parseImport() {
  uint32_t begin = tok().begin;
  advance();
  SourceRange path = here();
  if (at(Token::Identifier) && !tok().startsLine) {
    std::string file = text(tok()).str();
    fail(Slug::SyntaxError, path, describe(tok()) + " where a string should be")
        .fix(path, "\"" + file + ".coll\"",
             "an import names a file, in quotes");
    advance();
    if (at(Token::Dot))
      advance(), advance();
    return;
  }
  if (!at(Token::String)) {
    expected("the name of a file, a string,").emit();
    return;
  }
  StringRef name = text(tok());
  char quote = name.front();
  advance();
  // The lexer has said that it is not closed: where it would end is a guess,
  // and what is missing is no file.
  if (name.size() < 2 || name.back() != quote)
    return;
  name = name.drop_front().drop_back();
  if (name.empty()) {
    report(Slug::SyntaxError, path, "an import without a name").emit();
    return;
  }
  if (name.size() <= maxNameBytes)
    imports.push_back(make<ImportDecl>(since(begin), name, path));
}

/// "(" ID { "," ID } ")"
ArrayRef<Ident> Parser::parseNames(const Twine &what) {
  Lexeme open = tok();
  if (!expect(Token::LParen))
    return {};
  List<Ident> names;
  do
    names.push_back(expectName(what));
  while (!panic && fits(names.size(), since(open.begin)) &&
         consume(Token::Comma));
  if (!panic)
    expectClosing(Token::RParen, open);
  return save(names);
}

/// where = "where" args
ArrayRef<Expr *> Parser::parseWhere() {
  if (panic || !consume(Token::KwWhere))
    return {};
  return parseArgs();
}

/// cname = ID | "reduce"
Ident Parser::parseContractName() {
  if (!at(Token::KwReduce))
    return expectName("the name of a contract");
  Ident name = {text(tok()), here()};
  advance();
  return name;
}

//===----------------------------------------------------------------------===//
// Contracts
//===----------------------------------------------------------------------===//

/// contract = "contract" cname [ "(" ids ")" ] "{" { clause } "}"
Decl *Parser::parseContract() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = parseContractName();
  ArrayRef<Ident> params;
  if (!panic && at(Token::LParen))
    params = parseNames("a parameter");
  if (!skipToBlock()) {
    expected("a block, '{',").emit();
    return nullptr;
  }
  Lexeme open = tok();
  advance();
  List<Clause *> clauses;
  auto startsClause = [&] {
    switch (tok().kind) {
    case Token::KwEnsure:
    case Token::KwInplace:
    case Token::KwLaunch:
    case Token::KwRequire:
      return true;
    default:
      // These stand in expressions too.
      return (at(Token::KwIn) || at(Token::KwOut) || at(Token::KwSize)) &&
             tok().startsLine;
    }
  };
  while (!panic && !at(Token::RBrace) && !at(Token::EndOfFile) &&
         !startsDeclaration()) {
    if (consume(Token::Semicolon))
      continue;
    uint32_t clauseBegin = tok().begin;
    openBrackets = 0;
    StringRef documentation = doc(tok());
    if (Clause *clause = parseClause()) {
      clause->doc = documentation;
      clauses.push_back(clause);
    }
    if (panic) {
      if (tok().begin == clauseBegin)
        advance();
      skipToClause(startsClause);
    }
  }
  closeBlock(open);
  return make<ContractDecl>(since(begin), name, params, save(clauses));
}

Clause *Parser::parseClause() {
  switch (tok().kind) {
  case Token::KwIn:
  case Token::KwOut:
    return parseParts();
  case Token::KwLaunch:
    return parseLaunchClause();
  case Token::KwRequire:
    return parseRequire();
  case Token::KwEnsure:
  case Token::KwInplace:
  case Token::KwSize:
    return parseEquation();
  default:
    if (atWord("arg"))
      return parseArgClause();
    fail(Slug::SyntaxError, here(),
         describe(tok()) + " where a clause of a contract should be")
        .emit();
    return nullptr;
  }
}

/// ( "in" | "out" ) [ ID ] [ "[" args "]" ] [ "@" rank ]
Clause *Parser::parseParts() {
  uint32_t begin = tok().begin;
  bool isOut = at(Token::KwOut);
  Ident name = {"", here()};
  advance();
  // `out arg w : row` is two clauses, `out arg[all]` is one.
  bool isArgClause = atWord("arg") && peek().kind == Token::Identifier;
  if (at(Token::Identifier) && !isArgClause) {
    name = {text(tok()), here()};
    advance();
  }
  ArrayRef<Expr *> shape;
  if (at(Token::LBracket))
    shape = parseBracketed();
  Expr *rank = nullptr;
  if (!panic && consume(Token::At))
    rank = parseRank();
  return panic ? nullptr
               : make<PartsClause>(since(begin), isOut, name, shape, rank);
}

/// "arg" ID ":" kind
Clause *Parser::parseArgClause() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = expectName("the name of an argument");
  if (panic || !expect(Token::Colon))
    return nullptr;
  ArgKind kind = parseArgKind();
  return panic ? nullptr : make<ArgClause>(since(begin), name, kind);
}

/// kind = "elem" | "row" | "scalar"
ArgKind Parser::parseArgKind() {
  using Kind = std::optional<ArgKind>;
  StringRef word = text(tok());
  if (!at(Token::Identifier)) {
    expected("'elem', 'row' or 'scalar'").emit();
    return ArgKind::Elem;
  }
  Kind kind = llvm::StringSwitch<Kind>(word)
                  .Case("elem", ArgKind::Elem)
                  .Case("row", ArgKind::Row)
                  .Case("scalar", ArgKind::Scalar)
                  .Default(std::nullopt);
  if (!kind)
    report(Slug::UnknownType, here(),
           "'" + word + "' is none of elem, row and scalar")
        .emit();
  advance();
  return kind.value_or(ArgKind::Elem);
}

/// "launch" ID "[" args "]" [ "global" ]
Clause *Parser::parseLaunchClause() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = expectName("the name of the counts");
  if (panic)
    return nullptr;
  if (!at(Token::LBracket)) {
    expected("the shape of the counts, '[',").emit();
    return nullptr;
  }
  ArrayRef<Expr *> shape = parseBracketed();
  bool isGlobal = !panic && consumeWord("global");
  return panic ? nullptr
               : make<LaunchClause>(since(begin), name, shape, isGlobal);
}

/// "require" "same" "(" array ")"
Clause *Parser::parseRequire() {
  uint32_t begin = tok().begin;
  advance();
  if (!consumeWord("same")) {
    expected("'same'").emit();
    return nullptr;
  }
  Lexeme open = tok();
  if (!expect(Token::LParen))
    return nullptr;
  Ident array = {text(tok()), here()};
  if (at(Token::KwIn) || at(Token::KwOut))
    advance();
  else
    array = expectName("an array");
  if (panic || !expectClosing(Token::RParen, open))
    return nullptr;
  return make<RequireSameClause>(since(begin), array);
}

/// ( "ensure" | "inplace" | "size" ) range "==" range [ "for" iters ]
Clause *Parser::parseEquation() {
  using Word = EquationClause::Word;
  uint32_t begin = tok().begin;
  Word word = at(Token::KwEnsure)    ? Word::Ensure
              : at(Token::KwInplace) ? Word::InPlace
                                     : Word::Size;
  advance();
  Expr *lhs = parseRange();
  if (panic)
    return nullptr;
  std::optional<Operator> op = comparisonOperator();
  if (!op || op->op != BinaryOp::Eq) {
    expected("'=='").emit();
    return nullptr;
  }
  consumeOperator(*op);
  Expr *rhs = parseRange();
  Iterators iters;
  if (!panic && consume(Token::KwFor))
    iters = parseIterators();
  return panic ? nullptr
               : make<EquationClause>(since(begin), word, lhs, rhs, iters);
}

//===----------------------------------------------------------------------===//
// Procedures and functions
//===----------------------------------------------------------------------===//

/// procedure = "def" ID "(" [ dparam { "," dparam } ] ")" [ where ] block
Decl *Parser::parseProcedure() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = expectName("the name of a procedure");
  Lexeme open = tok();
  List<ProcedureParam> params;
  if (!panic && expect(Token::LParen) && !consume(Token::RParen)) {
    do
      params.push_back(parseProcedureParam());
    while (!panic && fits(params.size(), since(begin)) &&
           consume(Token::Comma));
    if (!panic)
      expectClosing(Token::RParen, open);
  }
  ArrayRef<Expr *> where = parseWhere();
  BlockStmt *body = parseHeadedBlock();
  if (!body)
    return nullptr;
  return make<ProcedureDecl>(since(begin), name, save(params), where, body);
}

/// dparam = "ranks" ID [ "[" expr "]" ] | "chunks" ID [ "[" args "]" ] | ID
ProcedureParam Parser::parseProcedureParam() {
  using Kind = ProcedureParam::Kind;
  ProcedureParam param{};
  uint32_t begin = tok().begin;
  param.kind = at(Token::KwRanks)    ? Kind::Ranks
               : at(Token::KwChunks) ? Kind::Chunks
                                     : Kind::Int;
  if (param.kind != Kind::Int)
    advance();
  param.name = expectName("the name of a parameter");
  if (!panic && param.kind != Kind::Int && at(Token::LBracket)) {
    param.shape = parseBracketed();
    if (!panic && param.kind == Kind::Ranks && param.shape.size() != 1)
      fail(Slug::SyntaxError, since(begin), "a list of ranks with two sizes")
          .emit();
  }
  param.range = since(begin);
  return param;
}

/// function = "fn" ID "(" ID ":" kind { "," ID ":" kind } ")" "=" expr
Decl *Parser::parseFunction() {
  uint32_t begin = tok().begin;
  advance();
  Ident name = expectName("the name of a function");
  Lexeme open = tok();
  if (panic || !expect(Token::LParen))
    return nullptr;
  List<FunctionParam> params;
  do {
    FunctionParam param{expectName("the name of a parameter"), ArgKind::Elem};
    if (!panic && !consume(Token::Colon)) {
      expected("':' and the parameter's kind")
          .help(afterPrevious(), "a parameter is 'elem', 'row' or 'scalar'");
      return nullptr;
    }
    if (!panic)
      param.type = parseArgKind();
    params.push_back(param);
  } while (!panic && fits(params.size(), since(begin)) &&
           consume(Token::Comma));
  if (panic || !expectClosing(Token::RParen, open) || !expect(Token::Equal))
    return nullptr;
  inFunction = true;
  Expr *body = parseExpr();
  inFunction = false;
  if (panic)
    return nullptr;
  return make<FunctionDecl>(since(begin), name, save(params), body);
}
