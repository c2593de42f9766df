//===- MscclJudge.cpp - Is an MSCCL XML right? ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file is judged by what a loader would run: without <copy> elements, with
// the sources of reductions read where they are, in the order of each channel.
// Only if that is wrong are the usual explanations tried, each by running the
// file once more as its author may have meant it.
//
// One step is one message, whatever it carries. A fused step needs its message
// and a free slot at once, so the least depth is found by runs at different
// depths: more slots never hurt.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclJudge.h"

#include "lib/Analysis/ProgramDeadlock.h"
#include "lib/Analysis/Report.h"
#include "lib/Interchange/MscclContract.h"
#include "lib/Support/Slugs.h"

#include "llvm/Support/raw_ostream.h"

using namespace coll;
using namespace coll::msccl;

/// NCCL_STEPS: what a connection of NCCL has.
static constexpr uint32_t mostSlots = 8;

namespace {
class Judge {
public:
  Judge(const SourceManager &sources, DiagnosticEngine &diags,
        const Algorithm &algo, bool inPlace)
      : sources(sources), diags(diags), algo(algo), inPlace(inPlace) {}
  Judgement run(const LintResult &lint);

private:
  bool isTooLarge() const;
  bool findDepth();
  void reportDeadlock(const DeadlockResult &deadlock,
                      const ProgramSet &programs);
  void reportError(const RunResult &result);
  void reportWrong(const RunResult &result);
  void reportChunk(const WrongChunk &wrong);
  bool explainByCopies();
  void explainBySources();
  void explainByOrder();
  ImportOptions options() const {
    ImportOptions result;
    result.inPlace = inPlace;
    return result;
  }

  const SourceManager &sources;
  DiagnosticEngine &diags;
  const Algorithm &algo;
  bool inPlace;
  Judgement verdict;
};
} // namespace

bool Judge::isTooLarge() const {
  uint64_t steps = 0, parts = 0;
  Shape shape = shapeOf(algo);
  uint64_t in = shape.in, out = uint64_t(shape.out) + shape.in, scratch = 1;
  for (const Gpu &gpu : algo.gpus) {
    in = std::max<uint64_t>(in, gpu.inChunks);
    out = std::max<uint64_t>({out, gpu.outChunks, gpu.inChunks});
    scratch = std::max<uint64_t>(scratch, gpu.scratchChunks);
    for (const Block &block : gpu.blocks)
      for (const coll::msccl::Step &step : block.steps)
        steps += step.count;
  }
  parts = (in + 2 * out + 2 * scratch) * algo.gpus.size();
  if (parts <= maxImportedChunks && steps <= maxImportedSteps)
    return false;
  diags
      .error(Slug::XmlTooLarge, algo.range,
             "too large to be judged: " + llvm::Twine(parts) +
                 " chunks of memory and " + llvm::Twine(steps) +
                 " chunks moved")
      .help({}, "the most is " + llvm::Twine(maxImportedChunks) + " and " +
                    llvm::Twine(maxImportedSteps));
  return true;
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

static std::string wordsOf(const BlockedAt &at) {
  std::string text = "rank " + std::to_string(at.rank) + ", block " +
                     std::to_string(at.block) + " waits for ";
  if (at.why == BlockedAt::Block)
    return text + "its block " + std::to_string(at.onBlock);
  std::string peer = "rank " + std::to_string(at.peer) + ", block " +
                     std::to_string(at.onBlock);
  return text + (at.why == BlockedAt::Data ? "a message of " + peer
                                           : peer + " to take a message");
}

void Judge::reportDeadlock(const DeadlockResult &deadlock,
                           const ProgramSet &programs) {
  const auto &chain =
      deadlock.cycle.empty() ? deadlock.blocked : deadlock.cycle;
  auto range = [&](const BlockedAt &at) {
    return at.site == kNone ? SourceRange() : programs.sites[at.site].range;
  };
  bool isNone = verdict.depth == Judgement::None;
  InFlight error = isNone
                       ? diags.error(Slug::Deadlock, range(chain[0]),
                                     "thread blocks wait for each other, "
                                     "however many messages a channel holds")
                       : diags.error(Slug::FifoDepth, range(chain[0]),
                                     "gets stuck unless every channel holds " +
                                         llvm::Twine(verdict.leastDepth) +
                                         " messages; those of NCCL hold " +
                                         llvm::Twine(mostSlots));
  for (const BlockedAt &at : chain)
    error.note(range(at), wordsOf(at));
}

/// False: it never finishes.
bool Judge::findDepth() {
  ImportOptions whole = options();
  whole.wholeMessages = true;
  ProgramSet programs = importPrograms(algo, whole);
  uint32_t high = 1;
  for (const RankProgram &rank : programs.members[0].outOfPlace)
    for (const BlockProgram &block : rank.blocks)
      high = std::max<uint32_t>(high, block.steps.size());
  auto at = [&](uint32_t depth) {
    return runFifos(programs, 0, Variant::OutOfPlace, {depth, 1, 1, 1});
  };
  DeadlockResult last = at(high);
  if (last.isStuck) {
    verdict.depth = Judgement::None;
    reportDeadlock(last, programs);
    return false;
  }
  uint32_t low = 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (at(middle).isStuck)
      low = middle + 1;
    else
      high = middle;
  }
  verdict.depth = Judgement::Exists;
  verdict.leastDepth = low;
  if (low > mostSlots)
    reportDeadlock(at(mostSlots), programs);
  return true;
}

