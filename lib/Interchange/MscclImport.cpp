//===- MscclImport.cpp - MSCCL XML as programs that can run ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that were judged (MscclPrograms.h) already have our steps, waits
// and messages. A flow (MscclFlow.h) says which value passes each port, which
// is the chunk graph that the programs are verified against; MscclLower.h gives
// everything its place in the memory that a caller has. What is left is the
// frame, and how long messages may be.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclImport.h"
#include "lib/Interchange/MscclLower.h"
#include "lib/Support/Slugs.h"

#include "coll/abi.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace coll;
using namespace coll::msccl;

/// Where every step handles whole groups of chunks, a group is a chunk: a step
/// of several is one message in the format, and would be as many here.
static Algorithm joinChunks(Algorithm algo) {
  Shape shape = shapeOf(algo);
  uint32_t group = std::gcd(shape.in, shape.out);
  if (algo.hasPreloads() || !shape.isKnown || !shape.divides)
    return algo;
  if (algo.coll == "alltoall")
    group = algo.chunks / algo.gpus.size();
  for (const Gpu &gpu : algo.gpus)
    for (const Block &block : gpu.blocks)
      for (const coll::msccl::Step &step : block.steps) {
        group = std::gcd(group, step.count);
        if (readsSource(step.kind))
          group = std::gcd(group, uint32_t(step.source.offset));
        if (writesTarget(step.kind))
          group = std::gcd(group, uint32_t(step.target.offset));
      }
  if (group <= 1)
    return algo;
  algo.chunks /= group;
  for (Gpu &gpu : algo.gpus) {
    for (uint32_t *chunks : {&gpu.inChunks, &gpu.outChunks, &gpu.scratchChunks})
      *chunks = (*chunks + group - 1) / group;
    for (Block &block : gpu.blocks)
      for (coll::msccl::Step &step : block.steps) {
        step.count /= group;
        step.source.offset /= int32_t(group);
        step.target.offset /= int32_t(group);
      }
  }
  return algo;
}

namespace {
class Import {
public:
  Import(const JudgedXml &judged, llvm::StringRef path, DiagnosticEngine &diags)
      : judged(judged), algo(joinChunks(judged.algorithm)), path(path),
        diags(diags) {}
  std::optional<ImportedSchedule> run();

private:
  bool check();
  bool fail(Slug slug, SourceRange range, const llvm::Twine &message);
  std::optional<Flow> trace(bool inPlace, const ProgramSet &programs,
                            FlowGraph &values);
  bool lower();
  bool isSame(const FlowGraph &values, const Flow &a, bool aInPlace,
              const Flow &b, bool bInPlace) const;
  void addOutputs(FlowGraph &values, const Flow &flow, bool inPlace);
  void addPairs(ChunkGraph &graph);
  void fillFrame(const ChunkGraph &graph);
  bool fits();
  bool runs(FifoShape shape) const;

  const JudgedXml &judged;
  const Algorithm algo;
  llvm::StringRef path;
  DiagnosticEngine &diags;
  ImportedSchedule result;
};
} // namespace

bool Import::fail(Slug slug, SourceRange range, const llvm::Twine &message) {
  diags.error(slug, range, "'" + algo.name + "' cannot be run: " + message)
      .emit();
  return false;
}

bool Import::check() {
  if (!shapeOf(algo).isKnown)
    return fail(Slug::NotRunnable,
                attributeOf(diags.sources(), algo.range, "coll"),
                "the format defines no result for '" + algo.coll +
                    "', so there is nothing to compare it with");
  if (!judged.isRight)
    return fail(Slug::NotRunnable, algo.range,
                "it is too large to be compared with what it promises");
  if (algo.gpus.size() < 2)
    return fail(Slug::NotRunnable, algo.range, "it has one rank");
  uint32_t blocks = 0, channels = 0;
  for (const Gpu &gpu : algo.gpus) {
    blocks = std::max<uint32_t>(blocks, gpu.blocks.size());
    for (const Block &block : gpu.blocks)
      channels = std::max(channels, block.channel + 1);
  }
  if (blocks + judged.runsCopies > maxProgramBlocks)
    return fail(Slug::TooManyBlocks, algo.range,
                llvm::Twine(blocks) + " thread blocks, at most " +
                    llvm::Twine(maxProgramBlocks) + " fit a rank");
  if (channels > maxProgramTags)
    return fail(Slug::TooManyChannels, algo.range,
                llvm::Twine(channels) + " channels, at most " +
                    llvm::Twine(maxProgramTags) + " are possible");
  return true;
}

