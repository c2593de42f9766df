//===- CollProgramAttrs.td - What a whole program knows ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLPROGRAMATTRS_TD
#define COLL_DIALECT_COLLPROGRAMATTRS_TD

include "dialect/CollDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Coll_Attr<string name, string attrMnemonic> : AttrDef<Coll_Dialect, name> {
  let mnemonic = attrMnemonic;
}

// Numbered as SizeSymbol::Kind.
def Coll_SizeKind : I32Enum<"SizeKind", "where a size comes from", [
    I32EnumCase<"Count", 0, "count">, I32EnumCase<"Launch", 1, "launch">,
    I32EnumCase<"Const", 2, "const">]> {
  let cppNamespace = "::coll";
}

def Coll_SizeSymbolAttr : Coll_Attr<"SizeSymbol", "size"> {
  let summary = "a number of elements, and how many chunks it is cut into";
  let description = [{
    `count` is the count of the call, `launch` an entry of its array of counts (the
    value is the flat index), and `const` a number known now.

    Constraints:
    * (C1) It is cut into 1 to 2^24 chunks.
    * (C2) A `const` is at most 2^48.

    Example: `#coll.size<launch 3 cut 4>`
  }];
  let parameters = (ins EnumParameter<Coll_SizeKind>:$kind,
                        "uint64_t":$value, "uint32_t":$chunks);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def Coll_SizeSymbolArrayAttr
    : TypedArrayAttrBase<Coll_SizeSymbolAttr, "array of sizes">;

def Coll_DomainAttr : Coll_Attr<"Domain", "domain"> {
  let summary = "a launch parameter and the values it may have";
  let description = [{
    Ranks are flat numbers.

    Example: `#coll.domain<"root" in 0, 1, 2, 3>`
  }];
  let parameters = (ins StringRefParameter<>:$name,
                        ArrayRefParameter<"uint32_t">:$values);
  let assemblyFormat = "`<` $name ` ` `in` $values `>`";
}
def Coll_DomainArrayAttr
    : TypedArrayAttrBase<Coll_DomainAttr, "array of launch domains">;

def Coll_CountsAttr : Coll_Attr<"Counts", "counts"> {
  let summary = "the array of counts that is given at launch";
  let description = [{
    With `global` every rank is given all of it.

    Example: `#coll.counts<"n" [4, 4] global>`
  }];
  let parameters = (ins StringRefParameter<>:$name,
                        ArrayRefParameter<"uint32_t">:$dims,
                        DefaultValuedParameter<"bool", "false">:$global);
  let hasCustomAssemblyFormat = 1;
}

def Coll_MapAttr : Coll_Attr<"Map", "map"> {
  let summary = "what `map` says of the whole schedule";
  let description = [{
    What is not said is left out.

    Example: `#coll.map<protocol = "ll", channels = 2, roundBytes = 65536>`
  }];
  let parameters = (ins
    StringRefParameter<"", "\"\"">:$protocol,
    DefaultValuedParameter<"uint32_t", "1">:$instances,
    DefaultValuedParameter<"uint32_t", "1">:$channels,
    DefaultValuedParameter<"uint32_t", "1">:$blocks,
    DefaultValuedParameter<"uint32_t", "0">:$threads,
    DefaultValuedParameter<"uint32_t", "0">:$slots,
    DefaultValuedParameter<"uint64_t", "0">:$roundBytes,
    DefaultValuedParameter<"uint64_t", "0">:$slotBytes,
    DefaultValuedParameter<"uint64_t", "0">:$sizesLow,
    DefaultValuedParameter<"uint64_t", "~0ull">:$sizesHigh,
    DefaultValuedParameter<"uint64_t", "~0ull">:$scratchBytes,
    DefaultValuedParameter<"bool", "false">:$sourceOrder,
    DefaultValuedParameter<"bool", "false">:$byRow,
    DefaultValuedParameter<"bool", "false">:$pull,
    DefaultValuedParameter<"bool", "false">:$push,
    DefaultValuedParameter<"bool", "false">:$staged);
  let assemblyFormat = "`<` struct(params) `>`";
}

// Numbered arbitrarily: Program.h has two arrays instead.
def Coll_Direction : I32Enum<"Direction", "which end of a channel", [
    I32EnumCase<"From", 0, "from">, I32EnumCase<"To", 1, "to">]> {
  let cppNamespace = "::coll";
}
def Coll_DirectionAttr : EnumAttr<Coll_Dialect, Coll_Direction, "direction">;

#endif // COLL_DIALECT_COLLPROGRAMATTRS_TD
