//===- Passes.td - Passes over schedules and programs ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_LIB_TRANSFORMS_PASSES_TD
#define COLL_LIB_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyContract : Pass<"coll-verify-contract", "::mlir::ModuleOp"> {
  let summary = "Check that schedules do what their contracts promise";
  let description = [{
    Executes each `coll.schedule` that has as many rank dimensions as are given, for
    that rank space and every member of its launch family, and compares the result
    with the contract. What is wrong is said where the ops' locations lead, in the
    source if it can be read. A schedule whose `coll.where` does not hold is left
    out.

    Changes nothing.
  }];
  let options = [
    ListOption<"ranks", "ranks", "uint32_t", "Extents of the rank space">,
    ListOption<"defines", "define", "std::string", "Parameters, as in K=3">];
}

def VerifyProgram : Pass<"coll-verify-program", "::mlir::ModuleOp"> {
  let summary = "Check that programs run to their end, without races";
  let description = [{
    Runs each `coll.program` on symbols: messages must meet and agree, nothing may
    be read before it is written, blocks must not race. Then runs it against FIFOs
    of the given shape. What the result means is not asked, since the schedule is
    not at hand.

    Changes nothing.
  }];
  let options = [
    Option<"slots", "slots", "uint32_t", "4", "Slots of a FIFO">,
    Option<"batch", "batch", "uint32_t", "2", "Slots given back at a time">,
    Option<"slices", "slices", "uint32_t", "1", "Slots that a message takes, at most">,
    Option<"resident", "resident", "uint32_t", "0", "Blocks of a rank that run at a time; 0: all">];
}

#endif // COLL_LIB_TRANSFORMS_PASSES_TD
