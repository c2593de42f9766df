//===- CollStatementOps.td - What moves where --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLSTATEMENTOPS_TD
#define COLL_DIALECT_COLLSTATEMENTOPS_TD

include "dialect/CollAttrs.td"
include "dialect/CollTypes.td"
include "mlir/IR/OpAsmInterface.td"

def Coll_StatementDocs : OpDocGroup {
  let summary = "Algorithm level: statements";
  let description = "What moves where, and what `map` says of it.";
}

let opDocGroup = Coll_StatementDocs in {

def Coll_TmpOp : Coll_Op<"tmp", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A new array on every rank, empty";
  let description = [{
    Each execution makes another array. What is written to it is rounded to its
    type; `T` is the type of the launch.

    Constraints:
    * (C1) Does not stand in a `coll.group`.

    Example:

    ```mlir
    %acc = coll.tmp "acc" dims(%N) type(f32)
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$dims,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type);
  let results = (outs Coll_ArrayType:$result);
  let assemblyFormat = [{
    $name (`dims` `(` $dims^ `)`)? (`type` `(` custom<Word>($type)^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_InitOp : Coll_Op<"init"> {
  let summary = "Fills a new array on every rank that holds its source";
  let description = [{
    Ranks without the source, or where it holds nothing, are left empty. A source
    that is filled in part on some rank is an error.

    Constraints:
    * (C1) Does not stand in a `coll.group`.

    Example: `coll.init %acc from %in`
  }];
  let arguments = (ins Coll_ArrayType:$array, Coll_ArrayType:$source);
  let assemblyFormat = "$array `from` $source attr-dict";
  let hasVerifier = 1;
}

class Coll_TransferOp<string mnemonic> : Coll_Op<mnemonic, [
    SingleBlock, NoTerminator, AttrSizedOperandSegments]> {
  let arguments = (ins Coll_ValueType:$value, Coll_ArrayType:$target,
                       Variadic<Index>:$at, OptionalAttr<Coll_DataTypeAttr>:$via,
                       Optional<Coll_MappingType>:$mapping);
  let regions = (region AnyRegion:$members);
  let assemblyFormat = [{
    $value `to` $target (`at` `(` $at^ `)`)? (`members` $members^)?
    (`via` `(` custom<Word>($via)^ `)`)? (`map` `(` $mapping^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_CopyOp : Coll_TransferOp<"copy"> {
  let summary = "Writes a value to locations";
  let description = [{
    Evaluates the value, element by element, then writes it on one rank (`at`), on
    those that the region lists by `coll.member`, or, with neither, on every rank
    that has all arrays, by itself; inside `coll.on`, on the rank of the process.
    All reads come first. A value that is more than one `coll.read` is computed on
    the one rank written to. `via` rounds operands to a type as they travel.

    Constraints:
    * (C1) Has `at` or members, not both.
    * (C2) `at` has one index per rank dimension, or none.

    Example:

    ```mlir
    coll.copy %v to %chunk at(%next) via(e4m3) map(%m)
    coll.copy %v to %out members {
      coll.member(%c0)
      coll.member(%c1)
    }
    ```
  }];
}

def Coll_ReduceOp : Coll_TransferOp<"reduce"> {
  let summary = "Reduces a value into locations that hold one";
  let description = [{
    As `coll.copy`, but writes the old value of the location, reduced with the new
    one by the op of the launch.

    Constraints:
    * (C1) Has `at` or members, not both.
    * (C2) `at` has one index per rank dimension, or none.

    Example: `coll.reduce %v to %acc at(%next)`
  }];
}

def Coll_GroupOp : Coll_Op<"group", [SingleBlock, NoTerminator]> {
  let summary = "Statements whose reads see the values before the group";
  let description = [{
    A location gets one copy, or any number of reductions in written order. In a
    process of `coll.on` the sends and receives are posted all at once, and the
    process goes on when all are complete.

    Constraints:
    * (C1) Stands in no other `coll.group`.

    Example:

    ```mlir
    coll.group {
      scf.for %r = %c0 to %N step %c1 {
        %q = arith.xori %r, %d : index
        %v = coll.read %acc at(%r)
        coll.reduce %v to %acc at(%q)
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def Coll_OnOp : Coll_Op<"on", [SingleBlock, NoTerminator]> {
  let summary = "One process for each of some ranks";
  let description = [{
    Runs the body once for each distinct rank that the first region lists by
    `coll.member`, all at the same time; the arguments are the coordinates of the
    rank. Between each ordered pair of ranks there is a queue of the given capacity
    in messages, 0 if unsaid. The op ends when all processes have ended and all
    queues are empty; if that cannot be, the schedule is wrong.

    Constraints:
    * (C1) Stands in no other `coll.on` and in no `coll.group`.
    * (C2) The body has one argument of type index per rank dimension.

    Example:

    ```mlir
    coll.on buffer(%c1) members {
      coll.member(%a)
      coll.member(%b)
    } do(%r) {
      %v = coll.read %in
      coll.send %v to(%peer)
      coll.recv %out from(%peer)
    }
    ```
  }];
  let arguments = (ins Optional<Index>:$capacity);
  let regions = (region SizedRegion<1>:$members, SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`buffer` `(` $capacity^ `)`)? `members` $members
    `do` `` custom<ProcessBody>($body) attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Coll_SendOp : Coll_Op<"send", [AttrSizedOperandSegments]> {
  let summary = "Sends a message from this process";
  let description = [{
    The value is evaluated when the message is posted. It completes when the queue
    has room or the receiver takes it.

    Constraints:
    * (C1) Stands in the body of a `coll.on`.
    * (C2) The peer has one index per rank dimension.

    Example: `coll.send %v to(%next) via(bf16)`
  }];
  let arguments = (ins Coll_ValueType:$value, Variadic<Index>:$peer,
                       OptionalAttr<Coll_DataTypeAttr>:$via,
                       Optional<Coll_MappingType>:$mapping);
  let assemblyFormat = [{
    $value `to` `(` $peer `)` (`via` `(` custom<Word>($via)^ `)`)? (`map` `(` $mapping^ `)`)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_RecvOp : Coll_Op<"recv", [AttrSizedOperandSegments]> {
  let summary = "Takes the oldest message of a process";
  let description = [{
    Writes it to locations of this process's rank or, with `reduce`, reduces it
    into them. The k-th send meets the k-th receive, and their sizes agree.

    Constraints:
    * (C1) Stands in the body of a `coll.on`.
    * (C2) The peer has one index per rank dimension.

    Example: `coll.recv reduce %acc from(%prev)`
  }];
  let arguments = (ins UnitAttr:$reduce, Coll_ArrayType:$target,
                       Variadic<Index>:$peer, Optional<Coll_MappingType>:$mapping);
  let assemblyFormat = [{
    (`reduce` $reduce^)? $target `from` `(` $peer `)`
    (`map` `(` $mapping^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

def Coll_MappingOp : Coll_Op<"mapping"> {
  let summary = "What `map` says of the statements that name it";
  let description = [{
    Stands where the loop variables it uses are at hand. Numbers are evaluated
    where it stands. `labels` is the path under which the directives were found,
    for reports. None of it changes a result.

    Constraints:
    * (C1) There is one value per key.
    * (C2) The keys are distinct, and among channel, block, recv_block, channels,
      instances, blocks, threads, slots and slot.
    * (C3) The protocol is one of simple, ll, ll128, multimem and direct.

    Example:

    ```mlir
    %m = coll.mapping(channel = %c, block = %b) protocol "ll" push labels ["net"]
    coll.copy %v to %staged at(%r) map(%m)
    ```
  }];
  let arguments = (ins StrArrayAttr:$keys, Variadic<Index>:$values,
                       OptionalAttr<StrAttr>:$protocol,
                       UnitAttr:$pull, UnitAttr:$push, UnitAttr:$staged,
                       UnitAttr:$store, UnitAttr:$source_order,
                       OptionalAttr<StrArrayAttr>:$labels);
  let results = (outs Coll_MappingType:$result);
  let assemblyFormat = [{
    `` custom<KeyedIndices>($keys, $values) (`protocol` $protocol^)?
    (`pull` $pull^)? (`push` $push^)? (`staged` $staged^)? (`store` $store^)?
    (`source_order` $source_order^)? (`labels` $labels^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_DirectiveOp : Coll_Op<"directive", [HasParent<"ScheduleOp">]> {
  let summary = "What `map` says of the whole schedule";
  let description = [{
    Constraints:
    * (C1) Stands directly in a schedule.
    * (C2) The name is one of the directives that hold for a schedule.
    * (C3) `sizes` has two values; `instances`, `channels`, `blocks`, `threads`,
      `round`, `slots`, `slot` and `scratch` have one; others have none.
    * (C4) `protocol` and `order` have a text, others have none.

    Example:

    ```mlir
    coll.directive "sizes"(%low, %high)
    coll.directive "protocol" text "ll128"
    coll.directive "pull"
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$values,
                       OptionalAttr<StrAttr>:$text);
  let assemblyFormat = "$name (`(` $values^ `)`)? (`text` $text^)? attr-dict";
  let hasVerifier = 1;
}

} // opDocGroup = Coll_StatementDocs

#endif // COLL_DIALECT_COLLSTATEMENTOPS_TD
