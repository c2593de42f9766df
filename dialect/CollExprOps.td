//===- CollExprOps.td - Integers, lists, views, values -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What expressions of the language become where `arith` and `scf` have no word
// for it.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_DIALECT_COLLEXPROPS_TD
#define COLL_DIALECT_COLLEXPROPS_TD

include "dialect/CollAttrs.td"
include "dialect/CollTypes.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

class Coll_BinaryOp<string mnemonic> : Coll_Op<mnemonic> {
  let arguments = (ins Index:$lhs, Index:$rhs);
  let results = (outs Index:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}
class Coll_UnaryOp<string mnemonic, Type resultType = Index> : Coll_Op<mnemonic> {
  let arguments = (ins Index:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = "$operand attr-dict";
}

def Coll_DivOp : Coll_BinaryOp<"div"> {
  let summary = "Quotient, rounded down";
}
def Coll_ModOp : Coll_BinaryOp<"mod"> {
  let summary = "Remainder, never negative";
}
def Coll_ShlOp : Coll_BinaryOp<"shl"> {
  let summary = "Left shift";
}
def Coll_ShrOp : Coll_BinaryOp<"shr"> {
  let summary = "Arithmetic right shift";
}
def Coll_AbsOp : Coll_UnaryOp<"abs"> {
  let summary = "Absolute value";
}
def Coll_Log2Op : Coll_UnaryOp<"log2"> {
  let summary = "Logarithm to base 2, rounded down";
}
def Coll_CeilLog2Op : Coll_UnaryOp<"ceil_log2"> {
  let summary = "Logarithm to base 2, rounded up";
}
def Coll_LsbOp : Coll_UnaryOp<"lsb"> {
  let summary = "The lowest bit that is set, as a number";
}
def Coll_PopcountOp : Coll_UnaryOp<"popcount"> {
  let summary = "How many bits are set";
}
def Coll_Pow2Op : Coll_UnaryOp<"pow2", I1> {
  let summary = "Whether a number is a power of two";
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

def Coll_ListOp : Coll_Op<"list", [SingleBlock, NoTerminator]> {
  let summary = "A list, by executing a region";
  let results = (outs Coll_ListType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Coll_MemberOp : Coll_Op<"member"> {
  let summary = "Appends an integer or a rank to the list being built";
  let arguments = (ins Variadic<Index>:$coords);
  let assemblyFormat = "`(` $coords `)` attr-dict";
}

def Coll_ListSizeOp : Coll_Op<"list_size"> {
  let summary = "How many members a list has";
  let arguments = (ins Coll_ListType:$list);
  let results = (outs Index:$result);
  let assemblyFormat = "$list attr-dict";
}

def Coll_ListGetOp : Coll_Op<"list_get"> {
  let summary = "A member of a list";
  let arguments = (ins Coll_ListType:$list, Index:$index);
  let results = (outs Variadic<Index>:$coords);
  let assemblyFormat = "$list `[` $index `]` attr-dict `:` type($coords)";
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

def Coll_SliceOp : Coll_Op<"slice", [AttrSizedOperandSegments]> {
  let summary = "Some of the leading dimensions of a view, indexed";
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$offsets,
                       Variadic<Index>:$sizes, Variadic<Index>:$steps,
                       DenseBoolArrayAttr:$drop);
  let results = (outs Coll_ArrayType:$result);
  let assemblyFormat = [{
    $array custom<SliceIndices>($offsets, $sizes, $steps, $drop) attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_ReshapeOp : Coll_Op<"reshape"> {
  let summary = "The same locations in other dimensions";
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$dims);
  let results = (outs Coll_ArrayType:$result);
  let assemblyFormat = "$array `as` `[` $dims `]` attr-dict";
}

def Coll_DimOp : Coll_Op<"dim"> {
  let summary = "The extent of a dimension of a view";
  let arguments = (ins Coll_ArrayType:$array,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$array `,` $dim attr-dict";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Coll_ReadOp : Coll_Op<"read"> {
  let summary = "The values that locations hold";
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$at);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "$array (`at` `(` $at^ `)`)? attr-dict";
}

def Coll_AddOp : Coll_Op<"add"> {
  let summary = "Sum, whatever the op of the launch";
  let arguments = (ins Coll_ValueType:$lhs, Coll_ValueType:$rhs);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def Coll_FoldOp : Coll_Op<"fold", [SingleBlock, NoTerminator]> {
  let summary = "Values reduced by the op of the launch";
  let arguments = (ins UnitAttr:$any);
  let results = (outs Coll_ValueType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`any` $any^)? $body attr-dict";
}

def Coll_OperandOp : Coll_Op<"operand"> {
  let summary = "The next value of the enclosing fold";
  let arguments = (ins Coll_ValueType:$value);
  let assemblyFormat = "$value attr-dict";
}

def Coll_ApplyOp : Coll_Op<"apply", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A function of values, element by element or row by row";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Coll_ValueType>:$operands);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

def Coll_FunctionOp : Coll_Op<"function", [
    Symbol, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "An elementwise or row function";
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Coll_BufferKindArrayAttr:$kinds);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name attr-dict-with-keyword custom<FunctionBody>($kinds, $body)
  }];
  let hasRegionVerifier = 1;
}

def Coll_RowOp : Coll_Op<"row"> {
  let summary = "A reduction over the row of an element";
  let arguments = (ins Coll_RowReductionAttr:$reduction, F32:$operand);
  let results = (outs F32:$result);
  let assemblyFormat = "$reduction $operand attr-dict";
}

def Coll_YieldOp : Coll_Op<"yield", [Terminator, HasParent<"FunctionOp">]> {
  let summary = "The value of a function";
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict";
}

#endif // COLL_DIALECT_COLLEXPROPS_TD
