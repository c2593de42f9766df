//===- ASTPrinterDecl.cpp - Printing statements and declarations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Frontend/ASTPrinter.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using llvm::ArrayRef;
using llvm::cast;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void ASTPrinter::doc(StringRef text) {
  if (text.empty())
    return;
  llvm::SmallVector<StringRef, 8> lines;
  text.split(lines, '\n');
  for (StringRef line : lines)
    startLine() << (line.empty() ? "///" : "/// ") << line << '\n';
}

void ASTPrinter::print(const Stmt &stmt) {
  doc(stmt.doc);
  startLine();
  printBare(stmt);
  os << '\n';
}

/// Without the start and the end of the line.
void ASTPrinter::printBare(const Stmt &stmt) {
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

void ASTPrinter::via(const TypeRef &type) {
  if (type)
    os << " via " << spelling(type.type);
}

void ASTPrinter::transfer(const TransferStmt &stmt) {
  os << (stmt.isReduce ? "reduce " : "copy ");
  print(*stmt.value);
  os << " -> ";
  print(*stmt.place, PrecPlace);
  via(stmt.via);
}

void ASTPrinter::tmp(const TmpStmt &stmt) {
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

void ASTPrinter::let(const LetDecl &let) {
  os << "let " << let.name.text;
  if (let.isFunction) {
    os << '(';
    idents(let.params);
    os << ')';
  }
  os << " = ";
  print(*let.value);
}

void ASTPrinter::stmts(const BlockStmt &block) {
  for (const Stmt *stmt : block.stmts)
    print(*stmt);
}

void ASTPrinter::block(const BlockStmt &block) {
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

void ASTPrinter::print(const Clause &clause) {
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

void ASTPrinter::contract(const ContractDecl &contract) {
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

void ASTPrinter::param(const ScheduleParam &param) {
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

void ASTPrinter::where(ArrayRef<Expr *> conditions) {
  if (conditions.empty())
    return;
  os << " where ";
  exprs(conditions);
}

void ASTPrinter::schedule(const ScheduleDecl &schedule) {
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

void ASTPrinter::map(const MapBlock &map) {
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

void ASTPrinter::procedure(const ProcedureDecl &procedure) {
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

void ASTPrinter::function(const FunctionDecl &function) {
  os << "fn " << function.name.text << '(';
  llvm::interleaveComma(function.params, os, [&](const FunctionParam &p) {
    os << p.name.text << ": " << spelling(p.type);
  });
  os << ") = ";
  print(*function.body);
}

void ASTPrinter::print(const Decl &decl) {
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

void ASTPrinter::print(const File &file) {
  for (const ImportDecl *import : file.imports)
    print(*import);
  bool isFirst = file.imports.empty();
  for (const Decl *decl : file.decls) {
    if (!std::exchange(isFirst, false))
      os << '\n';
    print(*decl);
  }
}

void coll::printFile(const File &file, llvm::raw_ostream &os,
                     bool allParentheses) {
  ASTPrinter(os, allParentheses).print(file);
}
