//===- Plans.cpp - A schedule at several rank counts ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Plans.h"
#include "lib/Analysis/RankClassCheck.h"
#include "lib/Driver/Replaced.h"
#include "lib/Lowering/Machine.h"
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

bool coll::compileSchedule(Session &session, const Bytecode &code,
                           llvm::ArrayRef<RankSpec> specs,
                           const InstanceOptions &options,
                           CompiledSchedule &result) {
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
  if (std::string text = replacedDirectives(result.instances, options);
      !text.empty())
    session.diags
        .warning(Slug::DirectiveReplaced, rangeOf(code),
                 (options.isForDevices ? "on a device" : "on a host") +
                     std::string(", directives of '") + code.schedule +
                     "' are replaced: " + text)
        .emit();
  warnOfShorterRounds(session, code, result.instances);
  return true;
}

/// Blocks would lie across rows of most lengths.
static bool refuseRowsInBlocks(Session &session, const Plan &plan,
                               SourceRange range) {
  if (!plan.any().map.byRow || !lowering::hasBlocks(plan.shapes))
    return false;
  session.diags
      .error(Slug::NotYet, range,
             "schedule '" + plan.name +
                 "' cuts by row and has elements in mxe4m3, which is not "
                 "implemented yet")
      .help({}, "--check verifies the schedule")
      .emit();
  return true;
}

/// Rows are counted once, for all buffers.
static bool refuseUnevenRows(Session &session, const CompiledSchedule &schedule,
                             SourceRange range) {
  const ChunkGraph &graph = schedule.instances.front().members.front();
  if (!graph.map.byRow)
    return false;
  std::string what;
  for (const Buffer &buffer : graph.buffers) {
    bool isCut = buffer.kind != Buffer::Scalar && buffer.kind != Buffer::RowArg;
    for (uint32_t size : buffer.partSize)
      if (isCut && graph.sizes[size].kind != SizeSymbol::Count)
        what = buffer.name;
  }
  if (what.empty())
    return false;
  session.diags
      .error(Slug::RowSizes, range,
             "schedule '" + schedule.name() + "' cuts by row, and '" + what +
                 "' has a size of its own")
      .emit();
  return true;
}

std::optional<Plan> coll::planOf(Session &session,
                                 const CompiledSchedule &schedule) {
  SourceRange range = schedule.code ? rangeOf(*schedule.code) : SourceRange();
  if (refuseUnevenRows(session, schedule, range))
    return std::nullopt;
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
  if (refuseRowsInBlocks(session, plan, range))
    return std::nullopt;
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
