//===- CollProgramOps.td - What every rank runs ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program level carries exactly what lib/Analysis/Program.h carries, and
// lib/Transforms/ProgramToIR.h takes the one to the other, both ways.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_DIALECT_COLLPROGRAMOPS_TD
#define COLL_DIALECT_COLLPROGRAMOPS_TD

include "dialect/CollAttrs.td"
include "dialect/CollProgramAttrs.td"
include "dialect/CollTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Coll_Index : ConfinedAttr<I32Attr, [IntNonNegative]>;
def Coll_Positive : ConfinedAttr<I32Attr, [IntPositive]>;

def Coll_ProgramDocs : OpDocGroup {
  let summary = "Program level";
  let description = "What every rank runs: fused steps in blocks, and channels between ranks.";
}

let opDocGroup = Coll_ProgramDocs in {

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

def Coll_ProgramOp : Coll_Op<"program", [
    Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "A schedule for one number of ranks, as every rank runs it";
  let description = [{
    Has one `coll.family_member` per combination of launch values, the last launch
    parameter fastest; one, if there is no launch parameter. The whole program runs
    once per *round*, on at most `round` bytes of each chunk's share; 0 stands for
    no limit. `tags` is the number of channels between two ranks in one direction.
    Sizes are referred to by their index.

    Constraints:
    * (C1) All rank dimensions are positive, there is at least one, and there are
      less than 2^31 ranks.
    * (C2) `round` is a multiple of 16 and less than 4 GiB.
    * (C3) All ops in it are `coll.family_member`, as many as combinations.

    Example:

    ```mlir
    coll.program @ring implements "allreduce" from "ring.coll" ranks [4] tags 1
        instances 1 round 65536 sizes [#coll.size<count cut 4>] map <>
        attributes {reduces, avg_legal} {
      coll.family_member [] {
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$contract, StrAttr:$source,
                       DenseI64ArrayAttr:$ranks, Coll_Positive:$tags,
                       Coll_Positive:$instances, I64Attr:$round,
                       Coll_SizeSymbolArrayAttr:$sizes,
                       OptionalAttr<Coll_DomainArrayAttr>:$launch,
                       OptionalAttr<Coll_CountsAttr>:$counts, Coll_MapAttr:$map,
                       UnitAttr:$reduces, UnitAttr:$avg_legal);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `implements` $contract `from` $source `ranks` $ranks `tags` $tags
    `instances` $instances `round` $round `sizes` $sizes (`launch` $launch^)?
    (`counts` $counts^)? `map` $map (`reduces` $reduces^)?
    (`avg_legal` $avg_legal^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    int64_t getNumRanks();
    /// Number of chunks of size `index`, or nothing if there is no such size.
    std::optional<uint32_t> getChunksOf(int64_t index);
  }];
  let hasRegionVerifier = 1;
}

def Coll_FamilyMemberOp : Coll_Op<"family_member", [
    SingleBlock, NoTerminator, NoRegionArguments, HasParent<"ProgramOp">]> {
  let summary = "A program for given launch values";
  let description = [{
    Its memory, which of it may be the same, and the programs of all ranks: first
    for buffers that lie apart, then, if the contract has `inplace`, once more for
    buffers that lie as it says.

    Constraints:
    * (C1) Stands in a `coll.program`.
    * (C2) Has one value per launch parameter, which is in its domain.
    * (C3) Has a `coll.rank` for each rank, in order; and, in place, for none or
      for each, in order, behind those.

    Example:

    ```mlir
    coll.family_member [2] {
      %in = coll.memory in "in" parts 1 sizes [0]
      coll.rank 0 {
      }
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$values);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$values attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Coll_MemoryOp : Coll_Op<"memory", [
    HasParent<"FamilyMemberOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "A buffer of the caller";
  let description = [{
    `sizes` has the size of each part; all parts of rank 0, then those of rank 1 and
    so on, where ranks differ. `on` lists the ranks that have the buffer if not all
    do.

    Constraints:
    * (C1) Stands in a `coll.family_member`.
    * (C2) There is one size per part, or one per rank and part.
    * (C3) The sizes are indices into those of the program.
    * (C4) The ranks of `on` ascend and are ranks of the program.

    Example:

    ```mlir
    %in = coll.memory in "in" parts 4 sizes [0, 0, 0, 0]
    %out = coll.memory out "out" parts 1 sizes [0] on [2]
    ```
  }];
  let arguments = (ins Coll_BufferKindAttr:$kind, StrAttr:$name,
                       Coll_Positive:$parts, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<DenseI64ArrayAttr>:$present);
  let results = (outs Coll_MemoryType:$result);
  let assemblyFormat = [{
    custom<Word>($kind) $name `parts` $parts `sizes` $sizes (`on` $present^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_AliasOp : Coll_Op<"alias", [HasParent<"FamilyMemberOp">]> {
  let summary = "Two parts that are the same memory when a rank is in place";
  let description = [{
    Constraints:
    * (C1) Stands in a `coll.family_member`.
    * (C2) The rank is one of the program.
    * (C3) Both memories are `coll.memory` and have that part.

    Example: `coll.alias on 2, %in[0] with %out[2]`
  }];
  let arguments = (ins Coll_Index:$rank, Coll_MemoryType:$lhs, Coll_Index:$lhs_part,
                       Coll_MemoryType:$rhs, Coll_Index:$rhs_part);
  let assemblyFormat = [{
    `on` $rank `,` $lhs `[` $lhs_part `]` `with` $rhs `[` $rhs_part `]` attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_RankOp : Coll_Op<"rank", [
    SingleBlock, NoTerminator, NoRegionArguments, HasParent<"FamilyMemberOp">]> {
  let summary = "The program of one rank";
  let description = [{
    Its scratch, its ends of channels, and its blocks, which run at the same time
    and wait for each other by `coll.wait` only. Flat rank numbers, row-major.

    Constraints:
    * (C1) Stands in a `coll.family_member`.
    * (C2) The rank is one of the program.
    * (C3) There is at most one `coll.scratch`.
    * (C4) No two ends of one direction have the same peer and tag.

    Example:

    ```mlir
    coll.rank 0 in_place {
      %prev = coll.channel from 3 tag 0
      coll.block {
      }
    }
    ```
  }];
  let arguments = (ins Coll_Index:$rank, UnitAttr:$in_place);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $rank (`in_place` $in_place^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

class Coll_RankPartOp<string mnemonic, list<Trait> traits = []>
    : Coll_Op<mnemonic, traits # [HasParent<"RankOp">]>;
class Coll_NamedRankPartOp<string mnemonic> : Coll_RankPartOp<mnemonic, [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]>;

def Coll_ScratchOp : Coll_NamedRankPartOp<"scratch"> {
  let summary = "Memory of the rank's own";
  let description = [{
    Slots that hold one round of one chunk's share each. Slots of tokens are
    numbered apart and not counted.

    Constraints:
    * (C1) Stands in a `coll.rank`.

    Example: `%scratch = coll.scratch 3`
  }];
  let arguments = (ins Coll_Index:$slots);
  let results = (outs Coll_MemoryType:$result);
  let assemblyFormat = "$slots attr-dict";
}

def Coll_ChannelOp : Coll_NamedRankPartOp<"channel"> {
  let summary = "One end of a channel";
  let description = [{
    A channel is a FIFO of slots from one rank to another; several of one pair are
    told apart by tags.

    Constraints:
    * (C1) Stands in a `coll.rank`.
    * (C2) The peer is another rank of the program.
    * (C3) The tag is less than the program's number of tags.

    Example: `%next = coll.channel to 1 tag 0`
  }];
  let arguments = (ins Coll_DirectionAttr:$direction, Coll_Index:$peer,
                       Coll_Index:$tag);
  let results = (outs Coll_ChannelType:$result);
  let assemblyFormat = "custom<Word>($direction) $peer `tag` $tag attr-dict";
  let hasVerifier = 1;
}

def Coll_BlockOp : Coll_RankPartOp<"block", [
    SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "Steps that one worker of a rank runs in order";
  let description = [{
    A thread block of a GPU, or a thread of a host.

    Constraints:
    * (C1) Stands in a `coll.rank`.
    * (C2) All ops in it are `coll.step`.

    Example:

    ```mlir
    coll.block {
      coll.step size 0 chunk 0 {
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Coll_StepOp : Coll_Op<"step", [
    SingleBlock, NoTerminator, NoRegionArguments, HasParent<"BlockOp">]> {
  let summary = "One pass over one chunk";
  let description = [{
    Waits for steps of other blocks, then takes a round of a chunk's share from all
    sources (`coll.pop`, `coll.load`), combines it, rounds the result to the type of
    the step and gives it to all sinks (`coll.store`, `coll.push`), piece by piece.
    All loads of an element precede its stores.

    `complete` marks the step whose result is the first to hold every contribution:
    for `avg` it divides by the number of ranks, before rounding. Sources may be
    written in another order than the expression has them: `shift` n means that
    the first operand of the expression is source n, cyclically, so that ranks sum
    in one order yet start at sources of their own. `value` names what the step
    makes, for reports. A step without sinks makes its last value.

    Constraints:
    * (C1) Stands in a `coll.block`.
    * (C2) The size is an index into those of the program, and has that chunk.
    * (C3) Has waits, then sources, then expressions, then sinks.
    * (C4) Every sink takes the same value.
    * (C5) There is at least one source, and `shift` is less than their number.
    * (C6) A channel is used once.

    Example:

    ```mlir
    coll.step size 0 chunk 2 value 17 {
      coll.wait block 1 step 4
      %m = coll.pop %prev
      %l = coll.load %in[0, 2]
      %s = coll.combine %m, %l
      coll.store %s to %out[0, 2]
      coll.push %s to %next
    }
    ```
  }];
  let arguments = (ins Coll_Index:$size, Coll_Index:$chunk,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type,
                       UnitAttr:$complete,
                       DefaultValuedAttr<Coll_Index, "0">:$shift,
                       OptionalAttr<Coll_Index>:$value);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `size` $size `chunk` $chunk (`type` custom<Word>($type)^)?
    (`complete` $complete^)? (`shift` $shift^)? (`value` $value^)?
    attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

class Coll_StepPartOp<string mnemonic, list<Trait> traits = []>
    : Coll_Op<mnemonic, traits # [HasParent<"StepOp">]>;

def Coll_WaitOp : Coll_StepPartOp<"wait"> {
  let summary = "Waits until a step of another block of the rank is done";
  let description = [{
    With `previous_round`, until it is done in the round before; in the first round
    there is nothing to wait for.

    Constraints:
    * (C1) Stands in a `coll.step`.
    * (C2) The block is another one of the rank, and has that step.

    Example: `coll.wait block 1 step 4`
  }];
  let arguments = (ins Coll_Index:$block, Coll_Index:$step, UnitAttr:$previous_round);
  let assemblyFormat = [{
    `block` $block `step` $step (`previous_round` $previous_round^)? attr-dict
  }];
}

def Coll_PopOp : Coll_StepPartOp<"pop"> {
  let summary = "Takes the oldest message of a channel";
  let description = [{
    `as` is what travels, T if unsaid. `scaled` and `rounded` are for the op
    premul_sum: the message is a leaf as it was, and this rank multiplies it by the
    factor, in the accumulation type, and rounds that to T or not.

    A message may go direct: `put`, it is stored into a region of the receiver's
    memory by the sender; `get`, it is loaded from a region of the sender's memory by
    the receiver. Both ends name the region, at its owner. `ahead`: who moves the
    message may do so in the first round for all rounds.

    Constraints:
    * (C1) Stands in a `coll.step`.
    * (C2) The channel is one `from` a peer, of the same rank.
    * (C3) What is `rounded` is `scaled`.
    * (C4) What may go direct is the step's chunk of a part of a buffer; nothing else
      is `ahead`.

    Example:

    ```mlir
    %m = coll.pop %prev as e4m3
    %n = coll.pop %prev get %in[0, 2]
    ```
  }];
  let arguments = (ins Coll_ChannelType:$channel,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type,
                       UnitAttr:$scaled, UnitAttr:$rounded,
                       Optional<Coll_MemoryType>:$memory,
                       OptionalAttr<DenseI64ArrayAttr>:$indices, UnitAttr:$get,
                       UnitAttr:$ahead);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = [{
    $channel (`as` custom<Word>($type)^)? (`scaled` $scaled^)?
    (`rounded` $rounded^)? (custom<Region>($memory, $indices, $get)^)?
    (`ahead` $ahead^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_LoadOp : Coll_StepPartOp<"load"> {
  let summary = "Reads memory of this rank";
  let description = [{
    Of a buffer: part and chunk. Of scratch: the slot. `as` is what lies there, T if
    unsaid. `scaled` and `rounded` as for `coll.pop`.

    Constraints:
    * (C1) Stands in a `coll.step`.
    * (C2) A buffer has that part, and the size of the part that chunk; scratch is
      the rank's own and has that slot, unless it holds a token.
    * (C3) What is `rounded` is `scaled`.

    Example:

    ```mlir
    %l = coll.load %in[0, 2]
    %t = coll.load %scratch[1] as f32
    ```
  }];
  let arguments = (ins Coll_MemoryType:$memory, DenseI64ArrayAttr:$indices,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type,
                       UnitAttr:$scaled, UnitAttr:$rounded);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = [{
    $memory `` $indices (`as` custom<Word>($type)^)? (`scaled` $scaled^)?
    (`rounded` $rounded^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_CombineOp : Coll_StepPartOp<"combine"> {
  let summary = "Reduces values by the op of the launch";
  let description = [{
    From left to right, or, with `any`, in an order left to the hardware. Not
    rounded. `coll.add` and `coll.apply` stand beside it.

    Constraints:
    * (C1) Stands in a `coll.step`.
    * (C2) There is at least one value.

    Example: `%s = coll.combine %m, %l`
  }];
  let arguments = (ins UnitAttr:$any, Variadic<Coll_ValueType>:$operands);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "(`any` $any^)? $operands attr-dict";
  let hasVerifier = 1;
}

def Coll_RoundOp : Coll_StepPartOp<"round"> {
  let summary = "Rounds a value within an expression";
  let description = [{
    Constraints:
    * (C1) Stands in a `coll.step`.

    Example: `%q = coll.round %l to e4m3`
  }];
  let arguments = (ins Coll_ValueType:$value, Coll_DataTypeAttr:$type);
  let results = (outs Coll_ValueType:$result);
  let assemblyFormat = "$value `to` custom<Word>($type) attr-dict";
}

def Coll_StoreOp : Coll_StepPartOp<"store"> {
  let summary = "Writes memory of this rank";
  let description = [{
    Where, as for `coll.load`. Rounds once more if its type is not that of the step.

    Constraints:
    * (C1) Stands in a `coll.step`.
    * (C2) A buffer has that part, and the size of the part that chunk; scratch is
      the rank's own and has that slot, unless it holds a token.

    Example: `coll.store %s to %out[0, 2]`
  }];
  let arguments = (ins Coll_ValueType:$value, Coll_MemoryType:$memory,
                       DenseI64ArrayAttr:$indices,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type);
  let assemblyFormat = [{
    $value `to` $memory `` $indices (`as` custom<Word>($type)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Coll_PushOp : Coll_StepPartOp<"push"> {
  let summary = "Puts a message into a channel";
  let description = [{
    Rounds once more if its type is not that of the step. `put`, `get` and
    `ahead` as for `coll.pop`.

    Constraints:
    * (C1) Stands in a `coll.step`.
    * (C2) The channel is one `to` a peer, of the same rank.
    * (C3) What may go direct is the step's chunk of a part of a buffer; nothing else
      is `ahead`.

    Example:

    ```mlir
    coll.push %s to %next as e4m3
    coll.push %s to %next put %out[0, 2]
    ```
  }];
  let arguments = (ins Coll_ValueType:$value, Coll_ChannelType:$channel,
                       DefaultValuedAttr<Coll_DataTypeAttr, "DataType::T">:$type,
                       Optional<Coll_MemoryType>:$memory,
                       OptionalAttr<DenseI64ArrayAttr>:$indices, UnitAttr:$get,
                       UnitAttr:$ahead);
  let assemblyFormat = [{
    $value `to` $channel (`as` custom<Word>($type)^)?
    (custom<Region>($memory, $indices, $get)^)? (`ahead` $ahead^)? attr-dict
  }];
  let hasVerifier = 1;
}

} // opDocGroup = Coll_ProgramDocs

#endif // COLL_DIALECT_COLLPROGRAMOPS_TD
