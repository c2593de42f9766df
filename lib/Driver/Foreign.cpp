//===- Foreign.cpp - Schedules of other systems ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They are judged by what their format promises, lowered, and verified a second
// time against what was read, as those of our own compiler are.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Plans.h"
#include "lib/Interchange/MscclImport.h"

using namespace coll;

bool coll::isForeign(llvm::StringRef path) { return path.ends_with(".xml"); }

static bool agrees(Session &session, const msccl::Algorithm &algo,
                   llvm::StringRef schedule, llvm::ArrayRef<RankSpec> ranks) {
  uint32_t own = algo.gpus.size();
  for (const RankSpec &spec : ranks)
    if (spec.isRange() || spec.dims != RankDims{own}) {
      session
          .usage("'" + algo.name + "' is for " + llvm::Twine(own) +
                 " ranks: --ranks may say that, or be left out")
          .emit();
      return false;
    }
  if (!schedule.empty() && schedule != algo.name) {
    session.usage("the schedule of the file is '" + algo.name + "'").emit();
    return false;
  }
  return true;
}

/// Empty, or `diags` has errors: it is not right, or not what was asked for.
static std::optional<msccl::JudgedXml>
judge(Session &session, llvm::StringRef path, llvm::StringRef schedule,
      llvm::ArrayRef<RankSpec> ranks, llvm::raw_ostream *os) {
  std::optional<msccl::JudgedXml> judged =
      msccl::judgeXml(session.sources, session.diags, path, os);
  if (judged && !agrees(session, judged->algorithm, schedule, ranks))
    return std::nullopt;
  return judged;
}

void coll::checkForeign(Session &session, llvm::StringRef path,
                        llvm::StringRef schedule,
                        llvm::ArrayRef<RankSpec> ranks, llvm::raw_ostream &os) {
  judge(session, path, schedule, ranks, &os);
}

std::optional<CompiledSchedule>
coll::compileForeign(Session &session, llvm::StringRef path,
                     llvm::StringRef schedule, llvm::ArrayRef<RankSpec> ranks) {
  std::optional<msccl::JudgedXml> judged =
      judge(session, path, schedule, ranks, nullptr);
  if (!judged || session.diags.hasErrors())
    return std::nullopt;
  std::optional<msccl::ImportedSchedule> imported =
      msccl::importSchedule(*judged, path, session.diags);
  if (!imported)
    return std::nullopt;
  CompiledSchedule result;
  result.outOfPlace = imported->outOfPlace;
  Instance &instance = result.instances.emplace_back();
  instance.status = Instance::Checked;
  instance.dims = imported->graph.rankDims;
  instance.numMembers = 1;
  instance.numValues = imported->graph.values.size();
  instance.members.push_back(std::move(imported->graph));
  instance.scheduled = std::move(imported->scheduled);
  session.verifyPrograms(instance);
  if (instance.status == Instance::Failed)
    return std::nullopt;
  return result;
}
