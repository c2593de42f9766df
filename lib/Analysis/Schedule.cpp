//===- Schedule.cpp - From chunk graphs to programs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries the most fusion first, with messages as long as the FIFOs let them be,
// then shorter messages (the program runs in more rounds), then less fusion.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Schedule.h"
#include "lib/Analysis/Direct.h"
#include "lib/Analysis/ScheduleEmit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <tuple>

using namespace coll;
using namespace coll::sched;

static auto sizeKey(const SizeSymbol &size) {
  return std::tuple(size.kind, size.value, size.chunks);
}

Interner::Interner(ProgramSet &set, std::span<const ChunkGraph> members)
    : set(set) {
  // By value and not by first use, so that the symbols of ranks alike are
  // alike.
  for (const ChunkGraph &graph : members)
    set.sizes.insert(set.sizes.end(), graph.sizes.begin(), graph.sizes.end());
  llvm::sort(set.sizes, [](const SizeSymbol &a, const SizeSymbol &b) {
    return sizeKey(a) < sizeKey(b);
  });
  auto isSame = [](const SizeSymbol &a, const SizeSymbol &b) {
    return sizeKey(a) == sizeKey(b);
  };
  set.sizes.erase(std::unique(set.sizes.begin(), set.sizes.end(), isSame),
                  set.sizes.end());
}

void Interner::enter(const ChunkGraph &graph) {
  sizes.clear();
  for (const SizeSymbol &size : graph.sizes)
    sizes.push_back(
        llvm::lower_bound(set.sizes, size,
                          [](const SizeSymbol &a, const SizeSymbol &b) {
                            return sizeKey(a) < sizeKey(b);
                          }) -
        set.sizes.begin());
  // The members of a family come from one source: they mostly share their
  // sites.
  auto isSame = [](const Site &a, const Site &b) {
    return a.range == b.range && a.caller == b.caller;
  };
  if (siteBase == 0 && set.sites.size() >= graph.sites.size() &&
      std::equal(graph.sites.begin(), graph.sites.end(), set.sites.begin(),
                 isSame))
    return;
  siteBase = set.sites.size();
  for (Site site : graph.sites) {
    if (site.caller != kNone)
      site.caller += siteBase;
    set.sites.push_back(site);
  }
}

ExprId Interner::expr(const std::vector<ExprNode> &nodes) {
  std::string key;
  key.reserve(nodes.size() * 8);
  for (const ExprNode &node : nodes) {
    key += char(node.kind);
    key += char(node.type);
    key.append(reinterpret_cast<const char *>(&node.function),
               sizeof node.function);
    key.append(reinterpret_cast<const char *>(&node.arg), sizeof node.arg);
  }
  auto [it, isNew] = exprs.try_emplace(std::move(key), set.exprs.size());
  if (isNew)
    set.exprs.push_back({nodes});
  return it->second;
}

static ProgramSet frameOf(std::span<const ChunkGraph> members) {
  const ChunkGraph &graph = members.front();
  ProgramSet set;
  set.schedule = graph.schedule;
  set.contract = graph.contract;
  set.sourcePath = graph.sourcePath;
  set.rankDims = graph.rankDims;
  set.launchNames = graph.launchNames;
  set.launchDomains = graph.launchDomains;
  set.reduces = graph.reduces;
  set.isAvgLegal = graph.isAvgLegal;
  set.globalCounts = graph.globalCounts;
  set.launchCounts = graph.launchCounts;
  set.launchCountDims = graph.launchCountDims;
  set.functions = graph.functions;
  set.map = graph.map;
  set.instances = std::max<uint32_t>(1, graph.map.instances);
  return set;
}

/// Part sizes are symbols too.
static std::vector<Buffer> buffersOf(const ChunkGraph &graph,
                                     const Interner &interner) {
  std::vector<Buffer> buffers = graph.buffers;
  for (Buffer &buffer : buffers)
    for (uint32_t &size : buffer.partSize)
      if (size != kNone)
        size = interner.size(size);
  return buffers;
}

namespace {
/// One attempt: all members at one degree of fusion.
class Attempt {
public:
  Attempt(std::span<const ChunkGraph> members, const ScheduleOptions &options,
          ScheduleResult &result)
      : members(members), options(options), result(result) {}
  void build(Fusion fusion, Sequence sequence);
  bool delaySends();
  bool fits();
  bool runs(FifoShape shape);
  bool chooseRound(uint32_t slots, uint64_t slotBytes);
  void checkScratchLimit();

private:
  void refuse(ScheduleRefusal refusal) { result.refusal = std::move(refusal); }
  std::span<const ChunkGraph> members;
  const ScheduleOptions &options;
  ScheduleResult &result;
  bool hasWaits = false;
  bool isForced = false; // the length of messages, by `map`
  LateSends late;
};
} // namespace

