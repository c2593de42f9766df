//===- Diagnostics.cpp - What the compiler says to its user ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine keeps the first maxErrors errors and maxWarnings warnings and
// counts the rest. The table of slugs comes from Slugs.def, their explanations
// from docs/Diagnostics.md, which is part of the program.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Embedded.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace coll;

//===----------------------------------------------------------------------===//
// Slugs
//===----------------------------------------------------------------------===//

static constexpr llvm::StringRef slugTexts[] = {
#define COLL_SLUG(NAME, TEXT, SUMMARY) TEXT,
#include "lib/Support/Slugs.def"
};

static constexpr llvm::StringRef slugSummaries[] = {
#define COLL_SLUG(NAME, TEXT, SUMMARY) SUMMARY,
#include "lib/Support/Slugs.def"
};

llvm::StringRef coll::slugText(Slug slug) { return slugTexts[unsigned(slug)]; }

llvm::StringRef coll::slugSummary(Slug slug) {
  return slugSummaries[unsigned(slug)];
}

std::optional<Slug> coll::findSlug(llvm::StringRef text) {
  const auto *found = llvm::find(slugTexts, text);
  if (found == std::end(slugTexts))
    return std::nullopt;
  return Slug(found - std::begin(slugTexts));
}

llvm::ArrayRef<llvm::StringRef> coll::allSlugs() { return slugTexts; }

bool coll::explain(llvm::StringRef slug, llvm::raw_ostream &os) {
  if (!findSlug(slug))
    return false;
  llvm::StringRef page = embeddedDiagnosticsPage()[0].text;
  std::string heading = ("\n### `" + slug + "`\n").str();
  size_t start = page.find(heading);
  if (start == llvm::StringRef::npos)
    return false;
  llvm::StringRef section = page.substr(start + 1);
  size_t next = std::min(section.find("\n### ", 1), section.find("\n## ", 1));
  os << section.take_front(next).trim() << '\n';
  return true;
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

InFlight::~InFlight() {
  if (engine)
    engine->emit(std::move(diagnostic));
}

void InFlight::emit() {
  if (engine)
    std::exchange(engine, nullptr)->emit(std::move(diagnostic));
}

Diagnostic &Diagnostic::note(SourceRange range, const llvm::Twine &message) {
  notes.push_back({Severity::Note, message.str(), range});
  return *this;
}

Diagnostic &Diagnostic::help(SourceRange range, const llvm::Twine &message) {
  notes.push_back({Severity::Help, message.str(), range});
  return *this;
}

Diagnostic &Diagnostic::fix(SourceRange range, llvm::StringRef replacement,
                            const llvm::Twine &message) {
  fixits.push_back({message.str(), range, replacement.str()});
  return *this;
}

InFlight &InFlight::note(SourceRange range, const llvm::Twine &message) {
  diagnostic.note(range, message);
  return *this;
}

InFlight &InFlight::help(SourceRange range, const llvm::Twine &message) {
  diagnostic.help(range, message);
  return *this;
}

InFlight &InFlight::fix(SourceRange range, llvm::StringRef replacement,
                        const llvm::Twine &message) {
  diagnostic.fix(range, replacement, message);
  return *this;
}

InFlight DiagnosticEngine::error(Slug slug, SourceRange range,
                                 const llvm::Twine &message) {
  return {*this, {Severity::Error, slug, message.str(), range, {}, {}}};
}

InFlight DiagnosticEngine::warning(Slug slug, SourceRange range,
                                   const llvm::Twine &message) {
  return {*this, {Severity::Warning, slug, message.str(), range, {}, {}}};
}

void DiagnosticEngine::emit(Diagnostic diagnostic) {
  assert(diagnostic.severity == Severity::Error ||
         diagnostic.severity == Severity::Warning);
  bool isError = diagnostic.severity == Severity::Error;
  unsigned before = isError ? errors++ : warnings++;
  if (before < (isError ? maxErrors : maxWarnings))
    kept.push_back(std::move(diagnostic));
}

Diagnostic *DiagnosticEngine::lastError() {
  if (errors > maxErrors)
    return nullptr;
  for (Diagnostic &diagnostic : llvm::reverse(kept))
    if (diagnostic.severity == Severity::Error)
      return &diagnostic;
  return nullptr;
}
