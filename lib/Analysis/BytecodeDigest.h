//===- BytecodeDigest.h - SHA-256 of what is executed -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_ANALYSIS_BYTECODEDIGEST_H
#define COLL_LIB_ANALYSIS_BYTECODEDIGEST_H

#include "lib/Analysis/Elaborate.h"

#include <array>

namespace coll {

using Digest = std::array<uint8_t, 32>;

/// Of all that decides about a chunk graph and the promises made of it: code,
/// tables and parameters. Two executions that differ have other digests.
Digest digestOf(const Bytecode &code, const Parameters &params);

} // namespace coll

#endif // COLL_LIB_ANALYSIS_BYTECODEDIGEST_H
