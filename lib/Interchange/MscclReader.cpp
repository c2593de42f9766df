//===- MscclReader.cpp - Reads MSCCL XML ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libxml2 calls back for every tag; nothing is kept but the structs of Msccl.h.
// A document type is an error before any entity can be declared, so nothing
// expands and nothing outside the file is read. Tags are checked as they come,
// what needs the whole file at its end.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/Msccl.h"
#include "lib/Support/FileText.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>

using namespace coll;
using namespace coll::msccl;

namespace {
using Attributes =
    llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>, 16>;

class Reader {
public:
  Reader(const SourceManager &sources, DiagnosticEngine &diags, FileId file)
      : sources(sources), diags(diags), file(file),
        text(sources.file(file).text()) {}
  std::optional<Algorithm> read();

private:
  static Reader &of(void *context) {
    return *static_cast<Reader *>(
        static_cast<xmlParserCtxtPtr>(context)->_private);
  }
  static void onStart(void *context, const xmlChar *name, const xmlChar *,
                      const xmlChar *, int, const xmlChar **, int count, int,
                      const xmlChar **attributes);
  static void onEnd(void *context, const xmlChar *, const xmlChar *,
                    const xmlChar *);
  static void onText(void *context, const xmlChar *chars, int length);
  static void onDocType(void *context, const xmlChar *, const xmlChar *,
                        const xmlChar *);
  static void onError(void *context, const xmlError *error);

  void start(llvm::StringRef name, const Attributes &attributes);
  void startAlgo();
  void startGpu();
  void startBlock();
  void startStep();
  void startPreload();
  void finish();
  void checkGpu(const Gpu &gpu);
  void checkDependency(const Gpu &gpu, uint32_t block, const Step &step);

  std::optional<llvm::StringRef> get(llvm::StringRef name);
  std::optional<llvm::StringRef> require(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t low, int64_t high,
                  std::optional<int64_t> missing = std::nullopt);
  bool flag(llvm::StringRef name, std::optional<int64_t> missing);
  Place place(const char *space, const char *offset, bool isNop);
  void fail(Slug slug, SourceRange range, const llvm::Twine &message);
  /// Last in a callback: attributes point into what this frees.
  void stopIfFailed() {
    if (hasFailed)
      xmlStopParser(parser);
  }
  SourceRange here() const;

  const SourceManager &sources;
  DiagnosticEngine &diags;
  FileId file;
  llvm::StringRef text;
  xmlParserCtxtPtr parser = nullptr;
  bool hasFailed = false;
  uint32_t elements = 0, depth = 0, gpusDeclared = 0;
  SourceRange tag;
  const Attributes *attributes = nullptr;
  Algorithm algo;
  bool hasRoot = false;
  Gpu *gpu = nullptr;
  Block *block = nullptr;
  llvm::DenseSet<uint32_t> gpuIds, blockIds;
};
} // namespace

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

void Reader::fail(Slug slug, SourceRange range, const llvm::Twine &message) {
  if (!hasFailed)
    diags.error(slug, range, message).emit();
  hasFailed = true;
}

/// libxml2 has just read the end of a tag: the tag starts at the last '<',
/// since no value may hold one.
SourceRange Reader::here() const {
  size_t end =
      std::min<size_t>(std::max<long>(0, xmlByteConsumed(parser)), text.size());
  size_t begin = text.substr(0, end).rfind('<');
  if (begin == llvm::StringRef::npos)
    begin = end;
  while (end < text.size() && end - begin < 4096 && text[end] != '>')
    ++end;
  return {file, uint32_t(begin), uint32_t(std::min(end + 1, text.size()))};
}

std::optional<llvm::StringRef> Reader::get(llvm::StringRef name) {
  for (const auto &[key, value] : *attributes)
    if (key == name)
      return value;
  return std::nullopt;
}

std::optional<llvm::StringRef> Reader::require(llvm::StringRef name) {
  std::optional<llvm::StringRef> value = get(name);
  if (!value)
    fail(Slug::XmlValue, tag, "attribute '" + name + "' is missing");
  return value;
}

