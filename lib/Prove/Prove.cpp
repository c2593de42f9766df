//===- Prove.cpp - Is a schedule right for all N? -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Prove/Prove.h"

#include "lib/Prove/Prover.h"
#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::prove;

static std::string domainOf(ScheduleOp schedule, const Model &model) {
  std::string names;
  for (mlir::Attribute name : schedule.getRankNames())
    names +=
        (names.empty() ? "" : ", ") + llvm::cast<mlir::StringAttr>(name).str();
  bool isLine = schedule.getRankNames().size() == 1;
  std::string text =
      "all " + names + (isLine ? " >= 2" : " >= 1, two ranks or more");
  for (const std::string &where : model.symbolText)
    text += ", where " + where;
  return text;
}

ProofResult
coll::proveForAll(ScheduleOp schedule,
                  const std::vector<std::pair<std::string, int64_t>> &defines) {
  resetQuestions();
  ModelOptions options;
  options.defines = defines;
  Model model = modelOf(schedule, options);
  Prover prover(model);
  ProofResult result;
  result.isProved = prover.run();
  result.domain = domainOf(schedule, model);
  result.hasRegions = prover.hasRegions;
  result.needsBuffers = prover.isBuffered;
  if (prover.obstacle) {
    result.why = prover.obstacle->why;
    result.at = prover.obstacle->op ? prover.obstacle->op : schedule;
    result.suspect = prover.suspect;
  }
  result.invariants = prover.invariants();
  return result;
}