void Attempt::build(Fusion fusion, Sequence sequence) {
  result.fusion = fusion;
  result.programs = frameOf(members);
  ProgramSet &set = result.programs;
  Interner interner(set, members);
  for (const ChunkGraph &graph : members) {
    interner.enter(graph);
    Plan plan(graph, fusion, sequence, late, options);
    ProgramMember &member = set.members.emplace_back();
    member.launchValues = graph.launchValues;
    member.inplacePairs = graph.inplace;
    member.buffers = buffersOf(graph, interner);
    Emitter outOfPlace(plan, interner, Variant::OutOfPlace);
    for (Rank rank = 0; rank < graph.numRanks(); ++rank)
      member.outOfPlace.push_back(outOfPlace.emit(rank));
    if (!graph.inplace.empty()) {
      Emitter inPlace(plan, interner, Variant::InPlace);
      for (Rank rank = 0; rank < graph.numRanks(); ++rank)
        member.inPlace.push_back(inPlace.emit(rank));
    }
    set.numTags = std::max(set.numTags, plan.numTags);
    hasWaits |= plan.maxBlock > 0;
  }
}

static uint64_t numSteps(const RankProgram &program) {
  uint64_t steps = 0;
  for (const BlockProgram &block : program.blocks)
    steps += block.steps.size();
  return steps;
}

/// What no buffering can change.
bool Attempt::fits() {
  const ProgramSet &set = result.programs;
  for (uint32_t m = 0; m < set.members.size(); ++m)
    for (Rank rank = 0; rank < set.numRanks(); ++rank) {
      const RankProgram &program = set.members[m].outOfPlace[rank];
      uint64_t blocks = uint64_t(program.blocks.size()) * set.instances;
      if (blocks > maxProgramBlocks) {
        refuse({.kind = ScheduleRefusal::TooManyBlocks,
                .member = m,
                .rank = rank,
                .needed = blocks,
                .limit = maxProgramBlocks});
        return false;
      }
      uint64_t steps = numSteps(program);
      if (!set.members[m].inPlace.empty())
        steps += numSteps(set.members[m].inPlace[rank]);
      if (steps > maxProgramSteps) {
        refuse({.kind = ScheduleRefusal::TooManySteps,
                .member = m,
                .rank = rank,
                .needed = steps,
                .limit = maxProgramSteps});
        return false;
      }
      for (const BlockProgram &block : program.blocks)
        for (const Step &step : block.steps)
          if (std::max(step.numSources, step.numSinks) > maxStepPorts) {
            refuse({.kind = ScheduleRefusal::TooManyPorts,
                    .member = m,
                    .rank = rank,
                    .site = step.site,
                    .needed = std::max(step.numSources, step.numSinks),
                    .limit = maxStepPorts});
            return false;
          }
    }
  uint64_t tags = uint64_t(set.numTags) * set.instances;
  if (tags > maxProgramTags) {
    refuse({.kind = ScheduleRefusal::TooManyTags,
            .needed = tags,
            .limit = maxProgramTags});
    return false;
  }
  return true;
}

bool Attempt::runs(FifoShape shape) {
  for (uint32_t m = 0; m < result.programs.members.size(); ++m) {
    const ProgramMember &member = result.programs.members[m];
    for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
      // The messages are the same; only waits between blocks could differ.
      if (variant == Variant::InPlace && (!hasWaits || member.inPlace.empty()))
        continue;
      // Where the compiler chooses, it takes what is right for every count by
      // the guaranteed slots alone; what `map` demands is looked at exactly.
      DeadlockResult found =
          isForced ? findDeadlock(result.programs, m, variant, shape)
                   : runFifos(result.programs, m, variant, shape.guaranteed());
      if (!found.isStuck)
        continue;
      SiteId site = found.cycle.empty() ? kNone : found.cycle.front().site;
      Rank rank = found.cycle.empty() ? 0 : found.cycle.front().rank;
      refuse({.kind = ScheduleRefusal::Deadlock,
              .member = m,
              .rank = rank,
              .variant = variant,
              .site = site,
              .shape = shape,
              .deadlock = std::move(found)});
      return false;
    }
  }
  return true;
}

static uint32_t batchOf(uint32_t slots) { return std::max(1u, slots / 2); }

/// From the cycle of a run that got stuck: the sends that found no room are to
/// leave later. False: there are none that do not yet.
bool Attempt::delaySends() {
  const DeadlockResult &found = result.refusal->deadlock;
  const ProgramMember &member = result.programs.members[result.refusal->member];
  bool isNew = false;
  for (const BlockedAt &at : found.cycle) {
    if (at.why != BlockedAt::Credit)
      continue;
    const RankProgram &program = member.outOfPlace[at.rank];
    const auto &steps = program.blocks[at.block].steps;
    uint32_t before = 0;
    for (uint32_t s = 0; s < at.step; ++s)
      for (uint32_t p = steps[s].firstPort + steps[s].numSources;
           p < steps[s].firstPort + steps[s].numSources + steps[s].numSinks;
           ++p)
        before += program.ports[p].kind == Port::Send &&
                  program.sendEnds[program.ports[p].end] ==
                      ChannelEnd{at.peer, at.tag};
    isNew |= late.insert({foldedDisplacement(result.programs.rankDims, at.rank,
                                             at.peer),
                          at.tag, before})
                 .second;
  }
  return isNew;
}

