//===- Primitives.h - The operations that know memory order -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel touches shared words in six small functions and nowhere else; a test
// holds each to the memory-order table of docs/Runtime.md. On the host they are
// C++'s acquire loads and release stores of 8 bytes; the slow path of a wait is
// the runtime's coll_kernel_wait.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_PRIMITIVES_H
#define COLL_LIB_LOWERING_PRIMITIVES_H

#include "lib/Lowering/Builder.h"

#include "mlir/IR/BuiltinOps.h"

namespace coll::lowering {

class Machine;

/// The six functions in one module.
struct Primitives {
  /// (inst, block: i32, args, end, progress: i64, sig: i32) -> payload of the
  /// next message, which must carry `sig`; null to leave the kernel
  mlir::func::FuncOp recvAcquire;
  /// (args, end): the payload was read; returns credits in batches
  mlir::func::FuncOp recvRelease;
  /// (inst, block: i32, args, end, progress: i64) -> payload to write, null to
  /// leave the kernel
  mlir::func::FuncOp sendAcquire;
  /// (args, end, sig: i32): the payload is written
  mlir::func::FuncOp sendPublish;
  /// (inst, args, end, bytes: i64): of a rank that only sends, asks for the
  /// line that its next message goes to; null where nothing is asked for ahead
  mlir::func::FuncOp fetchToWrite;
  /// (end): returns every credit not yet returned, when a launch ends
  mlir::func::FuncOp flushCredits;
  /// (inst, block: i32, other: i32, steps: i64, progress: i64) -> i32, not 0 to
  /// leave: block `other` has finished `steps` steps of this launch
  mlir::func::FuncOp blockWait;

  /// The runtime's functions on a host, declared; a device's own.
  mlir::func::FuncOp wait, mismatch;
  /// (read: i64, written: i64); only where bytes are counted, provided by who
  /// counts.
  mlir::func::FuncOp countBytes;

  Primitives(mlir::ModuleOp module, const Machine &machine);
};

/// A private function of the module; the builder stands in its entry block,
/// `b.region` is its body.
mlir::func::FuncOp beginFunction(Builder &b, mlir::ModuleOp module,
                                 llvm::StringRef name,
                                 mlir::TypeRange arguments,
                                 mlir::TypeRange results);

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_PRIMITIVES_H
