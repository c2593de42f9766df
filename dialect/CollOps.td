//===- CollOps.td - All operations of the coll dialect -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLOPS_TD
#define COLL_DIALECT_COLLOPS_TD

include "dialect/CollExprOps.td"
include "dialect/CollProgramOps.td"
include "dialect/CollScheduleOps.td"
include "dialect/CollStatementOps.td"

#endif // COLL_DIALECT_COLLOPS_TD
