//===- RenderJson.cpp - Diagnostics for programs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON, our own and complete:
//
//   {"diagnostics": [{"severity", "slug", "message", "location",
//                     "notes": [{"severity", "message", "location"}],
//                     "fixits": [{"message", "location", "replacement"}]}],
//    "errors": n, "warnings": n}
//
// where a location is {"file", "begin", "end"}, and begin and end are {"line",
// "column", "offset"}; it is absent if there is none. Lines and columns count
// from 1, columns and offsets count bytes. And SARIF 2.1.0 (OASIS standard,
// March 2020), which code review tools read; its columns count code points.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/Render.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace coll;
using llvm::StringRef;
using llvm::json::OStream;

StringRef coll::severityText(Severity severity) {
  static constexpr StringRef texts[] = {"error", "warning", "note", "help"};
  return texts[unsigned(severity)];
}

void coll::render(const DiagnosticEngine &engine, DiagnosticFormat format,
                  llvm::raw_ostream &os) {
  switch (format) {
  case DiagnosticFormat::Text:
    return renderText(engine, os);
  case DiagnosticFormat::Json:
    return renderJson(engine, os);
  case DiagnosticFormat::Sarif:
    return renderSarif(engine, os);
  }
}

/// JSON is UTF-8; messages may quote a source that is not.
static std::string utf8(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void location(OStream &json, const SourceManager &sources,
                     SourceRange range) {
  if (!range.isValid())
    return;
  auto position = [&](LineColumn at, uint32_t offset) {
    json.attribute("line", at.line);
    json.attribute("column", at.column);
    json.attribute("offset", offset);
  };
  json.attributeObject("location", [&] {
    json.attribute("file", utf8(sources.file(range.file).name()));
    json.attributeObject("begin",
                         [&] { position(sources.start(range), range.begin); });
    json.attributeObject("end",
                         [&] { position(sources.end(range), range.end); });
  });
}

static void diagnosticJson(OStream &json, const SourceManager &sources,
                           const Diagnostic &diagnostic) {
  json.attribute("severity", severityText(diagnostic.severity));
  json.attribute("slug", slugText(diagnostic.slug));
  json.attribute("message", utf8(diagnostic.message));
  location(json, sources, diagnostic.range);
  json.attributeArray("notes", [&] {
    for (const Note &note : diagnostic.notes)
      json.object([&] {
        json.attribute("severity", severityText(note.severity));
        json.attribute("message", utf8(note.message));
        location(json, sources, note.range);
      });
  });
  json.attributeArray("fixits", [&] {
    for (const FixIt &fixit : diagnostic.fixits)
      json.object([&] {
        json.attribute("message", utf8(fixit.message));
        location(json, sources, fixit.range);
        json.attribute("replacement", utf8(fixit.replacement));
      });
  });
}

void coll::renderJson(const DiagnosticEngine &engine, llvm::raw_ostream &os) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attributeArray("diagnostics", [&] {
      for (const Diagnostic &diagnostic : engine.diagnostics())
        json.object(
            [&] { diagnosticJson(json, engine.sources(), diagnostic); });
    });
    json.attribute("errors", engine.errorCount());
    json.attribute("warnings", engine.warningCount());
  });
  json.flush();
  os << '\n';
}

//===----------------------------------------------------------------------===//
// SARIF
//===----------------------------------------------------------------------===//

/// A file's name as a relative URI reference (RFC 3986).
static std::string uri(StringRef path) {
  std::string result;
  for (char c : path) {
    if (llvm::isAlnum(c) || StringRef("-._~/").contains(c))
      result += c;
    else
      result += ("%" + llvm::Twine(llvm::hexdigit(uint8_t(c) >> 4)) +
                 llvm::Twine(llvm::hexdigit(uint8_t(c) & 15)))
                    .str();
  }
  return result;
}

static unsigned codePointColumn(const SourceFile &file, uint32_t offset) {
  LineColumn at = file.position(offset);
  StringRef before = file.text().substr(file.lineStart(at.line), at.column - 1);
  return 1 + llvm::count_if(before,
                            [](char c) { return (uint8_t(c) & 0xC0) != 0x80; });
}

static void region(OStream &json, StringRef name, const SourceManager &sources,
                   SourceRange range) {
  const SourceFile &file = sources.file(range.file);
  json.attributeObject(name, [&] {
    json.attribute("startLine", sources.start(range).line);
    json.attribute("startColumn", codePointColumn(file, range.begin));
    json.attribute("endLine", sources.end(range).line);
    json.attribute("endColumn", codePointColumn(file, range.end));
  });
}

static void artifact(OStream &json, const SourceManager &sources,
                     SourceRange range) {
  json.attributeObject("artifactLocation", [&] {
    json.attribute("uri", uri(sources.file(range.file).name()));
  });
}

static void physicalLocation(OStream &json, const SourceManager &sources,
                             SourceRange range) {
  json.attributeObject("physicalLocation", [&] {
    artifact(json, sources, range);
    region(json, "region", sources, range);
  });
}

static void message(OStream &json, StringRef name, StringRef text) {
  json.attributeObject(name, [&] { json.attribute("text", utf8(text)); });
}

static void sarifFix(OStream &json, const SourceManager &sources,
                     const FixIt &fixit) {
  message(json, "description", fixit.message);
  json.attributeArray("artifactChanges", [&] {
    json.object([&] {
      artifact(json, sources, fixit.range);
      json.attributeArray("replacements", [&] {
        json.object([&] {
          region(json, "deletedRegion", sources, fixit.range);
          message(json, "insertedContent", fixit.replacement);
        });
      });
    });
  });
}

static void sarifResult(OStream &json, const SourceManager &sources,
                        const Diagnostic &diagnostic) {
  json.attribute("ruleId", slugText(diagnostic.slug));
  json.attribute("level", severityText(diagnostic.severity));
  message(json, "message", diagnostic.message);
  if (diagnostic.range.isValid())
    json.attributeArray("locations", [&] {
      json.object([&] { physicalLocation(json, sources, diagnostic.range); });
    });
  if (!diagnostic.notes.empty())
    json.attributeArray("relatedLocations", [&] {
      for (const Note &note : diagnostic.notes)
        json.object([&] {
          if (note.range.isValid())
            physicalLocation(json, sources, note.range);
          message(json, "message", note.message);
        });
    });
  if (!diagnostic.fixits.empty())
    json.attributeArray("fixes", [&] {
      for (const FixIt &fixit : diagnostic.fixits)
        json.object([&] { sarifFix(json, sources, fixit); });
    });
}

static void sarifRules(OStream &json, const DiagnosticEngine &engine) {
  std::set<Slug> used;
  for (const Diagnostic &diagnostic : engine.diagnostics())
    used.insert(diagnostic.slug);
  json.attributeArray("rules", [&] {
    for (Slug slug : used)
      json.object([&] {
        json.attribute("id", slugText(slug));
        message(json, "shortDescription", slugSummary(slug));
      });
  });
}

void coll::renderSarif(const DiagnosticEngine &engine, llvm::raw_ostream &os) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("version", "2.1.0");
    json.attribute("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json.attributeArray("runs", [&] {
      json.object([&] {
        json.attributeObject("tool", [&] {
          json.attributeObject("driver", [&] {
            json.attribute("name", "colc");
            sarifRules(json, engine);
          });
        });
        json.attribute("columnKind", "unicodeCodePoints");
        json.attributeArray("results", [&] {
          for (const Diagnostic &diagnostic : engine.diagnostics())
            json.object(
                [&] { sarifResult(json, engine.sources(), diagnostic); });
        });
      });
    });
  });
  json.flush();
  os << '\n';
}
