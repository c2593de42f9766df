//===- MscclImport.cpp - MSCCL XML as programs that can run ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that were judged (MscclPrograms.h) already have our steps, waits
// and messages; a flow (MscclFlow.h) says which value passes each port. What is
// left is memory, since a file may use its buffers more freely than a caller
// allows:
//
// * What a contract promises stays a location of `out`, what the caller gives
//   one of `in`.
// * `in` that is written, `out` that nothing is promised of, and chunks beyond
//   the contract's buffers are scratch of our own. Where something of the
//   caller lies there at the start and is read, the first steps of block 0 copy
//   it, and all other blocks wait for that.
// * A chunk of `out` may hold another chunk for a while; with counts that do
// not
//   divide the two differ in size, so meanwhile it is scratch, too.
// * A file that is only for calls in place gets such copies for calls out of
//   place.
//
// A file's scratch has a place for each iteration, ours is one round long: the
// first step of a round that touches a slot waits for the last ones of other
// blocks in the round before.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/MscclImport.h"
#include "lib/Interchange/MscclFlow.h"
#include "lib/Support/Slugs.h"

#include "coll/abi.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace coll;
using namespace coll::msccl;

namespace {
enum : ExprId { copyExpr, foldExpr };

/// One rank of one variant.
class RankLowering {
public:
  /// `copies`: what the caller gave is not where the file expects it.
  RankLowering(const Algorithm &algo, bool inPlace, bool copies, Rank rank,
               const RankProgram &source, const Flow &flow, FlowGraph &values)
      : algo(algo), inPlace(inPlace), copies(copies), rank(rank),
        source(source), flow(flow), values(values) {}
  RankProgram run();

private:
  struct Home {
    enum Kind : uint8_t { In, Out, Private } kind;
    uint32_t offset; ///< in the buffer, over its parts
  };
  Home homeOf(CellKey cell) const;
  Location locate(CellKey cell, ValueId value);
  Location inBuffer(uint16_t buffer, uint32_t offset) const;
  void numberScratch();
  void findCopies();
  void addCopies();
  void addBlock(uint32_t block);
  void addWaits(uint32_t block, uint32_t step, const coll::Step &from);
  void addStep(const coll::Step &from, uint32_t block);
  Port lower(const Port &port, ValueId value, bool isRaw);
  void touch(const coll::Step &step, uint32_t block);
  void addRoundWaits();

