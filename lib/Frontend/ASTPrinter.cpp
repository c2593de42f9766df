//===- ASTPrinter.cpp - The syntax tree as .coll text ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a tree in the one canonical form. An expression is printed for the
// place where it stands, given as the loosest precedence that may stand there
// bare; anything looser gets parentheses. With `allParentheses` every operation
// gets them, so that two trees are alike exactly if their prints are.
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/AST.h"
#include "lib/Frontend/Precedence.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace coll;
using llvm::ArrayRef;
using llvm::cast;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

StringRef coll::spelling(UnaryOp op) {
  return op == UnaryOp::Neg ? "-" : "not ";
}

StringRef coll::spelling(BinaryOp op) {
  static constexpr StringRef texts[] = {
      "or", "and", "==", "!=", "<", "<=", ">", ">=", "|",
      "^",  "&",   "<<", ">>", "+", "-",  "*", "/",  "%"};
  return texts[unsigned(op)];
}

StringRef coll::spelling(ElementType type) {
  static constexpr StringRef texts[] = {"T",   "accum", "f16",  "bf16",  "f32",
                                        "f64", "e4m3",  "e5m2", "mxe4m3"};
  return texts[unsigned(type)];
}

StringRef coll::spelling(ArgKind kind) {
  static constexpr StringRef texts[] = {"elem", "row", "scalar"};
  return texts[unsigned(kind)];
}

namespace {

class Printer {
public:
  Printer(llvm::raw_ostream &os, bool allParentheses)
      : os(os), allParentheses(allParentheses) {}

  void print(const File &file);
  void print(const Expr &expr, Precedence loosest = PrecConditional);

private:
  void printBare(const Expr &expr);
  void exprs(ArrayRef<Expr *> list);
  void bracketed(ArrayRef<Expr *> list);
  void idents(ArrayRef<Ident> list);
  void iterators(const Iterators &iters);

  void print(const Stmt &stmt);
  void printBare(const Stmt &stmt);
  void transfer(const TransferStmt &stmt);
  void tmp(const TmpStmt &stmt);
  void let(const LetDecl &let);
  void block(const BlockStmt &block);
  void stmts(const BlockStmt &block);
  void via(const TypeRef &type);

  void print(const Decl &decl);
  void print(const Clause &clause);
  void contract(const ContractDecl &contract);
  void schedule(const ScheduleDecl &schedule);
  void procedure(const ProcedureDecl &procedure);
  void function(const FunctionDecl &function);
  void param(const ScheduleParam &param);
  void where(ArrayRef<Expr *> conditions);
  void map(const MapBlock &map);
  void doc(StringRef text);

  llvm::raw_ostream &startLine() { return os.indent(2 * level); }

