//===- CollDialect.td - The coll dialect -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLDIALECT_TD
#define COLL_DIALECT_COLLDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Coll_Dialect : Dialect {
  let name = "coll";
  let cppNamespace = "::coll";
  let summary = "Schedules of collective communication";
  let description = [{
    The dialect has two levels. The *algorithm level* (`coll.schedule`) says what
    moves where, in the order of the source, symbolic in the number of ranks: it
    is the normal form of the language, next to upstream `scf` and `arith` on
    `index`. The *program level* (`coll.program`) says what every rank runs: an
    ordered list of fused steps per block, and the channels between ranks.
    Between both stands the chunk graph, which is never ops.

    The algorithm level is read, not transformed. None of its ops is `Pure`: an
    index out of range is an error of the schedule even where its value is unused.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect"
  ];
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
}

class Coll_Op<string mnemonic, list<Trait> traits = []>
    : Op<Coll_Dialect, mnemonic, traits>;

#endif // COLL_DIALECT_COLLDIALECT_TD
