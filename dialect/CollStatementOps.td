//===- CollStatementOps.td - What moves where --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLSTATEMENTOPS_TD
#define COLL_DIALECT_COLLSTATEMENTOPS_TD

include "dialect/CollAttrs.td"
include "dialect/CollTypes.td"
include "mlir/IR/OpAsmInterface.td"

def Coll_TmpOp : Coll_Op<"tmp", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A new array on every rank, empty";
  let arguments = (ins StrAttr:$name, Variadic<Index>:$dims,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type);
  let results = (outs Coll_ArrayType:$result);
  let assemblyFormat = [{
    $name (`dims` `(` $dims^ `)`)? (`type` `(` $type^ `)`)? attr-dict
  }];
}

def Coll_InitOp : Coll_Op<"init"> {
  let summary = "Fills a new array on every rank that holds its source";
  let arguments = (ins Coll_ArrayType:$array, Coll_ArrayType:$source);
  let assemblyFormat = "$array `from` $source attr-dict";
}

class Coll_TransferOp<string mnemonic> : Coll_Op<mnemonic, [
    SingleBlock, NoTerminator, AttrSizedOperandSegments]> {
  let arguments = (ins Coll_ValueType:$value, Coll_ArrayType:$target,
                       Variadic<Index>:$at, OptionalAttr<Coll_DataTypeAttr>:$via,
                       Optional<Coll_MappingType>:$mapping);
  let regions = (region AnyRegion:$members);
  let assemblyFormat = [{
    $value `to` $target (`at` `(` $at^ `)`)? (`members` $members^)?
    (`via` `(` $via^ `)`)? (`map` `(` $mapping^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_CopyOp : Coll_TransferOp<"copy"> {
  let summary = "Writes a value to locations";
}

def Coll_ReduceOp : Coll_TransferOp<"reduce"> {
  let summary = "Reduces a value into locations that hold one";
}

def Coll_GroupOp : Coll_Op<"group", [SingleBlock, NoTerminator]> {
  let summary = "Statements whose reads see the values before the group";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Coll_OnOp : Coll_Op<"on", [SingleBlock, NoTerminator]> {
  let summary = "One process for each of some ranks";
  let arguments = (ins Optional<Index>:$capacity);
  let regions = (region SizedRegion<1>:$members, SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`buffer` `(` $capacity^ `)`)? `members` $members
    `do` custom<ProcessBody>($body) attr-dict
  }];
}

def Coll_SendOp : Coll_Op<"send", [AttrSizedOperandSegments]> {
  let summary = "Posts a message from this process";
  let arguments = (ins Coll_ValueType:$value, Variadic<Index>:$peer,
                       OptionalAttr<Coll_DataTypeAttr>:$via,
                       Optional<Coll_MappingType>:$mapping);
  let assemblyFormat = [{
    $value `to` `(` $peer `)` (`via` `(` $via^ `)`)? (`map` `(` $mapping^ `)`)?
    attr-dict
  }];
}

def Coll_RecvOp : Coll_Op<"recv", [AttrSizedOperandSegments]> {
  let summary = "Takes the oldest message of a process";
  let arguments = (ins UnitAttr:$reduce, Coll_ArrayType:$target,
                       Variadic<Index>:$peer, Optional<Coll_MappingType>:$mapping);
  let assemblyFormat = [{
    (`reduce` $reduce^)? $target `from` `(` $peer `)`
    (`map` `(` $mapping^ `)`)? attr-dict
  }];
}

def Coll_MappingOp : Coll_Op<"mapping"> {
  let summary = "What `map` says of the statements that name it";
  let arguments = (ins StrArrayAttr:$keys, Variadic<Index>:$values,
                       OptionalAttr<StrAttr>:$protocol,
                       UnitAttr:$pull, UnitAttr:$push, UnitAttr:$staged,
                       UnitAttr:$store, UnitAttr:$source_order,
                       OptionalAttr<StrArrayAttr>:$labels);
  let results = (outs Coll_MappingType:$result);
  let assemblyFormat = [{
    custom<KeyedIndices>($keys, $values) (`protocol` $protocol^)?
    (`pull` $pull^)? (`push` $push^)? (`staged` $staged^)? (`store` $store^)?
    (`source_order` $source_order^)? (`labels` $labels^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_DirectiveOp : Coll_Op<"directive"> {
  let summary = "What `map` says of the whole schedule";
  let arguments = (ins StrAttr:$name, Variadic<Index>:$values,
                       OptionalAttr<StrAttr>:$text);
  let assemblyFormat = "$name (`(` $values^ `)`)? (`text` $text^)? attr-dict";
}

#endif // COLL_DIALECT_COLLSTATEMENTOPS_TD