  const Algorithm &algo;
  const bool inPlace, copies;
  const Rank rank;
  const RankProgram &source;
  const Flow &flow;
  FlowGraph &values;
  RankProgram result;
  std::map<std::pair<uint64_t, bool>, uint32_t> slots; // cell, is it a stand-in
  std::vector<std::pair<CellKey, uint32_t>> initial;   // copies, from the input
  llvm::DenseSet<uint64_t> copied;                     // to these
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

RankLowering::Home RankLowering::homeOf(CellKey cell) const {
  PhysicalPlace out = placeOf(algo, inPlace, rank, {Space::Output, 0});
  if (cell.buffer == out.buffer && cell.part >= out.part &&
      values.hasOutput(rank, cell.part - out.part))
    return {Home::Out, cell.part - out.part};
  auto it = flow.cells[rank].find(cell.packed());
  bool isWritten = it != flow.cells[rank].end() && it->second.isWritten;
  auto offset = initialOffset(algo, inPlace, values, rank, cell);
  if (offset && !isWritten)
    return {Home::In, *offset};
  return {Home::Private, 0};
}

Location RankLowering::inBuffer(uint16_t buffer, uint32_t offset) const {
  return {Location::Buffer, buffer, offset / values.perPart,
          offset % values.perPart};
}

Location RankLowering::locate(CellKey cell, ValueId value) {
  Home home = homeOf(cell);
  if (home.kind == Home::In)
    return inBuffer(InBuffer, home.offset);
  bool isOut = home.kind == Home::Out;
  if (isOut && home.offset % values.perPart == values.chunkOf(value))
    return inBuffer(OutBuffer, home.offset);
  auto [it, isNew] =
      slots.try_emplace({cell.packed(), isOut}, result.scratchSlots);
  result.scratchSlots += isNew;
  return {Location::Scratch, 0, it->second, 0};
}

/// The file's own scratch keeps its order.
void RankLowering::numberScratch() {
  std::vector<uint32_t> used;
  for (const auto &[key, cell] : flow.cells[rank])
    if (key >> 32 == ScratchBuffer)
      used.push_back(uint32_t(key));
  llvm::sort(used);
  for (uint32_t part : used)
    slots[{CellKey{ScratchBuffer, part}.packed(), false}] =
        result.scratchSlots++;
}

/// Of what lies somewhere at the start and has to lie elsewhere. Chunks that no
/// step touches are outputs, too.
void RankLowering::findCopies() {
  PhysicalPlace first = placeOf(algo, inPlace, rank, {Space::Input, 0});
  for (uint32_t offset = 0; values.hasInput(rank, offset); ++offset) {
    CellKey cell{first.buffer, first.part + offset};
    auto it = flow.cells[rank].find(cell.packed());
    bool isTouched = it != flow.cells[rank].end(),
         isRead = isTouched && it->second.isReadFirst,
         isWritten = isTouched && it->second.isWritten;
    Home::Kind home = homeOf(cell).kind;
    if ((home == Home::Private && isRead) ||
        (home == Home::Out && copies && (isRead || !isWritten))) {
      initial.push_back({cell, offset});
      copied.insert(cell.packed());
    }
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void RankLowering::addCopies() {
  for (auto [cell, offset] : initial) {
    coll::Step step;
    step.firstPort = result.ports.size();
    step.numSources = step.numSinks = 1;
    step.expr = copyExpr;
    step.chunk = offset % values.perPart;
    ValueId value = values.input(rank, offset);
    step.value = value;
    Port load{Port::Load}, store{Port::Store};
    load.loc = inBuffer(InBuffer, offset);
    load.scaled = load.scaledRounded = values.graph.reduces;
    store.loc = locate(cell, value);
    result.ports.push_back(load);
    result.ports.push_back(store);
    result.blocks[0].steps.push_back(step);
  }
}

Port RankLowering::lower(const Port &port, ValueId value, bool isRaw) {
  Port made{port.kind};
  made.end = port.end;
  if (port.kind != Port::Load && port.kind != Port::Store)
    return made;
  CellKey cell{port.loc.buffer, port.loc.part};
  made.loc = locate(cell, value);
  made.scaled = made.scaledRounded =
      isRaw && !copied.contains(cell.packed()) && values.graph.reduces;
  return made;
}

void RankLowering::addWaits(uint32_t block, uint32_t s,
                            const coll::Step &from) {
  uint32_t numCopies = initial.size();
  bool hasFirst = false;
  for (uint32_t w = from.firstWait; w < from.firstWait + from.numWaits; ++w) {
    BlockWait wait = source.waits[w];
    hasFirst |= wait.block == 0;
    wait.step += wait.block == 0 ? numCopies : 0;
    result.waits.push_back(wait);
  }
  if (s == 0 && block != 0 && numCopies && !hasFirst)
    result.waits.push_back({0, numCopies - 1});
}

void RankLowering::addStep(const coll::Step &from, uint32_t block) {
  const std::vector<ValueId> &through = flow.through[rank];
  coll::Step step;
  step.firstPort = result.ports.size();
  step.numSources = from.numSources;
  step.numSinks = from.numSinks;
  step.expr = from.numSources == 2 ? foldExpr : copyExpr;
  step.site = from.site;
  // A step without sinks does not exist in the format.
  step.value = through[from.firstPort + from.numSources];
  step.chunk = values.chunkOf(step.value);
  bool isSum = from.numSources == 2;
  step.complete = isSum && values.graph.values[step.value].complete;
  for (uint32_t p = 0; p < uint32_t(from.numSources) + from.numSinks; ++p)
    result.ports.push_back(lower(source.ports[from.firstPort + p],
                                 through[from.firstPort + p],
                                 flow.isRaw[rank][from.firstPort + p]));
  step.firstWait = result.waits.size();
  addWaits(block, result.blocks[block].steps.size(), from);
  step.numWaits = result.waits.size() - step.firstWait;
  result.blocks[block].steps.push_back(step);
}

/// Of the steps of one block that a step waits for, the last is enough.
void RankLowering::addRoundWaits() {
  struct Use {
    uint32_t first, last;
    bool isWritten;
  };
  std::map<uint32_t, std::map<uint32_t, Use>> uses; // slot, block
  for (uint32_t b = 0; b < result.blocks.size(); ++b)
    for (uint32_t s = 0; s < result.blocks[b].steps.size(); ++s) {
      const coll::Step &step = result.blocks[b].steps[s];
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p) {
        const Port &port = result.ports[p];
        bool isMemory = port.kind == Port::Load || port.kind == Port::Store;
        if (!isMemory || port.loc.space != Location::Scratch)
          continue;
        Use &use =
            uses[port.loc.part].try_emplace(b, Use{s, s, false}).first->second;
        use.last = s;
        use.isWritten |= port.kind == Port::Store;
      }
    }
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, uint32_t>>
      needed; // block and step: other block, its step
  for (const auto &[slot, blocks] : uses)
    for (const auto &[block, use] : blocks)
      for (const auto &[other, theirs] : blocks)
        if (other != block && (use.isWritten || theirs.isWritten)) {
          uint32_t &last = needed[{block, use.first}][other];
          last = std::max(last, theirs.last);
        }
  for (const auto &[at, waits] : needed) {
    coll::Step &step = result.blocks[at.first].steps[at.second];
    uint32_t first = result.waits.size();
    for (uint32_t w = 0; w < step.numWaits; ++w)
      result.waits.push_back(BlockWait(result.waits[step.firstWait + w]));
    for (auto [block, last] : waits)
      result.waits.push_back({block, last, /*previousRound=*/true});
    step.firstWait = first;
    step.numWaits = result.waits.size() - first;
  }
}

RankProgram RankLowering::run() {
  result.sendEnds = source.sendEnds;
  result.recvEnds = source.recvEnds;
  result.blocks.resize(std::max<size_t>(1, source.blocks.size()));
  numberScratch();
  findCopies();
  addCopies();
  for (uint32_t b = 0; b < source.blocks.size(); ++b)
    for (const coll::Step &step : source.blocks[b].steps)
      addStep(step, b);
  addRoundWaits();
  return std::move(result);
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

namespace {
class Import {
public:
  Import(const JudgedXml &judged, llvm::StringRef path, DiagnosticEngine &diags)
      : judged(judged), algo(judged.algorithm), path(path), diags(diags) {}
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
  const Algorithm &algo;
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
          .push_back(RankLowering(algo, from, from != inPlace, rank,
                                  programs[from].members[0].inPlace[rank],
                                  *flows[from], values)
                         .run());
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
