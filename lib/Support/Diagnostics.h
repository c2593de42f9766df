//===- Diagnostics.h - What the compiler says to its user -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Diagnostic is a value: severity, slug, message, range, the causal chain as
// notes, and repairs. The engine collects them in the order of emission; a
// renderer turns all of them into text, JSON or SARIF at the end.
//
//   diags.error(Slug::UnknownName, range, "unknown name 'x'")
//       .note(other, "'y' is defined here")
//       .fix(range, "y", "did you mean 'y'?");
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_DIAGNOSTICS_H
#define COLL_LIB_SUPPORT_DIAGNOSTICS_H

#include "lib/Support/Source.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include <utility>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace coll {

enum class Severity : uint8_t { Error, Warning, Note, Help };

/// The name of a kind of diagnostic; lib/Support/Slugs.h has the enumerators,
/// for those who report: a new kind rebuilds them alone.
enum class Slug : uint16_t;

llvm::StringRef slugText(Slug slug);
/// One line: what a diagnostic of this kind reports.
llvm::StringRef slugSummary(Slug slug);
std::optional<Slug> findSlug(llvm::StringRef text);
llvm::ArrayRef<llvm::StringRef> allSlugs();

/// Prints the section of docs/Diagnostics.md about `slug`. False: no such slug.
bool explain(llvm::StringRef slug, llvm::raw_ostream &os);

/// A link of the causal chain (Note), or advice (Help). The range may be
/// invalid: then it concerns the whole program.
struct Note {
  Severity severity = Severity::Note;
  std::string message;
  SourceRange range;
};

/// Replacing the text at `range` by `replacement` repairs the program. Given
/// only where we are sure.
struct FixIt {
  std::string message; ///< printed after "help: "
  SourceRange range;
  std::string replacement;
};

struct Diagnostic {
  Severity severity = Severity::Error; ///< Error or Warning
  Slug slug{};
  std::string message; ///< lower case, no period; the slug is added in print
  SourceRange range;   ///< invalid: no place in the source
  std::vector<Note> notes;
  std::vector<FixIt> fixits;

  Diagnostic &note(SourceRange range, const llvm::Twine &message);
  Diagnostic &help(SourceRange range, const llvm::Twine &message);
  Diagnostic &fix(SourceRange range, llvm::StringRef replacement,
                  const llvm::Twine &message);
};

class DiagnosticEngine;

/// Adds to a diagnostic that is being made; emits it when it goes out of scope.
class [[nodiscard]] InFlight {
public:
  /// Says nothing: what follows from an error that has been reported.
  InFlight() : engine(nullptr) {}
  InFlight(DiagnosticEngine &engine, Diagnostic diagnostic)
      : engine(&engine), diagnostic(std::move(diagnostic)) {}
  InFlight(InFlight &&other)
      : engine(std::exchange(other.engine, nullptr)),
        diagnostic(std::move(other.diagnostic)) {}
  InFlight &operator=(InFlight &&) = delete;
  ~InFlight();

  InFlight &note(SourceRange range, const llvm::Twine &message);
  InFlight &help(SourceRange range, const llvm::Twine &message);
  InFlight &fix(SourceRange range, llvm::StringRef replacement,
                const llvm::Twine &message);
  /// Emit now and end the chain; only needed to silence [[nodiscard]].
  void emit();

private:
  DiagnosticEngine *engine;
  Diagnostic diagnostic;
};

/// Errors beyond this are counted, not kept: nobody reads more.
inline constexpr unsigned maxErrors = 20;
inline constexpr unsigned maxWarnings = 100;
/// Notes beyond this are "and N more".
inline constexpr unsigned maxNotes = 8;

class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceManager &sources) : files(sources) {}

  InFlight error(Slug slug, SourceRange range, const llvm::Twine &message);
  InFlight warning(Slug slug, SourceRange range, const llvm::Twine &message);
  void emit(Diagnostic diagnostic);

  unsigned errorCount() const { return errors; }
  unsigned warningCount() const { return warnings; }
  bool hasErrors() const { return errors != 0; }
  /// There are errors that will not be shown: a parser may as well stop.
  bool isFull() const { return errors > maxErrors; }

  llvm::ArrayRef<Diagnostic> diagnostics() const { return kept; }
  /// To add to, until the next one is emitted; null: there is none, or it is
  /// beyond those that are kept.
  Diagnostic *lastError();
  const SourceManager &sources() const { return files; }

private:
  const SourceManager &files;
  std::vector<Diagnostic> kept;
  unsigned errors = 0;
  unsigned warnings = 0;
};

enum class DiagnosticFormat { Text, Json, Sarif };

/// Prints everything the engine has kept. Text goes out in colour if `os` is a
/// terminal; with nothing to say it prints nothing. JSON and SARIF are always
/// one whole document.
void render(const DiagnosticEngine &engine, DiagnosticFormat format,
            llvm::raw_ostream &os);

} // namespace coll

#endif // COLL_LIB_SUPPORT_DIAGNOSTICS_H