/// The longest messages with which the programs run, at most as `map { round }`
/// says. Where `map` names the buffering, too, it means just that.
bool Attempt::chooseRound(uint32_t slots, uint64_t slotBytes) {
  const MapDirectives &map = result.programs.map;
  FifoShape shape{slots, batchOf(slots), 1, 1};
  uint32_t longest = shape.guaranteedSlots(), shortest = 1;
  uint32_t asked = std::max<uint64_t>(
      1, std::min<uint64_t>(UINT32_MAX,
                            (map.roundBytes + slotBytes - 1) / slotBytes));
  isForced = map.roundBytes && (map.slots || map.slotBytes);
  if (isForced && asked > maxSlices) {
    refuse({.kind = ScheduleRefusal::RoundTooLong,
            .needed = asked,
            .limit = maxSlices});
    return false;
  }
  if (isForced)
    longest = shortest = asked;
  else if (map.roundBytes)
    longest = std::min(longest, asked);
  for (shape.slices = longest; shape.slices >= shortest; --shape.slices)
    if (runs(shape)) {
      uint64_t bytes = shape.slices * slotBytes;
      if (map.roundBytes && (isForced || map.roundBytes < bytes))
        bytes = map.roundBytes;
      result.isRoundShortened = bytes < map.roundBytes;
      result.programs.roundBytes =
          std::min<uint64_t>(bytes, UINT32_MAX) & ~uint64_t(15);
      result.bulk = shape;
      result.refusal.reset();
      return true;
    }
  return false;
}

/// Scratch is per round: where it is limited, rounds get shorter.
void Attempt::checkScratchLimit() {
  constexpr uint64_t smallestRound = 4096;
  ProgramSet &set = result.programs;
  if (set.map.scratchBytes == ~0ull)
    return;
  for (uint32_t m = 0; m < set.members.size(); ++m)
    for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
      const auto &programs = variant == Variant::InPlace
                                 ? set.members[m].inPlace
                                 : set.members[m].outOfPlace;
      for (Rank rank = 0; rank < programs.size(); ++rank) {
        uint64_t slots = uint64_t(programs[rank].scratchSlots) * set.instances;
        if (slots * set.roundBytes <= set.map.scratchBytes)
          continue;
        uint64_t round = set.map.scratchBytes / slots & ~uint64_t(15);
        if (set.map.roundBytes || round < smallestRound) {
          refuse({.kind = ScheduleRefusal::ScratchLimit,
                  .member = m,
                  .rank = rank,
                  .variant = variant,
                  .needed = slots * (set.map.roundBytes ? set.roundBytes
                                                        : smallestRound),
                  .limit = set.map.scratchBytes});
          return;
        }
        set.roundBytes = round;
      }
    }
}

ScheduleResult coll::schedule(std::span<const ChunkGraph> members,
                              const ScheduleOptions &options) {
  assert(!members.empty());
  ScheduleResult result;
  const MapDirectives &map = members.front().map;
  uint32_t slots = map.slots ? map.slots : options.slots;
  uint64_t slotBytes = map.slotBytes ? map.slotBytes : options.slotBytes;
  if (map.roundBytes && map.roundBytes < 16) {
    result.programs = frameOf(members);
    result.refusal = {.kind = ScheduleRefusal::RoundTooSmall,
                      .needed = 16,
                      .limit = map.roundBytes};
    return result;
  }
  struct Way {
    Fusion fusion;
    Sequence sequence;
    uint32_t repairs; // how often sends may be delayed
  };
  constexpr uint32_t repairs = 64;
  for (Way way : {Way{Fusion::Full, Sequence::Depth, 0},
                  Way{Fusion::Full, Sequence::Flow, 0},
                  Way{Fusion::Full, Sequence::Depth, repairs},
                  Way{Fusion::Sends, Sequence::Depth, 0},
                  Way{Fusion::Sends, Sequence::Flow, repairs},
                  Way{Fusion::None, Sequence::Depth, 0}}) {
    if (way.fusion < options.fusion ||
        (way.sequence == Sequence::Flow && map.sourceOrder))
      continue;
    Attempt attempt(members, options, result);
    for (uint32_t tries = 0; tries <= way.repairs; ++tries) {
      result.refusal.reset();
      attempt.build(way.fusion, way.sequence);
      if (!attempt.fits())
        return result;
      result.small = {options.smallSlots, batchOf(options.smallSlots), 1, 1};
      if (attempt.chooseRound(slots, slotBytes) && attempt.runs(result.small)) {
        attempt.checkScratchLimit();
        if (options.mayGoDirect && !result.refusal)
          chooseDirect(result.programs, std::array{result.bulk, result.small},
                       options.mayMulticast);
        return result;
      }
      if (tries < way.repairs && !attempt.delaySends())
        break;
    }
  }
  return result;
}