int64_t Reader::integer(llvm::StringRef name, int64_t low, int64_t high,
                        std::optional<int64_t> missing) {
  std::optional<llvm::StringRef> value = missing ? get(name) : require(name);
  if (!value)
    return missing.value_or(low);
  int64_t result = low;
  if (value->getAsInteger(10, result))
    fail(Slug::XmlValue, attributeOf(sources, tag, name),
         "'" + name + "' is no integer");
  else if (result < low || result > high)
    fail(Slug::XmlValue, attributeOf(sources, tag, name),
         "'" + name + "' is " + llvm::Twine(result) + ", not in " +
             llvm::Twine(low) + ".." + llvm::Twine(high));
  return std::clamp(result, low, high);
}

bool Reader::flag(llvm::StringRef name, std::optional<int64_t> missing) {
  return integer(name, 0, 1, missing) != 0;
}

Place Reader::place(const char *space, const char *offset, bool isNop) {
  Place result;
  llvm::StringRef name =
      (isNop ? get(space).value_or("i") : require(space).value_or("i"));
  if (name == "i" || name == "o" || name == "s")
    result.space = name == "i"   ? Space::Input
                   : name == "o" ? Space::Output
                                 : Space::Scratch;
  else
    fail(Slug::XmlValue, attributeOf(sources, tag, space),
         llvm::Twine("'") + space + "' is none of i, o and s");
  std::optional<int64_t> missing;
  if (isNop)
    missing = -1;
  result.offset = integer(offset, -1, maxXmlChunks - 1, missing);
  return result;
}

SourceRange msccl::attributeOf(const SourceManager &sources, SourceRange tag,
                               llvm::StringRef name) {
  llvm::StringRef text = sources.text(tag);
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quote) {
      quote = text[i] == quote ? 0 : quote;
      continue;
    }
    if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
      continue;
    }
    if (i == 0 || !llvm::isSpace(text[i - 1]) ||
        !text.substr(i).starts_with(name))
      continue;
    llvm::StringRef rest = text.substr(i + name.size()).ltrim();
    if (!rest.consume_front("="))
      continue;
    rest = rest.ltrim();
    if (rest.empty())
      break;
    size_t length = rest.drop_front().find(rest.front());
    uint32_t begin = tag.begin + (rest.data() - text.data()) + 1;
    if (length != llvm::StringRef::npos)
      return {tag.file, begin, uint32_t(begin + length)};
  }
  return tag;
}

//===----------------------------------------------------------------------===//
// Tags
//===----------------------------------------------------------------------===//

void Reader::startAlgo() {
  if (hasRoot)
    return fail(Slug::XmlSyntax, tag, "a second 'algo'");
  hasRoot = true;
  algo.range = tag;
  algo.name = get("name").value_or("").str();
  algo.protocol = get("proto").value_or("Simple").str();
  algo.coll = require("coll").value_or("").str();
  algo.isAzureName = algo.coll == "reducescatter";
  if (algo.isAzureName)
    algo.coll = "reduce_scatter";
  llvm::StringRef protocol = algo.protocol;
  if (protocol != "Simple" && protocol != "LL" && protocol != "LL128")
    return fail(Slug::XmlValue, attributeOf(sources, tag, "proto"),
                "'proto' is none of Simple, LL and LL128");
  algo.channels = integer("nchannels", 1, maxXmlChannels, 1);
  algo.chunks = integer("nchunksperloop", 1, maxXmlChunks);
  gpusDeclared = integer("ngpus", 1, maxXmlGpus);
  algo.inPlace = flag("inplace", 0);
  algo.hasOutOfPlace = get("outofplace").has_value();
  algo.outOfPlace = flag("outofplace", !algo.inPlace);
  algo.hasMinBytes = get("minBytes").has_value();
  algo.hasMaxBytes = get("maxBytes").has_value();
  algo.minBytes = integer("minBytes", 0, INT64_MAX, 0);
  algo.maxBytes = integer("maxBytes", 0, INT64_MAX, 0);
  algo.gpus.resize(gpusDeclared);
}

void Reader::startGpu() {
  uint32_t id = integer("id", 0, gpusDeclared - 1);
  if (hasFailed)
    return;
  if (!gpuIds.insert(id).second)
    return fail(Slug::XmlStructure, tag,
                "a second 'gpu' with id " + llvm::Twine(id));
  gpu = &algo.gpus[id];
  gpu->range = tag;
  gpu->inChunks = integer("i_chunks", 0, maxXmlChunks);
  gpu->outChunks = integer("o_chunks", 0, maxXmlChunks);
  gpu->scratchChunks = integer("s_chunks", 0, maxXmlChunks);
  blockIds.clear();
}

