//===- Repair.cpp - The change that makes a schedule right ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most wrong schedules are one slip away from a right one: a loop that ends one
// turn early, a chunk counted from the wrong rank, a sign. Where a check is
// cheap, the slip need not be guessed at: every likely edit is made, the text
// is read again from its first byte, and the whole is executed at several
// numbers of ranks. What keeps the contract at all of them is no guess, and
// the message says where it was tried.
//
// Rank counts of two or three forgive much (there, one step ahead is one
// behind), so larger ones have to agree. Everything is bounded, and by counts,
// so that the same source gets the same words on every machine.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Repair.h"

#include "lib/Driver/Ranks.h"
#include "lib/Frontend/Precedence.h"
#include "lib/Frontend/SemaWalk.h"

#include <set>

using namespace coll;

/// What takes more than this is too slow to repeat for each edit.
constexpr uint64_t maxTrialSteps = 20'000;
constexpr uint32_t maxTrialValues = 20'000;
constexpr uint64_t maxTrialMembers = 16; // of launch parameters
constexpr uint64_t maxTrialRanks = 64;
constexpr size_t maxTrialBytes = 64 << 10; // of the file
constexpr size_t maxTrials = 200;
/// Rank counts at which it has to be right.
constexpr size_t minTrialSpaces = 3;

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

namespace {
class EditCollector {
public:
  EditCollector(const SourceManager &sources, const File &file)
      : sources(sources), file(file) {}
  void visitBody(llvm::StringRef name);
  std::vector<Edit> take();

private:
  void visit(const Stmt *stmt);
  void visit(const Expr *expr, bool isInSum = false);
  std::optional<Edit> moved(const Expr *expr, int64_t by) const;
  void move(std::vector<Edit> &list, const Expr *expr);
  void drop(const Stmt *stmt);
  void replaceWord(const Stmt *stmt, llvm::StringRef word,
                   llvm::StringRef other);

  const SourceManager &sources;
  const File &file;
  std::set<std::string> seen; // schedules and procedures
  std::vector<Edit> ends, sums, words, drops;
};
} // namespace

/// The expression plus a number, as one would write it; nothing: it would need
/// parentheses.
std::optional<Edit> EditCollector::moved(const Expr *expr, int64_t by) const {
  llvm::StringRef text = sources.text(expr->range);
  if (auto *number = llvm::dyn_cast<IntExpr>(expr)) {
    if (number->value + by < 0 || number->value > maxTrialValues)
      return std::nullopt;
    return Edit{expr->range, std::to_string(number->value + by)};
  }
  if (llvm::isa<ConditionalExpr, RangeExpr, ErrorExpr>(expr))
    return std::nullopt;
  auto *binary = llvm::dyn_cast<BinaryExpr>(expr);
  if (binary && precedenceOf(binary->op) < PrecSum)
    return std::nullopt;
  bool isSum = binary && precedenceOf(binary->op) == PrecSum;
  if (auto *last = isSum ? llvm::dyn_cast<IntExpr>(binary->rhs) : nullptr) {
    by += binary->op == BinaryOp::Add ? last->value : -last->value;
    text = text.take_front(binary->opRange.begin - expr->range.begin).rtrim();
  }
  std::string result = text.str();
  if (by != 0)
    result += (by > 0 ? " + " : " - ") + std::to_string(std::abs(by));
  return Edit{expr->range, result};
}

void EditCollector::move(std::vector<Edit> &list, const Expr *expr) {
  for (int by : {1, -1})
    if (std::optional<Edit> edit = moved(expr, by))
      list.push_back(std::move(*edit));
}

void EditCollector::replaceWord(const Stmt *stmt, llvm::StringRef word,
                                llvm::StringRef other) {
  if (sources.text(stmt->range).starts_with(word))
    words.push_back({{stmt->range.file, stmt->range.begin,
                      uint32_t(stmt->range.begin + word.size())},
                     other.str()});
}

