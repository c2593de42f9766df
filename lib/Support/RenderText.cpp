//===- RenderText.cpp - Diagnostics for people ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each diagnostic is a line "file:line:col: severity: message [slug]", the
// source line, and its range underlined with ^~~~. A note shows its own line
// unless that is the one just shown. A fix-it shows the repaired line.
//
// The source line goes through a Snippet: tabs become spaces, what a terminal
// would not print as one character becomes '?', and of a long line only the
// part around the range is shown, so that the underline always fits.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Render.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace coll;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {

/// Columns that a tab advances to a multiple of.
constexpr unsigned tabStop = 8;
/// Bytes of a long line that are shown before and after the range's start.
constexpr size_t shownBefore = 60;
constexpr size_t shownAfter = 120;

/// A source line made fit for the terminal, and columns of a range in it.
struct Snippet {
  std::string text;
  unsigned begin = 0;
  unsigned end = 0;
};

bool isContinuationByte(char c) {
  return (static_cast<uint8_t>(c) & 0xC0) == 0x80;
}

/// Appends the character at the start of `rest` to `snippet`, which is `column`
/// columns wide; returns its bytes and makes `column` the new width.
size_t appendCharacter(StringRef rest, std::string &text, unsigned &column) {
  if (rest[0] == '\t') {
    unsigned width = tabStop - column % tabStop;
    text.append(width, ' ');
    column += width;
    return 1;
  }
  size_t bytes = llvm::getNumBytesForUTF8(static_cast<uint8_t>(rest[0]));
  StringRef character = rest.take_front(bytes);
  int width = bytes <= rest.size()
                  ? llvm::sys::unicode::columnWidthUTF8(character)
                  : llvm::sys::unicode::ErrorInvalidUTF8;
  if (width < 0) {
    text += '?';
    ++column;
    return width == llvm::sys::unicode::ErrorInvalidUTF8 ? 1 : bytes;
  }
  text += character;
  column += width;
  return bytes;
}

/// `begin` and `end` are byte offsets into `line`.
Snippet makeSnippet(StringRef line, size_t begin, size_t end) {
  size_t from = begin > shownBefore + 20 ? begin - shownBefore : 0;
  size_t to = std::min(line.size(), begin + shownAfter);
  if (to + 20 >= line.size())
    to = line.size();
  while (from > 0 && isContinuationByte(line[from]))
    --from;
  while (to < line.size() && isContinuationByte(line[to]))
    ++to;

  Snippet snippet;
  unsigned column = 0;
  if (from > 0) {
    snippet.text = "...";
    column = 3;
  }
  for (size_t at = from; at < to;) {
    if (at <= begin)
      snippet.begin = column;
    if (at < end)
      snippet.end = column;
    size_t next = at + appendCharacter(line.substr(at), snippet.text, column);
    if (at < end)
      snippet.end = column;
    at = next;
  }
  if (begin >= to)
    snippet.begin = column;
  snippet.end = std::max(snippet.end, snippet.begin + 1);
  if (to < line.size())
    snippet.text += "...";
  return snippet;
}

class TextRenderer {
public:
  TextRenderer(const DiagnosticEngine &engine, raw_ostream &os)
      : engine(engine), sources(engine.sources()), os(os),
        colour(os.is_displayed() && os.has_colors()) {}

  void renderAll();

private:
  void render(const Diagnostic &diagnostic);
  void header(Severity severity, SourceRange range, StringRef message,
              StringRef slug = {});
  void snippet(SourceRange range);
  void repaired(const FixIt &fixit);
  void line(StringRef text, size_t begin, size_t end, bool underline);
  void paint(raw_ostream::Colors to, bool bold) {
    if (colour)
      os.changeColor(to, bold);
  }
  void plain() {
    if (colour)
      os.resetColor();
  }

  const DiagnosticEngine &engine;
  const SourceManager &sources;
  raw_ostream &os;
  bool colour;
  SourceRange lastShown;
};

void TextRenderer::renderAll() {
  for (const Diagnostic &diagnostic : engine.diagnostics())
    render(diagnostic);
  auto more = [&](Severity severity, unsigned count, unsigned most,
                  StringRef what) {
    if (count > most)
      header(severity, {},
             ("too many " + what + ": the first " + llvm::Twine(most) +
              " are shown")
                 .str());
  };
  more(Severity::Error, engine.errorCount(), maxErrors, "errors");
  more(Severity::Warning, engine.warningCount(), maxWarnings, "warnings");
}

