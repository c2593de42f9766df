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
  const Bytecode *code = nullptr; ///< null: of another system
  std::vector<Instance> instances;
  bool outOfPlace = true; ///< it is meant for calls out of place, too
  const std::string &name() const {
    return instances.front().members.front().schedule;
  }
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

/// Whether a file is a schedule of another system.
bool isForeign(llvm::StringRef path);
/// Reads and judges one, with a line for each of its variants (Foreign.cpp).
void checkForeign(Session &session, llvm::StringRef path,
                  llvm::StringRef schedule, llvm::ArrayRef<RankSpec> ranks,
                  llvm::raw_ostream &os);
/// Reads and judges one, and makes verified programs of it.
/// Empty: the session's diagnostics say why. `ranks` and `schedule` may repeat
/// what the file says.
std::optional<CompiledSchedule> compileForeign(Session &session,
                                               llvm::StringRef path,
                                               llvm::StringRef schedule,
                                               llvm::ArrayRef<RankSpec> ranks);

/// Empty: the session's diagnostics say what no target runs yet.
std::optional<Plan> planOf(Session &session, const CompiledSchedule &schedule);

} // namespace coll
#endif // COLL_LIB_DRIVER_PLANS_H
