//===- SemaGlobals.cpp - Names at the top of files ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Frontend/SemaGlobals.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace coll::sema {

//===----------------------------------------------------------------------===//
// Built-in functions
//===----------------------------------------------------------------------===//

static constexpr Builtin builtins[] = {
    {"abs", 1, 1},
    {"ceil_div", 2, 2},
    {"ceil_log2", 1, 1},
    {"coords", 1, 1},
    {"log2", 1, 1},
    {"lsb", 1, 1},
    {"max", 2, anyNumber},
    {"min", 2, anyNumber},
    {"popcount", 1, 1},
    {"pow2", 1, 1},
    {"rank", 1, 1},
    {"reduce", 1, anyNumber},
    {"reduce_any", 1, anyNumber},
    {"reversed", 1, 1},
    {"size", 1, 1},
};

static constexpr Builtin fnBuiltins[] = {
    {"abs", 1, 1},  {"exp", 1, 1}, {"max", 1, 2},
    {"mean", 1, 1}, {"min", 2, 2}, {"rsqrt", 1, 1},
    {"sqrt", 1, 1}, {"sum", 1, 1}, {"tanh", 1, 1},
};

static const Builtin *findIn(ArrayRef<Builtin> table, StringRef name) {
  for (const Builtin &builtin : table)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}

const Builtin *findBuiltin(StringRef name) { return findIn(builtins, name); }
ArrayRef<Builtin> allBuiltins() { return builtins; }
const Builtin *findFnBuiltin(StringRef name) {
  return findIn(fnBuiltins, name);
}
ArrayRef<Builtin> allFnBuiltins() { return fnBuiltins; }

//===----------------------------------------------------------------------===//
// Suggestions
//===----------------------------------------------------------------------===//

Suggestion::Suggestion(StringRef wanted)
    : wanted(wanted), distance((wanted.size() + 1) / 3 + 1) {}

void Suggestion::offer(StringRef candidate) {
  // One letter is like any other.
  if (candidate.size() < 2 || candidate == wanted)
    return;
  unsigned d = wanted.edit_distance(candidate, true, distance);
  // Of two that are as similar take the first in the alphabet, whatever the
  // order.
  if (d < distance || (d == distance && !found.empty() && candidate < found)) {
    distance = d;
    found = candidate;
  }
}

StringRef describe(Decl::Kind kind) {
  switch (kind) {
  case Decl::Kind::Import:
    return "an import";
  case Decl::Kind::Contract:
    return "a contract";
  case Decl::Kind::Schedule:
    return "a schedule";
  case Decl::Kind::Procedure:
    return "a procedure";
  case Decl::Kind::Function:
    return "an fn";
  case Decl::Kind::Let:
    return "a let";
  }
  llvm_unreachable("all kinds are listed");
}

//===----------------------------------------------------------------------===//
// Globals
//===----------------------------------------------------------------------===//

/// Whether two texts are the same but for white space and comments.
static bool isSameText(StringRef a, StringRef b) {
  auto skip = [](StringRef &text) {
    while (!text.empty()) {
      if (isSpace(text.front()))
        text = text.drop_front();
      else if (text.starts_with("//"))
        text = text.drop_front(std::min(text.find('\n'), text.size()));
      else
        return;
    }
  };
  while (true) {
    skip(a);
    skip(b);
    if (a.empty() || b.empty())
      return a.empty() && b.empty();
    if (a.front() != b.front())
      return false;
    a = a.drop_front();
    b = b.drop_front();
  }
}

Globals::Globals(const Program &program, DiagnosticEngine &diags) {
  for (const std::unique_ptr<File> &file : program.files) {
    std::vector<FileId> open = {file->id, program.files.front()->id};
    while (!open.empty()) {
      FileId seen = open.back();
      open.pop_back();
      if (!visible.insert({file->id, seen}).second)
        continue;
      if (auto it = program.imports.find(seen); it != program.imports.end())
        open.insert(open.end(), it->second.begin(), it->second.end());
    }
  }
  for (const std::unique_ptr<File> &file : program.files)
    for (const Decl *decl : file->decls)
      if (decl->name)
        enter(decl, diags.sources(), diags);
}

const Decl *Globals::find(StringRef name, FileId from) const {
  const Decl *decl = names.lookup(name);
  return decl && !isa<ScheduleDecl>(decl) && isVisible(decl, from) ? decl
                                                                   : nullptr;
}

const ContractDecl *Globals::findContract(StringRef name, FileId from) const {
  const ContractDecl *contract = contracts.lookup(name);
  return contract && isVisible(contract, from) ? contract : nullptr;
}

void Globals::forEach(FileId from,
                      function_ref<void(const Decl *)> visit) const {
  for (const auto &entry : names)
    if (!isa<ScheduleDecl>(entry.second) && isVisible(entry.second, from))
      visit(entry.second);
}

void Globals::forEachContract(FileId from,
                              function_ref<void(const Decl *)> visit) const {
  for (const auto &entry : contracts)
    if (isVisible(entry.second, from))
      visit(entry.second);
}

void Globals::enter(const Decl *decl, const SourceManager &sources,
                    DiagnosticEngine &diags) {
  StringRef name = decl->name.text;
  const Decl *first;
  if (const auto *contract = dyn_cast<ContractDecl>(decl)) {
    auto [it, isNew] = contracts.try_emplace(name, contract);
    if (isNew)
      return;
    first = it->second;
  } else {
    if (findBuiltin(name) || (isa<FunctionDecl>(decl) && findFnBuiltin(name))) {
      diags
          .error(Slug::BuiltInName, decl->name.range,
                 "'" + name +
                     "' is a built-in function and cannot be defined again")
          .emit();
      return;
    }
    auto [it, isNew] = names.try_emplace(name, decl);
    if (isNew)
      return;
    first = it->second;
  }
  // The same text in two files is no second definition; twice in one it is.
  bool isContract = isa<ContractDecl>(decl);
  auto [it, isFirstHere] =
      copies.try_emplace({isContract, decl->range.file, name}, decl);
  if (first->range.file == decl->range.file || !isFirstHere)
    first = isFirstHere ? first : it->second;
  else if (isSameText(sources.text(first->range), sources.text(decl->range)))
    return;
  diags
      .error(Slug::Redefined, decl->name.range,
             "'" + name + "' is already defined")
      .note(first->name.range,
            "the first definition, " + describe(first->kind()));
}

} // namespace coll::sema
