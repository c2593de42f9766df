//===- ProgramCheck.cpp - The second verification -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each member: both variants are run by a Machine, what they leave in `out`
// is compared with the terms of the chunk graph's values, and the messages of
// both are compared with each other, since ranks choose their variant by
// themselves. The graph's values are evaluated here once more, so that a graph
// whose terms (which the contract was compared with) do not belong to its
// values is noticed.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Analysis/ProgramCheckRun.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace coll;
using namespace coll::check;

namespace {
class Comparison {
public:
  Comparison(const ProgramSet &programs, uint32_t member,
             const ChunkGraph *graph, const ProgramCheckOptions &options)
      : programs(programs), member(member), graph(graph), options(options),
        rounds(std::max(roundsToRun(programs.members[member].outOfPlace),
                        roundsToRun(programs.members[member].inPlace))),
        terms(programs, member, graph, rounds) {}
  void compare(ProgramCheckResult &result);

private:
  bool compareFrame(ProgramCheckResult &result) const;
  void runOnFifos(ProgramCheckResult &result) const;
  void evaluateGraph(ProgramCheckResult &result);
  void compareOutputs(Machine &machine, Variant variant,
                      ProgramCheckResult &result);
  ProgramError errorAt(ProgramError::Kind kind, Variant variant,
                       const Output &output) const;
  void findStores(Machine &machine);

  const ProgramSet &programs;
  uint32_t member;
  const ChunkGraph *graph;
  const ProgramCheckOptions &options;
  uint32_t rounds;
  CheckTerms terms;
  std::vector<std::vector<TermId>> expected; // by round and value
  std::vector<std::tuple<Rank, uint16_t, uint32_t, uint32_t, uint32_t>>
      stores; // of the machine at hand: cell, index in Machine::stored
};
} // namespace

/// What both call by numbers of their own must be the same things.
bool Comparison::compareFrame(ProgramCheckResult &result) const {
  const ProgramMember &own = programs.members[member];
  auto differs = [&](const char *detail) {
    ProgramError error{ProgramError::FrameDiffers};
    error.member = member;
    error.detail = detail;
    result.errors.push_back(error);
    return false;
  };
  auto place = [](const InplacePair &p) {
    return std::tuple(p.rank, p.bufferA, p.partA, p.bufferB, p.partB);
  };
  if (programs.rankDims != graph->rankDims ||
      own.launchValues != graph->launchValues)
    return differs("the ranks or launch values");
  if (programs.reduces != graph->reduces ||
      programs.isAvgLegal != graph->isAvgLegal ||
      programs.functions.size() != graph->functions.size())
    return differs("what is reduced, or the functions");
  if (!std::equal(own.inplacePairs.begin(), own.inplacePairs.end(),
                  graph->inplace.begin(), graph->inplace.end(),
                  [&](auto &a, auto &b) { return place(a) == place(b); }))
    return differs("what may share memory");
  if (own.buffers.size() != graph->buffers.size())
    return differs("the buffers");
  auto meaning = [](const std::vector<SizeSymbol> &sizes, uint32_t size) {
    return size < sizes.size()
               ? std::tuple(sizes[size].kind, sizes[size].value,
                            sizes[size].chunks)
               : std::tuple(SizeSymbol::Const, ~uint64_t(0), 0u);
  };
  for (uint32_t b = 0; b < own.buffers.size(); ++b) {
    const Buffer &mine = own.buffers[b], &other = graph->buffers[b];
    if (mine.kind != other.kind || mine.parts != other.parts ||
        mine.present != other.present)
      return differs("the buffers");
    for (Rank rank = 0; rank < programs.numRanks(); ++rank)
      for (uint32_t part = 0; mine.present[rank] && part < mine.parts; ++part)
        if (meaning(programs.sizes, mine.sizeOf(rank, part)) !=
            meaning(graph->sizes, other.sizeOf(rank, part)))
          return differs("the size of a part");
  }
  return true;
}

