//===- SourceMutants.cpp - Schedules with one thing broken ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SourceMutants.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>
#include <set>

using namespace coll;
using namespace coll::test;

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

namespace {
class Collector {
public:
  Collector(const File &file, llvm::StringRef text) : file(file), text(text) {}
  void visitBody(llvm::StringRef name);
  std::vector<SourceMutant> mutants;

private:
  void visit(const Stmt *stmt, bool isInGroup);
  void visitBlock(const BlockStmt *block, bool isInGroup);
  void visit(const Expr *expr);
  void visitAll(llvm::ArrayRef<Expr *> exprs) {
    for (const Expr *expr : exprs)
      visit(expr);
  }
  llvm::StringRef textOf(SourceRange range) const {
    return text.slice(range.begin, range.end);
  }
  void replace(SourceRange range, const std::string &by, const char *what);
  void drop(const Stmt *stmt) { replace(stmt->range, "", "drop"); }
  void repeat(const Stmt *stmt) {
    std::string once = textOf(stmt->range).str();
    replace(stmt->range, once + " " + once, "repeat");
  }

  const File &file;
  llvm::StringRef text;
  std::set<std::string> seen; // procedures
};
} // namespace

void Collector::replace(SourceRange range, const std::string &by,
                        const char *what) {
  std::string changed =
      text.substr(0, range.begin).str() + by + text.substr(range.end).str();
  mutants.push_back(
      {std::string(what) + " " + textOf(range).str(), std::move(changed)});
}

void Collector::visitBody(llvm::StringRef name) {
  if (!seen.insert(name.str()).second)
    return;
  for (const Decl *decl : file.decls) {
    if (decl->name.text != name)
      continue;
    if (auto *schedule = llvm::dyn_cast<ScheduleDecl>(decl))
      visitBlock(schedule->body, false);
    else if (auto *procedure = llvm::dyn_cast<ProcedureDecl>(decl))
      visitBlock(procedure->body, false);
  }
}

/// Statements of a group happen at once, so their order seldom matters.
void Collector::visitBlock(const BlockStmt *block, bool isInGroup) {
  auto moves = [](const Stmt *stmt) {
    return stmt->kind() != Stmt::Kind::Tmp && stmt->kind() != Stmt::Kind::Let;
  };
  for (size_t i = 0; i < block->stmts.size(); ++i) {
    const Stmt *stmt = block->stmts[i];
    if (i + 1 < block->stmts.size() && !isInGroup && moves(stmt) &&
        moves(block->stmts[i + 1]) && !stmt->label &&
        !block->stmts[i + 1]->label) {
      const Stmt *next = block->stmts[i + 1];
      SourceRange between = {stmt->range.file, stmt->range.end,
                             next->range.begin};
      replace(stmt->range.to(next->range),
              textOf(next->range).str() + textOf(between).str() +
                  textOf(stmt->range).str(),
              "swap");
    }
    visit(stmt, isInGroup);
  }
}

void Collector::visit(const Stmt *stmt, bool isInGroup) {
  switch (stmt->kind()) {
  case Stmt::Kind::Transfer: {
    auto *transfer = llvm::cast<TransferStmt>(stmt);
    drop(stmt);
    if (transfer->isReduce)
      repeat(stmt);
    visit(transfer->value);
    visit(transfer->place);
    return;
  }
  case Stmt::Kind::Send: {
    auto *send = llvm::cast<SendStmt>(stmt);
    drop(stmt);
    repeat(stmt);
    visit(send->value);
    visit(send->to);
    return;
  }
  case Stmt::Kind::Recv: {
    auto *recv = llvm::cast<RecvStmt>(stmt);
    drop(stmt);
    repeat(stmt);
    visit(recv->place);
    visit(recv->from);
    return;
  }
  case Stmt::Kind::Call: {
    auto *call = llvm::cast<CallStmt>(stmt);
    drop(stmt);
    visitAll(call->args);
    visitBody(call->callee.text);
    return;
  }
  case Stmt::Kind::Let:
    return visit(llvm::cast<LetStmt>(stmt)->let->value);
  case Stmt::Kind::Block:
    return visitBlock(llvm::cast<BlockStmt>(stmt), isInGroup);
  case Stmt::Kind::If: {
    auto *branch = llvm::cast<IfStmt>(stmt);
    visitBlock(branch->thenBlock, isInGroup);
    if (branch->elseStmt)
      visit(branch->elseStmt, isInGroup);
    return;
  }
  case Stmt::Kind::For: {
    auto *loop = llvm::cast<ForStmt>(stmt);
    for (const Iterator &iterator : loop->iters.list)
      visit(iterator.domain);
    return visitBlock(loop->body, isInGroup);
  }
  case Stmt::Kind::Group:
    return visit(llvm::cast<GroupStmt>(stmt)->body, true);
  case Stmt::Kind::On:
    return visitBlock(llvm::cast<OnStmt>(stmt)->body, false);
  case Stmt::Kind::Tmp:
    return;
  }
}

