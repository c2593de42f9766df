//===- Plans.cpp - A schedule at several rank counts ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Plans.h"
#include "lib/Analysis/RankClassCheck.h"
#include "lib/Lowering/StepShape.h"
#include "lib/Support/Slugs.h"

#include <map>
#include <set>

using namespace coll;

static SourceRange rangeOf(const Bytecode &code) {
  return code.site == kNone ? SourceRange() : code.siteTable[code.site].range;
}

std::vector<RankDims> coll::rankSpacesOf(Session &session, const Bytecode &code,
                                         llvm::ArrayRef<RankSpec> specs) {
  llvm::Expected<std::vector<RankDims>> spaces =
      rankSpaces(specs, code.rankDims.size());
  if (spaces)
    return std::move(*spaces);
  session
      .usage("schedule '" + code.schedule +
             "': " + llvm::toString(spaces.takeError()))
      .emit();
  return {};
}

/// Warns of directives that hosts, or devices so far, replace.
static void warnOfReplaced(Session &session, const Bytecode &code,
                           llvm::ArrayRef<Instance> instances,
                           const InstanceOptions &options) {
  const bool isForDevices = options.isForDevices;
  std::set<std::string> asked;
  auto ask = [&](const auto &mapping) {
    asked.insert(mapping.protocol);
    if (mapping.threads && !isForDevices)
      asked.insert("threads");
  };
  for (const Instance &instance : instances)
    for (const ChunkGraph &graph : instance.members) {
      ask(graph.map);
      for (const Mapping &mapping : graph.mappings) {
        ask(mapping);
        if (mapping.store)
          asked.insert("store");
      }
    }
  std::string text;
  auto add = [&](llvm::StringRef name, llvm::StringRef instead) {
    if (asked.count(name.str()))
      text += ((text.empty() ? "" : ", ") + name + " by " + instead).str();
  };
  add("ll", "the small slots");
  add("ll128", "the small slots");
  bool isMultimem =
      isForDevices && options.hasMultimem &&
      llvm::any_of(instances, [](const Instance &instance) {
        return instance.scheduled &&
               lowering::hasMultimemSteps(instance.scheduled->programs);
      });
  if (!isMultimem)
    add("multimem", "loads and sends to each rank");
  add("direct", "slots");
  add("threads", "one thread for each block");
  add("store", "storing tmps where steps need it");
  if (!text.empty())
    session.diags
        .warning(Slug::DirectiveReplaced, rangeOf(code),
                 (isForDevices ? "on a device" : "on a host") +
                     std::string(", directives of '") + code.schedule +
                     "' are replaced: " + text)
        .emit();
}

/// A directive is never ignored in silence.
static void warnOfShorterRounds(Session &session, const Bytecode &code,
                                llvm::ArrayRef<Instance> instances) {
  // What rounds are and what was asked for, either of which N may decide.
  std::map<std::pair<uint64_t, uint64_t>, std::string> shortened;
  for (const Instance &instance : instances) {
    if (!instance.scheduled || !instance.scheduled->isRoundShortened)
      continue;
    const ProgramSet &programs = instance.scheduled->programs;
    std::string &counts =
        shortened[{programs.roundBytes, programs.map.roundBytes}];
    counts += (counts.empty() ? "" : ", ") + describe(instance.dims);
  }
  for (const auto &[rounds, counts] : shortened)
    session.diags
        .warning(Slug::RoundShortened, rangeOf(code),
                 "rounds of '" + code.schedule + "' at " + counts +
                     " ranks are " + std::to_string(rounds.first) +
                     " bytes, not " + std::to_string(rounds.second) +
                     ": messages of that length do not fit the FIFOs there are")
        .emit();
}

/// A range says "whatever there is"; a count that was named is missed.
static void warnOfExcluded(Session &session, const Bytecode &code,
                           llvm::ArrayRef<RankSpec> specs,
                           const std::vector<RankDims> &excluded,
                           const std::string &condition, bool isAll) {
  std::string counts;
  for (const RankDims &dims : excluded) {
    bool isNamed = llvm::any_of(specs, [&](const RankSpec &spec) {
      return !spec.isRange() && spec.dims == dims;
    });
    if (isNamed || isAll)
      counts += (counts.empty() ? "" : ", ") + describe(dims);
  }
  if (counts.empty())
    return;
  session.diags
      .warning(Slug::Excluded, rangeOf(code),
               "schedule '" + code.schedule + "' has no plan for " + counts +
                   " ranks, which 'where " + condition + "' excludes")
      .emit();
}

