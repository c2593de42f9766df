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

def Coll_ExprDocs : OpDocGroup {
  let summary = "Algorithm level: expressions";
  let description = "Integers, lists of ranks, views of arrays, values, and functions. `coll.add`, `coll.apply` and functions serve the program level too.";
}

let opDocGroup = Coll_ExprDocs in {

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
  let description = [{
    The divisor must be positive, else the schedule is wrong.

    Example: `%q = coll.div %a, %b`
  }];
}
def Coll_ModOp : Coll_BinaryOp<"mod"> {
  let summary = "Remainder, never negative";
  let description = [{
    The divisor must be positive, else the schedule is wrong. `(r - 1) mod N` is the
    predecessor in a ring.

    Example: `%p = coll.mod %a, %N`
  }];
}
def Coll_ShlOp : Coll_BinaryOp<"shl"> {
  let summary = "Left shift";
  let description = [{
    By 0 to 64 bits; a result that does not fit is an error, as in all arithmetic.

    Example: `%d = coll.shl %c1, %k`
  }];
}
def Coll_ShrOp : Coll_BinaryOp<"shr"> {
  let summary = "Right shift, which keeps the sign";
  let description = [{
    By 0 to 64 bits.

    Example: `%h = coll.shr %r, %k`
  }];
}
def Coll_AbsOp : Coll_UnaryOp<"abs"> {
  let summary = "Absolute value";
  let description = "Example: `%d = coll.abs %a`";
}
def Coll_Log2Op : Coll_UnaryOp<"log2"> {
  let summary = "Logarithm to base 2, rounded down";
  let description = [{
    The operand must be positive, else the schedule is wrong.

    Example: `%k = coll.log2 %N`
  }];
}
def Coll_CeilLog2Op : Coll_UnaryOp<"ceil_log2"> {
  let summary = "Logarithm to base 2, rounded up";
  let description = [{
    The operand must be positive, else the schedule is wrong.

    Example: `%k = coll.ceil_log2 %N`
  }];
}
def Coll_LsbOp : Coll_UnaryOp<"lsb"> {
  let summary = "The lowest bit that is set, as a number";
  let description = [{
    0 for 0. The operand must not be negative, else the schedule is wrong.

    Example: `%b = coll.lsb %r`
  }];
}
def Coll_PopcountOp : Coll_UnaryOp<"popcount"> {
  let summary = "How many bits are set";
  let description = [{
    The operand must not be negative, else the schedule is wrong.

    Example: `%n = coll.popcount %r`
  }];
}
def Coll_Pow2Op : Coll_UnaryOp<"pow2", I1> {
  let summary = "Whether a number is a power of two";
  let description = "Example: `%ok = coll.pow2 %N`";
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

def Coll_ListOp : Coll_Op<"list", [SingleBlock, NoTerminator]> {
  let summary = "A list, by executing a region";
  let description = [{
    The region appends members by `coll.member`. For lists whose size and members
    have no closed form, as with a filter.

    Constraints:
    * (C1) All members have equally many coordinates.

    Example:

    ```mlir
    %even = coll.list {
      scf.for %r = %c0 to %N step %c2 {
        coll.member(%r)
      }
    }
    ```
  }];
  let results = (outs Coll_ListType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
}

def Coll_MemberOp : Coll_Op<"member"> {
  let summary = "Appends an integer or a rank to the list being built";
  let description = [{
    The list is that of the innermost `coll.list`, domain of a `coll.launch`, or
    members of a `coll.buffer`, `coll.copy`, `coll.reduce` or `coll.on`.

    Constraints:
    * (C1) There is such an op around it.
    * (C2) Has one coordinate if it is an integer, and one per rank dimension where
      the list is one of ranks.

    Example:

    ```mlir
    coll.member(%m, %g)
    ```
  }];
  let arguments = (ins Variadic<Index>:$coords);
  let assemblyFormat = "`(` $coords `)` attr-dict";
  let hasVerifier = 1;
}

def Coll_ListSizeOp : Coll_Op<"list_size"> {
  let summary = "How many members a list has";
  let description = "Example: `%n = coll.list_size %even`";
  let arguments = (ins Coll_ListType:$list);
  let results = (outs Index:$result);
  let assemblyFormat = "$list attr-dict";
}

def Coll_ListGetOp : Coll_Op<"list_get"> {
  let summary = "A member of a list";
  let description = [{
    The index counts from 0 and must be in range, else the schedule is wrong.

    Constraints:
    * (C1) Has at least one result.

    Example:

    ```mlir
    %r:2 = coll.list_get %nodes[%i] : index, index
    ```
  }];
  let arguments = (ins Coll_ListType:$list, Index:$index);
  let results = (outs Variadic<Index>:$coords);
  let assemblyFormat = "$list `[` $index `]` attr-dict `:` type($coords)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

def Coll_SliceOp : Coll_Op<"slice", [AttrSizedOperandSegments]> {
  let summary = "Some of the leading dimensions of a view, indexed";
  let description = [{
    An entry `%i` picks one index, and the dimension vanishes. An entry `%lo : %n`
    or `%lo : %n : %step` picks `%n` indices, and the dimension stays. Dimensions
    without an entry stay whole. `drop` tells the two kinds of entry apart.

    Constraints:
    * (C1) There is one offset and one flag of `drop` per entry.
    * (C2) There is one size per dimension that stays.
    * (C3) There is one step per dimension that stays, or none at all.

    Example:

    ```mlir
    %chunk = coll.slice %acc[%i, %lo : %n]
    %odd = coll.slice %acc[%c1 : %n : %c2]
    ```
  }];
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$offsets,
                       Variadic<Index>:$sizes, Variadic<Index>:$steps,
                       DenseBoolArrayAttr:$drop);
  let results = (outs Coll_ArrayType:$result);
  let assemblyFormat = [{
    $array `` custom<SliceIndices>($offsets, $sizes, $steps, $drop) attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_ReshapeOp : Coll_Op<"reshape"> {
  let summary = "The same locations in other dimensions";
  let description = [{
    Row-major; the number of locations must be the same, else the schedule is wrong.

    Example: `%grid = coll.reshape %acc as [%X, %Y]`
  }];
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$dims);
  let results = (outs Coll_ArrayType:$result);
  let assemblyFormat = "$array `as` ` ` `[` $dims `]` attr-dict";
}

def Coll_DimOp : Coll_Op<"dim"> {
  let summary = "The extent of a dimension of a view";
  let description = [{
    Constraints:
    * (C1) The dimension is one of the 12 that a view can have.

    Example: `%n = coll.dim %acc, 0`
  }];
  let arguments = (ins Coll_ArrayType:$array,
                       ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<11>]>:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$array `,` $dim attr-dict";
}

//===----------------------------------------------------------------------===//
// Values. `coll.add` and `coll.apply` serve the program level too.
//===----------------------------------------------------------------------===//

def Coll_ReadOp : Coll_Op<"read"> {
  let summary = "The values that locations hold";
  let description = [{
    At the given rank; without `at`, at the rank that executes the statement which
    uses the value. Reading a location that holds nothing is an error.

    Constraints:
    * (C1) `at` has one index per rank dimension, or none.

    Example:

    ```mlir
    %v = coll.read %chunk at(%r)
    ```
  }];
  let arguments = (ins Coll_ArrayType:$array, Variadic<Index>:$at);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "$array (`at` `(` $at^ `)`)? attr-dict";
  let hasVerifier = 1;
}

def Coll_AddOp : Coll_Op<"add"> {
  let summary = "Sum, whatever the op of the launch";
  let description = [{
    Computed in the accumulation type and not rounded.

    Example: `%s = coll.add %v, %residual`
  }];
  let arguments = (ins Coll_ValueType:$lhs, Coll_ValueType:$rhs);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def Coll_FoldOp : Coll_Op<"fold", [SingleBlock, NoTerminator]> {
  let summary = "Values reduced by the op of the launch";
  let description = [{
    In the order in which the region executes `coll.operand`, or, with `any`, in
    an order left to the hardware. Computed in the accumulation type and not
    rounded. A fold of nothing is an error.

    Example:

    ```mlir
    %sum = coll.fold {
      scf.for %q = %c0 to %N step %c1 {
        %v = coll.read %in at(%q)
        coll.operand %v
      }
    }
    ```
  }];
  let arguments = (ins UnitAttr:$any);
  let results = (outs Coll_ValueType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`any` $any^)? $body attr-dict";
}

def Coll_OperandOp : Coll_Op<"operand"> {
  let summary = "The next value of the enclosing fold";
  let description = [{
    Constraints:
    * (C1) Stands in a `coll.fold`.

    Example: `coll.operand %v`
  }];
  let arguments = (ins Coll_ValueType:$value);
  let assemblyFormat = "$value attr-dict";
  let hasVerifier = 1;
}

def Coll_ApplyOp : Coll_Op<"apply", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A function of values, element by element or row by row";
  let description = [{
    Constraints:
    * (C1) The callee is a `coll.function` of the module.
    * (C2) There are as many values as the function has parameters.

    Example: `%y = coll.apply @rms(%x, %w, %eps)`
  }];
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
  let description = [{
    Computed in the accumulation type, for which `f64` stands here, so that
    constants are exact. The body is made of `arith` (addf, subf, mulf, divf, negf,
    minimumf, maximumf, constant), `math` (exp, sqrt, rsqrt, tanh, absf) and
    `coll.row`. Verification takes a function as uninterpreted.

    Constraints:
    * (C1) Each parameter has a kind and an argument of type f64.
    * (C2) The kinds are `elem`, `row` and `scalar`.
    * (C3) The body has no other ops than those named above, all on f64.

    Example:

    ```mlir
    coll.function @scale(%x elem, %s scalar) {
      %0 = arith.mulf %x, %s : f64
      coll.yield %0
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       Coll_BufferKindArrayAttr:$kinds);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<FunctionBody>($kinds, $body) attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Coll_RowOp : Coll_Op<"row", [HasParent<"FunctionOp">]> {
  let summary = "A reduction over the row of an element";
  let description = [{
    The row is that of `coll.chunks ... by_row`, and every element of it gets the
    result.

    Constraints:
    * (C1) Stands in a `coll.function`.

    Example: `%m = coll.row mean %x`
  }];
  let arguments = (ins Coll_RowReductionAttr:$reduction, F64:$operand);
  let results = (outs F64:$result);
  let assemblyFormat = "custom<Word>($reduction) $operand attr-dict";
}

def Coll_YieldOp : Coll_Op<"yield", [Terminator, HasParent<"FunctionOp">]> {
  let summary = "The value of a function";
  let description = [{
    Constraints:
    * (C1) Ends a `coll.function`.

    Example: `coll.yield %r`
  }];
  let arguments = (ins F64:$value);
  let assemblyFormat = "$value attr-dict";
}

} // opDocGroup = Coll_ExprDocs

#endif // COLL_DIALECT_COLLEXPROPS_TD