/// A statement with nothing but transfers in it may be one too many.
void EditCollector::drop(const Stmt *stmt) {
  bool isOnlyTransfers = true;
  sema::forEachStmt(stmt, [&](const Stmt *inner) {
    isOnlyTransfers &= llvm::isa<TransferStmt, ForStmt, BlockStmt>(inner);
  });
  if (!isOnlyTransfers || stmt->label || llvm::isa<BlockStmt>(stmt))
    return;
  drops.push_back({stmt->range, ""});
}

/// Of a sum of sums the outermost is moved: the others would say the same.
void EditCollector::visit(const Expr *expr, bool isInSum) {
  if (auto *range = llvm::dyn_cast<RangeExpr>(expr);
      range && !range->isWhole()) {
    move(ends, range->hi); // and no sign is turned: nobody writes N - 1 for
    move(ends, range->lo); // N + 1
    return;
  }
  auto *binary = llvm::dyn_cast<BinaryExpr>(expr);
  bool isSum = binary && precedenceOf(binary->op) == PrecSum;
  if (isSum) {
    if (!isInSum)
      move(sums, expr);
    std::string turned = sources.text(expr->range).str();
    turned[binary->opRange.begin - expr->range.begin] =
        binary->op == BinaryOp::Add ? '-' : '+';
    sums.push_back({expr->range, turned});
  }
  sema::forEachChild(expr, [&](const Expr *child) { visit(child, isSum); });
}

void EditCollector::visit(const Stmt *stmt) {
  auto visitAll = [&](std::initializer_list<const Expr *> exprs) {
    for (const Expr *expr : exprs)
      if (expr)
        visit(expr);
  };
  drop(stmt);
  if (auto *transfer = llvm::dyn_cast<TransferStmt>(stmt)) {
    if (transfer->isReduce)
      replaceWord(stmt, "reduce", "copy");
    else
      replaceWord(stmt, "copy", "reduce");
    return visitAll({transfer->value, transfer->place});
  }
  if (auto *send = llvm::dyn_cast<SendStmt>(stmt))
    return visitAll({send->value, send->to});
  if (auto *recv = llvm::dyn_cast<RecvStmt>(stmt))
    return visitAll({recv->place, recv->from});
  if (auto *let = llvm::dyn_cast<LetStmt>(stmt))
    return visitAll({let->let->value});
  if (auto *branch = llvm::dyn_cast<IfStmt>(stmt))
    return visitAll({branch->condition});
  if (auto *loop = llvm::dyn_cast<ForStmt>(stmt)) {
    for (const Iterator &iterator : loop->iters.list)
      visit(iterator.domain);
    return visitAll({loop->iters.filter});
  }
  if (auto *on = llvm::dyn_cast<OnStmt>(stmt))
    return visitAll({on->ranks});
  if (auto *call = llvm::dyn_cast<CallStmt>(stmt)) {
    for (const Expr *argument : call->args)
      visit(argument);
    visitBody(call->callee.text);
  }
}

void EditCollector::visitBody(llvm::StringRef name) {
  if (!seen.insert(name.str()).second)
    return;
  for (const Decl *decl : file.decls) {
    if (decl->name.text != name)
      continue;
    const BlockStmt *body = nullptr;
    if (auto *schedule = llvm::dyn_cast<ScheduleDecl>(decl))
      body = schedule->body;
    else if (auto *procedure = llvm::dyn_cast<ProcedureDecl>(decl))
      body = procedure->body;
    if (body)
      sema::forEachStmt(body, [&](const Stmt *stmt) { visit(stmt); });
  }
}

std::vector<Edit> EditCollector::take() {
  std::vector<Edit> all = std::move(ends);
  for (std::vector<Edit> *list : {&sums, &words, &drops})
    all.insert(all.end(), list->begin(), list->end());
  return all;
}

