//===- Report.cpp - What a program costs ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Report.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <tuple>

using namespace coll;

double Volume::parts(const ProgramSet &programs) const {
  double sum = 0;
  for (auto [size, chunks] : chunksOf)
    sum += double(chunks) / programs.sizes[size].chunks;
  return sum;
}

static RankReport reportRank(const ProgramSet &programs,
                             const RankProgram &program) {
  RankReport report;
  report.blocks = program.blocks.size();
  report.sendChannels = program.sendEnds.size();
  report.recvChannels = program.recvEnds.size();
  report.scratchSlots = program.scratchSlots;
  report.scratchBytes =
      uint64_t(program.scratchSlots) * programs.roundBytes * programs.instances;
  for (const BlockProgram &block : program.blocks)
    for (const Step &step : block.steps) {
      ++report.steps;
      bool isToken = programs.sizes[step.size].isToken();
      auto add = [&](Volume &volume) {
        if (!isToken)
          ++volume.chunksOf[step.size];
      };
      for (uint32_t p = step.firstPort;
           p < step.firstPort + step.numSources + step.numSinks; ++p)
        switch (program.ports[p].kind) {
        case Port::Recv:
          ++report.messagesReceived;
          add(report.received);
          add(report.read);
          break;
        case Port::Load:
          add(report.read);
          break;
        case Port::Send:
          ++report.messagesSent;
          add(report.sent);
          add(report.written);
          break;
        case Port::Store:
          add(report.written);
          break;
        }
    }
  return report;
}

/// What a term means when order and rounding do not count, as a hash.
static std::vector<uint64_t> meanings(const ChunkGraph &graph) {
  auto mix = [](uint64_t a, uint64_t b) {
    uint64_t hash = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 31;
  };
  std::vector<uint64_t> result(graph.terms.size());
  for (TermId id = 0; id < graph.terms.size(); ++id) {
    const Term &term = graph.terms[id];
    const uint32_t *operands = graph.termOperands.data() + term.first;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < term.count; ++i)
      sum = term.kind == Term::Leaf || term.kind == Term::Apply
                ? mix(sum, term.kind == Term::Leaf ? operands[i]
                                                   : result[operands[i]])
                : sum + result[operands[i]];
    // Sums of sums are sums; a function is its own.
    result[id] =
        term.kind == Term::Apply ? mix(sum, 1000 + term.function) : sum;
  }
  return result;
}

/// Compares the bits of all ranks whose location of `out` means the same.
static bool doRanksAgree(const ChunkGraph &graph) {
  std::vector<uint64_t> meaning = meanings(graph);
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, TermId> seen;
  for (const Output &output : graph.outputs) {
    if (graph.sizes[graph.extents[graph.values[output.value].extent].size]
            .isToken())
      continue; // no bits
    TermId term = graph.values[output.value].term;
    uint64_t cell = uint64_t(output.cell.buffer) << 48 ^
                    uint64_t(output.cell.part) << 24 ^ output.cell.chunk;
    if (seen.try_emplace({cell, meaning[term]}, term).first->second != term)
      return false;
  }
  return true;
}

ProgramReport coll::reportOn(const ProgramSet &programs, uint32_t m,
                             const ChunkGraph &graph) {
  const ProgramMember &member = programs.members[m];
  ProgramReport report;
  report.member = m;
  for (const RankProgram &program : member.outOfPlace)
    report.ranks.push_back(reportRank(programs, program));
  report.ranksAgree = doRanksAgree(graph);
  report.direct = countDirect(member);
  report.slots = whyInSlots(programs, m);
  if (!programs.launchCounts.empty()) {
    const auto [puts, gets, others] = report.direct;
    report.direct = {0, 0, puts + gets + others};
  }
  if (member.inPlace.empty())
    return report;
  report.inPlace = InPlaceSafety::Safe;
  for (Rank rank = 0; rank < member.inPlace.size(); ++rank) {
    uint64_t bytes = reportRank(programs, member.inPlace[rank]).scratchBytes;
    if (bytes <= report.ranks[rank].scratchBytes)
      continue;
    report.inPlace = InPlaceSafety::NeedsScratch;
    report.inPlaceScratchBytes = std::max(
        report.inPlaceScratchBytes, bytes - report.ranks[rank].scratchBytes);
  }
  return report;
}

std::string coll::foldRanks(const std::vector<Rank> &ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i)
      text += (last == i + 1 ? ", " : " .. ") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