//===----------------------------------------------------------------------===//
// Contract
//===----------------------------------------------------------------------===//

void Judge::reportError(const RunResult &result) {
  const ProgramError &error = *result.error;
  auto range = [&](SiteId site) {
    return site == kNone ? SourceRange() : result.programs.sites[site].range;
  };
  if (error.kind == ProgramError::Race) {
    diags
        .error(Slug::BlockRace, range(error.site),
               "thread blocks " + llvm::Twine(error.otherBlock) + " and " +
                   llvm::Twine(error.block) + " of rank " +
                   llvm::Twine(error.rank) +
                   " touch one chunk and nothing orders them")
        .note(range(error.otherSite),
              "the other access, by block " + llvm::Twine(error.otherBlock));
    return;
  }
  Slug slug = error.kind == ProgramError::WritesInput ? Slug::ReadOnly
                                                      : Slug::XmlStructure;
  std::string message = error.kind == ProgramError::WritesInput
                            ? "writes to the input, out of place"
                            : describe(error, result.programs);
  diags.error(slug, range(error.site), message).emit();
}

static std::string nameOf(const Leaf &leaf) {
  if (leaf.buffer == InBuffer)
    return "chunk " + std::to_string(leaf.part) + " of rank " +
           std::to_string(leaf.rank);
  return std::string("what lay in ") +
         (leaf.buffer == OutStart ? "the output" : "scratch") + " of rank " +
         std::to_string(leaf.rank) + " at the start";
}