void Reader::startPreload() {
  Preload preload{0, 0, tag};
  preload.from = integer("i_off", 0, maxXmlChunks - 1);
  preload.to = integer("o_off", 0, maxXmlChunks - 1);
  gpu->preloads.push_back(preload);
}

void Reader::startBlock() {
  uint32_t id = integer("id", 0, maxXmlBlocks - 1);
  if (hasFailed)
    return;
  if (!blockIds.insert(id).second)
    return fail(Slug::XmlStructure, tag,
                "a second 'tb' with id " + llvm::Twine(id));
  if (gpu->blocks.size() <= id)
    gpu->blocks.resize(id + 1);
  block = &gpu->blocks[id];
  block->range = tag;
  block->sendPeer = integer("send", -1, gpusDeclared - 1);
  block->recvPeer = integer("recv", -1, gpusDeclared - 1);
  block->channel = integer("chan", 0, maxXmlChannels - 1);
  int32_t own = gpu - algo.gpus.data();
  for (const char *side : {"send", "recv"})
    if ((side[0] == 's' ? block->sendPeer : block->recvPeer) == own)
      fail(Slug::XmlStructure, attributeOf(sources, tag, side),
           "a block of rank " + llvm::Twine(own) +
               " has its own rank as a peer");
}

static std::optional<StepKind> kindOf(llvm::StringRef name) {
  for (int kind = 0; kind <= int(StepKind::Nop); ++kind)
    if (nameOf(StepKind(kind)) == name)
      return StepKind(kind);
  return std::nullopt;
}

void Reader::startStep() {
  Step step;
  step.range = tag;
  llvm::StringRef type = require("type").value_or("");
  std::optional<StepKind> kind = kindOf(type);
  if (!kind)
    return fail(Slug::XmlValue, attributeOf(sources, tag, "type"),
                "no step is of type '" + type + "'");
  step.kind = *kind;
  bool isNop = step.kind == StepKind::Nop;
  if (integer("s", 0, INT32_MAX) != int64_t(block->steps.size()))
    return fail(Slug::XmlStructure, attributeOf(sources, tag, "s"),
                "'s' is not the position of the step in its block, " +
                    llvm::Twine(block->steps.size()));
  step.source = place("srcbuf", "srcoff", isNop);
  step.target = place("dstbuf", "dstoff", isNop);
  step.count = integer("cnt", isNop ? 0 : 1, maxXmlChunks, isNop ? 0 : 1);
  step.depBlock = integer("depid", -1, maxXmlBlocks - 1, -1);
  step.depStep = integer("deps", -1, INT32_MAX, -1);
  step.hasDep = flag("hasdep", 0);
  if (sends(step.kind) && block->sendPeer < 0)
    return fail(Slug::XmlStructure, tag,
                "'" + type + "' sends, and its block has no rank to send to");
  if (receives(step.kind) && block->recvPeer < 0)
    return fail(Slug::XmlStructure, tag,
                "'" + type +
                    "' receives, and its block has no rank to receive from");
  block->steps.push_back(step);
}

void Reader::start(llvm::StringRef name, const Attributes &list) {
  attributes = &list;
  tag = here();
  if (++elements > maxXmlElements)
    return fail(Slug::XmlTooLarge, tag,
                "more than " + llvm::Twine(maxXmlElements) + " elements");
  static const llvm::StringRef parents[] = {"", "algo", "gpu", "tb"};
  uint32_t level = name == "algo"                   ? 0
                   : name == "gpu"                  ? 1
                   : name == "tb" || name == "copy" ? 2
                   : name == "step"                 ? 3
                                                    : 4;
  if (depth == 0 && level != 0)
    return fail(Slug::XmlSyntax, tag,
                "the document is a '" + name.take_front(64) +
                    "', not an 'algo'");
  if (level == 4)
    return fail(Slug::XmlStructure, tag,
                "no element is called '" + name.take_front(64) + "'");
  if (level != depth || (level == 3 && !block))
    return fail(Slug::XmlStructure, tag,
                level == 0 ? llvm::Twine("'algo' stands in another element")
                           : "'" + name + "' does not stand in '" +
                                 parents[level] + "'");
  ++depth;
  if (name == "algo")
    startAlgo();
  else if (name == "gpu")
    startGpu();
  else if (name == "copy")
    startPreload();
  else if (name == "tb")
    startBlock();
  else
    startStep();
}

//===----------------------------------------------------------------------===//
// The whole file
//===----------------------------------------------------------------------===//

