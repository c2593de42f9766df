//===- CollTypes.td - Types of the coll dialect ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COLL_DIALECT_COLLTYPES_TD
#define COLL_DIALECT_COLLTYPES_TD

include "dialect/CollDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Coll_Type<string name, string typeMnemonic> : TypeDef<Coll_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Coll_ArrayType : Coll_Type<"Array", "array"> {
  let summary = "a view of an array of locations";
  let description = [{
    Names a box of locations of one array, at no rank in particular: a base, and
    for each dimension an extent and a stride. How many dimensions there are is
    known where the op is made and is not part of the type.
  }];
}

def Coll_ValueType : Coll_Type<"Value", "value"> {
  let summary = "an elementwise expression over locations";
  let description = [{
    Has the shape of the views it reads. Nothing is evaluated where it is made:
    the statement that uses it does all its reads first.
  }];
}

def Coll_ListType : Coll_Type<"List", "list"> {
  let summary = "a list of integers or ranks";
}

def Coll_SizeType : Coll_Type<"Size", "size"> {
  let summary = "the number of elements of a part: a symbol, known at launch";
}

def Coll_MappingType : Coll_Type<"Mapping", "mapping"> {
  let summary = "what `map` says of a statement";
}

def Coll_MemoryType : Coll_Type<"Memory", "memory"> {
  let summary = "memory of a rank: a buffer of the caller, or scratch";
}

def Coll_ChannelType : Coll_Type<"Channel", "channel"> {
  let summary = "one end of a channel";
}

#endif // COLL_DIALECT_COLLTYPES_TD
