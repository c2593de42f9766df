//===- SemaNames.cpp - Scopes, calls and let functions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names in scope are a chain of bindings, newest first. A procedure starts
// with an empty chain; a let function and a list that is evaluated later have
// the chain of the place where they stand, so they see what was visible there
// and nothing that came after.
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/SemaCore.h"

#include "lib/Frontend/Sema.h"
#include "lib/Support/Slugs.h"

using namespace mlir;
using llvm::StringRef;
using llvm::Twine;

namespace coll::sema {

const Binding *Core::find(StringRef name) const {
  unsigned steps = 0;
  const Binding *b = env.names;
  for (; b && b->name != name; b = b->next)
    ++steps;
  // Long chains take long to search.
  evaluations += steps >> 5;
  return b;
}

const Decl *Core::findGlobal(StringRef name) const {
  return globals.find(name, currentFile());
}

Binding *Core::define(const Ident &name) {
  if (!name) {
    // Was an error of syntax.
  } else if (findBuiltin(name.text)) {
    error(Slug::BuiltInName, name.range,
          "'" + name.text +
              "' is a built-in function and cannot be defined again")
        .emit();
  } else if (const Binding *first = find(name.text)) {
    error(Slug::Redefined, name.range, "'" + name.text + "' is already defined")
        .note(first->range, "the first definition");
  } else if (const Decl *decl = findGlobal(name.text)) {
    error(Slug::Redefined, name.range, "'" + name.text + "' is already defined")
        .note(decl->name.range,
              "the first definition, " + describe(decl->kind()));
  }
  Binding &binding = bindings.emplace_back();
  binding.next = env.names;
  binding.name = name.text;
  binding.range = name.range;
  env.names = &binding;
  return &binding;
}

void Core::defineValue(const Ident &name, Val value) {
  // The value first: it must not see the name.
  define(name)->value = std::move(value);
}

const Binding *Core::copyNames(llvm::ArrayRef<const Binding *> chain) {
  const Binding *copied = nullptr;
  evaluations += chain.size() >> 4;
  for (const Binding *b : llvm::reverse(chain)) {
    Binding &copy = bindings.emplace_back(*b);
    copy.next = copied;
    copied = &copy;
  }
  return copied;
}

void Core::unknownName(StringRef name, SourceRange range, StringRef what,
                       llvm::function_ref<void(Suggestion &)> offer) {
  Suggestion suggestion(name);
  offer(suggestion);
  Report report =
      error(Slug::UnknownName, range, "unknown " + what + " '" + name + "'");
  if (!suggestion.best().empty())
    report.fix(range, suggestion.best(),
               "did you mean '" + suggestion.best().str() + "'?");
  if (!env.frame || !isa<ProcedureDecl>(env.frame->decl))
    return;
  for (const Frame *f = env.frame->caller; f; f = f->caller)
    for (const Binding *b = f->namesAtCall; b; b = b->next)
      if (b->name == name) {
        report.note(b->range,
                    "a procedure does not see this '" + name +
                        "', but its parameters, the names of the file "
                        "and 'all' only");
        return;
      }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

bool Core::checkArity(StringRef name, size_t given, size_t least, size_t most,
                      SourceRange callSite, const Decl *decl) {
  if (given >= least && given <= most)
    return true;
  std::string wanted = std::to_string(least);
  if (most == anyNumber)
    wanted += " or more";
  else if (most != least)
    wanted += " to " + std::to_string(most);
  Report report = error(Slug::WrongArity, callSite,
                        "'" + name + "' takes " + wanted + " argument" +
                            (wanted == "1" ? "" : "s") + ", " + Twine(given) +
                            (given == 1 ? " is" : " are") + " given");
  if (decl)
    report.note(decl->name.range, "'" + name + "' is defined here");
  return false;
}

bool Core::mayCall(const Decl *decl, SourceRange callSite) {
  for (const Frame *f = env.frame; f; f = f->caller)
    if (f->decl == decl) {
      const auto *let = dyn_cast<LetDecl>(decl);
      StringRef does =
          let && !let->isFunction ? "needs its own value" : "calls itself";
      error(Slug::Recursion, callSite, "'" + decl->name.text + "' " + does)
          .note(decl->name.range, "'" + decl->name.text + "' is defined here");
      return false;
    }
  if ((env.frame && env.frame->depth >= maxCallDepth) ||
      ++calls > maxInlinedCalls) {
    // Every further name of a long chain would say the same again.
    isExhausted = true;
    if (calls > maxInlinedCalls) {
      error(Slug::ExpansionTooLarge, callSite,
            "the program is too large, its calls expanded: more than " +
                Twine(maxInlinedCalls) + " calls")
          .emit();
      return false;
    }
    const auto *let = dyn_cast<LetDecl>(decl);
    error(Slug::NestingTooDeep, callSite,
          (let && !let->isFunction ? "values that need each other" : "calls") +
              Twine(" are nested more than ") + Twine(maxCallDepth) + " deep")
        .emit();
    return false;
  }
  return true;
}

Frame *Core::enter(const Decl *decl, SourceRange callSite) {
  Frame &frame = frames.emplace_back();
  frame.caller = env.frame;
  frame.decl = decl;
  frame.callSite = callSite;
  frame.depth = env.frame ? env.frame->depth + 1 : 0;
  if (callSite.isValid())
    frame.location = loc(callSite);
  if (env.frame)
    env.frame->namesAtCall = env.names;
  reached.insert(decl);
  env.frame = &frame;
  env.names = nullptr;
  return &frame;
}

} // namespace coll::sema
