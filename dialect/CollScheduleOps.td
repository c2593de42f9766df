//===- CollScheduleOps.td - A schedule and its contract ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of the algorithm level: the schedule, its parameters, what is cut
// how, buffers, and what the contract promises.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_DIALECT_COLLSCHEDULEOPS_TD
#define COLL_DIALECT_COLLSCHEDULEOPS_TD

include "dialect/CollAttrs.td"
include "dialect/CollTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Coll_ScheduleDocs : OpDocGroup {
  let summary = "Algorithm level: schedules and contracts";
  let description = "The frame of a schedule, its parameters and buffers, and what it promises.";
}

let opDocGroup = Coll_ScheduleDocs in {

/// An op whose result is called as in the source.
class Coll_NamedOp<string mnemonic, list<Trait> traits = []>
    : Coll_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]>;

def Coll_ScheduleOp : Coll_Op<"schedule", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "One schedule, symbolic in the number of ranks";
  let description = [{
    The normal form of a schedule: procedures, functions on integers and views are
    inlined, loops and conditions are `scf.for` and `scf.if`, integers are `index`
    with `arith`. The region's arguments are the extents of the rank space. A rank
    is as many indices as there are of them, its *coordinates*.

    Constraints:
    * (C1) There is at least one rank dimension, each has a name and an argument of
      type index.
    * (C2) Rank dimensions, parameters and launch parameters have distinct names.
    * (C3) Buffers have distinct names.
    * (C4) There is at most one `coll.chunks` and at most one `coll.promise`.

    Example:

    ```mlir
    coll.schedule @allreduce_direct implements "allreduce" ranks(%N "N") {
      %in = coll.buffer in "in"
      %out = coll.buffer out "out"
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %r = %c0 to %N step %c1 {
        %sum = coll.fold {
          scf.for %q = %c0 to %N step %c1 {
            %v = coll.read %in at(%q)
            coll.operand %v
          }
        }
        coll.copy %sum to %out at(%r)
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$rank_names,
                       StrAttr:$contract, OptionalAttr<StrAttr>:$doc);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `implements` $contract attr-dict-with-keyword
    `ranks` `` custom<ScheduleBody>($rank_names, $body)
  }];
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

class Coll_ScheduleParentOp<string mnemonic, list<Trait> traits = []>
    : Coll_Op<mnemonic, traits # [HasParent<"ScheduleOp">]>;

def Coll_ParamOp : Coll_NamedOp<"param", [HasParent<"ScheduleOp">]> {
  let summary = "A parameter of the schedule, fixed when it is compiled";
  let description = [{
    The value given on the command line, else the default. With neither the
    schedule cannot be compiled.

    Constraints:
    * (C1) Stands directly in a schedule.

    Example:

    ```mlir
    %K = coll.param "K" default %c8
    ```
  }];
  let arguments = (ins StrAttr:$name, Optional<Index>:$default_value);
  let results = (outs Index:$result);
  let assemblyFormat = "$name (`default` $default_value^)? attr-dict";
}

def Coll_LaunchOp : Coll_NamedOp<"launch", [
    SingleBlock, NoTerminator, HasParent<"ScheduleOp">]> {
  let summary = "A parameter of the schedule, fixed when the kernel is launched";
  let description = [{
    Makes the schedule a family with one member per value of the domain, which the
    region lists by `coll.member`. The results are the coordinates of a rank or,
    with `integer`, one integer.

    Constraints:
    * (C1) Stands directly in a schedule.
    * (C2) Has one result if it is an integer, else one per rank dimension.

    Example:

    ```mlir
    %root = coll.launch "root" : index in {
      scf.for %r = %c0 to %N step %c1 {
        coll.member(%r)
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$integer);
  let results = (outs Variadic<Index>:$coords);
  let regions = (region SizedRegion<1>:$domain);
  let assemblyFormat = [{
    $name (`integer` $integer^)? attr-dict `:` type($coords) `in` $domain
  }];
  let hasVerifier = 1;
}

def Coll_WhereOp : Coll_ScheduleParentOp<"where"> {
  let summary = "What the parameters must satisfy; other ones are left out";
  let description = [{
    Where the condition is false, the schedule does not exist for these parameters;
    that is no error. The text is the condition in the source.

    Constraints:
    * (C1) Stands directly in a schedule.

    Example:

    ```mlir
    %ok = coll.pow2 %N
    coll.where %ok "pow2(N)"
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$text);
  let assemblyFormat = "$condition $text attr-dict";
}

def Coll_AssertOp : Coll_Op<"assert"> {
  let summary = "What must hold where it stands, else the schedule is wrong";
  let description = [{
    A check that only concrete sizes decide, such as the `where` of a procedure.
    If it fails, the message is an error with the given slug; `{0}` in it stands
    for the first argument.

    Constraints:
    * (C1) The slug is made of lower-case letters, digits and `-`, and is not empty.
    * (C2) The message refers only to arguments that there are.

    Example:

    ```mlir
    coll.assert %ok, "extent", "'chunks' parameter a needs {0} chunks, has {1}"(%n, %k)
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$slug, StrAttr:$message,
                       Variadic<Index>:$args);
  let assemblyFormat = [{
    $condition `,` $slug `,` $message (`(` $args^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_ChunksOp : Coll_ScheduleParentOp<"chunks"> {
  let summary = "How every part is cut";
  let description = [{
    Cuts each part into an array of chunks, whose dimensions follow those of the
    parts. With `by_row` no row is ever split. Without this op a part is one chunk
    and there is no chunk dimension.

    Constraints:
    * (C1) Stands directly in a schedule.
    * (C2) There is at least one dimension.

    Example:

    ```mlir
    coll.chunks(%c2, %N) by_row
    ```
  }];
  let arguments = (ins Variadic<Index>:$dims, UnitAttr:$by_row);
  let assemblyFormat = "`(` $dims `)` (`by_row` $by_row^)? attr-dict";
  let hasVerifier = 1;
}

def Coll_BufferOp : Coll_NamedOp<"buffer", [
    SingleBlock, NoTerminator, AttrSizedOperandSegments,
    HasParent<"ScheduleOp">]> {
  let summary = "An array of the contract";
  let description = [{
    `in` and `out` are made of parts, in any number of dimensions; `elem` and `row`
    arguments of functions are one part; a `scalar` is a single location. All but
    scalars have the dimensions of `coll.chunks` behind those of the parts. The
    array is on the rank given by `at`, on those that the region lists by
    `coll.member`, or, with neither, on every rank.

    Constraints:
    * (C1) Stands directly in a schedule.
    * (C2) Has `at` or members, not both.
    * (C3) `at` has one index per rank dimension.
    * (C4) Only `in` and `out` have parts or say on which ranks they are.

    Example:

    ```mlir
    %in = coll.buffer in "in" parts(%N) at(%root)
    %eps = coll.buffer scalar "eps"
    ```
  }];
  let arguments = (ins Coll_BufferKindAttr:$kind, StrAttr:$name,
                       Variadic<Index>:$parts, Variadic<Index>:$at);
  let results = (outs Coll_ArrayType:$result);
  let regions = (region AnyRegion:$members);
  let assemblyFormat = [{
    custom<Word>($kind) $name (`parts` `(` $parts^ `)`)? (`at` `(` $at^ `)`)?
    (`members` $members^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

def Coll_PromiseOp : Coll_ScheduleParentOp<"promise", [SingleBlock, NoTerminator]> {
  let summary = "What the contract promises of this schedule";
  let description = [{
    The clauses of the contract, for the buffers and arguments of this schedule;
    quantifiers are loops. Arrays are seen part by part here: a view indexes parts,
    and each part stands for all of its chunks.

    Constraints:
    * (C1) Stands directly in a schedule.

    Example:

    ```mlir
    coll.promise {
      scf.for %r = %c0 to %N step %c1 {
        %v = coll.read %in at(%root)
        coll.ensure %out at(%r) is %v
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

/// A clause of a contract.
class Coll_ClauseOp<string mnemonic, list<Trait> traits = []>
    : Coll_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def Coll_EnsureOp : Coll_ClauseOp<"ensure"> {
  let summary = "What a location of `out` holds at the end";
  let description = [{
    Compared up to the order of additions and reductions, and without rounding.
    Without `at`: on every rank that has the array.

    Constraints:
    * (C1) Stands in a `coll.promise`.
    * (C2) `at` has one index per rank dimension, or none.

    Example:

    ```mlir
    coll.ensure %out at(%r) is %v
    ```
  }];
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$at,
                       Coll_ValueType:$value);
  let assemblyFormat = [{
    $array (`at` `(` $at^ `)`)? `is` $value attr-dict
  }];
}

def Coll_InplaceOp : Coll_ClauseOp<"inplace", [AttrSizedOperandSegments]> {
  let summary = "Two locations that may be the same memory";
  let description = [{
    A launch is in place on a rank if its buffers lie as these clauses say.

    Constraints:
    * (C1) Stands in a `coll.promise`.
    * (C2) Each `at` has one index per rank dimension, or none.

    Example:

    ```mlir
    coll.inplace %in at(%r) with %part at(%r)
    ```
  }];
  let arguments = (ins Coll_ArrayType:$lhs, Variadic<Index>:$lhs_at,
                       Coll_ArrayType:$rhs, Variadic<Index>:$rhs_at);
  let assemblyFormat = [{
    $lhs (`at` `(` $lhs_at^ `)`)? `with` $rhs (`at` `(` $rhs_at^ `)`)? attr-dict
  }];
}

def Coll_SizeOfOp : Coll_ClauseOp<"size_of"> {
  let summary = "How many elements a part has";
  let description = [{
    Parts of which no clause speaks have `count` elements.

    Constraints:
    * (C1) Stands in a `coll.promise`.
    * (C2) `at` has one index per rank dimension, or none.

    Example:

    ```mlir
    %n = coll.count "n"[%r]
    coll.size_of %in at(%r) is %n
    ```
  }];
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$at,
                       Coll_SizeType:$size);
  let assemblyFormat = [{
    $array (`at` `(` $at^ `)`)? `is` $size attr-dict
  }];
}

def Coll_LaunchCountsOp : Coll_ClauseOp<"launch_counts"> {
  let summary = "The counts that are given at launch";
  let description = [{
    An array of counts. A rank is given those that its own buffers name, or, with
    `global`, all of them. They never steer control flow.

    Constraints:
    * (C1) Stands in a `coll.promise`.
    * (C2) There is at least one dimension.

    Example:

    ```mlir
    coll.launch_counts "n"(%N, %N)
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$dims, UnitAttr:$global);
  let assemblyFormat = "$name `(` $dims `)` (`global` $global^)? attr-dict";
}

def Coll_CountOp : Coll_ClauseOp<"count"> {
  let summary = "One of the counts that are given at launch";
  let description = [{
    Constraints:
    * (C1) Stands in a `coll.promise`.
    * (C2) There is at least one index.

    Example:

    ```mlir
    %n = coll.count "n"[%p, %q]
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Index>:$indices);
  let results = (outs Coll_SizeType:$result);
  let assemblyFormat = "$name `[` $indices `]` attr-dict";
}

def Coll_ConstSizeOp : Coll_ClauseOp<"const_size"> {
  let summary = "A size known when the schedule is compiled";
  let description = [{
    Equal sizes are one size. A location of size 0 holds a *token*: there is
    nothing in it, yet it travels.

    Constraints:
    * (C1) Stands in a `coll.promise`.

    Example:

    ```mlir
    %none = coll.const_size %c0
    ```
  }];
  let arguments = (ins Index:$value);
  let results = (outs Coll_SizeType:$result);
  let assemblyFormat = "$value attr-dict";
}

def Coll_SameOp : Coll_ClauseOp<"same"> {
  let summary = "An array that every rank passes with the same contents";
  let description = [{
    What the caller owes: the leaves of the array are one value, whatever the rank.

    Constraints:
    * (C1) Stands in a `coll.promise`.

    Example:

    ```mlir
    coll.same %residual
    ```
  }];
  let arguments = (ins Coll_ArrayType:$array);
  let assemblyFormat = "$array attr-dict";
}

} // opDocGroup = Coll_ScheduleDocs

#endif // COLL_DIALECT_COLLSCHEDULEOPS_TD
