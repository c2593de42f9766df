//===- Ptx.h - What of PTX has no name in LLVM IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_LOWERING_PTX_H
#define COLL_LIB_LOWERING_PTX_H

#include "lib/Lowering/Builder.h"

namespace coll::lowering {

/// Special registers and barriers of NVPTX, by their LLVM intrinsics.
struct Ptx {
  static Value threadId(Builder &b);    // i64
  static Value globalTimer(Builder &b); // i64, ns
  static void sleep(Builder &b, Value ns);
  static void barrier(Builder &b);
  /// The i32 of the thread of this warp whose number differs in one bit.
  static Value shuffleXor(Builder &b, Value word, unsigned bit);
  /// A barrier of the warp; whether `flag` holds in any of its threads.
  static void warpBarrier(Builder &b);
  static Value warpOr(Builder &b, Value flag);
  /// A barrier; whether `flag` holds in any thread.
  static Value barrierOr(Builder &b, Value flag);
  /// Orders accesses of memory by its several addresses.
  static void aliasFence(Builder &b);
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_PTX_H