std::optional<Flow> Import::trace(bool inPlace, const ProgramSet &programs,
                                  FlowGraph &values) {
  Flow flow = traceFlow(algo, inPlace, programs, values);
  if (flow.refusal.empty())
    return flow;
  SourceRange range = flow.refusedSite == kNone
                          ? SourceRange()
                          : programs.sites[flow.refusedSite].range;
  fail(Slug::NotRunnable, range,
       "rank " + llvm::Twine(flow.refusedRank) + " " + flow.refusal);
  return std::nullopt;
}

/// Both variants are compared with one meaning.
bool Import::isSame(const FlowGraph &values, const Flow &a, bool aInPlace,
                    const Flow &b, bool bInPlace) const {
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank)
    for (uint32_t offset = 0; values.hasOutput(rank, offset); ++offset) {
      auto termOf = [&](const Flow &flow, bool inPlace) -> TermId {
        PhysicalPlace at =
            placeOf(algo, inPlace, rank, {Space::Output, int32_t(offset)});
        auto it = flow.cells[rank].find(CellKey{at.buffer, at.part}.packed());
        // Untouched, it is what the contract promises.
        return it == flow.cells[rank].end() || it->second.value == kNone
                   ? kNone
                   : values.termOf(it->second.value);
      };
      TermId x = termOf(a, aInPlace), y = termOf(b, bInPlace);
      if (x != kNone && y != kNone && x != y)
        return false;
    }
  return true;
}

void Import::addOutputs(FlowGraph &values, const Flow &flow, bool inPlace) {
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank)
    for (uint32_t offset = 0; values.hasOutput(rank, offset); ++offset) {
      PhysicalPlace at =
          placeOf(algo, inPlace, rank, {Space::Output, int32_t(offset)});
      CellKey key{at.buffer, at.part};
      auto it = flow.cells[rank].find(key.packed());
      Output output{
          rank,
          {OutBuffer, offset / values.perPart, offset % values.perPart},
          kNone,
          kNone};
      if (it != flow.cells[rank].end()) {
        output.value = it->second.value;
        output.site = it->second.writer;
      } else if (auto from = initialOffset(algo, inPlace, values, rank, key)) {
        output.value = values.input(rank, *from);
      }
      assert(output.value != kNone && "the file was judged right");
      values.graph.outputs.push_back(output);
    }
}

/// As the contracts of the prelude have it.
void Import::addPairs(ChunkGraph &graph) {
  const Buffer &in = graph.buffers[InBuffer], &out = graph.buffers[OutBuffer];
  for (Rank rank = 0; rank < algo.gpus.size(); ++rank) {
    if (!in.present[rank] || !out.present[rank])
      continue;
    bool areLists = in.parts > 1 && out.parts > 1;
    for (uint32_t part = 0; part < (areLists ? in.parts : 1); ++part)
      graph.inplace.push_back({rank, InBuffer,
                               areLists       ? part
                               : in.parts > 1 ? rank
                                              : 0,
                               OutBuffer,
                               areLists        ? part
                               : out.parts > 1 ? rank
                                               : 0});
  }
}

/// A name of C.
static std::string nameFor(llvm::StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) ? c : '_';
  if (result.empty() || llvm::isDigit(result[0]))
    result = "algo_" + result;
  return result;
}

void Import::fillFrame(const ChunkGraph &graph) {
  ProgramSet &set = result.scheduled.programs;
  set.schedule = graph.schedule;
  set.contract = graph.contract;
  set.sourcePath = graph.sourcePath;
  set.rankDims = graph.rankDims;
  set.launchNames = graph.launchNames;
  set.launchDomains = graph.launchDomains;
  set.reduces = graph.reduces;
  set.isAvgLegal = graph.isAvgLegal;
  set.sizes = graph.sizes;
  set.exprs = graph.exprs;
  set.sites = graph.sites;
  ProgramMember &member = set.members[0];
  member.launchValues = graph.launchValues;
  member.inplacePairs = graph.inplace;
  member.buffers = graph.buffers;
  for (const RankProgram &rank : member.outOfPlace)
    for (const auto *ends : {&rank.sendEnds, &rank.recvEnds})
      for (const ChannelEnd &end : *ends)
        set.numTags = std::max(set.numTags, end.tag + 1);
}