std::vector<Edit> coll::likelyEdits(const SourceManager &sources,
                                    const File &file,
                                    llvm::StringRef schedule) {
  EditCollector collector(sources, file);
  collector.visitBody(schedule);
  return collector.take();
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

/// Where an edit has to be right: at `dims`, where the schedule is wrong, and
/// at the small rank spaces.
static std::vector<RankDims> trialSpaces(const RankDims &dims) {
  RankSpec small;
  small.low = 2;
  small.high = dims.size() == 1 ? 9 : dims.size() == 2 ? 5 : 4;
  std::vector<RankDims> spaces{dims}, others;
  size_t numDims = dims.size();
  RankDims counter(numDims, small.low);
  for (size_t d = 0; d < numDims;) {
    others.push_back(counter);
    for (d = 0; d < numDims && ++counter[d] == small.high; ++d)
      counter[d] = small.low;
  }
  for (RankDims &space : others)
    if (space != dims)
      spaces.push_back(std::move(space));
  return spaces;
}

namespace {
/// Where an edit was right.
using Spaces = std::vector<RankDims>;
} // namespace

/// Nothing: the edited schedule is wrong, or too few spaces say that it is not.
static std::optional<Spaces> judge(const Session &session, const Edit &edit,
                                   llvm::StringRef schedule,
                                   const RankDims &dims,
                                   const InstanceOptions &options) {
  llvm::StringRef text = session.sources.file(edit.range.file).text();
  Session trial;
  if (!trial.parseAs(session, (text.take_front(edit.range.begin) + edit.text +
                               text.drop_front(edit.range.end))
                                  .str()) ||
      !trial.analyse(schedule, options.defines))
    return std::nullopt;
  Spaces right;
  for (const RankDims &space : trialSpaces(dims)) {
    Instance instance =
        trial.instantiate(trial.schedules().front(), space, options);
    if (instance.status == Instance::Failed ||
        (instance.status == Instance::Excluded && space == dims))
      return std::nullopt;
    if (instance.status == Instance::Checked)
      right.push_back(space);
  }
  if (right.size() < minTrialSpaces)
    return std::nullopt;
  return right;
}

/// "2 to 8" or "(2, 2), (2, 3) and (3, 2)"
static std::string listOf(Spaces spaces) {
  llvm::sort(spaces);
  const RankDims &first = spaces.front(), &last = spaces.back();
  bool isRun = first.size() == 1 && last[0] - first[0] + 1 == spaces.size();
  if (isRun)
    return describe(first) + " to " + describe(last);
  std::string text;
  for (size_t i = 0; i < spaces.size(); ++i)
    text += (i == 0                   ? ""
             : i + 1 == spaces.size() ? " and "
                                      : ", ") +
            describe(spaces[i]);
  return text;
}

static bool isRepairable(Slug slug) {
  switch (slug) {
  case Slug::AbsentArray:
  case Slug::DoubleContribution:
  case Slug::EmptyRead:
  case Slug::IndexOutOfRange:
  case Slug::MissingContribution:
  case Slug::NoSuchRank:
  case Slug::UnwrittenOutput:
  case Slug::WrittenTwice:
  case Slug::WrongValue:
    return true;
  default:
    return false;
  }
}

void coll::suggestRepair(Session &session, const Bytecode &code,
                         const RankDims &dims, const InstanceOptions &options) {
  Diagnostic *error = session.diags.lastError();
  if (!error || !error->fixits.empty() || !isRepairable(error->slug))
    return;
  const File &file = *session.program().main;
  uint64_t ranks = 1;
  for (uint32_t dim : dims)
    ranks = std::min(ranks * dim, maxTrialRanks + 1);
  if (ranks > maxTrialRanks ||
      session.sources.file(file.id).text().size() > maxTrialBytes)
    return;
  InstanceOptions trialOptions;
  trialOptions.defines = options.defines;
  trialOptions.maxProgramValues = 0;
  trialOptions.mayRepair = false;
  trialOptions.limits.steps = maxTrialSteps;
  trialOptions.limits.values = maxTrialValues;
  trialOptions.limits.members = maxTrialMembers;
  std::vector<Edit> edits = likelyEdits(session.sources, file, code.schedule);
  if (edits.size() > maxTrials)
    edits.resize(maxTrials);
  for (const Edit &edit : edits) {
    std::optional<Spaces> right =
        judge(session, edit, code.schedule, dims, trialOptions);
    if (!right)
      continue;
    std::string how =
        edit.text.empty() ? "without this" : "with '" + edit.text + "' here";
    error->fix(edit.range, edit.text,
               how + ", it keeps the contract at " + listOf(*right) + " ranks");
    return;
  }
}