void Collector::visit(const Expr *expr) {
  if (!expr)
    return;
  switch (expr->kind()) {
  case Expr::Kind::Int:
    return replace(expr->range,
                   std::to_string(llvm::cast<IntExpr>(expr)->value + 1),
                   "increase");
  case Expr::Kind::Binary: {
    auto *binary = llvm::cast<BinaryExpr>(expr);
    if (binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub)
      replace(binary->opRange, binary->op == BinaryOp::Add ? "-" : "+",
              "negate");
    visit(binary->lhs);
    return visit(binary->rhs);
  }
  case Expr::Kind::Call: {
    auto *call = llvm::cast<CallExpr>(expr);
    for (const CallArg &arg : call->args)
      visit(arg.value);
    return;
  }
  case Expr::Kind::Tuple:
    return visitAll(llvm::cast<TupleExpr>(expr)->elements);
  case Expr::Kind::List:
    return visitAll(llvm::cast<ListExpr>(expr)->elements);
  case Expr::Kind::Comprehension:
    return visit(llvm::cast<ComprehensionExpr>(expr)->element);
  case Expr::Kind::Range: {
    auto *range = llvm::cast<RangeExpr>(expr);
    visit(range->lo);
    return visit(range->hi);
  }
  case Expr::Kind::Index: {
    auto *index = llvm::cast<IndexExpr>(expr);
    visit(index->base);
    return visitAll(index->indices);
  }
  case Expr::Kind::At: {
    auto *at = llvm::cast<AtExpr>(expr);
    visit(at->base);
    return visit(at->rank);
  }
  case Expr::Kind::Conditional: {
    auto *choice = llvm::cast<ConditionalExpr>(expr);
    visit(choice->thenValue);
    return visit(choice->elseValue);
  }
  default:
    return;
  }
}

std::vector<SourceMutant> test::mutantsOf(const File &file,
                                          llvm::StringRef text,
                                          llvm::StringRef schedule) {
  Collector collector(file, text);
  collector.visitBody(schedule);
  return std::move(collector.mutants);
}

//===----------------------------------------------------------------------===//
// What contracts promise
//===----------------------------------------------------------------------===//

namespace {
/// How often each part of `in` of each rank is in a value.
using Contributions = std::map<std::pair<uint32_t, Rank>, uint64_t>;

/// Of `out[part]@rank`; nothing: it is not promised.
class Promise {
public:
  explicit Promise(const ChunkGraph &graph)
      : name(graph.contract), n(graph.numRanks()),
        root(graph.launchValues.empty() ? 0 : graph.launchValues[0]) {}
  std::optional<Contributions> of(Rank r, uint32_t part) const;
  bool isKnown() const;

private:
  Contributions all(uint32_t part, Rank end) const {
    Contributions sum;
    for (Rank q = 0; q < end; ++q)
      sum[{part, q}] = 1;
    return sum;
  }
  std::string name;
  uint32_t n;
  Rank root;
};
} // namespace