void Comparison::runOnFifos(ProgramCheckResult &result) const {
  for (const FifoShape &fifo : options.fifos)
    for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
      if (variant == Variant::InPlace &&
          programs.members[member].inPlace.empty())
        continue;
      DeadlockResult found = findDeadlock(programs, member, variant, fifo);
      const bool isMixture = !found.isStuck && found.isDecided;
      if (isMixture && !needsAlignment(programs, member, variant, fifo))
        continue;
      ProgramError error{ProgramError::Deadlock};
      error.isDirect = isMixture;
      error.member = member;
      error.variant = variant;
      error.fifo = fifo;
      if (!found.cycle.empty()) {
        const BlockedAt &at = found.cycle.front();
        error.rank = at.rank;
        error.block = at.block;
        error.step = at.step;
        error.site = at.site;
        error.peer = at.peer;
        error.tag = at.tag;
      }
      result.errors.push_back(error);
      return;
    }
}

void Comparison::evaluateGraph(ProgramCheckResult &result) {
  std::vector<TermId> plain = terms.evaluate(*graph, 0, false);
  for (const Output &output : graph->outputs)
    if (plain[output.value] != graph->values[output.value].term) {
      result.errors.push_back(
          errorAt(ProgramError::GraphTerm, Variant::OutOfPlace, output));
      return;
    }
  bool hasAverage = llvm::any_of(
      graph->values, [](const Value &value) { return value.complete; });
  expected.push_back(hasAverage ? terms.evaluate(*graph, 0, true)
                                : std::move(plain));
  for (uint32_t round = 1; round < rounds; ++round)
    expected.push_back(terms.evaluate(*graph, round, true));
}

ProgramError Comparison::errorAt(ProgramError::Kind kind, Variant variant,
                                 const Output &output) const {
  ProgramError error{kind};
  error.member = member;
  error.variant = variant;
  error.rank = output.rank;
  error.block = error.step = kNone;
  error.otherSite = kNone;
  error.location = {Location::Buffer, output.cell.buffer, output.cell.part,
                    output.cell.chunk};
  return error;
}

void Comparison::findStores(Machine &machine) {
  stores.clear();
  for (uint32_t i = 0; i < machine.stored.size(); ++i) {
    const Machine::Stored &stored = machine.stored[i];
    stores.push_back({stored.rank, stored.location.buffer, stored.location.part,
                      stored.location.chunk, i});
  }
  llvm::sort(stores);
}

void Comparison::compareOutputs(Machine &machine, Variant variant,
                                ProgramCheckResult &result) {
  findStores(machine);
  std::set<Rank> seen; // ranks with an error: one is enough
  auto report = [&](const ProgramError &error) {
    if (seen.insert(error.rank).second &&
        result.errors.size() < options.maxErrors)
      result.errors.push_back(error);
  };
  for (const Output &output : graph->outputs)
    for (uint32_t round = 0; round < rounds && round < machine.rounds;
         ++round) {
      Content content = machine.contentOf(output.rank, output.cell, round);
      TermId want = expected[round][output.value];
      const Value &value = graph->values[output.value];
      // A copy of an input into its own memory is no step, unless it is scaled.
      TermId got = content.term;
      if (got == want ||
          (got != kNone &&
           graph->sizes[graph->extents[value.extent].size].isToken() &&
           terms.haveSameLeaves(got, want)))
        continue;
      ProgramError error = errorAt(got == kNone ? ProgramError::Unwritten
                                                : ProgramError::WrongTerm,
                                   variant, output);
      auto key = std::tuple(output.rank, output.cell.buffer, output.cell.part,
                            output.cell.chunk, 0u);
      auto it = std::lower_bound(stores.begin(), stores.end(), key);
      if (it != stores.end() && std::get<0>(*it) == output.rank &&
          std::get<1>(*it) == output.cell.buffer &&
          std::get<2>(*it) == output.cell.part &&
          std::get<3>(*it) == output.cell.chunk) {
        const Machine::Stored &stored = machine.stored[std::get<4>(*it)];
        error.block = stored.block;
        error.step = stored.step;
        const auto &all = variant == Variant::InPlace
                              ? programs.members[member].inPlace
                              : programs.members[member].outOfPlace;
        error.site =
            all[output.rank].blocks[stored.block].steps[stored.step].site;
      }
      report(error);
    }
  // Stores to what the source leaves alone. Outputs are sorted by rank and
  // cell.
  auto before = [](const Output &o, const Machine::Stored &s) {
    return std::tuple(o.rank, o.cell.buffer, o.cell.part, o.cell.chunk) <
           std::tuple(s.rank, s.location.buffer, s.location.part,
                      s.location.chunk);
  };
  for (const Machine::Stored &s : machine.stored) {
    auto it = std::lower_bound(graph->outputs.begin(), graph->outputs.end(), s,
                               before);
    if (it != graph->outputs.end() && it->rank == s.rank &&
        it->cell.buffer == s.location.buffer &&
        it->cell.part == s.location.part && it->cell.chunk == s.location.chunk)
      continue;
    ProgramError error =
        errorAt(ProgramError::Unpromised, variant,
                {s.rank,
                 {s.location.buffer, s.location.part, s.location.chunk},
                 0,
                 kNone});
    error.block = s.block;
    error.step = s.step;
    report(error);
  }
}

