//===- CollAttrs.td - Attributes of the coll dialect -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLATTRS_TD
#define COLL_DIALECT_COLLATTRS_TD

include "dialect/CollDialect.td"
include "mlir/IR/EnumAttr.td"

// Both enums have the numbering of the enums of lib/Analysis/ChunkGraph.h.

def Coll_DataType : I32Enum<"DataType", "what a value is stored or sent as", [
    I32EnumCase<"T", 0>, I32EnumCase<"Accum", 1, "accum">,
    I32EnumCase<"F16", 2, "f16">, I32EnumCase<"BF16", 3, "bf16">,
    I32EnumCase<"F32", 4, "f32">, I32EnumCase<"F64", 5, "f64">,
    I32EnumCase<"E4M3", 6, "e4m3">, I32EnumCase<"E5M2", 7, "e5m2">,
    I32EnumCase<"MXE4M3", 8, "mxe4m3">]> {
  let cppNamespace = "::coll";
}
def Coll_DataTypeAttr : EnumAttr<Coll_Dialect, Coll_DataType, "type">;

def Coll_BufferKind : I32Enum<"BufferKind", "what a buffer of a contract is for", [
    I32EnumCase<"In", 0, "in">, I32EnumCase<"Out", 1, "out">,
    I32EnumCase<"Elem", 2, "elem">, I32EnumCase<"Row", 3, "row">,
    I32EnumCase<"Scalar", 4, "scalar">]> {
  let cppNamespace = "::coll";
}
def Coll_BufferKindAttr : EnumAttr<Coll_Dialect, Coll_BufferKind, "buffer_kind">;
def Coll_BufferKindArrayAttr
    : TypedArrayAttrBase<Coll_BufferKindAttr, "array of buffer kinds">;

def Coll_RowReduction : I32Enum<"RowReduction", "a reduction over a row", [
    I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"Mean", 1, "mean">,
    I32EnumCase<"Max", 2, "max">]> {
  let cppNamespace = "::coll";
}
def Coll_RowReductionAttr : EnumAttr<Coll_Dialect, Coll_RowReduction, "row_reduction">;

#endif // COLL_DIALECT_COLLATTRS_TD