bool Promise::isKnown() const {
  static const std::set<std::string> names = {
      "allreduce", "allgather",  "reduce_scatter", "alltoall",
      "broadcast", "reduce",     "scatter",        "gather",
      "exchange",  "shift",      "scan",           "alltonext",
      "send_recv", "allgatherv", "alltoallv",      "barrier"};
  return names.count(name);
}

std::optional<Contributions> Promise::of(Rank r, uint32_t part) const {
  auto one = [](uint32_t inPart, Rank q) {
    return Contributions{{{inPart, q}, 1}};
  };
  if (name == "allreduce" || name == "barrier")
    return all(0, n);
  if (name == "allgather" || name == "allgatherv")
    return one(0, part);
  if (name == "reduce_scatter")
    return all(r, n);
  if (name == "alltoall" || name == "alltoallv")
    return one(r, part);
  if (name == "broadcast")
    return one(0, root);
  if (name == "reduce")
    return r == root ? std::optional(all(0, n)) : std::nullopt;
  if (name == "scatter")
    return one(r, root);
  if (name == "gather")
    return r == root ? std::optional(one(0, part)) : std::nullopt;
  if (name == "exchange")
    return one(0, r ^ 1);
  if (name == "shift")
    return one(0, (r + n - 1) % n);
  if (name == "scan")
    return all(0, r + 1);
  if (name == "alltonext")
    return r ? std::optional(one(0, r - 1)) : std::nullopt;
  if (name == "send_recv") // 0 and 1, as parameters without a default are
    return r == 1 ? std::optional(one(0, 0)) : std::nullopt;
  return std::nullopt;
}

/// In postfix order operands are all that counts: every expression adds up.
static Contributions sumOf(const ChunkGraph &graph, const Value &value,
                           const std::vector<Contributions> &before) {
  if (value.kind == Value::Input)
    return {{{value.cell.part, value.rank}, 1}};
  Contributions sum;
  for (const ExprNode &node : graph.exprs[value.expr].nodes)
    if (node.kind == ExprNode::Operand)
      for (auto &[leaf, times] :
           before[graph.operandsOf(value)[node.arg].value])
        sum[leaf] += times;
  return sum;
}

bool test::keepsContract(const ChunkGraph &graph, bool &known) {
  Promise promise(graph);
  known = promise.isKnown();
  if (!known)
    return false;
  std::vector<Contributions> sums;
  std::vector<std::set<uint32_t>> chunks; // that contribute
  for (const Value &value : graph.values) {
    sums.push_back(sumOf(graph, value, sums));
    std::set<uint32_t> of;
    if (value.kind == Value::Input)
      of.insert(value.cell.chunk);
    for (uint32_t i = 0; i < value.numOperands; ++i) {
      const std::set<uint32_t> &from = chunks[graph.operandsOf(value)[i].value];
      of.insert(from.begin(), from.end());
    }
    chunks.push_back(std::move(of));
  }
  std::map<std::tuple<Rank, uint32_t, uint32_t>, ValueId> outputs;
  for (const Output &output : graph.outputs)
    if (graph.buffers[output.cell.buffer].kind == Buffer::Out)
      outputs[{output.rank, output.cell.part, output.cell.chunk}] =
          output.value;
  for (const Buffer &buffer : graph.buffers)
    for (Rank r = 0; r < graph.numRanks() && buffer.kind == Buffer::Out; ++r)
      for (uint32_t part = 0; buffer.present[r] && part < buffer.parts; ++part)
        for (uint32_t c = 0; c < graph.sizes[buffer.sizeOf(r, part)].chunks;
             ++c) {
          std::optional<Contributions> want = promise.of(r, part);
          if (!want)
            continue;
          auto it = outputs.find({r, part, c});
          if (it == outputs.end())
            return false;
          Contributions got = sums[it->second];
          if (graph.contract == "barrier") // what is there twice does no harm
            for (auto &[leaf, times] : got)
              times = 1;
          bool isWhole = graph.contract == "barrier" ||
                         chunks[it->second] == std::set<uint32_t>{c};
          if (got != *want || !isWhole)
            return false;
        }
  return true;
}