static std::string chunks(uint32_t count) {
  return std::to_string(count) + (count == 1 ? " chunk" : " chunks");
}

static bool isInRange(const Gpu &gpu, Place place, uint32_t count) {
  uint32_t chunks = place.space == Space::Input    ? gpu.inChunks
                    : place.space == Space::Output ? gpu.outChunks
                                                   : gpu.scratchChunks;
  return place.offset >= 0 && uint32_t(place.offset) + count <= chunks;
}

void Reader::checkDependency(const Gpu &of, uint32_t own, const Step &step) {
  if (step.depBlock < 0 && step.depStep < 0)
    return;
  if (step.depBlock < 0 || step.depStep < 0)
    return fail(Slug::XmlStructure, step.range,
                "only one of 'depid' and 'deps' names something");
  if (size_t(step.depBlock) >= of.blocks.size() ||
      size_t(step.depStep) >= of.blocks[step.depBlock].steps.size())
    return fail(Slug::XmlStructure, attributeOf(sources, step.range, "deps"),
                "a dependency on step " + llvm::Twine(step.depStep) +
                    " of block " + llvm::Twine(step.depBlock) +
                    ", which does not exist");
  if (uint32_t(step.depBlock) == own)
    fail(Slug::XmlStructure, attributeOf(sources, step.range, "depid"),
         "a dependency of a block on itself");
}

void Reader::checkGpu(const Gpu &of) {
  for (const Preload &preload : of.preloads)
    if (uint32_t(preload.from) >= of.inChunks ||
        uint32_t(preload.to) >= of.outChunks)
      fail(Slug::XmlOutOfRange, preload.range,
           "a copy beyond the chunks of its gpu");
  for (uint32_t b = 0; b < of.blocks.size() && !hasFailed; ++b) {
    if (!of.blocks[b].range.isValid())
      return fail(Slug::XmlStructure, of.range,
                  "there is no 'tb' with id " + llvm::Twine(b));
    for (const Step &step : of.blocks[b].steps) {
      checkDependency(of, b, step);
      bool readsBoth = step.kind == StepKind::Reduce;
      if ((readsSource(step.kind) || readsBoth) &&
          !isInRange(of, step.source, step.count))
        fail(Slug::XmlOutOfRange, attributeOf(sources, step.range, "srcoff"),
             chunks(step.count) + " from " + describe(step.source) +
                 ": more than the gpu has");
      if (writesTarget(step.kind) && !isInRange(of, step.target, step.count))
        fail(Slug::XmlOutOfRange, attributeOf(sources, step.range, "dstoff"),
             chunks(step.count) + " from " + describe(step.target) +
                 ": more than the gpu has");
    }
  }
}

void Reader::finish() {
  if (!hasRoot)
    return fail(Slug::XmlSyntax, {file, 0, 0}, "no 'algo' element");
  for (uint32_t id = 0; id < algo.gpus.size() && !hasFailed; ++id) {
    if (!algo.gpus[id].range.isValid())
      return fail(Slug::XmlStructure, algo.range,
                  "there is no 'gpu' with id " + llvm::Twine(id));
    checkGpu(algo.gpus[id]);
  }
}

//===----------------------------------------------------------------------===//
// What libxml2 calls
//===----------------------------------------------------------------------===//

static llvm::StringRef stringOf(const xmlChar *text) {
  return reinterpret_cast<const char *>(text);
}

void Reader::onStart(void *context, const xmlChar *name, const xmlChar *,
                     const xmlChar *, int, const xmlChar **, int count, int,
                     const xmlChar **attributes) {
  Reader &reader = of(context);
  if (reader.hasFailed)
    return;
  if (count > int(maxXmlAttributes))
    reader.fail(Slug::XmlTooLarge, reader.here(),
                "more than " + llvm::Twine(maxXmlAttributes) + " attributes");
  Attributes list;
  for (int i = 0; i < count && !reader.hasFailed; ++i) {
    const xmlChar **attribute = attributes + 5 * i;
    llvm::StringRef value(reinterpret_cast<const char *>(attribute[3]),
                          attribute[4] - attribute[3]);
    if (value.size() > maxXmlValueBytes)
      reader.fail(Slug::XmlTooLarge, reader.here(),
                  "an attribute of " + llvm::Twine(value.size()) +
                      " bytes; the limit is " + llvm::Twine(maxXmlValueBytes));
    // Values are printed.
    if (llvm::any_of(value, [](char c) { return uint8_t(c) < 0x20; }))
      reader.fail(Slug::XmlValue, reader.here(),
                  "an attribute with a control character");
    list.push_back({stringOf(attribute[0]), value});
  }
  if (!reader.hasFailed)
    reader.start(stringOf(name), list);
  reader.stopIfFailed();
}

