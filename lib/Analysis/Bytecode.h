//===- Bytecode.h - A schedule as flat register code ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is run to execute a schedule for concrete parameters. Every SSA value of
// a coll.schedule has a register of its own, loops and conditions are jumps,
// and what an instruction needs besides registers stands in side tables. The
// code is made once per schedule and runs for every rank count and launch
// member.
//
// Four kinds of register: integers (also conditions, size symbols and
// mappings), views, elementwise expressions ("values") and lists. Where an
// instruction has a variable number of operands, `b` and `count` name a piece
// of `pool`.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_BYTECODE_H
#define COLL_LIB_ANALYSIS_BYTECODE_H

#include "lib/Analysis/BytecodeTables.h"

namespace coll {

enum class Opcode : uint8_t {
  // Integers: dst = a op b.
  Move,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Shl,
  Shr,
  And,
  Or,
  Xor,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  // dst = op a.
  Abs,
  Log2,
  CeilLog2,
  Lsb,
  Popcount,
  Pow2,
  // Control. `a` is the target; JumpUnless: if not b. Loops: `a` indexes
  // `loops`.
  Jump,
  JumpUnless,
  LoopEnter,
  LoopNext,
  Halt,
  // Registers of the other kinds: dst = a.
  MoveView,
  MoveValue,
  MoveList,
  // Lists. Member appends pool[b ..+ count]. ListGet: list a at b, to pool[c
  // ..+ count].
  ListBegin,
  Member,
  ListEnd,
  ListSize,
  ListGet,
  // Views of a. Slice: pool[b ..] holds count triples offset, size (kNone: the
  // dimension is indexed and vanishes), step (kNone: 1). Dim: of dimension b.
  Slice,
  Reshape,
  Dim,
  // Values. Read: view a at rank pool[b ..+ count]. FoldEnd: flag = any. Apply:
  // function a.
  Read,
  AddValues,
  FoldBegin,
  FoldOperand,
  FoldEnd,
  Apply,
  // The frame of the schedule. Param: name a, default register b or kNone.
  // Launch:
  // index a, domain list b, to pool[c ..+ count]. Where: condition a, text b.
  // Assert: condition a, assertion b. Buffer, Tmp, Directive: index a.
  Param,
  Launch,
  Where,
  Assert,
  Chunks,
  Buffer,
  Tmp,
  Init,
  Mapping,
  Directive,
  // Statements; `a` indexes the side table of the same name.
  Transfer,
  GroupBegin,
  GroupEnd,
  On,
  ProcessEnd,
  Send,
  Recv,
  // The contract. SizeOf: view a at pool[b ..+ count] has size c. Ensure: the
  // same, with value c. Count: of pool[b ..+ count].
  SizeOf,
  Inplace,
  LaunchCounts,
  Count,
  ConstSize,
  Same,
  Ensure
};
constexpr Opcode lastBinary = Opcode::Ge;
constexpr Opcode lastUnary = Opcode::Pow2;

struct Instr {
  Opcode op;
  uint8_t flag = 0;
  uint16_t count = 0;
  Reg dst = kNone, a = kNone, b = kNone, c = kNone;
};

struct Bytecode {
  std::string schedule, contract, sourcePath;
  std::vector<std::string> rankNames;
  SiteId site = kNone; // of the schedule
  bool reduces = false;

  std::vector<Instr> code;
  std::vector<SiteId> sites; // by instruction
  uint32_t ensures = 0;      // where the code that compares the outputs starts

  std::vector<int64_t>
      ints; // integer registers at the start: constants, else 0
  uint32_t numViews = 0, numValues = 0, numLists = 0;
  std::vector<Reg> rankDims; // registers of the sizes of the rank space
  std::vector<Reg> pool;

  std::vector<std::string> strings;
  std::vector<Site> siteTable;
  std::vector<LoopCode> loops;
  std::vector<LaunchCode> launches;
  std::vector<BufferCode> buffers;
  std::vector<TmpCode> tmps;
  std::vector<AssertCode> asserts;
  std::vector<TransferCode> transfers;
  std::vector<SendCode> sends;
  std::vector<RecvCode> recvs;
  std::vector<OnCode> ons;
  std::vector<MappingCode> mappings;
  std::vector<DirectiveCode> directives;
  std::vector<InplaceCode> inplaces;
  std::vector<LaunchCountsCode> launchCounts;
  std::vector<Function> functions;
};

} // namespace coll

#endif // COLL_LIB_ANALYSIS_BYTECODE_H