void TextRenderer::render(const Diagnostic &diagnostic) {
  header(diagnostic.severity, diagnostic.range, diagnostic.message,
         slugText(diagnostic.slug));
  snippet(diagnostic.range);
  unsigned notes = 0;
  auto isNote = [](const Note &note) {
    return note.severity == Severity::Note;
  };
  unsigned total = llvm::count_if(diagnostic.notes, isNote);
  for (const Note &note : diagnostic.notes) {
    if (!isNote(note) || ++notes > maxNotes)
      continue;
    header(note.severity, note.range, note.message);
    if (note.range != lastShown)
      snippet(note.range);
  }
  if (total > maxNotes)
    header(Severity::Note, {},
           ("and " + llvm::Twine(total - maxNotes) + " more").str());
  for (const Note &note : diagnostic.notes)
    if (!isNote(note))
      header(note.severity, note.range, note.message);
  for (const FixIt &fixit : diagnostic.fixits) {
    header(Severity::Help, fixit.range, fixit.message);
    repaired(fixit);
  }
}

void TextRenderer::header(Severity severity, SourceRange range,
                          StringRef message, StringRef slug) {
  static constexpr raw_ostream::Colors colours[] = {
      raw_ostream::RED, raw_ostream::MAGENTA, raw_ostream::CYAN,
      raw_ostream::GREEN};
  paint(raw_ostream::SAVEDCOLOR, true);
  if (range.isValid()) {
    LineColumn at = sources.start(range);
    os << sources.file(range.file).name() << ':' << at.line << ':' << at.column
       << ": ";
  }
  paint(colours[unsigned(severity)], true);
  os << severityText(severity) << ": ";
  plain();
  paint(raw_ostream::SAVEDCOLOR, severity <= Severity::Warning);
  os << message;
  plain();
  if (!slug.empty())
    os << " [" << slug << ']';
  os << '\n';
}

void TextRenderer::snippet(SourceRange range) {
  if (!range.isValid())
    return;
  lastShown = range;
  const SourceFile &file = sources.file(range.file);
  uint32_t lineNumber = file.position(range.begin).line;
  uint32_t start = file.lineStart(lineNumber);
  StringRef text = file.lineText(lineNumber);
  // A range of several lines is underlined to the end of its first.
  size_t end = std::min<size_t>(range.end - start, text.rtrim().size());
  line(text, range.begin - start, end, /*underline=*/true);
}

void TextRenderer::repaired(const FixIt &fixit) {
  const SourceFile &file = sources.file(fixit.range.file);
  uint32_t firstLine = file.position(fixit.range.begin).line;
  uint32_t lastLine = file.position(fixit.range.end).line;
  StringRef before = file.lineText(firstLine).take_front(
      fixit.range.begin - file.lineStart(firstLine));
  StringRef after = file.lineText(lastLine).drop_front(
      std::min<size_t>(file.lineText(lastLine).size(),
                       fixit.range.end - file.lineStart(lastLine)));
  StringRef replacement = fixit.replacement;
  if (replacement.empty() &&
      (before + after).str().find_first_not_of(" \t") == std::string::npos)
    return snippet(fixit.range); // what goes, as nothing is left of the line
  bool severalLines = replacement.contains('\n');
  StringRef shown = replacement.take_until([](char c) { return c == '\n'; });
  std::string text = (before + shown + (severalLines ? "" : after)).str();
  // White space that a repair needs around it is not what it inserts.
  size_t begin = before.size() + (shown.size() - shown.ltrim().size());
  line(text, begin, before.size() + shown.rtrim().size(), !shown.empty());
}

void TextRenderer::line(StringRef text, size_t begin, size_t end,
                        bool underline) {
  Snippet snippet = makeSnippet(text, begin, end);
  os << StringRef(snippet.text).rtrim() << '\n';
  if (!underline)
    return;
  os.indent(snippet.begin);
  paint(raw_ostream::GREEN, true);
  os << '^' << std::string(snippet.end - snippet.begin - 1, '~');
  plain();
  os << '\n';
}

} // namespace

void coll::renderText(const DiagnosticEngine &engine, raw_ostream &os) {
  TextRenderer(engine, os).renderAll();
}