static std::string plural(uint64_t n, const char *word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

static std::string bytesText(uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
    return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
    return std::to_string(bytes >> 10) + " KiB";
  return plural(bytes, "byte");
}

/// "1.5 parts", or of which size, where parts are not all alike.
static std::string volumeText(const Volume &volume,
                              const ProgramSet &programs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double parts = volume.parts(programs);
  os << llvm::format("%.4g", parts) << (parts == 1 ? " part" : " parts");
  return text;
}

static void printRanks(llvm::raw_ostream &os, const ProgramSet &programs,
                       const std::vector<Rank> &ranks, const RankReport &r,
                       uint32_t total) {
  os << "  "
     << (ranks.size() == total
             ? "every rank"
             : (ranks.size() == 1 ? "rank " : "ranks ") + foldRanks(ranks))
     << ": sends " << volumeText(r.sent, programs) << " in "
     << plural(r.messagesSent, "message") << ", receives "
     << volumeText(r.received, programs) << " in "
     << plural(r.messagesReceived, "message") << "; reads "
     << volumeText(r.read, programs) << ", writes "
     << volumeText(r.written, programs) << "; " << plural(r.steps, "step")
     << " in " << plural(r.blocks, "block") << "; "
     << plural(r.sendChannels, "channel") << " out, " << r.recvChannels
     << " in; ";
  if (r.scratchSlots)
    os << bytesText(r.scratchBytes) << " of scratch ("
       << plural(r.scratchSlots, "slot") << ")\n";
  else
    os << "no scratch\n";
}

std::string coll::slotReasonsText(const SlotReasons &slots) {
  const std::pair<uint64_t, const char *> why[] = {
      {slots.asked, "by staged or protocol simple"},
      {slots.counted, "with counts of each rank"},
      {slots.combined, "combined, converted or kept on the way"},
      {slots.inPlace, "otherwise in place"},
      {slots.ordering, "might meet another access"}};
  std::string text;
  for (auto [count, reason] : why)
    if (count > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
  return text;
}

/// Nothing, if there are no messages.
static void printDirect(llvm::raw_ostream &os, const ProgramReport &report) {
  const auto &[puts, gets, others] = report.direct;
  if (puts + gets + others == 0)
    return;
  os << "  in registered memory: " << plural(puts, "message") << " put, "
     << gets << " got, " << others << " in slots";
  if (std::string why = slotReasonsText(report.slots); !why.empty())
    os << " (" << why << ")";
  if (report.slots.declined > 0)
    os << "; in place " << report.slots.declined
       << " more in slots: a rank would overwrite what is still read";
  os << "\n";
}

std::string coll::printReport(const ProgramSet &programs,
                              const ProgramReport &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << programs.schedule << ": " << programs.contract << " on ";
  for (size_t d = 0; d < programs.rankDims.size(); ++d)
    os << (d ? " x " : "") << programs.rankDims[d];
  os << (programs.numRanks() == 1 ? " rank" : " ranks");
  const ProgramMember &member = programs.members[report.member];
  for (size_t p = 0; report.member && p < member.launchValues.size(); ++p)
    os << ", " << programs.launchNames[p] << " = " << member.launchValues[p];
  os << "; rounds of " << bytesText(programs.roundBytes);
  if (programs.instances > 1)
    os << ", " << programs.instances << " instances";
  os << "\n";
  std::vector<bool> isDone(report.ranks.size());
  for (Rank rank = 0; rank < report.ranks.size(); ++rank) {
    if (isDone[rank])
      continue;
    std::vector<Rank> alike;
    for (Rank other = rank; other < report.ranks.size(); ++other)
      if (!isDone[other] && report.ranks[other] == report.ranks[rank]) {
        alike.push_back(other);
        isDone[other] = true;
      }
    printRanks(os, programs, alike, report.ranks[rank], report.ranks.size());
  }
  printDirect(os, report);
  os << "  ranks agree bit for bit: " << (report.ranksAgree ? "yes" : "no")
     << "\n";
  os << "  in place: ";
  switch (report.inPlace) {
  case InPlaceSafety::NotOffered:
    os << "not offered by the contract\n";
    break;
  case InPlaceSafety::Safe:
    os << "safe\n";
    break;
  case InPlaceSafety::NeedsScratch:
    os << "safe with " << bytesText(report.inPlaceScratchBytes)
       << " of scratch\n";
    break;
  }
  return text;
}
