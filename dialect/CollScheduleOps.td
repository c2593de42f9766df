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

/// An op that names its result, or its results, after the source.
class Coll_NamedOp<string mnemonic, list<Trait> traits = []>
    : Coll_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]>;

def Coll_ScheduleOp : Coll_Op<"schedule", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "One schedule, symbolic in the number of ranks";
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$rank_names,
                       StrAttr:$contract, OptionalAttr<StrAttr>:$doc);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `implements` $contract attr-dict-with-keyword
    `ranks` custom<ScheduleBody>($rank_names, $body)
  }];
  let hasRegionVerifier = 1;
}

def Coll_ParamOp : Coll_NamedOp<"param"> {
  let summary = "A parameter of the schedule, fixed when it is compiled";
  let arguments = (ins StrAttr:$name, Optional<Index>:$default_value);
  let results = (outs Index:$result);
  let assemblyFormat = "$name (`default` $default_value^)? attr-dict";
}

def Coll_LaunchOp : Coll_NamedOp<"launch", [SingleBlock, NoTerminator]> {
  let summary = "A parameter of the schedule, fixed when the kernel is launched";
  let arguments = (ins StrAttr:$name, UnitAttr:$integer);
  let results = (outs Variadic<Index>:$coords);
  let regions = (region SizedRegion<1>:$domain);
  let assemblyFormat = [{
    $name (`integer` $integer^)? attr-dict `:` type($coords) `in` $domain
  }];
}

def Coll_WhereOp : Coll_Op<"where"> {
  let summary = "What the parameters must satisfy; other ones are left out";
  let arguments = (ins I1:$condition, StrAttr:$text);
  let assemblyFormat = "$condition $text attr-dict";
}

def Coll_AssertOp : Coll_Op<"assert"> {
  let summary = "What must hold where it stands, else the schedule is wrong";
  let arguments = (ins I1:$condition, StrAttr:$slug, StrAttr:$message,
                       Variadic<Index>:$args);
  let assemblyFormat = [{
    $condition `,` $slug `,` $message (`(` $args^ `)`)? attr-dict
  }];
}

def Coll_ChunksOp : Coll_Op<"chunks"> {
  let summary = "How every part is cut";
  let arguments = (ins Variadic<Index>:$dims, UnitAttr:$by_row);
  let assemblyFormat = "`(` $dims `)` (`by_row` $by_row^)? attr-dict";
}

def Coll_BufferOp : Coll_NamedOp<"buffer", [
    SingleBlock, NoTerminator, AttrSizedOperandSegments]> {
  let summary = "An array of the contract";
  let arguments = (ins Coll_BufferKindAttr:$kind, StrAttr:$name,
                       Variadic<Index>:$parts, Variadic<Index>:$at);
  let results = (outs Coll_ArrayType:$result);
  let regions = (region AnyRegion:$members);
  let assemblyFormat = [{
    $kind $name (`parts` `(` $parts^ `)`)? (`at` `(` $at^ `)`)?
    (`members` $members^)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// The contract
//===----------------------------------------------------------------------===//

def Coll_PromiseOp : Coll_Op<"promise", [SingleBlock, NoTerminator]> {
  let summary = "What the contract promises of this schedule";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Coll_EnsureOp : Coll_Op<"ensure"> {
  let summary = "What a location of `out` holds at the end";
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$at,
                       Coll_ValueType:$value);
  let assemblyFormat = [{
    $array (`at` `(` $at^ `)`)? `is` $value attr-dict
  }];
}

def Coll_InplaceOp : Coll_Op<"inplace", [AttrSizedOperandSegments]> {
  let summary = "Two locations that may be the same memory";
  let arguments = (ins Coll_ArrayType:$lhs, Variadic<Index>:$lhs_at,
                       Coll_ArrayType:$rhs, Variadic<Index>:$rhs_at);
  let assemblyFormat = [{
    $lhs (`at` `(` $lhs_at^ `)`)? `with` $rhs (`at` `(` $rhs_at^ `)`)? attr-dict
  }];
}

def Coll_SizeOfOp : Coll_Op<"size_of"> {
  let summary = "How many elements a part has";
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$at,
                       Coll_SizeType:$size);
  let assemblyFormat = [{
    $array (`at` `(` $at^ `)`)? `is` $size attr-dict
  }];
}

def Coll_LaunchCountsOp : Coll_Op<"launch_counts"> {
  let summary = "The counts that are given at launch";
  let arguments = (ins StrAttr:$name, Variadic<Index>:$dims, UnitAttr:$global);
  let assemblyFormat = "$name `(` $dims `)` (`global` $global^)? attr-dict";
}

def Coll_CountOp : Coll_Op<"count"> {
  let summary = "One of the counts that are given at launch";
  let arguments = (ins StrAttr:$name, Variadic<Index>:$indices);
  let results = (outs Coll_SizeType:$result);
  let assemblyFormat = "$name `[` $indices `]` attr-dict";
}

def Coll_ConstSizeOp : Coll_Op<"const_size"> {
  let summary = "A size known when the schedule is compiled";
  let arguments = (ins Index:$value);
  let results = (outs Coll_SizeType:$result);
  let assemblyFormat = "$value attr-dict";
}

def Coll_SameOp : Coll_Op<"same"> {
  let summary = "An array that every rank passes with the same contents";
  let arguments = (ins Coll_ArrayType:$array);
  let assemblyFormat = "$array attr-dict";
}

#endif // COLL_DIALECT_COLLSCHEDULEOPS_TD
