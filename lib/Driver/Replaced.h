//===- Replaced.h - Directives that a target does without -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_DRIVER_REPLACED_H
#define COLL_LIB_DRIVER_REPLACED_H

#include "lib/Driver/Session.h"

namespace coll {

/// "ll by the small slots, multimem by ... (why)": what directives of `map` are
/// replaced by on the target, and why; empty: all are as they say.
std::string replacedDirectives(llvm::ArrayRef<Instance> instances,
                               const InstanceOptions &options);

} // namespace coll

#endif // COLL_LIB_DRIVER_REPLACED_H
