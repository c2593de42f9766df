//===- ElaborateExecution.h - A schedule executed and compared --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_ELABORATEEXECUTION_H
#define COLL_LIB_ANALYSIS_ELABORATEEXECUTION_H

#include "lib/Analysis/ContractExplain.h"

namespace coll::elab {

/// One execution of a schedule and its comparison with the contract.
struct Execution {
  Execution(const Bytecode &code, const Parameters &params,
            CellGroups *groups = nullptr)
      : machine(code, params) {
    machine.groups = groups;
  }
  /// False: failed, excluded, or against the contract.
  bool run();
  Machine machine;
  std::vector<Write> trace;
  std::optional<ContractCheck> check;
};

/// Looks for a loop that would keep the contract as a group, if the schedule is
/// small enough to try.
void findGroup(const Bytecode &code, const Parameters &params,
               uint64_t numValues, ContractFault &fault);

/// What is left in `out`, to the graph.
void collectOutputs(Machine &machine);

} // namespace coll::elab

#endif // COLL_LIB_ANALYSIS_ELABORATEEXECUTION_H
