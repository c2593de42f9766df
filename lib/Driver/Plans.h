//===- Plans.h - A schedule at several rank counts --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_PLANS_H
#define COLL_LIB_DRIVER_PLANS_H

#include "lib/Driver/Ranks.h"
#include "lib/Driver/Session.h"
#include "lib/Target/HostObject.h"

namespace coll {

/// What becomes one plan: one instance per rank count.
struct CompiledSchedule {
  const Bytecode *code = nullptr;
  std::vector<Instance> instances;
  const std::string &name() const { return code->schedule; }
};

/// The rank spaces that `specs` name for a schedule. Empty: the session's
/// diagnostics say why.
std::vector<RankDims> rankSpacesOf(Session &session, const Bytecode &code,
                                   llvm::ArrayRef<RankSpec> specs);

/// Instantiates `code` at all rank spaces that `specs` name and its `where`
/// allows, programs included. Without instances in `result`: nothing is left,
/// of which the session has a warning. False: its diagnostics say why.
bool compileSchedule(Session &session, const Bytecode &code,
                     llvm::ArrayRef<RankSpec> specs,
                     const InstanceOptions &options, CompiledSchedule &result);

/// Empty: the session's diagnostics say what no target runs yet.
std::optional<Plan> planOf(Session &session, const CompiledSchedule &schedule);

} // namespace coll
#endif // COLL_LIB_DRIVER_PLANS_H