static std::string ranksOf(const Bag &bag) {
  std::vector<Rank> ranks;
  for (const auto &[leaf, count] : bag)
    ranks.push_back(leaf.rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + foldRanks(ranks);
}

void Judge::reportChunk(const WrongChunk &wrong) {
  std::string where = "chunk " + std::to_string(wrong.chunk) +
                      " of the output of rank " + std::to_string(wrong.rank);
  SourceRange range =
      wrong.writer.isValid() ? wrong.writer : algo.gpus[wrong.rank].range;
  bool isSum = algo.coll == "allreduce" || algo.coll == "reduce" ||
               algo.coll == "reduce_scatter";
  bool isDouble = !wrong.surplus.empty();
  for (const auto &[leaf, count] : wrong.surplus)
    isDouble &=
        leaf.buffer == InBuffer &&
        (wrong.missing.empty() || leaf.part == wrong.missing[0].first.part);
  if (wrong.isUnwritten && !(inPlace && isSum)) {
    diags.error(Slug::UnwrittenOutput, range, where + " is never written")
        .emit();
    return;
  }
  if (isSum && isDouble) {
    InFlight error = diags.error(Slug::DoubleContribution, range,
                                 where + " has the contribution of " +
                                     ranksOf(wrong.surplus) + " too often");
    if (!wrong.missing.empty())
      error.note({}, "and lacks that of " + ranksOf(wrong.missing));
    return;
  }
  if (isSum && wrong.surplus.empty()) {
    diags
        .error(Slug::MissingContribution, range,
               where + " lacks the contribution of " + ranksOf(wrong.missing))
        .emit();
    return;
  }
  InFlight error =
      diags.error(Slug::WrongValue, range,
                  where + " is not what " + algo.coll + " promises");
  if (!wrong.missing.empty())
    error.note({}, "it lacks " + nameOf(wrong.missing[0].first));
  if (!wrong.surplus.empty())
    error.note({}, "it has " + nameOf(wrong.surplus[0].first));
}

void Judge::reportWrong(const RunResult &result) {
  for (const WrongChunk &wrong : result.wrong)
    reportChunk(wrong);
  explainBySources();
  explainByOrder();
}

bool Judge::explainByCopies() {
  if (!algo.hasPreloads())
    return false;
  ImportOptions withCopies = options();
  withCopies.preloads = true;
  if (!runAndCompare(algo, withCopies).isRight())
    return false;
  for (const Gpu &gpu : algo.gpus)
    if (!gpu.preloads.empty()) {
      diags
          .warning(Slug::CopyElement, gpu.preloads[0].range,
                   "right only if 'copy' elements are run, which loaders of "
                   "microsoft/msccl and Azure ignore")
          .emit();
      break;
    }
  return true;
}

/// Generators print the sender's location as the source of a reduction.
void Judge::explainBySources() {
  std::vector<const coll::msccl::Step *> suspects;
  for (const Gpu &gpu : algo.gpus)
    for (const Block &block : gpu.blocks)
      for (const coll::msccl::Step &step : block.steps)
        if ((step.kind == StepKind::RecvReduceCopy ||
             step.kind == StepKind::RecvReduceCopySend) &&
            !(step.source == step.target))
          suspects.push_back(&step);
  ImportOptions meant = options();
  meant.targetIsSource = true;
  if (suspects.empty() || !runAndCompare(algo, meant).isRight())
    return;
  for (size_t i = 0; i < std::min<size_t>(suspects.size(), 4); ++i) {
    const coll::msccl::Step &step = *suspects[i];
    auto value = [&](const char *name) {
      return attributeOf(sources, step.range, name);
    };
    diags
        .error(Slug::RrcRemoteSource, value("srcoff"),
               "'" + nameOf(step.kind) + "' adds to " + describe(step.source) +
                   " of its own rank, which is no right operand; " +
                   describe(step.target) + " is")
        .fix(value("srcbuf"), sources.text(value("dstbuf")),
             "name the target's buffer as the source")
        .fix(value("srcoff"), sources.text(value("dstoff")), "and its offset");
  }
}

void Judge::explainByOrder() {
  unsigned said = 0;
  for (const MessagePair &pair : matchMessages(algo)) {
    if (pair.send->kind != StepKind::Send || !writesTarget(pair.recv->kind) ||
        pair.send->target.offset < 0)
      continue;
    PhysicalPlace says = placeOf(algo, inPlace, pair.to, pair.send->target),
                  goes = placeOf(algo, inPlace, pair.to, pair.recv->target);
    if ((says.buffer == goes.buffer && says.part == goes.part) || ++said > 3)
      continue;
    diags
        .warning(Slug::MessageOrder, pair.recv->range,
                 "a message for " + describe(pair.send->target) +
                     " is received to " + describe(pair.recv->target))
        .note(pair.send->range, "sent here by rank " + llvm::Twine(pair.from));
  }
}

Judgement Judge::run(const LintResult &lint) {
  Shape shape = shapeOf(algo);
  if (lint.isShared) {
    verdict.contract = "undefined-shared-connection";
    return verdict;
  }
  verdict.contract = "not-finished";
  if (lint.isNeverDone)
    return verdict;
  if (isTooLarge()) {
    verdict.contract = "unknown-size";
    return verdict;
  }
  if (!findDepth())
    return verdict;
  RunResult result = runAndCompare(algo, options());
  bool hasRace = result.error && result.error->kind == ProgramError::Race;
  if (hasRace || !result.error)
    verdict.races = hasRace;
  verdict.root = result.root;
  if (!shape.isKnown)
    verdict.contract = "unknown-" + algo.coll;
  else if (hasRace)
    verdict.contract = "undefined-race";
  else
    verdict.contract = result.isTooLarge  ? "unknown-size"
                       : result.isRight() ? "right"
                                          : "wrong";
  if (result.error) {
    reportError(result);
  } else if (verdict.contract == "wrong") {
    if (explainByCopies())
      verdict.contract = "right-only-with-copy-elements";
    else
      reportWrong(result);
  }
  return verdict;
}

Judgement msccl::judge(const SourceManager &sources, DiagnosticEngine &diags,
                       const Algorithm &algo, const LintResult &lint,
                       bool inPlace) {
  return Judge(sources, diags, algo, inPlace).run(lint);
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static void print(const Algorithm &algo, bool inPlace, const Judgement &verdict,
                  llvm::raw_ostream &os) {
  os << algo.name << ": " << algo.coll << ", " << algo.gpus.size() << " ranks, "
     << (inPlace ? "in place" : "out of place");
  if (verdict.root)
    os << ", root " << *verdict.root;
  os << ": contract " << verdict.contract;
  if (verdict.depth != Judgement::Unknown)
    os << ", depth "
       << (verdict.depth == Judgement::None
               ? "none"
               : std::to_string(verdict.leastDepth));
  if (verdict.races)
    os << ", races " << (*verdict.races ? "yes" : "no");
  os << "\n";
}

JudgedXml msccl::judgeVariants(const SourceManager &sources,
                               DiagnosticEngine &diags, Algorithm algo,
                               llvm::raw_ostream *os) {
  JudgedXml judged;
  LintResult found = lint(sources, diags, algo);
  for (bool inPlace : {true, false}) {
    if (!(inPlace ? algo.inPlace : algo.outOfPlace || !algo.inPlace))
      continue;
    Judgement verdict = judge(sources, diags, algo, found, inPlace);
    if (os)
      print(algo, inPlace, verdict, *os);
    bool needsCopies = verdict.contract == "right-only-with-copy-elements";
    judged.runsCopies |= needsCopies;
    judged.isRight &= needsCopies || verdict.contract == "right";
    judged.root = verdict.root;
  }
  judged.isRight &= !diags.hasErrors();
  judged.algorithm = std::move(algo);
  return judged;
}

std::optional<JudgedXml> msccl::judgeXml(SourceManager &sources,
                                         DiagnosticEngine &diags,
                                         llvm::StringRef path,
                                         llvm::raw_ostream *os) {
  FileId file = openXml(sources, diags, path);
  if (file == noFile)
    return std::nullopt;
  std::optional<Algorithm> algo = readXml(sources, diags, file);
  if (!algo) {
    if (os)
      *os << path << ": contract parse-error\n";
    return std::nullopt;
  }
  if (!shapeOf(*algo).divides) {
    diags
        .error(Slug::XmlValue,
               attributeOf(sources, algo->range, "nchunksperloop"),
               llvm::Twine(algo->chunks) + " chunks cannot be split among " +
                   llvm::Twine(algo->gpus.size()) + " ranks")
        .emit();
    return std::nullopt;
  }
  return judgeVariants(sources, diags, std::move(*algo), os);
}
