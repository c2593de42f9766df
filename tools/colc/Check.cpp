//===- Check.cpp - colc --check and --emit=report -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/Check.h"

using namespace coll;

/// Programs are verified, too, while that costs next to nothing.
static constexpr uint64_t maxCheckedProgramValues = 50'000;

std::vector<RankDims> coll::rankSpacesOf(const Bytecode &code, const Options &options, Verdict &verdict) {
  RankSpec few;
  few.low = 2;
  few.high = 9;
  llvm::ArrayRef<RankSpec> specs = options.ranks;
  llvm::Expected<std::vector<RankDims>> spaces = rankSpaces(specs.empty() ? llvm::ArrayRef(few) : specs, code.rankDims.size());
  if (spaces)
    return std::move(*spaces);
  llvm::errs() << "colc: error: schedule '" << code.schedule << "': " << llvm::toString(spaces.takeError()) << "\n";
  verdict = Verdict::Usage;
  return {};
}

namespace {
/// What was seen of one schedule.
struct Tally {
  std::vector<std::string> right;
  unsigned excluded = 0, wrong = 0;
  std::string excludedBy, disagreement, disagreeAt;
  bool hardware = false;
};
} // namespace

/// "2..9" where numbers follow one another, else a list.
static std::string listOf(const std::vector<std::string> &items) {
  std::string text;
  constexpr size_t most = 12;
  for (size_t i = 0; i < items.size() && i < most; ++i)
    text += (i ? ", " : "") + items[i];
  if (items.size() > most)
    text += " and " + std::to_string(items.size() - most) + " more";
  return text;
}

static void printTally(const Bytecode &code, const Tally &tally) {
  llvm::raw_ostream &os = llvm::outs();
  if (!tally.right.empty())
    os << code.schedule << ": right at " << listOf(tally.right) << " ranks: computes " << code.contract << ", no deadlock\n";
  if (tally.excluded)
    os << code.schedule << ": " << tally.excluded << (tally.excluded == 1 ? " count" : " counts") << " excluded by 'where " << tally.excludedBy << "'\n";
  if (!tally.disagreement.empty())
    os << code.schedule << ": ranks do not agree bit for bit at " << tally.disagreeAt << " ranks: " << tally.disagreement << "\n";
  else if (tally.hardware)
    os << code.schedule << ": ranks agree bit for bit if the order of reduce_any does\n";
}

static Verdict checkSchedule(Session &session, const Bytecode &code, const Options &options) {
  Verdict verdict = Verdict::Right;
  InstanceOptions instanceOptions;
  instanceOptions.defines = options.defines;
  instanceOptions.maxProgramValues = maxCheckedProgramValues;
  Tally tally;
  for (const RankDims &dims : rankSpacesOf(code, options, verdict)) {
    Instance instance = session.instantiate(code, dims, instanceOptions);
    if (instance.status == Instance::Excluded) {
      ++tally.excluded;
      tally.excludedBy = instance.excludedBy;
    } else if (instance.status == Instance::Failed) {
      // More ranks would say the same again.
      verdict = worse(verdict, Verdict::Wrong);
      break;
    } else {
      tally.right.push_back(describe(dims));
      tally.hardware |= instance.agreement == Agreement::Hardware;
      if (instance.agreement == Agreement::No && tally.disagreement.empty()) {
        tally.disagreement = instance.disagreement;
        tally.disagreeAt = describe(dims);
      }
    }
  }
  printTally(code, tally);
  if (tally.right.empty() && verdict == Verdict::Right) {
    llvm::errs() << "colc: error: 'where' of schedule '" << code.schedule << "' leaves nothing to check\n";
    verdict = Verdict::Usage;
  }
  return verdict;
}

Verdict coll::check(Session &session, const Options &options) {
  Verdict verdict = Verdict::Right;
  for (const Bytecode &code : session.schedules())
    verdict = worse(verdict, checkSchedule(session, code, options));
  return verdict;
}

Verdict coll::report(Session &session, const Options &options) {
  Verdict verdict = Verdict::Right;
  InstanceOptions instanceOptions;
  instanceOptions.defines = options.defines;
  for (const Bytecode &code : session.schedules())
    for (const RankDims &dims : rankSpacesOf(code, options, verdict)) {
      Instance instance = session.instantiate(code, dims, instanceOptions);
      if (instance.status == Instance::Failed)
        return worse(verdict, Verdict::Wrong);
      if (instance.status == Instance::Excluded)
        continue;
      const ProgramSet &programs = instance.scheduled->programs;
      llvm::outs() << printReport(programs, reportOn(programs, 0, instance.members[0]));
    }
  return verdict;
}