/// Where `code` has elements in blocks with a scale of their own.
static SiteId findBlockScaled(const Bytecode &code) {
  for (auto [instr, site] : llvm::zip_equal(code.code, code.sites)) {
    bool isScaled = false;
    if (instr.op == Opcode::Tmp)
      isScaled = code.tmps[instr.a].type == ElemType::MXE4M3;
    else if (instr.op == Opcode::Transfer)
      isScaled = code.transfers[instr.a].via == ElemType::MXE4M3;
    else if (instr.op == Opcode::Send)
      isScaled = code.sends[instr.a].via == ElemType::MXE4M3;
    if (isScaled)
      return site;
  }
  return kNone;
}

/// mxe4m3 can be verified, and no target has it: without their scales the same
/// bits are other numbers.
static bool refuseBlockScaled(Session &session, const Bytecode &code) {
  SiteId site = findBlockScaled(code);
  if (site == kNone)
    return false;
  SourceRange range = code.siteTable[site].range;
  constexpr llvm::StringRef name = "mxe4m3";
  size_t at = session.sources.text(range).find(name);
  if (at != llvm::StringRef::npos)
    range = {range.file, uint32_t(range.begin + at),
             uint32_t(range.begin + at + name.size())};
  session.diags
      .error(Slug::NotYet, range,
             "programs with 'mxe4m3' are not implemented yet")
      .help({}, "--check verifies the schedule");
  return true;
}

bool coll::compileSchedule(Session &session, const Bytecode &code,
                           llvm::ArrayRef<RankSpec> specs,
                           const InstanceOptions &options,
                           CompiledSchedule &result) {
  if (refuseBlockScaled(session, code))
    return false;
  std::vector<RankDims> spaces = rankSpacesOf(session, code, specs), excluded;
  std::string condition;
  std::set<uint64_t> counts;
  result.code = &code;
  if (spaces.empty())
    return false;
  for (const RankDims &dims : spaces) {
    Instance instance = session.instantiate(code, dims, options);
    if (instance.status == Instance::Failed)
      return false;
    if (instance.status == Instance::Excluded) {
      excluded.push_back(dims);
      condition = instance.excludedBy;
      continue;
    }
    uint32_t numRanks = instance.members[0].numRanks();
    if (!counts.insert(numRanks).second) {
      session
          .usage("two shapes of " + llvm::Twine(numRanks) +
                 " ranks for schedule '" + code.schedule +
                 "': an object has one plan per rank count, say which "
                 "(--ranks M,G)")
          .emit();
      return false;
    }
    result.instances.push_back(std::move(instance));
  }
  warnOfExcluded(session, code, specs, excluded, condition, counts.empty());
  if (result.instances.empty())
    return true;
  warnOfReplaced(session, code, result.instances, options);
  warnOfShorterRounds(session, code, result.instances);
  return true;
}

std::optional<Plan> coll::planOf(Session &session,
                                 const CompiledSchedule &schedule) {
  SourceRange range = schedule.code ? rangeOf(*schedule.code) : SourceRange();
  const std::vector<Function> &functions =
      schedule.instances.front().members.front().functions;
  for (const Function &function : functions)
    if (function.usesRows) {
      session.diags
          .error(Slug::RowFunction, range,
                 "schedule '" + schedule.name() + "' uses '" + function.name +
                     "', a function of rows, which no target runs yet")
          .emit();
      return std::nullopt;
    }
  const ProgramSet &programs = schedule.instances[0].scheduled->programs;
  if (std::optional<std::string> excess = exceedsPlan(programs)) {
    session.diags
        .error(Slug::PlanLimit, range,
               "'" + schedule.name() + "' has " + *excess)
        .emit();
    return std::nullopt;
  }
  ScheduleInput input{schedule.name(), {}};
  for (const Instance &instance : schedule.instances)
    input.scheduled.push_back(&*instance.scheduled);
  Plan plan = makePlan(input, session.sources);
  for (const PlanRanks &ranks : plan.ranks) {
    std::string wrong = checkClasses(*ranks.programs, ranks.classes);
    if (wrong.empty())
      continue;
    session.diags
        .error(Slug::InternalProgram, {},
               "internal error: the plan of '" + schedule.name() + "' at " +
                   std::to_string(ranks.programs->numRanks()) +
                   " ranks is wrong: " + wrong)
        .help({}, "no object is written: please report this, with the file");
    return std::nullopt;
  }
  return plan;
}
