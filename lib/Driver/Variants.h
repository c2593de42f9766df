//===- Variants.h - Types and operations that a plan can have ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_VARIANTS_H
#define COLL_LIB_DRIVER_VARIANTS_H

#include "lib/Driver/Session.h"
#include "lib/Target/HostObject.h"

namespace coll {

/// Takes from `dtypes` what `plan` cannot have, and says so. False: an error,
/// as it may not, or nothing would be left.
bool fitDtypes(Session &session, const Plan &plan, bool mayLeaveOut,
               std::vector<lowering::Format> &dtypes);
/// The same of operations: avg is not there in every contract.
bool fitOps(Session &session, const Plan &plan, bool mayLeaveOut,
            std::vector<lowering::ReduceOp> &ops);

} // namespace coll
#endif // COLL_LIB_DRIVER_VARIANTS_H
