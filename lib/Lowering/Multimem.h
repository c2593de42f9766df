//===- Multimem.h - Instructions on all ranks' memory at once ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM has no intrinsics for PTX's multimem instructions, so these strings are
// the only inline assembly of device code. DeviceCheck.cpp lets no other pass;
// the emulator of the test tree knows exactly these. 16 bytes each, as four
// registers; they are weak accesses of every rank's copy (docs/Rationale.md).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_MULTIMEM_H
#define COLL_LIB_LOWERING_MULTIMEM_H

#include "lib/Lowering/Formats.h"

namespace coll::lowering {

/// The oldest chip and version of PTX that have all of them.
constexpr unsigned kMultimemChip = 90, kMultimemPtx = 82;
/// Fewer ranks save nothing.
constexpr unsigned kMultimemRanks = 3;

/// The hardware adds; rounds once, from f32. avg divides what is f32 still.
constexpr bool addsByMultimem(Format dtype, ReduceOp op) {
  return dtype == Format::F32
             ? op == ReduceOp::Sum || op == ReduceOp::Avg
             : (dtype == Format::F16 || dtype == Format::BF16) &&
                   op == ReduceOp::Sum;
}

constexpr const char kMultimemAddF32[] =
    "multimem.ld_reduce.weak.global.add.v4.f32 {$0, $1, $2, $3}, [$4];";
constexpr const char kMultimemAddF16[] =
    "multimem.ld_reduce.weak.global.add.acc::f32.v4.f16x2 {$0, $1, $2, $3}, "
    "[$4];";
constexpr const char kMultimemAddBf16[] =
    "multimem.ld_reduce.weak.global.add.acc::f32.v4.bf16x2 {$0, $1, $2, $3}, "
    "[$4];";
constexpr const char kMultimemLoadConstraints[] = "=r,=r,=r,=r,l,~{memory}";
/// Moves bits, whatever they are of.
constexpr const char kMultimemStore[] =
    "multimem.st.weak.global.v4.f32 [$0], {$1, $2, $3, $4};";
constexpr const char kMultimemStoreConstraints[] = "l,r,r,r,r,~{memory}";

constexpr const char *kMultimem[] = {kMultimemAddF32, kMultimemAddF16,
                                     kMultimemAddBf16, kMultimemStore};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_MULTIMEM_H
