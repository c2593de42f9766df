//===- Plans.h - A schedule at several rank counts --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_PLANS_H
#define COLL_LIB_DRIVER_PLANS_H

#include "lib/Driver/Session.h"
#include "lib/Target/HostObject.h"

namespace coll {

/// What becomes one plan: one instance per rank count.
struct CompiledSchedule {
  std::string name;
  std::vector<Instance> instances;
};

/// Instantiates `code` at all `spaces` that its `where` allows, programs included. Returns what the command line has wrong, empty if nothing; what
/// the schedule has wrong is in the session's diagnostics.
std::string compileSchedule(Session &session, const Bytecode &code, llvm::ArrayRef<RankDims> spaces, const InstanceOptions &options,
                            CompiledSchedule &result);

/// Warns of protocols that hosts replace.
void warnOfReplacedProtocols(Session &session, const Bytecode &code, const Instance &instance);

llvm::Expected<Plan> planOf(Session &session, const CompiledSchedule &schedule);

} // namespace coll
#endif // COLL_LIB_DRIVER_PLANS_H