void Reader::onEnd(void *context, const xmlChar *name, const xmlChar *,
                   const xmlChar *) {
  Reader &reader = of(context);
  --reader.depth;
  if (stringOf(name) == "tb")
    reader.block = nullptr;
}

void Reader::onText(void *context, const xmlChar *chars, int length) {
  Reader &reader = of(context);
  llvm::StringRef text(reinterpret_cast<const char *>(chars), length);
  if (!text.trim().empty())
    reader.fail(Slug::XmlStructure, reader.here(), "text between elements");
  reader.stopIfFailed();
}

void Reader::onDocType(void *context, const xmlChar *, const xmlChar *,
                       const xmlChar *) {
  Reader &reader = of(context);
  reader.fail(Slug::XmlSyntax, reader.here(),
              "a document type, which is not read");
  reader.stopIfFailed();
}

void Reader::onError(void *context, const xmlError *error) {
  Reader &reader = of(context);
  if (reader.hasFailed || error->level < XML_ERR_ERROR)
    return;
  llvm::StringRef message =
      llvm::StringRef(error->message ? error->message : "not well-formed")
          .trim();
  std::string words = message.empty() ? "not well-formed"
                                      : llvm::toLower(message.front()) +
                                            message.drop_front().str();
  if (error->code == XML_ERR_DOCUMENT_END)
    words = "something follows the end of the document";
  uint32_t at = std::min<size_t>(
      std::max<long>(0, xmlByteConsumed(reader.parser)), reader.text.size());
  reader.fail(Slug::XmlSyntax, {reader.file, at, at}, words);
}

std::optional<Algorithm> Reader::read() {
  const llvm::UTF8 *begin = text.bytes_begin();
  if (text.contains('\0') ||
      !llvm::isLegalUTF8String(&begin, text.bytes_end())) {
    fail(Slug::BadEncoding, {file, 0, 0}, "the file is not UTF-8");
    return std::nullopt;
  }
  parser = xmlCreateMemoryParserCtxt(text.data(), text.size());
  if (!parser) {
    fail(Slug::XmlSyntax, {file, 0, 0}, "the file is empty");
    return std::nullopt;
  }
  // The only entities there are without a document type are those of single
  // characters; else the library would hand out "&#38;" for "&amp;".
  xmlCtxtUseOptions(parser,
                    XML_PARSE_NONET | XML_PARSE_IGNORE_ENC | XML_PARSE_NOENT);
  parser->_private = this;
  xmlSAXHandler handler = {};
  handler.initialized = XML_SAX2_MAGIC;
  handler.startElementNs = onStart;
  handler.endElementNs = onEnd;
  handler.characters = handler.cdataBlock = onText;
  handler.internalSubset = onDocType;
  handler.serror = reinterpret_cast<xmlStructuredErrorFunc>(onError);
  *parser->sax = handler;
  xmlParseDocument(parser);
  if (!hasFailed && !parser->wellFormed)
    fail(Slug::XmlSyntax, {file, 0, 0}, "not well-formed");
  xmlFreeParserCtxt(parser);
  parser = nullptr;
  if (!hasFailed)
    finish();
  if (hasFailed)
    return std::nullopt;
  return std::move(algo);
}

std::optional<Algorithm> msccl::readXml(const SourceManager &sources,
                                        DiagnosticEngine &diags, FileId file) {
  return Reader(sources, diags, file).read();
}

FileId msccl::openXml(SourceManager &sources, DiagnosticEngine &diags,
                      llvm::StringRef path) {
  FileText file = readFileText(path, maxXmlBytes);
  if (file.error == SourceManager::OpenError::TooLarge) {
    diags
        .error(Slug::FileTooLarge, {},
               "'" + path + "' is larger than " +
                   llvm::Twine(maxXmlBytes >> 20) + " MiB")
        .emit();
    return noFile;
  }
  if (file.error) {
    diags
        .error(Slug::UnreadableFile, {},
               "cannot read '" + path + "': " + file.message)
        .emit();
    return noFile;
  }
  return sources.add(path.str(), std::move(file.text));
}
