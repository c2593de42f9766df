//===- TileLoop.h - The inner loop of a step --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_LIB_LOWERING_TILELOOP_H
#define COLL_LIB_LOWERING_TILELOOP_H

#include "lib/Lowering/Primitives.h"
#include "lib/Lowering/StepShape.h"

namespace coll::lowering {

/// What a step's inner loop runs on. Pointers are to the first element of the
/// slice, in the order of the operands; a looped side whose number is not known
/// has an array of pointers instead.
struct TileOperands {
  llvm::SmallVector<mlir::Value> sources, sinks;
  mlir::Value sourceArray, sinkArray; // !llvm.ptr to pointers
  mlir::Value numSources, numSinks;   // i64, for the arrays
  mlir::Value elements;               // i64; bytes when the step only moves
  mlir::Value rowElements;            // i64, of steps with whole rows
  mlir::Value sinkShift; // i64: where in sinkArray's memory index 0 is, if not
                         // at its start
  mlir::Value numRanks;  // i64: avg's divisor
  // i1, or none where it never holds: the loop of several vectors stores past
  // the caches into the sinks that are channels, whose pointers are multiples
  // of 64 (of 16 where messages may be put); into the others, whose pointers
  // are multiples of 16.
  mlir::Value streamSlots, streamMemory;
  mlir::Value factor; // f64: premul_sum's
  // i64, of devices: all pointers or'ed, as far as their low bits keep them
  // from being loaded and stored as vectors.
  mlir::Value pointerBits;
  // i64, of devices: multicast addresses that stand for all sources, for all
  // sinks, or none where the step has no such side; i1: they may be used.
  mlir::Value gathered, spread, isMulticast;
  // Where messages have flags: the tags of all ports, in the same order
  // (kTagClean of any sink is in pointerBits, too), and what a thread that
  // waits has to know.
  mlir::Value sourceTags, sinkTags;
  mlir::Value inst, block, progress, sig;
  const Primitives *primitives = nullptr;
};

/// One dtype, op and instruction set. `dtype` is U8 and `op` None where bytes
/// are moved.
struct Variant {
  Format dtype = Format::U8;
  ReduceOp op = ReduceOp::None;
  Isa isa = Isa::V2;
  bool move = false;
  bool countBytes =
      false; // reports what every slice reads and writes to coll_count_bytes
  bool vectorCounts = false; // COLL_PLAN_VCOUNTS
  bool byRow = false;        // COLL_PLAN_ROWS
  bool hasFp8 = false;       // a chip that converts it
  bool inBlocks = false;     // COLL_PLAN_BLOCKS
  Protocol protocol = Protocol::Any;
};

/// Emits loops that combine `elements` elements of every source and put the
/// result into every sink: full vectors, several at a time to have enough loads
/// in flight, then single vectors, then 16 bytes (8 and 4, of bytes), then
/// elements. All loads of
/// an iteration precede its stores. Stores past the caches are in a loop of
/// their own, with a fence right behind it (lib/Target/FenceCheck.h).
void emitTileLoops(Builder &b, const StepShape &shape, const Variant &variant,
                   const std::vector<Function> &functions,
                   const TileOperands &operands);

/// The same of steps with whole rows: `elements` is a multiple of
/// `rowElements` (RowLoop.cpp).
void emitRowLoops(Builder &b, const StepShape &shape, const Variant &variant,
                  const std::vector<Function> &functions,
                  const TileOperands &operands);

/// The same of steps with elements in blocks of one scale (BlockLoop.cpp).
void emitBlockLoops(Builder &b, const StepShape &shape, const Variant &variant,
                    const std::vector<Function> &functions,
                    const TileOperands &operands);

class RowValues;
/// The functions of `fn`, on vectors of the accumulation type (Math.cpp).
/// `rows`: null where none reduces over rows.
mlir::Value emitFunction(Builder &b, const Function &function,
                         llvm::ArrayRef<mlir::Value> arguments, Format accum,
                         RowValues *rows);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_TILELOOP_H