bool Import::lower() {
  bool isInPlace = algo.inPlace, isOutOfPlace = algo.outOfPlace || !isInPlace;
  result.outOfPlace = isOutOfPlace;
  FlowGraph values(algo, judged.root);
  ProgramMember &member = result.scheduled.programs.members.emplace_back();
  std::optional<Flow> flows[2];
  ProgramSet programs[2];
  for (bool inPlace : {false, true}) {
    if (inPlace ? !isInPlace : !isOutOfPlace)
      continue;
    ImportOptions options;
    options.inPlace = inPlace;
    options.preloads = judged.runsCopies;
    programs[inPlace] = importPrograms(algo, options);
    flows[inPlace] = trace(inPlace, programs[inPlace], values);
    if (!flows[inPlace])
      return false;
  }
  bool any = !isOutOfPlace; // the variant that the graph is made of
  if (flows[0] && flows[1] &&
      !isSame(values, *flows[0], false, *flows[1], true))
    return fail(Slug::NotRunnable, algo.range,
                "in place it adds in another order than out of place: make it "
                "two files");
  addOutputs(values, *flows[any], any);
  for (bool inPlace : {false, true}) {
    if (inPlace && !isInPlace)
      continue;
    bool from = inPlace || any;
    for (Rank rank = 0; rank < algo.gpus.size(); ++rank)
      (inPlace ? member.inPlace : member.outOfPlace)
          .push_back(lowerRank(algo, from, from != inPlace, rank,
                               programs[from].members[0].inPlace[rank],
                               *flows[from], values));
  }
  values.finish();
  ChunkGraph &graph = values.graph;
  graph.schedule = nameFor(algo.name);
  graph.sourcePath = path.str();
  graph.sites = programs[any].sites;
  if (isInPlace)
    addPairs(graph);
  fillFrame(graph);
  result.graph = std::move(graph);
  return true;
}

bool Import::runs(FifoShape shape) const {
  const ProgramSet &set = result.scheduled.programs;
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
    if (variant == Variant::InPlace && set.members[0].inPlace.empty())
      continue;
    DeadlockResult found = findDeadlock(set, 0, variant, shape);
    if (found.isStuck || !found.isDecided)
      return false;
  }
  return true;
}

/// The longest messages with which it runs on the slots that channels usually
/// have, else on the most they can have. Scratch is as long as a round.
bool Import::fits() {
  constexpr uint64_t mostScratch = 256 << 20;
  ScheduleOptions usual;
  ScheduleResult &made = result.scheduled;
  made.small = {usual.smallSlots, usual.smallSlots / 2, 1, 1};
  bool fits = runs(made.small);
  for (uint32_t slots = usual.slots; fits && slots <= COLL_MAX_SLOTS;
       slots *= 2) {
    made.bulk = {slots, slots / 2, 1, 1};
    for (made.bulk.slices = made.bulk.guaranteedSlots(); made.bulk.slices > 0;
         --made.bulk.slices) {
      if (!runs(made.bulk))
        continue;
      uint64_t bytes = made.bulk.slices * usual.slotBytes, scratch = 1;
      for (const auto *variant : {&made.programs.members[0].outOfPlace,
                                  &made.programs.members[0].inPlace})
        for (const RankProgram &rank : *variant)
          scratch = std::max<uint64_t>(scratch, rank.scratchSlots);
      bytes = std::min(bytes, std::max<uint64_t>(4096, mostScratch / scratch));
      made.programs.roundBytes = bytes & ~uint64_t(15);
      return true;
    }
  }
  return fail(
      Slug::ProgramDeadlock, algo.range,
      "a step of several chunks is as many messages here, and with the " +
          llvm::Twine(COLL_MAX_SLOTS) +
          " slots that a channel has at most it gets stuck");
}

std::optional<ImportedSchedule> Import::run() {
  if (!check() || !lower() || !fits())
    return std::nullopt;
  return std::move(result);
}

std::optional<ImportedSchedule> msccl::importSchedule(const JudgedXml &judged,
                                                      llvm::StringRef path,
                                                      DiagnosticEngine &diags) {
  return Import(judged, path, diags).run();
}
