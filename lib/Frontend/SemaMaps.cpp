//===- SemaMaps.cpp - map -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each directive may say and where it may stand is a table. No directive
// is dropped: it becomes part of a coll.mapping, or a coll.directive, or an
// error.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaMaps.h"
#include "lib/Support/Slugs.h"

#include "dialect/CollDialect.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

struct DirectiveInfo {
  enum class Arg : uint8_t { None, Range, Int, Positive, Protocol, Tmp, Order };
  /// No: the language does not have it there. NotYet: it does, but nothing that
  /// comes after the front end would heed it.
  enum class Where : uint8_t { No, NotYet, Yes };
  llvm::StringLiteral name;
  Arg arg;
  Where top, label;
};

using Arg = DirectiveInfo::Arg;
using Where = DirectiveInfo::Where;
static constexpr DirectiveInfo directives[] = {
    {"block", Arg::Int, Where::No, Where::Yes},
    {"blocks", Arg::Positive, Where::Yes, Where::Yes},
    {"channel", Arg::Int, Where::No, Where::Yes},
    {"channels", Arg::Positive, Where::Yes, Where::Yes},
    {"instances", Arg::Positive, Where::Yes, Where::NotYet},
    {"order", Arg::Order, Where::Yes, Where::NotYet},
    {"protocol", Arg::Protocol, Where::Yes, Where::Yes},
    {"pull", Arg::None, Where::Yes, Where::Yes},
    {"push", Arg::None, Where::Yes, Where::Yes},
    {"recv_block", Arg::Int, Where::No, Where::Yes},
    {"round", Arg::Positive, Where::Yes, Where::No},
    {"scratch", Arg::Int, Where::Yes, Where::No},
    {"sizes", Arg::Range, Where::Yes, Where::No},
    {"slot", Arg::Positive, Where::Yes, Where::NotYet},
    {"slots", Arg::Positive, Where::Yes, Where::NotYet},
    {"staged", Arg::None, Where::Yes, Where::Yes},
    {"store", Arg::Tmp, Where::No, Where::Yes},
    {"threads", Arg::Positive, Where::Yes, Where::NotYet},
};
static constexpr llvm::StringLiteral protocols[] = {"simple", "ll", "ll128",
                                                    "multimem", "direct"};

static const DirectiveInfo *findDirective(StringRef name) {
  for (const DirectiveInfo &info : directives)
    if (info.name == name)
      return &info;
  return nullptr;
}

/// pull, push and staged exclude one another: one slot for the three.
static StringRef slotOf(StringRef name) {
  return name == "push" || name == "staged" ? StringRef("pull") : name;
}

//===----------------------------------------------------------------------===//
// Checks that need no walk
//===----------------------------------------------------------------------===//

void MapEmitter::start(const MapBlock *block) {
  top = block;
  if (!block)
    return;
  check(block, "");
  wait(block, nullptr);
}

void MapEmitter::check(const MapBlock *block, StringRef outer) {
  llvm::StringMap<SourceRange> seen;
  for (const MapItem &item : block->items) {
    if (!item.path.empty()) {
      std::string text = outer.str();
      for (const Ident &label : item.path)
        text += (text.empty() ? "" : ".") + label.text.str();
      pathOf[&item] = paths.size();
      paths.push_back({&item, text});
      if (item.block)
        check(item.block, text);
      continue;
    }
    auto [it, isNew] =
        seen.try_emplace(slotOf(item.name.text), item.name.range);
    if (!isNew)
      e.error(Slug::BadDirective, item.name.range,
              "'" + item.name.text + "' is said twice, or contradicts another")
          .note(it->second, "the first one");
    if (!isNew || !checkDirective(item, outer.empty()))
      wrong.insert(&item);
  }
}

bool MapEmitter::checkDirective(const MapItem &item, bool isTop) {
  StringRef name = item.name.text;
  const DirectiveInfo *info = findDirective(name);
  if (!info) {
    Suggestion suggestion(name);
    for (const DirectiveInfo &known : directives)
      suggestion.offer(known.name);
    Report report = e.error(Slug::UnknownDirective, item.name.range,
                            "unknown directive '" + name + "'");
    if (!suggestion.best().empty())
      report.fix(item.name.range, suggestion.best(),
                 "did you mean '" + suggestion.best().str() + "'?");
    return false;
  }
  Where where = isTop ? info->top : info->label;
  if (where == Where::No) {
    e.error(Slug::BadDirective, item.name.range,
            "'" + name + "' stands " +
                (isTop ? "under a label only" : "at the top of 'map' only"))
        .emit();
    return false;
  }
  if (where == Where::NotYet) {
    e.error(Slug::NotYet, item.name.range,
            "'" + name + "' under a label is not implemented yet")
        .help(item.name.range, "at the top of 'map' it holds for the schedule");
    return false;
  }
  size_t wanted = info->arg == Arg::None ? 0 : 1;
  if (item.args.size() != wanted) {
    e.error(Slug::BadDirective, item.range,
            "'" + name + "' takes " +
                (wanted ? "one argument, " : "no argument, ") +
                Twine(item.args.size()) +
                (item.args.size() == 1 ? " is" : " are") + " given")
        .emit();
    return false;
  }
  return checkWord(*info, item);
}