void Comparison::compare(ProgramCheckResult &result) {
  const size_t before = result.errors.size();
  if (graph && compareFrame(result))
    evaluateGraph(result);
  if (result.errors.size() > before)
    return;
  llvm::DenseMap<std::pair<uint64_t, uint32_t>, ChannelTrace> traces;
  for (Variant variant : {Variant::OutOfPlace, Variant::InPlace}) {
    if (variant == Variant::InPlace && programs.members[member].inPlace.empty())
      continue;
    Machine machine(programs, member, variant, terms, options, rounds);
    bool isDone = machine.run();
    result.steps += machine.steps;
    result.messages += machine.messages;
    result.errors.insert(result.errors.end(), machine.errors.begin(),
                         machine.errors.end());
    if (!isDone)
      continue;
    if (graph)
      compareOutputs(machine, variant, result);
    if (variant == Variant::OutOfPlace) {
      traces = std::move(machine.traces);
      continue;
    }
    for (auto &[channel, trace] : machine.traces) {
      auto it = traces.find(channel);
      if (traces.empty() || (it != traces.end() && it->second == trace &&
                             traces.size() == machine.traces.size()))
        continue;
      ProgramError error{ProgramError::VariantsDiffer};
      error.member = member;
      error.variant = variant;
      error.rank = channel.first >> 32;
      error.peer = uint32_t(channel.first);
      error.tag = channel.second;
      result.errors.push_back(error);
      break;
    }
  }
  if (result.errors.size() == before)
    llvm::append_range(result.errors,
                       directErrors(programs, member, options.maxErrors));
  if (result.errors.size() == before)
    runOnFifos(result);
}

ProgramCheckResult coll::checkPrograms(const ProgramSet &programs,
                                       std::span<const ChunkGraph> graphs,
                                       const ProgramCheckOptions &options) {
  ProgramCheckResult result;
  for (uint32_t member = 0; member < programs.members.size(); ++member) {
    const ChunkGraph *graph = options.checkTerms && member < graphs.size()
                                  ? &graphs[member]
                                  : nullptr;
    Comparison(programs, member, graph, options).compare(result);
    if (result.errors.size() >= options.maxErrors)
      break;
  }
  return result;
}

static std::string locationText(const ProgramError &error,
                                const ProgramSet &programs) {
  const Location &at = error.location;
  if (at.space == Location::Scratch)
    return "scratch slot " + std::to_string(at.part);
  const auto &buffers = programs.members[error.member].buffers;
  std::string text = at.buffer < buffers.size()
                         ? buffers[at.buffer].name
                         : "buffer " + std::to_string(at.buffer);
  return text + "[" + std::to_string(at.part) + "], chunk " +
         std::to_string(at.chunk) + ",";
}

