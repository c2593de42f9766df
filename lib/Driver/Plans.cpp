//===- Plans.cpp - A schedule at several rank counts ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Plans.h"

#include <set>

using namespace coll;

void coll::warnOfReplacedProtocols(Session &session, const Bytecode &code, const Instance &instance) {
  std::set<std::string> asked;
  for (const ChunkGraph &graph : instance.members) {
    asked.insert(graph.map.protocol);
    for (const Mapping &mapping : graph.mappings)
      asked.insert(mapping.protocol);
  }
  std::string text;
  for (const char *name : {"ll", "ll128"})
    if (asked.count(name))
      text += (text.empty() ? "" : ", ") + std::string(name) + " by the small slots";
  if (asked.count("multimem"))
    text += (text.empty() ? "" : ", ") + std::string("multimem by loads and sends to each rank");
  if (text.empty())
    return;
  SourceRange range = code.site == kNone ? SourceRange() : code.siteTable[code.site].range;
  session.diags.warning(Slug::ProtocolReplaced, range, "on a host, protocols of '" + code.schedule + "' are replaced: " + text).emit();
}

std::string coll::compileSchedule(Session &session, const Bytecode &code, llvm::ArrayRef<RankDims> spaces, const InstanceOptions &options,
                                  CompiledSchedule &result) {
  std::set<uint64_t> counts;
  for (const RankDims &dims : spaces) {
    Instance instance = session.instantiate(code, dims, options);
    if (instance.status == Instance::Failed)
      return "";
    if (instance.status == Instance::Excluded)
      continue;
    if (!counts.insert(instance.members[0].numRanks()).second)
      return "two shapes of " + std::to_string(instance.members[0].numRanks()) + " ranks for schedule '" + code.schedule +
             "': an object has one plan per rank count, say which (--ranks M,G)";
    result.instances.push_back(std::move(instance));
  }
  if (result.instances.empty())
    return "'where' of schedule '" + code.schedule + "' excludes all that --ranks names";
  warnOfReplacedProtocols(session, code, result.instances[0]);
  return "";
}

llvm::Expected<Plan> coll::planOf(Session &session, const CompiledSchedule &schedule) {
  ScheduleInput input{schedule.name, {}};
  for (const Instance &instance : schedule.instances)
    input.scheduled.push_back(&*instance.scheduled);
  return makePlan(input, session.sources);
}