  llvm::raw_ostream &os;
  bool allParentheses;
  unsigned level = 0;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Precedence precedence(const Expr &expr) {
  switch (expr.kind()) {
  case Expr::Kind::Conditional:
    return PrecConditional;
  case Expr::Kind::Binary:
    return precedenceOf(cast<BinaryExpr>(expr).op);
  case Expr::Kind::Unary:
    return cast<UnaryExpr>(expr).op == UnaryOp::Not ? PrecNot : PrecUnary;
  case Expr::Kind::Range:
    return PrecRange;
  case Expr::Kind::At:
  case Expr::Kind::View:
    return PrecPlace;
  case Expr::Kind::Index:
    // What is indexed decides: `a[i]` can be a rank, `(a as [n])[i]` cannot.
    return std::min(PrecRank, precedence(*cast<IndexExpr>(expr).base));
  default:
    return PrecAtom;
  }
}

void Printer::print(const Expr &expr, Precedence loosest) {
  Precedence own = precedence(expr);
  bool parentheses = own < loosest || (allParentheses && own < PrecAtom);
  if (parentheses)
    os << '(';
  printBare(expr);
  if (parentheses)
    os << ')';
}

void Printer::exprs(ArrayRef<Expr *> list) {
  llvm::interleaveComma(list, os, [&](const Expr *expr) { print(*expr); });
}

void Printer::bracketed(ArrayRef<Expr *> list) {
  os << '[';
  exprs(list);
  os << ']';
}

void Printer::idents(ArrayRef<Ident> list) {
  llvm::interleaveComma(list, os, [&](const Ident &name) { os << name.text; });
}

void Printer::iterators(const Iterators &iters) {
  llvm::interleaveComma(iters.list, os, [&](const Iterator &iterator) {
    os << iterator.name.text << " in ";
    print(*iterator.domain);
  });
  if (iters.filter) {
    os << " if ";
    print(*iters.filter);
  }
}

/// What may stand bare in front of brackets: a place without its rank.
Precedence indexedPrecedence(const Expr &base) {
  return llvm::isa<AtExpr>(base) ? PrecAtom : PrecPlace;
}

void Printer::printBare(const Expr &expr) {
  switch (expr.kind()) {
  case Expr::Kind::Error:
    os << "<error>";
    return;
  case Expr::Kind::Int:
    os << cast<IntExpr>(expr).value;
    return;
  case Expr::Kind::Float:
    os << cast<FloatExpr>(expr).text;
    return;
  case Expr::Kind::Name:
    os << cast<NameExpr>(expr).name;
    return;
  case Expr::Kind::Call: {
    const auto &call = cast<CallExpr>(expr);
    os << call.callee.text << '(';
    llvm::interleaveComma(call.args, os, [&](const CallArg &arg) {
      print(*arg.value);
      if (arg.iters) {
        os << " for ";
        iterators(arg.iters);
      }
    });
    os << ')';
    return;
  }
  case Expr::Kind::Tuple:
    os << '(';
    exprs(cast<TupleExpr>(expr).elements);
    os << ')';
    return;
  case Expr::Kind::List:
    bracketed(cast<ListExpr>(expr).elements);
    return;
  case Expr::Kind::Comprehension: {
    const auto &list = cast<ComprehensionExpr>(expr);
    os << '[';
    print(*list.element);
    os << " for ";
    iterators(list.iters);
    os << ']';
    return;
  }
  case Expr::Kind::Unary: {
    const auto &unary = cast<UnaryExpr>(expr);
    os << spelling(unary.op);
    print(*unary.operand, precedence(unary));
    return;
  }
  case Expr::Kind::Binary: {
    const auto &binary = cast<BinaryExpr>(expr);
    Precedence own = precedenceOf(binary.op);
    // Comparisons do not associate; all others do to the left.
    auto tighter = Precedence(own + 1);
    print(*binary.lhs, own == PrecComparison ? tighter : own);
    os << ' ' << spelling(binary.op) << ' ';
    print(*binary.rhs, tighter);
    return;
  }
  case Expr::Kind::Conditional: {
    const auto &conditional = cast<ConditionalExpr>(expr);
    print(*conditional.condition, PrecOr);
    os << " ? ";
    print(*conditional.thenValue);
    os << " : ";
    print(*conditional.elseValue);
    return;
  }
  case Expr::Kind::Range: {
    const auto &range = cast<RangeExpr>(expr);
    if (range.isWhole()) {
      os << "..";
      return;
    }
    print(*range.lo, PrecBitOr);
    os << " .. ";
    print(*range.hi, PrecBitOr);
    if (range.step) {
      os << " step ";
      print(*range.step, PrecBitOr);
    }
    return;
  }
  case Expr::Kind::Index: {
    const auto &index = cast<IndexExpr>(expr);
    print(*index.base, indexedPrecedence(*index.base));
    bracketed(index.indices);
    return;
  }
  case Expr::Kind::View: {
    const auto &view = cast<ViewExpr>(expr);
    print(*view.base, indexedPrecedence(*view.base));
    os << " as ";
    bracketed(view.shape);
    return;
  }
  case Expr::Kind::At: {
    const auto &at = cast<AtExpr>(expr);
    print(*at.base, indexedPrecedence(*at.base));
    os << '@';
    print(*at.rank, PrecRank);
    return;
  }
  }
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Printer::doc(StringRef text) {
  if (text.empty())
    return;
  llvm::SmallVector<StringRef, 8> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    startLine() << (line.empty() ? "///" : "/// ") << line << '\n';
}

void Printer::print(const Stmt &stmt) {
  doc(stmt.doc);
  startLine();
  printBare(stmt);
  os << '\n';
}

/// Without the start and the end of the line.
void Printer::printBare(const Stmt &stmt) {
  if (stmt.label)
    os << stmt.label.text << ": ";
  switch (stmt.kind()) {
  case Stmt::Kind::Transfer:
    return transfer(cast<TransferStmt>(stmt));
  case Stmt::Kind::Tmp:
    return tmp(cast<TmpStmt>(stmt));
  case Stmt::Kind::Let:
    return let(*cast<LetStmt>(stmt).let);
  case Stmt::Kind::Block:
    return block(cast<BlockStmt>(stmt));
  case Stmt::Kind::If: {
    const auto &branch = cast<IfStmt>(stmt);
    os << "if ";
    print(*branch.condition);
    os << ' ';
    block(*branch.thenBlock);
    if (branch.elseStmt) {
      os << " else ";
      printBare(*branch.elseStmt);
    }
    return;
  }
  case Stmt::Kind::For:
    os << "for ";
    iterators(cast<ForStmt>(stmt).iters);
    os << ' ';
    return block(*cast<ForStmt>(stmt).body);
  case Stmt::Kind::Group:
    os << "group ";
    return printBare(*cast<GroupStmt>(stmt).body);
  case Stmt::Kind::On: {
    const auto &on = cast<OnStmt>(stmt);
    os << "on " << on.name.text << " in ";
    print(*on.ranks);
    if (on.buffer) {
      os << " buffer ";
      print(*on.buffer);
    }
    os << ' ';
    return block(*on.body);
  }
  case Stmt::Kind::Send: {
    const auto &send = cast<SendStmt>(stmt);
    os << "send ";
    print(*send.value);
    os << " to ";
    print(*send.to);
    return via(send.via);
  }
  case Stmt::Kind::Recv: {
    const auto &recv = cast<RecvStmt>(stmt);
    os << (recv.isReduce ? "recv reduce " : "recv ");
    print(*recv.place, PrecPlace);
    os << " from ";
    return print(*recv.from);
  }
  case Stmt::Kind::Call:
    os << cast<CallStmt>(stmt).callee.text << '(';
    exprs(cast<CallStmt>(stmt).args);
    os << ')';
    return;
  }
}

void Printer::via(const TypeRef &type) {
  if (type)
    os << " via " << spelling(type.type);
}

void Printer::transfer(const TransferStmt &stmt) {
  os << (stmt.isReduce ? "reduce " : "copy ");
  print(*stmt.value);
  os << " -> ";
  print(*stmt.place, PrecPlace);
  via(stmt.via);
}

void Printer::tmp(const TmpStmt &stmt) {
  os << "tmp " << stmt.name.text;
  if (!stmt.shape.empty())
    bracketed(stmt.shape);
  if (stmt.type)
    os << " : " << spelling(stmt.type.type);
  if (stmt.init) {
    os << " = ";
    print(*stmt.init, PrecPlace);
  }
}

void Printer::let(const LetDecl &let) {
  os << "let " << let.name.text;
  if (let.isFunction) {
    os << '(';
    idents(let.params);
    os << ')';
  }
  os << " = ";
  print(*let.value);
}

void Printer::stmts(const BlockStmt &block) {
  for (const Stmt *stmt : block.stmts)
    print(*stmt);
}

void Printer::block(const BlockStmt &block) {
  if (block.stmts.empty()) {
    os << "{ }";
    return;
  }
  os << "{\n";
  ++level;
  stmts(block);
  --level;
  startLine() << '}';
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Printer::print(const Clause &clause) {
  doc(clause.doc);
  startLine();
  switch (clause.kind()) {
  case Clause::Kind::Parts: {
    const auto &parts = cast<PartsClause>(clause);
    os << (parts.isOut ? "out" : "in");
    if (parts.name)
      os << ' ' << parts.name.text;
    if (!parts.shape.empty())
      bracketed(parts.shape);
    if (parts.rank) {
      os << '@';
      print(*parts.rank, PrecRank);
    }
    break;
  }
  case Clause::Kind::Arg:
    os << "arg " << cast<ArgClause>(clause).name.text << ": "
       << spelling(cast<ArgClause>(clause).type);
    break;
  case Clause::Kind::Launch: {
    const auto &launch = cast<LaunchClause>(clause);
    os << "launch " << launch.name.text;
    bracketed(launch.shape);
    if (launch.isGlobal)
      os << " global";
    break;
  }
  case Clause::Kind::RequireSame:
    os << "require same(" << cast<RequireSameClause>(clause).array.text << ')';
    break;
  case Clause::Kind::Equation: {
    static constexpr StringRef words[] = {"ensure ", "inplace ", "size "};
    const auto &equation = cast<EquationClause>(clause);
    os << words[unsigned(equation.word)];
    print(*equation.lhs, PrecRange);
    os << " == ";
    print(*equation.rhs, PrecRange);
    if (equation.iters) {
      os << " for ";
      iterators(equation.iters);
    }
    break;
  }
  }
  os << '\n';
}

void Printer::contract(const ContractDecl &contract) {
  os << "contract " << contract.name.text;
  if (!contract.params.empty()) {
    os << '(';
    idents(contract.params);
    os << ')';
  }
  os << " {\n";
  ++level;
  for (const Clause *clause : contract.clauses)
    print(*clause);
  --level;
  os << '}';
}

void Printer::param(const ScheduleParam &param) {
  switch (param.kind) {
  case ScheduleParam::Kind::Ranks:
    os << "ranks " << (param.isGrid ? "(" : "");
    idents(param.dims);
    os << (param.isGrid ? ")" : "");
    return;
  case ScheduleParam::Kind::Launch:
    os << "launch " << param.name.text << " in ";
    return print(*param.value);
  case ScheduleParam::Kind::Int:
    os << param.name.text;
    if (param.value) {
      os << " = ";
      print(*param.value);
    }
    return;
  }
}

void Printer::where(ArrayRef<Expr *> conditions) {
  if (conditions.empty())
    return;
  os << " where ";
  exprs(conditions);
}

void Printer::schedule(const ScheduleDecl &schedule) {
  os << "schedule " << schedule.name.text << '(';
  llvm::interleaveComma(schedule.params, os,
                        [&](const ScheduleParam &p) { param(p); });
  os << ") : " << schedule.contract.text;
  if (!schedule.contractArgs.empty()) {
    os << '(';
    exprs(schedule.contractArgs);
    os << ')';
  }
  where(schedule.where);
  os << " {\n";
  ++level;
  if (!schedule.chunks.empty()) {
    startLine() << "chunks ";
    exprs(schedule.chunks);
    os << (schedule.byRow ? " by row\n" : "\n");
  }
  stmts(*schedule.body);
  if (schedule.map) {
    startLine() << "map ";
    map(*schedule.map);
    os << '\n';
  }
  --level;
  os << '}';
}

void Printer::map(const MapBlock &map) {
  os << "{\n";
  ++level;
  for (const MapItem &item : map.items) {
    startLine();
    if (item.path.empty()) {
      os << item.name.text << (item.args.empty() ? "" : " ");
      exprs(item.args);
    } else {
      llvm::interleave(
          item.path, os, [&](const Ident &label) { os << label.text; }, ".");
      os << ' ';
      this->map(*item.block);
    }
    os << '\n';
  }
  --level;
  startLine() << '}';
}

void Printer::procedure(const ProcedureDecl &procedure) {
  static constexpr StringRef words[] = {"ranks ", "chunks ", ""};
  os << "def " << procedure.name.text << '(';
  llvm::interleaveComma(procedure.params, os, [&](const ProcedureParam &p) {
    os << words[unsigned(p.kind)] << p.name.text;
    if (!p.shape.empty())
      bracketed(p.shape);
  });
  os << ')';
  where(procedure.where);
  os << ' ';
  block(*procedure.body);
}

void Printer::function(const FunctionDecl &function) {
  os << "fn " << function.name.text << '(';
  llvm::interleaveComma(function.params, os, [&](const FunctionParam &p) {
    os << p.name.text << ": " << spelling(p.type);
  });
  os << ") = ";
  print(*function.body);
}

void Printer::print(const Decl &decl) {
  doc(decl.doc);
  switch (decl.kind()) {
  case Decl::Kind::Import:
    os << "import \"" << cast<ImportDecl>(decl).path << '"';
    break;
  case Decl::Kind::Contract:
    contract(cast<ContractDecl>(decl));
    break;
  case Decl::Kind::Schedule:
    schedule(cast<ScheduleDecl>(decl));
    break;
  case Decl::Kind::Procedure:
    procedure(cast<ProcedureDecl>(decl));
    break;
  case Decl::Kind::Function:
    function(cast<FunctionDecl>(decl));
    break;
  case Decl::Kind::Let:
    let(cast<LetDecl>(decl));
    break;
  }
  os << '\n';
}

void Printer::print(const File &file) {
  for (const ImportDecl *import : file.imports)
    print(*import);
  bool isFirst = file.imports.empty();
  for (const Decl *decl : file.decls) {
    // Lets stand together, everything else apart.
    if (!std::exchange(isFirst, false))
      os << '\n';
    print(*decl);
  }
}

} // namespace

void coll::printFile(const File &file, llvm::raw_ostream &os,
                     bool allParentheses) {
  Printer(os, allParentheses).print(file);
}

void coll::printExpr(const Expr &expr, llvm::raw_ostream &os) {
  Printer(os, /*allParentheses=*/false).print(expr);
}