std::string coll::describeOther(const ProgramError &race) {
  return "block " + std::to_string(race.otherBlock) +
         (race.isOtherStore ? " stores" : " loads") + " here, in step " +
         std::to_string(race.otherStep);
}

/// The run that found the race came to the other access first; so a wait for it
/// can always end.
std::string coll::describeMissingOrder(const ProgramError &race) {
  std::string text =
      "block " + std::to_string(race.block) +
      (race.isStore ? " stores" : " loads") + " here, in step " +
      std::to_string(race.step) +
      (race.roundsBefore ? " of the next round" : "") +
      (race.isDirect ? ", and no wait or message that cannot go direct "
                       "comes between"
                     : ", and no wait or message comes between");
  if (race.roundsBefore > 1)
    return text;
  return text + "; 'coll.wait block " + std::to_string(race.otherBlock) +
         " step " + std::to_string(race.otherStep) +
         (race.roundsBefore ? " previous_round" : "") + "' would order them";
}

std::string coll::describe(const ProgramError &error,
                           const ProgramSet &programs) {
  std::string rank = "rank " + std::to_string(error.rank),
              peer = "rank " + std::to_string(error.peer);
  std::string at = locationText(error, programs), detail = error.detail;
  std::string in = error.variant == Variant::InPlace ? " (in place)" : "";
  switch (error.kind) {
  case ProgramError::Malformed:
    return "the program of " + rank + " has " + detail + in;
  case ProgramError::ChannelMismatch:
    return detail + ": between " + rank + " and " + peer + ", tag " +
           std::to_string(error.tag) + in;
  case ProgramError::MessageMismatch:
    return rank + " receives from " + peer + " what was " + detail + in;
  case ProgramError::Stuck:
    return rank + " " + detail + in;
  case ProgramError::FrameDiffers:
    return "the programs do not have " + detail + " of the source";
  case ProgramError::Deadlock:
    if (error.isDirect)
      return "messages may go direct, and the programs only run as batches of "
             "credits are aligned where none does" +
             in;
    return rank + " is in a deadlock at " + std::to_string(error.fifo.slots) +
           " slots, given back by " + std::to_string(error.fifo.batch) +
           ", and messages of up to " + std::to_string(error.fifo.slices) + in;
  case ProgramError::LeftOver:
    return rank + " sends to " + peer + " a message that is never received" +
           in;
  case ProgramError::Uninitialised:
    return rank + " loads " + at + " which holds nothing" + in;
  case ProgramError::TypeMismatch:
    return rank + " " + detail + " at " + at + in;
  case ProgramError::WritesInput:
    return rank + " stores to " + at + " an input" + in;
  case ProgramError::Overflow:
    return rank + " has no " + at + in;
  case ProgramError::NotDirect:
    return "a message of " + rank + " cannot go direct: " + detail + in;
  case ProgramError::DirectRace:
    if (error.isAhead)
      return "a message of " + rank + " cannot go direct: " + detail + in;
    return rank + (error.isStore ? " puts into " : " gets from ") + at +
           " of " + peer + ", where rank " + std::to_string(error.otherRank) +
           (error.isOtherDirect ? (error.isOtherStore ? " puts" : " gets")
                                : (error.isOtherStore ? " stores" : " loads")) +
           ", and nothing orders them where both may go direct or not" + in;
  case ProgramError::Race:
    return "blocks " + std::to_string(error.otherBlock) + " and " +
           std::to_string(error.block) + " of " + rank + " touch " + at +
           " and nothing orders them" + in;
  case ProgramError::WrongTerm:
    return rank + " ends with another value in " + at + " than the source has" +
           in;
  case ProgramError::Unwritten:
    return rank + " ends without a value in " + at + in;
  case ProgramError::Unpromised:
    return rank + " writes " + at + " which the source leaves alone" + in;
  case ProgramError::VariantsDiffer:
    return rank + " sends other messages to " + peer +
           " in place than out of place";
  case ProgramError::GraphTerm:
    return "the chunk graph's term for " + at + " at " + rank +
           " is not the term of its value";
  }
  return "";
}
