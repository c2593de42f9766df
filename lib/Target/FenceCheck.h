//===- FenceCheck.h - Stores past the caches have a fence -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_TARGET_FENCECHECK_H
#define COLL_LIB_TARGET_FENCECHECK_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace coll {

/// An x86 store past the caches becomes visible whenever it likes; no release
/// store behind it waits for it, only an sfence does. So on every path from
/// one, an sfence comes before any store of a scalar, any call and the end of
/// the function. An internal error names the first function where it does not.
llvm::Error checkFences(const llvm::Module &module);

} // namespace coll
#endif // COLL_LIB_TARGET_FENCECHECK_H
