//===- Check.cpp - colc --check and --emit=report -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/Check.h"

#include "lib/Driver/Plans.h"
#include "lib/Target/Cuda.h"

using namespace coll;

/// Programs are verified, too, while that costs next to nothing; what is left
/// out is said.
static constexpr uint64_t maxCheckedProgramValues = 50'000;

/// What was asked for, or a few.
static std::vector<RankDims> spacesFor(Session &session, const Bytecode &code,
                                       const Options &options) {
  RankSpec few;
  few.low = 2;
  few.high = 9;
  llvm::ArrayRef<RankSpec> specs = options.ranks;
  return rankSpacesOf(session, code,
                      specs.empty() ? llvm::ArrayRef(few) : specs);
}

namespace {
/// What was seen of one schedule.
struct Tally {
  std::vector<std::string> right, bySymmetry, sourceOnly;
  unsigned excluded = 0;
  std::string excludedBy, disagreement, disagreeAt;
  bool isWrong = false, hardware = false;
};
} // namespace

/// "2, 3, 4", and of many only the first.
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
    os << code.schedule << ": right at " << listOf(tally.right)
       << " ranks: computes " << code.contract << ", no deadlock\n";
  for (const std::string &line : tally.bySymmetry)
    os << code.schedule << ": " << line << "\n";
  if (!tally.sourceOnly.empty())
    os << code.schedule << ": no programs made and verified at "
       << listOf(tally.sourceOnly)
       << " ranks, where there are many values: compiling does that\n";
  if (tally.excluded)
    os << code.schedule << ": " << tally.excluded
       << (tally.excluded == 1 ? " count" : " counts") << " excluded by 'where "
       << tally.excludedBy << "'\n";
  if (!tally.disagreement.empty())
    os << code.schedule << ": ranks do not agree bit for bit at "
       << tally.disagreeAt << " ranks: " << tally.disagreement << "\n";
  else if (tally.hardware)
    os << code.schedule
       << ": ranks agree bit for bit if the order of reduce_any does\n";
}

static void add(Tally &tally, const Instance &instance) {
  if (instance.status == Instance::Excluded) {
    ++tally.excluded;
    tally.excludedBy = instance.excludedBy;
    return;
  }
  tally.right.push_back(describe(instance.dims));
  if (instance.numSlices > 1)
    tally.bySymmetry.push_back(
        "executed 1 of " + std::to_string(instance.numSlices) + " slices at " +
        tally.right.back() + " ranks: turned, it is each of the others");
  if (!instance.scheduled)
    tally.sourceOnly.push_back(tally.right.back());
  tally.hardware |= instance.agreement == Agreement::Hardware;
  if (instance.agreement == Agreement::No && tally.disagreement.empty()) {
    tally.disagreement = instance.disagreement;
    tally.disagreeAt = describe(instance.dims);
  }
}

/// Whether there was anything to check.
static bool checkSchedule(Session &session, const Bytecode &code,
                          const Options &options) {
  InstanceOptions instanceOptions;
  instanceOptions.defines = options.defines;
  instanceOptions.maxProgramValues = maxCheckedProgramValues;
  instanceOptions.mayUseSymmetry = true;
  Tally tally;
  for (const RankDims &dims : spacesFor(session, code, options)) {
    Instance instance = session.instantiate(code, dims, instanceOptions);
    // More ranks would say the same again.
    tally.isWrong = instance.status == Instance::Failed;
    if (tally.isWrong)
      break;
    add(tally, instance);
  }
  printTally(code, tally);
  return tally.isWrong || !tally.right.empty();
}

void coll::check(Session &session, const Options &options) {
  bool any = false;
  for (const Bytecode &code : session.schedules())
    any |= checkSchedule(session, code, options);
  if (!any && !session.diags.hasErrors())
    session.usage("'where' leaves nothing to check").emit();
}

/// Of launch families the first member in which something is sent: ranks that
/// send to themselves tell nothing.
static uint32_t toReportOn(const ProgramSet &programs) {
  for (uint32_t m = 0; m < programs.members.size(); ++m)
    for (const RankProgram &program : programs.members[m].outOfPlace)
      if (!program.sendEnds.empty())
        return m;
  return 0;
}

std::string coll::report(Session &session, const Options &options) {
  InstanceOptions instanceOptions;
  instanceOptions.setTargets(options.host.hasHost, options.oldestChip());
  instanceOptions.defines = options.defines;
  std::string text;
  for (const Bytecode &code : session.schedules())
    for (const RankDims &dims : spacesFor(session, code, options)) {
      Instance instance = session.instantiate(code, dims, instanceOptions);
      if (instance.status == Instance::Failed)
        return text;
      if (instance.status == Instance::Excluded)
        continue;
      const ProgramSet &programs = instance.scheduled->programs;
      const uint32_t m = toReportOn(programs);
      text += printReport(programs, reportOn(programs, m, instance.members[m]));
      for (unsigned chip : options.chips)
        text += reportOnDevice(programs, chip);
    }
  if (text.empty() && !session.diags.hasErrors())
    session.usage("'where' leaves nothing to report on").emit();
  return text;
}