bool MapEmitter::checkWord(const DirectiveInfo &info, const MapItem &item) {
  if (info.arg != Arg::Protocol && info.arg != Arg::Order &&
      info.arg != Arg::Tmp)
    return true;
  const Expr *arg = item.args.front();
  const auto *name = dyn_cast<NameExpr>(arg);
  if (isa<ErrorExpr>(arg))
    return false;
  if (name && info.arg == Arg::Tmp)
    return true;
  if (name && info.arg == Arg::Order && name->name == "source")
    return true;
  if (name && info.arg == Arg::Protocol &&
      llvm::is_contained(protocols, name->name))
    return true;
  StringRef needed = info.arg == Arg::Tmp     ? "the name of a tmp"
                     : info.arg == Arg::Order ? "'source'"
                                              : "a protocol";
  Report report =
      e.error(Slug::BadDirective, arg->range,
              "this is not " + needed + ", which '" + info.name + "' takes");
  if (info.arg == Arg::Protocol && name) {
    Suggestion suggestion(name->name);
    for (StringRef known : protocols)
      suggestion.offer(known);
    if (!suggestion.best().empty())
      report.fix(arg->range, suggestion.best(),
                 "did you mean '" + suggestion.best().str() + "'?");
    else
      report.help(arg->range, "the protocols are " +
                                  llvm::join(llvm::ArrayRef(protocols), ", "));
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

void MapEmitter::wait(const MapBlock *block, const Frame *frame) {
  for (const MapItem &item : block->items)
    if (!item.path.empty())
      cursors.push_back({pathOf[&item], 0, frame});
}

MapEmitter::Label::Label(MapEmitter &maps, const Ident &label)
    : maps(maps), numCursors(maps.cursors.size()), numHeld(maps.held.size()) {
  if (!label)
    return;
  maps.labels.insert(label.text);
  const Frame *here = maps.e.env.frame;
  for (size_t i = 0; i < numCursors; ++i) {
    Cursor cursor = maps.cursors[i];
    Path &path = maps.paths[cursor.path];
    // The first label of a path is one of the schedule's own.
    if (path.item->path[cursor.next].text != label.text ||
        (!cursor.frame && here->caller))
      continue;
    path.reached = std::max(path.reached, cursor.next + 1);
    if (cursor.next + 1 < path.item->path.size()) {
      maps.cursors.push_back({cursor.path, cursor.next + 1, here});
      continue;
    }
    maps.held.push_back({cursor.path, here});
    if (path.item->block)
      maps.wait(path.item->block, here);
  }
}

MapEmitter::Label::~Label() {
  maps.cursors.truncate(numCursors);
  maps.held.truncate(numHeld);
}

void MapEmitter::reportUnmet(const Path &path) {
  const MapItem &item = *path.item;
  if (path.reached == item.path.size()) {
    if (!path.isUsed && !e.diags.hasErrors())
      e.error(Slug::UnknownLabel, item.path.back().range,
              "no statement under '" + Twine(path.text) + "' moves data")
          .emit();
    return;
  }
  const Ident &label = item.path[path.reached];
  Suggestion suggestion(label.text);
  for (const auto &known : labels)
    suggestion.offer(known.first());
  Report report = e.error(
      Slug::UnknownLabel, label.range,
      path.reached ? "no statement under '" + item.path[path.reached - 1].text +
                         "' is labelled '" + label.text + "'"
                   : "no statement is labelled '" + label.text + "' here");
  if (!suggestion.best().empty())
    report.fix(label.range, suggestion.best(),
               "did you mean '" + suggestion.best().str() + "'?");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The names at the labelled statement, then those of the calls that led there.
const Binding *MapEmitter::namesOf(const Held &held) const {
  auto of = [&](const Frame *f) {
    return f == e.env.frame ? e.env.names : f->namesAtCall;
  };
  if (!held.frame->caller)
    return of(held.frame);
  llvm::SmallVector<const Binding *> chain;
  for (const Frame *f = held.frame; f; f = f->caller)
    for (const Binding *b = of(f); b; b = b->next)
      chain.push_back(b);
  return e.copyNames(chain);
}

/// What is unknown here is checked when it is executed.
Value MapEmitter::evalArg(const Expr *arg, StringRef name, bool isPositive) {
  Value value = e.evalInt(arg);
  std::optional<int64_t> c = value ? Ints::constantOf(value) : std::nullopt;
  if (!c || *c >= isPositive)
    return value;
  e.error(Slug::BadDirective, arg->range,
          "'" + name + "' of " + Twine(*c) + ", which is " +
              (isPositive ? "not positive" : "negative"))
      .emit();
  return {};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value MapEmitter::mapping(SourceRange range) {
  // Inner labels have the last word.
  llvm::MapVector<StringRef, std::pair<const MapItem *, const Held *>>
      effective;
  llvm::SmallVector<StringRef> labelled;
  for (const Held &h : held) {
    Path &path = paths[h.path];
    path.isUsed = true;
    labelled.push_back(path.text);
    if (path.item->block)
      for (const MapItem &item : path.item->block->items)
        if (item.path.empty() && !wrong.contains(&item))
          effective[slotOf(item.name.text)] = {&item, &h};
  }
  if (effective.empty())
    return {};
  llvm::SmallVector<StringRef> keys;
  llvm::SmallVector<Value> values;
  StringAttr protocol;
  UnitAttr unit = e.builder.getUnitAttr();
  UnitAttr pull, push, staged, store, order;
  for (const auto &[slot, found] : effective) {
    const auto &[item, h] = found;
    StringRef name = item->name.text;
    const DirectiveInfo &info = *findDirective(name);
    Restore restore(e);
    e.env.names = namesOf(*h);
    if (info.arg == Arg::Int || info.arg == Arg::Positive) {
      if (Value v = evalArg(item->args[0], name, info.arg == Arg::Positive)) {
        keys.push_back(name);
        values.push_back(v);
      }
    } else if (info.arg == Arg::Tmp) {
      Val val = e.eval(item->args[0]);
      if (val.kind == Kind::Array &&
          val.array->decl->what == ArrayDecl::What::Tmp)
        store = unit;
      else if (val.kind == Kind::Array)
        e.error(Slug::BadDirective, val.range, "this is not the name of a tmp")
            .note(val.array->decl->range, "it is declared here");
      else
        e.wrongKind(val, "the name of a tmp");
    } else if (info.arg == Arg::Protocol) {
      protocol = e.builder.getStringAttr(cast<NameExpr>(item->args[0])->name);
    } else {
      (name == "pull"     ? pull
       : name == "push"   ? push
       : name == "staged" ? staged
                          : order) = unit;
    }
  }
  return MappingOp::create(
      e.builder, e.loc(range), MappingType::get(e.builder.getContext()),
      e.builder.getStrArrayAttr(keys), values, protocol, pull, push, staged,
      store, order, e.builder.getStrArrayAttr(labelled));
}

void MapEmitter::writeDirective(const MapItem &item) {
  StringRef name = item.name.text;
  const DirectiveInfo &info = *findDirective(name);
  llvm::SmallVector<Value, 2> values;
  StringAttr text;
  switch (info.arg) {
  case Arg::Int:
  case Arg::Positive: {
    Value v = evalArg(item.args[0], name, info.arg == Arg::Positive);
    if (!v)
      return;
    values.push_back(v);
    break;
  }
  case Arg::Range: {
    Val range = e.eval(item.args[0]);
    if (range.kind != Kind::Range || range.ssa.size() != 2) {
      e.wrongKind(range, "a range lo .. hi");
      return;
    }
    values.assign(range.ssa.begin(), range.ssa.end());
    break;
  }
  case Arg::Protocol:
  case Arg::Order:
    text = e.builder.getStringAttr(cast<NameExpr>(item.args[0])->name);
    break;
  case Arg::None:
  case Arg::Tmp:
    break;
  }
  DirectiveOp::create(e.builder, e.loc(item.range),
                      e.builder.getStringAttr(name), values, text);
}

void MapEmitter::finish() {
  if (!top)
    return;
  for (const MapItem &item : top->items)
    if (item.path.empty() && !wrong.contains(&item))
      writeDirective(item);
  // A label inside a label that was not met is not met either, but not said.
  std::function<void(const MapBlock *)> report = [&](const MapBlock *block) {
    for (const MapItem &item : block->items) {
      if (item.path.empty())
        continue;
      const Path &path = paths[pathOf[&item]];
      reportUnmet(path);
      if (path.reached == item.path.size() && item.block)
        report(item.block);
    }
  };
  report(top);
}

} // namespace coll::sema
