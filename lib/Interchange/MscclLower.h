//===- MscclLower.h - The memory of a foreign schedule ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_INTERCHANGE_MSCCLLOWER_H
#define COLL_LIB_INTERCHANGE_MSCCLLOWER_H

#include "lib/Interchange/MscclFlow.h"

namespace coll::msccl {

/// One rank's program as the host runs it. `source` was imported for `inPlace`,
/// and `flow` is of it. `copies`: it will be called out of place all the same.
RankProgram lowerRank(const Algorithm &algo, bool inPlace, bool copies,
                      Rank rank, const RankProgram &source, const Flow &flow,
                      FlowGraph &values);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCLLOWER_H
